"""The one event loop of the process, on its own thread.

`model.step()` is a plain function that works in scripts, in `mesa.batch_run`, in notebooks and
inside a running event loop: the round runs as a coroutine on this loop while the caller waits. One
loop for all models means that they share connections and limits.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

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
_THREAD = "sabm-engine"


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


class Scope:
    """Work that can be stopped together, such as all work of a model.

    Attributes:
        stopped: whether it was stopped: then no new work begins.
    """

    def __init__(self) -> None:
        self.stopped = False
        self._tasks: set[asyncio.Task[Any]] = set()

    def stop(self) -> None:
        """Cancel the work, from any thread: every waiting `run` raises `RunError` at its end."""
        self.stopped = True
        if self._tasks:
            _loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def attend(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work in a task that the scope can cancel."""
        task: Any = asyncio.current_task()
        self._tasks.add(task)
        try:
            if self.stopped:
                work.close()
                raise asyncio.CancelledError
            return await work
        finally:
            self._tasks.discard(task)

    def __reduce__(self) -> tuple[type[Scope], tuple[()]]:
        """Pickle as a new scope: tasks stay in their process."""
        return Scope, ()


_lock = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """The running event loop of this process; a forked process starts a new one."""
    with _lock:
        return _started(os.getpid())


@cache
def _started(pid: int) -> asyncio.AbstractEventLoop:
    del pid
    loop = asyncio.new_event_loop()

    def go_round() -> None:
        """Run the loop, also after a SystemExit in a task: the caller of the task gets it."""
        while True:
            with suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()

    threading.Thread(target=go_round, name=_THREAD, daemon=True).start()
    return loop


@contextmanager
def heap_frozen() -> Iterator[None]:
    """Keep garbage collections from visiting what is loaded; that takes a fifth of an ask's CPU.

    Only for a process of our own, since garbage in cycles that exists now stays until the end.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def is_current() -> bool:
    """Whether the caller is on the engine's thread."""
    return threading.current_thread().name == _THREAD


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

    Raises:
        RunError: when called from the loop itself, or when the work was stopped.
    """
    scope = scope or Scope()
    if is_current() or scope.stopped:
        work.close()
        raise RunError(
            "The run was stopped."
            if scope.stopped
            else "A model cannot be stepped from inside another model's round."
        )
    tasks: list[Any] = []

    async def begin() -> T:
        tasks.append(asyncio.current_task())
        return await scope.attend(work)

    async def cancel() -> None:
        for task in tasks:
            task.cancel()
            await asyncio.wait([task])

    loop = _loop()
    is_main = threading.current_thread() is threading.main_thread()
    try:
        future = asyncio.run_coroutine_threadsafe(begin(), loop)
        while not wait([future], LOOK_S if is_main else None).done:
            pass  # Python misses an interrupt that comes just before a wait
        return future.result()
    except CancelledError:
        raise RunError("The run was stopped.") from None
    except KeyboardInterrupt:
        with interrupts_deferred(), suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(cancel(), loop).result(WIND_UP_S)
        raise
