"""Contents of a recording as data frames: runs, asks, decisions, model and agent data, messages."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.usage import DECIMALS
from sabm_mesa.errors import UnknownName
from sabm_mesa.recording.rows import MESSAGE_COLUMNS, AskRow, columns
from sabm_mesa.recording.store import (
    ended_sessions,
    open_for_reading,
    reporting_damage,
)
from sabm_mesa.recording.varied import varied_columns

MESSAGE_FRAME = ("run", "round", "phase", "position", "speaker", "name", "to", "text")
HEARD_BY_ALL = "all"
KEY = ("run", "round", "phase", "agent", "call", "attempt")
_DECISION = (
    *KEY[:-1], "name", "mind", "valid", "value", "number", "read_as", "reasoning", "reason",
    "attempts", "prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd", "latency_s",
    "copied", "position", "final",
)  # fmt: skip
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
FROM answers {where} GROUP BY run
"""
_PLAYED = """
SELECT round FROM model_data WHERE run = :run
UNION SELECT round FROM answers WHERE run = :run ORDER BY round
"""
_SPOKEN = "SELECT round FROM message_data WHERE run = :run AND data <> '[]' ORDER BY round"
_INVALID = "SELECT DISTINCT round FROM answers WHERE run = :run AND NOT valid ORDER BY round"
_OF_PHASE = "SELECT DISTINCT round FROM answers WHERE run = :run AND phase = :phase ORDER BY round"


