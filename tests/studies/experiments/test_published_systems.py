"""Experiments of the systems of other authors: that they run, and that they say what was said."""

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa.analysis.contributions import published
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import Connection
from sabm_mesa.models.beauty_contest.repeated.study import session_measures
from sabm_mesa.models.beauty_contest.repeated.theory import (
    human_guesses,
    session_means,
    strategic_level,
)
from sabm_mesa.models.commons.study import run_measures
from sabm_mesa.models.public_goods.study import infections
from sabm_mesa.studies.experiments.report import drawings, report_of
from sabm_mesa.studies.experiments.results import judged, measured, results, samples
from sabm_mesa.studies.experiments.running import Outcome, check, plan, run
from sabm_mesa.studies.experiments.schema import (
    COSTS,
    SCALES,
    Experiment,
    Figures,
    Scale,
    experiment_names,
    load_experiment,
)
from sabm_mesa.studies.people import human_distributions
from sabm_mesa.studies.report import as_json
from tests.studies.experiments.support import assert_complete

MONTHS = {"n_rounds": 4, "max_entries": 3}
TINY: dict[str, dict[str, Any]] = {
    "beauty-contest": {},
    "cocktail-party": {"n_agents": 4, "n_rounds": 13, "max_turns": 2},
    "fishery": MONTHS,
    "pasture": MONTHS,
    "pollution": MONTHS,
    "public-goods": {},
    "sentence-making": {"n_rounds": 1, "n_sentences": 1, "max_turns": 2},
}
SYSTEMS = [name for name in experiment_names() if load_experiment(name).scenario in TINY]
COMMONS = ("fishery", "pasture", "pollution")
VARIED = (
    "universalization", "newcomer", "no-communication", "newcomer-universalization",
)  # fmt: skip
UNCLAIMED = (
    {("cocktail-party", "slope_distance")}
    | {
        ("lu-mixed-sessions", f"payoff_{name}")
        for name in ("chatglm3", "llama2", "baichuan2", "claude1")
    }
    | {
        (name, "over_usage")
        for name in SYSTEMS
        if name.startswith("govsim") and "no-communication" not in name
    }
)
"""Measures of which nothing is claimed or published; the notes say why."""


def tiny(name: str) -> Experiment:
    """An experiment of the package at a size that takes no time."""
    found = load_experiment(name)
    scale = Scale(runs=2, set={**found.scales["quick"].set, **TINY[found.scenario]})
    return found.model_copy(update={"scales": {**found.scales, "quick": scale}})


def played(name: str, folder: Path, minds: Any = "classical") -> Outcome:
    """The outcome of an experiment."""
    return run(plan(tiny(name), minds=minds), folder)


def said(found: Experiment, condition: str, measure: str) -> float:
    """The published number of a measure in a condition."""
    (only,) = (
        each.numbers
        for each in found.figures
        if (each.condition, each.measure) == (condition, measure)
    )
    (number,) = only
    return number


def course(found: Experiment, condition: str, column: str) -> Figures:
    """The published course of a column in a condition."""
    (only,) = (
        each for each in found.figures if (each.condition, each.column) == (condition, column)
    )
    return only


