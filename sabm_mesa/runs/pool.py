"""Tasks of a sweep on processes of this machine, or on Ray.

A task is a few runs. A worker plays them into the task's own recording, within the task's share of
the budget and of the simultaneous requests. So tasks share nothing, and the loss of a worker costs
only its requests under way.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from concurrent.futures.process import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from logging.handlers import QueueHandler
from math import ceil, floor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from sabm_mesa.core import engine
from sabm_mesa.errors import BudgetExceeded, ParameterError, RecordingError, RunError, error_message
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.llm.endpoints import check_listener
from sabm_mesa.llm.limit import CEILING
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.recording.export import write_file
from sabm_mesa.recording.tasks import UNFINISHED, new_path
from sabm_mesa.runs.planned import RunSpec, run_missing
from sabm_mesa.runs.run import Watch, run_models

MAX_LOST = 3
"""The maximum number of workers lost in a free run: then the run itself may crash them."""
STOP = "stop"
"""The file beside the recordings of tasks that tells worker processes to stop."""
TOGETHER = 50
"""The maximum number of runs with language models in a task."""
LOOK_S = 1.0
"""Seconds between two checks of the running tasks, and of a worker process for its end."""
_SPENT = {"max_usd": "cost_usd", "max_asks": "asks", "max_total_tokens": "tokens"}
"""Cap → the count of `Usage` that it limits."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """Runs that are played together.

    Attributes:
        path: their recording.
        specs: the runs.
        connection: how language models are reached; None for runs without cost, which are only
            recorded when they are finished.
    """

    path: Path
    specs: Sequence[RunSpec]
    connection: Connection | None = None

    @property
    def finished(self) -> int:
        """The number of finished runs in its recording."""
        with suppress(RecordingError):
            return sum(run.finished for run in load_runs(self.path, missing_ok=True, check=False))
        return 0


def play(task: Task, watch: Watch = lambda _: None) -> None:
    """Play the runs of a task; see `run_models` for `watch`.

    Raises:
        RunError: when a run fails.
    """
    if task.connection is not None:
        run_missing({task.path: task.specs}, task.connection, watch=watch)
        return
    with TemporaryDirectory(dir=task.path.parent, prefix=UNFINISHED) as folder:
        part = Path(folder, task.path.name)
        # A run that is cut off is not used at all, so there is no need to wait for the disk.
        with Recording(part, durable=False) as opened:
            run_models([spec.build(opened) for spec in task.specs], watch=watch)
        part.replace(task.path)


# In a worker.


@dataclass(frozen=True)
class Ended:
    """The end of a task.

    Attributes:
        problem: why it ended early, or ``""``.
        over_budget: whether it reached its share of the budget.
        logged: the log records of the worker.
        recording: the file of its recording, from a worker that does not see the folder of the
            command; otherwise None.
    """

    problem: str
    over_budget: bool
    logged: Sequence[logging.LogRecord]
    recording: bytes | None


def work(task: Task) -> Ended:
    """Play a task in a worker."""
    here, stop = task.path.parent.is_dir(), task.path.with_name(STOP)
    if task.connection is not None:
        for endpoint in task.connection.endpoints.values():
            endpoint.hide_key()

    def check_stop(_: object) -> None:
        if stop.exists():
            raise KeyboardInterrupt

    records: SimpleQueue[logging.LogRecord] = SimpleQueue()
    handler = QueueHandler(records)
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    problem: BaseException | None = None
    with TemporaryDirectory() as elsewhere:
        mine = task if here else replace(task, path=Path(elsewhere, task.path.name))
        try:
            play(mine, check_stop)
        except BaseException as error:  # noqa: BLE001 - the command raises it
            problem = error
        logging.getLogger().removeHandler(handler)
        logged = [records.get() for _ in range(records.qsize())]
        file = None if here or not mine.path.exists() else mine.path.read_bytes()
    message = "" if problem is None else error_message(problem)
    return Ended(message, isinstance(problem, BudgetExceeded), logged, file)


class _Process(ProcessPoolExecutor):
    """One worker process. Ctrl-C is for the command, which stops it, also while it starts."""

    def submit(self, fn: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        if not hasattr(signal, "pthread_sigmask"):  # on Windows
            return super().submit(fn, *given, **named)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the process inherits it
        try:
            return super().submit(fn, *given, **named)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin(stop: Path) -> None:
    """Begin a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_command, args=(stop,), daemon=True).start()


def _end_with_command(stop: Path) -> None:
    """End this process when the command is gone, or a while after it stopped."""
    command = multiprocessing.parent_process()
    assert command is not None
    while command.is_alive() and not stop.exists():
        time.sleep(LOOK_S)
    if command.is_alive():
        time.sleep(engine.WIND_UP_S)
    os._exit(1)