class Recorded:
    """A recording for reading, from any process, also while runs write to it.

    Each call reads the file again and then closes it. The data that a run in progress has not
    written yet is not in the frames. Missing text is None or NaN, depending on the version of
    pandas; a missing number is NaN. `run`, `rounds` (counted from 0) and `agent` select rows.

    Args:
        check: whether each call first checks every page of the file, which takes longer for larger
            files.

    Raises:
        RecordingError: by every method, when there is no such recording, or it is not a recording,
            damaged, or of another format; the file is not changed.
        UnknownName: by every method with `run`, when there is no such run.
    """

    def __init__(self, path: str | Path, *, check: bool = True) -> None:
        self.path, self._check = Path(path), check
        self._held: _Moment | None = None

    def runs(self, run: int | None = None, *, counts: bool = True) -> pd.DataFrame:
        """One row per run.

        Args:
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
        with self._moment(run) as moment:
            where, given = _where(run)
            runs = moment.table(_RUNS.format(where=where), given)
            counted = moment.table(_COUNTS.format(where=where), given) if counts else None
        left = runs.pop("session").isin(list(moment.ended)) & (runs["status"] == "running")
        runs["status"] = runs["status"].mask(left, "interrupted")
        if run is None:
            texts = (runs[name] for name in ("parameters", "forks", "tags"))
            with reporting_damage(self.path):
                runs = runs.assign(**varied_columns(*texts))
        if counted is None:
            return runs
        by_run = counted.set_index("run")
        at = list(runs.columns).index("rounds") + 1
        for name in reversed(by_run.columns):  # a run without an ask has cost nothing
            values = by_run[name].reindex(runs["run"], fill_value=0).to_numpy()
            runs.insert(at, str(name), values)
        return runs

    def rounds(
        self, run: int, *, phase: str | None = None, spoken: bool = False, invalid: bool = False
    ) -> list[int]:
        """The rounds of a run with data or asks, in order.

        Args:
            phase: only rounds with a question in this phase.
            spoken: only rounds with a message.
            invalid: only rounds with an invalid attempt; every attempt counts.
        """
        query = _OF_PHASE if phase else _SPOKEN if spoken else _INVALID if invalid else _PLAYED
        given = {"run": run, "phase": phase} if phase else {"run": run}
        with self._moment(run) as moment:
            return [int(number) for (number,) in moment.connection.execute(query, given)]

    def asks(
        self,
        messages: bool = False,
        run: int | None = None,
        rounds: range | None = None,
        agent: int | None = None,
    ) -> pd.DataFrame:
        """One row per attempt: each answer, including unusable ones.

        Args:
            messages: whether to add the column ``messages``, the chat that was sent as JSON
                (``[{"role": …, "content": …}, …]``; missing when nothing was sent). It repeats
                texts that the recording stores once, and may take much memory.

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
        where, given = _where(run, rounds, agent)
        names = [n for n in columns(AskRow) if n != "sent" and (messages or n != "messages")]
        query = f"SELECT {', '.join(names)} FROM answers {where} ORDER BY {', '.join(KEY)}"
        with self._moment(run) as moment:
            asks = moment.table(query, given)
            stored = _columns_of(
                asks[[name for name in ("provenance", "messages") if name in asks]]
            )
            texts = {digest: moment.text(digest) for digest in {*stored["provenance"]} - {None}}
            asks["provenance"] = pd.Series([*map(texts.get, stored["provenance"])], dtype=str)
            if messages:
                chats = [sent if sent is None else moment.chat(sent) for sent in stored["messages"]]
                asks["messages"] = pd.Series([*map(_as_json, chats)], dtype=str)
        return asks

    def decisions(self, run: int | None = None) -> pd.DataFrame:
        """One row per ask: its final result.

        Returns:
            Its position (``run``, ``round``, ``phase``, ``agent``, ``call``), ``name``, ``mind``;
            of its last attempt ``valid``, ``value`` as text (missing when invalid), ``number`` (the
            value as a number, or NaN), ``read_as``, ``reasoning`` and ``reason`` (why it is
            invalid); over all attempts ``attempts``, ``prompt_tokens``, ``cached_tokens``,
            ``completion_tokens``, ``cost_usd``, ``latency_s``; ``copied`` and ``position`` as in
            `asks`; and ``final``: False when the last answer is invalid and the run stopped (or is)
            before asking again, so that nothing was decided. `runs` does not count it.
        """
        where, given = _where(run)
        ordered = f"SELECT * FROM decisions {where} ORDER BY {', '.join(KEY[:-1])}"
        with self._moment(run) as moment:
            decisions = moment.table(ordered, given)
            values = [_read_value(value) for value in _columns_of(decisions[["value"]])["value"]]
        decisions["value"] = pd.Series([text for text, _ in values], dtype=str)
        decisions["number"] = pd.Series([number for _, number in values], dtype=float)
        return decisions[[*_DECISION]]

    def model_data(self, run: int | None = None) -> pd.DataFrame:
        """One row per round, as in ``model.csv``.

        Returns:
            ``run``, ``round`` and the model columns of the scenario, with the types they have in
            `SmartModel.model_frame`; with several scenarios, the columns of all.
        """
        return self._data("model", run)

    def agent_data(self, run: int | None = None, rounds: range | None = None) -> pd.DataFrame:
        """One row per agent and round, as in ``agents.csv``.

        Returns:
            ``run``, ``round``, ``agent``, ``mind`` and the agent columns of the scenario, with the
            types they have in `SmartModel.agent_frame`; with several scenarios, the columns of all.
        """
        return self._data("agent", run, rounds)

    def messages(self, run: int | None = None, rounds: range | None = None) -> pd.DataFrame:
        """One row per message, in the order of the turns.

        Returns:
            ``run``, ``round``; ``phase`` and ``position`` (the turn of the phase, from 0); the
            ``speaker`` (its id) and its ``name`` (such as ``Voter 3``); ``to``: ``all``, or
            the ids of the agents that heard it, separated by spaces (missing if nobody heard it);
            ``text``.
        """
        where, given = _where(run, rounds)
        query = f"SELECT run, round, data FROM message_data {where} ORDER BY run, round"
        with self._moment(run) as moment:
            rows = [
                dict(
                    zip(("run", "round", *MESSAGE_COLUMNS), (number, round_, *message), strict=True)
                )
                for number, round_, data in moment.connection.execute(query, given)
                for message in _loads(data)
            ]
            for row in rows:
                heard = row["to"]
                row["to"] = HEARD_BY_ALL if heard is None else " ".join(map(str, heard))
                row |= {name: row[name] or None for name in ("name", "phase", "to", "text")}
        return pd.DataFrame(
            {
                name: pd.Series([row[name] for row in rows], dtype=_TYPES.get(name, str))
                for name in MESSAGE_FRAME
            }
        )

    def chat(
        self, run: int, round: int, phase: str, agent: int, call: int = 0, attempt: int = 0  # noqa: A002
    ) -> list[tuple[str, str]]:  # fmt: skip
        """The chat of an attempt exactly as it was sent, by its position as in `asks`.

        Returns:
            (role, content) of each message; none when nothing was sent.

        Raises:
            UnknownName: when there is no such attempt.
        """
        key = run, round, phase, agent, call, attempt
        where = " AND ".join(f"{name} = ?" for name in KEY)
        query = f"SELECT messages FROM answers WHERE {where}"
        with self._moment() as moment:
            row = moment.connection.execute(query, key).fetchone()
            if row is None:
                words = ", ".join(f"{name} {value}" for name, value in zip(KEY, key, strict=True))
                raise UnknownName("attempt", words, ())
            return moment.chat(row[0])

    def frames(self, messages: bool = False) -> dict[str, pd.DataFrame]:
        """All six frames, from one moment.

        Args:
            messages: as in `asks`.

        Returns:
            Name of the method → its frame.
        """
        with self._moment() as moment:
            now = Recorded(self.path)
            now._held = moment
            return {
                "runs": now.runs(),
                "asks": now.asks(messages),
                "decisions": now.decisions(),
                "model_data": now.model_data(),
                "agent_data": now.agent_data(),
                "messages": now.messages(),
            }

    def _data(self, kind: str, run: int | None, rounds: range | None = None) -> pd.DataFrame:
        """The collected data of the ``model`` or of each ``agent``.

        The column types are those that pandas gives the values, as in the frames of a model.
        """
        query = f"SELECT run, {kind}_columns FROM runs ORDER BY run"
        where, given = _where(run, rounds)
        stored = f"SELECT run, round, data FROM {kind}_data {where} ORDER BY run, round"
        with self._moment(run) as moment:
            names = {number: _loads(of_run) for number, of_run in moment.connection.execute(query)}
            wanted = names if run is None else {run: names[run]}
            columns: dict[str, list[Any]] = {"run": [], "round": []}
            columns |= {name: [] for name in chain.from_iterable(wanted.values())}
            for number, round_, text in moment.connection.execute(stored, given):
                for row in [_loads(text)] if kind == "model" else _loads(text):
                    cells = dict(zip(names[number], row, strict=True))
                    cells |= {"run": number, "round": round_}
                    for name, column in columns.items():
                        column.append(cells.get(name))
        # A column without any value is one of missing numbers.
        return pd.DataFrame(
            {
                name: values if any(value is not None for value in values) else math.nan
                for name, values in columns.items()
            },
            index=range(len(columns["run"])),
        ).astype({"run": int, "round": int})

    @contextmanager
    def _moment(self, run: int | None = None) -> Iterator[_Moment]:
        """The recording at one moment, for any number of queries."""
        if self._held is not None:
            yield self._held
            return
        opened = open_for_reading(self.path, check=self._check)
        with reporting_damage(self.path), opened as connection:
            connection.row_factory = None
            ended = ended_sessions(self.path, connection)
            connection.execute("BEGIN")
            runs = [number for (number,) in connection.execute("SELECT run FROM runs")]
            if run is not None and run not in runs:
                raise UnknownName("run", run, map(str, runs))
            yield _Moment(connection, ended)


