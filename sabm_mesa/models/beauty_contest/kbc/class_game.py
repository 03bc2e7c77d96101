"""The Keynesian beauty contest as a game for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.beauty_contest.kbc.agents import HIGH, LOW, P
from sabm_mesa.models.beauty_contest.round_sentences import (
    course_in_words,
    picture,
    place_in_words,
    target_in_words,
    winners_in_words,
)
from sabm_mesa.models.declarations import ClassGame, Debrief, ToldRound


def board(ask: Ask) -> dict[str, Any] | None:
    """A number line for the pick; none for messages."""
    if ask.name != "act":
        return None
    text = Phrase("contest.your_turn", p="2/3")
    return {"kind": "line", "low": LOW, "high": HIGH, "step": 1, "text": text}


def levels(_model: Any, before: float | None) -> dict[str, float]:
    """Theoretical picks: the equilibrium, and the first steps of reasoning (Nagel 1995)."""
    start = (LOW + HIGH) / 2 if before is None else before
    return {
        Phrase("theory.equilibrium"): LOW,
        Phrase("theory.level", k=1): P * start,
        Phrase("theory.level", k=2): P**2 * start,
    }


def result_lines(played: ToldRound) -> list[str]:
    """The target, the winners, and the player's rank by distance from the target."""
    target = target_in_words(played)
    return [*target, *winners_in_words(played), *place_in_words(played)] if target else []


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
        "choice", Phrase("decisions.pick"), lambda _: LOW, lambda _: HIGH, levels,
        lambda _: ("nagel-1995",), course_in_words,
    ),
)  # fmt: skip
