"""The repeated beauty contest as a game for a class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame, Debrief, ToldRound

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


def told(played: ToldRound) -> list[str]:
    """The target, who won, and the own place by the distance from the target.

    Args:
        played: the round.
    """
    target, known = played.values["target"], played.model.revealed
    if "target" not in known or not math.isfinite(target):
        return []
    lines = [f"The target was {target:.4g}."]
    away = (played.agents["choice"].astype(float) - target).abs()
    place = away.rank(method="min")
    winners = played.agents[played.agents["won"].astype(bool)]
    if "winners" in known and len(winners):
        names = [
            "You" if agent == played.agent else played.name(int(agent))
            for agent in winners["agent"]
        ]
        who = names[0] if len(names) == 1 else f"{len(names)} players"
        with_ = f" with {float(winners['choice'].iloc[0]):.4g}" if len(names) == 1 else ""
        lines.append(f"{who} won{with_}.")
    own = place[played.agents["agent"] == played.agent].dropna()
    if len(own):
        lines.append(f"You were {ordinal(int(own.iloc[0]))} of {len(place.dropna())}.")
    return lines


def ordinal(n: int) -> str:
    """A place in words, such as ``"3rd"``.

    Args:
        n: the place, from 1.
    """
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{n}{'th' if n % 100 in {11, 12, 13} else ends.get(n % 10, 'th')}"


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
    told=told,
    debrief=Debrief(
        "choice", "Number chosen", lambda _: 0, lambda model: model.high, levels, people
    ),
)
