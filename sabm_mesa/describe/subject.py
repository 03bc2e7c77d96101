"""The subject of a description: a scenario with its parameters, or recorded runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.core.parameters import bind
from sabm_mesa.describe.texts import in_figures
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.recording.store import versions

if TYPE_CHECKING:
    from sabm_mesa.core.asks import Ask
    from sabm_mesa.models.base import SmartModel

NOT_MADE = frozenset({"gguf", "llm"})
"""Kinds of minds that are described without being set up, since they need a key or a file; a
person needs a seat."""

NOT_GIVEN = "none given"
"""The minds of a scenario without a classical one, as long as none are named."""


@dataclass(frozen=True)
class Subject:
    """A scenario with its parameters, or recorded runs.

    Attributes:
        model: the model, before its first round.
        parameters: its parameters as they are shown.
        versions: package → version.
        minds: each population that there is: spec → number of agents.
        recording: the path of the recording; ``""`` for a scenario that was not run.
        runs: runs → their seeds, length and end, and facts about all of them; empty for a
            scenario that was not run.
        changes: the changes during the runs: ``{"at": round, "set": {…}}`` each.
        varied: parameter → its values, where they differ between the runs.
    """

    model: SmartModel
    parameters: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=versions)
    minds: Sequence[Mapping[str, int]] = ()
    recording: str = ""
    runs: Mapping[str, str] = field(default_factory=dict)
    changes: Sequence[Mapping[str, Any]] = ()
    varied: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def scenario(self) -> type[SmartModel]:
        """The model class."""
        return type(self.model)


def of_scenario(model: type[SmartModel], parameters: Mapping[str, Any]) -> Subject:
    """A scenario as it would be run; nothing is set up that needs a key or a file.

    Args:
        model: the model class.
        parameters: those that differ from the defaults.

    Raises:
        UsageError: for parameters that cannot be used.
    """
    instead = {
        name: value for name, value in model.dry_run_with.items() if name in parameters
    }  # as in an estimate of costs, parameters that need a server are left out
    if "minds" in parameters:
        instead["minds"] = _named(parameters["minds"])
    elif "default" not in model.classical_minds:
        instead["minds"] = _Named(NOT_GIVEN)
    settled = {"rng": 0, **parameters, **instead}  # a description must not depend on chance
    built = model(**settled, recording=False)
    shown = bind(model, parameters)
    return Subject(built, shown, minds=[built.minds_in_use()])


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

    rows = [_Run(*row) for row in Recorded(path).runs()[list(_Run._fields)].itertuples(index=False)]
    numbers = [row.run for row in rows if row.command == rows[-1].command] if runs is None else runs
    found = [row for row in rows if row.run in numbers]
    unknown = set(numbers) - {row.run for row in found}
    first = load_runs(path, min(unknown or numbers, default=0))[
        0
    ]  # says so when there is no such run
    if other := next((row for row in found if row.scenario != first.scenario), None):
        raise ParameterError(
            f"{path}: run {first.run} is of {first.scenario} and run {other.run} of "
            f"{other.scenario}: name the runs of one scenario with --run."
        )
    several = [json.loads(row.parameters) for row in found]
    varied = {
        name: [each.get(name) for each in several]
        for name in first.parameters
        if any(each.get(name) != first.parameters[name] for each in several)
    }
    minds = [json.loads(row.minds) for row in found]
    served = sorted({row["served_model"] for row in first.asks.values()} - {""})
    return Subject(
        rebuild(class_of(first), ReplayRecorder(first)),
        dict(first.parameters),
        first.versions,
        [each for n, each in enumerate(minds) if each not in minds[:n]],
        str(path),
        _course(found, several, varied) | _totals(found, served),
        first.forks,
        varied,
    )


class _Run(NamedTuple):
    """A recorded run; see `Recorded.runs`."""

    run: int
    command: str
    scenario: str
    status: str
    rounds: int
    asks: int
    invalid: int
    cost_usd: float
    started: str
    seed: str
    minds: str
    parameters: str


def _course(
    found: Sequence[_Run], several: Sequence[Mapping[str, Any]], varied: Iterable[str]
) -> dict[str, str]:
    """Runs → seeds, rounds and end; runs with consecutive seeds and the same rest are one entry."""
    rows: list[tuple[_Run, _Run, str]] = []
    for run, parameters in zip(found, several, strict=True):
        own = "".join(f"; {name} = {in_figures(parameters.get(name))}" for name in varied)
        said = f"{run.rounds} rounds, {run.status}{own}"
        if rows and rows[-1][2] == said and _follows(run, rows[-1][1]):
            rows[-1] = rows[-1][0], run, said
        else:
            rows.append((run, run, said))
    return {
        _span("run", str(first.run), str(last.run)): (
            f"{_span('seed', _seed(first), _seed(last))}; {said}"
        )
        for first, last, said in rows
    }


def _totals(found: Sequence[_Run], served: Sequence[str]) -> dict[str, str]:
    """Questions, cost and first days of all runs, and the models that answered in the first."""
    asks, invalid = sum(run.asks for run in found), sum(run.invalid for run in found)
    cost = sum(run.cost_usd for run in found)
    days = sorted({run.started[:10] for run in found})
    return {
        "questions": f"{asks}, of which {invalid} had no usable answer",
        **({"cost": "not known" if math.isnan(cost) else f"{cost:.4g} dollars"} if cost else {}),
        "begun on": days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        **({"model, as the server named it": ", ".join(served)} if served else {}),
    }


def _follows(run: _Run, before: _Run) -> bool:
    now, then = json.loads(run.seed), json.loads(before.seed)
    return run.run == before.run + 1 and now == [then[0] + 1, *then[1:]]


def _seed(run: _Run) -> str:
    return " ".join(map(str, json.loads(run.seed)))


def _span(what: str, first: str, last: str) -> str:
    return f"{what} {first}" if first == last else f"{what}s {first} to {last}"


class _Named(ClassicalMind):
    """The name of a mind in the place of the mind; it is never asked."""

    async def answer(self, ask: Ask) -> object:
        """Refuse: a description asks no mind."""
        raise NotImplementedError(f"{self.spec} is described only ({ask.name}).")


def _named(minds: Any) -> Any:
    """The same minds, with names in the place of those that would have to be set up."""

    def named(spec: Any) -> Any:
        kind, _, rest = spec.partition(":") if isinstance(spec, str) else ("", "", "")
        return _Named(spec) if spec == HUMAN or (kind in NOT_MADE and rest) else spec

    if isinstance(minds, Mapping):
        return {named(spec): count for spec, count in minds.items()}
    if isinstance(minds, Sequence) and not isinstance(minds, str):
        return [named(spec) for spec in minds]
    return named(minds)
