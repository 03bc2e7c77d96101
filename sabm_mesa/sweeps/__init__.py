"""Sweeps: a grid of parameters, minds and seeds, played where there is room for it.

A sweep is a folder with one recording. What is finished in it is not run again, so that the same
call finishes what is missing. Runs of minds that cost nothing are played by workers, each run into
a recording of its own, which is kept when the run is finished and added to the recording of the
folder (see `sabm_mesa.recording.parts`). Runs in which anything is paid for, or with mind objects,
are played by the calling process whatever the workers are, all at the same time: so they share its
one limiter for each endpoint and its one budget, each answer is on its disk before it is used, and
a lost worker has never been given anything that was paid for.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from os import cpu_count
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.errors import ParameterError
from sabm_mesa.jsonable import as_read_again
from sabm_mesa.llm import Connection
from sabm_mesa.minds import objects_by_spec
from sabm_mesa.models.base import SmartModel
from sabm_mesa.parameters import one_of, whole
from sabm_mesa.recording import Recording
from sabm_mesa.recording.export import write_frames
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.parts import PARTS, Entry, Parts, add_measures, entries, kept, measures_in
from sabm_mesa.recording.past import pasts
from sabm_mesa.reruns import going_on, replay
from sabm_mesa.runner import run_models
from sabm_mesa.spending import spent_before
from sabm_mesa.sweeps.cluster import library, on_ray
from sabm_mesa.sweeps.grid import Cell, Grid, for_workers, grid, name_of
from sabm_mesa.sweeps.playing import Engine, play_here
from sabm_mesa.sweeps.processes import on_processes
from sabm_mesa.sweeps.tables import model_table, run_table

RECORDING = "recording.sqlite"
SEED = 1
"""The first seed when none is chosen: the same call then finds its runs again."""
PLACES = ("here", "processes", "ray")
Watch = Callable[[int, int], None]


@dataclass(frozen=True)
class Sweep:
    """A sweep that was run.

    Attributes:
        grid: what was run.
        path: the recording.
        runs: one row a run: the varied parameters, ``seed``, ``run``, ``rounds``, what asks cost,
            and the scenario's end measures; also in ``runs.csv``.
        model_data: one row a run and round: the varied parameters, ``seed``, ``run``, ``round``
            and the model columns; also in ``model.csv``.
        files: the tables that were written.
        ran: how many runs were played or gone on with now.
        wall_s: seconds it took.
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
    """Run what is missing of a sweep, and write its tables.

    Every combination of the values is run with the same seeds; run i has the seed ``seed + i``.
    The tables are the same, bit for bit, wherever the runs were played, as long as the versions of
    Python, Mesa and numpy are the same everywhere (the recording names those of each run).

    Args:
        scenario: the model class, or the name of a scenario.
        vary: parameter (``minds`` too) → its values.
        folder: where ``recording.sqlite``, ``runs.csv`` and ``model.csv`` are, or will be. Runs
            that are there are not played again, also when the rules of a scenario have been
            changed since: those need another folder.
        parameters: the other parameters, the same in all runs.
        runs: runs a combination.
        seed: the first seed.
        on: where free runs are played: ``"here"``, one after another; on ``"processes"`` of this
            machine; on ``"ray"``. A scenario of your own has to be in a module then. On a
            cluster, this package, that module and the files that parameters name have to be on
            every machine.
        workers: how many processes; as many as there are cores when None.
        address: a Ray cluster: ``HOST:PORT`` of its head, ``auto`` or ``ray://HOST:PORT``. None:
            the Ray that this process is connected to, or one that is started for the sweep.
        connection: how language models are reached; what the recording says has been spent already
            is added to its budget.
        watch: called with the number of runs that are done and of all runs, when one is done.

    Raises:
        UsageError: for parameters, minds or workers that cannot be used; there is no file then.
        RunError: when a run fails, or the folder cannot be used; the same call goes on.
    """
    started = time.perf_counter()
    engine = _engine(on, workers, address)
    planned = grid(scenario, vary, parameters or {}, runs, seed)
    folder, connection = Path(folder), connection or Connection()
    path = folder / RECORDING
    todo = _missing(planned, path)
    ran = 0
    if todo or (folder / PARTS).exists():
        free = for_workers(todo, connection)
        with Parts(path) as parts:
            todo = _missing(planned, path)  # another command may have ended in the meantime
            before = kept(folder)
            waiting = [cell for cell in todo if cell.name in free]
            paid = [cell for cell in todo if cell.name not in free]
            total = len(planned.cells)
            ran = len(todo) - sum(cell.name in before for cell in waiting)
            watch(total - ran, total)
            free_done = total - len(paid)
            _play(waiting, before, engine, parts, lambda left: watch(free_done - left, total))
            parts.finish([cell.name for cell in planned.cells])
            if paid:
                _ask(paid, path, connection, lambda left: watch(total - left, total))
    entered = _entered(planned, path)
    data = model_table(planned, entered, Recorded(path))
    table = run_table(planned, entered, data, _measures(folder, planned, entered))
    files = write_frames(folder, {"runs": table, "model": data}, "csv")
    return Sweep(planned, path, table, data, files, ran, time.perf_counter() - started)


