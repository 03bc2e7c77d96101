"""The Keynesian beauty contest as a game for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame, Debrief
from sabm_mesa.models.kbc.agents import HIGH, LOW, P


def board(ask: Ask) -> dict[str, Any] | None:
    """A number line for the pick; none for what is said.

    Args:
        ask: the question.
    """
    return {"kind": "line", "low": LOW, "high": HIGH, "step": 1} if ask.name == "act" else None


def levels(_model: Any) -> dict[str, float]:
    """The picks of theory: the equilibrium, and the first steps of reasoning from the middle."""
    middle = (LOW + HIGH) / 2
    return {"equilibrium": LOW, "level 1": P * middle, "level 2": P**2 * middle}


GAME = ClassGame(
    rule="Pick a number from 0 to 100: whoever is closest to two thirds of the mean of all picks "
    "wins.",
    people=(4, 30),
    minutes=15,
    board=board,
    debrief=Debrief(
        "choice", "Pick (0 to 100)", lambda _: LOW, lambda _: HIGH, levels,
        lambda _: ("nagel-1995",),
    ),
)  # fmt: skip
