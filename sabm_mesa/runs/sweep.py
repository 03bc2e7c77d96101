"""Sweeps: a grid of parameters, minds and seeds, in this process or on workers.

A sweep is a folder with one recording. Finished runs in it are not run again, so the same call
plays the missing ones. Runs without cost are played one after another, runs with language models
at the same time. Workers play their tasks into separate recordings (see `sabm_mesa.runs.pool`),
which are merged at the end. What workers leave is played by the calling process: runs that were
begun before, or reached the share of their task in the budget, and runs with local models, people
or mind objects.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from os import cpu_count
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.parameters import SERVICES, check_choice, check_int
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import Connection
from sabm_mesa.minds.llm import varied_sampling
from sabm_mesa.minds.specs import by_spec, objects_by_spec
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import scenario as registered
from sabm_mesa.recording import RecordedRun
from sabm_mesa.recording.export import make_folder, write_frames
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.tasks import TASKS, merge, new_path, only_sweep, recordings
from sabm_mesa.runs import pool
from sabm_mesa.runs.planned import (
    RunSpec,
    find_runs,
    missing,
    run_missing,
    spent_in,
    trial_models,
)
from sabm_mesa.runs.pool import Task, WorkerPool

RECORDING = "recording.sqlite"
SEED = 1
"""The default of the first seed, so that the same call finds its runs again."""
PLACES = ("here", "processes", "ray")
_STAYS = ("gguf:", "local", "human")
Watch = Callable[[int, int], None]
OpenPool = Callable[[Path], AbstractContextManager[WorkerPool]]


@dataclass(frozen=True)
class Sweep:
    """A sweep that was run.

    Attributes:
        specs: the plans of the runs, in the order of the tables.
        varied: parameter → its values.
        path: the recording.
        runs: one row per run: the varied parameters, ``seed``, ``run``, ``rounds``, the cost of
            asks, and the scenario's end measures; also in ``runs.csv``.
        model_data: one row per run and round: the varied parameters, ``seed``, ``run``, ``round``
            and the model columns; also in ``model.csv``.
        files: the tables that were written.
        ran: the number of runs that were played or continued now.
        wall_s: its duration in seconds.
    """

    specs: Sequence[RunSpec]
    varied: Mapping[str, Sequence[Any]]
    path: Path
    runs: pd.DataFrame
    model_data: pd.DataFrame
    files: Sequence[Path]
    ran: int
    wall_s: float

    @property
    def parameters(self) -> dict[str, Any]:
        """The given parameters that are not varied."""
        given = self.specs[0].parameters
        return {name: value for name, value in given.items() if name not in self.varied}

    @property
    def seeds(self) -> list[int]:
        """The seeds of each combination of values."""
        return list(dict.fromkeys(spec.seed for spec in self.specs))


def sweep(
    scenario: type[SmartModel] | str,
    vary: Mapping[str, Sequence[Any]],
    *,
    folder: str | Path,
    parameters: Mapping[str, Any] | None = None,
    runs: int = 1,
    seed: int = SEED,
    on: str = "here",
    workers: int | None = None,
    address: str | None = None,
    connection: Connection | None = None,
    watch: Watch = lambda _done, _total: None,
) -> Sweep:
    """Run the missing part of a sweep, and write its tables.

    Every combination of the values is run with the same seeds; run i has the seed ``seed + i``.
    The tables are identical wherever the runs were played, as long as the versions of Python, Mesa
    and numpy are the same (the recording names those of each run).

    Args:
        scenario: the model class, or the name of a scenario.
        vary: parameter (``minds`` too) → its values.
        folder: where ``recording.sqlite``, ``runs.csv`` and ``model.csv`` are, or will be. Existing
            runs are not played again, even if the rules of the scenario have changed since: use
            another folder then.
        parameters: the other parameters, the same in all runs.
        runs: the number of runs per combination.
        seed: the first seed.
        on: where runs are played: ``"here"`` (free runs one after another, runs with language
            models at the same time), on ``"processes"`` of this machine, or on ``"ray"``. A custom
            scenario then must be in a module. On a cluster, this package, that module, the files
            that parameters name and the keys of language models must be on every machine.
        workers: the number of processes; None: one per core.
        address: a Ray cluster: ``HOST:PORT`` of its head, ``auto`` or ``ray://HOST:PORT``. None:
            the Ray connection of this process, or one that is started for the sweep.
        connection: how language models are reached; its budget also counts the recorded costs.
        watch: called after each run with the numbers of finished runs and of all runs.

    Raises:
        UsageError: for parameters, minds or workers that cannot be used; then no file is written.
        RunError: when a run fails, or the folder cannot be used; the same call continues.
    """
    started = time.perf_counter()
    place = _place(on, workers, address)
    specs = plan(scenario, vary, parameters or {}, runs, seed)
    path = Path(folder) / RECORDING
    needed = varied_sampling(spec.parameters for spec in specs)
    how = replace(connection or Connection(), needed=needed)
    ran = _finish(specs, path, place, how, watch)
    by_digest = find_runs(specs, path)
    recorded = [by_digest[spec.digest] for spec in specs]
    data = Recorded(path).model_data()
    model, table = _tables(specs, list(vary), recorded, data)
    files = write_frames(path.parent, {"runs": table, "model": model}, "csv")
    return Sweep(specs, vary, path, table, model, files, ran, time.perf_counter() - started)


def plan(
    model: type[SmartModel] | str,
    vary: Mapping[str, Sequence[Any]],
    parameters: Mapping[str, Any],
    runs: int,
    seed: int,
) -> list[RunSpec]:
    """The runs of a sweep; run i of each combination has the seed ``seed + i``.

    Returns:
        The plans, combination by combination, the last parameter changing fastest, and within each
        in the order of the seeds.

    Raises:
        UsageError: for a parameter that does not exist or is given twice, or for no or equal
            values. Values are not checked here.
    """
    model = registered(model) if isinstance(model, str) else model
    seeds = [check_int("seed", seed, 0) + i for i in range(check_int("runs", runs, 1))]
    for name in [*vary, *parameters]:
        if name in SERVICES | {"rng"}:
            raise ParameterError(
                f"{name} is not a parameter that a sweep sets: see its own options."
            )
        if name in vary and name in parameters:
            raise ParameterError(f"{name} is given twice: with a fixed value and with varied ones.")
    for name, values in vary.items():
        _check_values(name, values)
    return [
        spec
        for values in product(*vary.values())
        for spec in RunSpec(
            model, {**parameters, **dict(zip(vary, values, strict=True))}, seeds[0]
        ).with_seeds(seeds)
    ]


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters for a table: numbers and texts unchanged, others as JSON."""
    plain = json_roundtrip({k: by_spec(v) if k == "minds" else v for k, v in values.items()})
    return {
        name: value if isinstance(value, str | int | float | None) else json.dumps(value)
        for name, value in plain.items()
    }


