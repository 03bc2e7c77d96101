"""The repeated beauty contest as a game for a class."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.beauty_contest.round_sentences import (
    course_in_words,
    levels,
    picture,
    result_lines,
)
from sabm_mesa.models.declarations import ClassGame, Debrief, ToldRound

P_OF_NAGEL = 2 / 3
"""The factor of the published distribution of people's picks, on the range 0 to 100."""


def board(ask: Ask) -> dict[str, Any] | None:
    """A number line for the pick."""
    if ask.name != "act":
        return None
    seen = ask.facts
    step = 1 if seen.integer else 0
    p = str(Fraction(seen.p).limit_denominator(100))
    text = Phrase("contest.your_turn", p=p)
    return {"kind": "line", "low": 0, "high": seen.high, "step": step, "text": text}


def _tells(played: ToldRound) -> bool:
    """Whether players learn both the mean and the target."""
    return {"mean", "target"} <= set(played.model.revealed)


def people(model: Any) -> Sequence[str]:
    """The published distribution, if it is for the same game."""
    same = abs(model.p - P_OF_NAGEL) < 1e-3 and model.high == 100
    return ("nagel-1995",) if same else ()


def course(model: Any, began: float, ended: float) -> str:
    """A description of the course of the mean."""
    if model.p < 1:
        return course_in_words(model, began, ended)
    return Phrase("slides.course", label=Phrase("decisions.number"), began=began, ended=ended)


GAME = ClassGame(
    rule=Phrase("rules.numbers"),
    people=(3, 40),
    minutes=8,
    lesson="people=30&rounds=5&seconds=40",
    board=board,
    told=lambda played: result_lines(played, played.model.revealed),
    picture=lambda played: picture(played, played.model.high) if _tells(played) else None,
    debrief=Debrief(
        "choice",
        Phrase("decisions.number"),
        lambda _: 0,
        lambda model: model.high,
        lambda model, before: levels(model.p, model.high, before),
        people,
        course,
    ),
)