# In the command.


@dataclass(frozen=True)
class WorkerPool:
    """The workers that play tasks.

    Attributes:
        n: the number of workers.
        worker: starts a worker.
        stop: stops all workers; they finish their requests under way.
        lost: the error for a worker that was lost.
    """

    n: int
    worker: Callable[[], Executor]
    stop: Callable[[], object]
    lost: tuple[type[BaseException], ...]


@contextmanager
def processes(n: int, folder: Path) -> Iterator[WorkerPool]:
    """Processes of this machine, for tasks whose recordings are in a folder."""
    spawn, stop = multiprocessing.get_context("spawn"), folder / STOP
    worker = partial(_Process, 1, spawn, _begin, (stop,))
    stop.unlink(missing_ok=True)
    try:
        yield WorkerPool(n, worker, stop.touch, (BrokenExecutor,))
    finally:
        stop.unlink(missing_ok=True)


def check_sendable(specs: Sequence[RunSpec]) -> None:
    """Check that runs can be sent to other processes.

    Raises:
        ParameterError: for a class or a parameter that only this process knows.
    """
    try:
        pickle.dumps(specs)
        unknown = "" if specs[0].scenario.__module__ != "__main__" else "it is part of the script"
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        unknown = str(error)
    if unknown:
        raise ParameterError(
            f"{specs[0].scenario.__name__} cannot be sent to other processes ({unknown}): define "
            "the scenario in a module, or run it in this process."
        )


class _Work:
    """Tasks that workers play; see `play_tasks`."""

    def __init__(self, tasks: Sequence[Task], place: WorkerPool) -> None:
        self._waiting = deque(tasks)
        self._running = dict[Future[Ended], tuple[Executor, Task]]()
        self._place = place
        self._workers, self._idle = list[Executor](), list[Executor]()
        self._lost, self._logged = Counter[Path](), set[str]()
        self._done = 0

    @property
    def finished(self) -> int:
        """The number of finished runs."""
        return self._done + sum(task.finished for _, task in self._running.values())

    def go_on(self) -> bool:
        """Start tasks, wait a moment for the end of others, and return whether some are left."""
        while self._waiting and len(self._running) < self._place.n:
            task = self._waiting.popleft()
            if not self._idle:
                self._idle.append(self._place.worker())
                self._workers.append(self._idle[-1])
            worker = self._idle.pop()
            self._running[worker.submit(work, task)] = worker, task
        for future in wait(self._running, LOOK_S, FIRST_COMPLETED).done:
            self._end(future)
        return bool(self._waiting or self._running)

    def stop(self) -> None:
        """Let workers finish their requests under way, and end them."""
        with engine.interrupts_deferred():
            if self._running:
                _log.warning("Waiting up to %g s for the workers to end.", engine.WIND_UP_S)
                self._place.stop()
            for future in wait(self._running, engine.WIND_UP_S).done:
                if future.exception() is None and (content := future.result().recording):
                    write_file(self._running[future][1].path, content)
            for worker in self._workers:
                worker.shutdown(wait=False)

    def _end(self, future: Future[Ended]) -> None:
        worker, task = self._running.pop(future)
        error = future.exception()
        if error is None:
            ended = future.result()
            self._idle.append(worker)
            self._pass_on(ended.logged)
            if ended.recording is not None:
                write_file(task.path, ended.recording)
        self._done += task.finished
        if error is None:
            if ended.problem and not ended.over_budget:
                raise RunError(ended.problem)
        elif not isinstance(error, self._place.lost):
            raise RunError(f"A worker failed: {error_message(error)}.")
        elif task.connection is not None:
            _log.warning("A worker was lost: this process continues its runs after the others.")
        else:
            self._lost[task.path] += 1
            if self._lost[task.path] == MAX_LOST:
                spec = task.specs[0]
                raise RunError(
                    f"{MAX_LOST} workers were lost in the run of {spec.scenario.scenario_name} "
                    f"with the seed {spec.seed} and {dict(spec.parameters)}: if it needs too much "
                    "memory, try fewer workers."
                )
            self._waiting.appendleft(task)

    def _pass_on(self, records: Iterable[logging.LogRecord]) -> None:
        """Log what a worker logged, unless another one has said it."""
        for record in records:
            if (message := record.getMessage()) not in self._logged:
                self._logged.add(message)
                logging.getLogger(record.name).handle(record)


