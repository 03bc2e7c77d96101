"""Behavioural models of prices: reaction functions, and Q-learning.

A decision is a price in units of the market: 0 is the Bertrand price of the round, 1 the cartel
price. So a firm that replies best to a rival at the Bertrand price sets 0, in any market. The
models distinguish prices on the grid of Q-learning, which continues beyond its ends: the
probability of a price is that of the interval around its grid point. So all of them can be
compared.

What is said is not among the facts: a price that was agreed on in a talk is judged by the prices of
the round before.

Sources:
    Reaction functions: Bertrand 1883; Vives 1999, "Oligopoly Pricing", chapter 6.
    Q-learning: Calvano, Calzolari, Denicolò and Pastorello 2020, American Economic Review 110(10),
    3267-3297, sections II and III.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sabm_mesa.analysis.behaviour import (
    Behaviour,
    BehaviouralModel,
    Chance,
    Decider,
    Floats,
    FreeParameter,
    Ints,
    Panel,
    PlayedRun,
    Row,
    drawn_options,
    floored,
    once_a_panel,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.bertrand.agents import FirmView
from sabm_mesa.models.bertrand.minds import BEYOND, DISCOUNT, POINTS, QLearner
from sabm_mesa.models.bertrand.model import MarketParameters
from sabm_mesa.models.bertrand.theory import (
    Benchmarks,
    HomogeneousMarket,
    LinearMarket,
    LogitMarket,
    Market,
)

STEP = (1 + 2 * BEYOND) / (POINTS - 1)
"""The distance of two grid points, in units of the market; the first one is at ``-BEYOND``."""
OUTSIDE = 0.01
"""The probability of a price outside the grid of Q-learning (our choice)."""
DUOPOLY = 2
"""Firms of a market for which Q-learning is estimated: with more there are too many states."""
KINDS: tuple[type[Market], ...] = (LinearMarket, HomogeneousMarket, LogitMarket)
UNIT = "distance from the Bertrand to the cartel price"
INTERCEPT = FreeParameter("intercept", "price when the rivals charge the Bertrand price", -5.0, 5.0,
                          UNIT)  # fmt: skip
SLOPE = FreeParameter("slope", "rise with the mean price of the rivals", -1.0, 2.0)
LEVEL = FreeParameter("level", "price at any prices of the rivals", -5.0, 5.0, UNIT)
SIGMA = FreeParameter("sigma", "standard deviation of the price", 0.01, 5.0, UNIT, log=True)
DIGITS = 2
"""Decimals of the learning rate."""
ALPHA = FreeParameter("alpha", "learning rate", 0.0, 1.0, step=0.01)
EXPLORATION = FreeParameter("epsilon", "probability to explore at first", 0.0, 1.0)
DECAY = FreeParameter("decay", "decline of exploration in a round", 1e-6, 0.2, log=True)
START = FreeParameter("start", "first Q-values, as a share of the discounted profits", 0.0, 1.5,
                      step=0.5)  # fmt: skip
TIES = FreeParameter("ties", "probability of the lowest of equally good prices, else any of them",
                     0.0, 1.0)  # fmt: skip


# Reaction functions.


class PriceRule(BehaviouralModel):
    """A price that follows from the last ones, with a normal error that is cut off at the limits.

    Args:
        name: see `BehaviouralModel`.
        title: see `BehaviouralModel`.
        source: see `BehaviouralModel`.
        parameters: the parameters of the rule, without those of the error.
        needs: see `BehaviouralModel`.
    """

    needs: tuple[str, ...] = ("rivals", "low", "high")
    parameters: tuple[FreeParameter, ...] = (SIGMA,)

    @abstractmethod
    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The price without error.

        Args:
            parameters: the vector of parameters.
            panel: the decisions.

        Returns:
            Shape (n,), in units of the market.
        """

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of the interval around each price."""
        from scipy.special import ndtr

        sigma, mean = parameters[-1], self.mean(parameters, panel)
        bottom, top = (_cell(panel.known[end]) for end in ("low", "high"))
        cell = np.clip(_cell(panel.decisions), bottom, top)
        below = np.where(cell <= bottom, -np.inf, (_edge(cell) - mean) / sigma)
        above = np.where(cell >= top, np.inf, (_edge(cell + 1) - mean) / sigma)
        flip = below > 0  # exact in both tails
        share = ndtr(np.where(flip, -below, above)) - ndtr(np.where(flip, -above, below))
        return floored(share)

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a price around the rule."""
        drawn = self.mean(parameters, panel) + parameters[-1] * rng.standard_normal(len(panel))
        prices: Floats = np.clip(drawn, panel.known["low"], panel.known["high"])
        return prices


