"""The Bertrand competition as a game for a class."""

from __future__ import annotations

import math
from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.declarations import ClassGame, Debrief, ToldRound, rounded


def board(ask: Ask) -> dict[str, Any] | None:
    """The other firms' prices in the last round."""
    if ask.name != "act":
        return None
    seen = ask.facts
    rivals = [name for name in seen.names if name != seen.name]
    last = seen.recent[-1]["rivals"] if seen.recent else (None,) * len(rivals)
    tags = [{"name": name, "at": at} for name, at in zip(rivals, last, strict=True)]
    known = [past["price"] for past in seen.recent] + [at for at in last if at is not None]
    # The axis covers the prices that sell, so that positions reveal no theoretical prediction.
    high = min(seen.high, max([10 * seen.cost, *(1.5 * price for price in known)]) or seen.high)
    text = Phrase("market.your_turn", cost=float(seen.cost))
    return {"kind": "tags", "low": seen.cost, "high": high, "step": 0, "tags": tags, "text": text}


def result_lines(played: ToldRound) -> list[str]:
    """The player's price and profit, and the prices of the others."""
    if not (mine := played.own):
        return []
    others = played.agents[played.agents["agent"] != played.agent]
    rivals = [
        Phrase("market.rival", name=played.name(int(agent)), price=float(price))
        for agent, price in zip(others["agent"], others["price"], strict=True)
    ]
    key = "market.kept" if mine["kept"] else "market.asked"
    sold, earned = rounded(mine["demand"]), rounded(mine["profit"])
    return [
        Phrase(key, price=float(mine["price"]), rivals=rivals),
        Phrase("market.sold", sold=sold, earned=earned),
    ]


def picture(played: ToldRound) -> dict[str, Any] | None:
    """The prices of all firms on a line."""
    prices = played.agents["price"].astype(float)
    marks = [
        {"label": played.name(int(agent)), "at": price}
        for agent, price in zip(played.agents["agent"], prices, strict=True)
    ]
    return {"kind": "line", "low": 0, "high": math.ceil(1.25 * prices.max()), "marks": marks}


def prices(model: Any, _before: float | None) -> dict[str, float]:
    """Theoretical prices."""
    return {
        Phrase("market.equilibrium"): model.bertrand_price,
        Phrase("market.cartel"): model.cartel_price,
    }


def course(model: Any, began: float, ended: float) -> str:
    """A description of the last prices between competition and a cartel."""
    low, high = model.bertrand_price, model.cartel_price
    key = "market.near_cartel" if ended > (low + high) / 2 else "market.near_competition"
    return Phrase(key, began=began, ended=ended, low=float(low), high=float(high))


GAME = ClassGame(
    rule=Phrase("rules.prices"),
    people=(2, 4),
    minutes=10,
    lesson="people=2&groups=10&rounds=4&seconds=45",
    parameters={"told_range": True},  # people see the range in the field
    board=board,
    told=result_lines,
    picture=picture,
    questions={
        "communicate": Phrase("asks.say"),
        "plan": Phrase("asks.plan"),
    },
    debrief=Debrief(
        "price", Phrase("decisions.price"), lambda model: model.market.cost,
        lambda model: 1.6 * model.cartel_price, prices, course=course,
    ),
)  # fmt: skip