def play_tasks(
    free: Sequence[RunSpec],
    paid: Sequence[RunSpec],
    folder: Path,
    place: WorkerPool,
    connection: Connection,
    watch: Callable[[int], None],
) -> None:
    """Play new runs on workers, into recordings of tasks: free runs one by one, others together.

    Each task has an equal share of the budget. A task that reaches it ends early, and the others go
    on. A lost worker is replaced.

    Args:
        connection: how language models are reached, with the caps on all tasks together.
        watch: called with the number of finished runs.

    Raises:
        RunError: when a run fails, or a free one loses its worker repeatedly; the other tasks are
            stopped, and their answers are recorded.
    """
    endpoints = connection.endpoints.values()
    ceilings = [connection.max_concurrency, *(server.max_concurrency for server in endpoints)]
    n = min([place.n, *filter(None, ceilings)]) if paid else place.n
    size = min(ceil(len(paid) / n), TOGETHER)
    parts = [paid[first : first + size] for first in range(0, len(paid), size or 1)]
    shares = [_part_of(connection, min(n, len(parts)), len(parts)) for _ in parts]
    tasks = [
        *(Task(new_path(folder), [spec]) for spec in free),
        *(Task(new_path(folder), *runs) for runs in zip(parts, shares, strict=True)),
    ]
    work_ = _Work(tasks, replace(place, n=n))
    try:
        while work_.go_on():
            watch(work_.finished)
    finally:
        work_.stop()
    watch(work_.finished)


def _part_of(connection: Connection, workers: int, tasks: int) -> Connection:
    """The connection of a task, with its part of the simultaneous requests and of the budget."""
    endpoints = {
        name: replace(server, max_concurrency=server.max_concurrency // workers)
        if server.max_concurrency
        else server
        for name, server in connection.endpoints.items()
    }
    most = (connection.max_concurrency or CEILING) // workers
    budget = connection.budget or Budget()
    caps: dict[str, Any] = {}
    for cap, count in _SPENT.items():
        if (limit := getattr(budget, cap)) is not None:
            part = max(0, limit - getattr(budget.spent, count)) / tasks
            caps[cap] = part if cap == "max_usd" else floor(part)
    return replace(
        connection, endpoints=endpoints, max_concurrency=max(1, most), budget=Budget(**caps)
    )


# Ray.


def load_ray(address: str | None = None) -> Any:
    """Ray, to connect to the cluster at an address or to start one.

    Raises:
        ParameterError: when it is not installed.
    """
    if address is not None:
        # Where something else listens Ray tries 20 times for 40 s each; it reads this once.
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")
    try:
        return import_module("ray")
    except ImportError:
        raise ParameterError(
            "Ray is not installed: pip install 'sabm-mesa[ray]', or sweep on processes."
        ) from None


@contextmanager
def on_ray(workers: int | None, address: str | None) -> Iterator[WorkerPool]:
    """The cores of Ray.

    Args:
        workers: the number of processes of a Ray that is started here; None: one per core.
        address: the cluster (``HOST:PORT``, ``ray://HOST:PORT`` or ``auto``); None for the Ray
            connection of this process, or else one that is started here for the block.

    Raises:
        ParameterError: when Ray is not installed, or there is no cluster at the address.
    """
    ray = load_ray(address)
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, workers, address)
    sent = []
    remote = ray.remote(num_cpus=1, max_retries=0)(work)

    class Worker(Executor):
        """Sends tasks to Ray, which finds a free core."""

        def submit(self, _: Any, /, *given: Any, **_options: Any) -> Future[Any]:
            sent.append(remote.remote(*given))
            future: Future[Any] = sent[-1].future()
            return future

    def stop() -> None:
        for task in sent:
            ray.cancel(task)  # raises KeyboardInterrupt in the worker

    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    crashed = ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError
    try:
        yield WorkerPool(cores, Worker, stop, crashed)
    finally:
        if ours:
            ray.shutdown()


def _connect(ray: Any, workers: int | None, address: str | None) -> None:
    """Connect to the cluster at an address, or start a Ray here."""
    options: dict[str, Any] = {"address": address}
    if address is None:
        # The usage report of Ray would be the only data to leave this machine.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options = {"address": "local", "num_cpus": workers or os.cpu_count()}
        options["include_dashboard"] = False
    elif ":" in address.rpartition("//")[2]:
        check_listener(address.rpartition("//")[2], "Ray cluster")
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**options, logging_level="ERROR", log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        where = "start Ray here" if address is None else f"reach the Ray cluster {address!r}"
        raise ParameterError(f"Cannot {where}: {error_message(error)}") from None
    finally:
        if main:
            signal.signal(signal.SIGTERM, handler)  # Ray sets its own
