"""The file of a recording: its format, its rows, how it is opened, and its writers."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sabm_mesa.core.answers import Reply
from sabm_mesa.core.asks import Attempt
from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import OutputError, RecordingError, SabmError

Statement = tuple[str, list[Any]]
"""SQL and its values."""
APPLICATION_ID = 0x5AB3
"""Marks an SQLite file as a recording."""
FORMAT = 10
ASK_COLUMNS = (
    "run", "round", "phase", "agent", "call", "attempt", "name", "mind", "messages", "request",
    "raw", "thoughts", "form", "value", "read_as", "reasoning", "valid", "reason", "prompt_tokens",
    "cached_tokens", "completion_tokens", "thought_tokens", "cost_usd", "latency_s",
    "served_model", "finish_reason", "retries", "response_id", "provenance", "copied",
    "position", "final",
)  # fmt: skip
INSERT_TEXT = "INSERT OR IGNORE INTO texts VALUES (?, ?)"
INSERT_ASK = f"INSERT INTO asks VALUES ({', '.join('?' * len(ASK_COLUMNS))})"
INSERT_SENT = "INSERT INTO sent VALUES (?, ?, ?, ?, ?, ?, ?)"
DELETE_SENT = "DELETE FROM sent WHERE session = ? AND number = ?"
INSERT_MODEL_DATA = "INSERT INTO model_data VALUES (?, ?, ?)"
INSERT_AGENT_DATA = "INSERT INTO agent_data VALUES (?, ?, ?)"
INSERT_MESSAGE_DATA = "INSERT INTO message_data VALUES (?, ?, ?)"
MESSAGE_COLUMNS = ("speaker", "name", "phase", "position", "to", "text")
"""The values of a message in `message_data`."""
_TRANSIENT = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}  # fmt: skip
_MOST_CHECKED = 1_000
"""The maximum number of recordings that are remembered as checked."""
_CUT_OFF = "its last page is cut off"
_PACKAGES = ("sabm-mesa", "mesa", "numpy", "openai", "xllamacpp")
"""The packages whose versions are recorded."""


@dataclass(frozen=True, kw_only=True)
class RunHeader:
    """Header of a run, written when it starts.

    Attributes:
        scenario: the name of the scenario.
        model: ``module:class``.
        file: the file of a scenario that is not installed, relative to the working folder; or
            ``""``.
        parameters: all parameters with their initial values.
        seed: the seed.
        minds: spec → number of agents.
        prompts: prompt entry → hash.
        texts: hash → template, also of the entries of forks.
        versions: package → version, and spec → SHA-256 of files of minds.
        connection: how language models are reached.
        model_columns: the columns of the model data.
        agent_columns: the columns of the agent data, from ``agent`` on.
        forks: the changes during the run: ``{"at": round, "set": {…}, "prompts": {…}}`` each, with
            ``"versions"`` of files of minds.
        tags: name → text by which the run is found again; see `sabm_mesa.runs.planned`.
    """

    scenario: str
    model: str
    file: str
    parameters: Mapping[str, Any]
    seed: Sequence[int]
    minds: Mapping[str, int]
    prompts: Mapping[str, str]
    texts: Mapping[str, str] = field(repr=False)
    versions: Mapping[str, str]
    connection: Mapping[str, Any]
    model_columns: Sequence[str]
    agent_columns: Sequence[str]
    forks: Sequence[Mapping[str, Any]] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    def as_row(self) -> dict[str, str]:
        """Column of the table of runs → text."""
        return {
            name: value if isinstance(value := getattr(self, name), str) else to_json(value)
            for name in HEADER_COLUMNS
        }


HEADER_COLUMNS = tuple(field.name for field in fields(RunHeader) if field.name != "texts")
"""The columns of the table of runs that a header fills."""


def versions() -> dict[str, str]:
    """Package → version, and that of Python."""
    installed = {package: _version(package) for package in _PACKAGES}
    known = {package: number for package, number in installed.items() if number is not None}
    return {"python": platform.python_version(), **known}


@cache  # a run says it twice, and each time a file of a hundred lines would be read
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def text_hash(text: str) -> str:
    """The hash of a text, by which rows name it."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def text_statement(text: str) -> Statement:
    """The statement that stores a text, unless it is there."""
    return INSERT_TEXT, [text_hash(text), text]


