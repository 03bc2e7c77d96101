"""The server on its own thread, with its own event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from aiohttp import web

from .record import Log, Seen
from .service import Service, Settings

HOST = "127.0.0.1"
_BACKLOG = 4096
_TURNS = 20
_JOIN_TIMEOUT = 30.0


class LLMServer:
    """A chat-completions server on the loopback interface, run by a context manager.

    It is ready when entered, and its thread and connections are gone when left. Stopped, it can
    be started again: on the same port, with its brain, plan and record going on.

    Args:
        brain: `(messages, body)` → text, Reply or Fault (or a list with one for each of `n`
            choices); may be `async`; runs in the server's loop, so it must not block. Default:
            the `stub` brain. Its exceptions go to `errors`, and to the client as a 500.
        latency: Seconds from a request to its answer, or a function `(number, body)` → seconds.
        jitter: Added to the latency: uniform on 0..jitter seconds.
        faults: A plan: a list by request number (from 0), a mapping number → fault, or a callable
            `(number, body)` → fault. A fault is a Fault, its kind, or None.
        max_concurrency: Requests in flight above which it answers 429.
        retry_after: Seconds for the Retry-After header of those 429s, or None for no header.
        api_key: Required as a bearer token; otherwise 401. None: any request is welcome.
        models: Requested name → served name; default `{"stub": "stub-2026"}`. A name that is not
            in it is served under itself, or with `strict_models` answered with 404.
        strict_models: Whether only the names in `models` exist.
        cache: Whether to report the longest prefix shared with an earlier prompt as cached.
        cached_as: The form in which cached tokens are reported: a key of `wire.CACHED`.
        thoughts_as: The form in which thought tokens are reported: a key of `wire.THOUGHTS`.
        more: More fields of an answer's body, such as `system_fingerprint`.
        record: Whether to keep the requests; turn it off for benchmarks.
        seed: Of the jitter.
        held: Whether answers wait for `release()` from the start.
        dialect: The parts of a request that the model refuses; see `dialects`.
        refuses: A gateway before the model: the body → (status, body) or (status, body, headers)
            of its response, or None.
        port: 0 takes a free one, and keeps it over a restart.
    """

    def __init__(self, *, port: int = 0, record: bool = True, **settings: Any) -> None:
        self.port = port
        self._log = Log(record)
        self._service = Service(Settings(**settings), self._log)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._failure: BaseException | None = None

    @property
    def url(self) -> str:
        """The base URL for a client, ending in `/v1`."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def stats_url(self) -> str:
        """The address of the counters as JSON."""
        return f"http://{HOST}:{self.port}/_stats"

    @property
    def requests(self) -> list[Seen]:
        """The chat requests in order of arrival; empty with `record=False`."""
        return self._log.requests

    @property
    def errors(self) -> list[BaseException]:
        """Exceptions of the brain or the plan."""
        return self._log.errors

    @property
    def in_flight(self) -> int:
        """Admitted requests without an answer yet."""
        return self._log.in_flight

    @property
    def max_in_flight(self) -> int:
        """The most that have been in flight at once; a cap's 429s are not counted."""
        return self._log.max_in_flight

    @property
    def stats(self) -> dict[str, int]:
        """The counters: requests, tokens, answers by status, faults by kind."""
        return self._log.stats()

    def wait_until(self, condition: Callable[[LLMServer], bool], timeout: float = 120.0) -> None:
        """Block until a condition on the server holds; checked at each arrival and answer.

        From a coroutine use `await asyncio.to_thread(server.wait_until, …)`.

        Raises:
            TimeoutError: It does not hold in time.
        """
        self._log.wait_until(lambda: condition(self), timeout)

    def hold(self) -> None:
        """Let admitted requests wait, in flight, until `release()`."""
        self._service.hold()

    def answer_held(self) -> None:
        """Answer what waits, and let later requests wait."""
        self._on_loop(self._service.answer_held)

    def release(self) -> None:
        """Answer what was held, and hold no more."""
        self._on_loop(self._service.release)

    def _on_loop(self, change: Callable[[], None]) -> None:
        if self._loop is None or threading.current_thread() is self._thread:
            change()
            return
        changed = threading.Event()

        def now() -> None:
            change()
            changed.set()

        # Waited for, so that a hold() after it cannot overtake it.
        self._loop.call_soon_threadsafe(now)
        changed.wait()

    def start(self) -> LLMServer:
        """Listen; returns when the server is ready.

        Raises:
            RuntimeError: It is running already.
            OSError: The port is taken.
        """
        if self._thread is not None:
            raise RuntimeError("the server is running already")
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="llm-server")
        self._thread.daemon = True
        self._thread.start()
        ready.wait()
        if self._loop is None:
            self._thread.join()
            self._thread = None
            self._raise_failure()
        return self

    def stop(self) -> None:
        """Break all connections, as a server that dies does, and end the thread."""
        if self._thread is None:
            return
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.close)
        self._thread.join(_JOIN_TIMEOUT)
        if self._thread.is_alive():
            raise RuntimeError("the server does not stop: does its brain block?")
        self._thread = None
        self._raise_failure()

    def __enter__(self) -> LLMServer:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _run(self, ready: threading.Event) -> None:
        try:
            asyncio.run(self.serve(ready.set))
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            self._failure = error
        finally:
            ready.set()

    async def serve(self, ready: Callable[[], object]) -> None:
        """Serve in the running loop until stopped; `start()` does this on a thread.

        Args:
            ready: Called when the server listens and `url` is known.
        """
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._service.open()
        runner = web.AppRunner(
            self._service.app(),
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=1.0,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, self.port, backlog=_BACKLOG)
            await site.start()
            self.port = runner.addresses[0][1]
            ready()
            await self._stopping.wait()
            await site.stop()
        finally:
            await _disconnect(runner)
            await runner.cleanup()
            self._loop = self._stopping = None

    def close(self) -> None:
        """Ask `serve()` to return; for use in its own loop, as by a signal handler."""
        if self._stopping is not None:
            self._stopping.set()


async def _disconnect(runner: web.AppRunner) -> None:
    """Break the open connections, which cancels their handlers; cleanup would wait for them."""
    if runner.server is None:
        return
    # A connection that was accepted last is known a few turns of the loop later.
    for _ in range(_TURNS):
        for connection in list(runner.server.connections):
            if connection.transport is not None:
                connection.transport.abort()
        # The loop runs what abort() scheduled before it comes back here.
        await asyncio.sleep(0)
