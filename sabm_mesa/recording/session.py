"""Who is writing: a lock beside the recording that the system lets go when its process dies."""

from __future__ import annotations

import uuid
from pathlib import Path

from filelock import FileLock, Timeout

from sabm_mesa.errors import OutputError


class Session:
    """Marks a writer of a recording for as long as its process lives.

    Args:
        recording: the recording.

    Attributes:
        uid: what the runs that it writes are marked with.

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
        """Let go; a second time changes nothing."""
        if self._lock.is_locked:
            self._path.unlink(missing_ok=True)
            self._lock.release()


def goes_on(recording: Path, uid: str) -> bool:
    """Whether a session is still writing.

    Args:
        recording: the recording.
        uid: what its runs are marked with.
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


def _lock_of(recording: Path, uid: str) -> Path:
    recording = recording.resolve()
    return recording.with_name(f"{recording.name}.{uid}.lock")
