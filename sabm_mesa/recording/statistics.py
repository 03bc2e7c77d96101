"""Statistics of the asks of a recording: their number, their length, and repeated text.

Servers cache the beginning of a prompt, and many charge less when it is sent again. So prompts
begin with their constant part, the rules; then follows the history, which only grows, and then the
question. `repeated_prefixes` measures the repeated share of the characters sent.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sabm_mesa.core.usage import DECIMALS, Usage
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.recording.reading import load_runs
from sabm_mesa.recording.store import (
    open_for_reading,
    reporting_damage,
    session_is_open,
)

_STARTED_WITH = "SELECT run FROM runs WHERE command IN (SELECT command FROM runs WHERE run IN ({}))"

_QUOTED = re.compile(r'".*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to a language model, with all its attempts.

    Attributes:
        run: the number of the run.
        round: the round, from 0.
        name: the question.
        mind: the spec of the mind.
        attempts: how often it was asked.
        n_chars: bytes of UTF-8 of the first attempt's messages.
        first_tokens: tokens of the first attempt's messages.
        prompt_tokens: tokens sent in all attempts.
        cached_tokens: the part of them that was in the server's cache.
        completion_tokens: tokens received in all attempts.
        thought_tokens: the part of them that are thoughts.
        text_bytes: bytes of UTF-8 of a value that is a text; otherwise 0.
    """

    run: int
    round: int
    name: str
    mind: str
    attempts: int
    n_chars: int
    first_tokens: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    thought_tokens: int
    text_bytes: int


def asked(path: str | Path, scenario: str) -> list[Asked]:
    """All questions that language models answered in the runs of a scenario.

    Questions without reported tokens are left out.

    Args:
        path: the recording.
        scenario: the name of the scenario.

    Raises:
        RecordingError: when it is not a recording, damaged, or has no run.
        ParameterError: when it has no run of the scenario, or no answer of a language model.
    """
    known = load_runs(path)
    runs = [run for run in known if run.scenario == scenario]
    if not runs:
        others = ", ".join(sorted({run.scenario for run in known}))
        raise ParameterError(f"{path} holds no run of {scenario}; it has {others}.")
    with reporting_damage(Path(path)), open_for_reading(path) as connection:
        questions = _questions(connection, [run.run for run in runs])
    if not questions:
        raise ParameterError(
            f"No language model has answered in the runs of {scenario} in {path}, or none whose "
            "tokens were counted, so an estimate cannot use it."
        )
    return questions


def paid_for(path: str | Path, runs: Sequence[int]) -> Usage:
    """Return the cost of language models in runs and in all runs started with them.

    Args:
        path: the recording.
        runs: the numbers of the runs.

    Returns:
        Attempts, tokens and dollars. Answers that a fork copied were paid for elsewhere; one
        without a known price counts as 0 dollars.

    Raises:
        RecordingError: when it cannot be read.
    """
    with open_for_reading(path, check=False) as connection:
        asks, prompt, completion, usd = connection.execute(
            "SELECT count(*), total(prompt_tokens), total(completion_tokens), total(cost_usd) "
            "FROM asks WHERE mind LIKE 'llm:%' "
            f"AND NOT copied AND run IN ({_STARTED_WITH.format(', '.join(map(str, runs)))})"
        ).fetchone()
    return Usage(
        asks=int(asks),
        prompt_tokens=int(prompt),
        completion_tokens=int(completion),
        cost_usd=round(float(usd), DECIMALS),
    )


class Lost(NamedTuple):
    """A sent request whose answer was lost, with its highest possible cost.

    Attributes:
        model: the name of the language model.
        prompt_tokens: the maximum number of tokens sent.
        completion_tokens: the maximum number of tokens received.
        cost_usd: the highest possible cost in dollars; None when the price was unknown.
    """

    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


def lost_answers(path: str | Path, runs: Sequence[int]) -> list[Lost]:
    """The lost answers of runs and of all runs started with them.

    An answer is lost when its process died, or when it did not arrive in time. A pending answer is
    not lost.

    Args:
        path: the recording.
        runs: the numbers of the runs.

    Raises:
        RecordingError: when it cannot be read.
    """
    with open_for_reading(path, check=False) as connection:
        rows = connection.execute(
            "SELECT session, model, prompt_tokens, completion_tokens, cost_usd FROM sent "
            f"WHERE run IN ({_STARTED_WITH.format(', '.join(map(str, runs)))})"
        ).fetchall()
    sessions = {session for session, *_ in rows}
    under_way = {uid for uid in sessions if session_is_open(Path(path), uid)}
    return [Lost(*row) for session, *row in rows if session not in under_way]


