"""The thread that writes a recording: many rows a commit, and a promise kept for each.

One commit (with an `fsync`) serves all rows that came in while the one before was being written,
so that hundreds of answers a second can be durable before they are used.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hashlib
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from sabm_mesa.errors import RecordingError
from sabm_mesa.jsonable import to_json
from sabm_mesa.recording.rows import INSERT_ASK, MESSAGES, as_steps

Statement = tuple[str, list[Any]]
FULL = 2000
"""Rows that wait for a commit before one is made without being asked for."""
CROWDED = 20_000
"""Rows that wait for a commit before those who bring more have to wait: it bounds the memory."""
REMEMBERED = 50_000
"""Lines whose ids are remembered; the others are looked up in the file."""
SOUGHT = 500
"""Lines that are looked up at once."""


_open: weakref.WeakSet[Writer] = weakref.WeakSet()


class Writer:
    """Writes rows on a thread of its own.

    Args:
        path: the file, for errors.
        connect: opens the connection, on the writer's thread.
    """

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path, self._connect = path, connect
        self._rows: list[Statement] = []
        self._promises: list[Future[None]] = []
        self._waiting: _Waiting | None = None
        self._wake = threading.Condition()
        self._closing = False
        self._failure: RecordingError | None = None
        self._texts = Texts()
        self._thread = threading.Thread(target=self._run, name="sabm-recording", daemon=True)
        self._thread.start()
        _open.add(self)

    def add(self, *statements: Statement) -> None:
        """Add rows to the next commit, which holds all of them or none.

        Args:
            statements: (SQL, row) each.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        with self._wake:
            while len(self._rows) >= CROWDED and self._failure is None and not self._closing:
                self._wake.wait()
            self._check()
            self._rows += statements
            if len(self._rows) >= FULL:
                self._wake.notify()

    def commit(self) -> Future[None]:
        """Have everything that was added so far on disk; the future says when it is.

        Raises:
            RecordingError: when an earlier commit failed; also by the future.
        """
        with self._wake:
            self._check()
            if not self._promises:  # all who come before the next commit share its promise
                self._promises.append(Future())
                self._wake.notify()
            return self._promises[0]

    async def committed(self) -> None:
        """Await that everything that was added so far is on disk.

        Raises:
            RecordingError: when it cannot be written.
        """
        promise, loop, waiting = self.commit(), asyncio.get_running_loop(), self._waiting
        if waiting is None or waiting.promise is not promise or waiting.loop is not loop:
            waiting = self._waiting = _Waiting(promise, loop)
        await waiting.join()

    def close(self) -> None:
        """Write what is left and end the thread.

        Raises:
            RecordingError: when it cannot be written.
        """
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closing:
            raise RecordingError(f"The recording {self._path} is closed.")

    def _run(self) -> None:
        try:
            with closing(self._connect()) as connection:
                while self._next(connection):
                    pass
        except Exception as error:  # noqa: BLE001 - whoever waits has to hear of it
            self._fail(RecordingError(f"Cannot write the recording {self._path}: {error}."), [])

    def _fail(self, failure: RecordingError, promises: list[Future[None]]) -> None:
        with self._wake:
            self._failure = failure
            promises += self._promises
            self._promises = []
            self._wake.notify_all()
        for promise in promises:
            promise.set_exception(failure)

    def _next(self, connection: sqlite3.Connection) -> bool:
        with self._wake:
            while not (self._promises or self._closing or len(self._rows) >= FULL):
                self._wake.wait()
            rows, self._rows = self._rows, []
            if len(rows) >= CROWDED:
                self._wake.notify_all()
            promises, self._promises = self._promises, []
            closing = self._closing
        failure = self._write(connection, rows)
        if failure is not None:
            self._fail(failure, promises)
            return False
        for promise in promises:
            promise.set_result(None)
        return not closing

    def _write(
        self, connection: sqlite3.Connection, rows: list[Statement]
    ) -> RecordingError | None:
        if not rows:
            return None
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._texts.insert(connection, rows)
            connection.execute("COMMIT")
        except (sqlite3.Error, UnicodeError, OverflowError) as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            hint = " Is the disk full?" if isinstance(error, sqlite3.OperationalError) else ""
            return RecordingError(
                f"Cannot write the recording {self._path}: {error}.{hint} "
                "What was committed before is kept."
            )
        return None


class _Waiting:
    """Coroutines of one loop that wait for the same commit: one wake-up serves all of them.

    Args:
        promise: of the commit.
        loop: the loop.
    """

    def __init__(self, promise: Future[None], loop: asyncio.AbstractEventLoop) -> None:
        self.promise, self.loop = promise, loop
        self._futures: list[asyncio.Future[None]] = []
        promise.add_done_callback(self._kept)

    def join(self) -> asyncio.Future[None]:
        """A future of one's own, so that who is cancelled takes nobody along."""
        future = self.loop.create_future()
        self._futures.append(future)
        return future

    def _kept(self, _promise: Future[None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        failure = self.promise.exception()
        for future in self._futures:
            if future.done():
                continue
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)


class Texts:
    """The ids of the lines that are in the file: each is written once."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def insert(self, connection: sqlite3.Connection, statements: Iterable[Statement]) -> None:
        """Write rows, with the messages of asks as the ids of their lines.

        Args:
            connection: to the recording, within a transaction.
            statements: (SQL, row) each.
        """
        for sql, group in groupby(statements, itemgetter(0)):
            rows = [row for _, row in group]
            if sql is INSERT_ASK:
                self._number(connection, [row for row in rows if row[MESSAGES] is not None])
            connection.executemany(sql, rows)

    def _number(self, connection: sqlite3.Connection, rows: list[list[Any]]) -> None:
        """Put numbers for the lines of the messages in rows of asks, and enter those lines."""
        chats = [[(m["role"], m["content"].split("\n")) for m in row[MESSAGES]] for row in rows]
        lines = dict.fromkeys(line for chat in chats for _, content in chat for line in content)
        ids = self._ids_of(connection, lines)
        for row, chat in zip(rows, chats, strict=True):
            row[MESSAGES] = to_json(
                [[role, as_steps([ids[line] for line in content])] for role, content in chat]
            )

    def _ids_of(self, connection: sqlite3.Connection, lines: Iterable[str]) -> dict[str, int]:
        ids = {line: self._ids.get(line, 0) for line in lines}
        new = {_digest(line): line for line, number in ids.items() if not number}
        digests = list(new)
        for i in range(0, len(digests), SOUGHT):
            some = digests[i : i + SOUGHT]
            places = ", ".join("?" * len(some))
            query = f"SELECT digest, id FROM texts WHERE digest IN ({places})"
            for digest, number in connection.execute(query, some).fetchall():
                ids[new.pop(digest)] = int(number)
        if new:
            (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM texts").fetchone()
            ids |= {line: number for number, line in enumerate(new.values(), last + 1)}
            rows = [(ids[line], digest, line) for digest, line in new.items()]
            connection.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)
        if len(self._ids) >= REMEMBERED:
            self._ids.clear()
        self._ids |= ids
        return ids


def _digest(line: str) -> bytes:
    return hashlib.blake2b(line.encode(), digest_size=16).digest()


def _close_all() -> None:
    """Write what is left when the process ends without having closed its recordings."""
    for writer in list(_open):
        with contextlib.suppress(RecordingError):
            writer.close()


atexit.register(_close_all)
