"""Running the missing part of an experiment, and reading its runs.

All runs of an experiment are in one recording, each tagged with its condition. Finished runs are
not played again, interrupted ones continue, and missing ones are played, all at the same time and
within one budget. Earlier runs that these build on have a separate recording in the folder
``earlier``, and come first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.errors import RecordingError
from sabm_mesa.llm import Connection
from sabm_mesa.minds.llm import varied_sampling
from sabm_mesa.minds.specs import by_spec
from sabm_mesa.recording import RecordedRun, load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.planned import find_runs, run_missing
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies.experiments.design import (
    OF_MESSAGES,
    Data,
    check_columns,
)
from sabm_mesa.studies.experiments.plan import (
    ExperimentRun,
    Name,
    Plan,
    described,
    name_of,
    with_earlier_runs,
    with_pending_run,
)
from sabm_mesa.studies.judging import message_coder

RECORDING, EARLIER = "recording.sqlite", "earlier"


def find(plan: Plan, path: Path, among: Sequence[Plan] = ()) -> dict[Name, RecordedRun]:
    """The runs of an experiment in a recording, by the condition in their tags.

    Args:
        plan: the experiment.
        path: the recording; it need not exist.
        among: plans that share the recording, this one included.

    Raises:
        RecordingError: when the recording has runs, but none with the minds and seeds of a plan.
    """
    runs = find_runs(plan.specs.values(), path)
    if not runs:
        _check_belongs(among or [plan], path)
    return {name: runs[spec.digest] for name, spec in plan.specs.items() if spec.digest in runs}


def unfinished(plan: Plan, path: Path, among: Sequence[Plan] = ()) -> list[ExperimentRun]:
    """The runs of an experiment without a finished run in a recording.

    Args:
        plan: the experiment.
        path: the recording; it need not exist.
        among: see `find`.

    Raises:
        RecordingError: see `find`.
    """
    runs = find(plan, path, among)
    return [
        cell
        for cell in plan.cells
        if (name := name_of(cell)) not in runs or not runs[name].finished
    ]


def alike(plan: Plan) -> list[list[str]]:
    """The groups of conditions with the same parameters and minds.

    Args:
        plan: the experiment.
    """
    groups: dict[str, list[str]] = {}
    for (condition, seed), spec in plan.specs.items():
        if seed == plan.seeds[0]:
            fork = spec.fork
            request = [fork.of.identity, fork.at, dict(fork.changes)] if fork else [spec.identity]
            request = [spec.scenario.scenario_name, *request]
            key = json.dumps(json_roundtrip(request), sort_keys=True)
            groups.setdefault(key, []).append(condition)
    return [names for names in groups.values() if len(names) > 1]


def _check_belongs(plans: Sequence[Plan], path: Path) -> None:
    """Check that some runs have the minds and a seed of a plan, also at another scale."""
    plan = plans[0]
    runs = load_runs(path, missing_ok=True)
    cells = [cell for plan in plans for cell in plan.cells]
    decide = [json_roundtrip(by_spec(cell.parameters["minds"])) for cell in cells]
    wanted = [([cell.seed], minds) for cell, minds in zip(cells, decide, strict=True)]
    if not runs or any((list(run.seed), run.parameters["minds"]) in wanted for run in runs):
        return
    minds = list(dict.fromkeys(described(run.parameters["minds"]) for run in runs))
    seeds = sorted({seed for run in runs for seed in run.seed})
    there = f"{len(runs)} runs" if len(runs) > 1 else "1 run"
    raise RecordingError(
        f"{path} holds {there} by {' / '.join(minds)}, with the seeds {seeds[0]} to {seeds[-1]}: "
        f"none with the minds and seeds of this {plan.experiment.name} "
        f"({' / '.join(dict.fromkeys(described(minds) for minds in decide))}, {plan.seeds[0]} to "
        f"{plan.seeds[-1]}). Choose another folder (--out)."
    )


@dataclass(frozen=True)
class Outcome:
    """An experiment that was run.

    Attributes:
        plan: the plan of the runs.
        path: the recording.
        runs: one row per run, from `Recorded.runs`, with ``condition`` and ``seed`` first.
        model_data: the model data with ``condition`` and ``seed`` first.
        agent_data: the agent data with ``condition`` and ``seed`` first.
        messages: the messages, with ``condition`` and ``seed`` first and the codes of the
            rule-based coder (see `sabm_mesa.analysis.messages`).
        ran: the number of runs that were played or resumed now.
        earlier: the earlier runs that these build on, or None.
    """

    plan: Plan
    path: Path
    runs: pd.DataFrame
    model_data: pd.DataFrame
    agent_data: pd.DataFrame
    messages: pd.DataFrame
    ran: int = 0
    earlier: Outcome | None = None

    @property
    def all_runs(self) -> pd.DataFrame:
        """All paid runs, including the earlier ones."""
        earlier = [] if self.earlier is None else [self.earlier.runs]
        return pd.concat([*earlier, self.runs], ignore_index=True)


def run(
    plan: Plan,
    folder: str | Path,
    *,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
    begin: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run the missing part of an experiment.

    Args:
        plan: the experiment.
        folder: where its recording is, or will be.
        connection: how language models are reached; its budget also counts the recorded costs, and
            all experiments that share it.
        watch: called with the models every tenth of a second.
        begin: called after all checks, before the first run.

    Raises:
        UsageError: for parameters or minds that cannot be used.
        RunError: when a run fails; its answers are recorded, and the same call continues.
    """
    (planned,), (earlier,), ran = play(
        [plan], folder, connection=connection, watch=watch, begin=begin
    )
    return read(planned, Path(folder) / RECORDING, ran=ran, earlier=earlier)


