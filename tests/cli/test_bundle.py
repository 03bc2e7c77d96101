"""`sabm bundle`: what archives read of it."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.visualization.records.archive import CRATE, NEEDED
from sabm_mesa.visualization.records.bundle import RECORDING

from .support import Sabm


@pytest.mark.slow
def test_the_crate_lists_the_files_and_the_registration_with_other_attempts(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library reads the crate again; without the library the rest is written."""
    from rocrate.rocrate import ROCrate

    for attempt in ("first", "second"):
        (tmp_path / attempt / "mine").mkdir(parents=True)
        path = tmp_path / attempt / "mine" / RECORDING
        KeynesianBeautyContest(n_players=2, n_rounds=1, rng=7, recording=path).run_model()
    for name in ("registration.json", "registration.md"):
        path.with_name(name).write_text("{}", "utf-8")
    licence = "https://creativecommons.org/licenses/by/4.0/"
    done = sabm("bundle", path, "--license", licence, "--author", "Ada")
    assert (done.status, done.err) == (0, "")

    folder = path.with_name("bundle")
    crate = ROCrate(folder)
    listed = {entity.id: entity for entity in crate.data_entities}
    assert {"registration.json", "tables/runs.csv", "datapackage.json", "run-0/"} <= set(listed)
    assert crate.license.id == licence
    assert [person["name"] for person in crate.root_dataset["author"]] == ["Ada"]
    for name, entity in listed.items():
        data = folder / name
        assert data.is_dir() or entity["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    other = r"Other runs of this experiment: first/mine \(1 run, seed 7, from \d{4}-\d\d-\d\d\)\."
    assert re.search(other, crate.description)
    assert "first/mine (1 run" in (folder / "index.html").read_text("utf-8")

    monkeypatch.setitem(sys.modules, "rocrate.rocrate", None)
    without = sabm("bundle", path, "--out", tmp_path / "without")
    assert (without.status, without.err) == (0, f"{NEEDED}\n")
    written = {file.relative_to(folder).as_posix() for file in folder.rglob("*")}
    left = {file.relative_to(tmp_path / "without").as_posix()
            for file in (tmp_path / "without").rglob("*")}  # fmt: skip
    assert written - left == {CRATE}
