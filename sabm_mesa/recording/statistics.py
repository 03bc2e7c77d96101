"""Statistics of the asks of a recording: their number, length and cost, and what was lost."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sabm_mesa.core.usage import DECIMALS, Usage
from sabm_mesa.errors import RecordingError
from sabm_mesa.recording.store import (
    open_for_reading,
    reporting_damage,
    session_is_open,
)

_STARTED_WITH = "SELECT run FROM runs WHERE command IN (SELECT command FROM runs WHERE run IN ({}))"

_QUOTED = re.compile(r'".*"', re.DOTALL)


def paid_for(path: str | Path, runs: Sequence[int]) -> Usage:
    """Return the cost of language models in runs and in all runs started with them.

    Returns:
        Attempts, tokens and dollars. Answers that a fork copied were paid for elsewhere; one
        without a known price counts as 0 dollars.

    Raises:
        RecordingError: when it cannot be read.
    """
    with open_for_reading(path, check=False) as connection:
        asks, prompt, completion, usd = connection.execute(
            "SELECT count(*), total(prompt_tokens), total(completion_tokens), total(cost_usd) "
            "FROM answers WHERE mind LIKE 'llm:%' "
            f"AND NOT copied AND run IN ({_STARTED_WITH.format(', '.join(map(str, runs)))})"
        ).fetchone()
    return Usage(
        asks=int(asks),
        prompt_tokens=int(prompt),
        completion_tokens=int(completion),
        cost_usd=round(float(usd), DECIMALS),
    )


def lost_answers(path: str | Path, runs: Sequence[int]) -> list[tuple[str, Usage]]:
    """The lost answers of runs and of all runs started with them.

    An answer is lost when its process died, or when it did not arrive in time. A pending answer is
    not lost.

    Returns:
        The name of the language model, and the most that the answer can have cost; NaN dollars when
        the price was unknown.

    Raises:
        RecordingError: when it cannot be read.
    """
    with open_for_reading(path, check=False) as connection:
        rows = connection.execute(
            "SELECT session, served_model, prompt_tokens, completion_tokens, cost_usd "
            "FROM asks JOIN runs USING (run) WHERE raw IS NULL "
            f"AND run IN ({_STARTED_WITH.format(', '.join(map(str, runs)))})"
        ).fetchall()
    sessions = {session for session, *_ in rows}
    under_way = {uid for uid in sessions if session_is_open(Path(path), uid)}
    return [
        (
            model,
            Usage(
                asks=1,
                prompt_tokens=sent,
                completion_tokens=received,
                cost_usd=math.nan if usd is None else usd,
            ),
        )
        for session, model, sent, received, usd in rows
        if session not in under_way
    ]


def answers_in(path: str | Path) -> int | None:
    """The number of answers in a recording, copied ones included; None when it cannot be read."""
    try:
        with open_for_reading(path, check=False) as connection:
            (number,) = connection.execute("SELECT count(*) FROM answers").fetchone()
    except RecordingError:
        return None
    return int(number)


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

    Raises:
        RecordingError: when it cannot be read.
    """
    query = (
        "SELECT reason, run, round, name, agent, raw FROM answers WHERE final AND NOT valid "
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

    Returns:
        Mind → the parameters that were last ``asked`` and ``sent``; minds without differences are
        left out.

    Raises:
        RecordingError: when it cannot be read.
    """
    sent_with = ((origin["mind"], origin) for origin in origins(path, runs) if "asked" in origin)
    return {mind: {"asked": counts["asked"], "sent": counts["sent"]} for mind, counts in sent_with}


def in_words(parameters: Mapping[str, Any], mark: str = "") -> str:
    """The parameters of a request in words."""
    sent_with = (f"{mark}{name}{mark} = {value}" for name, value in parameters.items())
    return ", ".join(sent_with) or "none"


def origins(path: str | Path, runs: Sequence[int]) -> list[dict[str, Any]]:
    """The provenance of the answers of language models.

    Returns:
        The different provenances, in the order of their first occurrence: ``mind``, ``model``
        (asked for), ``served_model``, ``provider``, ``system_fingerprint``, the parameters
        ``sent``, those ``asked`` for if they differ, and the number of ``answers``. Fields that a
        server does not report are missing.

    Raises:
        RecordingError: when it cannot be read.
    """
    query = (
        "SELECT mind, served_model, texts.text, count(*) FROM answers "
        "JOIN texts ON texts.hash = answers.provenance WHERE run IN ({}) "
        "GROUP BY mind, served_model, provenance ORDER BY min(texts.rowid), served_model"
    )
    with reporting_damage(Path(path)), open_for_reading(path) as connection:
        rows = connection.execute(query.format(", ".join(map(str, runs)))).fetchall()
        return [
            {"mind": mind, "served_model": served, **json.loads(text), "answers": n}
            for mind, served, text, n in rows
        ]
