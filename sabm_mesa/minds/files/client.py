"""The client of the supervisor, the process from which minds from files are forked."""

from __future__ import annotations

import asyncio
import atexit
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from itertools import count
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from sabm_mesa.core.deadline import Deadline
from sabm_mesa.errors import MindError, MindSpecError
from sabm_mesa.minds.files.isolation import (
    NOT_ISOLATED,
    Isolation,
    Visible,
    environment,
    hide_memory,
    isolation_wanted,
    names_passed,
    sandbox,
    visible,
)
from sabm_mesa.minds.files.supervisor import READY
from sabm_mesa.minds.files.worker import Start, TimeLimits

Outcome = Mapping[str, Any]

_CODE = """
import sys
sys.path[:] = {path!r}
from sabm_mesa.minds.files.worker import TimeLimits
from sabm_mesa.minds.files.supervisor import serve
serve({link}, {limits!r}, namespaces={namespaces})
"""
# The order of a set of texts is the same in every process; matrices are no reason for threads.
_SAME = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class SupervisorClient:
    """Starts minds in their own processes, asks them and ends them.

    Args:
        limits: the time limits of a mind.
        isolation: the wanted means of isolation, if they work here.
        seen: everything that they see in a sandbox, see `sabm_mesa.minds.files.isolation.visible`.
        passed: the names of the environment variables that they get.

    Raises:
        MindSpecError: when processes cannot be forked here.
    """

    def __init__(
        self,
        limits: TimeLimits | None = None,
        isolation: Isolation = NOT_ISOLATED,
        seen: Sequence[Visible] = (),
        passed: Sequence[str] = (),
    ) -> None:
        if not hasattr(os, "fork"):
            raise MindSpecError(
                "Minds from files (py:FILE) need Linux or macOS; on Windows, WSL has one."
            )
        self.pid = os.getpid()
        self.seen = seen
        self._limits, self._wanted, self._passed = limits or TimeLimits(), isolation, passed
        self._ready: Future[bool] = Future()
        self._living: set[int] = set()
        self._retired = False
        self._lock = threading.Lock()
        self._numbers = count()
        self._waiting: dict[int, Future[Outcome]] = {}
        self._over: deque[int] = deque()
        self._link: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def isolation(self) -> Isolation:
        """The means of isolation that work, as its supervisor has tested."""
        with self._lock:
            if self._link is None:
                self._link = self._begin()
        return replace(self._wanted, namespaces=self._ready.result())

    @property
    def closed(self) -> bool:
        """Whether it has no process now; the next command starts one."""
        return self._link is None

    def start(self, start: Start) -> tuple[int, Future[Outcome]]:
        """Start a mind.

        Args:
            start: the data from which it is made.

        Returns:
            The number of the mind, and its future result: ``name`` and ``paid``, or a ``problem``.
            The future raises a `MindError` if the system allows no other process.
        """
        number = next(self._numbers)
        self._living.add(number)
        return number, self._command("start", number, start)

    def ask(self, number: int, question: bytes) -> Future[Outcome]:
        """Ask a mind.

        Args:
            number: its number.
            question: the question, pickled.

        Returns:
            The future result: an ``answer``, or a ``problem`` and whether it was ``lost``.
        """
        return self._command("ask", number, question)

    async def outcome(self, waiting: Future[Outcome], *, paid: bool = False) -> Outcome:
        """Wait for an outcome; a silent supervisor is ended, with all its minds.

        With limits alone, a mind can stop the process that measures it.

        Args:
            waiting: the future result.
            paid: whether the answer is paid for.
        """
        limits = self._limits
        most_s = limits.start_s + (limits.paid_s if paid else limits.wait_s) + limits.hangs_s
        shared = asyncio.wrap_future(waiting)
        try:
            async with Deadline(most_s):
                return await asyncio.shield(shared)
        except TimeoutError:
            process = self._process
            if process is not None:
                process.kill()
            return await shared

    def end(self, number: int) -> None:
        """Note that a mind is no longer needed; it ends with the next command, or `flush`.

        Python may call this during garbage collection, at any point of any thread.

        Args:
            number: its number.
        """
        self._over.append(number)

    def flush(self) -> None:
        """End the minds that are no longer needed."""
        with self._lock:
            self._end_those_over()

    def retire(self) -> None:
        """Close when the last of its minds has ended."""
        self._retired = True
        self.flush()

    def close(self) -> None:
        """End all minds and their process; a fork leaves them to its parent."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._link is not None and self._process is not None and self.pid == os.getpid():
            with suppress(OSError):
                self._link.send(("close", 0))
            self._link = None
            self._process.wait()

    def _command(self, command: str, number: int, given: object) -> Future[Outcome]:
        outcome: Future[Outcome] = Future()
        outcome.set_running_or_notify_cancel()
        with self._lock:
            self._waiting[number] = outcome
            try:
                if self._link is None:
                    self._link = self._begin()
                self._end_those_over()
                self._link.send((command, number, given))
            except OSError:
                self._give_up()
        return outcome

    def _end_those_over(self) -> None:
        while self._over:
            number = self._over.popleft()
            self._living.discard(number)
            if self._link is not None:
                with suppress(OSError):
                    self._link.send(("end", number))
        if self._retired and not self._living:
            self._close()

    def _begin(self) -> Connection:
        ours, theirs = Pipe()
        begun: Future[None] = Future()
        threading.Thread(
            target=self._read, args=(ours, theirs, begun), name="sabm-minds", daemon=True
        ).start()
        begun.result()
        return ours

    def _begin_process(self, link: int) -> None:
        path = [entry or str(Path.cwd()) for entry in sys.path]
        code = _CODE.format(
            path=path, link=link, limits=self._limits, namespaces=self._wanted.namespaces
        )
        before = sandbox(self.seen) if self._wanted.bubblewrap else []
        nowhere = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [*before, sys.executable, "-c", code], stdin=nowhere, stdout=nowhere, stderr=nowhere,
            pass_fds=[link], env=environment(self._passed) | _SAME, start_new_session=True,
        )  # fmt: skip

    def _read(self, link: Connection, theirs: Connection, begun: Future[None]) -> None:
        """Start the process and read its output: it ends with the thread that started it."""
        try:
            self._begin_process(theirs.fileno())
        except (OSError, ValueError) as error:  # for the thread that waits
            begun.set_exception(error)
            return
        finally:
            theirs.close()
        begun.set_result(None)
        with suppress(EOFError, OSError):
            while True:
                self._tell(*link.recv())  # without the lock: who sends may wait for this thread
        with self._lock:
            if self._link is link:
                self._give_up()

    def _give_up(self) -> None:
        """The process with the minds has ended: another one is started for the next mind."""
        self._link = None
        self._set_ready(namespaces=False)
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for number in list(self._waiting):
            self._tell(number, {"problem": "its process is gone", "lost": True})

    def _set_ready(self, *, namespaces: bool) -> None:
        if not self._ready.done():
            self._ready.set_result(namespaces)
            if not (namespaces or self._wanted.bubblewrap):
                hide_memory()

    def _tell(self, number: int, outcome: Outcome) -> None:
        if number == READY:
            self._set_ready(**outcome)
            return
        waiting = self._waiting.pop(number, None)
        if waiting is not None and "refused" in outcome:
            waiting.set_exception(
                MindError(
                    f"No process can be started for another mind ({outcome['refused']}): use "
                    "fewer agents with minds from files, or raise the limits of the system."
                )
            )
        elif waiting is not None:
            waiting.set_result(outcome)


_lock = threading.Lock()
_own: dict[tuple[object, ...], SupervisorClient] = {}


def client(path: str) -> SupervisorClient:
    """The client of this process for the minds in a file; a forked process creates a new one.

    A sandbox shows one folder of minds. If minds cannot have separate namespaces in it, each file
    has its own sandbox.

    Args:
        path: the file.

    Raises:
        MindSpecError: when processes cannot be forked here, or demanded isolation is unavailable.
    """
    wanted, passed = isolation_wanted(), names_passed()
    if not wanted.bubblewrap:
        return _client(wanted, passed)
    file = Path(path).resolve()
    seen = visible(str(file.parent))
    shared = _client(wanted, passed, seen, str(file.parent))
    if shared.isolation.namespaces:
        return shared
    return _client(wanted, passed, seen, str(file))


def _client(
    wanted: Isolation, passed: Sequence[str], seen: Sequence[Visible] = (), file: str = ""
) -> SupervisorClient:
    with _lock:
        kind = os.getpid(), wanted, passed, file
        client = _own.get(kind)
        if client is None or client.seen != seen:
            if client is not None:  # files were added, removed or replaced
                client.retire()
            client = _own[kind] = SupervisorClient(None, wanted, seen, passed)
        return client


@atexit.register
def _close_all() -> None:
    for client in _own.values():
        client.close()
