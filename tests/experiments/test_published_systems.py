"""Experiments of the systems of other authors: that they run, and that they say what was said."""

import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa.analysis.commons import run_measures
from sabm_mesa.analysis.guessing_measures import session_measures
from sabm_mesa.analysis.human_contributions import published
from sabm_mesa.analysis.human_guesses import human_guesses
from sabm_mesa.analysis.public_goods import infections, resilience_ratio
from sabm_mesa.analysis.theory.guessing_dynamics import strategic_level
from sabm_mesa.experiments.design import COSTS, Experiment, Figures, Scale
from sabm_mesa.experiments.human import people
from sabm_mesa.experiments.measures import measured, samples
from sabm_mesa.experiments.plan import plan
from sabm_mesa.experiments.reading import experiment, names
from sabm_mesa.experiments.results import results
from sabm_mesa.experiments.running import Outcome, run
from sabm_mesa.experiments.theory import marks

MONTHS = {"n_rounds": 4, "max_entries": 3}
TINY: dict[str, dict[str, Any]] = {
    "beauty-contest": {},
    "cocktail-party": {"n_agents": 4, "n_rounds": 13, "max_turns": 2},
    "fishery": MONTHS,
    "pasture": MONTHS,
    "pollution": MONTHS,
    "public-goods": {},
    "sentence-making": {"n_agents": 3, "n_rounds": 1, "n_sentences": 2, "max_turns": 2},
}
SYSTEMS = [name for name in names() if experiment(name).scenario in TINY]
COMMONS = ("fishery", "pasture", "pollution")
VARIED = ("universalization", "newcomer", "no-communication")
UNCLAIMED = {("cocktail-party", "slope_distance")} | {
    (name, "over_usage")
    for name in SYSTEMS
    if name.startswith("govsim") and "no-communication" not in name
}
"""Measures of which nothing is claimed or published; the notes say why."""


def tiny(name: str) -> Experiment:
    """An experiment of the package at a size that takes no time."""
    found = experiment(name)
    scale = Scale(2, {**found.scales["quick"].set, **TINY[found.scenario]})
    return replace(found, scales={**found.scales, "quick": scale})


def played(name: str, folder: Path, minds: Any = "classical") -> Outcome:
    """What comes of it."""
    return run(plan(tiny(name), minds=minds), folder)


def said(found: Experiment, condition: str, measure: str) -> float:
    """The published number of a measure in a condition."""
    (only,) = (
        each.numbers
        for each in found.published
        if (each.condition, each.measure) == (condition, measure)
    )
    (number,) = only
    return number


def course(found: Experiment, condition: str, column: str) -> Figures:
    """The published course of a column in a condition."""
    (only,) = (
        each for each in found.published if (each.condition, each.column) == (condition, column)
    )
    return only


