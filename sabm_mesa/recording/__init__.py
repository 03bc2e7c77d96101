"""Recordings: one SQLite file that holds runs, every answer and the collected data.

An answer that was paid for is on disk before the model uses it; what can be computed again for
free is written along with it, at the latest when the run ends.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from sabm_mesa.asking import Attempt
from sabm_mesa.errors import OutputError, RecordingError
from sabm_mesa.recording.reading import APPLICATION_ID, FORMAT, check_kind, damaged
from sabm_mesa.recording.rows import (
    INSERT_AGENT_DATA,
    INSERT_ASK,
    INSERT_MODEL_DATA,
    RunInfo,
    ask_row,
    to_json,
)
from sabm_mesa.recording.session import Session
from sabm_mesa.recording.writer import Writer

__all__ = ["NoRecording", "Recording", "RunInfo", "RunRecorder"]

_BUSY_S = 60.0


class Recording:
    """A recording that is open for writing; several processes may write to one file.

    Args:
        path: the file; it and its folder are made when they do not exist.

    Raises:
        OutputError: when the folder or the file cannot be written.
        RecordingError: when the file is something else, damaged, or of a newer version.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.open("ab").close()
        except OSError as error:
            raise OutputError(
                f"Cannot write {self.path} ({error.strerror or error}): choose another folder."
            ) from None
        try:
            with closing(self._connect()) as connection:
                self._prepare(connection)
        except sqlite3.DatabaseError as error:
            raise damaged(self.path, str(error)) from None
        self.session = Session(self.path)
        self._writer = Writer(self.path, self._connect)

    def start(self, info: RunInfo) -> RunRecorder:
        """Begin a run.

        Returns:
            What records the run; its number is the next free one in the file.

        Raises:
            RecordingError: when it cannot be written.
        """
        connection = self._connect()
        try:
            connection.execute("BEGIN IMMEDIATE")
            (run,) = connection.execute("SELECT coalesce(max(run) + 1, 0) FROM runs").fetchone()
            row = {
                **info.as_row(),
                "run": run,
                "uid": uuid.uuid4().hex,
                "command": self.session.uid,
                "started": _now(),
                "status": "running",
                "session": self.session.uid,
            }
            connection.executemany(
                "INSERT INTO prompts VALUES (?, ?) ON CONFLICT DO NOTHING",
                list(info.prompts.values()),
            )
            connection.execute(
                f"INSERT INTO runs ({', '.join(row)}) VALUES ({', '.join(f':{c}' for c in row)})",
                row,
            )
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise RecordingError(f"Cannot write the recording {self.path}: {error}.") from None
        finally:
            connection.close()
        return RunRecorder(run, self._writer)

    def close(self) -> None:
        """Write what is left and close the file.

        Raises:
            RecordingError: when it cannot be written.
        """
        try:
            self._writer.close()
        finally:
            self.session.close()

    def __enter__(self) -> Recording:
        """Return the recording, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the recording."""
        self.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        is_recording = check_kind(self.path, connection)
        _write_ahead(connection)
        if not is_recording:
            self._create(connection)

    def _create(self, connection: sqlite3.Connection) -> None:
        schema = files(__package__ or "").joinpath("schema.sql").read_text("utf-8")
        connection.execute("BEGIN IMMEDIATE")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            for statement in schema.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")


class RunRecorder:
    """Records one run.

    Args:
        run: its number in the recording.
        writer: what writes.

    Attributes:
        run: its number in the recording.
    """

    def __init__(self, run: int, writer: Writer) -> None:
        self.run = run
        self._writer = writer

    async def record(self, attempt: Attempt, *, durable: bool) -> None:
        """Write one attempt.

        Args:
            attempt: the attempt.
            durable: whether to return only when it is on disk.

        Raises:
            RecordingError: when it cannot be written.
        """
        self._writer.add(INSERT_ASK, ask_row(self.run, attempt))
        if durable:
            await self._writer.committed()

    def collect(
        self, round_: int, model_row: Sequence[Any], agent_rows: Sequence[Sequence[Any]]
    ) -> None:
        """Write the data of one round.

        Args:
            round_: the round.
            model_row: the values of the model columns.
            agent_rows: for each agent, the values of the agent columns.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        self._writer.add(INSERT_MODEL_DATA, [self.run, round_, to_json(model_row)])
        self._writer.add(INSERT_AGENT_DATA, [self.run, round_, to_json(agent_rows)])
        self._writer.commit()  # nobody waits for it

    async def finish(self, problem: str = "") -> None:
        """Write how the run ended, and have all of it on disk.

        Args:
            problem: why it failed, or ``""``.

        Raises:
            RecordingError: when it cannot be written.
        """
        status = "failed" if problem else "finished"
        self._writer.add(
            "UPDATE runs SET ended = ?, status = ?, problem = ? WHERE run = ?",
            [_now(), status, problem or None, self.run],
        )
        await self._writer.committed()


class NoRecording:
    """Records nothing: for runs that can be repeated for free."""

    run = 0

    async def record(self, attempt: Attempt, *, durable: bool) -> None:
        """Record nothing."""

    def collect(
        self, round_: int, model_row: Sequence[Any], agent_rows: Sequence[Sequence[Any]]
    ) -> None:
        """Record nothing."""

    async def finish(self, problem: str = "") -> None:
        """Record nothing."""


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Set the journal mode; SQLite does not wait here when other processes do the same."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
