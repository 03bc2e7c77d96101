"""Classical minds of the Bertrand competition: pricing rules from economics.

In the talk they name the price that their rule is about to set, and agree to another price only
when they will keep to it. Only `TitForTat` lets talk change its price.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np

from sabm_mesa.analysis.messages import stated_prices
from sabm_mesa.core.asks import Ask
from sabm_mesa.errors import MindError
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.bertrand.agents import FirmView, figure
from sabm_mesa.models.bertrand.theory import Benchmarks, Market

STEP = 0.01
"""Step of trial and error, as a share of the range of legal prices (our choice)."""
ERROR = 0.05
"""Probability of a step in a random direction (our choice; it must be small and positive)."""
SAME = 0.005
"""Prices that differ by at most this share of the range count as equal in talk."""
POINTS = 15
"""Prices on the grid of Q-learning."""
BEYOND = 0.1
"""Share of the distance between the reference prices by which the grid passes each of them."""
ALPHA, DISCOUNT = 0.15, 0.95
"""Learning rate and discount factor of Q-learning."""
DECAY = 4e-6
"""Decay of exploration by period (section III): about a million periods until it is over."""
FAST_DECAY = 5e-3
"""A decay that ends exploration (2 %) after 800 of 1200 rounds: too soon to learn much. It shows
how the mind works, not that it learns to collude."""
MOST_PROFILES = 10**6
"""Combinations of rivals' prices over which the first Q-values can be averaged."""


class PricingRule(ClassicalMind):
    """A mind that sets prices by a rule.

    One that is `informed` knows the demand system, as the theory assumes.

    Args:
        spec: the spec of the mind, as the data have it.
    """

    informed: tuple[str, ...] = ("low", "high")

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._decided = -1
        self._price = 0.0

    @abstractmethod
    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """Return the price of this round, from the observation before the talk."""

    async def answer(self, ask: Ask) -> object:
        """Name a price, write down the rule, or set the price.

        Args:
            ask: the question; its observation is a `FirmView`.
        """
        view = ask.observation
        assert isinstance(view, FirmView)
        if self._decided != view.round:
            self._decided = view.round
            self._price = _legal(self.price(view, ask.rng), view)
        if ask.name == "plan":
            return ask.book.render("classical_plans", {})
        if ask.name == "communicate":
            return self._speak(ask, view)
        return _legal(self.settled(view), view)

    def settled(self, view: FirmView) -> float:
        """Return the price that is set after the talk."""
        del view
        return self._price

    def proposal(self, view: FirmView) -> float:
        """Return the price that the firm proposes to all."""
        del view
        return self._price

    def accepts(self, price: float, view: FirmView) -> bool:
        """Return whether the firm agrees to a price: whether it will set that price."""
        return abs(price - self._price) <= SAME * (view.high - view.low)

    def _speak(self, ask: Ask, view: FirmView) -> str:
        others = [price for firm, price in proposals(view).items() if firm != view.firm]
        if others and self.accepts(others[-1], view):
            return ask.book.render("classical_accepts", {"price": figure(others[-1])})
        return ask.book.render("classical_proposes", {"price": figure(self.proposal(view))})


class BestResponse(PricingRule):
    """The myopic best reply to the rivals' last prices; talk is cheap to it.

    Source: Cournot 1838, chapter 7, for prices Bertrand 1883; with linear demand the dynamics
    converge to the Nash equilibrium (Vives 1999, "Oligopoly Pricing", chapter 6).
    """

    informed = ("market", *PricingRule.informed)

    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """The best reply."""
        del rng
        assert view.market is not None
        return view.market.best_response(view.recent[-1].rivals)


