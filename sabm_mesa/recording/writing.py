"""Writing recordings: runs, every answer and the collected data.

A paid answer is on disk before the model uses it. Data that can be computed again for free are
written together with later answers, at the latest when the run ends.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import os
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from sabm_mesa.core import engine
from sabm_mesa.core.answers import Decision, Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import OutputError, ParameterError, RecordingError, RunError
from sabm_mesa.recording.keeping import Kept, check_locks, reason
from sabm_mesa.recording.reading import RecordedRun
from sabm_mesa.recording.rows import (
    AgentData,
    AskRow,
    MessageData,
    ModelData,
    PromptRow,
    RunRow,
    Statement,
    TextRow,
    ask_row,
    columns,
    insert,
    insert_attempt,
    insert_request,
    insert_text,
)
from sabm_mesa.recording.store import (
    Session,
    check_file,
    create_tables,
    open_for_reading,
    session_is_open,
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
_OF_RUN: tuple[Any, ...] = (AskRow, ModelData, AgentData, MessageData)
"""The tables with rows of a run."""
_open: weakref.WeakSet[BatchWriter] = weakref.WeakSet()
_numbers = count()


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
        self.session = Session(self._file)
        self.writer = BatchWriter(self.path, self._connect)

    def start(self, header: RunRow, *, close: bool = False) -> RunRecorder:
        """Begin a run.

        Args:
            close: whether the recording is closed with the recorder of this run.

        Returns:
            Its recorder; the number of the run is the next free one in the file.

        Raises:
            RecordingError: when it cannot be written.
        """
        run = self._enter(header)
        return RunRecorder(run, self.writer, self.path, recording=self if close else None)

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
            for row in parent.asks.values():
                if row.round < at:
                    yield from map(insert_text, parent.texts_of(row))
                    yield insert(replace(row, run=run, copied=True))
            for round_ in range(at):
                yield insert(ModelData(run, round_, parent.model_data[round_]))
                yield insert(AgentData(run, round_, parent.agent_data[round_]))
                yield insert(MessageData(run, round_, parent.message_data[round_]))

        return self._enter(branch, parent.uid, history)

    def merge(self, runs: Iterable[RecordedRun], connected: Mapping[str, Any]) -> None:
        """Add runs of other recordings, all or none; those that are here already are left out.

        Args:
            connected: the connection to language models of the command that played them.

        Raises:
            RecordingError: when it cannot be written, or another recording cannot be read.
        """
        with self._transaction() as connection:
            known = {uid for (uid,) in connection.execute("SELECT uid FROM runs")}
            new = [run for run in runs if run.uid not in known]
            for path in dict.fromkeys(run.path for run in new):
                with open_for_reading(path, check=False) as other:
                    for table, row_of in (("prompts", PromptRow), ("texts", TextRow)):
                        stored = other.execute(f"SELECT * FROM {table}")
                        new_texts = (insert(row_of(*row), "INSERT OR IGNORE") for row in stored)
                        _execute(connection, new_texts)
            for number, run in enumerate(new, _next_number(connection)):
                changed = {"run": number, "command": self.session.uid}
                if run.connection:
                    changed["connection"] = to_json(connected)
                with open_for_reading(run.path, check=False) as other:
                    of_run = "SELECT * FROM {} WHERE run = ?"
                    (row,) = other.execute(of_run.format("runs"), (run.run,))
                    _execute(connection, [insert(RunRow(**{**row, **changed}))])
                    for kind in _OF_RUN:
                        stored = other.execute(of_run.format(kind.table), (run.run,))
                        rows = (kind(number, *tuple(row)[1:]) for row in stored)
                        _execute(connection, map(insert, rows))

    def _enter(
        self,
        header: RunRow,
        parent: str | None = None,
        rows: Callable[[int], Iterable[Statement]] = lambda _: (),
    ) -> int:
        """Enter a run and its rows completely or not at all; return its number."""
        with self._transaction() as connection:
            run = _next_number(connection)
            uid, session = f"r{uuid.uuid4().hex[:31]}", self.session.uid
            given = {name: getattr(header, name) for name in columns(RunRow)}
            entry = RunRow(**given | {
                "run": run, "uid": uid, "command": session, "parent": parent, "started": now(),
                "ended": None, "session": session, "status": "running", "problem": None,
                "end_reason": None, "measures": None,
            })  # fmt: skip
            prompts = (PromptRow(*item) for item in header.texts.items())
            _execute(connection, (insert(prompt, "INSERT OR IGNORE") for prompt in prompts))
            _execute(connection, [insert(entry)])
            _execute(connection, rows(run))
        return run

    def claim(self, runs: Sequence[int], connected: Mapping[str, Any]) -> dict[int, RunRecorder]:
        """Continue runs of the file, all or none; no other session may be writing them.

        Returns:
            The number of each run → its recorder.

        Raises:
            RecordingError: when a run is being written, or cannot be written.
        """
        sent: dict[int, int] = {}
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
                (sent[run],) = connection.execute(
                    "SELECT coalesce(max(sent), 0) FROM asks WHERE run = ?", (run,)
                ).fetchone()
        return {run: RunRecorder(run, self.writer, self.path, sent[run]) for run in runs}

    def close(self) -> None:
        """Write the remaining rows and close the file.

        Raises:
            RecordingError: when it cannot be written.
        """
        try:
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
        is_recording = check_file(self.path, connection)
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


def _execute(connection: sqlite3.Connection, statements: Iterable[Statement]) -> None:
    for sql, group in groupby(statements, itemgetter(0)):
        connection.executemany(sql, [row for _, row in group])


def _next_number(connection: sqlite3.Connection) -> int:
    """The next free number of a run."""
    (number,) = connection.execute("SELECT coalesce(max(run) + 1, 0) FROM runs").fetchone()
    return int(number)


class Recorder:
    """Recipient of the attempts, the data and the end of a run; this one records nothing.

    Args:
        wanted: whether the user asked for no recording.

    Attributes:
        run: the number of the run in its recording; 0 without one.
        path: the recording, or None.
    """

    run: int = 0
    path: Path | None = None

    def __init__(self, *, wanted: bool = True) -> None:
        self._wanted = wanted

    def enter(self, header: RunRow) -> None:
        """Begin the run."""

    def check_paid(self, mind: str) -> None:
        """Check that paid answers are recorded, before a mind is asked for one.

        Raises:
            RunError: when the run is not recorded, and the user did not ask for that.
        """
        if not self._wanted:
            raise RunError(
                f"The mind {mind!r} costs money, and the run, which began with free minds only, is "
                "not recorded. Give the model recording=PATH, or recording=False to keep nothing."
            )

    def requests_of(self, ask: Ask, mind: str) -> RequestRows | None:
        """Writes the rows of the requests for an ask; None without a recording."""
        del ask, mind
        return None

    def record(
        self, ask: Ask, mind: str, reply: Reply, decision: Decision, *, final: bool, durable: bool
    ) -> Awaitable[None] | None:
        """Report one attempt; with `durable`, return a future that is done when it is on disk."""

    def collect(self, round_: int, rows: Callable[[], RoundRows]) -> None:
        """Report the data of one round."""

    def flush(self) -> None:
        """Wait until all reports are on disk, as far as they can be written."""

    async def finish(
        self,
        problem: str = "",
        end_reason: str = "",
        measures: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Report the end of the run."""

    def close(self) -> None:
        """Close a recording that was opened for this run alone."""


