"""`sabm fit`: tables, picture and a fingerprint that plays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.core.asks import Ask
from sabm_mesa.errors import MindError
from sabm_mesa.minds.scripted import ScriptedMind

from .support import Sabm, one_line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rec.sqlite"
    model = KeynesianBeautyContest(n_players=12, n_rounds=1, rng=1, recording=path)
    model.run_model()
    model.close()
    return path


QUICK = ["--model", "level_k", "--model"]


def test_a_recording_becomes_files_and_a_mind(sabm: Sabm, path: Path) -> None:
    out = path.parent / "fit"
    found = json.loads(sabm("fit", str(path), *QUICK, "level_1", "--json").out)

    assert {Path(file).name for file in found["files"]} >= {
        "fit.csv", "fit.json", "fit.html", "fingerprint.json", "fingerprint.png",
    }  # fmt: skip
    assert found["verdicts"][0]["selected"] == "level_1"
    assert all((out / Path(file).name).stat().st_size for file in found["files"])
    said = sabm("fit", path, "--model", "level_1", "--absolute", 0, "--out", out).out
    assert "The best by BIC is level_1, level 1" in said
    mind = f"fitted:{out / 'fingerprint.json'}"
    played = sabm("run", "kbc", "--minds", mind, "--rounds", "1", "--out", str(out / "again"))
    assert "fingerprint.json" in (out / "again" / "agents.csv").read_text()
    assert not played.err.startswith("sabm:")


@pytest.mark.slow
def test_rounds_of_a_run_that_did_not_end_count_and_it_is_named(sabm: Sabm, tmp_path: Path) -> None:
    def gives_up(ask: Ask) -> str:
        if ask.key.round == 1:
            raise MindError("I have had enough.")
        return "20"

    path = tmp_path / "cut.sqlite"
    mind = ScriptedMind(gives_up)
    model = KeynesianBeautyContest(n_players=6, n_rounds=3, rng=1, minds=mind, recording=path)
    with pytest.raises(MindError):
        model.run_model()
    model.close()
    said = sabm("fit", str(path), *QUICK, "level_1").out

    assert "Warning: Not finished: run 0. Only the finished rounds are used." in said


def test_bad_input_gets_one_line_and_leaves_no_file(sabm: Sabm, path: Path) -> None:
    for wrong, says in {
        ("--model", "nothing"): "Unknown behavioural model",
        ("--mind", "llm:x"): "Unknown mind of",
    }.items():
        assert says in one_line(sabm("fit", str(path), *wrong))
    assert not (path.parent / "fit").exists()
