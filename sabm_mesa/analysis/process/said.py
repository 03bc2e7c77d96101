"""What was said in recorded runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.recording.frames import Recorded
from sabm_mesa.registry import SCENARIOS, find_all
from sabm_mesa.scheduler import Phase, communication


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


def messages_in(answers: pd.DataFrame, text: Callable[[Any], str] = str) -> pd.DataFrame:
    """The messages among answers of recorded runs, as `messages_of` returns them.

    Which answers are said aloud is a matter of the phases of the scenarios: `Phase.says`.

    Args:
        answers: ``decisions`` or ``asks`` of `Recorded`, or rows of them.
        text: how a cell of the column ``value`` is read.
    """
    speech = _speech()
    asked = pd.MultiIndex.from_frame(answers[["phase", "name"]].astype(object))
    said = answers[asked.isin([*speech]) & answers["valid"].to_numpy(bool)]
    said = said.sort_values(["run", "round", "position", "call"], kind="stable")
    columns = (said[name] for name in ("phase", "name", "value"))
    heard = [speech[phase, name].heard(text(value))
             for phase, name, value in zip(*columns, strict=True)]  # fmt: skip
    messages: pd.DataFrame = said.assign(text=pd.Series(heard, said.index, dtype=str))
    messages = messages[messages["text"] != ""].rename(columns={"agent": "speaker"})
    return messages[["run", "round", "speaker", "text"]].reset_index(drop=True)


@cache
def _speech() -> dict[tuple[str, str], Phase]:
    """(Phase, question) → the phase, for each question of a scenario that is answered aloud."""
    models = find_all().models
    own_last = sorted(models, key=SCENARIOS.__contains__)  # they are read as they read themselves
    phases = [communication(), *(each for name in own_last for each in models[name].phases)]
    return {(phase.name, phase.says): phase for phase in phases if phase.says}