class RequestRows:
    """Writes the row of each request for an ask before it is sent."""

    def __init__(
        self, run: int, writer: BatchWriter, numbers: Iterator[int], ask: Ask, mind: str
    ) -> None:
        self._run, self._writer, self._numbers = run, writer, numbers
        self._ask, self._mind = ask, mind

    async def note_sent(self, model: str, most: Usage) -> int:
        """Write the row of a request; return its number once the row is on disk.

        Raises:
            RecordingError: when it cannot be written.
        """
        sent = next(self._numbers)
        rows = insert_request(self._run, self._ask, sent, self._mind, model, most)
        try:
            await self._writer.committed(*rows)
        except asyncio.CancelledError:  # it will not be sent
            self.take_back(sent)
            raise
        return sent

    def take_back(self, sent: int) -> None:
        """Remove the row of a request that cost nothing, with the next commit.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        key = self._run, *self._ask.key, len(self._ask.rejected), sent
        self._writer.add((_DELETE_REQUEST, key))


_DELETE_REQUEST = (
    "DELETE FROM asks WHERE (run, round, phase, agent, call, attempt, sent) = (?, ?, ?, ?, ?, ?, ?)"
)


class RunRecorder(Recorder):
    """Records one run.

    Args:
        sent: the number of its last request so far.
        recording: the recording if it was opened for this run alone, or None.
    """

    def __init__(
        self,
        run: int,
        writer: BatchWriter,
        path: Path,
        sent: int = 0,
        recording: Recording | None = None,
    ) -> None:
        super().__init__()
        self.run, self.path = run, path
        self._writer, self._numbers, self._own = writer, count(sent + 1), recording

    def requests_of(self, ask: Ask, mind: str) -> RequestRows:
        """Writes the rows of the requests for an ask."""
        return RequestRows(self.run, self._writer, self._numbers, ask, mind)

    def record(
        self, ask: Ask, mind: str, reply: Reply, decision: Decision, *, final: bool, durable: bool
    ) -> asyncio.Future[None] | None:
        """Write one attempt.

        Args:
            final: whether it decides; otherwise the question is asked again.
            durable: whether its user waits until it is on disk.

        Returns:
            With `durable`, a future that is done when it is on disk.

        Raises:
            RecordingError: when an earlier commit failed; also by the future.
        """
        row = ask_row(self.run, ask, mind, reply, decision, final=final)
        statements = insert_attempt(row, ask, reply)
        if durable:
            return self._writer.committed(*statements)
        self._writer.add(*statements)
        return None

    def collect(self, round_: int, rows: Callable[[], RoundRows]) -> None:
        """Write the data of one round.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        model_row, agent_rows, message_rows = rows()
        self._writer.add(
            insert(ModelData(self.run, round_, to_json(model_row))),
            insert(AgentData(self.run, round_, to_json(agent_rows))),
            insert(MessageData(self.run, round_, to_json(message_rows))),
        )

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
        row = (now(), status, problem or None, end_reason or None, measured, self.run)
        await self._writer.committed((ended, row))

    def close(self) -> None:
        """Close the recording if it belongs to the run; a second call changes nothing."""
        if self._own is not None:
            self._own.close()
            self._own = None


