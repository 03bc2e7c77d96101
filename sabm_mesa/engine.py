"""The one event loop of the process, on a thread of its own.

`model.step()` is a plain function that works in scripts, in `mesa.batch_run`, in notebooks and
inside a running event loop alike: the round runs as a coroutine on this loop while the caller
waits. One loop for all models means that they share connections and limits.
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from sabm_mesa.errors import RunError

T = TypeVar("T")

WIND_UP_S = 15.0
"""Seconds that interrupted work may take to wind up: longer than the grace for a sent request."""

LOOK_S = 1.0
"""Seconds after which a thread that waits looks for an interrupt that came just before it did."""
CROWD = 10_000
"""Agents from which on Python looks for garbage more rarely."""
_OBJECTS = 10
"""Objects an agent has while it waits for an answer, roughly."""


class _Job(Generic[T]):
    """A coroutine on the engine's loop; its outcome is there once it has wound up."""

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self.outcome: Future[T] = Future()
        self._work, self._loop = work, loop
        self._task: asyncio.Task[T] | None = None
        self._cancelled = False

    def start(self) -> None:
        """Start the work, from any thread; a second time changes nothing."""
        self._loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        """Cancel the work, from any thread, also before it was started."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _start(self) -> None:
        if self._task is None:
            self._task = self._loop.create_task(self._work)
            self._task.add_done_callback(self._ended)
            _under_way.add(self)
            if self._cancelled:
                self._task.cancel()

    def _cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[T]) -> None:
        _under_way.discard(self)
        if task.cancelled():
            self.outcome.set_exception(RunError("The run was stopped."))
        elif (error := task.exception()) is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


_under_way: set[_Job[Any]] = set()
"""Jobs that have not ended: the loop alone does not keep a task from being thrown away."""


class Scope:
    """Work that can be stopped together, such as all that a model does.

    Attributes:
        stopped: whether it was stopped: then nothing new begins in it.
    """

    def __init__(self) -> None:
        self.stopped = False
        self._jobs: set[_Job[Any]] = set()
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Cancel the work, from any thread: every waiting `run` raises `RunError` at its end."""
        with self._lock:
            self.stopped = True
            for job in self._jobs:
                job.cancel()

    def enter(self, job: _Job[Any]) -> None:
        """Take a job in; when the scope was stopped, the job is cancelled at once."""
        with self._lock:
            self._jobs.add(job)
            if self.stopped:
                job.cancel()

    def leave(self, job: _Job[Any]) -> None:
        """Let a job go."""
        with self._lock:
            self._jobs.discard(job)

    def __reduce__(self) -> tuple[type[Scope], tuple[()]]:
        """Cross process borders as a new scope: jobs stay where they run."""
        return Scope, ()


class _Engine:
    """A started event loop; made anew in a forked process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._go_round, name="sabm-engine", daemon=True)
        self.thread.start()

    def _go_round(self) -> None:
        """Run the loop, also after an exit in the work: it is for who waits for that work."""
        while True:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                continue
            return


_lock = threading.Lock()
_current: _Engine | None = None
_crowds: list[int] = []
_thresholds = gc.get_threshold()


@contextmanager
def crowd(n: int) -> Iterator[None]:
    """Have Python look for garbage the more rarely in the block, the more agents are at work.

    It looks whenever 700 objects have been added, and through all there are when these have
    become a quarter more: with a crowd that waits, it would do little else.

    Args:
        n: the number of agents.
    """
    global _thresholds  # noqa: PLW0603 - what it was, for when nobody is at work any more
    if n < CROWD or not gc.get_threshold()[0]:
        yield
        return
    with _lock:
        if not _crowds:
            _thresholds = gc.get_threshold()
        _crowds.append(n)
        gc.set_threshold(max(_thresholds[0], _OBJECTS * max(_crowds)), *_thresholds[1:])
    try:
        yield
    finally:
        with _lock:
            _crowds.remove(n)
            first = _OBJECTS * max(_crowds, default=0)
            gc.set_threshold(max(_thresholds[0], first), *_thresholds[1:])


def _engine() -> _Engine:
    global _current  # noqa: PLW0603 - the loop is the process's one resource, like asyncio's own
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = _Engine()
        return _current


def _wait_for(outcome: Future[Any], most_s: float = math.inf) -> None:
    """Wait in short spans: Python does not see an interrupt between its last look and the wait."""
    until = time.monotonic() + most_s
    while not outcome.done() and (left_s := until - time.monotonic()) > 0:
        wait([outcome], timeout=min(LOOK_S, left_s))


def run(work: Coroutine[Any, Any, T], scope: Scope | None = None) -> T:
    """Run a coroutine on the engine's loop and wait for its result.

    An interrupt of the waiting thread cancels the work and waits until it has wound up, so that
    nothing goes on behind the caller's back; so does `Scope.stop`.

    Args:
        work: the coroutine.
        scope: what it can be stopped with.

    Raises:
        RunError: when called from the loop itself, or when the work was stopped.
    """
    engine = _engine()
    if threading.current_thread() is engine.thread:
        work.close()
        raise RunError("A model cannot be stepped from inside another model's round.")
    scope = scope or Scope()
    if scope.stopped:
        work.close()
        raise RunError("The run was stopped.")
    job = _Job(work, engine.loop)
    try:
        scope.enter(job)
        job.start()
        _wait_for(job.outcome)
        return job.outcome.result()
    except KeyboardInterrupt:
        job.start()  # the interrupt may have come before it
        job.cancel()
        _wait_for(job.outcome, WIND_UP_S)
        raise
    finally:
        scope.leave(job)
