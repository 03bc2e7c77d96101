"""Opening a recording to read it: what is no recording, damaged or too new is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sabm_mesa.errors import RecordingError

APPLICATION_ID = 0x5AB3  # marks the file as ours
FORMAT = 2
_FOR_NOW = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}  # fmt: skip


@contextmanager
def reading(path: str | Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read; rows are `sqlite3.Row`.

    Args:
        path: the recording.

    Raises:
        RecordingError: when there is no recording of that name, or it is something else, damaged,
            or of another format; also for damage that is found while the block reads.
    """
    path = Path(path)
    if not path.is_file():
        raise RecordingError(f"There is no recording {path}.")
    try:
        with closing(_open(path)) as connection:
            check_kind(path, connection)
            check_whole(path, connection)
            connection.row_factory = sqlite3.Row
            yield connection
    except sqlite3.DatabaseError as error:
        raise unusable(path, error) from None


def check_whole(path: Path, connection: sqlite3.Connection) -> None:
    """Check that no page of a recording is damaged.

    Raises:
        RecordingError: when one is.
    """
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise damaged(path, str(found).replace("\n", " "))


def check_kind(path: Path, connection: sqlite3.Connection) -> bool:
    """Check what a file is.

    Returns:
        Whether it is a recording already; False for an empty file.

    Raises:
        RecordingError: when it is something else, cut off, or of another format.
    """
    # Tables first: another process may be making the file, and marks it along with them.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and found != APPLICATION_ID:
        raise RecordingError(f"{path} is an SQLite file but no recording; choose another file.")
    if version > FORMAT:
        raise RecordingError(
            f"{path} has format {version}, newer than {FORMAT}: "
            "update sabm-mesa, or choose another file."
        )
    if tables and version < FORMAT:
        raise RecordingError(
            f"{path} has format {version} of an unreleased sabm-mesa; this one reads format "
            f"{FORMAT}. Choose another file."
        )
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size % page_size and not _has_log(path):
        # SQLite would fill up the page with zeros, and read them as if they had been written.
        raise damaged(path, "its last page is cut off")
    return bool(tables)


def unusable(path: Path, error: sqlite3.DatabaseError) -> RecordingError:
    """The error for what SQLite says of a file: it is damaged, or cannot be used for now."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _FOR_NOW:
        return RecordingError(
            f"Cannot use the recording {path} now: {error}. Is the disk full, or the folder not "
            "writable? What is in it is kept."
        )
    return damaged(path, str(error))


def damaged(path: Path, problem: str) -> RecordingError:
    """The error for a file that cannot be used as a recording; it is left as it is."""
    return RecordingError(
        f"{path} is not a usable recording ({problem}); it is left as it is. "
        "Restore a copy of it, or choose another file."
    )


def _open(path: Path) -> sqlite3.Connection:
    """Open for reading; without a log beside it a file is read where nothing can be written too.

    A connection in the mode ``ro`` leaves an empty log behind, which looks like one that matters:
    only one that might write removes the log again. What stands in a log is left there.
    """
    address = path.resolve().as_uri()
    mode = "ro" if _has_log(path) else "rw"
    try:
        connection = sqlite3.connect(f"{address}?mode={mode}", uri=True, timeout=60)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        if _has_log(path):
            raise
        connection = sqlite3.connect(f"{address}?immutable=1", uri=True)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _has_log(path: Path) -> bool:
    """Whether pages stand in a log beside the file, which then need not be whole itself."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0
