"""Sweeps: a grid of parameters, minds and seeds, in this process or on workers.

A sweep is a folder with one recording. Finished runs in it are not run again, so the same call
plays the missing ones. Workers play runs without cost, each into a separate recording, which is
kept when the run is finished, and merged into the recording of the folder (see
`sabm_mesa.recording.shards`). Paid runs share one limiter for each endpoint, one budget and the
recording of the folder, all of the calling process. It plays them itself, all at the same time, or
lets workers play them, which use these through messages (see `sabm_mesa.runs.workers`). Runs with
mind objects are always played by the calling process.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
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
from sabm_mesa.recording import RecordedRun, Recording
from sabm_mesa.recording.export import write_frames
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.shards import SHARDS, Shards, list_shards
from sabm_mesa.runs.executors import (
    Executor,
    load_ray,
    on_processes,
    on_ray,
    play_here,
    worker_actors,
    worker_processes,
)
from sabm_mesa.runs.planned import RunSpec, find_runs, missing, run_missing, trial_models
from sabm_mesa.runs.workers import OpenWorkers, may_leave, play_on_workers

RECORDING = "recording.sqlite"
SEED = 1
"""The default of the first seed, so that the same call finds its runs again."""
PLACES = ("here", "processes", "ray")
Watch = Callable[[int, int], None]


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep.

    Attributes:
        values: the varied parameters.
        spec: the run.
    """

    values: Mapping[str, Any]
    spec: RunSpec


@dataclass(frozen=True)
class Grid:
    """The runs of a sweep.

    Attributes:
        model: the model class.
        varied: parameter → its values.
        parameters: the other given parameters.
        seeds: the seeds of each combination of values.
        cells: the runs: combination by combination, the last parameter changing fastest, and
            within each in the order of the seeds.
    """

    model: type[SmartModel]
    varied: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any]
    seeds: Sequence[int]
    cells: Sequence[SweepRun]

    @property
    def specs(self) -> list[RunSpec]:
        """The runs, in their order."""
        return [cell.spec for cell in self.cells]


@dataclass(frozen=True)
class Sweep:
    """A sweep that was run.

    Attributes:
        grid: the grid that was run.
        path: the recording.
        runs: one row per run: the varied parameters, ``seed``, ``run``, ``rounds``, the cost of
            asks, and the scenario's end measures; also in ``runs.csv``.
        model_data: one row per run and round: the varied parameters, ``seed``, ``run``, ``round``
            and the model columns; also in ``model.csv``.
        files: the tables that were written.
        ran: the number of runs that were played or continued now.
        wall_s: its duration in seconds.
    """

    grid: Grid
    path: Path
    runs: pd.DataFrame
    model_data: pd.DataFrame
    files: Sequence[Path]
    ran: int
    wall_s: float


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
    executor, open_workers = _place(on, workers, address)
    planned = grid(scenario, vary, parameters or {}, runs, seed)
    path = Path(folder) / RECORDING
    needed = varied_sampling(spec.parameters for spec in planned.specs)
    how = replace(connection or Connection(), needed=needed)
    ran = _finish(planned, path, executor, open_workers, how, watch)
    by_digest = find_runs(planned.specs, path)
    recorded = [by_digest[spec.digest] for spec in planned.specs]
    data = model_table(planned, recorded, Recorded(path))
    table = run_table(planned, recorded, data)
    files = write_frames(path.parent, {"runs": table, "model": data}, "csv")
    return Sweep(planned, path, table, data, files, ran, time.perf_counter() - started)


def grid(
    model: type[SmartModel] | str,
    vary: Mapping[str, Sequence[Any]],
    parameters: Mapping[str, Any],
    runs: int,
    seed: int,
) -> Grid:
    """The runs of a sweep; run i of each combination has the seed ``seed + i``.

    Args:
        model: the model class, or the name of a scenario.
        vary: parameter → its values.
        parameters: the other parameters.
        runs: the number of runs per combination.
        seed: the first seed.

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
    combinations = [
        dict(zip(vary, combination, strict=True)) for combination in product(*vary.values())
    ]
    cells = [
        SweepRun(values, spec)
        for values in combinations
        for spec in RunSpec(model, {**parameters, **values}, seeds[0]).with_seeds(seeds)
    ]
    return Grid(model, vary, parameters, seeds, cells)


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters for a table: numbers and texts unchanged, others as JSON."""
    plain = json_roundtrip({k: by_spec(v) if k == "minds" else v for k, v in values.items()})
    return {
        name: value if isinstance(value, str | int | float | None) else json.dumps(value)
        for name, value in plain.items()
    }


def model_table(grid: Grid, runs: Sequence[RecordedRun], recorded: Recorded) -> pd.DataFrame:
    """One row per run and round.

    Args:
        grid: the sweep.
        runs: the runs, in the order of the cells.
        recorded: the recording.

    Returns:
        The varied parameters, ``seed``, ``run`` (its number in the recording), ``round``, and the
        model columns; rows in the order of the grid, not of the recording. A parameter with the
        name of a model column is called ``NAME_set``.
    """
    columns = list(dict.fromkeys(name for run in runs for name in run.model_columns))
    data = recorded.model_data()[["run", "round", *columns]]
    return _cells(grid, runs, data.columns).merge(data, on="run")


