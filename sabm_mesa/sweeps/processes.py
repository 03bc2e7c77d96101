"""Playing the runs of a sweep in several processes of this machine."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

from sabm_mesa.errors import ParameterError, RunError, SabmError
from sabm_mesa.sweeps.playing import LOSSES, Played, Runs, Task, play

# A fresh interpreter: a fork takes no threads along, and what multiprocessing spawns runs a script
# that sweeps again. Ctrl-C reaches all processes, and is for this one, which ends the others.
_WORKER = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path[:] = {path!r}
from sabm_mesa.sweeps.processes import serve
serve({scratch!r})
"""


def check_sendable(tasks: Sequence[Task]) -> None:
    """Check that runs can be sent to other processes.

    Args:
        tasks: the runs.

    Raises:
        ParameterError: for a class or a parameter that only this process knows.
    """
    try:
        pickle.dumps(tasks)
        unknown = "" if tasks[0].model.__module__ != "__main__" else "it is part of the script"
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        unknown = str(error)
    if unknown:
        raise ParameterError(
            f"{tasks[0].model.__name__} cannot be sent to other processes ({unknown}): define the "
            "scenario in a module, or play its runs here."
        )


def on_processes(tasks: Sequence[Task], scratch: Path, workers: int) -> Runs:
    """Play runs in processes of this machine; see `Engine`.

    A process that is lost is replaced, and its run is played again.

    Args:
        tasks: the runs.
        scratch: a folder for what is not finished.
        workers: the number of processes.

    Raises:
        ParameterError: when the runs cannot be sent to other processes.
        RunError: when a run fails, or loses its process again and again.
    """
    check_sendable(tasks)
    waiting = list(reversed(range(len(tasks))))
    ready: list[tuple[int, Played]] = []
    lost: Counter[int] = Counter()
    busy: dict[Future[Played | None], tuple[_Worker, int]] = {}
    idle = [_Worker(scratch) for _ in range(min(workers, len(tasks)))]
    pool = ThreadPoolExecutor(len(idle), thread_name_prefix="sabm-sweep")
    try:
        while waiting or busy or ready:
            while waiting and idle:
                worker, place = idle.pop(), waiting.pop()
                busy[pool.submit(worker.play, tasks[place])] = worker, place
            yield from ready  # only now, when all have something to do
            ready.clear()
            for done in wait(busy, return_when=FIRST_COMPLETED).done:
                worker, place = busy[done]
                played = done.result()
                del busy[done]
                idle.append(worker if played is not None else _Worker(scratch))
                if played is not None:
                    ready.append((place, played))
                    continue
                worker.end()
                waiting.append(place)
                lost[place] += 1
                if lost[place] == LOSSES:
                    raise lost_too_often(tasks[place])
    finally:
        left = [*idle, *(worker for worker, _ in busy.values())]
        for worker in left:
            worker.kill()
        pool.shutdown()  # whoever awaited one of them has seen it end
        for worker in left:
            worker.end()


def lost_too_often(task: Task) -> RunError:
    """The error for a run that no worker survives.

    Args:
        task: the run.
    """
    return RunError(
        f"{LOSSES} workers were lost over the run of {task.model.scenario_name} with the seed "
        f"{task.seed} and {dict(task.parameters)}: if it needs more memory than there is, try "
        "fewer workers."
    )


class _Worker:
    """A process that plays one run after another.

    Args:
        scratch: a folder for what is not finished.
    """

    def __init__(self, scratch: Path) -> None:
        code = _WORKER.format(path=sys.path, scratch=str(scratch))
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe)

    def play(self, task: Task) -> Played | None:
        """Have it play a run; None when the process is lost.

        Raises:
            RunError: when the run fails.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(task, self._process.stdin)
            self._process.stdin.flush()
            done: Any = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        if isinstance(done, SabmError):
            raise done
        played: Played = done
        return played

    def kill(self) -> None:
        """End the process at once: nothing that it holds is needed."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and close what leads to it."""
        self.kill()
        with suppress(OSError):  # what it has not read is lost with it
            self._process.communicate()


def serve(scratch: str) -> None:
    """Play the runs that come in on standard input, and send them back: what a worker runs.

    Args:
        scratch: a folder for what is not finished.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a scenario prints is no answer
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            task = pickle.load(sys.stdin.buffer)
            done: Played | SabmError
            try:
                done = play(task, Path(scratch))
            except SabmError as error:
                done = error
            pickle.dump(done, answers)
            answers.flush()