def answers_in(path: str | Path) -> int | None:
    """The number of answers in a recording, copied ones included; None when it cannot be read.

    Args:
        path: the recording.
    """
    try:
        with open_for_reading(path, check=False) as connection:
            (number,) = connection.execute("SELECT count(*) FROM asks").fetchone()
    except RecordingError:
        return None
    return int(number)


def _questions(connection: sqlite3.Connection, runs: Sequence[int]) -> list[Asked]:
    sizes = dict(
        connection.execute("SELECT hash, length(CAST(text AS BLOB)) FROM texts").fetchall()
    )
    attempts = connection.execute(
        "SELECT * FROM asks WHERE request IS NOT NULL AND messages IS NOT NULL "
        f"AND run IN ({', '.join(map(str, runs))}) "
        "ORDER BY run, round, phase, agent, call, attempt"
    )
    key = itemgetter("run", "round", "phase", "agent", "call")
    questions = [_asked(list(rows), sizes) for _, rows in groupby(attempts, key)]
    return [question for question in questions if question.first_tokens]


def _asked(attempts: Sequence[sqlite3.Row], sizes: Mapping[str, int]) -> Asked:
    first, last = attempts[0], attempts[-1]
    value = None if last["value"] is None else json.loads(last["value"])
    return Asked(
        run=first["run"],
        round=first["round"],
        name=first["name"],
        mind=first["mind"],
        attempts=len(attempts),
        n_chars=sum(sizes[digest] for _, digest in json.loads(first["messages"])),
        first_tokens=first["prompt_tokens"],
        prompt_tokens=sum(row["prompt_tokens"] for row in attempts),
        cached_tokens=sum(row["cached_tokens"] for row in attempts),
        completion_tokens=sum(row["completion_tokens"] for row in attempts),
        thought_tokens=sum(row["thought_tokens"] for row in attempts),
        text_bytes=len(value.encode()) if isinstance(value, str) else 0,
    )


@dataclass(frozen=True, slots=True)
class Repeated:
    """Characters sent, and how many repeat the beginning of an earlier request.

    Attributes:
        characters: characters of all messages.
        repeated: the number of first characters that are equal to the same agent's previous
            request.
    """

    characters: int = 0
    repeated: int = 0

    @property
    def share(self) -> float | None:
        """The share of the characters that were repeated, 0 to 1; None when nothing was sent."""
        return self.repeated / self.characters if self.characters else None

    def __add__(self, more: Repeated) -> Repeated:
        """The sum of both."""
        return Repeated(self.characters + more.characters, self.repeated + more.repeated)


class FrequentReason(NamedTuple):
    """The most frequent reason of invalid decisions in some runs, with one example.

    Attributes:
        reason: the reason, with … in place of quotations.
        times: the number of invalid decisions with it.
        run: the run of the first of them.
        round: its round, from 0.
        name: its question.
        agent: its agent.
        answer: its last raw answer, or None.
    """

    reason: str
    times: int
    run: int
    round: int
    name: str
    agent: int
    answer: str | None


def frequent_reason(path: str | Path, runs: Sequence[int]) -> FrequentReason | None:
    """The most frequent reason of invalid decisions; None when all are valid.

    Args:
        path: the recording.
        runs: the numbers of the runs.

    Raises:
        RecordingError: when it cannot be read.
    """
    query = (
        "SELECT reason, run, round, name, agent, raw FROM asks WHERE final AND NOT valid "
        f"AND run IN ({', '.join(map(str, runs))}) ORDER BY run, round, phase, agent, call"
    )
    times: Counter[str] = Counter()
    first: dict[str, Sequence[Any]] = {}
    with reporting_damage(Path(path)), open_for_reading(path) as connection:
        for reason, *location in connection.execute(query):
            plain = _QUOTED.sub('"…"', reason)
            times[plain] += 1
            first.setdefault(plain, location)
    if not times:
        return None
    ((reason, n),) = times.most_common(1)
    return FrequentReason(reason, n, *first[reason])


def mended_requests(path: str | Path, runs: Sequence[int]) -> dict[str, Any]:
    """The parameters of requests that a server did not accept as asked.

    Args:
        path: the recording.
        runs: the numbers of the runs.

    Returns:
        Mind → the parameters that were last ``asked`` and ``sent``; minds without differences are
        left out.

    Raises:
        RecordingError: when it cannot be read.
    """
    sent_with = ((origin["mind"], origin) for origin in origins(path, runs) if "asked" in origin)
    return {mind: {"asked": counts["asked"], "sent": counts["sent"]} for mind, counts in sent_with}


def in_words(parameters: Mapping[str, Any], mark: str = "") -> str:
    """The parameters of a request in words.

    Args:
        parameters: name → recorded value.
        mark: the text around each name.
    """
    sent_with = (f"{mark}{name}{mark} = {value}" for name, value in parameters.items())
    return ", ".join(sent_with) or "none"


