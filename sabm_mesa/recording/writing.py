"""Writing recordings: runs, every answer and the collected data.

A paid answer is on disk before the model uses it. Data that can be computed again for free are
written together with later answers, at the latest when the run ends.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import math
import os
import sqlite3
import threading
import time
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from itertools import count, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from sabm_mesa.core import engine
from sabm_mesa.core.asks import Attempt
from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import OutputError, ParameterError, RecordingError, RunError
from sabm_mesa.recording.keeping import Kept, check_locks, reason
from sabm_mesa.recording.reading import RecordedRun
from sabm_mesa.recording.store import (
    ASK_COLUMNS,
    DELETE_SENT,
    INSERT_AGENT_DATA,
    INSERT_ASK,
    INSERT_MESSAGE_DATA,
    INSERT_MODEL_DATA,
    INSERT_SENT,
    RunHeader,
    Session,
    Statement,
    ask_statements,
    check_kind,
    check_pages,
    check_schema,
    create_tables,
    open_for_reading,
    sent_row,
    session_is_open,
    text_statement,
    unusable,
)

RoundRows = tuple[Sequence[Any], Sequence[Sequence[Any]], Sequence[Sequence[Any]]]
"""The values of a round: of the model columns; of the agent columns, for each agent; and of
`MESSAGE_COLUMNS`, for each message."""
COMMIT_AT = 4000
"""The number of waiting rows that starts a commit, and that makes `BatchWriter.add` block during a
commit: both bound the memory."""
CACHE_KIB, CHECKPOINT_AT = 16_384, 8000
"""Memory for pages of the file, and the number of pages in the log that starts a checkpoint.
Digests of texts are spread over the whole file, so each commit of a large file changes many pages.
With SQLite's defaults these would be read and moved each time."""
LINGER_S = 0.1
"""The longest delay in seconds until the data of a round are committed."""
FOLDER = Path("sabm_recordings")
"""The folder for runs with paid answers when no recording is given. Only its owner can read it,
since it has the words of people in games."""
_BUSY_S = 60.0
_TABLES = ("runs", "asks", "model_data", "agent_data", "message_data", "sent")
"""The tables with rows of a run."""
fsync = getattr(os, "fdatasync", os.fsync)
"""As in SQLite: the size of a file is written, its time of modification need not be."""
_open: weakref.WeakSet[BatchWriter] = weakref.WeakSet()
_numbers, _notes = count(), count()


