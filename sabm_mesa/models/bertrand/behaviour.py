"""Behavioural models of prices: reaction functions, and Q-learning.

A decision is a price in market units: 0 is the Bertrand price of the round, 1 the cartel price. So
the best response to a rival at the Bertrand price is 0 in any market. Prices are compared on the
grid of Q-learning, extended beyond its ends: the probability of a price is that of the interval
around its grid point. This makes all models comparable.

Messages are not among the facts: a price agreed on in a talk is explained by the prices of the
previous round.

Sources:
    Reaction functions: Bertrand 1883; Vives 1999, "Oligopoly Pricing", chapter 6.
    Q-learning: Calvano, Calzolari, Denicolò and Pastorello 2020, American Economic Review 110(10),
    3267-3297, sections II and III.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
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
from sabm_mesa.models.bertrand.minds import BEYOND, POINTS, QLearner
from sabm_mesa.models.bertrand.model import MarketParameters
from sabm_mesa.models.bertrand.theory import (
    Benchmarks,
    Market,
    market_of,
)

STEP = (1 + 2 * BEYOND) / (POINTS - 1)
"""The distance between grid points in market units; the first point is at ``-BEYOND``."""
OUTSIDE = 0.01
"""The probability of a price outside the grid of Q-learning (our choice)."""
DUOPOLY = 2
"""Number of firms for which Q-learning is estimated; with more, there are too many states."""
UNIT = "distance from the Bertrand to the cartel price"
INTERCEPT = FreeParameter("intercept", "price when the rivals charge the Bertrand price", -5.0, 5.0,
                          UNIT)  # fmt: skip
SLOPE = FreeParameter("slope", "rise with the mean price of the rivals", -1.0, 2.0)
LEVEL = FreeParameter("level", "price at any prices of the rivals", -5.0, 5.0, UNIT)
SIGMA = FreeParameter("sigma", "standard deviation of the price", 0.01, 5.0, UNIT, log=True)
DIGITS = 2
"""Number of decimals of the learning rate."""
ALPHA = FreeParameter("alpha", "learning rate", 0.0, 1.0, step=0.01)
EXPLORATION = FreeParameter("epsilon", "probability to explore at first", 0.0, 1.0)
DECAY = FreeParameter("decay", "decline of exploration in a round", 1e-6, 0.2, log=True)
START = FreeParameter("start", "first Q-values, as a share of the discounted profits", 0.0, 1.5,
                      step=0.5)  # fmt: skip
TIES = FreeParameter("ties", "probability of the lowest of equally good prices, else any of them",
                     0.0, 1.0)  # fmt: skip


# Reaction functions.


class PriceRule(BehaviouralModel):
    """A price determined by the last prices, with a normal error censored at the limits."""

    needs: tuple[str, ...] = ("rivals", "low", "high")
    parameters: tuple[FreeParameter, ...] = (SIGMA,)

    @abstractmethod
    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The price without error.

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
    """A linear reaction function of the mean of the rivals' last prices.

    In a linear market, the best response of one period has the intercept 0 and, with two firms, the
    slope ``d / (2 beta)``: one quarter with the default market.
    """

    name, title, source = "reaction", "reaction function", "Vives 1999, chapter 6"
    parameters = (INTERCEPT, SLOPE, SIGMA)

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """A line."""
        means: Floats = parameters[0] + parameters[1] * panel.known["rivals"].mean(axis=1)
        return means


class StaticBestReply(PriceRule):
    """The one-period best response to the rivals' last prices, with an error."""

    name, title, source = "best_reply", "best reply to the last prices", "Bertrand 1883"
    needs = (*PriceRule.needs, "reply")

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The theoretical best response."""
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
    """The firm's last price, with an error."""

    name, title, source = "inertia", "own last price", "our choice, for comparison"
    needs = (*PriceRule.needs, "first")

    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The firm's last price."""
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
    """Each price between the limits is equally likely, on the common grid of all models."""

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
    """The path of a learner that observes the recorded prices.

    Attributes:
        lowest: shape (n,): the lowest index on the grid with the largest Q-value.
        equal: shape (n, points): the prices with the largest Q-value, each as likely.
        recorded: shape (n,): the index of the recorded price.
        time: shape (n,): the number of decisions before.
    """

    lowest: Ints
    equal: Floats
    recorded: Ints
    time: Ints

    def chosen(self, ties: float) -> Floats:
        """The probability of the recorded prices without exploration; shape (n,).

        Args:
            ties: the probability of choosing the lowest of equally good prices.
        """
        equal = self.equal[np.arange(len(self.recorded)), self.recorded]
        probability: Floats = ties * (self.recorded == self.lowest) + (1 - ties) * equal
        return probability

    def shares(self, ties: float) -> Floats:
        """The probability of each grid price without exploration; shape (n, points).

        Args:
            ties: the probability of choosing the lowest of equally good prices.
        """
        shares: Floats = ties * np.eye(POINTS)[self.lowest] + (1 - ties) * self.equal
        return shares


