"""The places where a sweep is played: this process, others of this machine, or Ray.

Free runs: an executor plays every run into a separate recording, and returns the files as they are
finished. Runs with language models: workers play them with a shared limit, budget and recording
(see `sabm_mesa.runs.workers`). This module carries their messages.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from sabm_mesa.errors import ParameterError, RunError, SabmError, error_message
from sabm_mesa.llm.endpoints import check_listener
from sabm_mesa.recording import Recording
from sabm_mesa.runs.planned import RunSpec
from sabm_mesa.runs.run import run_models
from sabm_mesa.runs.workers import Carrier, Worker, WorkerMessage

MAX_LOST_WORKERS = 3
"""The maximum number of workers lost in one run: then the run itself may crash them."""
# A fresh interpreter: a fork takes no threads along, and what multiprocessing spawns imports the
# script that sweeps, which then sweeps again. Ctrl-C reaches all processes, and is for this one,
# which ends the others.
_WORKER = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path[:] = {path!r}
from sabm_mesa.runs.executors import {serve}
{serve}({given})
"""
_log = logging.getLogger(__name__)

Played = Generator[tuple[int, bytes], None, None]
"""The index of a run among the plans, and the file of its recording, in the order in which they
finish."""


class Executor(Protocol):
    """Executor of the runs of a sweep."""

    def __call__(self, specs: Sequence[RunSpec], scratch: Path) -> Played:
        """Play runs; a run that is lost with its worker is played again.

        Args:
            specs: the runs.
            scratch: a folder on this machine for unfinished recordings.

        Returns:
            The runs, as they finish; closing the iterator ends the workers.

        Raises:
            RunError: when a run fails, or loses its worker repeatedly.
        """


def play(spec: RunSpec, scratch: Path | None = None) -> bytes:
    """Play one run.

    Args:
        spec: the run.
        scratch: the folder for its recording; the system's temporary folder when None.

    Returns:
        The file of its recording.

    Raises:
        RunError: when it fails.
    """
    with TemporaryDirectory(dir=scratch, prefix="run-") as folder:
        path = Path(folder, "recording.sqlite")
        # A run that is cut off is not used at all, so there is no need to wait for the disk.
        with Recording(path, durable=False) as opened:
            run_models([spec.build(opened)])
        return path.read_bytes()


def play_here(specs: Sequence[RunSpec], scratch: Path) -> Played:
    """Play runs one after another in this process; see `Executor`."""
    for index, spec in enumerate(specs):
        yield index, play(spec, scratch)


