"""The repeated beauty contest as a game for a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame, Debrief

P_OF_NAGEL = 2 / 3
"""The factor in the published distribution of people's picks, of numbers from 0 to 100."""


def board(ask: Ask) -> dict[str, Any] | None:
    """A number line with the last mean and target, as far as they are known.

    Args:
        ask: the question.
    """
    if ask.name != "act":
        return None
    seen: Any = ask.observation
    last = seen.past[-1] if seen.past else None
    known = {} if last is None else {"last mean": last.mean, "last target": last.target}
    marks = [{"label": label, "at": at} for label, at in known.items() if at is not None]
    step = 1 if seen.integer else 0
    return {"kind": "line", "low": 0, "high": seen.high, "step": step, "marks": marks}


def levels(model: Any) -> dict[str, float]:
    """The picks of theory: the equilibrium, and the first steps of reasoning from the middle.

    Args:
        model: the contest.
    """
    steps = {f"level {k}": min(model.high, model.p**k * model.high / 2) for k in (1, 2)}
    return ({"equilibrium": 0.0} if model.p < 1 else {}) | steps


def people(model: Any) -> Sequence[str]:
    """The published distribution, where people played the same game.

    Args:
        model: the contest.
    """
    same = abs(model.p - P_OF_NAGEL) < 1e-3 and model.high == 100
    return ("nagel-1995",) if same else ()


GAME = ClassGame(
    rule="Choose a number: whoever is closest to the target, a fraction of the mean of all "
    "numbers, wins the round.",
    people=(3, 40),
    minutes=8,
    board=board,
    debrief=Debrief(
        "choice", "Number chosen", lambda _: 0, lambda model: model.high, levels, people
    ),
)
