"""What was said in recorded runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sabm_mesa.recording.frames import Recorded

SPEECH = "communicate"
"""The question whose answer is said aloud, in every scenario."""


def messages_of(recording: str | Path | Recorded, run: int | None = None) -> pd.DataFrame:
    """The messages of recorded runs, in the order in which they were said.

    Args:
        recording: the recording.
        run: only this run.

    Returns:
        One row a message: ``run``, ``round``, ``speaker`` (the number of the agent), ``text``.

    Raises:
        RecordingError: when it cannot be read.
        UnknownName: when there is no such run.
    """
    recorded = recording if isinstance(recording, Recorded) else Recorded(recording)
    return messages_in(recorded.decisions(run))


def messages_in(decisions: pd.DataFrame) -> pd.DataFrame:
    """The messages among the decisions of recorded runs, as `messages_of` returns them.

    Args:
        decisions: as `Recorded.decisions` returns them.
    """
    said = spoken(decisions).rename(columns={"agent": "speaker", "value": "text"})
    return said[["run", "round", "speaker", "text"]].reset_index(drop=True)


def spoken(answers: pd.DataFrame) -> pd.DataFrame:
    """Those of the answers that were said aloud, in the order in which they were said.

    Args:
        answers: ``asks`` or ``decisions`` of `Recorded`, or rows of them.
    """
    said = answers[(answers["name"] == SPEECH) & answers["valid"]]
    return said.sort_values(["run", "round", "position", "call"], kind="stable")
