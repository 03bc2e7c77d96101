"""Classical minds of the Bertrand competition: pricing rules from economics.

In the talk they name the price that their rule will set, and agree to another price only if they
will keep it; only `Cheats` deviates from its words. Messages affect the prices of `BestResponse`,
`TitForTat`, `KeepsAgreements` and `Cheats`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from sabm_mesa.analysis.messages import stated_prices
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.facts import Facts
from sabm_mesa.errors import MindError
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.bertrand.theory import Benchmarks, Market, market_of

STEP = 0.01
"""Step of trial and error, as a share of the distance from cost to highest price (our choice)."""
ERROR = 0.05
"""Probability of a step in a random direction (our choice; it must be small and positive)."""
SAME = 0.005
"""Prices that differ by at most this share of the range count as equal in talk."""
POINTS = 15
"""Prices on the grid of Q-learning."""
BEYOND = 0.1
"""Extension of the grid beyond each reference price, as a share of their distance."""
ALPHA, DISCOUNT = 0.15, 0.95
"""Learning rate and discount factor of Q-learning."""
DECAY = 4e-6
"""Decay of exploration by period (section III): about a million periods until it is over."""
FAST_DECAY = 5e-3
"""A decay that ends exploration (2 %) after 800 of 1200 rounds, too soon to learn much. It
demonstrates the mind, not learned collusion.
"""
MOST_PROFILES = 10**6
"""Maximum number of combinations of rivals' prices for averaging initial Q-values."""


class PricingRule(ClassicalMind):
    """A mind that sets prices by a rule.

    An `informed` mind knows the demand system, as the theory assumes.

    Attributes:
        heard: the last price that each firm named in this round, in the order of their last
            messages.
    """

    informed: tuple[str, ...] = ("high",)

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._decided = -1
        self._price = 0.0
        self.heard: dict[int, float] = {}

    @abstractmethod
    def price(self, view: Facts, rng: np.random.Generator) -> float:
        """Return the price of this round, from what is known before the talk."""

    async def answer(self, ask: Ask) -> object:
        """Name a price, write down the rule, or set the price."""
        view = ask.facts
        if self._decided != view.round:
            self._decided = view.round
            self._price = _legal(self.price(view, ask.rng), view)
        self.heard = proposals(view)
        if ask.name == "plan":
            return ask.book.render("classical_plans", {})
        if ask.name == "communicate":
            return self._speak(ask, view)
        return _legal(self.settled(view), view)

    def settled(self, view: Facts) -> float:
        """Return the price to set after the talk."""
        del view
        return self._price

    def proposal(self, view: Facts) -> float:
        """Return the price that the firm proposes to all."""
        del view
        return self._price

    def accepts(self, price: float, proposal: float, view: Facts) -> bool:
        """Return whether the firm agrees to a price: whether it will set that price."""
        return abs(price - proposal) <= SAME * _range(view)

    def _speak(self, ask: Ask, view: Facts) -> str:
        others = [price for firm, price in self.heard.items() if firm != view.firm]
        proposal = self.proposal(view)
        if others and self.accepts(others[-1], proposal, view):
            return ask.book.render("classical_accepts", {"price": others[-1]})
        return ask.book.render("classical_proposes", {"price": proposal})


class BestResponse(PricingRule):
    """The best response to the expected prices of the rivals in this round.

    The expected price of a rival is the last price that it named in the talk of the round, or else
    its price in the last round. So its own message is the best response to the messages so far. It
    does not believe a rival that broke its word in the last round.

    Source: Cournot 1838, chapter 7, for prices Bertrand 1883; with linear demand the dynamics
    converge to the Nash equilibrium (Vives 1999, "Oligopoly Pricing", chapter 6). It is our choice
    that messages are believed until they prove wrong: non-binding messages can be credible if they
    announce what the speaker wants to do anyway (Farrell and Rabin 1996, "Cheap Talk", Journal of
    Economic Perspectives 10(3)).
    """

    informed = ("market", *PricingRule.informed)

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._named: dict[int, float] = {}
        self._disbelieved: set[int] = set()

    def price(self, view: Facts, rng: np.random.Generator) -> float:
        """The best response before the talk."""
        del rng
        self._disbelieved = {
            firm
            for firm, price in rivals_of(view).items()
            if firm in self._named and abs(price - self._named[firm]) > SAME * _range(view)
        }
        self._named = {}
        return market_of(view.market).best_response(view.recent[-1]["rivals"])

    def settled(self, view: Facts) -> float:
        """The best response to the messages."""
        self._named = self.heard
        return self._reply(view)

    def proposal(self, view: Facts) -> float:
        """The best response to the messages so far."""
        return self._reply(view)

    def _reply(self, view: Facts) -> float:
        heard, disbelieved = self.heard, self._disbelieved
        expected = [
            price if firm in disbelieved else heard.get(firm, price)
            for firm, price in rivals_of(view).items()
        ]
        return _legal(market_of(view.market).best_response(expected), view)


