"""The process of all minds: it forks one process for each, and stops slow ones.

It is a new interpreter that has only imported this package, so that a fork has no threads,
connections or files of the simulation. It runs no code from a file itself. It runs inside
bubblewrap if available.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, Pipe, wait
from types import FrameType
from typing import Any

from sabm_mesa.minds.files.isolation import (
    FILES,
    adopt_orphans,
    children,
    end_with_parent,
    hide_memory,
    namespaces_work,
    places_to_write,
)
from sabm_mesa.minds.files.measuring import Used, used
from sabm_mesa.minds.files.worker import NoMind, Start, TimeLimits, live, plain_answer

LARGEST = 2**20
"""The maximum size of a message of a mind in bytes."""
REAPED_S = 0.001
"""Seconds between two checks for ending processes."""
READY = -1
"""The number in the first message, which announces the supervisor."""


LOOK_S = 0.05
"""Seconds between two measurements of minds, while one of them has to answer."""
IDLE_LOOK_S = 1.0
"""The same while no mind has to answer."""
LOOKING = 0.05
"""The maximum share of the time for measurements."""
ORPHANS_S = 5.0
"""The longest time for ending processes that minds left behind, in seconds: each may leave more."""


@dataclass
class _Worker:
    """The process of a mind; `until` is the deadline of its answer, None without a question.

    `before_s` is its computing time before the question.
    """

    pid: int
    link: Connection
    wait_s: float
    compute_s: float
    until: float | None
    before_s: float = 0.0


class Supervisor:
    """Manages the processes of minds.

    Args:
        link: the connection for commands and outcomes.
        limits: the time limits of a mind.
        namespaces: whether each mind gets separate namespaces.
    """

    def __init__(self, link: Connection, limits: TimeLimits, *, namespaces: bool) -> None:
        self._link, self._limits, self._namespaces = link, limits, namespaces
        self._players: dict[int, _Worker] = {}
        self._looked = self._rest_s = 0.0

    def serve(self) -> None:
        """Serve requests until the link is closed."""
        try:
            while True:
                links = {number: player.link for number, player in self._players.items()}
                ready = wait([self._link, *links.values()], self._patience())
                for number, link in links.items():
                    if link in ready:
                        self._hear(number)
                self._stop_late()
                self._stop_greedy()
                if self._link in ready:
                    self._obey(*self._link.recv())
        except (EOFError, OSError):  # the parent is gone, or has said so
            for number in list(self._players):
                self._end(number)

    def _obey(self, command: str, number: int, given: Any = None) -> None:
        if command == "start":
            self._start(number, given)
        elif command == "ask":
            self._ask(number, given)
        elif command == "end":
            self._end(number)
        else:
            raise EOFError

    def _start(self, number: int, start: Start) -> None:
        if start.module:  # once, here, and not in each process
            with suppress(Exception):  # the mind says what is missing, when it is asked
                import_module(start.module)
        try:
            ours, theirs = Pipe()
            pid = os.fork()
        except OSError as error:
            self._say(number, {"refused": error.strerror})
            return
        if pid == 0:
            try:
                live(theirs, start, self._limits, namespaces=self._namespaces)
            finally:
                os._exit(0)
        theirs.close()
        wait_s = self._limits.paid_s if start.paid else self._limits.wait_s
        until = time.monotonic() + self._limits.start_s
        self._players[number] = _Worker(pid, ours, wait_s, self._limits.start_s, until)

    def _ask(self, number: int, question: bytes) -> None:
        player = self._players.get(number)
        if player is None:
            self._say(number, _lost("its process is gone"))
            return
        so_far = self._used(player)
        if problem := so_far.problem(player.before_s, player.compute_s):  # since its last answer
            player.until = math.inf
            self._lose(number, problem)
            return
        player.before_s = so_far.compute_s
        try:
            with _within(self._limits.message_s):
                player.link.send_bytes(question)
        except OSError:  # a timeout is one
            self._lose(number)
            return
        player.compute_s = self._limits.compute_s
        player.until = time.monotonic() + player.wait_s

    def _hear(self, number: int) -> None:
        player = self._players[number]
        try:
            with _within(self._limits.message_s):
                message = json.loads(player.link.recv_bytes(LARGEST))
        except (EOFError, ConnectionError):  # it has ended
            self._lose(number)
            return
        except (OSError, ValueError, RecursionError):
            message = None
        if player.until is None or not isinstance(message, dict) or not _sound(message):
            self._lose(number, "it wrote to the pipe of its process")
            return
        if problem := self._greed(player):
            self._lose(number, problem)
            return
        player.until = None
        self._say(number, message)

    def _stop_late(self) -> None:
        now = time.monotonic()
        for number, player in list(self._players.items()):
            if player.until is not None and player.until <= now:
                self._lose(number, "it took too long")

    def _stop_greedy(self) -> None:
        """Stop minds beyond their limits, answering or not, and the processes that they left."""
        began = time.monotonic()
        if began < self._next_look():
            return
        for number, player in list(self._players.items()):
            if problem := self._greed(player):
                self._lose(number, problem)
        self._end_orphans()
        self._looked = time.monotonic()
        self._rest_s = (self._looked - began) / LOOKING

    def _next_look(self) -> float:
        owing = any(player.until is not None for player in self._players.values())
        return self._looked + max(LOOK_S if owing else IDLE_LOOK_S, self._rest_s)

    def _used(self, player: _Worker) -> Used:
        return used(player.pid, waits=2 if self._namespaces else 0)

    def _greed(self, player: _Worker) -> str:
        """The limit that a mind has passed, ``""`` for none."""
        return self._used(player).problem(player.before_s, player.compute_s)

    def _patience(self) -> float | None:
        if not self._players:
            return None
        ends = [player.until for player in self._players.values() if player.until is not None]
        return max(0.0, min([*ends, self._next_look()]) - time.monotonic())

    def _lose(self, number: int, problem: str = "") -> None:
        player = self._players[number]
        status = self._end(number)
        if player.until is not None:
            self._say(number, _lost(problem or _why(status, player.compute_s)))

    def _end(self, number: int) -> int:
        """End a process and its children; return its exit status."""
        player = self._players.pop(number, None)
        if player is None:
            return 0
        player.link.close()
        # A process that ended by itself within a moment keeps its own status.
        pid, status = os.waitpid(player.pid, os.WNOHANG)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(player.pid, signal.SIGKILL)
        if not pid:
            with suppress(ProcessLookupError):
                os.kill(player.pid, signal.SIGKILL)
            _, status = os.waitpid(player.pid, 0)
        self._end_orphans()
        return status

    def _end_orphans(self) -> None:
        """End the processes that minds left behind, which this process has adopted."""
        known = {player.pid for player in self._players.values()}
        until = time.monotonic() + ORPHANS_S
        while (orphans := children() - known) and time.monotonic() < until:
            for pid in orphans:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            # None is waited for alone: the first of a namespace ends when all others are reaped.
            reaped = [os.waitpid(pid, os.WNOHANG)[0] for pid in orphans]
            if not any(reaped):
                time.sleep(REAPED_S)

    def _say(self, number: int, outcome: dict[str, Any]) -> None:
        self._link.send((number, outcome))


def serve(link: int, limits: TimeLimits, *, namespaces: bool) -> None:
    """Run minds for the process at the other end of the link: the main function of a supervisor.

    Args:
        link: the descriptor of the pipe.
        limits: the time limits of a mind.
        namespaces: whether each mind gets separate namespaces, if possible.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this one
    signal.signal(signal.SIGALRM, _interrupt)
    _allow_files()
    end_with_parent()
    adopt_orphans()
    namespaces = namespaces and namespaces_work()
    if not namespaces:
        hide_memory()
        places_to_write()  # once, here, and not in each process
    connection = Connection(link)
    connection.send((READY, {"namespaces": namespaces}))
    Supervisor(connection, limits, namespaces=namespaces).serve()
    sys.exit()


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in a block that takes longer."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _allow_files() -> None:
    """Raise the limit of open files, which may be 256, as far as allowed: each mind needs one."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if 0 <= hard < FILES else FILES
    if 0 <= soft < most:
        with suppress(ValueError, OSError):  # then it stays as it is
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def _why(status: int, compute_s: float) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGPROF:
        return f"it computed for longer than {compute_s:g} s"
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"it ended its process (exit status {code})"


def _sound(message: dict[str, Any]) -> bool:
    if "problem" in message:
        return isinstance(message["problem"], str)
    if "answer" not in message:
        return isinstance(message.get("name"), str)
    try:
        return bool(plain_answer(message["answer"]) == message["answer"])
    except NoMind:
        return False


def _lost(problem: str) -> dict[str, Any]:
    return {"problem": problem, "lost": True}
