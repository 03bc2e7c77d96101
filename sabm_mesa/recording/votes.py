"""Votes of people after a game on who was a machine: a measure of the finished run.

People vote when the game is over, so a vote is not an answer of the run, and a replay does not ask
for it. It is kept in the measures of the run, under `VOTES`, with the agents for which no person
decided: an empty seat is a machine, too, and the decisions do not show which seats were empty.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sabm_mesa.errors import RecordingError

VOTES = "machine_votes"
"""The measure."""
NOBODY = 0
"""The vote that no agent of the group was a machine."""
_WAIT_S = 30.0


class Votes(NamedTuple):
    """The votes of a run.

    Attributes:
        by_agent: agent at the seat → suspected agent; `NOBODY` for none.
        machines: the agents for which no person decided.
    """

    by_agent: Mapping[int, int]
    machines: Collection[int]

    @property
    def right(self) -> list[bool]:
        """Whether each vote was right."""
        return [is_right(suspect, self.machines) for suspect in self.by_agent.values()]


def is_right(suspect: int, machines: Collection[int]) -> bool:
    """Whether a vote names a machine, or nobody if there was none."""
    return suspect in machines or (suspect == NOBODY and not machines)


def write_votes(path: Path, run: int, votes: Votes) -> None:
    """Write the votes of a run into its recording, replacing earlier ones.

    Raises:
        RecordingError: when they cannot be written.
    """
    by_agent = {str(agent): suspect for agent, suspect in votes.by_agent.items()}
    content = json.dumps({"votes": by_agent, "machines": sorted(votes.machines)})
    change = (
        "UPDATE runs SET measures = json_set(coalesce(measures, '{}'), '$.' || ?, json(?)) "
        "WHERE run = ?"
    )
    try:
        with closing(sqlite3.connect(path, timeout=_WAIT_S)) as connection, connection:
            connection.execute(change, (VOTES, content, run))
    except sqlite3.Error as error:
        raise RecordingError(f"The votes cannot be written to {path}: {error}") from error
