"""Contents of a recording as data frames: runs, asks, decisions, model and agent data, messages."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain, groupby, islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.usage import DECIMALS
from sabm_mesa.errors import UnknownName
from sabm_mesa.recording.store import (
    ASK_COLUMNS,
    MESSAGE_COLUMNS,
    ended_sessions,
    open_for_reading,
    reporting_damage,
)
from sabm_mesa.recording.varied import SET, TAG, varied_columns

MESSAGE_FRAME = ("run", "round", "phase", "position", "speaker", "name", "to", "text")
HEARD_BY_ALL = "all"
KEY = ("run", "round", "phase", "agent", "call", "attempt")
_TYPES: dict[str, type] = {
    **dict.fromkeys(
        (*KEY, "attempts", "retries", "rounds", "asks", "invalid", "position", "speaker"), int
    ),
    **dict.fromkeys(("prompt_tokens", "cached_tokens", "completion_tokens", "thought_tokens"), int),
    **dict.fromkeys(("cost_usd", "paid_usd", "latency_s", "number"), float),
    **dict.fromkeys(("valid", "final", "copied"), bool),
    "phase": str,
}
"""The types of the columns; every other one is text."""
_SUMS = ("prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd", "latency_s")
"""The columns of a decision that are sums over its attempts."""
_DECISION = (
    *KEY[:-1], "name", "mind", "valid", "value", "number", "read_as", "reasoning", "reason",
    "attempts", *_SUMS, "copied", "position", "final",
)  # fmt: skip
_OF_DECISION = tuple(
    dict.fromkeys((*KEY, *(column for column in _DECISION if column in ASK_COLUMNS)))
)
"""The columns of attempts from which a decision is built."""
BATCH = 10_000
"""The number of rows per read; collected data and messages are read in whole rounds, with at least
this many rows."""
Columns = Mapping[str, Sequence[Any]]
"""Some rows of a table: column → values; None where one is missing."""
_RUNS = """
SELECT run, uid, command, parent, scenario, status,
    (SELECT count(*) FROM model_data WHERE model_data.run = runs.run) AS rounds,
    started, ended, problem, end_reason, seed, minds, parameters, forks, tags, session
FROM runs {where} ORDER BY run
"""
# An ask that was decided has one final attempt.
_COUNTS = """
SELECT run, total(final) AS asks, total(final AND NOT valid) AS invalid,
    sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,
    CASE WHEN count(cost_usd) = count(*) THEN total(cost_usd) END AS cost_usd,
    CASE WHEN sum(NOT copied AND cost_usd IS NULL) = 0
        THEN total(cost_usd) FILTER (WHERE NOT copied) END AS paid_usd