class KeepsAgreements(BestResponse):
    """Aims at the cartel price, and keeps agreements.

    It proposes the price with the largest joint profit, and agrees to any price at which all earn
    more than in the one-shot equilibrium. After a rival has undercut an agreed price, it makes no
    more agreements. Without an agreement, it plays the best response to the expected prices. In the
    uncooperative condition, or with the uncooperative persona, it only plays the best response.

    Source: Friedman 1971, "A Non-cooperative Equilibrium for Supergames", Review of Economic
    Studies 38(1), 1-12 (permanent return to the one-shot equilibrium); the talk is our addition.
    """

    assumes = MappingProxyType(
        {"agrees": "firms that talk propose the price of a cartel, and agree to it"}
        | {"keeps": "what all firms have agreed to, they charge as long as all do"}
    )

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._agreed: float | None = None
        self._broken = False

    def price(self, view: Facts, rng: np.random.Generator) -> float:
        """The best response before the talk; detects a breach of the last agreement."""
        if self._agreed is not None:
            self._broken |= undercut(self._agreed, view)
        self._agreed = None
        return super().price(view, rng)

    def settled(self, view: Facts) -> float:
        """The agreed price, or the best response to the messages."""
        reply, common = super().settled(view), common_price(self.heard, view)
        if common is None or not self._seeks(view) or not self._gains(common, view):
            return reply
        self._agreed = common
        return self.charged(common, view)

    def charged(self, agreed: float, view: Facts) -> float:
        """Return the price that it sets if all have agreed to one."""
        del view
        return agreed

    def proposal(self, view: Facts) -> float:
        """The cartel price, unless an agreement was broken before."""
        if not self._seeks(view):
            return super().proposal(view)
        return _legal(Benchmarks.of(market_of(view.market)).cartel_price, view)

    def accepts(self, price: float, proposal: float, view: Facts) -> bool:
        """Return whether all earn more at a price than in the one-shot equilibrium."""
        if self._seeks(view):
            return self._gains(price, view)
        return super().accepts(price, proposal, view)

    def _seeks(self, view: Facts) -> bool:
        return not (self._broken or refuses_to_cooperate(view))

    def _gains(self, price: float, view: Facts) -> bool:
        market = market_of(view.market)
        return market.common_profit(price) > Benchmarks.of(market).bertrand_profit


class Cheats(KeepsAgreements):
    """Talks like `KeepsAgreements`, but undercuts agreements with the best response.

    Source: Stigler 1964, "A Theory of Oligopoly", Journal of Political Economy 72(1), 44-61 (secret
    price cuts threaten every agreement); the talk is our addition.
    """

    assumes = MappingProxyType(
        {"agrees": KeepsAgreements.assumes["agrees"]}
        | {"cheats": "what all firms have agreed to, a firm undercuts"}
    )

    def charged(self, agreed: float, view: Facts) -> float:
        """Return the best response to rivals that keep the agreed price."""
        market = market_of(view.market)
        return market.best_response([agreed] * (market.n - 1))


class WinContinueLoseReverse(PricingRule):
    """Trial and error: keep the direction that raised profit, reverse it when profit fell.

    The price moves by one step per round. The direction is random at the start, after a step
    without effect, and occasionally by mistake.

    Source: Huck, Normann and Oechssler 2003, "Zero-knowledge cooperation in dilemma games",
    Journal of Theoretical Biology 220(1), 47-54.
    """

    def price(self, view: Facts, rng: np.random.Generator) -> float:
        """One step from the last price."""
        direction = last_success(view)
        if direction == 0 or rng.random() < ERROR:
            direction = int(rng.choice((-1, 1)))
        return _last_price(view) + direction * STEP * _range(view)