def check_sendable(specs: Sequence[RunSpec]) -> None:
    """Check that runs can be sent to other processes.

    Args:
        specs: the runs.

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


def on_processes(specs: Sequence[RunSpec], scratch: Path, workers: int) -> Played:
    """Play runs in processes of this machine; see `Executor`.

    A process that is lost is replaced, and its run is played again.

    Args:
        specs: the runs.
        scratch: a folder for unfinished recordings.
        workers: the number of processes.

    Raises:
        ParameterError: when the runs cannot be sent to other processes.
        RunError: when a run fails, or loses its process repeatedly.
    """
    check_sendable(specs)
    waiting = list(reversed(range(len(specs))))
    ready: list[tuple[int, bytes]] = []
    lost: Counter[int] = Counter()
    busy: dict[Future[bytes | None], tuple[_RunProcess, int]] = {}
    idle = [_RunProcess(scratch) for _ in range(min(workers, len(specs)))]
    pool = ThreadPoolExecutor(len(idle), thread_name_prefix="sabm-sweep")
    try:
        while waiting or busy or ready:
            while waiting and idle:
                worker, index = idle.pop(), waiting.pop()
                busy[pool.submit(worker.play, specs[index])] = worker, index
            yield from ready  # only now, when all workers are busy
            ready.clear()
            for done in wait(busy, return_when=FIRST_COMPLETED).done:
                worker, index = busy[done]
                played = done.result()
                del busy[done]
                idle.append(worker if played is not None else _RunProcess(scratch))
                if played is not None:
                    ready.append((index, played))
                    continue
                worker.end()
                waiting.append(index)
                lost[index] += 1
                if lost[index] == MAX_LOST_WORKERS:
                    raise lost_too_often(specs[index])
    finally:
        left = [*idle, *(worker for worker, _ in busy.values())]
        for worker in left:
            worker.kill()
        pool.shutdown()  # the threads that wait for a worker see it end
        for worker in left:
            worker.end()


def lost_too_often(spec: RunSpec) -> RunError:
    """The error for a run that no worker survives.

    Args:
        spec: the run.
    """
    which = f"{spec.scenario.scenario_name} with the seed {spec.seed} and {dict(spec.parameters)}"
    return RunError(
        f"{MAX_LOST_WORKERS} workers were lost in the run of {which}: if it needs too much memory, "
        "try fewer workers."
    )


class _Process:
    """A process of this machine that plays runs and exchanges messages; see `Carrier`.

    Args:
        serve: the function of this module to run.
        given: the arguments of the call, as code.
    """

    def __init__(self, serve: str, given: str = "") -> None:
        code = _WORKER.format(path=sys.path, serve=serve, given=given)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe)

    def write(self, sent: Any) -> None:
        """Send it a message; nothing happens when it is lost."""
        assert self._process.stdin is not None
        with suppress(OSError):
            pickle.dump(sent, self._process.stdin)
            self._process.stdin.flush()

    def read(self) -> Any:
        """Wait for its message; None when it is lost."""
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return None

    def kill(self) -> None:
        """End the process at once: it has nothing that is needed."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and close its pipes."""
        self.kill()
        with suppress(OSError):  # it may not have read all of its input
            self._process.communicate()


class _RunProcess(_Process):
    """A process that plays one run after another.

    Args:
        scratch: a folder for unfinished recordings.
    """

    def __init__(self, scratch: Path) -> None:
        super().__init__("serve", repr(str(scratch)))

    def play(self, spec: RunSpec) -> bytes | None:
        """Let it play a run; None when the process is lost.

        Raises:
            RunError: when the run fails.
        """
        self.write(spec)
        done: bytes | SabmError | None = self.read()
        if isinstance(done, SabmError):
            raise done
        return done


def serve(scratch: str) -> None:
    """Play the runs from standard input, and send them back: the main function of a worker.

    Args:
        scratch: a folder for unfinished recordings.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a scenario prints must not mix with the answers
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            spec = pickle.load(sys.stdin.buffer)
            done: bytes | SabmError
            try:
                done = play(spec, Path(scratch))
            except SabmError as error:
                done = error
            pickle.dump(done, answers)
            answers.flush()


@contextmanager
def worker_processes(n: int, workers: int) -> Iterator[Sequence[Carrier]]:
    """Start processes of this machine as workers; see `OpenWorkers`.

    Args:
        n: their maximum number.
        workers: the number of processes.
    """
    started = [_Process("serve_messages") for _ in range(min(n, workers))]
    try:
        yield started
    finally:
        for carrier in started:
            carrier.end()


def serve_messages() -> None:
    """Carry messages between a worker and standard input and output: its main function."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a scenario prints must not mix with the messages
    worker = Worker()

    def carry() -> None:
        try:
            while True:
                pickle.dump(worker.collect(), answers)
                answers.flush()
        except OSError:  # the parent is gone
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a worker that cannot say anything is lost
            traceback.print_exc()
            os._exit(1)

    threading.Thread(target=carry, daemon=True).start()
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            worker.deliver(pickle.load(sys.stdin.buffer))
    os._exit(0)  # nothing can be recorded any more


