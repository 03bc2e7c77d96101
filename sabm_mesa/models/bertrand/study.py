"""Measures, behavioural models and the preliminary test of the Bertrand competition.

Talk about prices is coded by rules that can be checked by hand: the word lists are in the table
``[prices]`` of ``analysis/words.toml``. The coder reads the surface of English sentences: it misses
irony, and counts a price that is named in order to reject it as named.

A decision of the behavioural models is a price in market units: 0 is the Bertrand price of the
round, 1 the cartel price. So the best response to a rival at the Bertrand price is 0 in any market.
The models read the facts ``rivals`` (shape (n, rivals): the last prices of the rivals), ``own``
(the last price of the firm) and ``reply`` (the best response of one period to the last prices of
the rivals). Messages are not among the facts: a price agreed on in a talk is explained by the
prices of the previous round.

Sources: Bertrand 1883; Vives 1999, "Oligopoly Pricing", chapter 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from sabm_mesa.analysis.intervals import (
    LAST_ROUNDS,
    final_level,
    settling_round,
)
from sabm_mesa.analysis.messages import (
    assents,
    signals_agreement,
    signals_disagreement,
    stated_prices,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.messages import Message
from sabm_mesa.models.bertrand.market import MarketParameters
from sabm_mesa.models.bertrand.minds import BEYOND, POINTS
from sabm_mesa.models.bertrand.theory import Benchmarks, Market, market_of
from sabm_mesa.models.declarations import Exam, Marks, MessageMeasure, Study

if TYPE_CHECKING:
    import pandas as pd


def price_messages(messages: Sequence[Message], low: float, high: float) -> int:
    """Return how many messages name a price, or agree after another speaker has named one.

    Args:
        messages: the messages of one round, in order.
        low: the lowest price that counts.
        high: the highest price that counts.
    """
    named: set[int] = set()
    count = 0
    for message in messages:
        if stated_prices(message.text, low, high):
            named.add(message.sender)
            count += 1
        elif named - {message.sender} and signals_agreement(message.text):
            count += 1
    return count


def first_price_agreement(
    messages: pd.DataFrame, low: float = 0.0, high: float = math.inf
) -> dict[int, int | None]:
    """Return the first round of each run with an explicit agreement on a price.

    An agreement: in one round, a firm names a price, and another firm later names the same price or
    agrees (`assents`) without disagreement. It counts even if the firms do not set the price.

    Args:
        messages: one row per message in the order in which they were said, with ``run``, ``round``,
            ``speaker`` and ``text``, as from `sabm_mesa.recording.frames.Recorded.messages`.
        low: the lowest price that counts.
        high: the highest price that counts.

    Returns:
        Run → round, None without such an agreement. Runs without messages are left out.
    """
    first_rounds: dict[int, int | None] = {}
    for _, talk_of_round in messages.groupby(["run", "round"], sort=True):
        run, round_ = (int(talk_of_round[name].iloc[0]) for name in ("run", "round"))
        texts = zip(talk_of_round["speaker"], talk_of_round["text"], strict=True)
        talk = [Message(round_, speaker, text) for speaker, text in texts]
        if first_rounds.get(run) is None:
            first_rounds[run] = round_ if _is_agreed(talk, low, high) else None
    return first_rounds


def _is_agreed(messages: Iterable[Message], low: float, high: float) -> bool:
    named: dict[float, set[int]] = {}
    for message in messages:
        others = {price for price, firms in named.items() if firms - {message.sender}}
        prices = stated_prices(message.text, low, high)
        takes_up = others.intersection(prices) or (others and assents(message.text))
        if takes_up and not signals_disagreement(message.text):
            return True
        for price in prices:
            named.setdefault(price, set()).add(message.sender)
    return False


def run_measures(
    data: Mapping[str, Sequence[Any]], n_firms: int, tolerance: float, given: int = 0
) -> dict[str, float]:
    """Return the level and round at which prices settled, the collusion, and the amount of talk.

    The spell is the number of consecutive collusive rounds at the end; the share of collusive
    rounds is over the whole run; Δ is over the last rounds (Calvano et al. 2020, section III).
    Convergence price and Δ are means over ``averaged_rounds``: the last 50 rounds, or all in a
    shorter run.

    Args:
        data: column → its values by round; the columns ``price_1`` to ``price_n``,
            ``collusion_index``, ``collusive_share``, ``spell``, ``messages`` and
            ``price_messages``.
        tolerance: see `settling_round`.
        given: the number of given rounds at the start, which are left out of all measures.
    """
    paths = [data[f"price_{i + 1}"][given:] for i in range(n_firms)]
    index = data["collusion_index"][given:][-LAST_ROUNDS:]
    return {
        "rounds": len(data["price_1"]),
        "averaged_rounds": len(index),
        "convergence_price": final_level(paths),
        "convergence_round": given + settling_round(paths, tolerance),
        "collusion_index": float(np.mean(index)) if index else math.nan,
        "spell": data["spell"][-1] if data["spell"] else 0,
        "collusive_share": data["collusive_share"][-1] if data["collusive_share"] else math.nan,
        "messages": sum(data["messages"]),
        "price_messages": sum(data["price_messages"]),
    }


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


_BEHAVIOUR = Behaviour(
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


SETTLED = 10
"""The first round in which prices must lie within the band (our choice)."""


def _marks(model: Any) -> Marks:
    rows = model.agent_frame()
    rows = rows[rows["round"] > 0]  # the prices of round 0 are given
    chosen = ~rows["kept"].astype(bool)  # without a usable answer, a firm keeps its price
    low, high = band(model)
    in_band = (chosen & rows["price"].between(low, high))[rows["round"] >= SETTLED]
    return {"usable prices": chosen.tolist(), f"prices from {low:g} to {high:g}": in_band.tolist()}


def band(model: Any) -> tuple[float, float]:
    """The lowest and the highest price that is a best response to some price of the range."""
    others = model.n_firms - 1
    ends = model.market.cost, model.highest_price
    low, high = (model.market.best_response([end] * others) for end in ends)
    # With the defaults, the cartel price is the best response to the highest price.
    return low, max(high, model.market.cartel_price())


_EXAM = Exam(
    title="prices of two firms in 20 rounds without talk",
    source="Wu et al. 2024, appendix B.2 and figure 11",
    right="a usable price, and in the last 10 rounds one that is a best response to some price "
    "(Bertrand equilibrium 6, cartel price 8)",
    published="the prices of GPT-3.5 (with talk) are in disorder and reach no equilibrium; Gemini "
    "Pro and Claude 2 are said to do much the same",
    parameters=lambda *_: {"n_rounds": 20, "communication": False},
    marks=_marks,
)


STUDY = Study(
    theory_marks={
        "bertrand": {
            "Bertrand equilibrium price": "bertrand_price",
            "cartel price": "cartel_price",
        },
        "profits": {
            "profit at the Bertrand equilibrium": "bertrand_profit",
            "profit of a cartel": "cartel_profit",
        },
        "collusion": {"Bertrand equilibrium": 0.0, "cartel": 1.0},  # Calvano et al. 2020
    },
    message_measures={
        "first_price_agreement": MessageMeasure(
            "First round with an explicit price agreement", first_price_agreement
        ),
    },
    behaviour=_BEHAVIOUR,
    exam=_EXAM,
)