def ask_statements(run: int, attempt: Attempt) -> list[Statement]:
    """The statements that write one attempt: its texts, and its row."""
    ask, reply, reading = attempt.ask, attempt.reply, attempt.reading
    is_text = isinstance(reply.answer, str)
    chat = ask.chat() if reply.request else ()
    provenance = _provenance(reply)
    row = [
        run,
        *ask.key,
        attempt.number,
        ask.name,
        attempt.mind,
        to_json([(role, text_hash(text)) for role, text in chat]) if reply.request else None,
        reply.request or None,
        reply.answer if is_text else to_json(reply.answer),
        reply.thoughts,
        reply.answer_format if is_text else "value",
        None if reading is None else to_json(reading.value),
        None if reading is None else reading.read_as,
        None if reading is None else reading.reasoning,
        reading is not None,
        attempt.reason,
        reply.prompt_tokens,
        reply.cached_tokens,
        reply.completion_tokens,
        reply.thought_tokens,
        None if math.isnan(reply.cost_usd) else reply.cost_usd,
        reply.latency_s,
        reply.model,
        reply.finish_reason,
        reply.retries,
        reply.response_id or None,
        text_hash(provenance) if provenance else None,
        False,
        ask.position,
        attempt.final,
    ]
    texts = [text for _, text in chat] + ([provenance] if provenance else [])
    return [*map(text_statement, texts), (INSERT_ASK, row)]


def _provenance(reply: Reply) -> str:
    """The provenance of an answer, as JSON; ``""`` when nothing was sent."""
    if not reply.parameters:
        return ""
    stated = {
        "model": reply.asked_model,
        "provider": reply.provider,
        "system_fingerprint": reply.system_fingerprint,
    }
    return to_json({k: v for k, v in stated.items() if v} | json.loads(reply.parameters))


def sent_row(session: str, note: int, run: int, model: str, most: Usage) -> list[Any]:
    """The row of one requested answer."""
    usd = None if math.isnan(most.cost_usd) else most.cost_usd
    return [session, note, run, model, most.prompt_tokens, most.completion_tokens, usd]


# Opening.


@contextmanager
def open_for_reading(path: str | Path, *, check: bool = True) -> Iterator[sqlite3.Connection]:
    """A connection that can only read; rows are `sqlite3.Row`.

    Args:
        path: the recording.
        check: whether to check every page first.

    Raises:
        RecordingError: when there is no such recording, or the file is not a recording, damaged, or
            of another format; also for damage that is detected while the block reads.
    """
    from sabm_mesa.recording import checking  # late: its models take time to make

    path = Path(path)
    if not path.is_file():
        raise _missing(path)
    too_long: Callable[[], bool] = bool
    in_use = may_be_open(path)  # looked at before, since reading makes a log, too
    try:
        with closing(_open(path)) as connection:
            try:
                size = path.stat().st_size
            except FileNotFoundError:  # it was removed since
                raise _missing(path) from None
            too_long = checking.limit_reading(connection, size)
            if check_kind(path, connection):
                if check:
                    check_pages(path, connection)
                _check_values(path, connection, content=check, in_use=in_use)
            connection.row_factory = sqlite3.Row
            yield connection
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_INTERRUPT:
            if not too_long():
                raise KeyboardInterrupt from None
            raise damaged(path, "reading it takes longer than it can") from None
        raise unusable(path, error) from None


def _missing(path: Path) -> RecordingError:
    """The error for a recording that does not exist."""
    inside = path / "recording.sqlite"
    hint = f" The folder has {inside}." if inside.is_file() else ""
    return RecordingError(f"There is no recording {path}.{hint}")


_checked: dict[Path, tuple[object, bool]] = {}
"""Recording → its state when its values were checked, and whether all of them were."""


def _check_values(
    path: Path, connection: sqlite3.Connection, *, content: bool, in_use: bool
) -> None:
    """Check the schema and the values of a recording, once for each state of the file."""
    from sabm_mesa.recording import checking

    now = path.stat()
    stamp = None if in_use else (now.st_ino, now.st_size, now.st_mtime_ns)
    known, whole = _checked.get(path, (None, False))
    if stamp is not None and known == stamp and whole >= content:
        return
    check_schema(path, connection)
    try:
        checking.check_runs(connection)
        if content:
            checking.check_content(connection)
    except ValueError as error:
        raise damaged(path, str(error)) from None
    if len(_checked) > _MOST_CHECKED:
        _checked.clear()
    _checked[path] = stamp, content