Where = Recording | Recorder | str | Path | bool | None
"""The place of a recording: an open recording, which others may share, and which the caller closes;
a recorder, such as that of a replay; a path; False for nowhere; None for a new file in `FOLDER` if
answers are paid for, otherwise nowhere."""


def check_where(where: Any) -> None:
    """Check that a run can be recorded there.

    Raises:
        ParameterError: for anything else.
    """
    if where is not None and not isinstance(where, Recording | Recorder | str | Path | bool):
        raise ParameterError(
            f"recording must be a Recording, a path or False, not {where!r}.",
            parameter="recording",
        )


def is_recorded(where: Where, *, paid: bool) -> bool:
    """Whether a run is written to a file, as opposed to compared with one or left unrecorded."""
    return isinstance(where, Recording | str | Path) or (where is None and paid)


def open_recorder(where: Where, header: Callable[[], RunRow], *, paid: bool) -> Recorder:
    """Enter a run in its recording.

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
        return Recorder(wanted=where is not None)
    begun = header()
    recording = Recording(new_path(begun.scenario) if where is None else where)
    try:
        return recording.start(begun, close=True)
    except BaseException:
        recording.close()
        raise


def new_path(scenario: str) -> Path:
    """A path for a recording in `FOLDER`, which is created if needed."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    with contextlib.suppress(OSError):  # opening the recording says what is wrong
        FOLDER.mkdir(mode=0o700)
    return FOLDER / f"{scenario}-{stamp}-{os.getpid()}-{next(_numbers)}.sqlite"


