"""The tables of a recording, put together as data frames."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from sabm_mesa.errors import UnknownName
from sabm_mesa.jsonable import to_json
from sabm_mesa.recording.rows import from_steps
from sabm_mesa.usage import DECIMALS

KEY = ("run", "round", "phase", "agent", "call", "attempt")
_TYPES: dict[str, type] = {
    **dict.fromkeys((*KEY, "attempts", "retries", "rounds", "asks", "invalid", "position"), int),
    **dict.fromkeys(("prompt_tokens", "cached_tokens", "completion_tokens"), int),
    **dict.fromkeys(("cost_usd", "paid_usd", "latency_s", "number"), float),
    **dict.fromkeys(("valid", "final", "copied"), bool),
    "phase": str,
}
"""The types of the columns; every other one is text."""
# The last attempt of each ask: beside a single max(), SQLite takes other columns from its row.
_ASKED = """
SELECT run, round, phase, agent, call, name, mind, valid, value, reasoning, reason,
    max(attempt) + 1 AS attempts, sum(prompt_tokens) AS prompt_tokens,
    sum(cached_tokens) AS cached_tokens, sum(completion_tokens) AS completion_tokens,
    CASE WHEN count(cost_usd) = count(*) THEN total(cost_usd) END AS cost_usd,
    sum(latency_s) AS latency_s, copied, position
FROM asks {where} GROUP BY run, round, phase, agent, call
"""
# Not final is an invalid answer that would have been asked for again, had the run gone on.
_DECIDED = f"""
SELECT asked.*, valid
    OR EXISTS (SELECT 1 FROM model_data AS done
        WHERE done.run = asked.run AND done.round = asked.round)
    OR attempts >= coalesce(
        (SELECT json_extract(value, '$.set.max_attempts') FROM json_each(runs.forks)
            WHERE json_extract(value, '$.at') <= asked.round
                AND json_extract(value, '$.set.max_attempts') IS NOT NULL
            ORDER BY json_extract(value, '$.at') DESC, key DESC LIMIT 1),
        json_extract(runs.parameters, '$.max_attempts')) IS TRUE AS final
FROM ({_ASKED}) AS asked JOIN runs ON runs.run = asked.run
"""
_RUNS = f"""
WITH
spent AS (
    SELECT run, sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,
        CASE WHEN count(cost_usd) = count(*) THEN total(cost_usd) END AS cost_usd,
        CASE WHEN sum(NOT copied AND cost_usd IS NULL) = 0
            THEN total(cost_usd) FILTER (WHERE NOT copied) END AS paid_usd
    FROM asks GROUP BY run
),
answered AS (
    SELECT run, count(*) AS asks, sum(NOT valid) AS invalid
    FROM ({_DECIDED.format(where="")}) WHERE final GROUP BY run
)
SELECT runs.run, uid, command, parent, scenario, status,
    (SELECT count(*) FROM model_data WHERE model_data.run = runs.run) AS rounds,
    coalesce(asks, 0) AS asks, coalesce(invalid, 0) AS invalid,
    coalesce(prompt_tokens, 0) AS prompt_tokens,
    coalesce(completion_tokens, 0) AS completion_tokens,
    CASE WHEN spent.run IS NULL THEN 0.0 ELSE cost_usd END AS cost_usd,
    CASE WHEN spent.run IS NULL THEN 0.0 ELSE paid_usd END AS paid_usd,
    started, ended, problem, seed, minds, parameters, forks, session