def load_ray(address: str | None = None) -> Any:
    """Ray.

    Args:
        address: the cluster to connect to, or None.

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


def on_ray(
    specs: Sequence[RunSpec], scratch: Path, workers: int | None, address: str | None
) -> Played:
    """Play runs on Ray; see `Executor`.

    Ray plays a run again when its worker or machine is lost. A finished run is sent here at once,
    so the loss of a machine does not lose it. When a sweep on an existing Ray connection is
    stopped, up to two runs per core continue there, and their results are lost.

    Args:
        specs: the runs.
        scratch: a folder for unfinished recordings; a worker on another machine, or of a Ray that
            is not started here, uses the temporary folder of its machine.
        workers: the number of processes of a Ray that is started here; None: one per core.
        address: the cluster (``HOST:PORT``, ``ray://HOST:PORT`` or ``auto``); None for the Ray
            connection of this process, or else one that is started here for the sweep.

    Raises:
        ParameterError: when Ray is not installed, there is no cluster at the address, or the runs
            cannot be sent.
        RunError: when a run fails, or loses its worker repeatedly.
    """
    ray = load_ray()
    check_sendable(specs)
    scratch_folder = None if address or ray.is_initialized() else scratch.resolve()
    with _connected(ray, workers, address):
        # Ray calls every try after the first one a retry.
        remote = ray.remote(num_cpus=1, max_retries=MAX_LOST_WORKERS - 1)(play)
        # Not all are sent at once: a sent run is not called back when the sweep stops, since a
        # forced cancellation that meets the end of its task makes Ray end this process.
        room = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        ahead, waiting = deque(range(len(specs))), dict[Any, int]()
        while ahead or waiting:
            while ahead and len(waiting) < room:
                index = ahead.popleft()
                waiting[remote.remote(specs[index], scratch_folder)] = index
            for done in ray.wait(list(waiting))[0]:
                index = waiting.pop(done)
                yield index, _result(ray, done, specs[index])


class _WorkerActor:
    """Carries messages to a worker that is an actor of Ray; see `Carrier`."""

    def __init__(self, ray: Any) -> None:
        self._ray, self._killed = ray, False
        self._actor = ray.remote(num_cpus=1, max_concurrency=2)(Worker).remote()

    def write(self, messages: Sequence[WorkerMessage]) -> None:
        """Send messages to the worker; nothing happens when it is lost."""
        self._call(self._actor.deliver, messages)

    def read(self) -> Sequence[WorkerMessage] | None:
        """Wait for messages of the worker; None when it is lost."""
        messages: Sequence[WorkerMessage] | None = self._call(self._actor.collect)
        return messages

    def kill(self) -> None:
        """End the worker at once."""
        self._killed = True
        self._ray.kill(self._actor)

    def _call(self, method: Any, *given: Any) -> Any:
        try:
            return self._ray.get(method.remote(*given))
        except self._ray.exceptions.RayError as error:
            if not self._killed:
                if isinstance(error, self._ray.exceptions.RayTaskError):
                    _log.warning("A worker of Ray failed: %s.", error_message(error.cause))
                self.kill()
            return None


@contextmanager
def worker_actors(n: int, workers: int | None, address: str | None) -> Iterator[Sequence[Carrier]]:
    """Start one actor of Ray per core as workers; see `OpenWorkers`.

    Args:
        n: their maximum number.
        workers: as of `on_ray`.
        address: as of `on_ray`.

    Raises:
        ParameterError: when Ray is not installed, or there is no cluster at the address.
    """
    ray = load_ray()
    with _connected(ray, workers, address):
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        started = [_WorkerActor(ray) for _ in range(min(n, cores))]
        try:
            yield started
        finally:
            for carrier in started:
                carrier.kill()


def _result(ray: Any, done: Any, spec: RunSpec) -> bytes:
    try:
        played: bytes = ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, SabmError):
            raise error.cause from None
        raise RunError(f"A worker of Ray failed: {error_message(error.cause)}.") from None
    except ray.exceptions.WorkerCrashedError:
        raise lost_too_often(spec) from None
    except ray.exceptions.RayError as error:
        raise RunError(f"Ray failed: {error_message(error)}") from None
    return played


@contextmanager
def _connected(ray: Any, workers: int | None, address: str | None) -> Iterator[None]:
    """Connect to Ray for the duration of the block, and start one here if needed."""
    if ray.is_initialized():
        yield
        return
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
    try:
        yield
    finally:
        ray.shutdown()