def origins(path: str | Path, runs: Sequence[int]) -> list[dict[str, Any]]:
    """The provenance of the answers of language models.

    Args:
        path: the recording.
        runs: the numbers of the runs.

    Returns:
        The different provenances, in the order of their first occurrence: ``mind``, ``model``
        (asked for), ``served_model``, ``provider``, ``system_fingerprint``, the parameters
        ``sent``, those ``asked`` for if they differ, and the number of ``answers``. Fields that a
        server does not report are missing.

    Raises:
        RecordingError: when it cannot be read.
    """
    query = (
        "SELECT mind, served_model, texts.text, count(*) FROM asks "
        "JOIN texts ON texts.hash = asks.provenance WHERE run IN ({}) "
        "GROUP BY mind, served_model, provenance ORDER BY min(texts.rowid), served_model"
    )
    with reporting_damage(Path(path)), open_for_reading(path) as connection:
        rows = connection.execute(query.format(", ".join(map(str, runs)))).fetchall()
        return [
            {"mind": mind, "served_model": served, **json.loads(text), "answers": n}
            for mind, served, text, n in rows
        ]


class Alike(NamedTuple):
    """Attempts with the same mind, server and result.

    Attributes:
        mind: the spec of the mind.
        served_model: the name that the server gave to its model, or ``""``.
        provenance: JSON of the parameters as asked and as sent, or None.
        read_as: the step that read them, or None.
        valid: 1 when they are valid, else 0.
        answers: their number.
        prompt_tokens: tokens sent.
        completion_tokens: tokens received.
        cost_usd: dollars; NaN when a price is unknown.
        latency_s: seconds of waiting, added up.
    """

    mind: str
    served_model: str
    provenance: str | None
    read_as: str | None
    valid: int
    answers: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    latency_s: float


def alike(path: str | Path, runs: Sequence[int]) -> list[Alike]:
    """The attempts of runs, summed over equal ones.

    Args:
        path: the recording.
        runs: the numbers of the runs.

    Raises:
        RecordingError: when it cannot be read.
    """
    query = (
        "SELECT mind, served_model, texts.text, read_as, valid, count(*), sum(prompt_tokens), "
        "sum(completion_tokens), CASE WHEN count(cost_usd) = count(*) THEN total(cost_usd) END, "
        "total(latency_s) FROM asks LEFT JOIN texts ON texts.hash = asks.provenance "
        "WHERE run IN ({}) GROUP BY mind, served_model, provenance, read_as, valid"
    )
    with open_for_reading(path) as connection:
        rows = connection.execute(query.format(", ".join(map(str, runs)))).fetchall()
    return [
        Alike._make([*facts, math.nan if usd is None else round(usd, DECIMALS), waited])
        for *facts, usd, waited in rows
    ]


def repeated_prefixes(
    path: str | Path, runs: Sequence[int], phases: Sequence[str]
) -> dict[int, Repeated]:
    """Characters of requests in runs that repeat the same agent's request before.

    The cache of a server may reuse more: the requests of other agents often begin alike.

    Args:
        path: the recording.
        runs: the numbers of the runs.
        phases: the names of the scenario's phases, in their order.

    Returns:
        The number of each run → its sums; zeros for a run in which nothing was sent.

    Raises:
        RecordingError: when it cannot be read.
    """
    with reporting_damage(Path(path)), open_for_reading(path) as connection:
        return {run: _of_run(connection, run, phases) for run in runs}


def _of_run(connection: sqlite3.Connection, run: int, phases: Sequence[str]) -> Repeated:
    rows = connection.execute(
        "SELECT agent, messages, round, phase, position, call, attempt FROM asks "
        "WHERE run = ? AND messages IS NOT NULL",
        (run,),
    ).fetchall()
    if not rows:
        return Repeated()
    texts = dict(connection.execute("SELECT hash, text FROM texts").fetchall())
    places = {phase: i for i, phase in enumerate(phases)}
    rows.sort(key=lambda r: (r["round"], places.get(r["phase"], len(places)), *r[-3:]))
    before: dict[int, str] = {}
    characters = repeated = 0
    for row in rows:
        sent = "".join(f"{role}\n{texts[digest]}\n" for role, digest in json.loads(row["messages"]))
        characters += len(sent)
        repeated += _shared(before.get(row["agent"], ""), sent)
        before[row["agent"]] = sent
    return Repeated(characters, repeated)


def _shared(before: str, sent: str) -> int:
    """The number of equal characters at the beginning of both."""
    lengths = range(1, min(len(before), len(sent)) + 1)
    return bisect_left(lengths, True, key=lambda n: before[:n] != sent[:n])
