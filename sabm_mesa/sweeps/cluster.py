"""Playing the runs of a sweep on Ray: on this machine, or on a cluster."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from sabm_mesa.errors import ParameterError, RunError, SabmError, problem_of
from sabm_mesa.llm.address import check_listener
from sabm_mesa.sweeps.playing import LOSSES, Played, Runs, Task, play
from sabm_mesa.sweeps.processes import check_sendable, lost_too_often


def library(address: str | None = None) -> Any:
    """Ray.

    Args:
        address: the cluster that is to be reached, or None.

    Raises:
        ParameterError: when it is not installed.
    """
    if address is not None:
        # Ray knocks 20 times, 40 s each, where something else answers; it reads this once.
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")
    try:
        return import_module("ray")
    except ImportError:
        raise ParameterError(
            "Ray is not installed: pip install 'sabm-mesa[ray]', or sweep on processes."
        ) from None


def on_ray(tasks: Sequence[Task], scratch: Path, workers: int | None, address: str | None) -> Runs:
    """Play runs on Ray; see `Engine`.

    Ray plays a run again when its worker or machine is lost. A run that is finished is sent here
    at once, so no machine is needed for what it has done before. When a sweep on a Ray that it did
    not connect to itself is stopped, up to two runs a core go on there, and nobody hears of them.

    Args:
        tasks: the runs.
        scratch: a folder for what is not finished; a worker of another machine, or of a Ray that
            is not started here, uses the folder for temporary files of its machine.
        workers: the processes of a Ray that is started here; as many as there are cores when None.
        address: the cluster (``HOST:PORT``, ``ray://HOST:PORT`` or ``auto``); None for the Ray
            that this process is connected to, or else one that is started here for the sweep.

    Raises:
        ParameterError: when Ray is not installed, there is no cluster at the address, or the runs
            cannot be sent.
        RunError: when a run fails, or loses its worker again and again.
    """
    ray = library()
    check_sendable(tasks)
    own = None if address or ray.is_initialized() else scratch.resolve()
    with _connected(ray, workers, address):
        # Ray calls every try after the first one a retry.
        remote = ray.remote(num_cpus=1, max_retries=LOSSES - 1)(play)
        # Not all are sent at once: what is sent is not called back when the sweep stops, since a
        # forced cancellation that meets the end of its task makes Ray end this process.
        room = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        ahead, waiting = deque(range(len(tasks))), dict[Any, int]()
        while ahead or waiting:
            while ahead and len(waiting) < room:
                place = ahead.popleft()
                waiting[remote.remote(tasks[place], own)] = place
            for done in ray.wait(list(waiting))[0]:
                place = waiting.pop(done)
                yield place, _result(ray, done, tasks[place])


def _result(ray: Any, done: Any, task: Task) -> Played:
    try:
        played: Played = ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, SabmError):
            raise error.cause from None
        raise RunError(f"A worker of Ray failed: {problem_of(error.cause)}.") from None
    except ray.exceptions.WorkerCrashedError:
        raise lost_too_often(task) from None
    except ray.exceptions.RayError as error:
        raise RunError(f"Ray failed: {problem_of(error)}") from None
    return played


@contextmanager
def _connected(ray: Any, workers: int | None, address: str | None) -> Iterator[None]:
    """Connected to Ray, and to one that is started here for as long as the block lasts."""
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"address": address}
    if address is None:
        # What Ray reports of its use by itself would be the only thing that leaves this machine.
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
        raise ParameterError(f"Cannot {where}: {problem_of(error)}") from None
    finally:
        if main:
            signal.signal(signal.SIGTERM, handler)  # Ray sets its own
    try:
        yield
    finally:
        ray.shutdown()