def copy_recording(path: Path, to: Path) -> None:
    """Copy a recording at one moment, also while runs write to it.

    Args:
        path: the recording.
        to: the copy: one file that holds everything.

    Raises:
        RecordingError: as by `open_for_reading`.
    """
    with open_for_reading(path) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")


def create_tables(connection: sqlite3.Connection) -> None:
    """Create a recording in an empty file, unless another process has done so."""
    from sabm_mesa.recording import checking

    connection.execute("BEGIN IMMEDIATE")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        for statement in checking.schema().split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def check_schema(path: Path, connection: sqlite3.Connection) -> None:
    """Check that a recording has the tables of one, and no view, trigger or other table.

    Raises:
        RecordingError: when it has not.
    """
    from sabm_mesa.recording import checking

    try:
        checking.check_schema(connection)
    except ValueError as error:
        raise damaged(path, str(error)) from None


def check_pages(path: Path, connection: sqlite3.Connection) -> None:
    """Check that no page of a recording is damaged.

    Raises:
        RecordingError: when one is.
    """
    (message,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if message != "ok":
        raise damaged(path, str(message).replace("\n", " "))


def check_kind(path: Path, connection: sqlite3.Connection) -> bool:
    """Check the kind of a file.

    Returns:
        Whether it is a recording already; False for an empty file.

    Raises:
        RecordingError: when it is not a recording, cut off, or of another format.
    """
    # Tables first: another process may be making the file, and marks it along with them.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and kind != APPLICATION_ID:
        raise RecordingError(f"{path} is an SQLite file but not a recording; choose another file.")
    if tables and version != FORMAT:
        raise RecordingError(
            f"{path} has format {version}, and this sabm-mesa reads format {FORMAT} only: use the "
            "sabm-mesa that wrote it, or choose another file."
        )
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size % page_size and not has_log(path):
        # SQLite would fill up the page with zeros, and read them as if they had been written.
        raise damaged(path, _CUT_OFF)
    return bool(tables)


def unusable(path: Path, error: sqlite3.DatabaseError) -> RecordingError:
    """The error for an SQLite error on a file: it is damaged, or busy for now."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _TRANSIENT:
        return RecordingError(
            f"Cannot use the recording {path} now: {error}. Is the disk full, or the folder not "
            "writable? Its content is kept."
        )
    return damaged(path, _CUT_OFF if _is_cut_off(path) else str(error))


def damaged(path: Path, problem: str) -> RecordingError:
    """The error for a file that cannot be used as a recording; it is not changed."""
    if path.suffix.lower() in {".csv", ".tsv"}:
        return RecordingError(
            f"{path} is a table, not a recording: import it with sabm import {path} --scenario "
            "NAME."
        )
    return RecordingError(
        f"{path} is not a usable recording ({problem}); it was not changed. Restore a copy of it, "
        "or choose another file."
    )


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Report invalid values as damage.

    Args:
        path: the recording.

    Raises:
        RecordingError: for a value that is missing, or not JSON.
    """
    try:
        yield
    except SabmError:
        raise
    except (
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from None


def _open(path: Path) -> sqlite3.Connection:
    """Open for reading; without a log a file can be read in a read-only folder, too.

    A connection in the mode ``ro`` leaves an empty log, which looks like a used one: only a writing
    connection removes the log again. The content of a log is not moved to the file.
    """
    address = path.resolve().as_uri()
    mode = "ro" if has_log(path) else "rw"
    try:
        connection = _connected(f"{address}?mode={mode}")
    except sqlite3.OperationalError:
        if has_log(path):
            raise
        connection = _connected(f"{address}?immutable=1")
    return connection


def _connected(uri: str) -> sqlite3.Connection:
    """Connect to a file whose schema can be read; otherwise the connection is closed."""
    connection = sqlite3.connect(uri, uri=True, timeout=60)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _is_cut_off(path: Path) -> bool:
    """Whether an SQLite file is shorter than its header says, or has an incomplete page."""
    if may_be_open(path):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError:
        return False
    if not head.startswith(b"SQLite format 3\0"):
        return False
    page_size = int.from_bytes(head[16:18], "big")  # 1 stands for 65536, which is not used here
    pages = int.from_bytes(head[28:32], "big")
    size = path.stat().st_size
    return len(head) < 100 or size < page_size * pages or size % max(page_size, 1) > 0


def has_log(path: Path) -> bool:
    """Whether a log beside the file has pages: then the file alone may be incomplete."""
    try:
        return _log_of(path).stat().st_size > 0
    except FileNotFoundError:  # also when its writer has just closed
        return False


def may_be_open(path: Path) -> bool:
    """Whether this process may have a recording open: there is a log beside it, which may be empty.

    Only SQLite may open such a file, since closing it ends the locks of this process ("How To
    Corrupt An SQLite Database File", 2.2, sqlite.org).

    Args:
        path: the recording.
    """
    return _log_of(path).exists()


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


_LOG_HEADER, _FRAME_HEADER = 32, 24


def log_is_cut(path: str | Path) -> bool:
    """Whether the log beside a recording ends in the middle of a commit.

    The rest of the log is missing, and SQLite ignores it silently. The log of a recording that is
    being written may look so for a moment.

    Args:
        path: the recording.

    Source: the WAL format, section 4.1 of "Database File Format" (sqlite.org).
    """
    path = Path(path)
    log = _log_of(path)
    try:
        size = log.stat().st_size
        with log.open("rb") as file:
            header = file.read(_LOG_HEADER)
            if not size or len(header) < _LOG_HEADER:
                return size > 0
            page_size, salts = int.from_bytes(header[8:12]), header[16:24]
            committed, position = True, _LOG_HEADER
            while position < size:
                file.seek(position)
                frame = file.read(_FRAME_HEADER)
                if frame[8:16] != salts[: len(frame[8:16])]:
                    break  # left over from before the log was begun again
                position += _FRAME_HEADER + page_size
                committed = position <= size and any(frame[4:8])
    except OSError:
        return False
    return not committed


# Writers: a lock beside the recording that the system releases when its process dies.


class Session:
    """Marks a writer of a recording for as long as its process lives.

    Args:
        recording: the recording.

    Attributes:
        uid: the identifier of the runs that it writes.

    Raises:
        OutputError: when the lock cannot be written.
    """

    def __init__(self, recording: Path) -> None:
        self.uid = f"c{uuid.uuid4().hex[:11]}"  # a letter first: 12e45 would be read as a number
        self._path = _lock_of(recording, self.uid)
        self._lock = FileLock(self._path, thread_local=False)  # any thread may close it
        try:
            self._lock.acquire(blocking=False)
        except OSError as error:
            raise OutputError(
                f"Cannot write {self._path} ({error.strerror or error}): choose another folder."
            ) from None

    def close(self) -> None:
        """Release the lock; a second call changes nothing."""
        if self._lock.is_locked:
            self._path.unlink(missing_ok=True)
            self._lock.release()


def session_is_open(recording: Path, uid: str) -> bool:
    """Whether a session is still writing.

    Args:
        recording: the recording.
        uid: the identifier of its runs.
    """
    path = _lock_of(recording, uid)
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except (Timeout, OSError):
        return True
    path.unlink(missing_ok=True)
    lock.release()
    return False


def ended_sessions(recording: Path, connection: sqlite3.Connection) -> set[str]:
    """The sessions that ended before their runs: these runs are interrupted.

    Call it before the runs are read: a session that has ended by then has written their ends.

    Args:
        recording: the recording.
        connection: a connection to it.
    """
    running = connection.execute("SELECT DISTINCT session FROM runs WHERE status = 'running'")
    return {uid for (uid,) in running.fetchall() if not session_is_open(recording, uid)}


def _lock_of(recording: Path, uid: str) -> Path:
    recording = recording.resolve()
    # The file may be a stranger's: nothing in it leads to another folder.
    name = re.sub(r"[^0-9A-Za-z_-]", "_", uid)[:64]
    return recording.with_name(f"{recording.name}.{name}.lock")