def play(
    plans: Sequence[Plan],
    folder: str | Path,
    *,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
    begin: Callable[[], None] = lambda: None,
) -> tuple[list[Plan], list[Outcome | None], int]:
    """Run the missing part of several plans with one recording, earlier runs first.

    Args:
        plans: the plans; common earlier runs are played once.
        folder: see `run`.
        connection: see `run`.
        watch: see `run`.
        begin: see `run`.

    Returns:
        The plans with the earlier runs as parameters; for each its earlier runs, or None; and the
        number of runs that were played or resumed now, without earlier ones.

    Raises:
        UsageError: for parameters or minds that cannot be used.
        RunError: when a run fails; its answers are recorded, and the same call continues.
    """
    path = Path(folder) / RECORDING
    needed = varied_sampling(cell.parameters for plan in plans for cell in plan.cells)
    connection = replace(connection or Connection(), needed=needed)
    earlier = _earlier(plans, path.parent / EARLIER, connection, watch, begin)
    built = [
        plan if outcome is None else with_earlier_runs(plan, outcome.path, outcome.runs)
        for plan, outcome in zip(plans, earlier, strict=True)
    ]
    left = [(plan, todo) for plan in built if (todo := unfinished(plan, path, among=built))]
    for plan, todo in left:
        check(plan, todo, connection)
    before = list({id(outcome): outcome for outcome in earlier if outcome is not None}.values())
    played = any(outcome.ran for outcome in before)
    if not played:
        begin()
    specs = {path: [spec for plan in built for spec in plan.specs.values()]}
    for outcome in before if not played else ():  # else it counts in the budget already
        specs.setdefault(outcome.path, []).extend(outcome.plan.specs.values())
    return built, earlier, run_missing(specs, connection, watch=watch)


def frames(path: Path, *, coded: bool = True) -> dict[str, pd.DataFrame]:
    """The data of all runs of a recording, with coded messages.

    Args:
        path: the recording.
        coded: whether to code the messages, which takes long.

    Raises:
        RecordingError: when it cannot be read.
    """
    frames = Recorded(path).frames()
    if coded:
        frames["messages"] = message_coder().coded(frames["messages"])
    return frames


