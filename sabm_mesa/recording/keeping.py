"""Checks for folders without working locks, and for recordings moved or deleted while open."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from sabm_mesa.errors import OutputError, RecordingError

_FILES = "", "-wal"


def check_locks(folder: Path) -> None:
    """Check that file locks work in a folder; SQLite would wait a minute and give no reason.

    Raises:
        OutputError: when there are none, as on some network drives.
        OSError: when no file can be created there.
    """
    try:
        import fcntl  # which Windows has not
    except ImportError:
        return
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OutputError(
                f"Cannot lock files in {folder} ({error.strerror or error}), which a recording "
                "needs: choose a folder on a disk of this computer."
            ) from None


def reason(error: OSError, path: Path) -> str:
    """The reason why a file or folder cannot be written, also for a loop of links."""
    try:
        path.stat()
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            return os.strerror(errno.ELOOP)
    return error.strerror or str(error)


class Kept:
    """The files of a recording at the start of writing.

    Most systems allow an open file to be moved or deleted. Later writes are then lost to the user:
    a run would continue and pay for lost answers.

    Args:
        path: the recording, as it was given; it is open.
        connection: the connection that writes it; the path in it is absolute.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        ((_, _, file),) = connection.execute("PRAGMA database_list").fetchall()
        self._file = Path(file)
        self._first = self._seen()

    def check(self, connection: sqlite3.Connection) -> None:
        """Check that no file was moved or deleted; else a copy is written beside the old path.

        Raises:
            RecordingError: when one was.
        """
        if self._seen() == self._first:
            return
        with suppress(sqlite3.Error):  # completes the file, wherever it is now
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        begins = f"The recording {self._path} was moved, deleted or replaced while it was written"
        try:
            copy = _copied(connection, self._file)
        except (OSError, sqlite3.Error) as error:
            raise RecordingError(f"{begins}, and no copy can be written ({error}).") from None
        raise RecordingError(
            f"{begins}. All that was recorded is in {self._path.with_name(copy.name)}: "
            "continue with that file."
        )

    def _seen(self) -> list[tuple[int, int] | None]:
        return [_identity(Path(f"{self._file}{end}")) for end in _FILES]


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _copied(connection: sqlite3.Connection, file: Path) -> Path:
    """Write the content that a connection still reads to a new file beside the old path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        copy = file.with_name(f"{file.stem}-rescued-{number}{file.suffix}")
        with suppress(FileExistsError):
            copy.touch(0o600, exist_ok=False)
            break
    with closing(sqlite3.connect(copy)) as target:
        connection.backup(target)
    return copy
