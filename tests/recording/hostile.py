"""Recordings that are not what they seem: one function spoils a good one in each of many ways."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sabm_mesa import KeynesianBeautyContest
from tests.core.support import Priced

DEEP = "[" * 5_000 + "]" * 5_000
LONG = "x" * 5_000
_COUNTED = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
ENDLESS = f"{_COUNTED} SELECT n.i AS run, t.* FROM n, t"
Spoil = Callable[[sqlite3.Connection], object]


def make_good(path: Path) -> None:
    """Record a run of two rounds, some of whose answers look as if a server had given them."""
    model = KeynesianBeautyContest(
        n_players=3, n_rounds=2, minds=Priced(lambda _: 33), rng=1, recording=path
    )
    model.run_model()


def spoil(good: Path, path: Path, how: str) -> None:
    """Write a copy of a good recording that is spoilt in one way.

    Args:
        good: the good recording.
        path: where to.
        how: the name of the way, of `WAYS` or `OF_BYTES`.
    """
    content = good.read_bytes()
    if how in OF_BYTES:
        OF_BYTES[how](path, content)
        return
    path.write_bytes(content)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.create_function("forged", 0, lambda: 1, deterministic=True)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA journal_mode = DELETE")
        WAYS[how](connection)


def _sql(*statements: str, **given: object) -> Spoil:
    def run(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement, given if ":" in statement else {})

    return run


def _set(table: str, column: str, value: object) -> Spoil:
    return _sql(f"UPDATE {table} SET {column} = :value", value=value)


def _header(column: str, value: object) -> Spoil:
    return _set("runs", column, value if isinstance(value, bytes | str) else json.dumps(value))


def _renamed(table: str, definition: str) -> Spoil:
    return _sql(f"CREATE TABLE t AS SELECT * FROM {table}", f"DROP TABLE {table}", definition)


def _schema(sql: str) -> Spoil:
    return _sql(
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET {sql}",
        "PRAGMA writable_schema = OFF",
    )


def _named_as_of_the_system(definition: str) -> Spoil:
    """Make something, and give it a name that only SQLite itself can give."""
    renamed = "name = 'sqlite_more', sql = replace(sql, ' more ', ' sqlite_more ')"
    return _sql(
        definition,
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET {renamed}, tbl_name = replace(tbl_name, 'more', 'sqlite_more') "
        "WHERE name = 'more'",
        "PRAGMA writable_schema = OFF",
    )


WAYS: dict[str, Spoil] = {
    # What stands in the schema.
    "runs is an endless view": _sql(
        "CREATE TABLE t AS SELECT uid, command, scenario, model, parameters, forks, tags, parent, "
        "seed, minds, prompts, versions, connection, model_columns, agent_columns, started, ended, "
        "session, status, problem, measures FROM runs",
        "DROP TABLE runs",
        f"CREATE VIEW runs AS {ENDLESS}",
    ),
    "asks is an endless view": _renamed(
        "asks",
        "CREATE VIEW asks AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT t.* FROM n, t",
    ),
    "texts is an endless view": _renamed(
        "texts",
        "CREATE VIEW texts AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        "SELECT id, zeroblob(16) AS digest, 'x' AS text FROM n",
    ),
    "model_data is a view": _renamed("model_data", "CREATE VIEW model_data AS SELECT * FROM t"),
    "a view that is another": _sql(
        "DROP VIEW answers", "CREATE VIEW answers AS SELECT * FROM asks"
    ),
    "an additional view": _sql("CREATE VIEW more AS SELECT * FROM runs"),
    "a trigger": _sql("CREATE TRIGGER more AFTER INSERT ON asks BEGIN DELETE FROM runs; END"),
    "a trigger on runs": _sql(
        "CREATE TRIGGER more AFTER UPDATE ON runs BEGIN DELETE FROM asks; END"
    ),
    "a generated column": _sql(
        "ALTER TABLE runs ADD COLUMN more GENERATED ALWAYS AS (zeroblob(100000000)) VIRTUAL"
    ),
    "a column more": _sql("ALTER TABLE asks ADD COLUMN more TEXT"),
    "a column less": _sql("DROP VIEW decisions", "ALTER TABLE asks DROP COLUMN reasoning"),
    "another name of a column": _sql("ALTER TABLE runs RENAME COLUMN seed TO seeds"),
    "a table less": _sql("DROP TABLE message_data"),
    "all tables without rows": _sql(
        "DELETE FROM asks",
        "DELETE FROM model_data",
        "DELETE FROM agent_data",
        "DELETE FROM message_data",
        "DELETE FROM runs",
    ),
    "a virtual table": _sql("CREATE VIRTUAL TABLE more USING fts5(text)"),
    "runs is a virtual table": _sql(
        "DROP TABLE runs", "CREATE VIRTUAL TABLE runs USING fts5(run, uid, parameters)"
    ),
    "a trigger with a name of the system": _named_as_of_the_system(
        "CREATE TRIGGER more AFTER INSERT ON runs BEGIN DELETE FROM asks; END"
    ),
    "a view with a name of the system": _named_as_of_the_system(
        "CREATE VIEW more AS SELECT * FROM runs"
    ),
    "a table with a name of the system": _named_as_of_the_system("CREATE TABLE more (text)"),
    "an index with a name of the system": _named_as_of_the_system(
        "CREATE INDEX more ON asks (upper(raw))"
    ),
    "an index with an expression": _sql("CREATE INDEX more ON asks (json(raw))"),
    "a schema that cannot be read": _schema("sql = 'CREATE TABLE runs (' WHERE name = 'runs'"),
    "two tables on one page": _schema(
        "rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'asks') WHERE name = 'texts'"
    ),
    "a table on no page": _schema("rootpage = 9999 WHERE name = 'asks'"),
    # What stands in the header of a run.
    "parameters are a list": _header("parameters", [1, 2]),
    "parameters are null": _header("parameters", None),
    "parameters are a number": _header("parameters", 3),
    "parameters are deep": _header("parameters", '{"condition": ' + DEEP + "}"),
    "parameters are no JSON": _header("parameters", "{"),
    "parameters are bytes": _header("parameters", b"\xff\xfe{}"),
    "parameters are huge": _header("parameters", '{"condition": "' + "x" * 5_000_000 + '"}'),
    "parameters with lists": _header("parameters", {"n_players": [3], "n_rounds": [2]}),
    "parameters that are negative": _header("parameters", {"n_players": -3, "n_rounds": -2}),
    "parameters that are too large": _header("parameters", {"n_players": 10**30, "n_rounds": 2}),
    "minds in parameters are a number": _header("parameters", {"minds": 3, "condition": 5}),
    "the session has 5,000 letters": _set("runs", "session", LONG),
    "the session leads elsewhere": _set("runs", "session", "../../../tmp/elsewhere"),
    "a session that is running": _sql(
        "UPDATE runs SET status = 'running', session = :value", value=LONG
    ),
    "the connection is a list": _header("connection", "[1]"),
    "the connection has lists": _header("connection", {"base_url": [1], "budget": "x"}),
    "the connection leads to a file": _header("connection", {"base_url": "file:///etc/passwd"}),
    "the seed is a text": _header("seed", "none"),
    "the seed is negative": _header("seed", [-1]),
    "the seed is huge": _header("seed", [10**400]),
    "minds are a list": _header("minds", ["classical"]),
    "minds are negative": _header("minds", {"classical": -3}),
    "minds are billions": _header("minds", {"classical": 10**12}),
    "prompts are a list": _header("prompts", ["a"]),
    "prompts that are nowhere": _header("prompts", {"act": "0000"}),
    "versions are numbers": _header("versions", {"sabm-mesa": 1}),
    "forks are an object": _header("forks", {"at": 1}),
    "forks with texts": _header("forks", [{"at": "x", "set": [], "prompts": 3}]),
    "a fork that is negative": _header("forks", [{"at": -5, "set": {}, "prompts": {}}]),
    "tags are a list": _header("tags", "[]"),
    "model columns are numbers": _header("model_columns", [1, 2]),
    "model columns are a text": _header("model_columns", '"mean"'),
    "more columns than data": _header("agent_columns", ["agent", *map(str, range(3_000))]),
    "measures are a list": _header("measures", [1]),
    "a scenario that is none": _set("runs", "scenario", "os"),
    "a model that is a module": _set("runs", "model", "os:system"),
    "a scenario with codes": _set("runs", "scenario", "\x1b]0;x\x07\n" * 100),
    "started is a text": _set("runs", "started", "<script>alert(1)</script>"),
    "status is another": _set("runs", "status", "won"),
    "the number of a run is negative": _sql("UPDATE runs SET run = -1"),
    "the number of a run is huge": _sql(f"UPDATE runs SET run = {2**62}"),
    # What stands in the rows.
    "rounds are negative": _sql("UPDATE asks SET round = round - 5"),
    "rounds are huge": _sql(f"UPDATE model_data SET round = round + {2**62}"),
    "a round is a text": _sql("UPDATE agent_data SET round = 'x' WHERE round = 1"),
    "model data are a number": _set("model_data", "data", "3"),
    "model data are an object": _set("model_data", "data", '{"mean": 1}'),
    "model data are texts": _set("model_data", "data", '["x", [], {}, null, "y"]'),
    "model data are deep": _set("model_data", "data", DEEP),
    "agent data are numbers": _set("agent_data", "data", "[1, 2, 3]"),
    "agent data are bytes": _set("agent_data", "data", b"\x00\xff"),
    "message data are texts": _set("message_data", "data", '["hello"]'),
    "message data are wrong": _set("message_data", "data", '[["x", 1, 2, "y", 5, null]]'),
    "values are no JSON": _set("asks", "value", "{"),
    "values are huge numbers": _set("asks", "value", "1" + "0" * 4_000),
    "answers are bytes": _set("asks", "raw", b"\xff\xfe\x00"),
    "answers are 300 MB": _sql("UPDATE asks SET raw = zeroblob(300000000) WHERE agent = 1"),
    "messages are a text": _set("asks", "messages", '"hello"'),
    "messages lead nowhere": _set("asks", "messages", '[["user", [999999]]]'),
    "messages are deep": _set("asks", "messages", DEEP),
    "tokens are negative": _set("asks", "prompt_tokens", -(10**18)),
    "tokens are texts": _set("asks", "completion_tokens", "many"),
    "costs are texts": _set("asks", "cost_usd", "free"),
    "costs are infinite": _sql("UPDATE asks SET cost_usd = 9e999, latency_s = -9e999"),
    "the provenance leads nowhere": _set("asks", "provenance", 424242),
    "texts are bytes": _set("texts", "text", b"\xff\xff"),
    "prompts are bytes": _set("prompts", "text", b"\xff\xff"),
    "a request is negative": _set("asks", "sent", -1),
}
"""Name → what is done to a good recording."""


def _with_log(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.with_name(f"{path.name}-wal").write_bytes(b"\x37\x7f\x06\x82" + bytes(range(256)) * 100)


OF_BYTES: dict[str, Callable[[Path, bytes], object]] = {
    "an empty file": lambda path, _: path.write_bytes(b""),
    "a text": lambda path, _: path.write_bytes(b"a text\n" * 500),
    "half of it": lambda path, content: path.write_bytes(content[: len(content) // 2]),
    "a page less a byte": lambda path, content: path.write_bytes(content[:-1]),
    "its second page is noise": lambda path, content: path.write_bytes(
        content[:4096] + bytes(range(256)) * 16 + content[8192:]
    ),
    "its header says many pages": lambda path, content: path.write_bytes(
        content[:28] + b"\x7f\xff\xff\xff" + content[32:]
    ),
    "a log of noise": _with_log,
    "the format of the future": lambda path, content: path.write_bytes(
        content[:60] + b"\x00\x00\x00\x63" + content[64:]
    ),
}
"""Name → what is written instead of a good recording."""