def _tables(
    specs: Sequence[RunSpec],
    varied: Sequence[str],
    runs: Sequence[RecordedRun],
    recorded: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of a sweep; see `Sweep`. Rows are in the order of the plans.

    The sums of a run over its rounds are NaN when a cost is not known. A measure by name has one
    column ``MEASURE.NAME`` each. A parameter with the name of another column is ``NAME_set``.
    """
    columns = dict.fromkeys(name for run in runs for name in run.model_columns)
    data = recorded[["run", "round", *columns]]
    model = _head(specs, varied, runs, data.columns).merge(data, on="run")
    by_run = model.groupby("run", sort=False)
    sums = by_run[[name for name in dict(Usage()) if name in model]].sum()
    sums["cost_usd"] = sums["cost_usd"].where(by_run["cost_usd"].count() == by_run.size())
    sums.insert(0, "rounds", by_run.size())
    ends = pd.json_normalize([dict(run.measures) for run in runs])
    ends = ends.drop(columns=sums.columns.intersection(ends.columns))
    head = _head(specs, varied, runs, [*sums.columns, *ends.columns])
    table = head.merge(sums, left_on="run", right_index=True)
    return model, pd.concat([table, ends], axis="columns")


def _head(
    specs: Sequence[RunSpec],
    varied: Sequence[str],
    runs: Sequence[RecordedRun],
    taken: Sequence[str] | pd.Index,
) -> pd.DataFrame:
    """One row per run: its varied parameters, seed and number."""
    rows = []
    for spec, run in zip(specs, runs, strict=True):
        values = shown({name: spec.parameters[name] for name in varied})
        named = {f"{name}_set" if name in taken else name: v for name, v in values.items()}
        rows.append({**named, "seed": spec.seed, "run": run.run})
    return pd.DataFrame(rows)


def _place(on: str, workers: int | None, address: str | None) -> OpenPool | None:
    """Opens the place of the workers, given the folder of their recordings; None: no workers."""
    check_choice("place for runs (on)", on, PLACES)
    if workers is not None:
        check_int("workers", workers, 1)
        if on == "here" or address is not None:
            raise ParameterError(
                "The number of workers can be chosen for processes, and for a Ray that is started "
                "here."
            )
    if address is not None and on != "ray":
        raise ParameterError("Only Ray takes an address: sweep on ray.")
    if on == "ray":
        pool.load_ray(address)
        return lambda _: pool.on_ray(workers, address)
    return partial(pool.processes, workers or cpu_count() or 1) if on == "processes" else None


def _finish(
    specs: Sequence[RunSpec],
    path: Path,
    place: OpenPool | None,
    connection: Connection,
    watch: Watch,
) -> int:
    """Run the missing runs; return the number of runs that were played or continued."""
    folder, total = path.parent.resolve() / TASKS, len(specs)
    todo = missing(specs, path)
    if not todo and not folder.exists():
        return 0
    trials = trial_models(todo, connection)
    free = [spec for spec in todo if _is_free(trials[spec.identity])]
    paid = [spec for spec in todo if not _is_free(trials[spec.identity])]
    leaving = [spec for spec in paid if place and not _stays(trials[spec.identity])]
    if place and (sent := [*free, *leaving]):
        pool.check_sendable(sent)
    with only_sweep(path.parent):
        todo = missing(specs, path)  # another command may have ended in the meantime
        files = [path, *recordings(folder)]
        begun = {digest: run for file in files for digest, run in find_runs(todo, file).items()}
        ran = len(todo) - sum(run.finished for run in begun.values())
        new = {spec.digest for spec in todo}.difference(begun)
        watch(total - ran, total)
        try:
            _play_new(
                [spec for spec in free if spec.digest in new],
                [spec for spec in leaving if spec.digest in new],
                folder, place, _with_spent(connection, files),
                lambda done: watch(total - ran + done, total),
            )  # fmt: skip
        finally:
            merge(path, [spec.digest for spec in [*free, *paid]], connection.as_recorded())
        if missing(specs, path):
            try:
                run_missing(
                    {path: specs},
                    connection,
                    watch=lambda now: watch(total - sum(model.running for model in now), total),
                )
            finally:  # a run that failed or was stopped has ended, and is not done
                watch(total - len(missing(specs, path)), total)
        elif connection.budget is not None:
            connection.budget.spent.add(spent_in(path, connection.prices))
    return ran


def _is_free(model: SmartModel) -> bool:
    """Whether a run costs nothing, and its minds keep no state."""
    paid = any(agent.paid for agent in model.population)
    return not paid and not objects_by_spec(model.parameters["minds"])


def _stays(model: SmartModel) -> bool:
    """Whether a run needs this process, for its local models, people or mind objects."""
    here = any(agent.mind.spec.startswith(_STAYS) for agent in model.population)
    return here or bool(objects_by_spec(model.parameters["minds"]))


def _with_spent(connection: Connection, files: Sequence[Path]) -> Connection:
    """The connection with a separate budget that counts the costs in recordings."""
    if connection.budget is None:
        return connection
    spent = Usage()
    for usage in [connection.budget.spent, *(spent_in(file, connection.prices) for file in files)]:
        spent.add(usage)
    return replace(connection, budget=connection.budget.after(spent))


def _play_new(
    free: Sequence[RunSpec],
    paid: Sequence[RunSpec],
    folder: Path,
    place: OpenPool | None,
    connection: Connection,
    watch: Callable[[int], None],
) -> None:
    """Play runs into the recordings of tasks; without workers free runs in this process."""
    if not free and not paid:
        return
    make_folder(folder)
    if place is None:
        for done, spec in enumerate(free, 1):
            pool.play(Task(new_path(folder), [spec]))
            watch(done)
        return
    with place(folder) as opened:
        pool.play_tasks(free, paid, folder, opened, connection, watch)


def _check_values(name: str, values: Any) -> None:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ParameterError(f"{name} needs a list of values to be varied (got {values!r}).")
    known: set[str] = set()
    for value in values:
        text = json.dumps(shown({name: value}))
        if text in known:
            raise ParameterError(f"{name} is varied with the value {value!r} twice.")
        known.add(text)