def now() -> str:
    """The time in UTC, in its recorded form."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class BatchWriter:
    """Writes rows on its own thread: many rows per commit, and each commit is flushed to disk.

    One commit serves all rows that arrived during the previous one, so hundreds of answers per
    second can be durable before they are used.
    """

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path, self._connect = path, connect
        self._rows: list[Statement] = []
        self._promise: Future[None] | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._wake = threading.Condition()
        self._closing = False
        self._failure: RecordingError | None = None
        self._thread = threading.Thread(target=self._run, name="sabm-recording", daemon=True)
        self._thread.start()
        _open.add(self)

    def add(self, *statements: Statement) -> None:
        """Add rows, which are on disk after `LINGER_S`, or earlier with rows that are waited for.

        Raises:
            RecordingError: when an earlier commit failed.
        """
        with self._wake:
            self._add(statements)

    def committed(self, *statements: Statement) -> asyncio.Future[None]:
        """Add rows, and commit all rows; one future for each waiter, so that none ends others.

        All waiters of a commit are on one loop, and its thread is woken once for all of them.

        Raises:
            RecordingError: when an earlier commit failed; also by the future.
        """
        with self._wake:
            self._add(statements)
            if self._promise is None or self._waiting is None:
                self._promise = Future()
                self._waiting = asyncio.wrap_future(self._promise)
                self._wake.notify_all()
            return asyncio.shield(self._waiting)

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
        if self._failure is not None:
            raise self._failure
        if self._closing:
            raise RecordingError(f"The recording {self._path} is closed.")
        if not self._rows or len(self._rows) + len(statements) >= COMMIT_AT:
            self._wake.notify_all()
        self._rows += statements

    def _run(self) -> None:
        try:
            with closing(self._connect()) as connection:
                connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_AT}")
                # What is written needs no descriptor that is not open by then.
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
                kept = Kept(self._path, connection)
                while self._commit_next(connection, kept):
                    pass
        except Exception as error:  # noqa: BLE001 - every waiter gets the error
            self._fail(error, None)

    def _commit_next(self, connection: sqlite3.Connection, kept: Kept) -> bool:
        """Commit the rows that wait; return whether there may be more."""
        with self._wake:
            while not (self._rows or self._promise or self._closing):
                self._wake.wait()
            self._wake.wait_for(
                lambda: self._promise or self._closing or len(self._rows) >= COMMIT_AT, LINGER_S
            )
            rows, self._rows = self._rows, []
            promise, self._promise = self._promise, None
            closing = self._closing
            self._wake.notify_all()
        try:
            if rows:
                connection.execute("BEGIN IMMEDIATE")
                _execute(connection, rows)
                connection.execute("COMMIT")
            kept.check(connection)
        except Exception as error:  # noqa: BLE001 - every waiter gets the error
            with contextlib.suppress(sqlite3.Error):
                connection.rollback()
            self._fail(error, promise)
            return False
        if promise is not None:
            promise.set_result(None)
        return not closing

    def _fail(self, error: Exception, promise: Future[None] | None) -> None:
        if not isinstance(error, RecordingError):
            hint = " Is the disk full?" if isinstance(error, sqlite3.OperationalError) else ""
            error = RecordingError(
                f"Cannot write the recording {self._path}: {error}.{hint} "
                "What was committed before is kept."
            )
        with self._wake:
            self._failure = error
            later, self._promise = self._promise, None
            self._wake.notify_all()
        for waiting in filter(None, (promise, later)):
            waiting.set_exception(error)


def _close_all() -> None:
    """Write the remaining rows when the process ends with open recordings."""
    for writer in list(_open):
        with contextlib.suppress(RecordingError):
            writer.close()


atexit.register(_close_all)
