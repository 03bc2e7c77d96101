"""Running what is missing of an experiment, and reading what is there.

All runs of an experiment are in one recording. What it holds already is not run again, what was
cut off is gone on with, and what is missing is run: all at the same time, within one budget. The
parties that runs remember have a recording of their own in the folder ``party``, and come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.analysis.process import coded
from sabm_mesa.analysis.process.said import messages_in
from sabm_mesa.branching import forked
from sabm_mesa.experiments.columns import OF_MESSAGES, check_columns
from sabm_mesa.experiments.design import Data
from sabm_mesa.experiments.finding import name_of, run_numbers
from sabm_mesa.experiments.parties import remembering, to_be_held
from sabm_mesa.experiments.plan import Cell, Plan
from sabm_mesa.llm import Connection
from sabm_mesa.recording import Recording
from sabm_mesa.recording.forking import fork_into
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.past import pasts
from sabm_mesa.recording.statistics import as_recorded
from sabm_mesa.reruns import going_on
from sabm_mesa.runner import Watch, run_models
from sabm_mesa.spending import spent_before

RECORDING, PARTY = "recording.sqlite", "party"


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
        parties: the parties that the runs remember, or None.
    """

    plan: Plan
    path: Path
    runs: pd.DataFrame
    model_data: pd.DataFrame
    agent_data: pd.DataFrame
    messages: pd.DataFrame
    ran: int = 0
    parties: Outcome | None = None

    @property
    def all_runs(self) -> pd.DataFrame:
        """All runs that were paid for: those of the parties, too."""
        parties = [] if self.parties is None else [self.parties.runs]
        return pd.concat([*parties, self.runs], ignore_index=True)


def run(
    plan: Plan,
    folder: str | Path,
    *,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
    begin: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run what is missing of an experiment.

    Args:
        plan: the experiment.
        folder: where its recording is, or will be.
        connection: how language models are reached; what the recording says has been spent
            already is added to its budget, which holds over all experiments that share it.
        watch: called with the models every tenth of a second.
        begin: called once all has been checked, before the first run.

    Raises:
        UsageError: for parameters or minds that cannot be used.
        RunError: when a run fails; what was answered is recorded, and the same call goes on.
    """
    path = Path(folder) / RECORDING
    connection = connection or Connection()
    parties = None
    if plan.parties is not None:
        parties = _held(plan, plan.parties, path.parent / PARTY, connection, watch, begin)
        plan = remembering(plan, parties.path, parties.runs)
    found = run_numbers(plan, path)
    todo = [cell for cell in plan.cells if found.get(name_of(cell), (0, ""))[1] != "finished"]
    if todo:
        check(plan, todo, connection)
    if parties is None or not parties.ran:
        begin()
    if todo:
        with Recording(path) as opened:
            _count_spent(opened, connection)
            if parties is not None and not parties.ran:
                with Recording(parties.path) as held:
                    _count_spent(held, connection)
            for cells in (
                [cell for cell in todo if not cell.fork_of],
                [cell for cell in todo if cell.fork_of],
            ):
                _run(plan, cells, found, opened, connection, watch)
                found = run_numbers(plan, path)
    return read(plan, path, ran=len(todo), parties=parties)


def read(plan: Plan, path: Path, ran: int = 0, parties: Outcome | None = None) -> Outcome:
    """What a recording holds of an experiment.

    Args:
        plan: the experiment.
        path: the recording.
        ran: how many runs were played now.
        parties: the parties that its runs remember.

    Raises:
        RecordingError: when it cannot be read.
    """
    found = run_numbers(plan, path)
    where = pd.DataFrame(
        [(found[name_of(cell)][0], cell.condition, cell.seed) for cell in plan.cells],
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
        of_cells("messages"), ran, parties,
    )  # fmt: skip


def _held(
    plan: Plan,
    parties: Plan,
    folder: Path,
    connection: Connection,
    watch: Watch,
    begin: Callable[[], None],
) -> Outcome:
    """The parties that the runs of an experiment remember, held now or before."""
    found = run_numbers(parties, folder / RECORDING)
    if any(found.get(name_of(cell), (0, ""))[1] != "finished" for cell in parties.cells):
        check(plan, plan.cells, connection)  # nothing is paid for what cannot go on
        begin()
    return run(parties, folder, connection=connection, watch=watch)


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
    begun = [found[name_of(cell)][0] for cell in cells if name_of(cell) in found]
    new = [cell for cell in cells if name_of(cell) not in found]
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


def check(plan: Plan, cells: Sequence[Cell], connection: Connection) -> None:
    """Build what will be run once, so that wrong use ends before there is any file.

    Args:
        plan: the experiment.
        cells: the runs that are missing.
        connection: how language models are reached.

    Raises:
        UsageError: for parameters, minds or columns that cannot be used.
    """
    of_model, of_agents = dict[str, None](), dict[str, None]()
    for condition in dict.fromkeys(cell.condition for cell in cells):
        cell = next(each for each in cells if each.condition == condition)
        given: dict[str, Any] = {**cell.parameters, **cell.changes}
        if cell.party and plan.parties is not None and "party" not in given:
            given["party"] = to_be_held(plan.parties, cell.party, connection)
        built = plan.model(**given, rng=cell.seed, recording=False, connection=connection)
        of_model |= dict.fromkeys(built.datacollector.model_reporters)
        of_agents |= dict.fromkeys(built.datacollector.agent_reporters)
    known: dict[Data, list[str]] = {
        "model": ["round", *of_model],
        "agents": ["round", "agent", *of_agents],
        "messages": list(OF_MESSAGES),
    }
    check_columns(plan.experiment, known)


def _count_spent(opened: Recording, connection: Connection) -> None:
    """Let the budget count what the recording says has been spent already."""
    if connection.budget is not None and not Recorded(opened.path).runs().empty:
        spent = spent_before(opened, pasts(opened.path), connection.prices)
        connection.budget.spent.add(spent)