class TitForTat(PricingRule):
    """Charges the last price of the cheapest rival, and leads upwards if all prices are equal.

    If all prices were equal in the last two rounds, it moves one step in the direction that raised
    its profit (at first up). If all follow, all gain. If nobody follows, it returns in the next
    round and tries again two rounds later. With talk it proposes that step, agrees to any price in
    that direction, and sets the price that all have named. For one round after a rival has undercut
    an agreed price, it agrees to nothing. In the uncooperative condition, or with the uncooperative
    persona, it never agrees and never leads.

    It does not know demand, so it cannot stop at the cartel price: two such firms go a step beyond
    it, see profit fall and turn back, again and again (7.88 to 8.12 in the default market). Since a
    price beyond the cartel price ends a spell of collusion, such a run continues to its last round.

    Source: Axelrod 1984, "The Evolution of Cooperation" (it is nice, retaliates and forgives). The
    steps upwards and the talk are our additions; without the steps, firms that start at the cost
    would stay there.
    """

    assumes = MappingProxyType(
        {"leads": "firms that charge the same price raise it step by step as long as all gain"}
    )

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._agreed: tuple[int, float] | None = None

    def price(self, view: Facts, rng: np.random.Generator) -> float:
        """The lowest price of the rivals, or a step from the common price."""
        del rng
        lowest: float = min(view.recent[-1]["rivals"])
        same = len(view.recent) > 1 and all(_alike(past, view) for past in view.recent[-2:])
        if not same or refuses_to_cooperate(view):
            return lowest
        return lowest + self._step(view)

    def settled(self, view: Facts) -> float:
        """The agreed price, or the price of the rule."""
        common = common_price(self.heard, view)
        if common is None or self._refuses(view):
            return self._price
        self._agreed = (view.round, common)
        return common

    def proposal(self, view: Facts) -> float:
        """One step from the last price, unless agreements are suspended."""
        if self._refuses(view):
            return self._price
        return _legal(_last_price(view) + self._step(view), view)

    def accepts(self, price: float, proposal: float, view: Facts) -> bool:
        """Return whether a price lies in the firm's direction."""
        if self._refuses(view):
            return super().accepts(price, proposal, view)
        return (price - _last_price(view)) * (last_success(view) or 1) > 0

    def _step(self, view: Facts) -> float:
        return (last_success(view) or 1) * STEP * _range(view)

    def _refuses(self, view: Facts) -> bool:
        if refuses_to_cooperate(view):
            return True
        if self._agreed is None or self._agreed[0] != view.round - 1:
            return False
        return undercut(self._agreed[1], view)


# Q-learning on a grid of prices (Calvano, Calzolari, Denicolò and Pastorello 2020).


class QLearning(PricingRule):
    """Q-learning with a memory of one round; rivals' prices count as the nearest grid point.

    Args:
        spec: the spec of the mind, as the data have it.
        decay: the decay of exploration; its probability in round t is ``exp(-decay * t)``.

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

    def price(self, view: Facts, rng: np.random.Generator) -> float:
        """Learn from the last round, and choose a price from the grid."""
        if self.learner is None:
            try:
                self.learner = QLearner(market_of(view.market), self._decay)
            except ValueError as error:
                raise MindError(f"{error}: choose another mind.") from None
        learner, last = self.learner, view.recent[-1]
        state = (learner.index_of(last["price"]), *map(learner.index_of, last["rivals"]))
        if self._last is not None:
            learner.learn(*self._last, last["profit"], state)
        choice = learner.choose(state, rng)
        self._last = (state, choice)
        return learner.grid[choice]


class QLearner:
    """The learner of one firm; a state is the tuple of the grid indices of all firms.

    A row of Q-values is created at the first visit of its state. It starts with the discounted
    profits against rivals with uniform prices on the grid.

    Args:
        market: the demand system.
        decay: exploration happens with probability ``exp(-decay * t)`` in period t.

    Attributes:
        grid: the prices.
        time: number of periods with a choice.

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
        self._start = _profits_at_random(market)

    def choose(self, state: tuple[int, ...], rng: np.random.Generator) -> int:
        """The grid index of the next price: a random one, or one with the largest Q-value."""
        explores = rng.random() < math.exp(-self.decay * self.time)
        self.time += 1
        if explores:
            return int(rng.integers(POINTS))
        row = self.values(state)
        return row.index(max(row))

    def learn(
        self, state: tuple[int, ...], choice: int, profit: float, after: tuple[int, ...]
    ) -> None:
        """Update the Q-value of a choice with its profit and the next state."""
        row = self.values(state)
        target = profit + DISCOUNT * max(self.values(after))
        row[choice] += ALPHA * (target - row[choice])

    def index_of(self, price: float) -> int:
        """The index of the grid price that is nearest to a price."""
        low, high = self.grid[0], self.grid[-1]
        if high == low:
            return 0
        return min(max(round((price - low) / (high - low) * (POINTS - 1)), 0), POINTS - 1)

    def values(self, state: tuple[int, ...]) -> list[float]:
        """The Q-values of a state, one for each price of the grid."""
        if state not in self._rows:
            self._rows[state] = list(self._start)
        return self._rows[state]


