"""The charts and the world of a recorded run, and the charts of two runs together."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sabm_mesa.analysis.charts import Chart, Series, column_charts, counted, lines
from sabm_mesa.analysis.pictures import Scene
from sabm_mesa.errors import SabmError
from sabm_mesa.minds.specs import describe_deciders
from sabm_mesa.models.registry import scenario
from sabm_mesa.visualization.labels import Titles, counting, name_of, round_of, titles_of
from sabm_mesa.visualization.reading import comparing
from sabm_mesa.visualization.reading.store import RunData, seed_of
from sabm_mesa.visualization.scenario_view import ScenarioView

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.recording import RecordedRun

MOST = 6
"""Maximum number of charts of two runs."""


def charts_of(run: RunData) -> tuple[Chart, ...]:
    """The charts of a run's scenario, or a line chart of each column."""
    model = model_of(run)
    if model is not None:
        try:
            return ScenarioView(type(model)).charts(model, run.model_data, run.some_agent_data)
        except (ValueError, LookupError, AttributeError):  # data from another version
            pass
    titles = titles_in(run)
    names = {name: titles[name] for name in comparing.columns(run, run)}
    return tuple(counted(column_charts(run.model_data, names), *counting_of(run), None))


def scenes_of(run: RunData, round_: int) -> tuple[Scene, ...]:
    """The world after a round, such as a room, for scenarios whose data contain it."""
    model, people = model_of(run), run.agents_of(round_)
    if model is None or people.empty:
        return ()
    return ScenarioView(type(model)).scenes(model, round_, run.model_data, people)


def both(one: RunData, other: RunData, names: tuple[str, str]) -> tuple[Chart, ...]:
    """The model columns of two runs over the rounds.

    Args:
        names: the names of the two runs.

    Returns:
        A chart for each of the first columns with numbers that they have in common.
    """
    charts, titles = [], titles_in(one)
    for column in comparing.columns(one, other)[:MOST]:
        series: list[Series] = []
        for run, name, dashed in zip((one, other), names, (False, True), strict=True):
            series += [
                replace(line, dashed=dashed) for line in lines(run.model_data, {column: name})
            ]
        words = titles[column]
        charts.append(Chart(f"two-runs-{column}", f"{words} by round", series, words))
    return tuple(counted(charts, *counting_of(one), None))


def scenario_of(run: RecordedRun) -> type[SmartModel] | None:
    """The scenario of a run; None when it is not installed."""
    try:
        return scenario(run.scenario)
    except SabmError:
        return None


def counting_of(run: RunData) -> tuple[str, int]:
    """The word for a round of a run, and the number that people read for round 0."""
    model = scenario_of(run.recorded)
    return ("round", 1) if model is None else counting(model)


def called(run: RunData, round_: int) -> str:
    """The name of a round, such as ``"round 3"``; given rounds are before the first round.

    Args:
        round_: the round in the data, from 0.
    """
    model = scenario_of(run.recorded)
    return f"round {round_ + 1}" if model is None else round_of(model, round_)


def number_of(run: RunData, round_: int) -> str:
    """The displayed number of a round; given rounds are ``"start"``.

    Args:
        round_: the round in the data, from 0.
    """
    model = scenario_of(run.recorded)
    given = 0 if model is None else model.given_rounds
    return "start" if round_ < given else str(round_ + counting_of(run)[1])


def title_of(run: RecordedRun) -> str:
    """The title of the scenario of a run; its name when it is not installed."""
    model = scenario_of(run)
    return run.scenario if model is None else model.title


def titles_in(run: RunData) -> Titles:
    """The titles of the columns of a run."""
    model = model_of(run)
    return Titles() if model is None else titles_of(model)


def own_columns(run: RunData) -> frozenset[str]:
    """The columns that the scenario of a run declares; the others are technical columns."""
    model = model_of(run)
    if model is None:
        return frozenset()
    kinds = {type(agent) for agent in model.population}
    return frozenset(model.columns()).union(*(model.columns_of(kind) for kind in kinds))


def subtitle_of(run: RunData) -> str:
    """The condition, the minds and the seed of a run, as a subtitle."""
    recorded = run.recorded
    minds = describe_deciders(recorded.minds, recorded.forks)
    condition = recorded.parameters.get("condition")
    return " · ".join(
        [*([str(condition)] if condition else []), minds, f"seed {seed_of(recorded)}"]
    )


def name_in(run: RunData, agent: int) -> str:
    """The name of an agent of a run."""
    model = model_of(run)
    return f"Agent {agent}" if model is None else name_of(model, agent)


@lru_cache(maxsize=8)
def model_of(run: RunData) -> SmartModel | None:
    """The model before its first round, used for display; None if it cannot be made.

    Only registered scenarios are imported, never a module that a file names.
    """
    recorded = run.recorded
    given = {name: value for name, value in recorded.parameters.items() if name != "prompts"}
    try:
        model = scenario(recorded.scenario)
        return model(
            **{**given, "minds": "classical", "rng": recorded.seed},
            recording=False,
        )
    except SabmError:
        return None
