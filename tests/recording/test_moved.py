"""A recording that is moved, deleted or replaced while it is written."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa.cli import main
from sabm_mesa.errors import RecordingError
from tests.llm.support import contest, first_question, rows
from tests.llm_server import LLMServer

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="files that are open cannot be moved"
)
MOVED_AT, WHOLE = 8, 18
COUNT = "SELECT count(*) FROM answers"


def resumed(path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["resume", str(path)])
    assert not ended.value.code


def moved(path: Path) -> None:
    path.rename(path.parent.parent / "moved.sqlite")


def replaced(path: Path) -> None:
    moved(path)
    path.write_bytes(b"something else")


def in_a_moved_folder(path: Path) -> None:
    path.parent.rename(path.parent.parent / "other")


def without_its_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack", [moved, os.unlink, replaced, in_a_moved_folder, without_its_log],
    ids=lambda attack: attack.__name__,
)  # fmt: skip
def test_a_run_ends_and_what_was_paid_for_continues_from_the_copy(
    attack: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "out" / "run.sqlite"
    answers = 0

    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> Any:
        nonlocal answers
        answers += 1
        if answers == MOVED_AT:
            attack(path)
        return first_question(messages, body)

    with LLMServer(brain=brain) as server:
        model = contest(server, recording=path)
        with pytest.raises(RecordingError) as ended:
            model.run_model()
        paid = server.stats["requests"]
        (copy,) = path.parent.glob("run-rescued-*.sqlite")
        kept = rows(copy, "SELECT count(*) FROM asks")[0][0]
        assert MOVED_AT <= paid == kept <= 2 * 6
        assert str(ended.value) == (
            f"The recording {path} was moved, deleted or replaced while it was written. "
            f"All that was recorded is in {copy}: continue with that file."
        )
        recorded = rows(copy, COUNT)[0][0]
        resumed(copy)
        assert rows(copy, COUNT) == [(WHOLE,)]
        assert server.stats["requests"] - paid == WHOLE - recorded


def test_a_file_that_is_moved_holds_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "out" / "run.sqlite"
    with LLMServer(brain=first_question) as server:
        model = contest(server, recording=path)
        model.step()
        moved(path)
        with pytest.raises(RecordingError):
            model.step()
        assert server.stats["requests"] == 6  # the next ones could not be noted
    assert rows(tmp_path / "moved.sqlite", COUNT) == [(6,)]
    assert rows(path.with_name("run-rescued-1.sqlite"), COUNT) == [(6,)]


def test_where_no_copy_can_be_written_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "out" / "run.sqlite"
    with LLMServer(brain=first_question) as server:
        model = contest(server, recording=path)
        model.step()
        moved(path)
        monkeypatch.setattr(Path, "touch", no_space)
        with pytest.raises(RecordingError, match="and no copy can be written"):
            model.step()