class Reaction(PriceRule):
    """A linear reaction function: the price on the mean of the rivals' last prices.

    In a linear market the best reply of one period has the intercept 0, and with two firms the
    slope ``d / (2 beta)``: one quarter with the default market.
    """

    name, title, source = "reaction", "reaction function", "Vives 1999, chapter 6"
    parameters = (INTERCEPT, SLOPE, SIGMA)

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """A line."""
        means: Floats = parameters[0] + parameters[1] * panel.known["rivals"].mean(axis=1)
        return means


class StaticBestReply(PriceRule):
    """The best reply of one period to the rivals' last prices, with an error."""

    name, title, source = "best_reply", "best reply to the last prices", "Bertrand 1883"
    needs = (*PriceRule.needs, "reply")

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The best reply of the theory."""
        del parameters
        return panel.known["reply"]


class Matching(PriceRule):
    """The last price of the cheapest rival, with an error: tit for tat in prices."""

    name, title = "matching", "last price of the cheapest rival"
    source = "Axelrod 1984 (tit for tat)"

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The lowest last price of the rivals."""
        del parameters
        lowest: Floats = panel.known["rivals"].min(axis=1)
        return lowest


class Inertia(PriceRule):
    """The own last price, with an error."""

    name, title, source = "inertia", "own last price", "our choice, for comparison"
    needs = (*PriceRule.needs, "first")

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The own last price."""
        del parameters
        return own_last(panel)


class Constant(PriceRule):
    """The same price in each round, with an error."""

    name, title, source = "constant", "one price", "our choice, for comparison"
    parameters = (LEVEL, SIGMA)

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The level."""
        return np.full(len(panel), parameters[0])


