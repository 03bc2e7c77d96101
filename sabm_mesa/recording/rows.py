"""The rows of a recording: what an attempt, a run and a round's data look like in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any

from sabm_mesa.asking import Attempt
from sabm_mesa.jsonable import to_json

INSERT_ASK = f"INSERT INTO asks VALUES ({', '.join('?' * 26)})"
INSERT_MODEL_DATA = "INSERT INTO model_data VALUES (?, ?, ?)"
INSERT_AGENT_DATA = "INSERT INTO agent_data VALUES (?, ?, ?)"
MESSAGES, COPIED = 8, 24
"""Places in a row of asks. The messages stand there as texts until they are written."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What is written about a run when it starts.

    Attributes:
        scenario: the name of the scenario.
        model: ``module:class``.
        parameters: all parameters with their values.
        seed: the seed.
        minds: spec → number of agents.
        prompts: prompt entry → (hash, text).
        versions: package → version.
        connection: how language models are reached.
        model_columns: the columns of the model data.
        agent_columns: the columns of the agent data, from ``agent`` on.
        forks: the changes during the run: ``{"at": round, "set": {parameter: value}}`` each.
    """

    scenario: str
    model: str
    parameters: Mapping[str, Any]
    seed: Sequence[int]
    minds: Mapping[str, int]
    prompts: Mapping[str, tuple[str, str]]
    versions: Mapping[str, str]
    connection: Mapping[str, Any]
    model_columns: Sequence[str]
    agent_columns: Sequence[str]
    forks: Sequence[Mapping[str, Any]] = ()

    def as_row(self) -> dict[str, str]:
        """Column of the table of runs → text."""
        hashes = {entry: digest for entry, (digest, _) in self.prompts.items()}
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        row["prompts"] = hashes
        return {
            name: value if isinstance(value, str) else to_json(value) for name, value in row.items()
        }


def ask_row(run: int, attempt: Attempt, *, copied: bool = False) -> list[Any]:
    """The row of one attempt; the messages still stand in it as texts."""
    ask, reply = attempt.ask, attempt.reply
    sent = ask.messages() if reply.request else None
    reading = attempt.reading
    text = isinstance(reply.answer, str)
    return [
        run,
        *ask.key,
        attempt.number,
        ask.name,
        attempt.mind,
        sent,
        reply.request or None,
        reply.answer if text else to_json(reply.answer),
        reply.answer_format if text else "value",
        None if reading is None else to_json(reading.value),
        None if reading is None else reading.reasoning,
        reading is not None,
        attempt.reason,
        reply.prompt_tokens,
        reply.cached_tokens,
        reply.completion_tokens,
        None if math.isnan(reply.cost_usd) else reply.cost_usd,
        reply.latency_s,
        reply.model,
        reply.finish_reason,
        reply.retries,
        copied,
        ask.position,
    ]


def as_steps(lines: Sequence[int]) -> list[int]:
    """The ids of lines as the steps from one to the next, which have fewer digits."""
    return [line - before for before, line in zip([0, *lines], lines, strict=False)]


def from_steps(steps: Sequence[int]) -> list[int]:
    """The ids of lines, from the steps between them."""
    return list(accumulate(steps))
