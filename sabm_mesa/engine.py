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
from concurrent.futures import Future
from typing import Any, TypeVar

from sabm_mesa.errors import RunError

T = TypeVar("T")


class _Engine:
    """A started event loop; made anew in a forked process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.running: set[Future[Any]] = set()
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
    nothing goes on behind the caller's back.

    Raises:
        RunError: when called from the loop itself, or when the work was stopped by `stop_all`.
    """
    engine = _engine()
    if threading.current_thread() is engine.thread:
        work.close()
        raise RunError("A model cannot be stepped from inside another model's round.")
    future = asyncio.run_coroutine_threadsafe(_finish(work), engine.loop)
    engine.running.add(future)
    try:
        return future.result()
    except asyncio.CancelledError:
        raise RunError("The run was stopped.") from None
    except KeyboardInterrupt:
        _cancel(future)
        raise
    finally:
        engine.running.discard(future)


def stop_all() -> None:
    """Cancel all work on the engine's loop: every waiting `run` then raises `RunError`."""
    for future in list(_engine().running):
        future.cancel()


async def _finish(work: Coroutine[Any, Any, T]) -> T:
    return await work


def _cancel(future: Future[Any]) -> None:
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    future.cancel()
    done.wait(timeout=5)
