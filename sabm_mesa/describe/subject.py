"""The subject of a description: a scenario with its parameters, or recorded runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sabm_mesa.core.parameters import bind
from sabm_mesa.describe.texts import in_figures
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.specs import check_form, map_minds
from sabm_mesa.recording.statistics import mended_requests, origins
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
        minds: the populations: spec → number of agents.
        given: the parameters that differ from the defaults, of a scenario that was not run.
        versions: package → version.
        recording: the path of the recording; ``""`` for a scenario that was not run.
        numbers: the numbers of the runs.
        connection: the recorded settings of the connection.
        runs: runs → their seeds, length and end, and facts about all of them.
        changes: the changes during the runs: ``{"at": round, "set": {…}}`` each.
        varied: parameter → its values, if they differ between the runs.
        mended: mind → the parameters of requests as asked and as sent, if they differ.
    """

    model: SmartModel
    parameters: Mapping[str, Any]
    minds: Sequence[Mapping[str, int]]
    given: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)
    recording: str = ""
    numbers: Sequence[int] = ()
    connection: Mapping[str, Any] = field(default_factory=dict)
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
    return Subject(built, bind(model, parameters), [built.minds_in_use()], parameters)


def _without_classical(model: type[SmartModel], parameters: Mapping[str, Any]) -> Any:
    """The minds of a scenario whose agents, or some classes of them, have no classical mind."""
    if "default" in model.classical_minds:
        return None
    trial = model(**{**parameters, "minds": _Named(NOT_GIVEN), "recording": False})
    known = trial.agent_classes()
    lacking = [cls for cls in known if "default" not in trial.classical_of(cls)]
    if len(lacking) == len(known):
        return _Named(NOT_GIVEN)
    return {cls.__name__: _Named(NOT_GIVEN) for cls in lacking}


def of_recording(path: Any, runs: Sequence[int] | None = None) -> Subject:
    """The runs of a recording.

    Args:
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
    numbers = [run.run for run in recorded]
    table = Recorded(path).runs().set_index("run").loc[numbers]
    return Subject(
        model=rebuild(class_of(first), ReplayRecorder(first)),
        parameters=dict(first.parameters),
        minds=[mind for n, mind in enumerate(minds) if mind not in minds[:n]],
        versions=first.versions,
        recording=str(path),
        numbers=numbers,
        connection=first.connection,
        runs=_course(recorded, table["rounds"], varied) | _totals(first, table),
        changes=first.forks,
        varied=varied,
        mended=mended_requests(path, numbers),
    )


def _course(
    runs: Sequence[RecordedRun], rounds: Iterable[int], varied: Iterable[str]
) -> dict[str, str]:
    """Runs → seeds, rounds and end; runs that differ in their seeds alone are one entry."""
    alike_runs: dict[str, list[RecordedRun]] = {}
    for run, played in zip(runs, rounds, strict=True):
        values = [f"{name} = {in_figures(run.parameters.get(name))}" for name in varied]
        line = "; ".join([f"{played} rounds, {run.status}", *values])
        alike_runs.setdefault(line, []).append(run)
    return {
        _several("run", [run.run for run in group]): (
            f"{_several('seed', [' '.join(map(str, run.seed)) for run in group])}; {line}"
        )
        for line, group in alike_runs.items()
    }


def _several(what: str, numbers: Sequence[Any]) -> str:
    """Numbers in words, such as ``runs 0 to 2`` or ``seeds 7, 9``."""
    if len(numbers) == 1:
        return f"{what} {numbers[0]}"
    with suppress(ValueError):  # a seed of several numbers
        whole = [int(number) for number in numbers]
        if whole == list(range(whole[0], whole[0] + len(whole))):
            return f"{what}s {whole[0]} to {whole[-1]}"
    return f"{what}s {', '.join(map(str, numbers))}"


def _totals(first: RecordedRun, table: pd.DataFrame) -> dict[str, str]:
    """Questions, cost and first days of all runs, and the models that answered in the first run."""
    served = sorted({o["served_model"] for o in origins(first.path, [first.run])} - {""})
    cost = table["cost_usd"].sum(skipna=False)
    days = sorted({started[:10] for started in table["started"]})
    totals = {
        "questions": f"{table['asks'].sum()}, of which {table['invalid'].sum()} had no usable "
        "answer",
        "cost": "not known" if math.isnan(cost) else f"{cost:.4g} dollars" if cost else "",
        "begun on": " to ".join(dict.fromkeys([days[0], days[-1]])),
        "model, as the server named it": ", ".join(served),
    }
    return {what: total for what, total in totals.items() if total}


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
