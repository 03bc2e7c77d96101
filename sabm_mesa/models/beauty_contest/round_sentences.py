"""Sentences about a round of a guessing game, and its theory, for a class."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from sabm_mesa.core.phrases import Phrase, ordinal
from sabm_mesa.models.declarations import ToldRound


def result_lines(played: ToldRound, revealed: Collection[str] = ("target", "winners")) -> list[str]:
    """The target, the winners, and the player's rank by distance from the target, if revealed."""
    target = float(played.values["target"])
    if "target" not in revealed or not math.isfinite(target):
        return []
    winners = winners_in_words(played) if "winners" in revealed else []
    return [Phrase("contest.target", target=target), *winners, *place_in_words(played)]


def levels(p: float, high: float, before: float | None) -> dict[str, float]:
    """Theoretical picks: the equilibrium, and the first steps of reasoning (Nagel 1995)."""
    start = high / 2 if before is None else before
    picks: dict[str, float] = {Phrase("theory.equilibrium"): 0.0} if p < 1 else {}
    return picks | {Phrase("theory.level", k=k): min(high, p**k * start) for k in (1, 2)}


def winners_in_words(played: ToldRound) -> list[str]:
    """The winners, and their numbers."""
    winners = played.agents[played.agents["won"].astype(bool)]
    numbers = sorted({float(choice) for choice in winners["choice"]})
    if len(winners) == 1:
        agent = int(winners["agent"].iloc[0])
        if agent == played.agent:
            return [Phrase("contest.you_won", number=numbers[0])]
        return [Phrase("contest.won", name=played.name(agent), number=numbers[0])]
    return [Phrase("contest.several_won", n=len(winners), numbers=numbers)] if numbers else []


def place_in_words(played: ToldRound) -> list[str]:
    """The player's rank by distance from the target; empty without a number."""
    away = (played.agents["choice"].astype(float) - played.values["target"]).abs()
    place = away.rank(method="min")
    mine = place[played.agents["agent"] == played.agent].dropna()
    if mine.empty:
        return []
    among = len(place.dropna())
    return [Phrase("contest.place", place=ordinal(int(mine.iloc[0])), of=among)]


def picture(played: ToldRound, high: float) -> dict[str, Any] | None:
    """A number line with the mean, the target and the player's number; None without a target."""
    known = {
        Phrase("contest.last_mean"): played.values["mean"],
        Phrase("contest.last_target"): played.values["target"],
        Phrase("contest.yours_last"): played.own.get("choice"),
    }
    marks = [
        {"label": label, "at": float(at)}
        for label, at in known.items()
        if at is not None and math.isfinite(at)
    ]
    return {"kind": "line", "low": 0, "high": high, "marks": marks} if len(marks) > 1 else None


def course_in_words(_model: Any, began: float, ended: float) -> str:
    """Whether the mean moved towards the equilibrium of 0."""
    key = "contest.fell" if ended < began else "contest.did_not_fall"
    return Phrase(key, began=began, ended=ended)