FROM runs LEFT JOIN spent ON spent.run = runs.run LEFT JOIN answered ON answered.run = runs.run
ORDER BY runs.run
"""


class Tables:
    """The frames of a recording, as it is at one moment.

    Args:
        connection: a read transaction on the recording.
        gone: the sessions that do not go on any more.
    """

    def __init__(self, connection: sqlite3.Connection, gone: Collection[str] = ()) -> None:
        self._connection, self._gone = connection, gone
        self._texts = _Texts(connection)

    def runs(self) -> pd.DataFrame:
        """One row a run."""
        runs = self._table(_RUNS)
        left = runs.pop("session").isin(list(self._gone)) & (runs["status"] == "running")
        return runs.assign(status=runs["status"].mask(left, "interrupted"))

    def asks(self, messages: bool, run: int | None = None) -> pd.DataFrame:
        """One row an attempt, with the chats as JSON when `messages` are wanted."""
        asks = self._table(f"SELECT * FROM asks {_where(run)}", run)
        if not messages:
            return asks.drop(columns="messages")
        chats = [self._as_json(stored) for stored in asks["messages"]]
        return asks.assign(messages=pd.Series(chats, dtype=str))

    def decisions(self, run: int | None = None) -> pd.DataFrame:
        """One row an ask."""
        decided = self._table(_DECIDED.format(where=_where(run)), run)
        values = [_loads(value) if isinstance(value, str) else None for value in decided["value"]]
        decided["value"] = pd.Series([_as_text(value) for value in values], dtype=str)
        numbers = pd.Series([_as_number(value) for value in values], dtype=float)
        decided.insert(list(decided.columns).index("value") + 1, "number", numbers)
        return decided

    def data(self, kind: str, run: int | None = None) -> pd.DataFrame:
        """The collected data: one row a round (`kind` ``model``) or an agent and round (``agent``).

        The types of the columns are what pandas makes of the values, as in the frames of a model.
        """
        named = f"SELECT run, {kind}_columns FROM runs {_where(run)} ORDER BY run"
        columns = {
            number: _loads(names) for number, names in self._connection.execute(named, _given(run))
        }
        union = dict.fromkeys(name for names in columns.values() for name in names)
        found: dict[str, list[Any]] = {name: [] for name in union}
        places: list[tuple[int, int]] = []
        stored = f"SELECT run, round, data FROM {kind}_data {_where(run)} ORDER BY run, round"
        for number, round_, data in self._connection.execute(stored, _given(run)):
            for row in [_loads(data)] if kind == "model" else _loads(data):
                cells = dict(zip(columns[number], row, strict=True))
                places.append((number, round_))
                for name, values in found.items():
                    values.append(cells.get(name))
        # A column without any value is one of missing numbers.
        frame = pd.DataFrame(
            {
                name: values if any(value is not None for value in values) else math.nan
                for name, values in found.items()
            },
            index=range(len(places)),
        )
        frame.insert(0, "round", pd.Series([round_ for _, round_ in places], dtype=int))
        frame.insert(0, "run", pd.Series([number for number, _ in places], dtype=int))
        return frame

    def messages(self, *key: int | str) -> list[tuple[str, str]]:
        """(role, content) of each message of the attempt at these values of `KEY`.

        Raises:
            UnknownName: when there is no such attempt.
        """
        where = " AND ".join(f"{name} = ?" for name in KEY)
        found = self._connection.execute(f"SELECT messages FROM asks WHERE {where}", key).fetchone()
        if found is None:
            place = ", ".join(f"{name} {value}" for name, value in zip(KEY, key, strict=True))
            raise UnknownName("attempt", place, ())
        return self._chat(found[0]) if found[0] is not None else []

    def _table(self, query: str, run: int | None = None) -> pd.DataFrame:
        cursor = self._connection.execute(query, _given(run))
        names = [name for name, *_ in cursor.description]
        columns = list(zip(*cursor, strict=True)) or [() for _ in names]
        table = pd.DataFrame(
            {
                name: pd.Series(list(values), dtype=_TYPES.get(name, str))
                for name, values in zip(names, columns, strict=True)
            }
        )
        dollars = [name for name in ("cost_usd", "paid_usd") if name in table]
        return table.round(dict.fromkeys(dollars, DECIMALS))

    def _chat(self, stored: str) -> list[tuple[str, str]]:
        return [
            (role, "\n".join([self._texts[line] for line in from_steps(steps)]))
            for role, steps in _loads(stored)
        ]

    def _as_json(self, stored: object) -> str | None:
        if not isinstance(stored, str):
            return None
        return to_json([{"role": r, "content": content} for r, content in self._chat(stored)])


class _Texts(dict[int, str]):
    """The lines of messages by their ids, each looked up once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __missing__(self, key: int) -> str:
        query = "SELECT text FROM texts WHERE id = ?"
        (self[key],) = self._connection.execute(query, [key]).fetchone()
        return self[key]


def _where(run: int | None) -> str:
    return "" if run is None else "WHERE run = ?"


def _given(run: int | None) -> Sequence[int]:
    return () if run is None else (run,)


def _loads(text: str) -> Any:
    """The value of JSON.

    Raises:
        ValueError: also for halves of surrogate pairs, which no file can hold.
    """
    value = json.loads(text)
    if "\\u" in text:
        to_json(value).encode()
    return value


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else to_json(value)


def _as_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value is not True else math.nan
