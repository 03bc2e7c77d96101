"""The Bertrand competition as a game for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame, Debrief, ToldRound


def board(ask: Ask) -> dict[str, Any] | None:
    """Price tags of the other firms, as they were in the last round.

    Args:
        ask: the question.
    """
    if ask.name != "act":
        return None
    seen: Any = ask.observation
    last = seen.recent[-1].rivals if seen.recent else (None,) * len(seen.rivals)
    tags = [{"name": name, "at": at} for name, at in zip(seen.rivals, last, strict=True)]
    known = [each.price for each in seen.recent] + [at for at in last if at is not None]
    # As wide as the prices that sell, so that the place of a price reveals nothing of theory.
    high = min(seen.high, max([10 * seen.cost, *(1.5 * price for price in known)]) or seen.high)
    return {"kind": "prices", "low": seen.cost, "high": high, "step": 0, "tags": tags}


def told(played: ToldRound) -> list[str]:
    """The own price and profit, and the prices of the others.

    Args:
        played: the round.
    """
    if not (own := played.own):
        return []
    others = played.agents[played.agents["agent"] != played.agent]
    rivals = [
        f"{played.name(int(agent))} asked {price:.4g}"
        for agent, price in zip(others["agent"], others["price"], strict=True)
    ]
    said = "You kept the price" if own["kept"] else "You asked"
    return [
        f"{said} {own['price']:.4g}, and {', '.join(rivals)}.",
        f"You sold {own['demand']:.4g} and earned {own['profit']:.4g}.",
    ]


def prices(model: Any) -> dict[str, float]:
    """The prices of theory.

    Args:
        model: the market.
    """
    return {"Bertrand equilibrium": model.bertrand_price, "cartel": model.cartel_price}


GAME = ClassGame(
    rule="You run a firm: set a price in each round, and earn as much as you can.",
    people=(2, 4),
    minutes=10,
    # People see the range on the field.
    parameters={"told_range": True},
    board=board,
    told=told,
    debrief=Debrief(
        "price", "Price", lambda model: model.market.cost, lambda model: 1.6 * model.cartel_price,
        prices,
    ),
)  # fmt: skip
