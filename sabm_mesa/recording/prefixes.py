"""How much of what was sent repeats the beginning of what was sent before.

Servers keep what they computed for the beginning of a prompt, and many charge less for it when it
is sent again. So what repeats stands first in the prompts: the rules, then what has happened, which
only grows, then the question.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sabm_mesa.recording.past import whole
from sabm_mesa.recording.reading import reading
from sabm_mesa.recording.rows import from_steps


@dataclass(frozen=True, slots=True)
class Repeated:
    """What was sent, and how much of it was the beginning of what was sent before.

    Attributes:
        letters: letters of all messages.
        repeated: letters with which a request begins as the same agent's request before it does.
    """

    letters: int = 0
    repeated: int = 0

    @property
    def share(self) -> float | None:
        """The share of the letters that were repeated, 0 to 1; None when nothing was sent."""
        return self.repeated / self.letters if self.letters else None

    def __add__(self, more: Repeated) -> Repeated:
        """The sum of both."""
        return Repeated(self.letters + more.letters, self.repeated + more.repeated)


def repeated_prefixes(
    path: str | Path, runs: Sequence[int], phases: Sequence[str]
) -> dict[int, Repeated]:
    """How much of what was sent in runs repeats the same agent's request before it.

    A server may repeat more than this: the requests of other agents often begin alike. What
    embedding models got is left out.

    Args:
        path: the recording.
        runs: the numbers of the runs.
        phases: the names of the scenario's phases, in their order.

    Returns:
        The number of each run → its sums; zeros for a run in which nothing was sent.

    Raises:
        RecordingError: when it cannot be read.
    """
    with reading(path) as connection, whole(Path(path)):
        return {run: _of_run(connection, run, phases) for run in runs}


def _of_run(connection: sqlite3.Connection, run: int, phases: Sequence[str]) -> Repeated:
    rows = connection.execute(
        "SELECT agent, messages, round, phase, position, call, attempt FROM asks "
        "WHERE run = ? AND messages IS NOT NULL AND mind NOT LIKE 'embedding:%'",
        (run,),
    ).fetchall()
    if not rows:
        return Repeated()
    lines = dict(connection.execute("SELECT id, text FROM texts").fetchall())
    places = {phase: place for place, phase in enumerate(phases)}
    rows.sort(key=lambda r: (r["round"], places.get(r["phase"], len(places)), *r[-3:]))
    before: dict[int, list[str]] = {}
    letters = repeated = 0
    for row in rows:
        sent = _parts(row["messages"], lines)
        letters += sum(map(len, sent))
        repeated += _shared(before.get(row["agent"], []), sent)
        before[row["agent"]] = sent
    return Repeated(letters, repeated)


def _parts(messages: str, lines: Mapping[int, str]) -> list[str]:
    """The lines of all messages, each message with its role before it."""
    parts = []
    for role, steps in json.loads(messages):
        parts.append(f"{role}\n")
        parts.extend(f"{lines[line]}\n" for line in from_steps(steps))
    return parts


def _shared(before: Sequence[str], sent: Sequence[str]) -> int:
    """Letters with which both begin."""
    parts = _alike(before, sent)
    letters = sum(map(len, sent[:parts]))
    if parts < min(len(before), len(sent)):
        letters += _alike(before[parts], sent[parts])
    return letters


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """With how many equal members both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
