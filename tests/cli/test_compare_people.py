"""`sabm compare --people`: the files, and one line for each thing that cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sabm_mesa import BertrandCompetition, KeynesianBeautyContest, PublicGoods

from .support import Sabm, one_line


@pytest.fixture
def contest(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "recording.sqlite"
    for seed in range(4):
        KeynesianBeautyContest(n_players=8, n_rounds=2, rng=seed, recording=path).run_model()
    return path


def test_the_verdicts_are_printed_and_written(sabm: Sabm, contest: Path) -> None:
    done = sabm("compare", contest, "--people", "nagel-1995")
    assert done.status == 0, done.err
    assert "Same distribution" in done.out
    folder = contest.parent / "compare"
    assert {each.name for each in folder.iterdir()} == {
        f"people-nagel-1995{end}"
        for end in (
            "-effects.csv", "-distributions.csv", ".json", ".md", ".html",
        )
    }  # fmt: skip
    again = sabm("compare", contest, "--people", "nagel-1995", "--json", "--out", folder)
    said = json.loads(again.out)
    assert said.pop("files")
    assert said == json.loads((folder / "people-nagel-1995.json").read_text("utf-8"))
    assert said["runs"] == 4


def test_data_of_another_scenario_is_one_line(sabm: Sabm, tmp_path: Path, contest: Path) -> None:
    path = tmp_path / "prices.sqlite"
    BertrandCompetition(n_rounds=1, rng=1, recording=path).run_model()
    other = sabm("compare", path, "--people", "nagel-1995")
    assert other.status == 2
    assert one_line(other) == (
        f"{path} has runs of bertrand; nagel-1995 has data for beauty-contest, kbc."
    )
    both = sabm("compare", contest, "--people", "nagel-1995", "--measure", "mean")
    assert one_line(both).startswith("--people compares all decisions of one recording")
    neither = sabm("compare", contest)
    assert one_line(neither).startswith("Name the measure to compare (--measure)")
    assert not (contest.parent / "compare").exists()


def test_a_recording_without_decisions_is_one_line(sabm: Sabm, tmp_path: Path) -> None:
    path = tmp_path / "silent.sqlite"
    KeynesianBeautyContest(
        n_players=2, n_rounds=1, minds="fixed:none", rng=1, recording=path
    ).run_model()
    done = sabm("compare", path, "--people", "nagel-1995")
    assert one_line(done) == f"No decision was recorded in the column choice of {path}."


CODEBOOK = """
who = "students in 12 sessions"
source = "made up"
scenarios = ["public-goods"]
decision = "contribution"
low = 0
high = 20
[treatments]
rich = { multiplier = 1.6 }
poor = { multiplier = 1.2 }
[columns]
decision = "gave"
session = "session"
treatment = "treatment"
[[effects]]
says = "They give more where the pot grows more"
treatment = "rich"
than_treatment = "poor"
direction = "more"
"""


@pytest.mark.slow
def test_two_treatments_are_compared_by_their_difference(sabm: Sabm, tmp_path: Path) -> None:
    """People give 4 more, the runs 8 more: six sessions and six runs of each treatment."""
    book, data = tmp_path / "class.toml", tmp_path / "class.csv"
    book.write_text(CODEBOOK, "utf-8")
    rows = ["session,treatment,gave"]
    path = tmp_path / "runs.sqlite"
    for treatment, multiplier, people, runs in (("rich", 1.6, 10, 13), ("poor", 1.2, 6, 5)):
        for i in range(6):
            level = (-1, 0, 1, 0, -1, 1)[i]
            rows += [f"{treatment}{i},{treatment},{people + level + d}" for d in (-2, 0, 0, 2)]
            PublicGoods(
                n_players=4, group_size=4, endowment=20, multiplier=multiplier, n_rounds=1,
                minds=f"fixed:{runs - level}", rng=i, recording=path,
            ).run_model()  # fmt: skip
    data.write_text("\n".join(rows), "utf-8")

    done = sabm("compare", path, "--people", data)
    assert done.status == 0, done.err
    said = json.loads((tmp_path / "compare" / "people-class.json").read_text("utf-8"))
    (effect,) = said["effects"]
    assert (effect["people"], effect["runs"], effect["verdict"]) == (4, 8, "same")
    assert effect["n_runs"] == 6


def test_the_file_that_is_missing_is_the_one_that_is_named(
    sabm: Sabm, tmp_path: Path, contest: Path
) -> None:
    nothing = tmp_path / "nothing.csv"
    assert one_line(sabm("compare", contest, "--people", nothing)) == f"There is no file {nothing}."
    nothing.write_text("choice\n3\n", "utf-8")
    said = one_line(sabm("compare", contest, "--people", nothing))
    assert said.startswith(f"Cannot read the codebook {tmp_path / 'nothing.toml'}")