def price_grid(market: Market) -> list[float]:
    """`POINTS` prices from below the Bertrand price to above the cartel price (section II)."""
    marks = Benchmarks.of(market)
    beyond = BEYOND * marks.distance
    prices = np.linspace(marks.bertrand_price - beyond, marks.cartel_price + beyond, POINTS)
    return [float(price) for price in prices]


@cache
def _profits_at_random(market: Market) -> list[float]:
    """The discounted profits of each price of the grid against rivals with uniform prices."""
    grid = price_grid(market)
    profiles = list(product(grid, repeat=market.n - 1))
    return [
        sum(market.profits((price, *others))[0] for others in profiles)
        / len(profiles)
        / (1 - DISCOUNT)
        for price in grid
    ]


CLASSICAL_MINDS: dict[str, Callable[[str], PricingRule]] = {
    "default": WinContinueLoseReverse,
    "best_response": BestResponse,
    "win_continue_lose_reverse": WinContinueLoseReverse,
    "tit_for_tat": TitForTat,
    "keeps_agreements": KeepsAgreements,
    "cheats": Cheats,
    "q_learning": QLearning,
    "q_learning_fast": partial(QLearning, decay=FAST_DECAY),
}


# Signs that the rules read from the past and from the talk.


def proposals(view: Facts) -> dict[int, float]:
    """The last price that each firm named in this round, in the order of their last messages."""
    latest_first: dict[int, float] = {}
    low, high, n = view.cost, view.high, view.n_firms
    for message in reversed(view.said):
        sender = message.sender
        if sender not in latest_first and (named := stated_prices(message.text, low, high)):
            latest_first[sender] = named[-1]
            if len(latest_first) == n:
                break
    return dict(reversed(latest_first.items()))


def rivals_of(view: Facts) -> dict[int, float]:
    """The last price of each other firm, by its number."""
    me = view.firm
    return {n if n < me else n + 1: price for n, price in enumerate(view.recent[-1]["rivals"], 1)}


def common_price(heard: Mapping[int, float], view: Facts) -> float | None:
    """The common last price that all firms named in this round; None if they differ."""
    named = heard.values()
    if len(named) < view.n_firms or max(named) - min(named) > SAME * _range(view):
        return None
    return min(named)


def undercut(agreed: float, view: Facts) -> bool:
    """Whether a rival charged less than the agreed price in the last round."""
    lowest: float = min(view.recent[-1]["rivals"])
    return lowest < agreed - SAME * _range(view)


def refuses_to_cooperate(view: Facts) -> bool:
    """Whether the condition or the persona is uncooperative."""
    return "uncooperative" in (view.condition, view.persona)


def last_success(view: Facts) -> int:
    """The direction for the firm's price: 1, −1, or 0 if the past gives none."""
    if len(view.recent) < 2:
        return 0
    before, last = view.recent[-2:]
    return _sign(last["price"] - before["price"]) * _sign(last["profit"] - before["profit"])


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _last_price(view: Facts) -> float:
    price: float = view.recent[-1]["price"]
    return price


def _range(view: Facts) -> float:
    span: float = view.high - view.cost
    return span


def _legal(price: float, view: Facts) -> float:
    legal: float = min(max(price, view.cost), view.high)
    return legal


def _alike(past: Mapping[str, Any], view: Facts) -> bool:
    """Whether all firms charged the same price in a round."""
    prices: tuple[float, ...] = (past["price"], *past["rivals"])
    return max(prices) - min(prices) <= SAME * _range(view)