class LearnsPrices(BehaviouralModel):
    """Q-learning on a grid of prices in a market of two firms, with a memory of one round.

    A firm explores with probability ``epsilon exp(-decay t)``, where t is the number of its earlier
    decisions: then each price of the grid is equally likely. Otherwise it sets the price with the
    largest Q-value. A price outside the grid counts as the nearest grid price in learning.

    The initial Q-values are a share ``start`` of the discounted profits against rivals with uniform
    prices: 1 in the source, 0 for zero values. The likelihood is discontinuous in ``start``, so
    only a few values are tried. Among prices with equal Q-values (many after a start at 0), a firm
    chooses the lowest with probability ``ties``, and otherwise any of them.

    The discount factor of the source, 0.95, is fixed: since only the order of Q-values matters, it
    changes few choices, and its likelihood is flat. Alpha is not identified while a firm explores
    almost always. Epsilon and decay are not separately identified while exploration hardly
    declines. The likelihood is discontinuous in alpha, so its values are tried in steps of one
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
        """Draw a price from the grid."""
        return self.draws(parameters, panel, rng, 1)[0]  # type: ignore[no-any-return]

    def draws(
        self, parameters: Floats, panel: Panel, rng: np.random.Generator, n: int
    ) -> Floats:  # fmt: skip
        """Draw several prices; the learning path is computed once."""
        path = q_path(panel, round(float(parameters[0]), DIGITS), float(parameters[3]))
        best = path.shares(float(parameters[4]))
        explores = parameters[1] * np.exp(-parameters[2] * panel.position)
        shares = explores[:, None] / POINTS + (1 - explores)[:, None] * best
        indices = np.array([drawn_options(shares, rng) for _ in range(n)])
        prices: Floats = np.clip(_point(indices), panel.known["low"], panel.known["high"])
        return prices

    def simulate(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Panel:
        """Simulate all decisions with learning."""
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
    """The path of a learner that learns from the recorded prices.

    Args:
        panel: the decisions.
        alpha: the learning rate.
        start: the initial Q-values, as a share of the discounted profits.
    """
    lowest, several = _learn(panel, alpha, start)
    equal = np.eye(POINTS)[lowest]
    for row, indices in several.items():
        equal[row] = 0.0
        equal[row, indices] = 1 / len(indices)
    return QPath(lowest, equal, _index_of(panel.decisions), panel.position)


def _learn(
    panel: Panel,
    alpha: float,
    start: float,
    lots: Ints | None = None,
    among: Floats | None = None,
) -> tuple[Ints, dict[int, list[int]]]:
    """The greedy index before each decision; with `lots`, the index that is played.

    Args:
        panel: the decisions.
        alpha: the learning rate.
        start: the initial Q-values, as a share of the discounted profits.
        lots: shape (n,): the explored index, or -1 for the greedy one; the firm learns from the
            resulting prices. None: it learns from the recorded prices.
        among: shape (n,), with `lots`: number from 0 to 1 that selects one of several greedy
            indices.

    Returns:
        The indices, shape (n,); and the rows with several greedy indices → these.
    """
    rivals = panel.known["rivals"][:, 0]
    rival_index = _index_of(rivals).tolist()
    greedy_choices = np.zeros(len(panel), dtype=np.int64)
    several: dict[int, list[int]] = {}
    recorded = _index_of(panel.decisions).tolist()
    earned = None if lots is not None else _profits(panel)
    state, choice = (0, 0), 0
    position = panel.position.tolist()
    for i in range(len(panel)):
        if position[i] == 0:
            market = market_of(tuple(panel.known["market"][i].tolist()))
            learner = QLearner(market, start=start, alpha=alpha)
            state = int(_index_of(panel.known["first"][i : i + 1])[0]), rival_index[i]
        else:
            before, state = state, (choice, rival_index[i])
            if earned is not None:
                profit = earned[i]
            else:
                prices = money(market, _point(choice), rivals[i])
                profit = market.profits(prices)[0]
            learner.learn(before, choice, profit, state)
        row = learner.values(state)
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
    """The profit of each firm in the round before each decision; 0 before its first decision."""
    profits = [0.0] * len(panel)
    rivals = panel.known["rivals"][:, 0]
    for i in np.flatnonzero(panel.position > 0):
        market = market_of(tuple(panel.known["market"][i].tolist()))
        profits[i] = market.profits(money(market, panel.decisions[i - 1], rivals[i]))[0]
    return profits


# Units of the market.


def units(market: Market, price: float) -> float:
    """A price in market units."""
    marks = Benchmarks.of(market)
    return (price - marks.bertrand_price) / marks.distance


def money(market: Market, *units: float) -> list[float]:
    """Prices in money."""
    marks = Benchmarks.of(market)
    return [marks.bertrand_price + float(unit) * marks.distance for unit in units]


def _cell(units: Floats) -> Ints:
    """The index of the interval of a price; the intervals of the grid are 0 to 14."""
    return np.rint((units + BEYOND) / STEP).astype(np.int64)


def _edge(cell: Ints) -> Floats:
    """The lower end of an interval."""
    edges: Floats = (cell.astype(np.float64) - 0.5) * STEP - BEYOND
    return edges


def _index_of(units: Floats) -> Ints:
    """The index on the grid that is nearest to a price."""
    cells: Ints = np.clip(_cell(units), 0, POINTS - 1)
    return cells


def _point(cell: Any) -> Any:
    """The price at an index on the grid."""
    return cell * STEP - BEYOND


def own_last(panel: Panel) -> Floats:
    """The firm's last price before each decision, in units of the market."""
    prices: Floats = panel.known["first"].copy()
    later = panel.position > 0
    prices[later] = panel.decisions[np.flatnonzero(later) - 1]
    return prices


# The facts.


def rows(run: PlayedRun) -> Iterator[Row]:
    """The prices of a run."""
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
    return min(max(money(market_of(firm.market), price)[0], firm.cost), firm.high)


def facts(market: Market, first: float, rivals: Any) -> dict[str, Any]:
    """The facts of a firm.

    Args:
        market: the demand system.
        first: its price before its first decision.
        rivals: the last prices of the others.
    """
    values = {
        "rivals": [units(market, price) for price in rivals],
        "first": units(market, first),
        "reply": units(market, market.best_response(rivals)),
        "low": units(market, market.cost),
        "high": units(market, Benchmarks.of(market).highest_price(market)),
    }
    return values | ({"market": market.figures} if market.n == DUOPOLY else {})


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
    informed=("market", "high"),
)