def test_the_list() -> None:
    govsim = [f"govsim-{scenario}" for scenario in COMMONS]
    govsim += [f"govsim-{varied}-{scenario}" for varied in VARIED for scenario in COMMONS]
    assert sorted(
        [
            "cocktail-party", "lu-fixed-opponents", "lu-fixed-opponents-palm",
            "lu-mixed-sessions", "lu-mixed-types", "lu-one-shot", "lu-repeated", "nagel-1995",
            "public-goods-infection", "public-goods-infection-others", "public-goods-norm",
            "public-goods-people", "sentence-making", "sentence-making-claude-3",
            "govsim-three-commons", *govsim,
        ]
    ) == SYSTEMS  # fmt: skip
    for name in SYSTEMS:
        if name in govsim:
            assert name.endswith(load_experiment(name).scenario)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_experiment_can_be_run(name: str) -> None:
    """All conditions can be built at both scales, and there is every column that is named."""
    for scale in SCALES:
        planned = plan(load_experiment(name), scale, minds="classical")
        check(planned, planned.cells, Connection())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "govsim-newcomer-pasture", "lu-mixed-types", "nagel-1995", "public-goods-people",
        "sentence-making",
    ],
)  # fmt: skip
def test_one_of_each_study_runs_to_its_report(name: str, tmp_path: Path) -> None:
    outcome = played(name, tmp_path)
    found = outcome.plan.experiment
    came = results(outcome)
    assert len(outcome.runs) == 2 * len(found.conditions)
    assert came.measures["value"].map(math.isfinite).all()
    drawn = drawings(came)
    own = [f"condition-{number}-" for number, _ in enumerate(found.conditions, 1)]
    for show in found.show:
        assert all(any(d.startswith(o) and d.endswith(show) for d in drawn) for o in own)
    assert "measures" in drawn
    shown = len(found.show) * len(found.conditions)
    assert len(drawn) == 1 + len(found.plots) + shown
    said = as_json(report_of(came))
    assert [row["source"] for row in said.get("tests", [])] == [c.source for c in found.claims]
    assert said["asks"] == outcome.all_runs["asks"].sum()


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_said_is_complete_and_can_be_contradicted(name: str) -> None:
    found = load_experiment(name)
    assert_complete(found, UNCLAIMED)
    for each in found.figures:
        assert each.condition or each.measure  # a course of people stands beside a condition
    for scale in found.scales.values():
        assert not scale.set  # both scales have the published sizes
    for claim in found.claims:
        if claim.kind in {"above", "below"} and claim.value != 0:
            limit = "three steps deep" in claim.text or claim.measure == "ratio"
            assert claim.ours or limit, claim.text


@pytest.mark.parametrize("name", SYSTEMS)
def test_published_numbers_are_possible_and_bear_the_claims_out(name: str) -> None:
    found = load_experiment(name)
    for each in found.figures:
        if each.measure and found.measure(each.measure).take == "share":
            assert 0 <= each.numbers[0] <= 1
    by_place = {(each.measure, each.condition): each.numbers[0] for each in found.figures}
    for claim in found.claims:
        number = by_place.get((claim.measure, claim.condition))
        other = by_place.get((claim.measure, claim.places[-1][1]))
        if number is None or "not significant" in claim.text or claim.condition == "10l":
            continue
        if len(claim.places) > 1:
            if other is None or "section 3.4" in claim.source:
                continue
            number -= other
        for side, limit in claim.limits():
            beyond = side * (number - limit)
            assert beyond > 0 or (claim.kind == "within" and beyond == 0), claim.text


def test_the_published_sizes() -> None:
    runs = {
        "cocktail-party": 1, "nagel-1995": 4, "lu-one-shot": 17, "public-goods-people": 6,
        "public-goods-norm": 20, "public-goods-infection": 20,
        "public-goods-infection-others": 20, "lu-mixed-sessions": 150, "lu-repeated": 20,
    }  # fmt: skip
    for name in SYSTEMS:
        assert load_experiment(name).scales["paper"].runs == runs.get(name, 5), name
    students = load_experiment("public-goods-people").set
    assert (students["n_players"], students["group_size"], students["endowment"]) == (24, 4, 20)
    assert students["multiplier"] / students["group_size"] == 0.4
    newcomer = load_experiment("govsim-newcomer-fishery").condition("newcomer").set
    assert newcomer == {"newcomer_month": 4, "n_rounds": 15}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", ["lu-mixed-types", "govsim-fishery", "public-goods-infection"])
def test_cost_classes(name: str, tmp_path: Path) -> None:
    found = load_experiment(name)
    runs = run(plan(found, "paper", runs=1), tmp_path).all_runs
    of_one = runs["asks"].where(runs["scenario"] == found.scenario, 0).sum()
    asked = int(runs["asks"].sum() + (found.scales["paper"].runs - 1) * of_one)
    if found.scenario in COMMONS and len(found.conditions) > 2:
        asked = round(1.1 * asked)  # classical minds end a talk after five of nine turns
    assert found.cost == next(each for each, most in COSTS.items() if asked <= most)


