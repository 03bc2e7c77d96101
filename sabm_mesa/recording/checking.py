"""Checks that a file is a valid recording: its tables, lengths and values.

A recording may come from a stranger. Before a value is used, this module checks the schema (a view
could be endless, a trigger or a generated column could run code) and all values (see `rows`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache
from typing import Any

from pydantic import ValidationError

from sabm_mesa.recording.rows import checker, columns, schema

MOST_BYTES = 2**28
"""The maximum number of bytes of one value: more than the data of any round."""
STEPS, STEPS_A_BYTE = 4_000_000_000, 2_000
"""The limit of SQLite instructions of a query, and the addition per byte of the file: far more than
any query of the package takes."""
_EVERY = 100_000
"""Instructions between two checks of the interrupt and of the limit."""
_OF_SQLITE = {
    "CREATE TABLE sqlite_sequence(name,seq)",
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}
"""Tables that SQLite itself creates, such as for ANALYZE."""


def limit_reading(connection: sqlite3.Connection, size: int) -> Callable[[], bool]:
    """Keep a file from running code, and limit the work of each query.

    Queries can then be interrupted.

    Returns:
        A function that says whether a query has passed its limit.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
        connection.execute(f"PRAGMA {pragma}")
    left = STEPS + STEPS_A_BYTE * size

    def look() -> bool:  # a signal that came is handled here, and ends the question
        nonlocal left
        left -= _EVERY
        return left < 0

    connection.set_progress_handler(look, _EVERY)
    return lambda: left < 0


def check_schema(connection: sqlite3.Connection) -> None:
    """Check that a file has only the tables of a recording, and nothing that SQLite could run.

    Raises:
        ValueError: for anything that is missing, different, or not in a recording.
    """
    stored, known = _schema(connection), _known_schema()
    for name in sorted(stored.keys() - known.keys()):
        raise ValueError(f"it has a {name[0]} {name[1]!r:.60} that no recording has")
    for name, sql in known.items():
        if name not in stored:
            raise ValueError(f"its {name[0]} {name[1]!r} is missing")
        if stored[name] != sql:
            raise ValueError(f"its {name[0]} {name[1]!r} is not that of a recording")


def check_pages(connection: sqlite3.Connection) -> None:
    """Check that no page of a file is damaged.

    Raises:
        ValueError: when one is.
    """
    (message,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if message != "ok":
        raise ValueError(message.replace("\n", " "))


def check_rows(connection: sqlite3.Connection, kinds: Iterable[Any]) -> None:
    """Check all values of some tables; the schema of the file was checked.

    Raises:
        ValueError: for a value that no recording has.
    """
    cursor = connection.cursor()
    cursor.row_factory = None
    for kind in kinds:
        adapter, names = checker(kind), columns(kind)
        for row in cursor.execute(f"SELECT {', '.join(names)} FROM {kind.table}"):
            try:
                adapter.validate_python(dict(zip(names, row, strict=True)))
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                column = first["loc"][0] if first["loc"] else names[0]
                message = f"{column} in the table {kind.table}: {first['msg']:.200}"
                raise ValueError(message) from None


def _schema(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """(kind, name) → its SQL statement; automatic indexes have none."""
    made = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {
        (str(kind), str(name)): str(sql)
        for kind, name, sql in made.fetchall()
        if sql not in _OF_SQLITE
    }


@cache
def _known_schema() -> dict[tuple[str, str], str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in schema():
            connection.execute(statement)
        return _schema(connection)
