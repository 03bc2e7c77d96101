"""Events of a run in rows for the pages: asks, their attempts, and messages."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from sabm_mesa.recording.frames import HEARD_BY_ALL, Recorded
from sabm_mesa.recording.statistics import in_words
from sabm_mesa.visualization.labels import number
from sabm_mesa.visualization.reading import charts
from sabm_mesa.visualization.reading.store import RunData


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
    model = charts.scenario_of(run.recorded)
    known = ["communicate", "plan"] if model is None else [phase.name for phase in model.phases]
    phases = list(dict.fromkeys([*known, *(ask["phase"] for ask in asks)]))
    return sorted(asks, key=lambda ask: phases.index(ask["phase"]))


def attempt(row: dict[str, Any]) -> dict[str, Any]:
    """An attempt with its request and its response.

    The result has ``messages`` (role and content as sent), ``raw`` (the answer as received),
    ``came``, ``thoughts``, ``reasoning``, ``valid``, ``reason`` and ``facts`` (name and value).

    Args:
        row: the attempt's row in the asks, with its messages.
    """
    sent = json.loads(text(row["messages"]) or "[]")
    return {
        "messages": [[message["role"], message["content"]] for message in sent],
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
    rounds = range(round_, round_ + 1)
    asks = Recorded(run.recorded.path).asks(True, run.recorded.run, rounds)
    attempts: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in records(asks.sort_values("attempt")):
        attempts.setdefault((row["phase"], row["agent"], row["call"]), []).append(attempt(row))
    return [
        {**ask, "exchange": attempts[ask["phase"], ask["agent"], ask["call"]]}
        for ask in asks_of(run, round_)
    ]


def messages_of(run: RunData, rounds: range) -> dict[int, list[tuple[str, str, str]]]:
    """Round → speaker, hearers and text of each of its messages."""
    messages: dict[int, list[tuple[str, str, str]]] = {}
    for row in records(run.messages_of(rounds)):
        said = charts.name_in(run, int(row["speaker"])), hearers(run, row["to"]), str(row["text"])
        messages.setdefault(row["round"], []).append(said)
    return messages


def hearers(run: RunData, to: object) -> str:
    """The hearers of a message by their names.

    Args:
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
    """The cells of a table as texts."""
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
