"""Adding recordings of single runs to one recording."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sabm_mesa.errors import RecordingError
from sabm_mesa.recording import Recording

_COPIED = ("asks", "model_data", "agent_data")


class Merging:
    """Adds runs to a recording, each whole or not at all, with the next free number.

    Args:
        into: the recording; it is made when it does not exist.

    Raises:
        OutputError: when it cannot be written.
        RecordingError: when it cannot be used.
    """

    def __init__(self, into: Path) -> None:
        self._into = into
        with Recording(into) as opened:
            self._command = opened.session.uid
        self._connection = sqlite3.connect(into, timeout=60, isolation_level=None)
        self._connection.execute("PRAGMA synchronous = FULL")

    def add(self, part: Path) -> None:
        """Add the run of a recording; when it is there already, do nothing.

        Args:
            part: a recording with one run that is finished, of minds to which nothing was sent.

        Raises:
            RecordingError: when it cannot be read, or the recording cannot be written.
        """
        try:
            self._connection.execute("ATTACH ? AS part", [str(part)])
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._copy()
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.execute("DETACH part")
        except sqlite3.Error as error:
            raise RecordingError(
                f"Cannot add {part} to the recording {self._into}: {error}. Both are kept."
            ) from None

    def close(self) -> None:
        """Close the recording."""
        self._connection.close()

    def _copy(self) -> None:
        (run,) = self._connection.execute("SELECT coalesce(max(run) + 1, 0) FROM runs").fetchone()
        given = {"run": run, "command": self._command}
        entered = self._connection.execute(
            f"INSERT INTO main.runs SELECT {self._columns('runs')} FROM part.runs "
            "WHERE uid NOT IN (SELECT uid FROM main.runs)",
            given,
        )
        if not entered.rowcount:
            return
        self._connection.execute("INSERT OR IGNORE INTO main.prompts SELECT * FROM part.prompts")
        for table in _COPIED:
            self._connection.execute(
                f"INSERT INTO main.{table} SELECT {self._columns(table)} FROM part.{table}", given
            )

    def _columns(self, table: str) -> str:
        """The columns of a table, with the number and the command that the run gets."""
        rows = self._connection.execute("SELECT name FROM pragma_table_info(?)", [table])
        names = [name for (name,) in rows]
        return ", ".join(f":{name}" if name in {"run", "command"} else name for name in names)