def read(
    plan: Plan,
    path: Path,
    ran: int = 0,
    earlier: Outcome | None = None,
    data: Mapping[str, pd.DataFrame] | None = None,
) -> Outcome:
    """Read the runs of an experiment from a recording.

    Args:
        plan: the experiment.
        path: the recording.
        ran: the number of runs that were played now.
        earlier: the earlier runs that its runs build on.
        data: the `frames` of the recording, if they have been read already.

    Raises:
        RecordingError: when it cannot be read.
    """
    runs = find(plan, path)
    known = frames(path) if data is None else data
    where = pd.DataFrame(
        [(runs[name].run, *name) for name in plan.specs],
        columns=["run", "condition", "seed"],
    )

    def of_cells(name: str) -> pd.DataFrame:
        mine = where.merge(known[name].drop(columns="seed", errors="ignore"), on="run")
        first = ["condition", "seed"]
        return mine[[*first, *mine.columns.drop(first)]]

    return Outcome(
        plan, path, of_cells("runs"), of_cells("model_data"), of_cells("agent_data"),
        of_cells("messages"), ran, earlier,
    )  # fmt: skip


def _earlier(
    plans: Sequence[Plan],
    folder: Path,
    connection: Connection,
    watch: Watch,
    begin: Callable[[], None],
) -> list[Outcome | None]:
    """The earlier runs of each plan, played now or before; common ones once."""
    different = earlier_plans(plans)
    if not different:
        return [None for _ in plans]
    left = [
        len(unfinished(earlier_plan, folder / RECORDING, among=different))
        for earlier_plan in different
    ]
    if any(left):
        for plan in plans:
            check(plan, plan.cells, connection)  # nothing is paid that no run can build on
        begin()
    built, before, _ = play(different, folder, connection=connection, watch=watch)
    outcomes = [
        read(plan, folder / RECORDING, ran=ran, earlier=outcome)
        for plan, outcome, ran in zip(built, before, left, strict=True)
    ]
    places = [_place(plan.earlier, different) for plan in plans]
    return [None if index is None else outcomes[index] for index in places]


def earlier_plans(plans: Sequence[Plan]) -> list[Plan]:
    """The different earlier runs that plans build on.

    Args:
        plans: the plans.
    """
    earlier: list[Plan] = []
    for plan in plans:
        if plan.earlier is not None and _place(plan.earlier, earlier) is None:
            earlier.append(plan.earlier)
    return earlier


def _place(plan: Plan | None, among: Sequence[Plan]) -> int | None:
    """The index of a plan with the same runs."""
    if plan is None:
        return None
    wanted = [spec.digest for spec in plan.specs.values()]
    same = (
        i
        for i, candidate in enumerate(among)
        if [spec.digest for spec in candidate.specs.values()] == wanted
    )
    return next(same, None)


def check(plan: Plan, cells: Sequence[ExperimentRun], connection: Connection) -> None:
    """Build one run of each condition, so that errors occur before any file is written.

    Args:
        plan: the experiment.
        cells: the missing runs.
        connection: how language models are reached.

    Raises:
        UsageError: for parameters, minds or columns that cannot be used.
    """
    of_model, of_agents = dict[str, None](), dict[str, None]()
    for condition in dict.fromkeys(cell.condition for cell in cells):
        cell = next(cell for cell in cells if cell.condition == condition)
        given = with_pending_run(plan, cell, connection)
        built = plan.model_of(condition)(
            **given, rng=cell.seed, recording=False, connection=connection
        )
        of_model |= dict.fromkeys(built.datacollector.model_reporters)
        of_agents |= dict.fromkeys(built.datacollector.agent_reporters)
    known: dict[Data, list[str]] = {
        "model": ["round", *of_model],
        "agents": ["round", "agent", *of_agents],
        "messages": list(OF_MESSAGES),
    }
    check_columns(plan.experiment, known)