class PriceByChance(Chance):
    """Each price between the limits is equally likely, on the grid that all models use."""

    title = "each price equally likely"
    needs = ("low", "high")

    def count(self, panel: Panel) -> Floats:
        """The number of grid points between the limits."""
        n_points: Floats = (_cell(panel.known["high"]) - _cell(panel.known["low"]) + 1).astype(
            float
        )
        return n_points

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a grid point."""
        del parameters
        cells = _cell(panel.known["low"]) + np.floor(rng.random(len(panel)) * self.count(panel))
        prices: Floats = np.clip(_point(cells), panel.known["low"], panel.known["high"])
        return prices


# Q-learning.


class QPath(NamedTuple):
    """The course of a learner that sees the recorded prices.

    Attributes:
        lowest: shape (n,): the lowest place on the grid with the largest Q-value.
        equal: shape (n, places): the places with the largest Q-value, each as likely.
        place: shape (n,): the place of the recorded price.
        time: shape (n,): the number of decisions before.
    """

    lowest: Ints
    equal: Floats
    place: Ints
    time: Ints

    def chosen(self, ties: float) -> Floats:
        """How likely the recorded prices are without exploration; shape (n,).

        Args:
            ties: the probability that the lowest of equally good prices is taken.
        """
        equal = self.equal[np.arange(len(self.place)), self.place]
        probability: Floats = ties * (self.place == self.lowest) + (1 - ties) * equal
        return probability

    def shares(self, ties: float) -> Floats:
        """How likely each place is without exploration; shape (n, places).

        Args:
            ties: the probability that the lowest of equally good prices is taken.
        """
        shares: Floats = ties * np.eye(POINTS)[self.lowest] + (1 - ties) * self.equal
        return shares


class LearnsPrices(BehaviouralModel):
    """Q-learning of a firm of two on a grid of prices, with a memory of one round.

    A firm explores with the probability ``epsilon exp(-decay t)``, t being the number of its
    earlier decisions: then each price of the grid is equally likely. Else it sets the price with
    the largest Q-value. It learns from a price outside the grid as from the nearest one.

    The first Q-values are a share ``start`` of the discounted profits against rivals that set each
    price of the grid equally often: 1 in the source, 0 where all begin with 0. The likelihood jumps
    with it, so that few values are tried. Of prices with equal Q-values, which are many where they
    begin with 0, a firm takes the lowest with the probability ``ties``, and else any.

    The discount factor is that of the source, 0.95, and is not estimated: since only the order of
    Q-values counts, it changes few choices, and its likelihood is flat. While a firm explores
    almost always, alpha is not identified either; nor are epsilon and decay apart while exploration
    hardly declines. The likelihood jumps with alpha, whose values are tried in steps of one
    hundredth.

    Source: Calvano, Calzolari, Denicolò and Pastorello 2020, sections II and III, where epsilon is
    1.
    """

    name, title = "q_learning", "Q-learning"
    source = "Calvano et al. 2020, American Economic Review 110(10), section II"
    parameters = (ALPHA, EXPLORATION, DECAY, START, TIES)
    needs = ("rivals", "first", "market", "low", "high")

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of the grid point of each price."""
        path = q_path(panel, round(float(parameters[0]), DIGITS), float(parameters[3]))
        greedy, time = path.chosen(float(parameters[4])), path.time
        explores = parameters[1] * np.exp(-parameters[2] * time)
        cell, low, high = map(_cell, (panel.decisions, panel.known["low"], panel.known["high"]))
        share = explores / POINTS + (1 - explores) * greedy
        outside = np.maximum(high - low + 1 - POINTS, 1)
        on_grid = (cell >= 0) & (cell < POINTS)
        return floored(np.where(on_grid, (1 - OUTSIDE) * share, OUTSIDE / outside))

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a price of the grid."""
        return self.draws(parameters, panel, rng, 1)[0]  # type: ignore[no-any-return]

    def draws(
        self, parameters: Floats, panel: Panel, rng: np.random.Generator, n: int
    ) -> Floats:  # fmt: skip
        """Draw several prices; the course of learning is computed once."""
        path = q_path(panel, round(float(parameters[0]), DIGITS), float(parameters[3]))
        best = path.shares(float(parameters[4]))
        explores = parameters[1] * np.exp(-parameters[2] * panel.position)
        shares = explores[:, None] / POINTS + (1 - explores)[:, None] * best
        places = np.array([drawn_options(shares, rng) for _ in range(n)])
        prices: Floats = np.clip(_point(places), panel.known["low"], panel.known["high"])
        return prices

    def simulate(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Panel:
        """Draw all decisions anew, learning as it goes."""
        explores = parameters[1] * np.exp(-parameters[2] * panel.position)
        lots = np.where(
            rng.random(len(panel)) < explores, rng.integers(POINTS, size=len(panel)), -1
        )
        learner = round(float(parameters[0]), DIGITS), float(parameters[3])
        lowest = rng.random(len(panel)) < parameters[4]
        among = np.where(lowest, 0.0, rng.random(len(panel)))
        played = _learn(panel, *learner, lots, among)[0]
        limits = panel.known["low"], panel.known["high"]
        return panel.with_decisions(np.clip(_point(played), *limits))


@once_a_panel
def q_path(panel: Panel, alpha: float, start: float = 1.0) -> QPath:
    """The course of a learner that learns from the recorded prices.

    Args:
        panel: the decisions.
        alpha: the learning rate.
        start: the first Q-values, as a share of the discounted profits.
    """
    lowest, several = _learn(panel, alpha, start)
    equal = np.eye(POINTS)[lowest]
    for row, places in several.items():
        equal[row] = 0.0
        equal[row, places] = 1 / len(places)
    return QPath(lowest, equal, _place(panel.decisions), panel.position)


def _learn(
    panel: Panel,
    alpha: float,
    start: float,
    lots: Ints | None = None,
    among: Floats | None = None,
) -> tuple[Ints, dict[int, list[int]]]:
    """The greedy place before each decision; with lots the place that is played.

    Args:
        panel: the decisions.
        alpha: the learning rate.
        start: the first Q-values, as a share of the discounted profits.
        lots: shape (n,): the place that is explored, -1 where the greedy one is played; then the
            firm learns from these prices. None: it learns from the recorded ones.
        among: shape (n,), with lots: from 0 to 1, which of several greedy places is played.

    Returns:
        The places, shape (n,); and the rows with several greedy places → these.
    """
    rivals = panel.known["rivals"][:, 0]
    rival_place = _place(rivals).tolist()
    greedy_choices = np.zeros(len(panel), dtype=np.int64)
    several: dict[int, list[int]] = {}
    recorded = _place(panel.decisions).tolist()
    earned = None if lots is not None else _profits(panel)
    rows: dict[tuple[int, int], list[float]] = {}
    state = before = (0, 0)
    choice = 0
    first: list[float] = []
    market: Market | None = None
    position = panel.position.tolist()
    for i in range(len(panel)):
        if position[i] == 0:
            market = market_of(tuple(panel.known["market"][i].tolist()))
            first, rows = [start * value for value in _first_values(market)], {}
            state = int(_place(panel.known["first"][i : i + 1])[0]), rival_place[i]
        else:
            before, state = state, (choice, rival_place[i])
            assert market is not None
            if earned is not None:
                profit = earned[i]
            else:
                prices = money(market, _point(choice), rivals[i])
                profit = market.profits(prices)[0]
            row = rows.setdefault(before, list(first))
            target = profit + DISCOUNT * max(rows.setdefault(state, list(first)))
            row[choice] += alpha * (target - row[choice])
        row = rows.setdefault(state, list(first))
        best = max(row)
        greedy = row.index(best)
        if row.count(best) > 1:
            several[i] = [k for k, value in enumerate(row) if value == best]
            if among is not None:
                greedy = several[i][int(among[i] * len(several[i]))]
        if lots is None:
            greedy_choices[i], choice = greedy, recorded[i]
        else:
            choice = greedy if lots[i] < 0 else int(lots[i])
            greedy_choices[i] = choice
    return greedy_choices, several


@once_a_panel
def _profits(panel: Panel) -> list[float]:
    """The profit of each firm in the round before each decision; 0 before its first one."""
    profits = [0.0] * len(panel)
    rivals = panel.known["rivals"][:, 0]
    for i in np.flatnonzero(panel.position > 0):
        market = market_of(tuple(panel.known["market"][i].tolist()))
        profits[i] = market.profits(money(market, panel.decisions[i - 1], rivals[i]))[0]
    return profits


@cache
def _first_values(market: Market) -> tuple[float, ...]:
    """The Q-values of each state before it is learnt about, as those of the mind."""
    return tuple(QLearner(market).values((0, 0)))


# Units of the market.


@cache
def market_of(code: tuple[float, ...]) -> Market:
    """The market of two firms with the facts of a row.

    Args:
        code: the number of its kind, cost, a, and the other parameters, filled up with 0.
    """
    kind, cost, a, *rest = code
    n_parameters = {LinearMarket: 2, HomogeneousMarket: 1, LogitMarket: 2}[KINDS[int(kind)]]
    return KINDS[int(kind)](DUOPOLY, cost, a, *rest[:n_parameters])


def _code(market: Market) -> tuple[float, ...]:
    match market:
        case LinearMarket():
            return 0.0, market.cost, market.a, market.beta, market.d
        case HomogeneousMarket():
            return 1.0, market.cost, market.a, market.d, 0.0
        case LogitMarket():
            return 2.0, market.cost, market.a, market.mu, market.a_0
    raise TypeError(f"no code for {market}")


@cache
def _marks(market: Market) -> Benchmarks:
    return Benchmarks.of(market)


def units(market: Market, price: float) -> float:
    """A price in units of the market.

    Args:
        market: the demand system.
        price: the price in money.
    """
    marks = _marks(market)
    return (price - marks.bertrand_price) / marks.distance


def money(market: Market, *units: float) -> list[float]:
    """Prices in money.

    Args:
        market: the demand system.
        units: the prices in units of the market.
    """
    marks = _marks(market)
    return [marks.bertrand_price + float(unit) * marks.distance for unit in units]


def _cell(units: Floats) -> Ints:
    """The number of the interval of a price; those of the grid are 0 to 14."""
    return np.rint((units + BEYOND) / STEP).astype(np.int64)


def _edge(cell: Ints) -> Floats:
    """The lower end of an interval."""
    edges: Floats = (cell.astype(np.float64) - 0.5) * STEP - BEYOND
    return edges


def _place(units: Floats) -> Ints:
    """The place on the grid that is nearest to a price."""
    cells: Ints = np.clip(_cell(units), 0, POINTS - 1)
    return cells


def _point(cell: Any) -> Any:
    """The price at a place on the grid."""
    return cell * STEP - BEYOND


def own_last(panel: Panel) -> Floats:
    """The own last price before each decision, in units of the market.

    Args:
        panel: the decisions.
    """
    prices: Floats = panel.known["first"].copy()
    later = panel.position > 0
    prices[later] = panel.decisions[np.flatnonzero(later) - 1]
    return prices


# The facts.


def rows(run: PlayedRun) -> Iterator[Row]:
    """The prices of a run.

    Args:
        run: the run.
    """
    markets = _markets(run)
    agents = run.agents.sort_values("agent")
    by_round = {time: agents[agents["round"] == time] for time in sorted(set(agents["round"]))}
    first = by_round[0]["price"].to_numpy(dtype=np.float64)
    for time in list(by_round)[1:]:
        market = markets[max(begin for begin in markets if begin <= time)]
        last = by_round[time - 1]["price"].to_numpy(dtype=np.float64)
        for i, row in enumerate(by_round[time].to_dict("records")):
            player = Decider(run.run, int(row["agent"]), str(row["mind"]), run.condition)
            known = facts(market, first[i], np.delete(last, i).tolist())
            price = None if row["kept"] else units(market, float(row["price"]))
            yield Row(player, int(time), price, known)


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a firm that sets a price; None when it talks or plans.

    Args:
        ask: the question.
    """
    view = ask.observation
    if ask.name != "act" or not isinstance(view, FirmView):
        return None
    assert view.market is not None  # the minds are informed of it
    last = view.recent[-1]
    return facts(view.market, last.price, last.rivals)


