"""The process of a mind's file: started, asked, and ended when it goes beyond a limit."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from socket import socketpair
from typing import Any

from sabm_mesa.errors import MindError
from sabm_mesa.minds.files.worker import COMPUTE_S, START_S

Items = tuple[tuple[str, Any], ...]
Outcome = Mapping[str, Any]
"""An ``answer``; or a ``problem`` and whether the mind is ``lost``, so that the next question
creates it again."""

ENDS_S = 5.0
"""The longest wait for the end of a process that has closed its socket, in seconds."""
LARGEST = 2**20
"""The maximum size of an answer in bytes."""
DEEPEST = 10
"""The maximum nesting of dicts and lists in an answer."""
_PROGRAM = ("-P", "-c", "from sabm_mesa.minds.files.worker import serve; serve()")


class FileProcess:
    """A process with the minds of a file, which ends with this object.

    It starts with the first question, and again after a loss.
    """

    def __init__(self, command: tuple[str, ...], environment: Items) -> None:
        self._command, self._environment = command, environment
        self._turn = asyncio.Lock()
        self._known: set[int] = set()
        self._over: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None

    async def ask(
        self,
        number: int,
        start: Callable[[], Mapping[str, Any]],
        question: bytes | None,
        wait_s: float,
    ) -> Outcome:
        """Ask a mind, after those that were asked before. It must not be cancelled.

        Args:
            start: gives the arguments of `sabm_mesa.minds.files.worker.MindOfAgent` for a new mind.
            question: see `MindOfAgent.reply`; None only creates the mind.
            wait_s: the longest wait for the answer in seconds.

        Raises:
            MindError: when the system allows no other process.
        """
        async with self._turn:
            if self._process is None:
                self._begin()
            if number not in self._known:
                self._known.add(number)
                outcome = await self._told(number, start(), None, START_S, START_S)
                if question is None or "problem" in outcome:
                    return outcome
            return await self._told(number, None, question, wait_s, COMPUTE_S)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is another process."""
        return FileProcess, (self._command, self._environment)

    def forget(self, number: int) -> None:
        """Release a mind; the next question creates it again."""
        self._known.discard(number)
        self._over.append(number)

    def end(self) -> None:
        """End the process, and with it all of its minds; the next question starts another one."""
        if self._process is not None:
            self._end()
            self._process = None
            self._known.clear()
            self._over.clear()

    def _begin(self) -> None:
        nowhere = subprocess.DEVNULL
        self._link, theirs = socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [*self._command, sys.executable, *_PROGRAM],
                    stdin=theirs.fileno(), stdout=nowhere, stderr=nowhere,
                    env=dict(self._environment), start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            self._link.close()
            raise MindError(
                f"No process can be started for another mind ({error.strerror}): use fewer minds "
                "from files, or raise the limits of the system."
            ) from None
        self._link.setblocking(False)
        self._end = weakref.finalize(self, _end, self._process, self._link, os.getpid())

    async def _told(
        self,
        number: int,
        start: Mapping[str, Any] | None,
        question: bytes | None,
        wait_s: float,
        compute_s: float,
    ) -> Outcome:
        """Send a message and wait for its outcome; end the process when it goes beyond a limit."""
        message = pickle.dumps((number, start, question, self._over))
        self._over.clear()
        try:
            async with asyncio.timeout(wait_s):
                outcome = _outcome(await self._line_after(message))
        except TimeoutError:
            problem = "it took too long"
        except (ValueError, RecursionError):
            problem = "it wrote to the pipe of its process"
        except OSError:
            problem = ""
        else:
            if outcome.get("lost"):
                self.forget(number)
            return outcome
        process = self._process
        assert process is not None
        if not problem:  # it ends by itself
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(process.wait, ENDS_S)
        self.end()
        return {"problem": problem or _why(process.returncode, compute_s), "lost": True}

    async def _line_after(self, message: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._link, message)
        line = b""
        while not line.endswith(b"\n"):
            part = await loop.sock_recv(self._link, 2**16)
            if not part:
                raise ConnectionError
            line += part
            if len(line) > LARGEST:
                raise ValueError
        return line


def _end(process: subprocess.Popen[bytes], link: Any, pid: int) -> None:
    """End a process and all in its session; a fork of this process leaves it to its parent."""
    link.close()
    if pid == os.getpid():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _why(status: int, compute_s: float) -> str:
    """Why a process ended; bubblewrap reports a signal as its number and 128."""
    number = -status if status < 0 else status - 128
    if number == signal.SIGXCPU:
        return f"it computed for longer than {compute_s:g} s"
    if number in set(signal.Signals):
        return f"its process was ended by {signal.Signals(number).name}"
    return f"it ended its process (exit status {status})"


def _outcome(line: bytes) -> Outcome:
    """The outcome in a line of a worker, into which a mind may have written anything."""
    outcome: Any = json.loads(line, parse_constant=int)  # which fails for NaN
    if isinstance(outcome, dict):
        if isinstance(outcome.get("problem"), str):
            return outcome
        if "answer" in outcome and _depth(outcome["answer"]) <= DEEPEST:
            return {"answer": outcome["answer"]}
    raise ValueError


def _depth(value: object) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)
