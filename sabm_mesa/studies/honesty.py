"""Honesty: the announcements of agents in messages, compared with their decisions.

A scenario declares the announced quantity and the decision that keeps it
(`SmartModel.announcement`). The rules of `sabm_mesa.analysis.announcements` read the messages; they
prefer to miss an announcement than to read a wrong value. So every result comes with the share of
read announcements: honesty is known only for these.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.analysis.announcements import (
    NOTHING,
    UNCLEAR,
    Announced,
    Find,
    offered,
    read,
    values_in,
)
from sabm_mesa.analysis.messages import assents, signals_disagreement
from sabm_mesa.core.messages import Message
from sabm_mesa.models.declarations import Announcement
from sabm_mesa.models.registry import find_all
from sabm_mesa.recording.frames import HEARD_BY_ALL, Recorded

COLUMNS = (
    "run", "round", "agent", "form", "announced", "done", "honest", "read", "unclear", "gap",
)  # fmt: skip
"""The columns of honesty by agent and round."""


def honesty_of(recording: str | Path | Recorded, run: int | None = None) -> pd.DataFrame:
    """Announcements and decisions of the agents of recorded runs.

    Args:
        recording: the recording.
        run: only this run.

    Returns:
        One row per agent and round with a message, for scenarios that declare an announcement:
        ``run``, ``round`` (of the talk), ``agent``, ``form`` (``intention``, ``proposal``,
        ``agreement``, ``unclear`` or ``nothing``), ``announced`` (the value, or None), ``done``
        (the decision that it is compared with, or None), ``honest`` (1 or 0; NaN when nothing was
        read, or done), ``read`` and ``unclear`` (1 or 0), and ``gap`` (done minus announced, for
        numbers; else NaN).

    Raises:
        RecordingError: when it cannot be read.
        UnknownName: when there is no such run.
    """
    recorded = recording if isinstance(recording, Recorded) else Recorded(recording)
    frames = {
        "runs": recorded.runs(counts=False),
        "messages": recorded.messages(run),
        "agent_data": recorded.agent_data(run),
    }
    return honesty_in(frames)


def honesty_in(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The same from frames of a recording: its ``runs``, ``messages`` and ``agent_data``.

    Args:
        frames: as `Recorded.frames` returns them.
    """
    runs = {row["run"]: row for row in frames["runs"].to_dict("records")}
    models = find_all().models
    messages = frames["messages"]
    data = dict(list(frames["agent_data"].groupby("run")))
    rows: list[tuple[Any, ...]] = []
    for number, talk in messages.groupby("run", sort=True):
        model = models.get(runs[number]["scenario"])
        if model is not None and model.announcement is not None and number in data:
            given = json.loads(runs[number]["parameters"])
            rows += _of_run(talk, data[number], model.announcement, given)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def of_speakers(talk: Iterable[Message], find: Find) -> dict[int, Announced]:
    """Read the announcements of all speakers in the talk of one round.

    The last announcement of a speaker counts; one that is withdrawn, or repeated in unclear words,
    is unclear. A word of agreement refers to the one value that others have proposed.

    Args:
        talk: the messages in their order.
        find: finds the values in a message.

    Returns:
        Speaker → its last announcement.
    """
    announced: dict[int, Announced] = {}
    table: dict[int, Any] = {}  # speaker → the value that it spoke for last, also as a question
    heard: dict[int, tuple[int, ...] | None] = {}
    for message in talk:
        announcement = read(message.text, find)
        against = signals_disagreement(message.text)
        on_table = {
            value
            for other, value in table.items()
            if other != message.sender and _hears(heard[other], message.sender)
        }
        accepts = announcement.form == "nothing" and assents(message.text) and not against
        if accepts and len(on_table) == 1 and not values_in(message.text, find):
            (value,) = on_table
            announcement = Announced("agreement", value)
            for other, value_of in table.items():  # who asked for it is agreed with
                if value_of == value and not announced[other].known and announced[other] != UNCLEAR:
                    announced[other] = announcement
        elif accepts and len(on_table) > 1:
            announcement = UNCLEAR
        before = announced.get(message.sender, NOTHING)
        if announcement.form == "nothing" and before.known:
            announcement = UNCLEAR if against else before
        announced[message.sender] = announcement
        offer = announcement.value if announcement.known else offered(message.text, find)
        if offer is not None:
            table[message.sender], heard[message.sender] = offer, message.to
    return announced


def _hears(to: tuple[int, ...] | None, agent: int) -> bool:
    return to is None or agent in to


def _of_run(
    talk: pd.DataFrame,
    data: pd.DataFrame,
    declared: Announcement,
    parameters: Mapping[str, Any],
) -> list[tuple[Any, ...]]:
    find = declared.find(parameters)
    done = data.set_index(["round", "agent"])[declared.column].to_dict()
    rows = []
    for _, messages in talk.groupby("round", sort=True):
        run, round_ = (int(messages[name].iloc[0]) for name in ("run", "round"))
        columns = (messages[name] for name in ("speaker", "text", "to"))
        texts = [
            Message(round_, speaker, text, _heard_by(to))
            for speaker, text, to in zip(*columns, strict=True)
        ]
        for agent, announced in sorted(of_speakers(texts, find).items()):
            did = _known(done.get((round_ + declared.later, agent)))
            judged = announced.known and did is not None
            honest = float(declared.kept(announced.value, did)) if judged else math.nan
            rows.append((
                run, round_, agent, announced.form, announced.value, did, honest,
                float(announced.known), float(announced.form == "unclear"),
                _gap(announced.value, did) if judged else math.nan,
            ))  # fmt: skip
    return rows


def shares_of(announcements: pd.DataFrame) -> dict[str, float]:
    """The shares that were read, were unclear, and were kept.

    Args:
        announcements: rows of honesty by agent and round.

    Returns:
        ``speakers`` (agents and rounds with a message), ``read``, ``unclear`` and ``nothing`` as
        shares of them, ``judged`` (the number of announcements with a decision), and ``honest``,
        the share of those that were kept; NaN without any.
    """
    n = len(announcements)
    share = {
        name: float(announcements[name].mean()) if n else math.nan for name in ("read", "unclear")
    }
    judged = announcements["honest"].dropna()
    return {
        "speakers": n,
        **share,
        "nothing": 1 - share["read"] - share["unclear"],
        "judged": len(judged),
        "honest": float(judged.mean()) if len(judged) else math.nan,
    }


def _heard_by(to: Any) -> tuple[int, ...] | None:
    """The ids of those who heard a message; None: all."""
    return None if to == HEARD_BY_ALL else tuple(map(int, str(_known(to) or "").split()))


def _known(value: Any) -> Any:
    """A value of a frame as a Python value; None for a missing one."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def _gap(announced: Any, done: Any) -> float:
    numbers = isinstance(announced, int | float) and isinstance(done, int | float)
    return float(done - announced) if numbers else math.nan
