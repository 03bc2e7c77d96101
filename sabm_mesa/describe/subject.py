"""The subject of a description: a scenario with its parameters, or recorded runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sabm_mesa.core.parameters import bind
from sabm_mesa.describe.texts import in_figures
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.specs import check_form, map_minds
from sabm_mesa.recording.statistics import alike, mended_requests
from sabm_mesa.recording.store import versions

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.core.asks import Ask
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.recording import RecordedRun

NOT_MADE = frozenset({"gguf", "llm", "local"})
"""Kinds of minds that are described without being set up, since they need a key or a file; a
person needs a seat."""

NOT_GIVEN = "none given"
"""The default minds of a scenario without a classical mind."""


@dataclass(frozen=True)
class Subject:
    """A scenario with its parameters, or recorded runs.

    Attributes:
        model: the model, before its first round.
        parameters: its displayed parameters.
        given: those that differ from the defaults.
        versions: package → version.
        minds: the populations: spec → number of agents.
        recording: the path of the recording; ``""`` for a scenario that was not run.
        runs: runs → their seeds, length and end, and facts about all of them; empty for a
            scenario that was not run.
        changes: the changes during the runs: ``{"at": round, "set": {…}}`` each.
        varied: parameter → its values, if they differ between the runs.
        mended: mind → the parameters of requests as asked and as sent, if they differ.
    """

    model: SmartModel
    parameters: Mapping[str, Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)
    minds: Sequence[Mapping[str, int]] = ()
    recording: str = ""
    runs: Mapping[str, str] = field(default_factory=dict)
    changes: Sequence[Mapping[str, Any]] = ()
    varied: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    mended: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scenario(self) -> type[SmartModel]:
        """The model class."""
        return type(self.model)


def of_scenario(model: type[SmartModel], parameters: Mapping[str, Any]) -> Subject:
    """A scenario before its runs; minds that need a key or a file are not set up.

    Args:
        model: the model class.
        parameters: the parameters that differ from the defaults.

    Raises:
        UsageError: for parameters that cannot be used.
    """
    settled = {"rng": 0, **parameters}  # a description must not depend on chance
    if "minds" in parameters:
        settled["minds"] = _named(parameters["minds"])
    elif lacking := _without_classical(model, settled):
        settled["minds"] = lacking
    built = model(**settled, recording=False)
    shown = bind(model, parameters)
    return Subject(built, shown, parameters, minds=[built.minds_in_use()])


def _without_classical(model: type[SmartModel], parameters: Mapping[str, Any]) -> Any:
    """The minds of a scenario whose agents, or some classes of them, have no classical mind."""
    if "default" in model.classical_minds:
        return None
    trial = model(**{**parameters, "minds": _Named(NOT_GIVEN), "recording": False})
    known = trial.agent_classes()
    lacking = [
        agent_class for agent_class in known if "default" not in trial.classical_of(agent_class)
    ]
    if len(lacking) == len(known):
        return _Named(NOT_GIVEN)
    return {agent_class.__name__: _Named(NOT_GIVEN) for agent_class in lacking}


def of_recording(path: Any, runs: Sequence[int] | None = None) -> Subject:
    """The runs of a recording.

    Args:
        path: the recording.
        runs: the numbers of the runs, of one scenario; those of the latest command when None.

    Raises:
        RecordingError: when the recording cannot be read, or has no such run.
        UsageError: when this version cannot use the recorded parameters, or the runs are of
            different scenarios.
    """
    from sabm_mesa.errors import ParameterError
    from sabm_mesa.recording import load_runs
    from sabm_mesa.recording.frames import Recorded
    from sabm_mesa.recording.replaying import ReplayRecorder
    from sabm_mesa.runs.rerun import class_of, rebuild

    recorded = load_runs(path, runs)
    if runs is None:
        recorded = [run for run in recorded if run.command == recorded[-1].command]
    first = recorded[0]
    if other := next((run for run in recorded if run.scenario != first.scenario), None):
        raise ParameterError(
            f"{path} has runs of {first.scenario} (run {first.run}) and of {other.scenario} (run "
            f"{other.run}): choose runs of one scenario with --run."
        )
    varied = {
        name: [run.parameters.get(name) for run in recorded]
        for name in first.parameters
        if any(run.parameters.get(name) != first.parameters[name] for run in recorded)
    }
    minds = [run.minds for run in recorded]
    table = Recorded(path).runs().set_index("run").loc[[run.run for run in recorded]]
    return Subject(
        rebuild(class_of(first), ReplayRecorder(first)),
        dict(first.parameters),
        {},
        first.versions,
        [mind for n, mind in enumerate(minds) if mind not in minds[:n]],
        str(path),
        _course(recorded, table["rounds"], varied) | _totals(first, table),
        first.forks,
        varied,
        mended_requests(path, [run.run for run in recorded]),
    )


def _course(
    runs: Sequence[RecordedRun], rounds: Iterable[int], varied: Iterable[str]
) -> dict[str, str]:
    """Runs → seeds, rounds and end; runs with consecutive seeds and the same rest are one entry."""
    rows: list[tuple[RecordedRun, RecordedRun, str]] = []
    for run, played in zip(runs, rounds, strict=True):
        varied_values = "".join(
            f"; {name} = {in_figures(run.parameters.get(name))}" for name in varied
        )
        line = f"{played} rounds, {run.status}{varied_values}"
        if rows and rows[-1][2] == line and _follows(run, rows[-1][1]):
            rows[-1] = rows[-1][0], run, line
        else:
            rows.append((run, run, line))
    return {
        _span("run", str(first.run), str(last.run)): (
            f"{_span('seed', _seed(first), _seed(last))}; {line}"
        )
        for first, last, line in rows
    }


def _totals(first: RecordedRun, table: pd.DataFrame) -> dict[str, str]:
    """Questions, cost and first days of all runs, and the models that answered in the first run."""
    served = sorted({group.served_model for group in alike(first.path, [first.run])} - {""})
    cost = table["cost_usd"].sum(skipna=False)
    days = sorted({started[:10] for started in table["started"]})
    return {
        "questions": f"{table['asks'].sum()}, of which {table['invalid'].sum()} had no usable "
        "answer",
        **({"cost": "not known" if math.isnan(cost) else f"{cost:.4g} dollars"} if cost else {}),
        "begun on": days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        **({"model, as the server named it": ", ".join(served)} if served else {}),
    }


def _follows(run: RecordedRun, before: RecordedRun) -> bool:
    return run.run == before.run + 1 and [*run.seed] == [before.seed[0] + 1, *before.seed[1:]]


def _seed(run: RecordedRun) -> str:
    return " ".join(map(str, run.seed))


def _span(what: str, first: str, last: str) -> str:
    return f"{what} {first}" if first == last else f"{what}s {first} to {last}"


class _Named(ClassicalMind):
    """A placeholder for a mind, which is never asked."""

    async def answer(self, ask: Ask) -> object:
        """Raise an error: a description asks no mind."""
        raise NotImplementedError(f"{self.spec} is described only ({ask.name}).")


def _named(minds: Any) -> Any:
    """The same minds, with placeholders for minds that would have to be set up."""

    def named(spec: Any) -> Any:
        kind = spec.partition(":")[0].partition("?")[0] if isinstance(spec, str) else ""
        if kind in NOT_MADE:
            check_form(spec)
            return _Named(spec)
        return _Named(spec) if spec == HUMAN else spec

    return map_minds(minds, named)
