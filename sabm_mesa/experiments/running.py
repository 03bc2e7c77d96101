"""Running what is missing of an experiment, and reading what is there.

All runs of an experiment are in one recording. What it holds already is not run again, what was
cut off is gone on with, and what is missing is run: all at the same time, within one budget.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.analysis.process import coded
from sabm_mesa.analysis.process.said import messages_in
from sabm_mesa.branching import forked
from sabm_mesa.errors import RecordingError
from sabm_mesa.experiments.plan import Cell, Plan, recorded_parameters
from sabm_mesa.llm import Connection
from sabm_mesa.recording import Recording
from sabm_mesa.recording.forking import fork_into
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.past import pasts
from sabm_mesa.recording.statistics import as_recorded
from sabm_mesa.reruns import going_on
from sabm_mesa.runner import Watch, run_models
from sabm_mesa.spending import spent_before

RECORDING = "recording.sqlite"


@dataclass(frozen=True)
class Outcome:
    """An experiment that was run.

    Attributes:
        plan: what was run.
        path: the recording.
        runs: one row a run, as `Recorded.runs` has them, with ``condition`` and ``seed`` first.
        model_data: the model data with ``condition`` and ``seed`` first.
        agent_data: the agent data with ``condition`` and ``seed`` first.
        messages: what was said, with ``condition`` and ``seed`` first and the codes of the
            rule-based coder (see `sabm_mesa.analysis.process`).
        ran: how many runs were played or gone on with now.
    """

    plan: Plan
    path: Path
    runs: pd.DataFrame
    model_data: pd.DataFrame
    agent_data: pd.DataFrame
    messages: pd.DataFrame
    ran: int = 0


def run(
    plan: Plan,
    folder: str | Path,
    *,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> Outcome:
    """Run what is missing of an experiment.

    Args:
        plan: the experiment.
        folder: where its recording is, or will be.
        connection: how language models are reached; what the recording says has been spent
            already is added to its budget, which holds over all experiments that share it.
        watch: called with the models every tenth of a second.

    Raises:
        UsageError: for parameters or minds that cannot be used.
        RunError: when a run fails; what was answered is recorded, and the same call goes on.
    """
    path = Path(folder) / RECORDING
    connection = connection or Connection()
    found = _numbers(plan, path)
    todo = [cell for cell in plan.cells if found.get(_name(cell), (0, ""))[1] != "finished"]
    if todo:
        _check(plan, todo, connection)
        with Recording(path) as opened:
            _count_spent(opened, connection)
            for cells in (
                [cell for cell in todo if not cell.fork_of],
                [cell for cell in todo if cell.fork_of],
            ):
                _run(plan, cells, found, opened, connection, watch)
                found = _numbers(plan, path)
    return read(plan, path, ran=len(todo))


def read(plan: Plan, path: Path, ran: int = 0) -> Outcome:
    """What a recording holds of an experiment.

    Args:
        plan: the experiment.
        path: the recording.
        ran: how many runs were played now.

    Raises:
        RecordingError: when it cannot be read.
    """
    found = _numbers(plan, path)
    where = pd.DataFrame(
        [(found[_name(cell)][0], cell.condition, cell.seed) for cell in plan.cells],
        columns=["run", "condition", "seed"],
    )
    frames = Recorded(path).frames()
    frames["messages"] = coded(messages_in(frames["decisions"]))

    def of_cells(name: str) -> pd.DataFrame:
        data = where.merge(frames[name].drop(columns="seed", errors="ignore"), on="run")
        first = ["condition", "seed"]
        return data[[*first, *data.columns.drop(first)]]

    return Outcome(
        plan, path, of_cells("runs"), of_cells("model_data"), of_cells("agent_data"),
        of_cells("messages"), ran,
    )  # fmt: skip


def _run(
    plan: Plan,
    cells: Sequence[Cell],
    found: Mapping[tuple[str, int], tuple[int, str]],
    opened: Recording,
    connection: Connection,
    watch: Watch,
) -> None:
    """Run cells, all at the same time: new ones, and those that were cut off."""
    if not cells:
        return
    begun = [found[_name(cell)][0] for cell in cells if _name(cell) in found]
    new = [cell for cell in cells if _name(cell) not in found]
    forks = [_fork(cell, found, opened, connection) for cell in new if cell.fork_of]
    models = [
        plan.model(**cell.parameters, rng=cell.seed, recording=opened, connection=connection)
        for cell in new
        if not cell.fork_of
    ]
    if numbers := [*begun, *forks]:
        models = [*going_on(opened, pasts(opened.path, numbers), connection), *models]
    run_models(models, recording=opened, watch=watch)


def _fork(
    cell: Cell,
    found: Mapping[tuple[str, int], tuple[int, str]],
    opened: Recording,
    connection: Connection,
) -> int:
    """Enter the run of a forked cell; its number."""
    (past,) = pasts(opened.path, found[cell.fork_of, cell.seed][0])
    branch = forked(past, cell.at, as_recorded(cell.changes), None, None, connection)
    return fork_into(opened, past, cell.at, branch.forks, branch.texts)


def _check(plan: Plan, cells: Sequence[Cell], connection: Connection) -> None:
    """Build what will be run once, so that wrong use ends before there is any file."""
    for condition in dict.fromkeys(cell.condition for cell in cells):
        cell = next(each for each in cells if each.condition == condition)
        given: dict[str, Any] = {**cell.parameters, **cell.changes}
        plan.model(**given, rng=cell.seed, recording=False, connection=connection)


def _count_spent(opened: Recording, connection: Connection) -> None:
    """Let the budget count what the recording says has been spent already."""
    if connection.budget is not None and not Recorded(opened.path).runs().empty:
        spent = spent_before(opened, pasts(opened.path), connection.prices)
        connection.budget.spent.add(spent)


def _name(cell: Cell) -> tuple[str, int]:
    return cell.condition, cell.seed


def _numbers(plan: Plan, path: Path) -> dict[tuple[str, int], tuple[int, str]]:
    """(condition, seed) → number and status of the run in the recording.

    Raises:
        RecordingError: when the recording holds another experiment.
    """
    if not path.exists():
        return {}
    runs = Recorded(path).runs()
    if runs.empty:
        return {}
    uids = dict(zip(runs["uid"], runs.index, strict=True))
    known: dict[str, tuple[int, str]] = {}
    for _, row in runs.iterrows():
        trunk = "" if pd.isna(row["parent"]) else _identity_in(runs, uids.get(row["parent"]))
        identity = _identity(row["scenario"], json.loads(row["parameters"]), row["seed"],
                             trunk, json.loads(row["forks"]))  # fmt: skip
        if known.get(identity, (0, ""))[1] != "finished":
            known[identity] = int(row["run"]), str(row["status"])
    found = {
        _name(cell): known[identity]
        for cell in plan.cells
        if (identity := _identity_of(plan, cell)) in known
    }
    if not found:
        raise RecordingError(
            f"{path} holds no run of {plan.experiment.name} with these minds, seeds and this "
            f"scale: choose another folder (--out)."
        )
    return found


def _identity_in(runs: pd.DataFrame, place: Any) -> str:
    if place is None:
        return "gone"
    row = runs.loc[place]
    return _identity(
        row["scenario"], json.loads(row["parameters"]), row["seed"], "", json.loads(row["forks"])
    )


def _identity_of(plan: Plan, cell: Cell) -> str:
    """What makes a run this cell's and no other's, as far as a recording tells."""
    parameters = recorded_parameters(plan.model, cell.parameters)
    begun = _identity(plan.experiment.scenario, parameters, json.dumps([cell.seed]), "", [])
    if not cell.fork_of:
        return begun
    forks = [{"at": cell.at, "set": as_recorded(cell.changes)}]
    return _identity(plan.experiment.scenario, parameters, json.dumps([cell.seed]), begun, forks)


def _identity(
    scenario: str,
    parameters: Mapping[str, Any],
    seed: str,
    trunk: str,
    forks: Sequence[Mapping[str, Any]],
) -> str:
    changes = [{"at": fork["at"], "set": fork["set"]} for fork in forks]
    return json.dumps([scenario, parameters, json.loads(seed), trunk, changes], sort_keys=True)
