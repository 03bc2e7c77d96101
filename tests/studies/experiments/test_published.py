"""The experiments that come with the package: that they run, and that they say what was said."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.runs.run import run_all
from sabm_mesa.studies.experiments.report import theory_marks
from sabm_mesa.studies.experiments.results import measured, value_of
from sabm_mesa.studies.experiments.running import Outcome, plan, run
from sabm_mesa.studies.experiments.schema import (
    COSTS,
    SCALES,
    Experiment,
    Measure,
    Scale,
    experiment_names,
    load_experiment,
)
from tests.studies.experiments.support import SMALL, assert_complete, experiment_of

TINY: dict[str, dict[str, Any]] = {
    "kbc": {"n_players": 3},
    "bertrand": {"n_rounds": 12},
    "evacuation": {"n_people": 4, "width": 9, "height": 9, "n_rounds": 10},
}
STUDY = [name for name in experiment_names() if load_experiment(name).scenario in TINY]
"""Those of the study itself; those of neighbouring ones are in `test_published_systems`."""
FORKED_AT = 6
UNCLAIMED = {
    ("evacuation-figure-9", "left"), ("evacuation-figure-9", "bottom"),
    ("evacuation-figure-9", "right"), ("evacuation-figure-14", "left_inside"),
    ("evacuation-figure-14", "cleared"), ("evacuation-figure-16", "evenness"),
    ("evacuation-constraints", "time_inside"), ("bertrand-starting-prices", "collusive"),
    *(("kbc-50-players", name) for name in ("variance_change", "variance_talked")),
    *(("kbc-agreeableness", name) for name in ("variance_change", "variance_talked")),
    ("kbc-agreeableness", "agreement_late"),
    *((f"bertrand-figure-{n}", "collusive") for n in ("6a", "6b", "6c", "7", "13", "18")),
    *((f"bertrand-figure-{n}", "index") for n in ("6b", "6c", "7", "11", "18")),
}  # fmt: skip
"""Measures of which nothing is claimed or published; the notes say what they are for."""


def tiny(name: str) -> Experiment:
    """An experiment of the package at a size that takes no time."""
    found = load_experiment(name)
    size = TINY[found.scenario]
    conditions = [
        each.model_copy(update={"at": dict.fromkeys(SCALES, FORKED_AT)}) if each.fork_of else each
        for each in found.conditions
    ]
    scale = Scale(runs=2, set={**found.scales["quick"].set, **size})
    scales = {**found.scales, "quick": scale}
    return found.model_copy(update={"conditions": tuple(conditions), "scales": scales})


def played(name: str, folder: Path) -> Outcome:
    """The outcome of an experiment with classical minds."""
    return run(plan(tiny(name)), folder)


def may_be_missing(measure: Measure, condition: str, outcome: Outcome) -> bool:
    """Whether a run of a condition need not have a value: nobody talks, or it ended before."""
    if measure.data == "messages":
        return condition not in set(outcome.messages["condition"])
    return measure.take == "slope" and measure.rounds[0] >= outcome.model_data["round"].max()


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("name", STUDY)
def test_every_experiment_runs_and_measures(name: str, tmp_path: Path) -> None:
    outcome = played(name, tmp_path)
    found = outcome.plan.experiment
    assert len(outcome.runs) == 2 * len(found.conditions)
    for _, row in measured(outcome).iterrows():
        allowed = may_be_missing(found.measure(row["measure"]), row["condition"], outcome)
        assert allowed or math.isfinite(row["value"]), tuple(row)
    for plot in found.plots:
        data = outcome.model_data if plot.kind == "rounds" else outcome.agent_data
        assert set(plot.columns) <= set(data.columns)
        assert not plot.theory or theory_marks(outcome, plot.theory)
    for each in found.figures:
        assert not each.column or each.column in outcome.model_data.columns


@pytest.mark.parametrize("scenario", TINY)
def test_the_plots_that_a_report_shows_exist(scenario: str, tmp_path: Path) -> None:
    of_scenario = [
        each for name in experiment_names() if (each := load_experiment(name)).scenario == scenario
    ]
    outcome = played(of_scenario[0].name, tmp_path)
    first = outcome.plan.first(of_scenario[0].conditions[0].name)
    given = {**first.parameters, **first.changes, "minds": "classical"}
    drawn = run_all(outcome.plan.model, given, seed=1).figures()
    for each in of_scenario:
        assert set(each.show) <= set(drawn), each.name


@pytest.mark.parametrize("name", STUDY)
def test_what_is_said_is_complete_and_can_be_contradicted(name: str) -> None:
    found = load_experiment(name)
    assert_complete(found, UNCLAIMED)
    if found.scales["quick"].set:
        assert any("quick scale" in note for note in found.notes)


def test_table_2_is_as_published() -> None:
    found = load_experiment("evacuation-table2")
    rows = {each.condition: each for each in found.figures if each.condition}
    # The paper's round k is our row k - 1.
    assert all(each.rounds == tuple(range(4, 50, 5)) for each in rows.values())
    assert {name: each.numbers for name, each in rows.items()} == {
        "silent": (9.4, 31.2, 51.2, 65.6, 78.6, 88.4, 96.6, 99.0, 99.8, 99.8),
        "talking": (9.8, 31.6, 48.8, 67.2, 80.6, 92.2, 97.2, 98.8, 99.8, 100.0),
        "uncooperative": (9.4, 31.2, 48.2, 64.4, 77.0, 87.4, 95.0, 98.0, 99.0, 99.0),
    }
    assert {(each.column, each.scale) for each in rows.values()} == {("escaped", "")}
    assert not any(scale.set for scale in found.scales.values())  # 100 people, as in the table


def test_the_published_sizes() -> None:
    for name in STUDY:
        found = load_experiment(name)
        runs = {"kbc": 15, "bertrand": 5, "evacuation": 5}[found.scenario]
        other = {"kbc-figure-10": 10, "evacuation-figure-14": 1, "kbc-50-players": 1}
        assert found.scales["paper"].runs == other.get(name, runs), name
    assert load_experiment("evacuation-figure-14").scales["paper"].set == {"n_people": 400}
    stopped = load_experiment("bertrand-figure-6c")
    assert dict(stopped.condition("stopped").at) == {"quick": 40, "paper": 400}
    assert stopped.scales["paper"].set == {"n_rounds": 600, "stop_after": 600}


def test_the_talk_is_stopped_in_the_same_runs(tmp_path: Path) -> None:
    outcome = played("bertrand-figure-6c", tmp_path)
    data = outcome.model_data.set_index(["condition", "seed", "round"]).drop(columns="run")
    talking, stopped = data.loc["talking"], data.loc["stopped"]
    before = talking.index.get_level_values("round") < FORKED_AT
    pd.testing.assert_frame_equal(talking[before], stopped[before])
    assert (talking["messages"][~before] > 0).all()
    assert (stopped["messages"][~before] == 0).all()


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "name",
    ["kbc-figure-5", "kbc-figure-10", "kbc-figure-4a", "evacuation-figure-16", "evacuation-table2"],
)
def test_cost_classes(name: str, tmp_path: Path) -> None:
    found = load_experiment(name)
    outcome = run(plan(found, "paper", runs=1), tmp_path)
    asked = int(outcome.runs["asks"].sum()) * found.scales["paper"].runs
    assert found.cost == next(each for each, most in COSTS.items() if asked <= most)


def test_cost_classes_of_firms_by_their_rounds() -> None:
    """A round has two prices and, with talk, six messages; every twentieth two plans."""
    for name in STUDY:
        found = load_experiment(name)
        if found.scenario != "bertrand":
            continue
        asked = 0.0
        for each in found.conditions:
            given = {**found.set, **found.scales["paper"].set, **each.set}
            rounds, begun = given.get("n_rounds", 1200), each.at.get("paper", 0)
            asked += (rounds - begun) * (2.1 + 6 * given["communication"])
        asked *= found.scales["paper"].runs
        assert found.cost == next(each for each, most in COSTS.items() if asked <= most), name


def test_the_collusion_index_at_the_published_price(tmp_path: Path) -> None:
    found = tiny("bertrand-figure-6a")
    outcome = run(plan(found, minds="fixed:7"), tmp_path)
    data = outcome.model_data[outcome.model_data["seed"] == 1]
    said = next(each for each in found.figures if each.measure == "index")
    # The first prices are given.
    later = found.measure("index").model_copy(update={"rounds": (1, -1)})
    assert value_of(later, data) == pytest.approx(said.numbers[0])


def test_an_event_that_never_comes_about() -> None:
    data = pd.DataFrame({"round": range(4), "inside": [3, 2, 1, 1]})
    gone = Measure(
        name="gone", label="Gone", columns=("inside",), take="first", low=0, high=0, never=50
    )
    assert value_of(gone, data) == 50
    assert value_of(gone.model_copy(update={"high": 1}), data) == 2
    assert math.isnan(value_of(gone.model_copy(update={"never": math.nan}), data))
    # Only for events: a missing mean stays missing.
    none = data.assign(inside=math.nan)
    assert math.isnan(value_of(gone.model_copy(update={"take": "mean"}), none))


def test_the_most_frequent_value() -> None:
    data = pd.DataFrame({"round": 0, "choice": pd.array([33, 22, 33, None, 22, 50], dtype="Int64")})
    mode = Measure(name="mode", label="Mode", columns=("choice",), take="mode", data="agents")
    assert value_of(mode, data) == 22


def test_the_scale_of_a_published_number_is_one_of_the_scales() -> None:
    published = '\n[[published]]\nsource = "nobody"\nmeasures = "last"\nnumbers.baseline = 3\n'
    found = experiment_of("x", f'{SMALL}{published}scale = "paper"\n')
    assert found.figures[0].scale == "paper"
    with pytest.raises(ParameterError, match="Experiment x, published 1, scale"):
        experiment_of("x", f'{SMALL}{published}scale = "large"\n')
