"""`sabm humans`: the files, and one line for each thing that cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sabm_mesa import BertrandCompetition, KeynesianBeautyContest

from .support import Sabm, one_line


@pytest.fixture
def contest(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "recording.sqlite"
    for seed in range(4):
        KeynesianBeautyContest(n_players=8, n_rounds=2, rng=seed, recording=path).run_model()
    return path


def test_the_verdicts_are_printed_and_written(sabm: Sabm, contest: Path) -> None:
    done = sabm("humans", contest, "--against", "nagel-1995")
    assert done.status == 0, done.err
    assert "3 Same distribution: " in done.out
    folder = contest.parent / "humans"
    assert {each.name for each in folder.iterdir()} == {
        "humans.csv", "humans.json", "humans.md", "humans.png",
    }  # fmt: skip
    again = sabm("humans", contest, "--against", "nagel-1995", "--json", "--out", folder)
    said = json.loads(again.out)
    assert said.pop("files")
    assert said == json.loads((folder / "humans.json").read_text("utf-8"))
    assert said["runs"] == 4


def test_data_of_another_scenario_is_one_line(sabm: Sabm, tmp_path: Path, contest: Path) -> None:
    path = tmp_path / "prices.sqlite"
    BertrandCompetition(n_rounds=1, rng=1, recording=path).run_model()
    other = sabm("humans", path, "--against", "nagel-1995")
    assert other.status == 2
    assert one_line(other) == (
        f"{path} is of bertrand, and nagel-1995 is data for beauty-contest, kbc."
    )
    none = sabm("humans", contest, "--against", "nagel-1995", "--run", 9)
    assert one_line(none).startswith(f"Unknown run of {contest} '9'.")
    assert not (contest.parent / "humans").exists()


def test_a_recording_without_decisions_is_one_line(sabm: Sabm, tmp_path: Path) -> None:
    path = tmp_path / "silent.sqlite"
    KeynesianBeautyContest(
        n_players=2, n_rounds=1, minds="fixed:many", rng=1, recording=path
    ).run_model()
    done = sabm("humans", path, "--against", "nagel-1995")
    assert one_line(done) == f"No decision was recorded in the column choice of {path}."


def test_personas_that_were_drawn_are_known(sabm: Sabm, tmp_path: Path) -> None:
    path = tmp_path / "personas.sqlite"
    KeynesianBeautyContest(
        n_players=8, n_rounds=2, personas={"none": 5, "disagreeable": 3}, rng=1, recording=path
    ).run_model()
    done = sabm("humans", path, "--against", "nagel-1995")
    assert "    2 personas: " in done.out, done.err