FROM asks {where} GROUP BY run
"""
# Asks are looked for in the rounds without data alone, which are the last ones.
_PLAYED = """
WITH RECURSIVE asked (round) AS (
    SELECT min(round) FROM asks WHERE run = :run
    AND round > (SELECT coalesce(max(round), -1) FROM model_data WHERE run = :run)
    UNION ALL
    SELECT (SELECT min(round) FROM asks WHERE run = :run AND round > asked.round) FROM asked
    WHERE asked.round IS NOT NULL
)
SELECT round FROM asked WHERE round IS NOT NULL
UNION SELECT round FROM model_data WHERE run = :run ORDER BY round
"""
_SPOKEN = "SELECT round FROM message_data WHERE run = :run AND data <> '[]' ORDER BY round"
_N_MESSAGES = "SELECT total(json_array_length(data)) FROM message_data WHERE run = :run"
_INVALID = "SELECT DISTINCT round FROM asks WHERE run = :run AND NOT valid ORDER BY round"


class Tables(NamedTuple):
    """Tables in batches, so that only a part of them is in memory at a time.

    Attributes:
        types: table → column → type of its values: `int`, `float`, `bool`, `str`, or `object` for
            lists and values of different types.
        batches: some rows each: the table, and its columns. Those of a table are in order. None
            instead of the columns means that the types of the table have changed: the new ones are
            in `types`, and all its rows follow again.
    """

    types: Mapping[str, Mapping[str, type]]
    batches: Iterable[tuple[str, Columns | None]]


class Recorded:
    """A recording for reading, from any process, also while runs write to it.

    Each call reads the file again and then closes it. The data that a run in progress has not
    written yet is not in the frames. Missing text is None or NaN, depending on the version of
    pandas; a missing number is NaN.

    Args:
        path: the recording.
        check: whether each call first checks every page of the file, which takes longer for larger
            files.

    Raises:
        RecordingError: by every method, when there is no such recording, or it is not a recording,
            damaged, or of another format; the file is not changed.
        UnknownName: by every method with `run`, when there is no such run.
    """

    def __init__(self, path: str | Path, *, check: bool = True) -> None:
        self.path, self._check = Path(path), check

    def runs(self, run: int | None = None, *, counts: bool = True) -> pd.DataFrame:
        """One row per run.

        Args:
            run: only this run.
            counts: whether to count asks, tokens and dollars, which takes time; otherwise these
                columns are missing.

        Returns:
            ``run`` (its number in this file), ``uid`` (the same run in any file), ``command`` (the
            same for runs that were started together), ``parent`` (uid of the run it was forked
            from), ``scenario``; ``status``: ``running``, ``interrupted`` (it did not end, and is
            not being written), ``finished`` or ``failed``; ``rounds``, the number of finished
            rounds; ``asks`` and the number of ``invalid`` ones; ``prompt_tokens``,
            ``completion_tokens`` and ``cost_usd`` (dollars) of all attempts; ``paid_usd``, the same
            without copies from the parent of a fork, so only this column may be summed over runs (a
            cost is NaN when the price of an answer is unknown); ``started`` and ``ended`` (ISO
            8601, UTC), ``problem`` (why it failed), ``end_reason``
            (why it ended, if its scenario says so); ``seed``, ``minds``, ``parameters`` and
            ``forks`` (what changed, and from which round on) and ``tags`` as JSON. Without `run`,
            there are also columns for the differences between the runs of the file: ``set.NAME``
            for each parameter (after forks) and ``tag.NAME`` for each tag.
        """
        with self._moment(run) as tables:
            return tables.runs(run, counts=counts)

    def rounds(
        self, run: int, *, phase: str | None = None, spoken: bool = False, invalid: bool = False
    ) -> list[int]:
        """The rounds of a run with data or asks, in order.

        Args:
            run: the run.
            phase: only rounds with a question in this phase.
            spoken: only rounds with a message.
            invalid: only rounds with an invalid attempt; every attempt counts.
        """
        query = _SPOKEN if spoken else _INVALID if invalid else _PLAYED
        with self._moment(run) as tables:
            recorded = tables.numbers(query, run)
            return recorded if phase is None else tables.with_phase(run, recorded, phase)

    def n_messages(self, run: int) -> int:
        """The number of messages of a run.

        Args:
            run: the run.
        """
        with self._moment(run) as tables:
            return tables.numbers(_N_MESSAGES, run)[0]

    def asks(
        self, messages: bool = False, run: int | None = None, rounds: range | None = None
    ) -> pd.DataFrame:
        """One row per attempt: each answer, including unusable ones.

        Args:
            messages: whether to add the column ``messages``, the chat that was sent as JSON
                (``[{"role": …, "content": …}, …]``; missing when nothing was sent). It repeats
                texts that the recording stores once, and may take much memory.
            run: only this run.
            rounds: only these rounds, counted from 0.

        Returns:
            The columns of the recording: the position of the attempt (``run``, ``round``,
            ``phase``, ``agent``, ``call``, ``attempt``), ``name`` (the prompt entry), ``mind``,
            ``request`` (SHA-256), ``raw`` (the raw answer, without thoughts), ``thoughts``
            (private; no agent is ever shown them), ``form`` (the format of the answer), ``value``
            (the value read, as JSON), ``read_as`` (the step that read it, as in
            `sabm_mesa.core.reader`), ``reasoning``, ``valid``, ``reason`` (why not),
            ``prompt_tokens``, ``cached_tokens``, ``completion_tokens``, ``thought_tokens`` (those
            of thoughts among them, if the server reports them), ``cost_usd`` (dollars),
            ``latency_s`` (seconds), ``served_model``, ``finish_reason``, ``retries``,
            ``response_id``, ``provenance`` (JSON: the ``model`` asked for, ``provider``,
            ``system_fingerprint``, and the parameters ``sent``, with those ``asked`` for if they
            differ), and ``copied`` (answered, and paid for, in the parent of a fork) ``position``
            (the turn of the phase in which it was asked, from 0: the order of speakers), and
            ``final`` (whether this attempt decided; after one that did not, the question was asked
            again).
        """
        with self._moment(run) as tables:
            return tables.asks(messages, run, rounds)

    def decisions(self, run: int | None = None) -> pd.DataFrame:
        """One row per ask: its final result.

        Args:
            run: only this run.

        Returns:
            Its position (``run``, ``round``, ``phase``, ``agent``, ``call``), ``name``, ``mind``;
            of its last attempt ``valid``, ``value`` as text (missing when invalid), ``number`` (the
            value as a number, or NaN), ``read_as``, ``reasoning`` and ``reason`` (why it is
            invalid); over all attempts ``attempts``, ``prompt_tokens``, ``cached_tokens``,
            ``completion_tokens``, ``cost_usd``, ``latency_s``; ``copied`` and ``position`` as in
            `asks`; and ``final``: False when the last answer is invalid and the run stopped (or is)
            before asking again, so that nothing was decided. `runs` does not count it.
        """
        with self._moment(run) as tables:
            return tables.decisions(run)

    def model_data(self, run: int | None = None) -> pd.DataFrame:
        """One row per round, as in ``model.csv``.

        Args:
            run: only this run.

        Returns:
            ``run``, ``round`` and the model columns of the scenario, with the types they have in
            `SmartModel.model_frame`; with several scenarios, the columns of all.
        """
        with self._moment(run) as tables:
            return tables.data("model", run)

    def agent_data(self, run: int | None = None, rounds: range | None = None) -> pd.DataFrame:
        """One row per agent and round, as in ``agents.csv``.

        Args:
            run: only this run.
            rounds: only these rounds, counted from 0.

        Returns:
            ``run``, ``round``, ``agent``, ``mind`` and the agent columns of the scenario, with the
            types they have in `SmartModel.agent_frame`; with several scenarios, the columns of all.
        """
        with self._moment(run) as tables:
            return tables.data("agent", run, rounds)

    def messages(self, run: int | None = None, rounds: range | None = None) -> pd.DataFrame:
        """One row per message, in the order of the turns.

        Args:
            run: only this run.
            rounds: only these rounds, counted from 0.

        Returns:
            ``run``, ``round``; ``phase`` and ``position`` (the turn of the phase, from 0); the
            ``speaker`` (its id) and its ``name`` (missing if agents have none); ``to``: ``all``, or
            the ids of the agents that heard it, separated by spaces (missing if nobody heard it);
            ``text``.
        """
        with self._moment(run) as tables:
            return tables.said(run, rounds)

    def chat(
        self, run: int, round: int, phase: str, agent: int, call: int = 0, attempt: int = 0  # noqa: A002
    ) -> list[tuple[str, str]]:  # fmt: skip
        """The chat of an attempt exactly as it was sent.

        Args:
            run: the run.
            round: the round, from 0.
            phase: the phase.
            agent: the agent.
            call: which ask of the agent in this phase, from 0.
            attempt: which attempt at it, from 0.

        Returns:
            (role, content) of each message; none when nothing was sent.

        Raises:
            UnknownName: when there is no such attempt.
        """
        with self._moment() as tables:
            return tables.chat(run, round, phase, agent, call, attempt)

    def chats(self, run: int, round: int) -> dict[tuple[str, int, int, int], list[tuple[str, str]]]:  # noqa: A002
        """The chats of all attempts of a round, exactly as sent.

        Args:
            run: the run.
            round: the round, from 0.

        Returns:
            (phase, agent, call, attempt) → (role, content) of each message; none when nothing was
            sent.
        """
        with self._moment(run) as tables:
            return tables.chats(run, round)

    def of_agent(self, run: int, agent: int, rounds: range) -> dict[str, pd.DataFrame]:
        """The asks and data of one agent in some rounds, and all messages in them.

        Args:
            run: the run.
            agent: the agent.
            rounds: the rounds, one after another, from 0.

        Returns:
            For these rounds the ``asks`` and ``agent_data`` of the agent, and the ``messages`` of
            all agents, in the form of the methods of these names.
        """
        with self._moment(run) as tables:
            data = tables.data("agent", run, rounds)
            return {
                "asks": tables.asks(False, run, rounds, agent),
                "agent_data": data[data["agent"] == agent],
                "messages": tables.said(run, rounds),
            }

    def frames(self, messages: bool = False) -> dict[str, pd.DataFrame]:
        """All six frames, from one moment.

        Args:
            messages: as in `asks`.

        Returns:
            Name of the method → its frame.
        """
        with self._moment() as tables:
            return {
                "runs": tables.runs(),
                "asks": tables.asks(messages),
                "decisions": tables.decisions(),
                "model_data": tables.data("model"),
                "agent_data": tables.data("agent"),
                "messages": tables.said(),
            }

    @contextmanager
    def tables(self, messages: bool = False) -> Iterator[Tables]:
        """The rows of all six frames in batches, from one moment.

        The memory depends on the longest round, not on the size of the recording.

        Args:
            messages: as in `asks`.

        Yields:
            The tables, with the names, columns and rows of `frames`.
        """
        with self._moment() as tables:
            yield tables.in_batches(messages)

    @contextmanager
    def _moment(self, run: int | None = None) -> Iterator[_Tables]:
        """Open the recording at one moment, for any number of queries."""
        opened = open_for_reading(self.path, check=self._check)
        with reporting_damage(self.path), opened as connection:
            connection.row_factory = None
            ended = ended_sessions(self.path, connection)
            connection.execute("BEGIN")
            runs = [number for (number,) in connection.execute("SELECT run FROM runs")]
            if run is not None and run not in runs:
                raise UnknownName("run", run, map(str, runs))
            yield _Tables(connection, ended)


class _Tables:
    """The frames of a recording at one moment.

    Args:
        connection: a read transaction on the recording.
        ended: the sessions that have ended.
    """

    def __init__(self, connection: sqlite3.Connection, ended: Collection[str] = ()) -> None:
        self._connection, self._ended = connection, ended

    def runs(self, run: int | None = None, *, counts: bool = True) -> pd.DataFrame:
        """One row per run."""
        where, given = _where(run)
        runs = self._table(_RUNS.format(where=where), given)
        left = runs.pop("session").isin(list(self._ended)) & (runs["status"] == "running")
        runs["status"] = runs["status"].mask(left, "interrupted")
        if run is None:
            texts = (runs[name] for name in ("parameters", "forks", "tags"))
            runs = runs.assign(**varied_columns(*texts))
        if not counts:
            return runs
        counted = self._table(_COUNTS.format(where=where), given).set_index("run")
        at = list(runs.columns).index("rounds") + 1
        for name in reversed(counted.columns):  # a run without an ask has cost nothing
            values = counted[name].reindex(runs["run"], fill_value=0).to_numpy()
            runs.insert(at, str(name), values)
        return runs

    def numbers(self, query: str, run: int) -> list[int]:
        """The numbers that a query on a run returns."""
        return [int(number) for (number,) in self._connection.execute(query, {"run": run})]

    def with_phase(self, run: int, rounds: Sequence[int], phase: str) -> list[int]:
        """The rounds among these with an ask in the phase."""
        query = "SELECT 1 FROM asks WHERE run = ? AND round = ? AND phase = ? LIMIT 1"
        places = ((round_, (run, round_, phase)) for round_ in rounds)
        return [
            n for n, parameters in places if self._connection.execute(query, parameters).fetchone()
        ]

    def in_batches(self, messages: bool) -> Tables:
        """All tables in batches; each attempt is read once for its ask and its decision."""
        types = {
            "runs": _types_of(runs := self.runs()) | _types_of_varied(runs),
            "asks": _types(_attempt_columns(messages)),
            "decisions": _types(_DECISION),
            "model_data": self._data_types("model", 1),
            "agent_data": self._data_types("agent", 1),
            "messages": _types(MESSAGE_FRAME),
        }

        def batches() -> Iterator[tuple[str, Columns | None]]:
            yield "runs", columns_of(runs)
            for attempts in self._attempts(_attempt_columns(messages)):
                yield "asks", attempts
                yield "decisions", _decided(attempts)
            for kind in ("model", "agent"):
                name, seen = f"{kind}_data", self._kinds(kind)
                for data in self._data(kind):
                    if _types_with(seen, data) != types[name]:
                        types[name] = self._data_types(kind)
                        yield name, None
                        for again in self._data(kind):
                            yield name, _as_typed(again, types[name])
                        break
                    yield name, _as_typed(data, types[name])
            for batch in self._said():
                yield "messages", batch

        return Tables(types, batches())

    def asks(
        self,
        messages: bool,
        run: int | None = None,
        rounds: range | None = None,
        agent: int | None = None,
    ) -> pd.DataFrame:
        """One row per attempt, with the chats as JSON if `messages` is set."""
        names = _attempt_columns(messages)
        return _frame(_types(names), self._attempts(names, run, rounds, agent))

    def decisions(self, run: int | None = None) -> pd.DataFrame:
        """One row an ask."""
        return _frame(_types(_DECISION), map(_decided, self._attempts(_OF_DECISION, run)))

    def data(self, kind: str, run: int | None = None, rounds: range | None = None) -> pd.DataFrame:
        """The collected data: one row per round (`kind` ``model``) or agent and round (``agent``).

        The column types are those that pandas gives the values, as in the frames of a model.
        """
        names = ["run", "round", *self._data_columns(kind, run)]
        columns = _joined(names, self._data(kind, run, rounds))
        # A column without any value is one of missing numbers.
        return pd.DataFrame(
            {
                name: values if any(value is not None for value in values) else math.nan
                for name, values in columns.items()
            },
            index=range(len(columns["run"])),
        ).astype({"run": int, "round": int})

    def said(self, run: int | None = None, rounds: range | None = None) -> pd.DataFrame:
        """One row per message, with the hearers as a text."""
        return _frame(_types(MESSAGE_FRAME), self._said(run, rounds))

    def chat(self, *key: int | str) -> list[tuple[str, str]]:
        """(role, content) of each message of the attempt at these values of `KEY`.

        Raises:
            UnknownName: when there is no such attempt.
        """
        where = " AND ".join(f"{name} = ?" for name in KEY)
        row = self._connection.execute(f"SELECT messages FROM asks WHERE {where}", key).fetchone()
        if row is None:
            attempt = ", ".join(f"{name} {value}" for name, value in zip(KEY, key, strict=True))
            raise UnknownName("attempt", attempt, ())
        return self._chat(row[0]) if row[0] is not None else []

    def chats(self, run: int, round_: int) -> dict[Any, list[tuple[str, str]]]:
        """(phase, agent, call, attempt) → the chat of that attempt of the round."""
        query = f"SELECT {', '.join(KEY[2:])}, messages FROM asks WHERE run = ? AND round = ?"
        rows_of_round = self._connection.execute(query, (run, round_))
        return {
            tuple(key): self._chat(sent) if sent is not None else [] for *key, sent in rows_of_round
        }

    def _table(self, query: str, given: Sequence[int] = ()) -> pd.DataFrame:
        cursor = self._connection.execute(query, given)
        names = [name for name, *_ in cursor.description]
        return _frame(_types(names), map(_cleaned, _in_columns(names, [cursor.fetchall()])))

    def _attempts(
        self,
        names: Sequence[str],
        run: int | None = None,
        rounds: range | None = None,
        agent: int | None = None,
    ) -> Iterator[Columns]:
        """These columns of attempts, `KEY` first; all attempts at an ask are in one batch."""
        where, given = _where(run, rounds, agent)
        query = f"SELECT {', '.join(names)} FROM asks {where} ORDER BY {', '.join(KEY)}"
        for batch in _in_columns(names, _whole_asks(self._connection.execute(query, given))):
            columns = _cleaned(batch)
            if "provenance" in columns:
                columns["provenance"] = [
                    None if digest is None else self._text(digest)
                    for digest in columns["provenance"]
                ]
            if "messages" in columns:
                columns["messages"] = [self._as_json(stored) for stored in columns["messages"]]
            yield columns

    def _data_columns(self, kind: str, run: int | None = None) -> dict[str, None]:
        """The columns of the collected data of all runs, or of one."""
        where, given = _where(run)
        query = f"SELECT {kind}_columns FROM runs {where} ORDER BY run"
        named = (_loads(names) for (names,) in self._connection.execute(query, given))
        return dict.fromkeys(chain.from_iterable(named))

    def _data(
        self, kind: str, run: int | None = None, rounds: range | None = None
    ) -> Iterator[Columns]:
        """The stored form of the collected data."""
        query = f"SELECT run, {kind}_columns FROM runs"
        columns = {number: _loads(names) for number, names in self._connection.execute(query)}
        union = ["run", "round", *self._data_columns(kind, run)]
        where, given = _where(run, rounds)
        stored = f"SELECT run, round, data FROM {kind}_data {where} ORDER BY run, round"
        batch: dict[str, list[Any]] = {name: [] for name in union}
        for number, of_run in groupby(self._connection.execute(stored, given), itemgetter(0)):
            names = ["run", "round", *columns[number]]
            for rows in _joined_rows(_rows_of_round(kind, *arguments) for arguments in of_run):
                if not rows:
                    continue
                cells = dict(zip(names, zip(*rows, strict=True), strict=True))
                for name, column in batch.items():
                    column.extend(cells.get(name) or [None] * len(rows))
                if len(batch["run"]) >= BATCH:
                    yield batch
                    batch = {name: [] for name in union}
        if batch["run"]:
            yield batch

    def _kinds(self, kind: str) -> dict[str, set[type]]:
        """Column of the collected data → types of its values, before any is looked at."""
        names = self._data_columns(kind)
        return {"run": {int}, "round": {int}, **{name: set() for name in names}}

    def _data_types(self, kind: str, batches: int | None = None) -> dict[str, type]:
        """The types of the collected data, from all of them or from some batches."""
        types = _types_with(seen := self._kinds(kind), {})
        for data in islice(self._data(kind), batches):
            types = _types_with(seen, data)
        return types

    def _said(self, run: int | None = None, rounds: range | None = None) -> Iterator[Columns]:
        """The messages, with their hearers as texts."""
        where, given = _where(run, rounds)
        query = f"SELECT run, round, data FROM message_data {where} ORDER BY run, round"
        stored = (
            [(number, round_, *message) for message in _loads(data)]
            for number, round_, data in self._connection.execute(query, given)
        )
        for batch in _in_columns(("run", "round", *MESSAGE_COLUMNS), _joined_rows(stored)):
            batch["to"] = [
                HEARD_BY_ALL if ids is None else " ".join(map(str, ids)) for ids in batch["to"]
            ]
            for name in ("name", "to", "phase", "text"):
                batch[name] = [value or None for value in batch[name]]
            yield {name: batch[name] for name in MESSAGE_FRAME}

    def _chat(self, stored: str) -> list[tuple[str, str]]:
        return [(role, self._text(digest)) for role, digest in _loads(stored)]

    def _text(self, digest: str) -> str:
        query = "SELECT text FROM texts WHERE hash = ?"
        (text,) = self._connection.execute(query, [digest]).fetchone()
        return str(text)

    def _as_json(self, stored: str | None) -> str | None:
        if stored is None:
            return None
        return to_json([{"role": r, "content": content} for r, content in self._chat(stored)])


def columns_of(frame: pd.DataFrame) -> Columns:
    """The columns of a frame.

    Args:
        frame: the frame.
    """
    present = frame.astype(object).where(frame.notna(), None)
    return {str(name): values.tolist() for name, values in present.items()}


def _attempt_columns(messages: bool) -> list[str]:
    return [name for name in ASK_COLUMNS if messages or name != "messages"]


def _types(names: Iterable[str]) -> dict[str, type]:
    return {name: _TYPES.get(name, str) for name in names}


def _types_of(frame: pd.DataFrame) -> dict[str, type]:
    return _types(map(str, frame.columns))


def _types_of_varied(runs: pd.DataFrame) -> dict[str, type]:
    """The types of the columns with the differences between the runs."""
    types: dict[str, type] = {}
    for name in runs.columns:
        if str(name).startswith((SET, TAG)):
            kinds = {type(value) for value in columns_of(runs[[name]])[str(name)]} - {type(None)}
            types[str(name)] = kinds.pop() if len(kinds) == 1 else object
    return types


def _frame(types: Mapping[str, type], batches: Iterable[Columns]) -> pd.DataFrame:
    columns = _joined(types, batches)
    return pd.DataFrame({name: pd.Series(columns[name], dtype=types[name]) for name in types})


def _joined(names: Iterable[str], batches: Iterable[Columns]) -> dict[str, list[Any]]:
    """The columns of all batches."""
    parts = list(batches)
    return {name: [*chain.from_iterable(part[name] for part in parts)] for name in names}


def _in_columns(
    names: Sequence[str], batches: Iterable[Sequence[Sequence[Any]]]
) -> Iterator[dict[str, Sequence[Any]]]:
    """Batches of rows as columns."""
    for rows in batches:
        if rows:
            yield dict(zip(names, zip(*rows, strict=True), strict=True))


def _joined_rows(parts: Iterable[list[Any]]) -> Iterator[list[Any]]:
    """Joins parts of rows to batches."""
    rows: list[Any] = []
    for part in parts:
        rows += part
        if len(rows) >= BATCH:
            yield rows
            rows = []
    yield rows


def _rows_of_round(kind: str, run: int, round_: int, data: str) -> list[Any]:
    """The rows of collected data of a round: run, round, and the values of the columns."""
    rows = [_loads(data)] if kind == "model" else _loads(data)
    return [(run, round_, *row) for row in rows]


def _whole_asks(cursor: sqlite3.Cursor) -> Iterator[list[Any]]:
    """Batches of attempts, `KEY` first; an ask that continues in the next batch is moved there."""
    rows: list[Any] = []
    while more := cursor.fetchmany(BATCH):
        rows += more
        end = len(rows) - 1
        while end and rows[end - 1][:5] == rows[-1][:5]:
            end -= 1
        yield rows[:end]
        rows = rows[end:]
    yield rows


def _cleaned(batch: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Columns of a query, with booleans and dollars as in frames."""
    for name, values in batch.items():
        if _TYPES.get(name) is bool:
            batch[name] = [*map(bool, values)]
        elif name in ("cost_usd", "paid_usd"):
            usd = np.round(np.array(values, float), DECIMALS)
            batch[name] = [None if dollars != dollars else dollars for dollars in usd.tolist()]
    return batch