def test_first_picks_are_as_in_table_1() -> None:
    found = load_experiment("lu-one-shot")
    table = {
        "chatglm3": (52.029, 51.724), "llama2": (59.519, 62.685), "baichuan2": (51.158, 50.0),
        "claude2": (41.609, 33.333), "claude1": (47.696, 49.313), "palm": (49.976, 50.0),
        "gpt-3.5": (38.912, 33.333), "gpt-4": (41.072, 44.442),
    }  # fmt: skip
    assert [each.name for each in found.conditions] == list(table)
    for condition, (average, median) in table.items():
        assert said(found, condition, "average") == average
        assert said(found, condition, "median") == median
    students = {each.measure: each.numbers for each in found.figures if not each.condition}
    assert students == {"average": (36.73,), "median": (33,)}
    # The depths of these averages in the notes, against the middle of the range.
    for condition, depth in {"gpt-3.5": 0.62, "claude2": 0.45, "llama2": -0.43}.items():
        level = strategic_level(table[condition][0], 50, 2 / 3)
        assert level == pytest.approx(depth, abs=0.005)
        assert f"{depth:.2f}" in " ".join(found.notes)


def test_ratios_against_fixed_opponents(tmp_path: Path) -> None:
    values = measured(run(plan(tiny("lu-fixed-opponents"), minds="classical:level_1"), tmp_path))
    found = load_experiment("lu-fixed-opponents")
    for name, n in {"one-nine": 1, "five-five": 5, "nine-one": 9}.items():
        expected = 2 / 3 * n / 10
        assert said(found, name, "ratio") == pytest.approx(expected, abs=0.0005)
        assert samples(values, "ratio", name) == pytest.approx([expected, expected])


def test_ratios_of_groups_of_one_type(tmp_path: Path) -> None:
    minds = {"10h": "classical:level_1", "10l": "classical:level_0"}
    values = measured(played("lu-mixed-types", tmp_path, minds))
    assert samples(values, "ratio", "10h") == pytest.approx([2 / 3, 2 / 3])
    assert samples(values, "ratio", "10l") == pytest.approx([1, 1])
    assert said(load_experiment("lu-mixed-types"), "10h", "ratio") == 0.667


def test_payoffs_of_a_mixed_session_are_those_of_the_slots(tmp_path: Path) -> None:
    """The player of a slot is the one whose measures bear its name."""
    found = load_experiment("lu-mixed-sessions")
    numbers = {name: 10 * i for i, name in enumerate(found.slots, 1)}
    minds: Any = {name: f"fixed:{number}" for name, number in numbers.items()}
    data = run(plan(found, minds=minds, runs=1), tmp_path).agent_data
    assert data.set_index("agent")["choice"].to_dict() == dict(enumerate(numbers.values(), 1))
    assert [each.agent for each in found.measures] == list(range(1, 9))
    for slot, measure in zip(found.slots, found.measures, strict=True):
        assert measure.name == f"payoff_{slot.replace('-', '_').replace('.', '')}"


@pytest.mark.parametrize("name", experiment_names())
def test_a_claim_that_names_a_model_is_told_of_language_models_alone(name: str) -> None:
    found = load_experiment(name)
    open_ = judged(plan(found))
    for claim in found.claims:
        if re.search(r"GPT|Claude|Llama|PaLM|ChatGLM|Baichuan", claim.text):
            assert claim not in open_
    assert (name != "sentence-making") or not open_


def test_types_that_are_named_fill_their_places_in_every_group() -> None:
    found = load_experiment("lu-mixed-types")

    def groups(minds: Any) -> list[Any]:
        return list(plan(found, minds=minds).minds.values())

    low = "classical:level_0"
    for minds in ("llm:a", {"H": "llm:a"}):
        assert groups(minds) == [
            "llm:a", {"llm:a": 9, low: 1}, {"llm:a": 5, low: 5}, {"llm:a": 1, low: 9}, low,
        ]  # fmt: skip
    assert groups({"H": "llm:a", "L": "llm:b"})[2:] == [
        {"llm:a": 5, "llm:b": 5}, {"llm:a": 1, "llm:b": 9}, "llm:b",
    ]  # fmt: skip
    assert groups({"L": "fixed:3"})[1] == {"classical": 9, "fixed:3": 1}
    with pytest.raises(ParameterError, match=r"name one for H \(--minds H=SPEC\), not several"):
        groups({"llm:a": 5, "llm:b": 5})


