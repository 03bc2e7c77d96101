"""Recordings: one SQLite file that holds runs, every answer and the collected data.

An answer that was paid for is on disk before the model uses it; what can be computed again for
free is written along with it, at the latest when the run ends.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from sabm_mesa.errors import OutputError, RecordingError
from sabm_mesa.jsonable import to_json
from sabm_mesa.recording.reading import (
    APPLICATION_ID,
    FORMAT,
    check_kind,
    check_whole,
    unusable,
)
from sabm_mesa.recording.recorder import NoRecording, RunRecorder, now
from sabm_mesa.recording.rows import RunInfo
from sabm_mesa.recording.session import Session, goes_on
from sabm_mesa.recording.writer import Statement, Texts, Writer

__all__ = ["NoRecording", "Recording", "RunInfo", "RunRecorder"]

_BUSY_S = 60.0


class Recording:
    """A recording that is open for writing; several processes may write to one file.

    Args:
        path: the file; it and its folder are made when they do not exist.
        durable: whether what is written has to survive a crash of the machine.

    Raises:
        OutputError: when the folder or the file cannot be written.
        RecordingError: when the file is something else, damaged, or of a newer version.
    """

    def __init__(self, path: str | Path, *, durable: bool = True) -> None:
        self.path, self._durable = Path(path), durable
        self._file = self.path.resolve()  # also after the working directory has changed
        new = not self._file.exists()
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
        except (sqlite3.DatabaseError, RecordingError) as error:
            if new and self._file.stat().st_size == 0:
                self._file.unlink(missing_ok=True)
            if isinstance(error, RecordingError):
                raise
            raise unusable(self.path, error) from None
        self._joint: sqlite3.Connection | None = None
        self.session = Session(self._file)
        self._writer = Writer(self.path, self._connect)

    def start(self, info: RunInfo) -> RunRecorder:
        """Begin a run.

        Args:
            info: what is written about it.

        Returns:
            What records the run; its number is the next free one in the file.

        Raises:
            RecordingError: when it cannot be written.
        """
        row = {**info.as_row(), "uid": f"r{uuid.uuid4().hex[:31]}", "command": self.session.uid}
        return RunRecorder(self.enter(row, list(info.prompts.values())), self._writer)

    def enter(
        self,
        row: Mapping[str, Any],
        prompts: Sequence[tuple[str, str]],
        rows: Callable[[int], Iterable[Statement]] = lambda _: (),
    ) -> int:
        """Enter a run that is written from now on, whole or not at all.

        Args:
            row: column → value of the table of runs, but for what says when and by whom.
            prompts: (hash, text) of the prompt entries.
            rows: from the number of the run to what is entered along with it.

        Returns:
            Its number: the next free one in the file.

        Raises:
            RecordingError: when it cannot be written.
        """
        with self._transaction() as connection:
            (run,) = connection.execute("SELECT coalesce(max(run) + 1, 0) FROM runs").fetchone()
            connection.executemany(
                "INSERT INTO prompts VALUES (?, ?) ON CONFLICT DO NOTHING", prompts
            )
            entry = {
                **row, "run": run, "started": now(), "status": "running",
                "session": self.session.uid,
            }  # fmt: skip
            places = ", ".join(f":{column}" for column in entry)
            connection.execute(f"INSERT INTO runs ({', '.join(entry)}) VALUES ({places})", entry)
            Texts().insert(connection, rows(int(run)))
        return int(run)

    def claim(self, runs: Sequence[int], connected: Mapping[str, Any]) -> dict[int, RunRecorder]:
        """Go on with runs that are in the file, all or none; nobody else may be writing them.

        Args:
            runs: their numbers.
            connected: how language models are reached from now on.

        Returns:
            What records each.

        Raises:
            RecordingError: when one is being written, or they cannot be.
        """
        with self._transaction() as connection:
            for run in runs:
                (session,) = connection.execute(
                    "SELECT session FROM runs WHERE run = ?", (run,)
                ).fetchone()
                if session != self.session.uid and goes_on(self._file, session):
                    raise RecordingError(
                        f"Run {run} of {self.path} is in use: it is still being written. "
                        "Wait until that has ended, or stop it."
                    )
                connection.execute(
                    "UPDATE runs SET session = ?, connection = ?, status = 'running', "
                    "ended = NULL, problem = NULL WHERE run = ?",
                    (self.session.uid, to_json(connected), run),
                )
        return {run: RunRecorder(run, self._writer) for run in runs}

    def spent(self, runs: Sequence[int]) -> tuple[int, int, float]:
        """What language models have cost in runs and in those that were started with them.

        Args:
            runs: their numbers.

        Returns:
            Requests, tokens and dollars. Answers that a fork copied were paid for elsewhere.

        Raises:
            RecordingError: when it cannot be read.
        """
        with self._transaction() as connection:
            asks, tokens, usd = connection.execute(
                "SELECT count(*), total(prompt_tokens + completion_tokens), total(cost_usd) "
                "FROM asks WHERE (mind LIKE 'llm:%' OR mind LIKE 'embedding:%') "
                "AND NOT copied AND run IN (SELECT run FROM runs "
                "WHERE command IN (SELECT command FROM runs "
                f"WHERE run IN ({', '.join(map(str, runs))})))"
            ).fetchone()
        return int(asks), int(tokens), float(usd)

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

    @contextmanager
    def together(self) -> Iterator[None]:
        """Enter all runs of the block at once: all of them, or none."""
        with self._transaction() as connection:
            self._joint = connection
            try:
                yield
            finally:
                self._joint = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if self._joint is not None:
            yield self._joint
            return
        try:
            with closing(self._connect()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise RecordingError(f"Cannot write the recording {self.path}: {error}.") from None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=_BUSY_S, isolation_level=None)
        try:
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'OFF'}")
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        is_recording = check_kind(self.path, connection)
        check_whole(self.path, connection)
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
