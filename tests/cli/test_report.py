"""The report at the end of a run: measures without a value, and cautions."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from sabm_mesa.cli.progress import dollars
from sabm_mesa.llm import close_all
from tests.llm_server import LLMServer

from .support import Sabm, one_line

SHRINKS = "a pot times 0.5 does not grow, so that giving helps nobody"
PAYS = "comes back of each dollar that one gives, so that giving costs nothing"


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["multiplier=0.5"], SHRINKS),
        (["multiplier=2"], f"1 {PAYS}"),
        (["multiplier=2", "n_players=4"], ""),
        (["multiplier=3", "n_players=4", "group_size=2"], f"1.5 {PAYS}"),
    ],
)
def test_a_game_that_is_no_dilemma(
    sabm: Sabm, tmp_path: Path, settings: list[str], why: str
) -> None:
    said = f"no social dilemma: {why}; a dilemma has a multiplier between 1 and 2." if why else ""
    given = [part for each in settings for part in ("--set", each)]
    outcome = sabm("run", "public-goods", "--runs", 2, "--rounds", 2, *given, "--out", tmp_path)

    warned = [line for line in outcome.out.splitlines() if line.startswith("Warning")]
    assert warned == ([f"Warning: {said}"] if said else [])
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [run.get("caution", "") for run in summary["runs"]] == [said, said]


def test_members_that_are_none(sabm: Sabm, tmp_path: Path) -> None:
    outcome = sabm("run", "public-goods", "--set", "members=C", "--out", tmp_path / "out")

    assert outcome.status == 2
    assert "or a list of agents such as [1, 10, 9], not 'C'" in one_line(outcome)


def test_measures_that_no_run_has_are_shown_as_such(sabm: Sabm, tmp_path: Path) -> None:
    outcome = sabm(
        "run", "fishery", "--set", "newcomer_month=4", "--minds", "fixed:100", "--out", tmp_path
    )

    assert "survival_time 0, survived 0, gain –, efficiency –, equality –" in outcome.out


@pytest.mark.slow
def test_a_mean_over_some_of_the_runs_says_over_how_many(sabm: Sabm, tmp_path: Path) -> None:
    """In short parties with these seeds some have tight pairs and others none."""
    options = ["--minds", "classical:random", "--set", "n_agents=8", "--rounds", 12, "--runs", 4,
               "--seed", 1, "--out", tmp_path]  # fmt: skip
    words = sabm("run", "cocktail-party", *options).out
    runs = json.loads((tmp_path / "summary.json").read_text())["runs"]
    known = [run["slope_tight_distance"] for run in runs if run["slope_tight_distance"] is not None]

    assert 0 < len(known) < 4
    mean = sum(known) / len(known)
    assert f"slope_tight_distance {mean:.4g} ({len(known)} of 4 runs)" in words
    assert not [name for run in runs for name in run if name.startswith("p_")]


@pytest.mark.parametrize(
    ("usd", "said"), [(0.0, "no cost"), (0.25, "$0.2500"), (math.nan, "price unknown")]
)
def test_what_costs_nothing_shows_no_amount(usd: float, said: str) -> None:
    assert dollars(usd, 4) == said


@pytest.mark.parametrize(
    ("fault", "advised"),
    [("garbage", True), ("content-filter", False), ("length", False)],
)
def test_a_trial_of_the_formats_is_advised_only_where_a_format_can_help(
    sabm: Sabm, tmp_path: Path, fault: str, advised: bool
) -> None:
    options = ["--set", "n_players=2", "--rounds", 1, "--set", "max_attempts=1", "--out", tmp_path]
    with LLMServer(faults=lambda _number, _body: fault) as server:
        outcome = sabm("run", "kbc", "--minds", f"llm:stub@{server.url}", *options)
    close_all()

    assert outcome.status == 0
    assert "2 of 2 questions got no usable answer" in outcome.out
    assert ("To test which answer format works best: sabm doctor" in outcome.out) is advised


@pytest.mark.parametrize(
    ("runs", "line"),
    [
        (1, "Ended after 2 of 50 rounds: all people are out"),
        (2, "2 of 2 runs ended early: all people are out"),
    ],
)
def test_why_runs_ended_is_said_and_written(
    sabm: Sabm, tmp_path: Path, runs: int, line: str
) -> None:
    room = ("--set", "n_people=1", "--set", "width=5", "--set", "height=5", "--seed", 1)
    outcome = sabm("run", "evacuation", *room, "--runs", runs, "--out", tmp_path)

    assert line in outcome.out.splitlines(), outcome
    assert outcome.out.splitlines()[1].startswith("Each round: ")
    summary = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    assert {run["end_reason"] for run in summary["runs"]} == {"all people are out"}
