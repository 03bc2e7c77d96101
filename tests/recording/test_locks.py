"""Folders whose locks fail or keep nobody out, as those of some network drives do."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa.errors import OutputError
from sabm_mesa.recording.keeping import check_locks
from sabm_mesa.recording.writing import Recording

fcntl = pytest.importorskip("fcntl")


def test_a_folder_without_locks_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_locks(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    check_locks(tmp_path)
    monkeypatch.setattr(fcntl, "lockf", without_locks)
    with pytest.raises(OutputError) as refused:
        check_locks(tmp_path)
    assert str(refused.value) == (
        f"Cannot lock files in {tmp_path} (No locks available), which a recording needs: "
        "choose a folder on a disk of this computer."
    )
    with pytest.raises(OutputError, match="Cannot lock files"):
        Recording(tmp_path / "run.sqlite")
    assert list(tmp_path.iterdir()) == []
