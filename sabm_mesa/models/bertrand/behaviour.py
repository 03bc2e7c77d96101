"""Behavioural models of prices: reaction functions.

A decision is a price in market units: 0 is the Bertrand price of the round, 1 the cartel price. So
the best response to a rival at the Bertrand price is 0 in any market. The models read the facts
``rivals`` (shape (n, rivals): the last prices of the rivals), ``own`` (the firm's last price) and
``reply`` (the best response of one period to the rivals' last prices).

Messages are not among the facts: a price agreed on in a talk is explained by the prices of the
previous round.

Sources: Bertrand 1883; Vives 1999, "Oligopoly Pricing", chapter 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import (
    LIMITS,
    Behaviour,
    Decider,
    Floats,
    FreeParameter,
    NumberModel,
    Panel,
    PlayedRun,
    Row,
    Uniform,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.bertrand.minds import BEYOND, POINTS
from sabm_mesa.models.bertrand.model import MarketParameters
from sabm_mesa.models.bertrand.theory import Benchmarks, Market, market_of

STEP = (1 + 2 * BEYOND) / (POINTS - 1)
"""The distance between two prices in market units."""
UNIT = "distance from the Bertrand to the cartel price"
SIGMA = FreeParameter("sigma", "standard deviation of the price", 0.01, 5.0, UNIT, log=True)


class Reaction(NumberModel):
    """A linear reaction function of the mean of the rivals' last prices.

    In a linear market, the best response of one period has the intercept 0 and, with two firms, the
    slope ``d / (2 beta)``: one quarter with the default market. With the slope 1 and the intercept
    0, a firm matches the price; with the slope 0, its price is constant.
    """

    name, title, source = "reaction", "reaction function", "Vives 1999, chapter 6"
    parameters = (
        FreeParameter("intercept", "price when the rivals charge the Bertrand price", -5.0, 5.0,
                      UNIT),
        FreeParameter("slope", "rise with the mean price of the rivals", -1.0, 2.0),
        SIGMA,
    )  # fmt: skip
    needs = (*LIMITS, "rivals")

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """A line."""
        means: Floats = parameters[0] + parameters[1] * panel.known["rivals"].mean(axis=1)
        return means


class Following(NumberModel):
    """A price that one of the facts determines, with an error."""

    parameters = (SIGMA,)

    def __init__(self, name: str, title: str, source: str, fact: str) -> None:
        self.name, self.title, self.source, self.fact = name, title, source, fact
        self.needs = (*LIMITS, fact)

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The fact."""
        del parameters
        return panel.known[self.fact]


def rows(run: PlayedRun) -> Iterator[Row]:
    """The prices of a run."""
    market = _market(run)
    agents = run.agents.sort_values("agent")
    by_round = {time: agents[agents["round"] == time] for time in sorted(set(agents["round"]))}
    for time in list(by_round)[1:]:
        last = by_round[time - 1]["price"].to_numpy(dtype=np.float64)
        for i, row in enumerate(by_round[time].to_dict("records")):
            player = Decider(run.run, int(row["agent"]), str(row["mind"]), run.condition)
            price = None if row["kept"] else _units(market, float(row["price"]))
            yield Row(player, int(time), price, facts(market, last[i], np.delete(last, i).tolist()))


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a firm that sets a price; None when it talks or plans."""
    if ask.name != "act":
        return None
    last = ask.facts.recent[-1]
    return facts(market_of(ask.facts.market), last["price"], last["rivals"])


def answer(ask: Ask, price: float | None) -> object:
    """Set a price; other questions get a neutral answer."""
    if price is None:
        entry = "classical_plans" if ask.name == "plan" else "fitted_says"
        return ask.book.render(entry, {})
    firm = ask.facts
    marks = Benchmarks.of(market_of(firm.market))
    return min(max(marks.bertrand_price + price * marks.distance, firm.cost), firm.high)


def facts(market: Market, own: float, rivals: Sequence[float]) -> dict[str, Any]:
    """The facts of a firm."""
    return {
        "rivals": [_units(market, price) for price in rivals],
        "own": _units(market, own),
        "reply": _units(market, market.best_response(rivals)),
        "low": _units(market, market.cost),
        "high": _units(market, Benchmarks.of(market).highest_price(market)),
        "step": STEP,
    }


def _units(market: Market, price: float) -> float:
    """A price in market units."""
    marks = Benchmarks.of(market)
    return (price - marks.bertrand_price) / marks.distance


def _market(run: PlayedRun) -> Market:
    """The market of a run."""
    given = {name: run.parameters[name] for name in MarketParameters.__slots__}
    return MarketParameters(**given).market()


BEHAVIOUR = Behaviour(
    what="a price",
    models=(
        Reaction(),
        Following("best_reply", "best reply to the last prices", "Bertrand 1883", "reply"),
        Following("inertia", "own last price", "our choice, for comparison", "own"),
        Uniform(),
    ),
    rows=rows,
    known=known,
    answer=answer,
    informed=("market", "high"),
)
