"""The one event loop of the process, on a thread of its own.

`model.step()` is a plain function that works in scripts, in `mesa.batch_run`, in notebooks and
inside a running event loop alike: the round runs as a coroutine on this loop while the caller
waits. One loop for all models means that they share connections and limits.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar

from sabm_mesa.errors import RunError

T = TypeVar("T")

WIND_UP_S = 15.0
"""Seconds that interrupted work may take to wind up: longer than the grace for a sent request."""


class _Job(Generic[T]):
    """A coroutine on the engine's loop; its outcome is there once it has wound up."""

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self.outcome: Future[T] = Future()
        self._work, self._loop = work, loop
        loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        """Cancel the work, from any thread."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._work)
        self._task.add_done_callback(self._ended)

    def _cancel(self) -> None:
        self._task.cancel()

    def _ended(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.set_exception(RunError("The run was stopped."))
        elif (error := task.exception()) is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


class _Engine:
    """A started event loop; made anew in a forked process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.jobs: set[_Job[Any]] = set()
        self.thread = threading.Thread(
            target=self.loop.run_forever, name="sabm-engine", daemon=True
        )
        self.thread.start()


_lock = threading.Lock()
_current: _Engine | None = None


def _engine() -> _Engine:
    global _current  # noqa: PLW0603 - the loop is the process's one resource, like asyncio's own
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = _Engine()
        return _current


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the engine's loop and wait for its result.

    An interrupt of the waiting thread cancels the work and waits until it has wound up, so that
    nothing goes on behind the caller's back; so does `stop_all`.

    Raises:
        RunError: when called from the loop itself, or when the work was stopped by `stop_all`.
    """
    engine = _engine()
    if threading.current_thread() is engine.thread:
        work.close()
        raise RunError("A model cannot be stepped from inside another model's round.")
    job = _Job(work, engine.loop)
    engine.jobs.add(job)
    try:
        return job.outcome.result()
    except KeyboardInterrupt:
        job.cancel()
        wait([job.outcome], timeout=WIND_UP_S)
        raise
    finally:
        engine.jobs.discard(job)


def stop_all() -> None:
    """Cancel all work on the engine's loop: every waiting `run` then raises `RunError`."""
    for job in list(_engine().jobs):
        job.cancel()