def _engine(on: str, workers: int | None, address: str | None) -> Engine:
    one_of("place for runs (on)", on, PLACES)
    if workers is not None:
        whole("workers", workers, 1)
        if on == "here" or address is not None:
            raise ParameterError(
                "The number of workers can be chosen for processes, and for a Ray that is started "
                "here."
            )
    if address is not None and on != "ray":
        raise ParameterError("An address is that of a Ray cluster: sweep on ray.")
    if on == "ray":
        library(address)
        return partial(on_ray, workers=workers, address=address)
    if on == "processes":
        return partial(on_processes, workers=workers or cpu_count() or 1)
    return play_here


def _found(path: Path) -> dict[str, Entry]:
    """Name → the run of that name in a recording; of several, one that is finished."""
    found: dict[str, Entry] = {}
    for entry in entries(path):
        if not (known := found.get(name_of(entry))) or not known.whole:
            found[name_of(entry)] = entry
    return found


def _missing(planned: Grid, path: Path) -> list[Cell]:
    found = _found(path)
    return [c for c in planned.cells if c.name not in found or not found[c.name].whole]


def _entered(planned: Grid, path: Path) -> list[Entry]:
    found = _found(path)
    return [found[cell.name] for cell in planned.cells]


def _play(
    cells: Sequence[Cell],
    before: Collection[str],
    engine: Engine,
    parts: Parts,
    watch: Callable[[int], None],
) -> None:
    """Play free runs and keep each as soon as it is finished.

    While others are played, those that are kept are added to the recording: in the order of the
    cells, so that the numbers of runs do not depend on which came first.
    """
    kept_so_far, ahead = set(before), deque(cells)
    todo = [cell for cell in cells if cell.name not in before]
    if not todo:
        return
    with closing(engine([cell.task for cell in todo], scratch=parts.scratch)) as playing:
        for done, (place, played) in enumerate(playing, 1):
            parts.keep(todo[place].name, played.recording, played.measures)
            kept_so_far.add(todo[place].name)
            watch(len(todo) - done)
            while ahead and ahead[0].name in kept_so_far:
                parts.add(ahead.popleft().name)


def _ask(
    cells: Sequence[Cell], path: Path, connection: Connection, watch: Callable[[int], None]
) -> None:
    """Play runs in this process, all at the same time: new ones, and those that were cut off."""
    found = _found(path)
    with Recording(path) as opened:
        if connection.budget is not None and found:
            spent = spent_before(opened, pasts(path), connection.prices)
            connection.budget.spent.add(spent)
        begun = [found[cell.name].run for cell in cells if cell.name in found]
        new = [cell.task for cell in cells if cell.name not in found]
        models = [
            each.model(**each.parameters, rng=each.seed, recording=opened, connection=connection)
            for each in new
        ]
        if begun:
            minds = {
                spec: mind
                for cell in cells
                for spec, mind in objects_by_spec(
                    cell.task.parameters.get("minds", "classical")
                ).items()
            }
            models = [*going_on(opened, pasts(path, begun), connection, minds=minds), *models]
        done = run_models(
            models,
            recording=opened,
            watch=lambda now: watch(sum(model.running for model in now)),
        )
    uids = {entry.run: entry.uid for entry in entries(path)}
    ends = zip(done.numbers, done.models, strict=True)
    add_measures(
        path.parent, {uids[run]: as_read_again(model.end_measures()) for run, model in ends}
    )


def _measures(
    folder: Path, planned: Grid, entered: Sequence[Entry]
) -> Mapping[str, Mapping[str, Any]]:
    """By uid the end measures; those that were not written down are computed."""
    known = measures_in(folder)
    lost = {
        entry.uid: as_read_again(
            replay(folder / RECORDING, entry.run, scenario=planned.model).models[0].end_measures()
        )
        for entry in entered
        if entry.uid not in known
    }
    add_measures(folder, lost)
    return {**known, **lost}
