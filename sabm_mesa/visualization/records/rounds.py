"""Events of a round in rows for the page: asks, their attempts, and messages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

import pandas as pd

from sabm_mesa.errors import UsageError
from sabm_mesa.models.registry import scenario
from sabm_mesa.recording.frames import HEARD_BY_ALL, Recorded
from sabm_mesa.recording.statistics import in_words
from sabm_mesa.visualization.labels import number
from sabm_mesa.visualization.records import charts
from sabm_mesa.visualization.records.store import RunData

Place = tuple[int, str, int, int]
"""Round, phase, agent and call of an ask."""
FAR_BACK = 20
"""Maximum number of earlier rounds that are searched for a previous question."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def asks_of(run: RunData, round_: int) -> list[dict[str, Any]]:
    """The asks of a round and their results, phase by phase.

    Returns:
        Rows with ``phase``, ``agent``, ``call``; ``name``, ``mind``, ``valid``, ``value`` and
        ``reason`` of the last attempt; ``attempts``, and ``tokens`` and ``latency`` of them all.
    """
    tried: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in records(run.asks_of(round_)):
        tried.setdefault((row["phase"], row["agent"], row["call"]), []).append(row)
    asks = [_ask(place, rows) for place, rows in tried.items()]
    phases = list(dict.fromkeys([*phases_of(run), *(ask["phase"] for ask in asks)]))
    return sorted(asks, key=lambda ask: phases.index(ask["phase"]))


def phases_of(run: RunData) -> list[str]:
    """The phases of a run in the order in which they are played, if it is known."""
    try:
        return [phase.name for phase in scenario(run.recorded.scenario).phases]
    except UsageError:
        return ["communicate", "plan"]


def attempts_at(run: RunData, place: Place) -> list[dict[str, Any]]:
    """All attempts at an ask, with their requests and responses.

    Args:
        run: the run.
        place: the ask.

    Returns:
        Rows with ``messages`` (role and content as sent), ``raw`` (the answer as received),
        ``thoughts``, ``reasoning``, ``valid``, ``reason`` and ``facts`` (name and value).

    Raises:
        RecordingError: when the recording cannot be read.
    """
    recorded = Recorded(run.recorded.path, check=False)
    return [
        attempt(row, recorded.chat(run.recorded.run, *place, row["attempt"]))
        for row in _tried(run, place)
    ]