def answer(ask: Ask, price: float | None) -> object:
    """Set a price, write down nothing new, or say nothing of prices.

    Args:
        ask: the question.
        price: the price in units of the market; None when the firm talks or plans.
    """
    view = ask.observation
    assert isinstance(view, FirmView)
    if price is None:
        entry = "classical_plans" if ask.name == "plan" else "fitted_says"
        words = ask.book.render(entry, {})
        return [{"second": 0, "text": words}] if ask.name == "chat" else words
    assert view.market is not None
    return min(max(money(view.market, price)[0], view.low), view.high)


def facts(market: Market, first: float, rivals: Any) -> dict[str, Any]:
    """The facts of a firm.

    Args:
        market: the demand system.
        first: its own price before its first decision.
        rivals: the last prices of the others.
    """
    values = {
        "rivals": [units(market, price) for price in rivals],
        "first": units(market, first),
        "reply": units(market, market.best_response(rivals)),
        "low": units(market, market.cost),
        "high": units(market, _marks(market).highest_price(market)),
    }
    return values | ({"market": _code(market)} if market.n == DUOPOLY else {})


def _markets(run: PlayedRun) -> dict[int, Market]:
    """Round → the market from that round on, as planned before the run."""
    names = MarketParameters.__slots__
    given = MarketParameters(**{name: run.parameters[name] for name in names})
    planned = given.planned(run.parameters.get("changes"))
    return {0: given.market()} | {begin: change.market() for begin, change in planned.items()}


BEHAVIOUR = Behaviour(
    what="a price",
    models=(
        Reaction(),
        StaticBestReply(),
        Matching(),
        Inertia(),
        Constant(),
        LearnsPrices(),
        PriceByChance(),
    ),
    rows=rows,
    known=known,
    answer=answer,
    informed=("market", "low", "high"),
)
