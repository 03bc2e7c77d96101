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
from pathlib import Path
from typing import Any

from sabm_mesa.errors import RecordingError
from sabm_mesa.jsonable import to_json
from sabm_mesa.recording.rows import INSERT_ASK, MESSAGES, as_steps

Statement = tuple[str, list[Any]]
FULL = 2000
"""Rows that wait for a commit before one is made without being asked for."""


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
        self._awaited: tuple[Future[None], object, asyncio.Future[None]] | None = None
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
        promise, loop, awaited = self.commit(), asyncio.get_running_loop(), self._awaited
        if awaited is None or awaited[:2] != (promise, loop):  # one wake-up serves all who wait
            awaited = self._awaited = (promise, loop, asyncio.wrap_future(promise))
        await asyncio.shield(awaited[2])

    def close(self) -> None:
        """Write what is left and end the thread.

        Raises:
            RecordingError: when it cannot be written.
        """
        with self._wake:
            self._closing = True
            self._wake.notify()
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
        for promise in promises:
            promise.set_exception(failure)

    def _next(self, connection: sqlite3.Connection) -> bool:
        with self._wake:
            while not (self._promises or self._closing or len(self._rows) >= FULL):
                self._wake.wait()
            rows, self._rows = self._rows, []
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


class Texts:
    """The ids of the lines that are in the file: each is written once."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}

    def insert(self, connection: sqlite3.Connection, statements: Iterable[Statement]) -> None:
        """Write rows, with the messages of asks as the ids of their lines.

        Args:
            connection: to the recording, within a transaction.
            statements: (SQL, row) each.
        """
        for sql, row in statements:
            if sql is INSERT_ASK and row[MESSAGES] is not None:
                row[MESSAGES] = self._messages(connection, row[MESSAGES])
            connection.execute(sql, row)

    def _messages(self, connection: sqlite3.Connection, messages: list[dict[str, str]]) -> str:
        return to_json(
            [
                [
                    message["role"],
                    as_steps(
                        [self._text_id(connection, line) for line in message["content"].split("\n")]
                    ),
                ]
                for message in messages
            ]
        )

    def _text_id(self, connection: sqlite3.Connection, text: str) -> int:
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        if digest not in self._ids:
            connection.execute(
                "INSERT INTO texts (digest, text) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (digest, text),
            )
            (found,) = connection.execute(
                "SELECT id FROM texts WHERE digest = ?", (digest,)
            ).fetchone()
            self._ids[digest] = int(found)
        return self._ids[digest]


def _close_all() -> None:
    """Write what is left when the process ends without having closed its recordings."""
    for writer in list(_open):
        with contextlib.suppress(RecordingError):
            writer.close()


atexit.register(_close_all)
