"""The Keynesian beauty contest as a game for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.beauty_contest.kbc.agents import HIGH, LOW, P
from sabm_mesa.models.beauty_contest.round_sentences import (
    course_in_words,
    levels,
    picture,
    result_lines,
)
from sabm_mesa.models.declarations import ClassGame, Debrief


def board(ask: Ask) -> dict[str, Any] | None:
    """A number line for the pick; none for messages."""
    if ask.name != "act":
        return None
    text = Phrase("contest.your_turn", p="2/3")
    return {"kind": "line", "low": LOW, "high": HIGH, "step": 1, "text": text}


GAME = ClassGame(
    rule=Phrase("rules.picks"),
    people=(4, 30),
    minutes=15,
    board=board,
    told=result_lines,
    picture=lambda played: picture(played, HIGH),
    questions={
        "communicate": Phrase("asks.say"),
    },
    debrief=Debrief(
        "choice", Phrase("decisions.pick"), lambda _: LOW, lambda _: HIGH,
        lambda _, before: levels(P, HIGH, before), lambda _: ("nagel-1995",), course_in_words,
    ),
)  # fmt: skip