class Recording:
    """A recording that is open for writing; several processes may write to one file.

    Args:
        path: the file; it and its folder are created when they do not exist.
        durable: whether commits must survive a crash of the machine.

    Attributes:
        path: the file, as it was given.
        session: identifies the runs that are written here.
        writer: writes their rows.

    Raises:
        OutputError: when the folder or the file cannot be written.
        RecordingError: when the file is not a recording, damaged, or of another format.
    """

    def __init__(self, path: str | Path, *, durable: bool = True) -> None:
        self.path, self._durable = Path(path), durable
        self._file = Path(os.path.realpath(self.path))  # also in another working directory
        try:
            new = not self._file.exists()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            check_locks(self._file.parent)
            _make_writable(self.path)
        except OSError as error:
            raise OutputError(
                f"Cannot write {self.path} ({reason(error, self.path)}): choose another folder."
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
        self.before_close: list[Callable[[], object]] = []
        """End runs that nobody else ends, when the recording is closed."""
        self.session = Session(self._file)
        log = self._file.with_name(f"{self._file.name}-wal") if durable else None
        self.writer = BatchWriter(self.path, self._connect, log)

    def start(self, header: RunHeader, *, close: bool = False) -> RunRecorder:
        """Begin a run.

        Args:
            header: the header of the run.
            close: whether the recording is closed with the recorder of this run.

        Returns:
            Its recorder; the number of the run is the next free one in the file.

        Raises:
            RecordingError: when it cannot be written.
        """
        run, session = self._enter(header), self.session.uid
        return RunRecorder(run, self.writer, self.path, session, self if close else None)

    def start_fork(self, parent: RecordedRun, branch: RecordedRun) -> int:
        """Enter a run that begins with the history of another one, all of it on disk.

        Args:
            parent: the run that is forked.
            branch: the same run with the forks and texts of the new one; its last fork has the
                first round with the new parameters.

        Returns:
            The number of the new run.

        Raises:
            RecordingError: when it cannot be written, or the parent cannot be read.
        """
        at = branch.forks[-1]["at"]

        def history(run: int) -> Iterator[Statement]:
            for key, row in parent.asks.items():
                if key[0] < at:
                    yield from _copied(run, row, parent)
            for round_ in range(at):
                yield INSERT_MODEL_DATA, [run, round_, parent.model_data[round_]]
                yield INSERT_AGENT_DATA, [run, round_, parent.agent_data[round_]]
                yield INSERT_MESSAGE_DATA, [run, round_, parent.message_data[round_]]

        return self._enter(branch, parent.uid, history)

    def merge(self, runs: Iterable[RecordedRun], connected: Mapping[str, Any]) -> None:
        """Add runs of other recordings, all or none; those that are here already are left out.

        Args:
            runs: the runs, in the order in which they get the next free numbers.
            connected: the connection to language models of the command that played them.

        Raises:
            RecordingError: when it cannot be written, or another recording cannot be read.
        """
        with self._transaction() as connection:
            known = {uid for (uid,) in connection.execute("SELECT uid FROM runs")}
            new = [run for run in runs if run.uid not in known]
            for path in dict.fromkeys(run.path for run in new):
                with open_for_reading(path, check=False) as other:
                    for table in ("prompts", "texts"):
                        connection.executemany(
                            f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT DO NOTHING",
                            map(tuple, other.execute(f"SELECT * FROM {table}")),
                        )
            for number, run in enumerate(new, _next_number(connection)):
                header = {"run": number, "command": self.session.uid}
                if run.connection:
                    header["connection"] = to_json(connected)
                with open_for_reading(run.path, check=False) as other:
                    for table in _TABLES:
                        rows = other.execute(f"SELECT * FROM {table} WHERE run = ?", (run.run,))
                        changed = header if table == "runs" else {"run": number}
                        _insert(connection, table, [{**row, **changed} for row in rows])

    def _enter(
        self,
        header: RunHeader,
        parent: str | None = None,
        rows: Callable[[int], Iterable[Statement]] = lambda _: (),
    ) -> int:
        """Enter a run and its rows completely or not at all; return its number."""
        with self._transaction() as connection:
            run = _next_number(connection)
            connection.executemany(
                "INSERT INTO prompts VALUES (?, ?) ON CONFLICT DO NOTHING", header.texts.items()
            )
            uid, session = f"r{uuid.uuid4().hex[:31]}", self.session.uid
            entry = {
                **header.as_row(), "run": run, "uid": uid, "command": session, "parent": parent,
                "started": now(), "status": "running", "session": session,
            }  # fmt: skip
            _insert(connection, "runs", [entry])
            _execute(connection, rows(run))
        return run

    def claim(self, runs: Sequence[int], connected: Mapping[str, Any]) -> dict[int, RunRecorder]:
        """Continue runs of the file, all or none; no other session may be writing them.

        Args:
            runs: their numbers.
            connected: the new connection to language models.

        Returns:
            The number of each run → its recorder.

        Raises:
            RecordingError: when a run is being written, or cannot be written.
        """
        with self._transaction() as connection:
            for run in runs:
                (session,) = connection.execute(
                    "SELECT session FROM runs WHERE run = ?", (run,)
                ).fetchone()
                if session != self.session.uid and session_is_open(self._file, session):
                    raise RecordingError(
                        f"Run {run} of {self.path} is in use: it is still being written. "
                        "Wait until that has ended, or stop it."
                    )
                connection.execute(
                    "UPDATE runs SET session = ?, connection = ?, status = 'running', "
                    "ended = NULL, problem = NULL, end_reason = NULL WHERE run = ?",
                    (self.session.uid, to_json(connected), run),
                )
        session = self.session.uid
        return {run: RunRecorder(run, self.writer, self.path, session) for run in runs}

    def close(self) -> None:
        """Write the remaining rows and close the file.

        Raises:
            RecordingError: when it cannot be written.
        """
        try:
            while self.before_close:
                self.before_close.pop()()
            self.writer.close()
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
        if is_recording:  # a trigger in it could do more than is written
            check_schema(self.path, connection)
        check_pages(self.path, connection)
        _write_ahead(connection)
        if not is_recording:
            create_tables(connection)


def _make_writable(path: Path) -> None:
    """Create a missing file; raise `OSError` when it cannot be written."""
    if not path.exists():
        path.open("ab").close()
        return
    # Not by opening it: closing it again would end the locks that this process has on it.
    why = errno.EISDIR if path.is_dir() else 0 if os.access(path, os.W_OK) else errno.EACCES
    if why:
        raise OSError(why, os.strerror(why))


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


def _copied(run: int, answer: sqlite3.Row, parent: RecordedRun) -> Iterator[Statement]:
    """An answer of the parent as one of the new run, with its texts."""
    for _, text in parent.chat(answer):
        yield text_statement(text)
    if provenance := parent.provenance(answer):
        yield text_statement(provenance)
    row = [run, *tuple(answer)[1:]]
    row[ASK_COLUMNS.index("copied")] = True
    yield INSERT_ASK, row


def _execute(connection: sqlite3.Connection, statements: Iterable[Statement]) -> None:
    for sql, group in groupby(statements, itemgetter(0)):
        connection.executemany(sql, [row for _, row in group])


def _next_number(connection: sqlite3.Connection) -> int:
    """The next free number of a run."""
    (number,) = connection.execute("SELECT coalesce(max(run) + 1, 0) FROM runs").fetchone()
    return int(number)


def _insert(
    connection: sqlite3.Connection, table: str, entries: Sequence[Mapping[str, Any]]
) -> None:
    """Insert entries, column → value, which have the same columns."""
    if entries:
        columns = ", ".join(entries[0])
        places = ", ".join(f":{column}" for column in entries[0])
        connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", entries)


class Recorder(ABC):
    """Recipient of the attempts, the data and the end of a run.

    Attributes:
        run: the number of the run in its recording; 0 without one.
        path: the recording, or None.
    """

    run: int = 0
    path: Path | None = None

    def enter(self, header: RunHeader) -> None:  # noqa: B027 - most have nothing to do
        """Begin the run."""

    def check_paid(self, mind: str) -> None:  # noqa: B027 - most write what is paid for
        """Check that paid answers are recorded, before a mind is asked for one.

        Args:
            mind: the spec of the mind.

        Raises:
            RunError: when the run is not recorded, and the user did not ask for that.
        """

    async def note_sent(self, model: str, most: Usage) -> int | None:
        """Note a request before it is sent; return once written.

        Args:
            model: the name of the language model.
            most: the highest cost of the answer.

        Returns:
            The note, which the attempt with the answer names; None without a recording.
        """
        del model, most
        return None

    def take_back(self, note: int) -> None:  # noqa: B027 - most note nothing
        """Remove the note of a request that cost nothing."""

    @abstractmethod
    def record(self, attempt: Attempt, *, durable: bool) -> Awaitable[None] | None:
        """Report one attempt; with `durable`, return a future that is done when it is on disk."""

    @abstractmethod
    def collect(self, round_: int, rows: Callable[[], RoundRows]) -> None:
        """Report the data of one round."""

    def flush(self) -> None:  # noqa: B027 - most write nothing
        """Wait until all reports are on disk, as far as they can be written."""

    @abstractmethod
    async def finish(
        self,
        problem: str = "",
        end_reason: str = "",
        measures: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Report the end of the run."""

    def close(self) -> None:  # noqa: B027 - most have nothing to do
        """Close a recording that was opened for this run alone."""


class RunRecorder(Recorder):
    """Records one run.

    Args:
        run: its number in the recording.
        writer: the writer of the recording.
        path: the recording.
        session: the identifier of the writer's session.
        recording: the recording if it was opened for this run alone, or None.
    """

    def __init__(
        self,
        run: int,
        writer: BatchWriter,
        path: Path,
        session: str,
        recording: Recording | None = None,
    ) -> None:
        self.run, self.path = run, path
        self._writer, self._session, self._own = writer, session, recording

    async def note_sent(self, model: str, most: Usage) -> int:
        """Note a request before it is sent; return once written.

        A note survives a crash of the process, but need not survive a crash of the machine.

        Args:
            model: the name of the language model.
            most: the highest cost of the answer.

        Raises:
            RecordingError: when it cannot be written.
        """
        note = next(_notes)
        row = sent_row(self._session, note, self.run, model, most)
        try:
            await self._writer.written((INSERT_SENT, row))
        except asyncio.CancelledError:  # it will not be sent
            self.take_back(note)
            raise
        return note

    def take_back(self, note: int) -> None:
        """Remove the note of a request that cost nothing, with the next commit.

        Args:
            note: the note.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        self._writer.add((DELETE_SENT, [self._session, note]))

    def record(self, attempt: Attempt, *, durable: bool) -> asyncio.Future[None] | None:
        """Write one attempt.

        Args:
            attempt: the attempt.
            durable: whether its user waits until it is on disk.

        Returns:
            With `durable`, a future that is done when it is on disk.

        Raises:
            RecordingError: when an earlier commit failed; also by the future.
        """
        statements = ask_statements(self.run, attempt)
        if attempt.reply.note is not None:
            statements.append((DELETE_SENT, [self._session, attempt.reply.note]))
        if durable:
            return self._writer.committed(*statements)
        self._writer.add(*statements)
        return None

    def collect(self, round_: int, rows: Callable[[], RoundRows]) -> None:
        """Write the data of one round.

        Args:
            round_: the round.
            rows: returns its rows.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        model_row, agent_rows, message_rows = rows()
        self._writer.add(
            (INSERT_MODEL_DATA, [self.run, round_, to_json(model_row)]),
            (INSERT_AGENT_DATA, [self.run, round_, to_json(agent_rows)]),
            (INSERT_MESSAGE_DATA, [self.run, round_, to_json(message_rows)]),
        )
        self._writer.commit_soon()

    def flush(self) -> None:
        """Wait until all reports are on disk; a recording that cannot be written ends its run."""
        with contextlib.suppress(RecordingError):
            engine.run(self._on_disk())

    async def _on_disk(self) -> None:
        await self._writer.committed()

    async def finish(
        self,
        problem: str = "",
        end_reason: str = "",
        measures: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Write the end of the run, and flush everything to disk.

        Args:
            problem: why it failed, or ``""``.
            end_reason: why it ended, or ``""``.
            measures: computes its end measures; it is not called when the run failed.

        Raises:
            RecordingError: when it cannot be written.
        """
        status = "failed" if problem else "finished"
        measured = None if problem else to_json(measures())
        ended = (
            "UPDATE runs SET ended = ?, status = ?, problem = ?, end_reason = ?, measures = ? "
            "WHERE run = ?"
        )
        row = [now(), status, problem or None, end_reason or None, measured, self.run]
        await self._writer.committed((ended, row))

    def close(self) -> None:
        """Close the recording if it belongs to the run; a second call changes nothing."""
        if self._own is not None:
            self._own.close()
            self._own = None


class NoRecording(Recorder):
    """Records nothing: for runs that can be repeated for free.

    Args:
        wanted: whether the user asked for no recording.
    """

    def __init__(self, *, wanted: bool = True) -> None:
        self._wanted = wanted

    def check_paid(self, mind: str) -> None:
        """Refuse a paid question, unless the user asked for no recording."""
        if not self._wanted:
            raise RunError(
                f"The mind {mind!r} costs money, and the run, which began with free minds only, is "
                "not recorded. Give the model recording=PATH, or recording=False to keep nothing."
            )

    def record(self, attempt: Attempt, *, durable: bool) -> None:
        """Record nothing."""

    def collect(self, round_: int, rows: Callable[[], RoundRows]) -> None:
        """Record nothing."""

    async def finish(
        self,
        problem: str = "",
        end_reason: str = "",
        measures: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Record nothing."""


Where = Recording | Recorder | str | Path | bool | None
"""The place of a recording: an open recording, which others may share, and which the caller closes;
a recorder, such as that of a replay; a path; False for nowhere; None for a new file in `FOLDER` if
answers are paid for, otherwise nowhere."""


def check_where(where: Any) -> None:
    """Check that a run can be recorded there.

    Args:
        where: the given place; see `Where`.

    Raises:
        ParameterError: for anything else.
    """
    if where is not None and not isinstance(where, Recording | Recorder | str | Path | bool):
        raise ParameterError(
            f"recording must be a Recording, a path or False, not {where!r}.",
            parameter="recording",
        )


def is_recorded(where: Where, *, paid: bool) -> bool:
    """Whether a run is written to a file, as opposed to compared with one or left unrecorded.

    Args:
        where: the place of its recording.
        paid: whether answers are paid for.
    """
    return isinstance(where, Recording | str | Path) or (where is None and paid)


def open_recorder(where: Where, header: Callable[[], RunHeader], *, paid: bool) -> Recorder:
    """Enter a run in its recording.

    Args:
        where: the place of its recording.
        header: creates the header of the run; it is called only if the run is recorded.
        paid: whether answers are paid for.

    Raises:
        OutputError: when the recording cannot be written.
        RecordingError: when the file is not a recording, damaged, or of another format.
        ReplayMismatch: when the data of a replay differ from the recorded ones.
    """
    if isinstance(where, Recorder):
        where.enter(header())
        return where
    if isinstance(where, Recording):
        return where.start(header())
    if isinstance(where, bool) or (where is None and not paid):
        return NoRecording(wanted=where is not None)
    begun = header()
    recording = Recording(new_path(begun.scenario) if where is None else where)
    try:
        return recording.start(begun, close=True)
    except BaseException:
        recording.close()
        raise


def new_path(scenario: str) -> Path:
    """A path for a recording in `FOLDER`, which is created if needed.

    Args:
        scenario: the name of the scenario.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    with contextlib.suppress(OSError):  # opening the recording says what is wrong
        FOLDER.mkdir(mode=0o700)
    return FOLDER / f"{scenario}-{stamp}-{os.getpid()}-{next(_numbers)}.sqlite"


def now() -> str:
    """The time in UTC, in its recorded form."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class BatchWriter:
    """Writes rows on its own thread: many rows per commit, and a future for each waiter.

    One commit serves all rows that arrived during the previous one, and one `fsync` serves all
    commits before it, so hundreds of answers per second can be durable before they are used.
    Committed rows survive a crash of the process; rows on disk also survive a crash of the machine.
    The `fsync` has its own thread, so requests are noted and sent while the disk is busy with other
    answers.

    Args:
        path: the file, for errors.
        connect: opens the connection, on the writer's thread.
        log: the write-ahead log of the file, which is flushed to disk; None leaves that to SQLite.
    """

    def __init__(
        self, path: Path, connect: Callable[[], sqlite3.Connection], log: Path | None = None
    ) -> None:
        self._path, self._connect = path, connect
        self._log = log
        self._rows: list[Statement] = []
        self._promises: dict[bool, Future[None]] = {}
        self._waiting: dict[bool, _Waiters] = {}
        self._due = math.inf
        self._wake = threading.Condition()
        self._wanted = self._closing = False
        self._failure: RecordingError | None = None
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
            self._add(statements)

    def commit_soon(self) -> None:
        """Flush all rows to disk after `LINGER_S`, without waiting.

        Many short rounds then share a commit.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        with self._wake:
            self._check()
            if self._due == math.inf:
                self._due = time.monotonic() + LINGER_S
                self._wake.notify()

    def committed(self, *statements: Statement) -> asyncio.Future[None]:
        """Add rows, and flush all rows to disk; one future for each waiter on the loop.

        The commit begins after all ready coroutines of the loop have run, so answers that arrived
        together share it.

        Args:
            statements: (SQL, row) each; the next commit holds all of them or none.

        Raises:
            RecordingError: when an earlier commit failed; also by the future.
        """
        return self._awaited(statements, on_disk=True)

    def written(self, *statements: Statement) -> asyncio.Future[None]:
        """Add rows, and commit all rows, without a flush to disk.

        Args:
            statements: (SQL, row) each; the next commit holds all of them or none.

        Raises:
            RecordingError: when an earlier commit failed; also by the future.
        """
        return self._awaited(statements, on_disk=False)

    def close(self) -> None:
        """Write the remaining rows and end the thread.

        Raises:
            RecordingError: when it cannot be written.
        """
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _add(self, statements: Sequence[Statement]) -> None:
        """Add rows when there is room for them; the caller holds the lock."""
        while len(self._rows) >= COMMIT_AT and self._failure is None and not self._closing:
            self._wake.wait()
        self._check()
        self._rows += statements
        if len(self._rows) >= COMMIT_AT:
            self._wake.notify()

    def _awaited(self, statements: Sequence[Statement], *, on_disk: bool) -> asyncio.Future[None]:
        loop, waiting = asyncio.get_running_loop(), self._waiting.get(on_disk)
        with self._wake:
            self._add(statements)
            promise = self._promise(on_disk=on_disk)
            if waiting is None or waiting.promise is not promise or waiting.loop is not loop:
                waiting = self._waiting[on_disk] = _Waiters(promise, loop)
                loop.call_soon(self._begin)
        return waiting.join()

    def _promise(self, *, on_disk: bool) -> Future[None]:
        """The promise of the next commit or flush; all rows that arrive before share it."""
        if on_disk not in self._promises:
            self._promises[on_disk] = Future()
        return self._promises[on_disk]

    def _begin(self) -> None:
        """Let the next commit begin."""
        with self._wake:
            self._wanted = True
            self._wake.notify()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closing:
            raise RecordingError(f"The recording {self._path} is closed.")

    def _run(self) -> None:
        try:
            with closing(self._connect()) as connection, ExitStack() as stack:
                connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_AT}")
                # What is written needs no descriptor that is not open by then.
                connection.execute("PRAGMA temp_store = MEMORY")
                if self._log is not None:
                    connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
                kept = Kept(self._path, connection)
                disk = stack.enter_context(closing(_Disk(self._log, self._lost)))
                while self._next(connection, disk, kept):
                    pass
        except Exception as error:  # noqa: BLE001 - every waiter gets the error
            self._fail(RecordingError(f"Cannot write the recording {self._path}: {error}."), [])

    def _fail(self, failure: RecordingError, promises: list[Future[None]]) -> None:
        with self._wake:
            self._failure = failure
            promises += self._promises.values()
            self._promises = {}
            self._wake.notify_all()
        for promise in promises:
            promise.set_exception(failure)

    def _lost(self, error: Exception, promises: list[Future[None]]) -> None:
        self._fail(RecordingError(f"Cannot write the recording {self._path}: {error}."), promises)

    def _next(self, connection: sqlite3.Connection, disk: _Disk, kept: Kept) -> bool:
        with self._wake:
            while (left_s := self._due - time.monotonic()) > 0 and not (
                self._wanted or self._closing or len(self._rows) >= COMMIT_AT
            ):
                self._wake.wait(None if left_s == math.inf else left_s)
            if left_s <= 0 or self._closing:  # no request waits for it
                self._promise(on_disk=True)
            rows, self._rows, self._wanted = self._rows, [], False
            if len(rows) >= COMMIT_AT:
                self._wake.notify_all()
            promises, self._promises = self._promises, {}
            if True in promises:
                self._due = math.inf
            closing = self._closing
        failure = self._write(connection, rows) or kept.problem(connection)
        if failure is not None:
            self._fail(failure, list(promises.values()))
            return False
        for on_disk, promise in promises.items():
            if on_disk:
                disk.take(promise)
            else:
                promise.set_result(None)
        return not closing

    def _write(
        self, connection: sqlite3.Connection, rows: list[Statement]
    ) -> RecordingError | None:
        if not rows:
            return None
        try:
            connection.execute("BEGIN IMMEDIATE")
            _execute(connection, rows)
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


class _Disk:
    """Flushes a log to disk, on its own thread.

    Args:
        log: the log, which exists and is kept open; None: there is nothing to do.
        lost: called with the error, and with the promises that cannot be fulfilled.

    Raises:
        OSError: when it cannot be opened.
    """

    def __init__(
        self, log: Path | None, lost: Callable[[Exception, list[Future[None]]], None]
    ) -> None:
        self._lost = lost
        self._log = None if log is None else os.open(log, os.O_RDWR)
        self._taken = threading.Condition()
        self._promises: list[Future[None]] = []
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="sabm-disk", daemon=True)
        if log is not None:
            self._thread.start()

    def take(self, promise: Future[None]) -> None:
        """Fulfil a promise: all commits so far are on disk."""
        if self._log is None:
            promise.set_result(None)
            return
        with self._taken:
            self._promises.append(promise)
            self._taken.notify()

    def close(self) -> None:
        """Fulfil all promises and end the thread."""
        with self._taken:
            self._closing = True
            self._taken.notify()
        if self._log is not None:
            self._thread.join()
            os.close(self._log)

    def _run(self) -> None:
        lost: Exception | None = None
        while promises := self._next():
            if lost is None:
                try:
                    assert self._log is not None
                    fsync(self._log)
                except Exception as error:  # noqa: BLE001 - every waiter gets the error
                    lost = error
            if lost is not None:  # a later `fsync` would not bring to disk what this one lost
                self._lost(lost, promises)
                continue
            for promise in promises:
                promise.set_result(None)

    def _next(self) -> list[Future[None]]:
        """The promises so far; none when it is closed."""
        with self._taken:
            while not (self._promises or self._closing):
                self._taken.wait()
            promises, self._promises = self._promises, []
        return promises


class _Waiters:
    """Coroutines of one loop that wait for the same commit and share one wake-up."""

    def __init__(self, promise: Future[None], loop: asyncio.AbstractEventLoop) -> None:
        self.promise, self.loop = promise, loop
        self._futures: list[asyncio.Future[None]] = []
        promise.add_done_callback(self._kept)

    def join(self) -> asyncio.Future[None]:
        """One future per waiter, so that cancelling one does not affect the others."""
        future = self.loop.create_future()
        self._futures.append(future)
        return future

    def _kept(self, _promise: Future[None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: there are no waiters left
            self.loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        failure, futures = self.promise.exception(), self._futures
        self._futures = []  # the promise keeps those that it has called
        for future in futures:
            if future.done():
                continue
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)


def _close_all() -> None:
    """Write the remaining rows when the process ends with open recordings."""
    for writer in list(_open):
        with contextlib.suppress(RecordingError):
            writer.close()


atexit.register(_close_all)