class WinContinueLoseReverse(PricingRule):
    """Trial and error: keep the direction that raised profit, turn round when profit fell.

    The price moves by one step a round. The direction is drawn at first, after a step that changed
    nothing, and now and then by mistake.

    Source: Huck, Normann and Oechssler 2003, "Zero-knowledge cooperation in dilemma games",
    Journal of Theoretical Biology 220(1), 47-54.
    """

    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """One step from the last price."""
        direction = last_success(view)
        if direction == 0 or rng.random() < ERROR:
            direction = int(rng.choice((-1, 1)))
        return view.recent[-1].price + direction * STEP * (view.high - view.low)


class TitForTat(PricingRule):
    """Charges the last price of the cheapest rival; with talk it seeks and keeps agreements.

    It proposes one step further in the direction that raised its profit (up, at first), agrees to
    any price in that direction, and sets the agreed price when all have named the same. For one
    round after a rival has undercut the agreed price it agrees to nothing. In the uncooperative
    condition, and with that persona, it never agrees.

    It is not informed of demand, so it cannot stop at the cartel price: two of them go a step
    beyond, see profit fall and turn round, for ever (7.88 to 8.12 with the default market). As a
    price beyond it ends a spell of collusion, such a run goes on to its last round.

    Source: Axelrod 1984, "The Evolution of Cooperation"; the talk is our own addition.
    """

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._agreed: tuple[int, float] | None = None

    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """The lowest price of the rivals."""
        del rng
        return min(view.recent[-1].rivals)

    def settled(self, view: FirmView) -> float:
        """The agreed price, or else the lowest price of the rivals."""
        named = proposals(view)
        if len(named) < len(view.names) or self._refuses(view):
            return self._price
        if max(named.values()) - min(named.values()) > SAME * (view.high - view.low):
            return self._price
        agreed = min(named.values())
        self._agreed = (view.round, agreed)
        return agreed

    def proposal(self, view: FirmView) -> float:
        """One step from the last price, unless agreements are off."""
        if self._refuses(view):
            return self._price
        step = (last_success(view) or 1) * STEP * (view.high - view.low)
        return _legal(view.recent[-1].price + step, view)

    def accepts(self, price: float, view: FirmView) -> bool:
        """Return whether a price lies in its own direction."""
        if self._refuses(view):
            return super().accepts(price, view)
        return (price - view.recent[-1].price) * (last_success(view) or 1) > 0

    def _refuses(self, view: FirmView) -> bool:
        if "uncooperative" in (view.condition, view.persona):
            return True
        if self._agreed is None or self._agreed[0] != view.round - 1:
            return False
        broken_below = self._agreed[1] - SAME * (view.high - view.low)
        return min(view.recent[-1].rivals) < broken_below


# Q-learning on a grid of prices (Calvano, Calzolari, Denicolò and Pastorello 2020).


class QLearning(PricingRule):
    """Q-learning with a memory of one round; prices of others count as the nearest grid point.

    Args:
        spec: the spec of the mind, as the data have it.
        decay: how fast exploration fades: its probability in round t is ``exp(-decay * t)``.

    Attributes:
        learner: the learner; None before the first round.

    Source: Calvano, Calzolari, Denicolò and Pastorello 2020, American Economic Review 110(10),
    sections II and III.
    """

    informed = ("market", *PricingRule.informed)

    def __init__(self, spec: str, decay: float = DECAY) -> None:
        super().__init__(spec)
        self._decay = decay
        self.learner: QLearner | None = None
        self._last: tuple[tuple[int, ...], int] | None = None

    def price(self, view: FirmView, rng: np.random.Generator) -> float:
        """Learn from the last round, and choose a price of the grid."""
        assert view.market is not None
        if self.learner is None:
            try:
                self.learner = QLearner(view.market, self._decay)
            except ValueError as error:
                raise MindError(f"{error}: choose another mind.") from None
        learner, last = self.learner, view.recent[-1]
        state = (learner.place(last.price), *map(learner.place, last.rivals))
        if self._last is not None:
            learner.learn(*self._last, last.profit, state)
        choice = learner.choose(state, rng)
        self._last = (state, choice)
        return learner.grid[choice]


