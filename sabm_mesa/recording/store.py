"""The file of a recording: its format, its rows, how it is opened, and its writers."""

from __future__ import annotations

import platform
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sabm_mesa.errors import OutputError, RecordingError, SabmError
from sabm_mesa.recording import checking
from sabm_mesa.recording.rows import KINDS, schema

APPLICATION_ID = 0x5AB3
"""Marks an SQLite file as a recording."""
FORMAT = 1
_TRANSIENT = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}  # fmt: skip
_CUT_OFF = "its last page is cut off"
_PACKAGES = ("sabm-mesa", "mesa", "numpy", "openai", "xllamacpp")
"""The packages whose versions are recorded."""


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


# Opening.


@contextmanager
def open_for_reading(path: str | Path, *, check: bool = True) -> Iterator[sqlite3.Connection]:
    """A connection that can only read; rows are `sqlite3.Row`.

    Raises:
        RecordingError: when there is no such recording, or the file is not a recording, damaged, or
            of another format; also for damage that is detected while the block reads.
    """
    path = Path(path)
    if not path.is_file():
        raise _missing(path)
    too_long: Callable[[], bool] = bool
    in_use = may_be_open(path)  # looked at before, since reading makes a log, too
    try:
        with closing(_open(path)) as connection:
            try:
                file = path.stat()
            except FileNotFoundError:  # it was removed since
                raise _missing(path) from None
            too_long = checking.limit_reading(connection, file.st_size)
            now = None if in_use else (file.st_ino, file.st_size, file.st_mtime_ns)
            state, whole = _checked.get(path, (None, False))
            known = now is not None and now == state and whole >= check
            kinds = () if known else KINDS if check else KINDS[:1]
            if check_file(path, connection, kinds, pages=check) and not known:
                _checked[path] = now, check
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


def copy_recording(path: Path, to: Path) -> None:
    """Copy a recording at one moment, also while runs write to it.

    Raises:
        RecordingError: as by `open_for_reading`.
    """
    with open_for_reading(path) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")


def create_tables(connection: sqlite3.Connection) -> None:
    """Create a recording in an empty file, unless another process has done so."""
    connection.execute("BEGIN IMMEDIATE")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        for statement in schema():
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def check_file(
    path: Path, connection: sqlite3.Connection, kinds: Sequence[Any] = (), *, pages: bool = True
) -> bool:
    """Check that a file is a recording, and nothing that SQLite could run is in it.

    Args:
        kinds: the tables whose values are checked.
        pages: whether to check every page.

    Returns:
        Whether it is a recording already; False for an empty file.

    Raises:
        RecordingError: when it is not a recording, damaged, or of another format.
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
    try:
        if tables:  # first, since checking pages evaluates what is in the schema
            checking.check_schema(connection)
        if pages:
            checking.check_pages(connection)
        if tables and kinds:
            checking.check_rows(connection, kinds)
    except ValueError as error:
        raise damaged(path, str(error)) from None
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
    """
    return _log_of(path).exists()


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


# Writers: a lock beside the recording that the system releases when its process dies.


class Session:
    """Marks a writer of a recording for as long as its process lives.

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
    """Whether a session is still writing."""
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
    """
    running = connection.execute("SELECT DISTINCT session FROM runs WHERE status = 'running'")
    return {uid for (uid,) in running.fetchall() if not session_is_open(recording, uid)}


def _lock_of(recording: Path, uid: str) -> Path:
    recording = recording.resolve()
    # The file may be a stranger's: nothing in it leads to another folder.
    name = re.sub(r"[^0-9A-Za-z_-]", "_", uid)[:64]
    return recording.with_name(f"{recording.name}.{name}.lock")
