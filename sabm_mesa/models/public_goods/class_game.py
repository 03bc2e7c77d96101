"""The public goods game as a game for a class."""

from __future__ import annotations

import math
from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.declarations import ClassGame, Debrief, ToldRound


def board(ask: Ask) -> dict[str, Any]:
    """The money to keep or to put into the pot."""
    return {
        "kind": "split",
        "whole": ask.facts.endowment,
        "multiplier": ask.facts.multiplier,
        "unit": Phrase("units.dollars"),
        # The list of earlier rounds would push the field off a phone, so it is folded.
        "text": Phrase("pot.your_turn", endowment=float(ask.facts.endowment)),
    }


def result_lines(played: ToldRound) -> list[str]:
    """The player's contribution, the mean contribution, and the payoff."""
    if not (mine := played.own):
        return []
    mean = played.agents["contribution"].astype(float).mean()
    put = float(mine["contribution"])
    if math.isnan(put):
        return [Phrase("pot.missed", endowment=float(played.model.endowment))]
    return [
        Phrase("pot.put", put=put, mean=float(mean)),
        Phrase("pot.earned", earned=float(mine["payoff"])),
    ]


def picture(played: ToldRound) -> dict[str, Any] | None:
    """The pot of the player's group, and its share."""
    mine = played.own
    if not mine or math.isnan(float(mine["contribution"])):
        return None
    model = played.model
    share = float(mine["payoff"]) - model.endowment + float(mine["contribution"])
    return {"kind": "shares", "share": share, "parts": model.group_size}


def course(model: Any, began: float, ended: float) -> str:
    """Whether contributions fell, as in most experiments."""
    key = "pot.fell" if ended < began else "pot.held"
    return Phrase(key, began=began, ended=ended, endowment=float(model.endowment))


GAME = ClassGame(
    rule=Phrase("rules.pot"),
    people=(4, 40),
    minutes=8,
    lesson="people=4&groups=10&rounds=8&seconds=40",
    board=board,
    told=result_lines,
    picture=picture,
    debrief=Debrief(
        "contribution", Phrase("decisions.contribution"), lambda _: 0,
        lambda model: model.endowment,
        lambda model, _before: {Phrase("pot.selfish"): 0.0, Phrase("pot.best"): model.endowment},
        course=course,
    ),
)  # fmt: skip