@pytest.mark.parametrize(("condition", "p"), [("two-thirds", "2/3"), ("half", "1/2")])
def test_students_guess_as_in_the_article(condition: str, p: str) -> None:
    found, means = load_experiment("nagel-1995"), session_means(float(Fraction(p)))
    assert means is not None
    given = {"mean": means.tolist(), "median": human_guesses()["medians"][p]}
    for column, sessions in given.items():
        expected = [sum(period) / len(sessions) for period in zip(*sessions, strict=True)]
        shown = course(found, condition, column)
        assert shown.numbers == pytest.approx(expected, abs=0.005)
        assert shown.rounds == (0, 1, 2, 3)
        notes = " ".join(found.notes)
        for session in sessions:
            assert ", ".join(map(str, session)) in notes
    falls = (means[:, -1] - means[:, 0]).tolist()
    assert said(found, condition, "fall") == pytest.approx(sum(falls) / len(falls), abs=0.005)
    later = human_guesses()["later_periods"][p]
    steps = [row[2] + row[3] for row in later]
    assert said(found, condition, "steps_1_2") == pytest.approx(sum(steps) / 300, abs=0.0005)
    # The last period is an exception with p = 1/2 alone.
    measure, periods = {"two-thirds": ("deep", 3), "half": ("deep_before_last", 2)}[condition]
    assert found.measure(measure).rounds == (1, periods)
    deep = [row[-1] for row in later[:periods]]
    expected = sum(deep) / len(deep) / 100
    assert said(found, condition, measure) == pytest.approx(expected, abs=0.001)
    (claim,) = [c for c in found.claims if c.measure == measure]
    assert (claim.condition, claim.kind, claim.value) == (condition, "below", 0.1)
    falling = {"two-thirds": 163 / 201, "half": 135 / 144}[condition]
    assert said(found, condition, "falling") == pytest.approx(falling, abs=0.0005)


def test_the_steps_of_people_in_the_plots() -> None:
    rows = human_guesses()["later_periods"]["2/3"]
    for name, row in {"second": rows[0], "last": rows[2]}.items():
        who, bins = human_distributions()[f"nagel-1995-{name}-period"]
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
    found = load_experiment(f"govsim-{scenario}")
    assert [each.name for each in found.conditions] == list(table)
    for condition, (rate, time, gain) in table.items():
        assert said(found, condition, "survived") == rate / 100
        assert said(found, condition, "last_month") == pytest.approx(time - 1)
        assert said(found, condition, "gain") == gain
    for varied in ("universalization", "no-communication"):
        default = load_experiment(f"govsim-{varied}-{scenario}")
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
    told = load_experiment(f"govsim-universalization-{scenario}")
    assert said(told, "universalization", "gain") == hinted
    assert said(told, "universalization", "survived") == 1
    assert said(told, "universalization", "last_month") == 11
    newcomer = load_experiment(f"govsim-newcomer-{scenario}")
    assert said(newcomer, "newcomer", "alive") == joined[0]
    assert said(newcomer, "newcomer", "units_since") == pytest.approx(5 * joined[1])
    mute = load_experiment(f"govsim-no-communication-{scenario}")
    assert said(mute, "silent", "last_month") == pytest.approx(silent - 1)


@pytest.mark.slow
def test_measures_of_a_commons_are_those_of_the_model(tmp_path: Path) -> None:
    found = load_experiment("govsim-no-communication-pasture")
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
    found = load_experiment("govsim-newcomer-pollution")
    minds = {"newcomer": "classical:sustainable"}
    outcome = run(plan(found, minds=minds, runs=1), tmp_path)
    (one,) = _runs(outcome, "newcomer")
    expected = run_measures(*one, horizon=15, stock=100, first_round=3)
    values = measured(outcome)
    assert samples(values, "units_since", "newcomer") == pytest.approx([5 * expected["gain"]])
    assert samples(values, "alive", "newcomer") == [1]


