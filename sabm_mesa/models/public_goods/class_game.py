"""The public goods game as a game for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame, Debrief


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


GAME = ClassGame(
    rule="Keep your money or put it into the pot of your group: the pot is multiplied, and shared "
    "equally among all.",
    people=(4, 40),
    minutes=8,
    board=board,
    debrief=Debrief(
        "contribution", "Contribution (dollars)", lambda _: 0, lambda model: model.endowment,
        lambda model: {"selfish": 0.0, "best for all": model.endowment},
    ),
)  # fmt: skip