def test_the_list() -> None:
    govsim = [f"govsim-{scenario}" for scenario in COMMONS]
    govsim += [f"govsim-{varied}-{scenario}" for varied in VARIED for scenario in COMMONS]
    assert sorted(
        [
            "cocktail-party", "lu-fixed-opponents", "lu-mixed-types", "lu-one-shot", "nagel-1995",
            "public-goods-infection", "public-goods-norm", "public-goods-people",
            "sentence-making", *govsim,
        ]
    ) == SYSTEMS  # fmt: skip
    for name in SYSTEMS:
        if name.startswith("govsim"):
            assert name.endswith(experiment(name).scenario)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_experiment_runs_and_measures(name: str, tmp_path: Path) -> None:
    outcome = played(name, tmp_path)
    found = outcome.plan.experiment
    assert len(outcome.runs) == 2 * len(found.conditions)
    assert measured(outcome)["value"].map(math.isfinite).all()
    for plot in found.plots:
        data = outcome.model_data if plot.kind == "rounds" else outcome.agent_data
        assert set(plot.columns) <= set(data.columns)
        assert not plot.theory or marks(plot.theory, outcome)
        assert not plot.human or people(plot.human)
    for each in found.published:
        assert not each.column or each.column in outcome.model_data.columns
    for condition in found.conditions if found.show else ():
        model_data, agent_data = (
            data[data["condition"] == condition.name]
            for data in (outcome.model_data, outcome.agent_data)
        )
        drawn = import_module(outcome.plan.model.plots).figures(model_data, agent_data)
        assert set(found.show) <= set(drawn)


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_said_is_complete(name: str) -> None:
    found = experiment(name)
    used = {each.measure for each in [*found.claims, *found.published]}
    for measure in found.measures:
        assert (measure.name in used) != ((name, measure.name) in UNCLAIMED)
    assert all(each.source for each in [*found.claims, *found.published])
    assert found.notes
    for each in found.published:
        assert bool(each.measure) != bool(each.column)
        assert len(each.rounds) == (len(each.numbers) if each.column else 0)
        assert each.condition or each.measure  # a course of people stands beside a condition
    for scale in found.scales.values():
        assert not scale.set  # both scales have the published sizes


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_claim_can_be_contradicted(name: str) -> None:
    found = experiment(name)
    for claim in found.claims:
        if claim.kind in {"above", "below"} and found.measure(claim.measure).take == "share":
            assert 0 < claim.value < 1, claim.text
        if claim.kind == "within":
            assert -math.inf < claim.low < claim.high < math.inf, claim.text
        if claim.kind in {"above", "below"} and claim.value != 0:
            limit = "three steps deep" in claim.text or claim.measure == "ratio"
            assert claim.ours or limit, claim.text


@pytest.mark.parametrize("name", SYSTEMS)
def test_published_numbers_are_possible_and_bear_the_claims_out(name: str) -> None:
    found = experiment(name)
    for each in found.published:
        if each.measure and found.measure(each.measure).take == "share":
            assert 0 <= each.numbers[0] <= 1
    by_place = {(each.measure, each.condition): each.numbers[0] for each in found.published}
    for claim in found.claims:
        number = by_place.get((claim.measure, claim.condition))
        other = by_place.get((claim.measure, claim.than))
        if number is None or "not significant" in claim.text or claim.condition == "10l":
            continue
        told = {
            "above": number > claim.value,
            "below": number < claim.value,
            "within": claim.low <= number <= claim.high,
            "less": other is None or number < other,
            "more": other is None or number > other or "section 3.4" in claim.source,
        }
        assert told[claim.kind], claim.text


def test_the_published_sizes() -> None:
    runs = {
        "cocktail-party": 1, "nagel-1995": 4, "lu-one-shot": 17, "public-goods-people": 6,
        "public-goods-norm": 20, "public-goods-infection": 20,
    }  # fmt: skip
    for name in SYSTEMS:
        assert experiment(name).scales["paper"].runs == runs.get(name, 5), name
    students = experiment("public-goods-people").set
    assert (students["n_players"], students["group_size"], students["endowment"]) == (24, 4, 20)
    assert students["multiplier"] / students["group_size"] == 0.4
    newcomer = experiment("govsim-newcomer-fishery").condition("newcomer").set
    assert newcomer == {"newcomer_month": 4, "n_rounds": 15}


@pytest.mark.parametrize("name", SYSTEMS)
def test_cost_classes(name: str, tmp_path: Path) -> None:
    found = experiment(name)
    outcome = run(plan(found, "paper", runs=1), tmp_path)
    asked = int(outcome.runs["asks"].sum()) * found.scales["paper"].runs
    if found.scenario in COMMONS and len(found.conditions) > 2:
        asked = round(1.1 * asked)  # classical minds end a talk after five of nine turns
    assert found.cost == next(each for each, most in COSTS.items() if asked <= most)


