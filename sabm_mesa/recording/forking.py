"""Forking a recorded run: a new run with the same history up to a round."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sabm_mesa.jsonable import to_json
from sabm_mesa.recording import Recording
from sabm_mesa.recording.past import Past
from sabm_mesa.recording.reading import reading
from sabm_mesa.recording.rows import (
    COPIED,
    INSERT_AGENT_DATA,
    INSERT_ASK,
    INSERT_MODEL_DATA,
    MESSAGES,
)
from sabm_mesa.recording.writer import Statement

_KEPT = ("scenario", "model", "parameters", "seed", "minds", "prompts", "versions", "connection",
         "model_columns", "agent_columns")  # fmt: skip


def fork_into(
    recording: Recording,
    past: Past,
    at: int,
    forks: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
) -> int:
    """Enter a new run with the history of another one, all of it on disk.

    Args:
        recording: where the new run is entered.
        past: the run that is forked.
        at: the first round that is not copied; from it on the new parameters hold.
        forks: the changes up to that round, this one included.
        texts: hash → template of the prompt entries.

    Returns:
        The number of the new run.

    Raises:
        RecordingError: when it cannot be written, or the parent cannot be read.
    """
    with reading(past.path) as connection:
        (parent,) = connection.execute("SELECT * FROM runs WHERE run = ?", (past.run,)).fetchall()
        row = {
            **{column: parent[column] for column in _KEPT},
            "uid": f"r{uuid.uuid4().hex[:31]}",
            "command": recording.session.uid,
            "parent": past.uid,
            "forks": to_json(forks),
        }

        def history(run: int) -> Iterator[Statement]:
            for key, found in past.answers.items():
                if key[0] < at:
                    yield INSERT_ASK, _copy(run, found, past)
            for round_ in range(at):
                yield INSERT_MODEL_DATA, [run, round_, past.model_data[round_]]
                yield INSERT_AGENT_DATA, [run, round_, past.agent_data[round_]]

        return recording.enter(row, list(texts.items()), history)


def _copy(run: int, found: sqlite3.Row, past: Past) -> list[Any]:
    """An answer of the parent as one of the new run; its messages stand in it as texts."""
    row = [run, *tuple(found)[1:]]
    row[COPIED] = 1
    if found["messages"] is not None:
        row[MESSAGES] = [
            {"role": role, "content": content} for role, content in past.messages(found)
        ]
    return row