@dataclass(frozen=True)
class _Moment:
    """A read transaction on a recording, and the sessions that had ended before it."""

    connection: sqlite3.Connection
    ended: Collection[str]

    def table(self, query: str, given: Sequence[int]) -> pd.DataFrame:
        """The result of a query, with the types of its columns."""
        cursor = self.connection.execute(query, given)
        names = [name for name, *_ in cursor.description]
        rows = cursor.fetchall()
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        return pd.DataFrame(
            {
                name: pd.Series(column, dtype=_TYPES.get(name, str))
                for name, column in zip(names, columns, strict=True)
            }
        ).round(dict.fromkeys(("cost_usd", "paid_usd"), DECIMALS))

    def chat(self, stored: str | None) -> list[tuple[str, str]]:
        """(role, content) of each message; none when nothing was sent."""
        return [(role, self.text(digest)) for role, digest in _loads(stored or "[]")]

    def text(self, digest: str) -> str:
        """The text with a hash."""
        query = "SELECT text FROM texts WHERE hash = ?"
        (text,) = self.connection.execute(query, [digest]).fetchone()
        return str(text)


def _columns_of(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """The columns of a frame; None where a value is missing."""
    present = frame.astype(object).where(frame.notna(), None)
    return {str(name): values.tolist() for name, values in present.items()}


def _as_json(chat: Sequence[tuple[str, str]] | None) -> str | None:
    if chat is None:
        return None
    return to_json([{"role": role, "content": content} for role, content in chat])


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


def _read_value(stored: str | None) -> tuple[str | None, float | None]:
    """The value of an answer as text, and as a number if it is one."""
    value = None if stored is None else _loads(stored)
    text = value if value is None or isinstance(value, str) else to_json(value)
    if isinstance(value, int | float) and value is not True and not math.isnan(value):
        return text, float(value)
    return text, None