def test_the_party_is_as_published() -> None:
    found = load_experiment("cocktail-party")
    assert said(found, "claude-2.1", "slope_conversations") == -0.006
    assert said(found, "claude-2.1", "slope_invitations") == -0.010
    assert all(each.condition == "claude-2.1" for each in found.figures)
    assert all(measure.rounds == (9, -1) for measure in found.measures)  # full windows of 10


def test_the_sentences_are_as_published() -> None:
    """Lai et al. 2024, section 3."""
    found = load_experiment("sentence-making")
    table = {"individual": 0.823, "collective": 0.947, "bridged": 0.932}
    assert [each.set["interaction"] for each in found.conditions] == list(table)
    assert {each.name: said(found, each.name, "valid") for each in found.conditions} == table
    assert {each.measure for each in found.figures} == {"valid"}  # other vectors: no variance
    parties = {each.name: each.builds_on for each in found.conditions}
    assert parties == {
        "individual": "", **dict.fromkeys(("collective", "bridged"), "cocktail-party/claude-2.1"),
    }  # fmt: skip


def test_games_with_and_without_a_past_are_as_published() -> None:
    """Lai et al. 2024, section 4.1 and appendix D.3; no other collective is published."""
    found = load_experiment("public-goods-norm")
    table = {
        "claude-2.1": 72.5, "claude-2.1-familiar": 87.8, "claude-2.1-strangers": 97.0,
        "claude-3-opus": 69.25, "claude-3-opus-strangers": 86.88,
    }  # fmt: skip
    assert {each.name: said(found, each.name, "contribution") for each in found.conditions} == table
    for more, less, difference in (
        ("claude-2.1-familiar", "claude-2.1", 15.3),
        ("claude-2.1-strangers", "claude-2.1", 24.5),
        ("claude-2.1-strangers", "claude-2.1-familiar", 9.25),  # of means that are not rounded
        ("claude-3-opus-strangers", "claude-3-opus", 17.63),
    ):
        assert table[more] - table[less] == pytest.approx(difference, abs=0.06)
        claims = {
            tuple(name for _, name in each.places): each.source
            for each in found.claims
            if len(each.places) > 1
        }
        assert f"({difference:g} more, " in claims[more, less]


def test_chains_are_as_published() -> None:
    """Lai et al. 2024, section 4.2 and appendix D.3: before and after, by order of infection."""
    found = load_experiment("public-goods-infection")
    table = {
        ("claude-2.1", "first"): (72.5, 34.0), ("claude-2.1", "second"): (80, 27),
        ("claude-2.1-familiar", "first"): (100, 79.75),
        ("claude-2.1-strangers", "first"): (100, 86.75),
        ("claude-3-opus", "first"): (65.75, 39.75), ("claude-3-opus", "second"): (82.85, 55.5),
        ("claude-3-opus-familiar", "first"): (66.25, 41),
        ("claude-3-opus-familiar", "second"): (75, 64.5),
    }  # fmt: skip
    assert len(found.figures) == 3 * len(table)
    for (condition, order), (before, after) in table.items():
        assert said(found, condition, f"{order}_before") == before
        assert said(found, condition, f"{order}_after") == after
        assert said(found, condition, f"{order}_change") == pytest.approx(after - before)


@pytest.mark.slow
def test_measures_of_a_chain_are_those_of_the_model(tmp_path: Path) -> None:
    outcome = played("public-goods-infection", tmp_path)
    values = measured(outcome)
    for condition in ("claude-2.1", "claude-2.1-strangers"):
        data = outcome.agent_data[outcome.agent_data["condition"] == condition]
        drops = infections(data)
        for order, name in enumerate(("first", "second"), 1):
            shown = drops[drops["order"] == order]
            assert list(samples(values, f"{name}_before", condition)) == list(shown["before"])
            assert list(samples(values, f"{name}_after", condition)) == list(shown["after"])
            assert list(samples(values, f"{name}_change", condition)) == list(-shown["drop"])


def test_students_contribute_as_in_the_data(tmp_path: Path) -> None:
    found = load_experiment("public-goods-people")
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
