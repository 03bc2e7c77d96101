"""Which runs of an experiment a recording holds already: each belongs to one condition at most."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.errors import RecordingError
from sabm_mesa.experiments.plan import Cell, Plan, described, recorded_parameters
from sabm_mesa.minds import files_of
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.parts import entries
from sabm_mesa.recording.statistics import as_recorded

Name = tuple[str, int]
"""(condition, seed)"""


@dataclass(frozen=True)
class _Run:
    """A recorded run: what it is by its parameters and seed, and by the forks it went through."""

    number: int
    status: str
    minds: Any
    seed: list[int]
    begun: str
    branched: str
    parent: int | None
    children: list[_Run] = field(default_factory=list)


def name_of(cell: Cell) -> Name:
    """The condition and the seed of a run."""
    return cell.condition, cell.seed


def run_numbers(plan: Plan, path: Path) -> dict[Name, tuple[int, str]]:
    """(condition, seed) → number and status of the run in the recording.

    Conditions with the same parameters and minds each have runs of their own: the recorded ones are
    shared out in the order of their numbers. Where there are more than are needed, the finished
    ones go first; a run goes to the condition that is forked as it was.

    Args:
        plan: the experiment.
        path: the recording; it need not exist.

    Raises:
        RecordingError: when the recording holds runs, and none with these minds and seeds.
    """
    runs = _recorded(path) if path.exists() else []
    trunks, forks = _grouped(plan, forked=False), _grouped(plan, forked=True)
    found: dict[Name, _Run] = {}
    for identity, cells in trunks.items():
        known = [run for run in runs if (run.parent, run.branched) == (None, _changes([]))]
        known = [run for run in known if run.begun == identity]
        wanted = {name_of(cell): _forks_of(plan, cell) for cell in cells}
        found |= _shared_out(wanted, known)
    for (identity, trunk), cells in _by_trunk(forks).items():
        known = found[trunk].children if trunk in found else []
        known = [run for run in known if run.branched == identity]
        found |= _shared_out({name_of(cell): [] for cell in cells}, known)
    if runs and not found:
        _check_belongs(plan, path, runs)
    return {name: (run.number, run.status) for name, run in found.items()}


def alike(plan: Plan) -> list[list[str]]:
    """The groups of conditions that are one request, with the same parameters and minds.

    Args:
        plan: the experiment.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    first = plan.seeds[0]
    for cell in plan.cells:
        if cell.seed == first:
            place = _begun(plan, cell), _branched(cell)
            groups.setdefault(place, []).append(cell.condition)
    return [names for names in groups.values() if len(names) > 1]


def _check_belongs(plan: Plan, path: Path, runs: Sequence[_Run]) -> None:
    """Check that some runs have the minds and a seed of this plan: its scale may be another one."""
    who = [(recorded_parameters(plan.model, cell.parameters)["minds"], [cell.seed])
           for cell in plan.cells]  # fmt: skip
    if any((run.minds, run.seed) in who for run in runs):
        return
    minds = list(dict.fromkeys(described(run.minds) for run in runs))
    seeds = sorted({seed for run in runs for seed in run.seed})
    there = f"{len(runs)} runs" if len(runs) > 1 else "1 run"
    raise RecordingError(
        f"{path} holds {there} by {' / '.join(minds)}, with the seeds {seeds[0]} to {seeds[-1]}: "
        f"none with the minds and seeds of this {plan.experiment.name} "
        f"({' / '.join(dict.fromkeys(described(each) for each, _ in who))}, {plan.seeds[0]} to "
        f"{plan.seeds[-1]}). Choose another folder (--out)."
    )


def _shared_out(wanted: Mapping[Name, Sequence[str]], known: Sequence[_Run]) -> dict[Name, _Run]:
    """Which run each cell has; `wanted` has the forks that go on with the run of each."""
    left, found = list(known), dict[Name, _Run]()
    for name, forks in wanted.items():
        fitting = [run for run in left if {each.branched for each in run.children} & {*forks}]
        if fitting:
            found[name] = fitting[0]
            left.remove(fitting[0])
    rest = [name for name in wanted if name not in found]
    kept = sorted(left, key=lambda run: run.status != "finished")[: len(rest)]
    return found | dict(zip(rest, sorted(kept, key=lambda run: run.number), strict=False))


def _grouped(plan: Plan, *, forked: bool) -> dict[str, list[Cell]]:
    """The cells by what makes a run theirs, as far as a recording tells."""
    groups: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        if bool(cell.fork_of) == forked:
            identity = _branched(cell) if forked else _begun(plan, cell)
            groups.setdefault(identity, []).append(cell)
    return groups


def _by_trunk(forks: Mapping[str, Sequence[Cell]]) -> dict[tuple[str, Name], list[Cell]]:
    groups: dict[tuple[str, Name], list[Cell]] = {}
    for identity, cells in forks.items():
        for cell in cells:
            groups.setdefault((identity, (cell.fork_of, cell.seed)), []).append(cell)
    return groups


def _forks_of(plan: Plan, trunk: Cell) -> list[str]:
    return [
        _branched(cell)
        for cell in plan.cells
        if (cell.fork_of, cell.seed) == (trunk.condition, trunk.seed)
    ]


def _recorded(path: Path) -> list[_Run]:
    """All runs of a recording, in the order of their numbers."""
    table = Recorded(path).runs()
    files = {entry.run: entry.files for entry in entries(path)}
    numbers = dict(zip(table["uid"], table["run"], strict=True))
    runs: dict[int, _Run] = {}
    for _, row in table.sort_values("run").iterrows():
        parameters, seed = json.loads(row["parameters"]), json.loads(row["seed"])
        parent = None if pd.isna(row["parent"]) else int(numbers.get(row["parent"], -1))
        runs[int(row["run"])] = _Run(
            int(row["run"]), str(row["status"]), parameters["minds"], seed,
            _identity(row["scenario"], parameters, seed, files.get(int(row["run"]), {})),
            _changes(json.loads(row["forks"])),
            parent,
        )  # fmt: skip
    for run in runs.values():
        if run.parent in runs:
            runs[run.parent].children.append(run)
    return list(runs.values())


def _begun(plan: Plan, cell: Cell) -> str:
    parameters = recorded_parameters(plan.model, cell.parameters)
    files = files_of(parameters["minds"])
    return _identity(plan.experiment.scenario, parameters, [cell.seed], files)


def _branched(cell: Cell) -> str:
    return _changes([{"at": cell.at, "set": as_recorded(cell.changes)}] if cell.fork_of else [])


def _identity(
    scenario: str, parameters: Mapping[str, Any], seed: Any, files: Mapping[str, str]
) -> str:
    if party := parameters.get("party"):  # wherever its recording is now
        parameters = {**parameters, "party": party.rpartition("@")[2]}
    return json.dumps([scenario, parameters, seed, files], sort_keys=True)


def _changes(forks: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps([{"at": fork["at"], "set": fork["set"]} for fork in forks], sort_keys=True)
