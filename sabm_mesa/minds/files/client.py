"""The client of the supervisor, the process from which minds from files are forked."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from sabm_mesa.errors import MindError, MindSpecError
from sabm_mesa.minds.files.worker import Limits, Start

Outcome = Mapping[str, Any]

_CODE = """
import sys
sys.path[:] = {path!r}
from sabm_mesa.minds.files.worker import Limits
from sabm_mesa.minds.files.supervisor import serve
serve({link}, {limits!r})
"""
# The order of a set of texts is the same in every process; matrices are no reason for threads.
_SAME = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class SupervisorClient:
    """Starts minds in processes of their own, asks them and ends them.

    Args:
        limits: the limits of time for a mind.

    Raises:
        MindSpecError: when processes cannot be forked here.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        if not hasattr(os, "fork"):
            raise MindSpecError(
                "Minds from files (py:FILE) need Linux or macOS; on Windows, WSL has one."
            )
        self.pid = os.getpid()
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._numbers = count()
        self._waiting: dict[int, Future[Outcome]] = {}
        self._over: deque[int] = deque()
        self._link: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, start: Start) -> tuple[int, Future[Outcome]]:
        """Start a mind.

        Args:
            start: the data from which it is made.

        Returns:
            Its number, and what will come of it: ``name`` and ``paid``, or a ``problem``; a
            `MindError` when the system has no process left for it.
        """
        number = next(self._numbers)
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

    def end(self, number: int) -> None:
        """Note that a mind is needed no more; it ends with the next command, or `flush`.

        It may be called by Python while it collects garbage, at any place of any thread.

        Args:
            number: its number.
        """
        self._over.append(number)

    def flush(self) -> None:
        """End the minds that are needed no more."""
        with self._lock:
            self._end_those_over()

    def close(self) -> None:
        """End all minds, and the process that has them; in a fork they are not its own."""
        with self._lock:
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
        while self._over and self._link is not None:
            with suppress(OSError):
                self._link.send(("end", self._over.popleft()))

    def _begin(self) -> Connection:
        ours, theirs = Pipe()
        limits, link = self._limits, theirs.fileno()
        path = [each or str(Path.cwd()) for each in sys.path]
        code = _CODE.format(path=path, link=link, limits=limits)
        nowhere = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=nowhere, stdout=nowhere, stderr=nowhere,
            pass_fds=[link], env=os.environ | _SAME,
        )  # fmt: skip
        theirs.close()
        threading.Thread(target=self._read, args=(ours,), name="sabm-minds", daemon=True).start()
        return ours

    def _read(self, link: Connection) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._tell(*link.recv())  # without the lock: who sends may wait for this thread
        with self._lock:
            if self._link is link:
                self._give_up()

    def _give_up(self) -> None:
        """The process that has the minds is gone: another one is started for the next mind."""
        self._link = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for number in list(self._waiting):
            self._tell(number, {"problem": "its process is gone", "lost": True})

    def _tell(self, number: int, outcome: Outcome) -> None:
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
_own: SupervisorClient | None = None


def client() -> SupervisorClient:
    """The client of this process; made anew in a forked one.

    Raises:
        MindSpecError: when processes cannot be forked here.
    """
    global _own  # noqa: PLW0603 - one for the process, as the loop of the engine is
    with _lock:
        if _own is None or _own.pid != os.getpid():
            _own = SupervisorClient()
            atexit.register(_own.close)
        return _own