def test_first_picks_are_as_in_table_1() -> None:
    found = experiment("lu-one-shot")
    table = {
        "chatglm3": (52.029, 51.724), "llama2": (59.519, 62.685), "baichuan2": (51.158, 50.0),
        "claude2": (41.609, 33.333), "claude1": (47.696, 49.313), "palm": (49.976, 50.0),
        "gpt-3.5": (38.912, 33.333), "gpt-4": (41.072, 44.442),
    }  # fmt: skip
    assert [each.name for each in found.conditions] == list(table)
    for condition, (average, median) in table.items():
        assert said(found, condition, "average") == average
        assert said(found, condition, "median") == median
    students = {each.measure: each.numbers for each in found.published if not each.condition}
    assert students == {"average": (36.73,), "median": (33,)}
    # The depths of these averages in the notes, against the middle of the range.
    for condition, depth in {"gpt-3.5": 0.62, "claude2": 0.45, "llama2": -0.43}.items():
        level = strategic_level(table[condition][0], 50, 2 / 3)
        assert level == pytest.approx(depth, abs=0.005)
        assert f"{depth:.2f}" in " ".join(found.notes)


def test_ratios_against_fixed_opponents(tmp_path: Path) -> None:
    minds = {
        name: {"classical:level_1": n, "fixed:0": 10 - n}
        for name, n in {"one-nine": 1, "five-five": 5, "nine-one": 9}.items()
    }
    values = measured(played("lu-fixed-opponents", tmp_path, minds))
    found = experiment("lu-fixed-opponents")
    for name, who in minds.items():
        expected = 2 / 3 * who["classical:level_1"] / 10
        assert said(found, name, "ratio") == pytest.approx(expected, abs=0.0005)
        assert samples(values, "ratio", name) == pytest.approx([expected, expected])


def test_ratios_of_groups_of_one_type(tmp_path: Path) -> None:
    minds = {"10h": "classical:level_1", "10l": "classical:level_0"}
    values = measured(played("lu-mixed-types", tmp_path, minds))
    assert samples(values, "ratio", "10h") == pytest.approx([2 / 3, 2 / 3])
    assert samples(values, "ratio", "10l") == pytest.approx([1, 1])
    assert said(experiment("lu-mixed-types"), "10h", "ratio") == 0.667


@pytest.mark.parametrize(("condition", "p"), [("two-thirds", "2/3"), ("half", "1/2")])
def test_students_guess_as_in_the_article(condition: str, p: str) -> None:
    found, data = experiment("nagel-1995"), human_guesses()["sessions"][p]
    for column in ("mean", "median"):
        sessions = data[f"{column}s"]
        expected = [sum(period) / len(sessions) for period in zip(*sessions, strict=True)]
        shown = course(found, condition, column)
        assert shown.numbers == pytest.approx(expected, abs=0.005)
        assert shown.rounds == (0, 1, 2, 3)
        notes = " ".join(found.notes)
        for session in sessions:
            assert ", ".join(map(str, session)) in notes
    falls = [session[-1] - session[0] for session in data["means"]]
    assert said(found, condition, "fall") == pytest.approx(sum(falls) / len(falls), abs=0.005)
    later = human_guesses()["later_periods"][p]
    steps = [row[2] + row[3] for row in later]
    assert said(found, condition, "steps_1_2") == pytest.approx(sum(steps) / 300, abs=0.0005)
    deep = [row[-1] for row in later[:2]]
    assert said(found, condition, "deep") == pytest.approx(sum(deep) / 200, abs=0.001)
    falling = {"two-thirds": 163 / 201, "half": 135 / 144}[condition]
    assert said(found, condition, "falling") == pytest.approx(falling, abs=0.0005)


def test_the_steps_of_people_in_the_plots() -> None:
    rows = human_guesses()["later_periods"]["2/3"]
    for name, row in {"second": rows[0], "last": rows[2]}.items():
        who, bins = people(f"nagel-1995-{name}-period")
        assert "67 students" in who
        assert [share for _, _, share in bins] == row
        assert [(low, high) for low, high, _ in bins] == [(step, step) for step in range(-1, 5)]


def test_falling_picks_are_those_of_the_model(tmp_path: Path) -> None:
    outcome = played("nagel-1995", tmp_path)
    values = measured(outcome)
    for condition in ("two-thirds", "half"):
        for number, run_ in enumerate(_runs(outcome, condition)):
            expected = session_measures(*run_)
            assert samples(values, "falling", condition)[number] == pytest.approx(
                expected["falling"]
            )
            assert samples(values, "first_mean", condition)[number] == expected["first_mean"]


