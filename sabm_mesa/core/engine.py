"""The one event loop of the process, on its own thread.

`model.step()` is a plain function that works in scripts, in `mesa.batch_run`, in notebooks and
inside a running event loop: the round runs as a coroutine on this loop while the caller waits. One
loop for all models means that they share connections and limits.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from sabm_mesa.errors import RunError

T = TypeVar("T")

WIND_UP_S = 15.0
"""Seconds that interrupted work may take to finish: longer than the grace for a sent request."""

MOST_FILES = 16_384
"""The requested limit of open files; a connection of the viewer briefly takes four."""
RESERVED_FILES = 24
"""Open files reserved for uses other than connections to servers."""
LOOK_S = 1.0
"""Seconds until the main thread checks for an interrupt that came just before its wait."""


def raise_file_limit() -> None:
    """Raise the limit of open files as far as allowed: each connection needs some."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # which Windows has not

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def files_left() -> int | None:
    """The number of files that the process may open now, without a reserve; None if unknown.

    Recordings, name lookups and late imports need the reserve.
    """
    with suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return max(0, soft - sum(1 for _ in Path("/dev/fd").iterdir()) - RESERVED_FILES)
    return None


class _Job(Generic[T]):
    """A coroutine on the engine's loop; its result is available when it has ended."""

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self._over = threading.Lock()  # held until it has wound up: the cheapest thing to wait for
        self._over.acquire()
        self._work, self._loop = work, loop
        self._task: asyncio.Task[T] | None = None
        self._cancelled = self._ended = False

    def start(self) -> None:
        """Start the work, from any thread; a second call changes nothing."""
        self._loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        """Cancel the work, from any thread, also before it was started."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _start(self) -> None:
        if self._task is None:
            self._task = self._loop.create_task(self._work)
            self._task.add_done_callback(self._end)
            _under_way.add(self)
            if self._cancelled:
                self._task.cancel()

    def _cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()

    def _end(self, task: asyncio.Task[T]) -> None:
        _under_way.discard(self)
        if not task.cancelled():
            task.exception()  # else asyncio warns about an exception that was never retrieved
        self._ended = True
        self._over.release()

    def wait(self, most_s: float = math.inf) -> None:
        """Wait; the main thread, which receives interrupts, waits in short intervals.

        Python misses an interrupt between its last check and the wait. A thousand threads with such
        checks would do little else.

        Args:
            most_s: the longest wait in seconds.
        """
        is_main = threading.current_thread() is threading.main_thread()
        span_s, until = LOOK_S if is_main else threading.TIMEOUT_MAX, time.monotonic() + most_s
        while not self._ended and (left_s := until - time.monotonic()) > 0:
            self._over.acquire(timeout=min(span_s, left_s))

    def result(self) -> T:
        """The result, after the work has ended.

        Raises:
            RunError: when it was stopped; otherwise the exception of the work.
        """
        assert self._task is not None
        if self._task.cancelled():
            raise RunError("The run was stopped.")
        return self._task.result()


_under_way: set[_Job[Any]] = set()
"""Running jobs: the loop has only weak references to tasks."""


class Scope:
    """Work that can be stopped together, such as all work of a model.

    Attributes:
        stopped: whether it was stopped: then no new work begins.
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
        """Add a job; when the scope was stopped, cancel it at once."""
        with self._lock:
            self._jobs.add(job)
            if self.stopped:
                job.cancel()

    def leave(self, job: _Job[Any]) -> None:
        """Remove a job."""
        with self._lock:
            self._jobs.discard(job)

    def __reduce__(self) -> tuple[type[Scope], tuple[()]]:
        """Pickle as a new scope: jobs stay in their process."""
        return Scope, ()


class _Engine:
    """A started event loop; a forked process starts a new one."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._go_round, name="sabm-engine", daemon=True)
        self.thread.start()

    def _go_round(self) -> None:
        """Run the loop, also after a SystemExit in a job: the caller of the job gets it."""
        while True:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                continue
            return


_lock = threading.Lock()
_current: _Engine | None = None


def _engine() -> _Engine:
    global _current  # noqa: PLW0603 - the loop is the process's one resource, like asyncio's own
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = _Engine()
        return _current


def is_current() -> bool:
    """Whether the caller is on the engine's thread."""
    return _current is not None and threading.current_thread() is _current.thread


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Ignore further interrupts (Ctrl-C, SIGTERM) while the block finishes stopped work.

    They would lose paid answers. The first one after `WIND_UP_S` seconds interrupts again.
    """
    if threading.current_thread() is not threading.main_thread():  # it gets no interrupts
        yield
        return
    until = time.monotonic() + WIND_UP_S

    def interrupted(*_: object) -> None:
        if time.monotonic() > until:
            raise KeyboardInterrupt

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    interrupting = [number for number, handler in handlers.items() if callable(handler)]
    for number in interrupting:
        signal.signal(number, interrupted)
    try:
        yield
    finally:
        for number in interrupting:
            signal.signal(number, handlers[number])


def run(work: Coroutine[Any, Any, T], scope: Scope | None = None) -> T:
    """Run a coroutine on the engine's loop and wait for its result.

    An interrupt of the waiting thread cancels the work and waits until it has ended, so nothing
    continues in the background; `Scope.stop` does the same. Further interrupts wait, too.

    Args:
        work: the coroutine.
        scope: the scope that can stop it.

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
        job.wait()
        return job.result()
    except KeyboardInterrupt:
        with interrupts_deferred():
            job.start()  # the interrupt may have come before it
            job.cancel()
            job.wait(WIND_UP_S)
        raise
    finally:
        scope.leave(job)
