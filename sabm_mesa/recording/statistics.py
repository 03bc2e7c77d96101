"""What a recording says about asking: how long prompts and answers were, and how many."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.jsonable import to_json
from sabm_mesa.recording.past import whole
from sabm_mesa.recording.reading import reading
from sabm_mesa.recording.rows import from_steps

# Answers to a shared request have the latency of the whole to the last digit, and each a part of
# its tokens: asked on its own, each would have sent them all.
_SHARED = "OVER (PARTITION BY run, round, phase, request, nullif(latency_s, 0))"
_WHOLE = f"CASE WHEN latency_s > 0 THEN sum({{}}) {_SHARED} ELSE {{}} END"
_SENT = _WHOLE.format("prompt_tokens", "prompt_tokens")
_CACHED = _WHOLE.format("cached_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to a language model, with all its attempts.

    Attributes:
        run: the number of the run.
        round: the round, from 0.
        name: the question.
        mind: the spec of the mind.
        attempts: how often it was asked.
        letters: bytes of UTF-8 of the first attempt's messages.
        first_tokens: tokens of the first attempt's messages, also where it shared a request.
        prompt_tokens: tokens sent in all attempts, as if each had been sent on its own.
        cached_tokens: those of them that the server had in its cache.
        completion_tokens: tokens received in all attempts.
        said: bytes of UTF-8 of the value when that is a text, 0 when it is none or invalid.
    """

    run: int
    round: int
    name: str
    mind: str
    attempts: int
    letters: int
    first_tokens: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    said: int


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """One recorded run.

    Attributes:
        run: its number.
        parameters: the parameters it began with.
        minds: spec → number of agents.
        whole: whether it was played to its end, without a change on the way.
    """

    run: int
    parameters: Mapping[str, Any]
    minds: Mapping[str, int]
    whole: bool


def asked(path: str | Path, scenario: str) -> tuple[list[PlayedRun], list[Asked]]:
    """The runs of a scenario, and all questions that language models answered in them.

    Questions of which the server did not say the tokens are left out.

    Args:
        path: the recording.
        scenario: the name of the scenario.

    Raises:
        RecordingError: when it is no recording, or damaged.
        ParameterError: when it has no run of the scenario, or no answer of a language model.
    """
    with reading(path) as connection, whole(Path(path)):
        rows = connection.execute("SELECT * FROM runs ORDER BY run").fetchall()
        runs = [_run(row) for row in rows if row["scenario"] == scenario]
        if not runs:
            others = ", ".join(sorted({row["scenario"] for row in rows})) or "no run at all"
            raise ParameterError(f"{path} holds no run of {scenario}; it has {others}.")
        questions = _questions(connection, [run.run for run in runs])
    if not questions:
        raise ParameterError(
            f"No language model has answered in the runs of {scenario} in {path}, or none whose "
            "tokens were counted, so there is nothing to learn from."
        )
    return runs, questions


def answers_in(path: str | Path) -> int:
    """The number of answers in a recording, copied ones included; 0 when it cannot be read.

    Args:
        path: the recording.
    """
    try:
        with reading(path) as connection:
            (number,) = connection.execute("SELECT count(*) FROM asks").fetchone()
    except RecordingError:
        return 0
    return int(number)


def as_recorded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as they come out of a recording.

    Args:
        parameters: those of a run.
    """
    recorded: dict[str, Any] = json.loads(to_json(dict(parameters)))
    return recorded


def _run(row: sqlite3.Row) -> PlayedRun:
    whole = row["status"] == "finished" and not json.loads(row["forks"])
    return PlayedRun(row["run"], json.loads(row["parameters"]), json.loads(row["minds"]), whole)


def _questions(connection: sqlite3.Connection, runs: Sequence[int]) -> list[Asked]:
    sizes = dict(connection.execute("SELECT id, length(CAST(text AS BLOB)) FROM texts").fetchall())
    attempts = connection.execute(
        f"SELECT *, {_SENT} AS sent_tokens, {_CACHED} AS all_cached FROM asks "
        "WHERE request IS NOT NULL AND messages IS NOT NULL AND mind NOT LIKE 'embedding:%' "
        f"AND run IN ({', '.join(map(str, runs))}) "
        "ORDER BY run, round, phase, agent, call, attempt"
    )
    key = itemgetter("run", "round", "phase", "agent", "call")
    found = [_asked(list(rows), sizes) for _, rows in groupby(attempts, key)]
    return [each for each in found if each.first_tokens]


def _asked(attempts: Sequence[sqlite3.Row], sizes: Mapping[int, int]) -> Asked:
    first, last = attempts[0], attempts[-1]
    value = None if last["value"] is None else json.loads(last["value"])
    # The lines of a message are joined by line feeds.
    messages = [from_steps(steps) for _, steps in json.loads(first["messages"])]
    letters = sum(sum(sizes[line] for line in lines) + len(lines) - 1 for lines in messages)
    return Asked(
        run=first["run"],
        round=first["round"],
        name=first["name"],
        mind=first["mind"],
        attempts=len(attempts),
        letters=letters,
        first_tokens=first["sent_tokens"],
        prompt_tokens=sum(row["sent_tokens"] for row in attempts),
        cached_tokens=sum(row["all_cached"] for row in attempts),
        completion_tokens=sum(row["completion_tokens"] for row in attempts),
        said=len(value.encode()) if isinstance(value, str) else 0,
    )
