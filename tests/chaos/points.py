"""The points at which a process dies, and the process that dies there."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from sabm_mesa.core.asks import Attempt
from sabm_mesa.recording import RunRecorder
from sabm_mesa.recording.store import Statement
from sabm_mesa.recording.writing import BatchWriter
from tests.chaos.bill import USED, Bill
from tests.chaos.processes import DEATH

ENTERING = "a run is entered"
SENDING = "before sending"
ANSWERED = "answered, not handed over"
HANDED = "handed over, not written"
COMMITTING = "before it is durable"
TORN = "half of the commit written"
DURABLE = "durable, not used"
IN_USE = "used"
WRITER = "sabm-recording"
"""The thread that writes answers."""
POINTS = (ENTERING, SENDING, ANSWERED, HANDED, COMMITTING, TORN, DURABLE, IN_USE)


class Fate:
    """The death of a process: at a point, when it has reached it a number of times.

    Args:
        point: the point; None: nowhere.
        number: which time, from 1.

    Attributes:
        reached: how often it came to each point.
    """

    def __init__(self, point: str | None = None, number: int = 0) -> None:
        self.point, self.number = point, number
        self.reached: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __str__(self) -> str:
        return f"{self.point}, time {self.number}"

    def reach(self, point: str) -> None:
        """Come to a point, and die when it is the one: without any cleaning up."""
        if self.comes_to(point):
            os._exit(DEATH)

    def comes_to(self, point: str) -> bool:
        """Come to a point; whether to die there."""
        with self._lock:
            self.reached[point] += 1
            return point == self.point and self.reached[point] == self.number


class Mortal(sqlite3.Connection):
    """A connection that dies around its statements."""

    fate: ClassVar[Fate]

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        """Execute a statement; the thread that writes answers dies at its commits only."""
        if threading.current_thread().name == WRITER:
            return self._write(sql, *parameters)
        if "texts" not in sql:  # the lines of a message: one is like the other
            self.fate.reach(ENTERING)
        done = super().execute(sql, *parameters)
        if sql == "COMMIT":
            self.fate.reach(ENTERING)
        return done

    def _write(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql != "COMMIT":
            return super().execute(sql, *parameters)
        self.fate.reach(COMMITTING)
        if self.fate.comes_to(TORN):
            self._write_half()
        done = super().execute(sql, *parameters)
        self.fate.reach(DURABLE)
        return done

    def _write_half(self) -> None:
        """Commit, take back a part of what that wrote, and die."""
        (_, _, path) = super().execute("PRAGMA database_list").fetchone()
        log = Path(f"{path}-wal")
        before = log.stat().st_size
        super().execute("COMMIT")
        os.truncate(log, Random(self.fate.number).randrange(before, log.stat().st_size))
        os._exit(DEATH)


def be_mortal(fate: Fate, bill: Bill) -> None:
    """Let this process note what it uses, and die where its fate says."""
    Mortal.fate = fate
    record, connect = RunRecorder.record, sqlite3.connect

    def noted(self: RunRecorder, attempt: Attempt, *, durable: bool) -> Awaitable[None] | None:
        written = record(self, attempt, durable=durable)
        return None if written is None else used(written, attempt.reply.model)

    async def used(written: Awaitable[None], model: str) -> None:
        await written
        bill.note(USED, model)
        fate.reach(IN_USE)

    def handing(wait: Callable[[BatchWriter], Awaitable[None]]) -> Any:
        def handed(self: BatchWriter, *statements: Statement) -> Awaitable[None]:
            self.add(*statements)
            return waited(self)

        async def waited(writer: BatchWriter) -> None:
            fate.reach(HANDED)
            await wait(writer)

        return handed

    def opened(*given: Any, **options: Any) -> sqlite3.Connection:
        reads_only = options.get("uri", False)
        return connect(*given, **options, **({} if reads_only else {"factory": Mortal}))

    RunRecorder.record = noted  # type: ignore[method-assign]
    BatchWriter.committed = handing(BatchWriter.committed)  # type: ignore[method-assign]
    BatchWriter.written = handing(BatchWriter.written)  # type: ignore[method-assign]
    sqlite3.connect = opened