def run_table(grid: Grid, runs: Sequence[RecordedRun], data: pd.DataFrame) -> pd.DataFrame:
    """One row per run.

    Args:
        grid: the sweep.
        runs: the runs, in the order of the cells.
        data: one row per run and round, from `model_table`.

    Returns:
        The varied parameters, ``seed``, ``run``, ``rounds``, the sums over the rounds of what asks
        cost (``asks``, ``invalid``, ``cost_usd``, …; a sum is NaN when a cost is not known), and
        the scenario's end measures; of a measure by name, one column ``MEASURE.NAME`` each.
    """
    spent = [name for name in dict(Usage()) if name in data]
    by_run = data.groupby("run", sort=False)
    sums = by_run[spent].sum()
    sums["cost_usd"] = sums["cost_usd"].where(by_run["cost_usd"].count() == by_run.size())
    sums.insert(0, "rounds", by_run.size())
    ends = pd.json_normalize([dict(run.measures) for run in runs])
    ends = ends.drop(columns=sums.columns.intersection(ends.columns))
    cells = _cells(grid, runs, [*sums.columns, *ends.columns])
    return pd.concat([cells.merge(sums, left_on="run", right_index=True), ends], axis="columns")


def _place(
    on: str, workers: int | None, address: str | None
) -> tuple[Executor, OpenWorkers | None]:
    """The executor of free runs, and the workers for paid runs; None: they are played here."""
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
        load_ray(address)
        return (
            partial(on_ray, workers=workers, address=address),
            partial(worker_actors, workers=workers, address=address),
        )
    if on == "processes":
        n = workers or cpu_count() or 1
        return partial(on_processes, workers=n), partial(worker_processes, workers=n)
    return play_here, None


def _finish(
    planned: Grid,
    path: Path,
    executor: Executor,
    open_workers: OpenWorkers | None,
    connection: Connection,
    watch: Watch,
) -> int:
    """Run the missing runs; return the number of runs that were played or continued."""
    todo = missing(planned.specs, path)
    if not todo and not (path.parent / SHARDS).exists():
        return 0
    trials = trial_models(todo, connection)
    with Shards(path) as shards:
        todo = missing(planned.specs, path)  # another command may have ended in the meantime
        kept = list_shards(path.parent)
        free = [spec for spec in todo if _is_free(trials[spec.identity])]
        paid = [spec for spec in todo if not _is_free(trials[spec.identity])]
        total = len(planned.cells)
        ran = len(todo) - sum(spec.digest in kept for spec in free)
        watch(total - ran, total)
        free_done = total - len(paid)
        _play(free, kept, executor, shards, lambda left: watch(free_done - left, total))
        shards.finish([spec.digest for spec in planned.specs])
        if paid:

            def spread(new: Sequence[RunSpec], opened: Recording, how: Connection) -> None:
                leave = [spec for spec in new if may_leave(trials[spec.identity])]
                if open_workers is not None and leave:
                    stay = len(paid) - len(leave)
                    play_on_workers(
                        leave, opened, how, open_workers,
                        lambda left: watch(total - stay - left, total),
                    )  # fmt: skip

            try:
                run_missing(
                    {path: paid},
                    connection,
                    watch=lambda now: watch(total - sum(model.running for model in now), total),
                    spread=spread,
                )
            finally:  # a run that failed or was stopped has ended, and is not done
                watch(total - len(missing(planned.specs, path)), total)
    return ran


def _is_free(model: SmartModel) -> bool:
    """Whether other processes may play such a run: its minds cost nothing and keep no state."""
    paid = any(agent.paid for agent in model.population)
    return not paid and not objects_by_spec(model.parameters["minds"])


def _play(
    specs: Sequence[RunSpec],
    kept: Collection[str],
    executor: Executor,
    shards: Shards,
    watch: Callable[[int], None],
) -> None:
    """Play free runs and keep each as soon as it is finished.

    Meanwhile finished runs are merged into the recording in the order of the plan, so the numbers
    of runs do not depend on which run ended first.
    """
    kept_so_far, ahead = set(kept), deque(specs)
    todo = [spec for spec in specs if spec.digest not in kept]
    if not todo:
        return
    with closing(executor(todo, scratch=shards.scratch)) as playing:
        for done, (index, recording) in enumerate(playing, 1):
            shards.keep(todo[index].digest, recording)
            kept_so_far.add(todo[index].digest)
            watch(len(todo) - done)
            while ahead and ahead[0].digest in kept_so_far:
                shards.merge(ahead.popleft().digest)


def _check_values(name: str, values: Any) -> None:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ParameterError(f"{name} needs a list of values to be varied (got {values!r}).")
    known: set[str] = set()
    for value in values:
        text = json.dumps(shown({name: value}))
        if text in known:
            raise ParameterError(f"{name} is varied with the value {value!r} twice.")
        known.add(text)


def _cells(
    grid: Grid, runs: Sequence[RecordedRun], taken: Sequence[str] | pd.Index
) -> pd.DataFrame:
    """One row per run: its varied parameters, seed and number."""
    rows = [
        {
            **{f"{k}_set" if k in taken else k: v for k, v in shown(cell.values).items()},
            "seed": cell.spec.seed,
            "run": run.run,
        }
        for cell, run in zip(grid.cells, runs, strict=True)
    ]
    return pd.DataFrame(rows)
