"""The contents of recordings that a killed process left."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from sabm_mesa.recording.writing import FOLDER

UNFINISHED = "SELECT run FROM runs WHERE status <> 'finished'"
_DATA = (
    "SELECT parameters, seed, status, {0}.round, {0}.data FROM {0} JOIN runs USING (run) "
    "ORDER BY parameters, seed, {0}.round, {0}.data"
)


def rows(path: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query of a recording; nothing in the folder is changed."""
    with closing(sqlite3.connect(path.as_uri() + "?mode=ro", uri=True)) as connection:
        return connection.execute(query, values).fetchall()


def entered_in(path: Path) -> bool:
    """Whether any run has been entered in a recording."""
    try:
        return bool(rows(path, "SELECT count(*) FROM runs")[0][0])
    except sqlite3.OperationalError:  # there is no file or no table yet
        return False


def count(place: Path, *, answered: bool) -> int:
    """The requests with or without an answer, in all recordings."""
    where = "provenance IS NOT NULL AND NOT copied" if answered else "raw IS NULL"
    return sum(
        int(rows(path, f"SELECT count(*) FROM asks WHERE {where}")[0][0])
        for path in place.rglob("*.sqlite")
        if entered_in(path)
    )


def last_end(place: Path) -> datetime:
    """The time at which the last run in all recordings of a folder ended."""
    ends = [
        rows(path, "SELECT max(ended) FROM runs")[0][0]
        for path in place.rglob("*.sqlite")
        if entered_in(path)
    ]
    return datetime.fromisoformat(max(ends))


def data(place: Path) -> list[object]:
    """The data of the runs in each recording, in an order that does not depend on their numbers."""
    return [
        # The name of a recording that nobody named has the time in it.
        (
            str(FOLDER if path.parent.name == FOLDER.name else path.relative_to(place)),
            table,
            rows(path, _DATA.format(table)),
        )
        for path in sorted(place.rglob("*.sqlite"))
        if entered_in(path)
        for table in ("model_data", "agent_data")
    ]