def _decided(attempts: Columns) -> Columns:
    """The last attempt of each ask, with the sums over all its attempts."""
    decided: dict[str, Sequence[Any]] = {name: attempts[name] for name in _OF_DECISION}
    decided["attempts"] = [attempt + 1 for attempt in decided["attempt"]]
    if any(decided["attempt"]):
        keys = [*zip(*(decided[name] for name in KEY[:-1]), strict=True), None]
        ends = [n for n, (key, after) in enumerate(pairwise(keys), start=1) if key != after]
        sums = {name: [_sum(decided[name][i:j]) for i, j in pairwise([0, *ends])] for name in _SUMS}
        decided |= {
            name: [values[end - 1] for end in ends] for name, values in decided.items()
        } | sums
    decided["value"], decided["number"] = zip(*map(_read_value, decided["value"]), strict=True)
    return {name: decided[name] for name in _DECISION}


def _sum(values: Sequence[Any]) -> Any:
    """The sum of numbers; None when one is unknown."""
    if len(values) == 1:
        return values[0]
    return None if None in values else round(sum(values), DECIMALS)


def _types_with(seen: dict[str, set[type]], data: Columns) -> dict[str, type]:
    """Add the types of some values to the types of each column; return the resulting types."""
    for name, values in data.items():
        seen[name].update(_kinds(values))
    return {name: _common(kinds) for name, kinds in seen.items()}


