"""Checks that a file is a valid recording: its tables, lengths and values.

A recording may come from a stranger. Before a value is used, this module checks the schema (a view
could be endless, a trigger or a generated column could run code) and the types of all values. Each
JSON column has its model here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Json, StrictInt, TypeAdapter, ValidationError

MOST_BYTES = 2**28
"""The maximum number of bytes of one value: more than the data of any round."""
STEPS, STEPS_A_BYTE = 4_000_000_000, 2_000
"""The limit of SQLite instructions of a query, and the addition per byte of the file: far more than
any query of the package takes."""
_EVERY = 100_000
"""Instructions between two checks of the interrupt and of the limit."""
_COMMENT_OR_BLANK = re.compile(r"--[^\n]*|\s+")

_OF_SQLITE = {
    "CREATE TABLE sqlite_sequence(name,seq)",
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}
"""Tables that SQLite itself creates, such as for ANALYZE."""

_Name = Annotated[str, Field(max_length=10_000)]
_Number = Annotated[StrictInt, Field(ge=0, lt=2**53)]
_Names = Annotated[dict[_Name, _Name], Field(max_length=100_000)]
_Columns = Annotated[list[_Name], Field(max_length=1_000)]
_Id = Annotated[str, Field(pattern=r"^[0-9A-Za-z_]{1,64}$")]


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class Fork(_Row):
    """A change during a run."""

    at: _Number
    set: dict[_Name, Any]
    prompts: _Names | None
    versions: _Names = {}


class Reached(_Row):
    """How language models are reached."""

    base_url: _Name | None = None
    endpoints: _Names = {}


class Header(_Row):
    """The row of a run; see `sabm_mesa.recording.store.RunHeader`."""

    run: _Number
    uid: _Id
    command: _Id
    scenario: _Name
    model: _Name
    file: _Name
    parameters: Json[dict[_Name, Any]]
    forks: Json[list[Fork]]
    tags: Json[_Names]
    parent: _Id | None
    seed: Json[list[Annotated[StrictInt, Field(ge=0)]]]
    minds: Json[dict[_Name, _Number]]
    prompts: Json[_Names]
    versions: Json[_Names]
    connection: Json[Reached]
    model_columns: Json[_Columns]
    agent_columns: Json[_Columns]
    started: Annotated[str, Field(max_length=40)]
    ended: Annotated[str, Field(max_length=40)] | None
    session: _Id
    status: Literal["running", "finished", "failed"]
    problem: str | None
    end_reason: str | None
    measures: Json[dict[_Name, Any]] | None


class Answer(_Row):
    """The row of an attempt."""

    run: _Number
    round: _Number
    phase: _Name
    agent: StrictInt
    call: _Number
    attempt: _Number
    name: _Name
    mind: _Name
    messages: Json[list[tuple[_Name, _Name]]] | None
    request: _Name | None
    raw: str | None
    thoughts: str
    form: Literal["paper", "json", "labelled", "value"]
    value: Json[Any] | None
    read_as: _Name | None
    reasoning: str | None
    valid: Annotated[StrictInt, Field(ge=0, le=1)]
    reason: str
    prompt_tokens: _Number
    cached_tokens: _Number
    completion_tokens: _Number
    thought_tokens: _Number
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    latency_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    served_model: _Name
    finish_reason: _Name
    retries: _Number
    response_id: _Name | None
    provenance: _Name | None
    position: StrictInt


_Message = tuple[Any, _Name | None, _Name, StrictInt, list[Any] | None, str]


class _Round(_Row):
    run: _Number
    round: _Number


class ModelData(_Round):
    """The model data of a round."""

    data: Json[list[Any]]


class AgentData(_Round):
    """The agent data of a round."""

    data: Json[list[list[Any]]]


class MessageData(_Round):
    """The messages of a round: rows of `sabm_mesa.recording.store.MESSAGE_COLUMNS`."""

    data: Json[list[_Message]]


class RecordedText(_Row):
    """A message, or the provenance of answers."""

    hash: _Name
    text: str


class Prompt(_Row):
    """A template."""

    hash: _Name
    text: str


class SentNote(_Row):
    """The note of a request whose answer is not recorded."""

    session: _Name
    number: _Number
    run: _Number
    model: _Name
    prompt_tokens: _Number
    completion_tokens: _Number
    cost_usd: float | None


_TABLES: Mapping[str, type[_Row]] = {
    "asks": Answer,
    "model_data": ModelData,
    "agent_data": AgentData,
    "message_data": MessageData,
    "texts": RecordedText,
    "prompts": Prompt,
}


def limit_reading(connection: sqlite3.Connection, size: int) -> Callable[[], bool]:
    """Keep a file from running code, and limit the work of each query.

    Queries can then be interrupted.

    Args:
        connection: to the file.
        size: the bytes of the file.

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

    Args:
        connection: to the file, which is not empty.

    Raises:
        ValueError: for a missing table, another table, a view, a trigger or an index.
    """
    stored, known = _schema(connection), _known_schema()
    for name in sorted(stored.keys() - known.keys()):
        raise ValueError(f"it has a {name[0]} {name[1]!r:.60} that no recording has")
    for name, sql in known.items():
        if name not in stored:
            raise ValueError(f"its {name[0]} {name[1]!r} is missing")
        if stored[name] != sql:
            raise ValueError(f"its {name[0]} {name[1]!r} is not that of a recording")


def check_runs(connection: sqlite3.Connection) -> None:
    """Check the headers of all runs, and the notes of requests without an answer.

    Args:
        connection: to the file; its schema was checked.

    Raises:
        ValueError: for a value that no recording has.
    """
    _check_rows(connection, "runs", Header)
    _check_rows(connection, "sent", SentNote)


def check_content(connection: sqlite3.Connection) -> None:
    """Check all values except those of the headers.

    Args:
        connection: to the file; its schema was checked.

    Raises:
        ValueError: for a value that no recording has.
    """
    for table, kind in _TABLES.items():
        _check_rows(connection, table, kind)


def _check_rows(connection: sqlite3.Connection, table: str, kind: type[_Row]) -> None:
    adapter = TypeAdapter(kind)
    names = list(kind.model_fields)
    cursor = connection.cursor()
    cursor.row_factory = None
    for row in cursor.execute(f"SELECT {', '.join(names)} FROM {table}"):
        try:
            adapter.validate_python(dict(zip(names, row, strict=True)))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            column = first["loc"][0] if first["loc"] else names[0]
            raise ValueError(f"{column} in the table {table}: {first['msg']:.200}") from None


def _schema(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """(kind, name) → its SQL statement, without comments; automatic indexes have none."""
    made = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {
        (str(kind), str(name)): _COMMENT_OR_BLANK.sub(" ", str(sql)).replace("  ", " ")
        for kind, name, sql in made.fetchall()
        if sql not in _OF_SQLITE
    }


@cache
def _known_schema() -> dict[tuple[str, str], str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema())
        return _schema(connection)


@cache
def schema() -> str:
    """The statements that create a recording in an empty file."""
    return files(__package__ or "").joinpath("schema.sql").read_text("utf-8")