@pytest.mark.parametrize("scenario", COMMONS)
def test_commons_are_as_in_tables_4_to_6(scenario: str) -> None:
    table = {
        "fishery": {
            "gpt-4o": (100, 12.0, 71.36), "gpt-4-turbo": (100, 12.0, 108.80),
            "gpt-4": (20, 5.2, 32.52), "claude-3-opus": (60, 9.6, 56.28),
            "qwen-110b": (40, 6.6, 49.04), "gpt-3.5": (0, 1.4, 20.80),
        },
        "pasture": {
            "gpt-4o": (20, 6.6, 57.92), "gpt-4-turbo": (0, 2.0, 23.12),
            "gpt-4": (0, 1.8, 21.92), "claude-3-opus": (80, 10.2, 99.24),
            "qwen-110b": (0, 3.2, 27.76), "gpt-3.5": (0, 1.0, 20.00),
        },
        "pollution": {
            "gpt-4o": (40, 9.2, 68.84), "gpt-4-turbo": (20, 5.8, 55.32),
            "gpt-4": (0, 4.6, 39.96), "claude-3-opus": (0, 1.0, 20.00),
            "qwen-110b": (20, 3.6, 32.24), "gpt-3.5": (0, 1.0, 20.00),
        },
    }[scenario]  # fmt: skip
    found = experiment(f"govsim-{scenario}")
    assert [each.name for each in found.conditions] == list(table)
    for condition, (rate, time, gain) in table.items():
        assert said(found, condition, "survived") == rate / 100
        assert said(found, condition, "last_month") == pytest.approx(time - 1)
        assert said(found, condition, "gain") == gain
    for varied in ("universalization", "no-communication"):
        default = experiment(f"govsim-{varied}-{scenario}")
        for measure in ("survived", "last_month", "gain"):
            assert said(default, "default", measure) == said(found, "gpt-4o", measure)


@pytest.mark.parametrize(
    ("scenario", "hinted", "joined", "silent"),
    [
        ("fishery", 117.20, (1.0, 81.00), 12.0),
        ("pasture", 118.40, (0.0, 11.52), 4.0),
        ("pollution", 101.12, (0.0, 12.00), 2.4),
    ],
)
def test_commons_that_are_varied_are_as_published(
    scenario: str, hinted: float, joined: tuple[float, float], silent: float
) -> None:
    told = experiment(f"govsim-universalization-{scenario}")
    assert said(told, "universalization", "gain") == hinted
    assert said(told, "universalization", "survived") == 1
    assert said(told, "universalization", "last_month") == 11
    newcomer = experiment(f"govsim-newcomer-{scenario}")
    assert said(newcomer, "newcomer", "alive") == joined[0]
    assert said(newcomer, "newcomer", "units_since") == pytest.approx(5 * joined[1])
    mute = experiment(f"govsim-no-communication-{scenario}")
    assert said(mute, "silent", "last_month") == pytest.approx(silent - 1)


def test_measures_of_a_commons_are_those_of_the_model(tmp_path: Path) -> None:
    found = experiment("govsim-no-communication-pasture")
    outcome = run(plan(found, runs=3), tmp_path)
    values = measured(outcome)
    for condition in ("default", "silent"):
        for number, run_ in enumerate(_runs(outcome, condition)):
            expected = run_measures(*run_, horizon=12, stock=100)
            shown = {
                each.name: samples(values, each.name, condition)[number] for each in found.measures
            }
            assert shown["last_month"] == expected["survival_time"] - 1
            assert shown["survived"] == expected["survived"]
            assert shown["gain"] == pytest.approx(expected["gain"])
            assert shown["over_usage"] == pytest.approx(expected["over_usage"])
            assert expected["efficiency"] == pytest.approx(min(shown["gain"], 120) / 120)