def _kinds(values: Sequence[Any]) -> set[type]:
    """The types of values in JSON; `object` for numbers of more than 64 bits."""
    kinds = set(map(type, values))
    whole = [value for value in values if type(value) is int] if kinds > {int} else values
    if int in kinds and not (min(whole) >= -(2**63) and max(whole) < 2**63):
        kinds.add(object)
    return kinds


def _common(kinds: Collection[type]) -> type:
    """The type that pandas gives to a column with values of these types."""
    known = set(kinds) - {type(None)}
    if known <= {int, float}:
        return int if known == set(kinds) == {int} else float
    return known.pop() if len(known) == 1 and known <= {bool, str} else object


def _as_typed(data: Columns, types: Mapping[str, type]) -> Columns:
    """Collected data with the numbers of float columns as floats."""
    return {
        name: [None if value is None else float(value) for value in values]
        if types[name] is float
        else values
        for name, values in data.items()
    }


def _where(
    run: int | None, rounds: range | None = None, agent: int | None = None
) -> tuple[str, Sequence[int]]:
    """The condition of a query, and its values."""
    conditions: dict[str, Sequence[int]] = {}
    if run is not None:
        conditions["run = ?"] = (run,)
    if rounds is not None:
        conditions["round BETWEEN ? AND ? AND (round - ?) % ? = 0"] = (
            rounds.start, rounds.stop - 1, rounds.start, rounds.step,
        )  # fmt: skip
    if agent is not None:
        conditions["agent = ?"] = (agent,)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return where, [value for values in conditions.values() for value in values]


def _loads(text: str) -> Any:
    """The value of JSON.

    Raises:
        ValueError: also for halves of surrogate pairs, which cannot be encoded.
    """
    value = json.loads(text)
    if "\\u" in text:
        to_json(value).encode()
    return value


@lru_cache(BATCH)  # many decisions have the same value
def _read_value(stored: str | None) -> tuple[str | None, float | None]:
    """The value of an answer as text, and as a number if it is one."""
    value = None if stored is None else _loads(stored)
    text = value if value is None or isinstance(value, str) else to_json(value)
    if isinstance(value, int | float) and value is not True and not math.isnan(value):
        return text, float(value)
    return text, None