class QLearner:
    """The learner of one firm; a state is the tuple of the places of all firms on the grid.

    A row of Q-values is created at the first visit of its state. It starts with the discounted
    profits against rivals that draw their prices uniformly from the grid.

    Args:
        market: the demand system.
        decay: exploration happens with probability ``exp(-decay * t)`` in period t.

    Attributes:
        grid: the prices.
        time: periods in which a price was chosen.

    Raises:
        ValueError: for too many firms to compute the start values.
    """

    def __init__(self, market: Market, decay: float = DECAY) -> None:
        if POINTS ** (market.n - 1) > MOST_PROFILES:
            raise ValueError(f"Q-learning on this grid is not made for {market.n} firms")
        self.grid = price_grid(market)
        self.decay = decay
        self.time = 0
        self._rows: dict[tuple[int, ...], list[float]] = {}
        self._start = self._start_values(market)

    def choose(self, state: tuple[int, ...], rng: np.random.Generator) -> int:
        """The place on the grid of the next price: at random, or one with the largest Q-value."""
        explores = rng.random() < math.exp(-self.decay * self.time)
        self.time += 1
        if explores:
            return int(rng.integers(POINTS))
        row = self.values(state)
        return row.index(max(row))

    def learn(
        self, state: tuple[int, ...], choice: int, profit: float, after: tuple[int, ...]
    ) -> None:
        """Update the Q-value of a choice with the profit it brought and the state it led to."""
        row = self.values(state)
        target = profit + DISCOUNT * max(self.values(after))
        row[choice] += ALPHA * (target - row[choice])

    def place(self, price: float) -> int:
        """The place of the grid's price that is nearest to a price."""
        low, high = self.grid[0], self.grid[-1]
        if high == low:
            return 0
        return min(max(round((price - low) / (high - low) * (POINTS - 1)), 0), POINTS - 1)

    def values(self, state: tuple[int, ...]) -> list[float]:
        """The Q-values of a state, one for each price of the grid."""
        if state not in self._rows:
            self._rows[state] = list(self._start)
        return self._rows[state]

    def _start_values(self, market: Market) -> Sequence[float]:
        profiles = list(product(self.grid, repeat=market.n - 1))
        return [
            sum(market.profits((own, *others))[0] for others in profiles)
            / len(profiles)
            / (1 - DISCOUNT)
            for own in self.grid
        ]


def price_grid(market: Market) -> list[float]:
    """`POINTS` prices from below the Bertrand price to above the cartel price (section II)."""
    marks = Benchmarks.of(market)
    beyond = BEYOND * marks.distance
    prices = np.linspace(marks.bertrand_price - beyond, marks.cartel_price + beyond, POINTS)
    return [float(price) for price in prices]


CLASSICAL_MINDS: dict[str, Callable[[str], PricingRule]] = {
    "default": BestResponse,
    "best_response": BestResponse,
    "win_continue_lose_reverse": WinContinueLoseReverse,
    "tit_for_tat": TitForTat,
    "q_learning": QLearning,
    "q_learning_fast": partial(QLearning, decay=FAST_DECAY),
}


# Signs that the rules read from the past and from the talk.


def proposals(view: FirmView) -> dict[int, float]:
    """The price that each firm named last in this round, in the order of their last messages."""
    found: dict[int, float] = {}
    for message in view.said:
        if named := stated_prices(message.text, view.low, view.high):
            found.pop(message.sender, None)
            found[message.sender] = named[-1]
    return found


def last_success(view: FirmView) -> int:
    """The direction for the own price: 1, −1, or 0 when the past does not tell."""
    if len(view.recent) < 2:
        return 0
    before, last = view.recent[-2:]
    return _sign(last.price - before.price) * _sign(last.profit - before.profit)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _legal(price: float, view: FirmView) -> float:
    return min(max(price, view.low), view.high)