def test_the_units_since_the_newcomer_came(tmp_path: Path) -> None:
    found = experiment("govsim-newcomer-pollution")
    minds = {"newcomer": "classical:sustainable"}
    outcome = run(plan(found, minds=minds, runs=1), tmp_path)
    (one,) = _runs(outcome, "newcomer")
    expected = run_measures(*one, horizon=15, stock=100, first_round=3)
    values = measured(outcome)
    assert samples(values, "units_since", "newcomer") == pytest.approx([5 * expected["gain"]])
    assert samples(values, "alive", "newcomer") == [1]


def test_the_party_is_as_published() -> None:
    found = experiment("cocktail-party")
    assert said(found, "claude-2.1", "slope_conversations") == -0.006
    assert said(found, "claude-2.1", "slope_invitations") == -0.010
    assert all(each.condition == "claude-2.1" for each in found.published)
    assert all(measure.rounds == (9, -1) for measure in found.measures)  # full windows of 10


def test_the_sentences_are_as_published() -> None:
    found = experiment("sentence-making")
    assert said(found, "individual", "valid") == 0.823
    assert said(found, "collective", "valid") == 0.947
    assert {each.measure for each in found.published} == {"valid"}  # other vectors: no variance


def test_games_without_a_past_are_as_published() -> None:
    found = experiment("public-goods-norm")
    assert said(found, "claude-2.1", "contribution") == 72.5
    assert said(found, "claude-3-opus", "contribution") == 69.25


def test_chains_are_as_published() -> None:
    found = experiment("public-goods-infection")
    table = {
        "claude-2.1-first": (72.5, 34.0), "claude-2.1-second": (80, 27),
        "claude-3-opus-first": (65.75, 39.75), "claude-3-opus-second": (82.85, 55.5),
    }  # fmt: skip
    assert [each.name for each in found.conditions] == list(table)
    for condition, (before, after) in table.items():
        assert said(found, condition, "before") == before
        assert said(found, condition, "after") == after
        assert said(found, condition, "change") == pytest.approx(after - before)
    drop = -said(found, "claude-2.1-first", "change")
    notes = " ".join(found.notes)
    for collective in (20.25, 13.25):
        assert f"{resilience_ratio(collective, drop):.2f} ({collective}" in notes


def test_the_last_game_of_a_chain_shows_the_infected(tmp_path: Path) -> None:
    outcome = played("public-goods-infection", tmp_path)
    values = measured(outcome)
    for order, condition in enumerate(("claude-2.1-first", "claude-2.1-second"), 1):
        data = outcome.agent_data[outcome.agent_data["condition"] == condition]
        shown = infections(data).query("order == @order")
        assert list(samples(values, "after", condition)) == list(shown["after"])
        if order == 1:
            assert list(samples(values, "before", condition)) == list(shown["before"])
            assert list(samples(values, "change", condition)) == list(-shown["drop"])


def test_students_contribute_as_in_the_data(tmp_path: Path) -> None:
    found = experiment("public-goods-people")
    data = published()
    shown = course(found, "strangers", "contribution")
    assert list(shown.numbers) == data["contributions"]
    zeros = course(found, "strangers", "zero_share")
    assert zeros.numbers[0] == data["first_shares"]["0"]
    assert shown.rounds == zeros.rounds == tuple(range(10))
    assert said(found, "strangers", "first") == shown.numbers[0]
    assert said(found, "strangers", "last") == shown.numbers[-1]
    assert said(found, "strangers", "change") == pytest.approx(shown.numbers[-1] - shown.numbers[0])
    assert said(found, "strangers", "more_zeros") == pytest.approx(
        zeros.numbers[-1] - zeros.numbers[0]
    )
    courses = results(played("public-goods-people", tmp_path)).courses
    assert len(courses) == 20
    assert courses["mean"].notna().all()


def _runs(outcome: Outcome, condition: str) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Model and agent data of each run of a condition, in the order of the seeds."""
    cells = outcome.runs[outcome.runs["condition"] == condition].sort_values("seed")
    model_data, agent_data = (
        data.drop(columns="condition") for data in (outcome.model_data, outcome.agent_data)
    )
    return [
        (model_data[model_data["run"] == number], agent_data[agent_data["run"] == number])
        for number in cells["run"]
    ]