def attempt(row: dict[str, Any], chat: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A row of the result of `attempts_at`.

    Args:
        row: the attempt's row in the asks.
        chat: role and content of each message that was sent.
    """
    return {
        "messages": [list(message) for message in chat],
        "raw": text(row["raw"]),
        "came": row["raw"] is not None and not _none(row["raw"]),
        "thoughts": text(row["thoughts"]),
        "reasoning": text(row["reasoning"]),
        "valid": bool(row["valid"]),
        "reason": text(row["reason"]),
        "facts": _facts(row),
    }


def exchanges_in(run: RunData, round_: int) -> list[dict[str, Any]]:
    """The asks of a round as by `asks_of`, each with all its attempts as ``exchange``.

    Raises:
        RecordingError: when the recording cannot be read.
    """
    chats = Recorded(run.recorded.path).chats(run.recorded.run, round_)
    attempts: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in records(run.asks_of(round_).sort_values("attempt")):
        key = (row["phase"], row["agent"], row["call"])
        attempts.setdefault(key, []).append(attempt(row, chats[*key, row["attempt"]]))
    return [
        {**ask, "exchange": attempts[ask["phase"], ask["agent"], ask["call"]]}
        for ask in asks_of(run, round_)
    ]


def messages_in(
    run: RunData, most: int, only: int | None = None
) -> tuple[int, list[tuple[int, int, str, str, str]]]:
    """The number of messages, and the first of them.

    Args:
        run: the run.
        most: maximum number of messages.
        only: the round; None: all rounds.

    Returns:
        The number of messages; and for each its round, its number in the round from 0, speaker,
        hearers and text.
    """
    rows: list[tuple[int, int, str, str, str]] = []
    for round_ in run.spoken if only is None else [only]:
        if len(rows) >= most:
            break
        messages = run.messages_of(round_)
        columns = (messages[name] for name in ("speaker", "to", "text"))
        rows += [
            (round_, number, charts.name_in(run, int(speaker)), hearers(run, to), words)
            for number, (speaker, to, words) in enumerate(zip(*columns, strict=True))
        ]
    n = run.n_messages if only is None else len(run.messages_of(only))
    return n, rows[:most]


def prompts_at(run: RunData, place: Place) -> list[tuple[str, str]]:
    """The messages of the first attempt at an ask; empty if nothing was sent.

    Args:
        run: the run.
        place: the ask.

    Raises:
        RecordingError: when the recording cannot be read.
    """
    tried = _tried(run, place)
    if not tried:
        return []
    recorded = Recorded(run.recorded.path, check=False)
    return recorded.chat(run.recorded.run, *place, tried[0]["attempt"])


def _tried(run: RunData, place: Place) -> list[dict[str, Any]]:
    """The attempts at an ask, in order."""
    round_, phase, agent, call = place
    asks = run.asks_of(round_)
    tried = asks[(asks["phase"] == phase) & (asks["agent"] == agent) & (asks["call"] == call)]
    return records(tried.sort_values("attempt"))


def place_before(run: RunData, place: Place) -> Place | None:
    """The same question to the same agent in a recent earlier round, or None.

    Args:
        run: the run.
        place: the ask.
    """
    round_, same = place[0], place[1:]
    earlier = [n for n in run.rounds if n < round_][-FAR_BACK:]
    for n in reversed(earlier):
        asks = run.asks_of(n)
        keys = set(zip(asks["phase"], asks["agent"], asks["call"], strict=True))
        if same in keys:
            return n, *same
    return None


def differences(
    one: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """The words in which two requests differ, message by message.

    Lines are compared first, then the words of differing lines, so that the time depends on the
    differences rather than on the length.

    Args:
        one: role and content of the messages of a request.
        other: those of another request.

    Returns:
        Role → pieces of the content: ``same``, ``gone`` (only in the first) or ``new`` (only in the
        second), and the text.
    """
    changes = []
    for (role, a), (other_role, b) in zip_longest(one, other, fillvalue=("", "")):
        pieces: list[tuple[str, str]] = []
        lines = a.splitlines(keepends=True), b.splitlines(keepends=True)
        for kind, *where in SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
            gone, new = "".join(lines[0][slice(*where[:2])]), "".join(lines[1][slice(*where[2:])])
            pieces += [("same", gone)] if kind == "equal" else _words_apart(gone, new)
        changes.append((role or other_role, pieces))
    return changes


def _words_apart(one: str, other: str) -> list[tuple[str, str]]:
    a, b = _WORDS.findall(one), _WORDS.findall(other)
    pieces = []
    for kind, a_from, a_to, b_from, b_to in SequenceMatcher(None, a, b).get_opcodes():
        gone, new = "".join(a[a_from:a_to]), "".join(b[b_from:b_to])
        pieces += [("same", gone)] if kind == "equal" else [("gone", gone), ("new", new)]
    return [piece for piece in pieces if piece[1]]


def hearers(run: RunData, to: object) -> str:
    """The hearers of a message by their names.

    Args:
        run: the run.
        to: the hearers as in the frame of messages.
    """
    if to == HEARD_BY_ALL:
        return HEARD_BY_ALL
    return ", ".join(charts.name_in(run, int(agent)) for agent in text(to).split()) or "nobody"


def value_of(stored: object) -> str:
    """A value as text; empty when there is none.

    Args:
        stored: the value as JSON.
    """
    if not isinstance(stored, str):
        return ""
    value = json.loads(stored)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text(value: object) -> str:
    """A text of a frame; empty if it is missing."""
    return "" if _none(value) else str(value)


def seconds(value: float) -> str:
    """A time with its unit."""
    return f"{value:.3g} s"


def dollars(value: float) -> str:
    """A cost with its unit."""
    return "unknown" if math.isnan(value) else f"${value:.6f}".rstrip("0").rstrip(".")


def cell(value: object) -> str:
    """A value in a table; a dash for none."""
    return "–" if _none(value) else number(value)


def rows(frame: pd.DataFrame) -> list[list[str]]:
    """The cells of a table as texts.

    Args:
        frame: the table.
    """
    columns = [frame[name].tolist() for name in frame.columns]
    return [[cell(value) for value in row] for row in zip(*columns, strict=True)]


def _ask(place: tuple[str, int, int], tried: list[dict[str, Any]]) -> dict[str, Any]:
    last = max(tried, key=lambda row: int(row["attempt"]))
    return {
        **dict(zip(("phase", "agent", "call"), place, strict=True)),
        **{name: last[name] for name in ("name", "mind", "valid", "copied")},
        "value": value_of(last["value"]),
        "reason": text(last["reason"]),
        "attempts": len(tried),
        "tokens": sum(row["prompt_tokens"] + row["completion_tokens"] for row in tried),
        "latency": seconds(sum(row["latency_s"] for row in tried)),
    }


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame by the names of its columns."""
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def _none(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _facts(row: dict[str, Any]) -> list[tuple[str, str]]:
    read = value_of(row["value"])
    facts = {
        "Read as": read if row["valid"] else "invalid",
        "Question": str(row["name"]),
        "Mind": str(row["mind"]),
        "Served by": text(row["served_model"]),
        "Finish reason": text(row["finish_reason"]),
        "Tokens sent": f"{row['prompt_tokens']:,} ({row['cached_tokens']:,} cached)",
        "Tokens received": f"{row['completion_tokens']:,}" + _of_thoughts(row["thought_tokens"]),
        "Cost": dollars(row["cost_usd"]),
        "Latency": seconds(row["latency_s"]),
        "Requests sent again": str(row["retries"]),
        "Form": str(row["form"]),
        "Reading": text(row["read_as"]),
        **_origin(row["provenance"], text(row["response_id"])),
    }
    if row["copied"]:
        facts["Paid for"] = "in the run it was forked from"
    return [(name, value) for name, value in facts.items() if value]


def _origin(provenance: object, response_id: str) -> dict[str, str]:
    """The provenance of an answer as facts: the sent parameters, and the model that answered."""
    if not isinstance(provenance, str):
        return {}
    origin = json.loads(provenance)
    named = {
        "Model asked": "model", "Provider": "provider", "System fingerprint": "system_fingerprint",
    }  # fmt: skip
    facts = {title: str(origin.get(name, "")) for title, name in named.items()}
    facts |= {"Response": response_id, "Sent with": in_words(origin["sent"])}
    return facts | ({"Asked for with": in_words(origin["asked"])} if "asked" in origin else {})


def _of_thoughts(tokens: int) -> str:
    return f" ({tokens:,} of thoughts)" if tokens else ""
