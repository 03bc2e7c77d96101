"""Shards: recordings of single runs that were played elsewhere, before they are merged.

A sweep plays free runs in other processes or on other machines, each into a separate recording, and
keeps it in the folder ``shards`` when the run is finished. A shard is stored completely or not at
all, is merged completely or not at all, only once, and is removed only when all are merged. So a
finished run stays finished after any crash.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from sabm_mesa.errors import OutputError, RecordingError
from sabm_mesa.recording.export import make_folder, write_file
from sabm_mesa.recording.reading import load_runs
from sabm_mesa.recording.store import open_for_reading
from sabm_mesa.recording.writing import Recording

SHARDS, LOCK = "shards", "sweep.lock"
_MERGED = ("asks", "model_data", "agent_data", "message_data")


def list_shards(folder: Path, known: Collection[str] = ()) -> set[str]:
    """The names of the shards in a folder that can be merged.

    Args:
        folder: the folder of the recording. Incomplete shards and other files are ignored.
        known: names of shards that are not opened.
    """
    paths = sorted((folder / SHARDS).glob("*.sqlite"))
    return {path.stem for path in paths if path.stem in known or _is_shard(path)}


def merge_shard(connection: sqlite3.Connection, command: str, shard: Path) -> None:
    """Add the run of a shard to a recording with the next free number, unless it is there already.

    Args:
        connection: to the recording, outside a transaction.
        command: the identifier of the runs that are merged together.
        shard: a recording with one finished run without requests.

    Raises:
        sqlite3.Error: when the shard cannot be read or the recording cannot be written; both are
            kept.
    """
    connection.execute("ATTACH ? AS shard", [str(shard)])
    try:
        connection.execute("BEGIN IMMEDIATE")
        (run,) = connection.execute("SELECT coalesce(max(run) + 1, 0) FROM runs").fetchone()
        given = {"run": run, "command": command}
        entered = connection.execute(
            f"INSERT INTO main.runs SELECT {_columns(connection, 'runs')} FROM shard.runs "
            "WHERE uid NOT IN (SELECT uid FROM main.runs)",
            given,
        )
        if entered.rowcount:
            connection.execute("INSERT OR IGNORE INTO main.prompts SELECT * FROM shard.prompts")
            for table in _MERGED:
                columns = _columns(connection, table)
                connection.execute(
                    f"INSERT INTO main.{table} SELECT {columns} FROM shard.{table}", given
                )
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("DETACH shard")


class Shards:
    """The shards in the folder of a recording, for one command at a time.

    Args:
        recording: the recording that they are merged into; its folder is created if needed.

    Attributes:
        scratch: a folder for unfinished recordings; it is removed when the shards are closed.

    Raises:
        OutputError: when the folder cannot be written.
        RecordingError: when another command uses it.
    """

    def __init__(self, recording: Path) -> None:
        folder = recording.parent
        self._recording, self._folder, self._shards = recording, folder, folder / SHARDS
        self.scratch = self._shards / "unfinished"
        self._connection: sqlite3.Connection | None = None
        self._command = ""
        self._merged: set[str] = set()
        self._made = not folder.exists()
        make_folder(folder)
        self._lock = FileLock(folder / LOCK, thread_local=False)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise RecordingError(
                f"Another sweep is running in {folder}: wait until it has ended, stop it, or "
                "choose another folder."
            ) from None
        except OSError as error:
            raise OutputError(
                f"Cannot write {folder} ({error.strerror or error}): choose another folder."
            ) from None
        self._remove_scratch()
        make_folder(self.scratch)

    def keep(self, name: str, recording: bytes) -> None:
        """Keep the recording of a finished run.

        Args:
            name: the name of the shard.
            recording: the file.

        Raises:
            OutputError: when it cannot be written.
        """
        write_file(self._shards / f"{name}.sqlite", lambda shard: shard.write_bytes(recording))

    def merge(self, name: str) -> None:
        """Merge a shard into the recording.

        Args:
            name: the name of a kept shard.

        Raises:
            RecordingError: when the recording cannot be used or written; the shard is kept.
            OutputError: when the recording cannot be created.
        """
        shard = self._shards / f"{name}.sqlite"
        if self._connection is None:
            with Recording(self._recording) as opened:
                self._command = opened.session.uid
            self._connection = sqlite3.connect(self._recording, timeout=60, isolation_level=None)
            self._connection.execute("PRAGMA synchronous = FULL")
        try:
            merge_shard(self._connection, self._command, shard)
        except sqlite3.Error as error:
            raise RecordingError(
                f"Cannot add {shard} to the recording {self._recording}: {error}. Both are kept."
            ) from None
        self._merged.add(name)

    def finish(self, order: Iterable[str]) -> None:
        """Merge all remaining shards, and remove them.

        Args:
            order: names of shards: they are merged in this order, and others follow.

        Raises:
            RecordingError: when the recording cannot be used or written; the shards are kept.
            OutputError: when the recording cannot be created; the shards are kept.
        """
        names = list_shards(self._folder, known=self._merged)
        listed = [name for name in order if name in names]
        for name in [*listed, *sorted(names.difference(listed))]:
            if name not in self._merged:
                self.merge(name)
        for name in names:
            (self._shards / f"{name}.sqlite").unlink()

    def close(self) -> None:
        """Remove unfinished shards, and release the folder."""
        if self._connection is not None:
            self._connection.close()
        self._remove_scratch()
        if self._shards.exists() and not any(self._shards.iterdir()):
            self._shards.rmdir()
        (self._folder / LOCK).unlink(missing_ok=True)
        self._lock.release()
        if self._made and not any(self._folder.iterdir()):
            self._folder.rmdir()

    def __enter__(self) -> Shards:
        """Return the shards, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self.close()

    def _remove_scratch(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)


def _is_shard(path: Path) -> bool:
    """Whether a file has one finished run without requests."""
    with suppress(RecordingError):
        runs = load_runs(path)
        with open_for_reading(path, check=False) as connection:
            (texts,) = connection.execute("SELECT count(*) FROM texts").fetchone()
        return len(runs) == 1 and runs[0].finished and not texts
    return False


def _columns(connection: sqlite3.Connection, table: str) -> str:
    """The columns of a table, with the new number and command of the run."""
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", [table])
    names = [name for (name,) in rows]
    return ", ".join(f":{name}" if name in {"run", "command"} else name for name in names)
