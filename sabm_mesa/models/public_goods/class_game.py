"""The public goods game as a game for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame, Debrief, ToldRound


def board(ask: Ask) -> dict[str, Any]:
    """The money to be kept or put into the pot.

    Args:
        ask: the question.
    """
    seen: Any = ask.observation
    return {
        "kind": "pot",
        "endowment": seen.endowment,
        "multiplier": seen.multiplier,
        "unit": "dollars",
    }


def told(played: ToldRound) -> list[str]:
    """The own contribution beside the mean, and the payoff.

    Args:
        played: the round.
    """
    if not (own := played.own):
        return []
    mean = played.agents["contribution"].astype(float).mean()
    put = "nothing" if own["contribution"] != own["contribution"] else f"{own['contribution']:.4g}"
    return [
        f"You put {put} into the pot; the mean of all was {mean:.4g}.",
        f"You earned {own['payoff']:.4g} dollars.",
    ]


GAME = ClassGame(
    rule="Keep your money or put it into the pot of your group: the pot is multiplied, and shared "
    "equally among all.",
    people=(4, 40),
    minutes=8,
    board=board,
    told=told,
    debrief=Debrief(
        "contribution", "Contribution (dollars)", lambda _: 0, lambda model: model.endowment,
        lambda model: {"selfish": 0.0, "best for all": model.endowment},
    ),
)  # fmt: skip
