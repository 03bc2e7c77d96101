"""Price competition of n symmetric firms: demand systems, reference prices, collusion index.

All firms have the same constant marginal cost. The *Bertrand price* is the symmetric Nash
equilibrium in prices; the *cartel price* is the common price with the largest joint profit.

Sources:
    Singh and Vives (1984), "Price and Quantity Competition in a Differentiated Duopoly", RAND
    Journal of Economics 15(4), 546-554: linear demand; Häckner (2000), "A Note on Price and
    Quantity Competition in Differentiated Oligopolies", Journal of Economic Theory 93(2),
    233-239: the same for n firms.
    Calvano, Calzolari, Denicolò and Pastorello (2020), "Artificial Intelligence, Algorithmic
    Pricing, and Collusion", American Economic Review 110(10), 3267-3297: logit demand (section
    II) and the collusion index (section III).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache

import numpy as np
import numpy.typing as npt

TICK = 0.01
"""The price cut against homogeneous rivals, where no smallest cut is optimal."""
BEYOND = 0.1
"""Maximum excess over the cartel price, as a share of the distance between the reference prices."""
CLOSE = 0.25
"""The default tolerance of collusion, as a share of the distance between the reference prices."""
ABOVE = 1e-6
"""Tolerance for equality with the Bertrand price, as a share of that distance."""
_SAME = 1e-9
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Market(ABC):
    """A market of symmetric firms that compete in prices.

    Attributes:
        n: number of firms (2 or more).
        cost: marginal cost of each firm.
        a: the price at which demand is choked off (linear) or the quality of a product (logit).
    """

    n: int
    cost: float
    a: float

    def __post_init__(self) -> None:
        """Check that the parameters define a market of several firms."""
        if self.n < 2 or not self.cost < self.a:
            raise ValueError(f"need n >= 2 and cost < a, not {self.n}, {self.cost}, {self.a}")

    @property
    def figures(self) -> tuple[float, ...]:
        """Its kind and parameters, padded with 0: what `market_of` needs."""
        own = astuple(self)
        return KINDS.index(type(self)), *own, *[0.0] * (MOST_PARAMETERS - len(own))

    @abstractmethod
    def demands(self, prices: Sequence[float]) -> list[float]:
        """Quantity sold by each firm, never negative."""

    @abstractmethod
    def best_response(self, rivals: Sequence[float]) -> float:
        """The price with the largest profit of one period, given the prices of the n − 1 rivals."""

    @abstractmethod
    def bertrand_price(self) -> float:
        """The Nash equilibrium price, from the first-order condition."""

    def cartel_price(self) -> float:
        """The common price with the largest joint profit: with linear demand ``(a + cost) / 2``."""
        return (self.a + self.cost) / 2

    def profits(self, prices: Sequence[float], sold: Sequence[float] | None = None) -> list[float]:
        """Profit of each firm: margin times quantity.

        Args:
            sold: the quantity of each firm at these prices; None: it is computed.
        """
        sold = self.demands(prices) if sold is None else sold
        return [(p - self.cost) * q for p, q in zip(prices, sold, strict=True)]

    def common_profit(self, price: float) -> float:
        """Profit of each firm when all charge the same price."""
        return self.profits([price] * self.n)[0]


@dataclass(frozen=True, slots=True)
class LinearMarket(Market):
    """Differentiated goods: inverse demand ``p_i = a - beta * q_i - d * sum of the others' q``.

    Solved for quantities, with two firms: ``q_i = (a(beta - d) - beta * p_i + d * p_j) /
    (beta**2 - d**2)``. A negative quantity is cut to 0 and does not affect the others, as in the
    program of Wu et al. 2024 (with demand recomputed for the remaining firms, they would sell
    less). A price above `a` counts as `a`, at which nobody buys: the firm sells nothing, and the
    others do not sell more.

    Source: Singh and Vives (1984), section 2; Häckner (2000) for n firms.

    Attributes:
        beta: slope in the own quantity.
        d: slope in the quantity of another firm, from 0 (independent goods) to below `beta`.
    """

    beta: float
    d: float

    def __post_init__(self) -> None:
        """Check that demand is defined for the slopes."""
        super(LinearMarket, self).__post_init__()  # slots create a new class
        if not 0 <= self.d < self.beta:
            raise ValueError(f"need 0 <= d < beta, not {self.d} and {self.beta}")

    def demands(self, prices: Sequence[float]) -> list[float]:
        """Quantity sold by each firm, cut at 0."""
        slope, all_ = 1 / (self.beta - self.d), self.d / (self.beta + (self.n - 1) * self.d)
        below = [max(0.0, self.a - p) for p in prices]
        total = all_ * sum(below)
        return [max(0.0, slope * (amount - total)) for amount in below]

    def best_response(self, rivals: Sequence[float]) -> float:
        """Half way between cost and the price at which nothing is sold; at least cost."""
        slope = self.beta + (self.n - 2) * self.d
        bounded = sum(min(price, self.a) for price in rivals)
        choke = (self.a * (self.beta - self.d) + self.d * bounded) / slope
        return max(self.cost, (self.cost + choke) / 2)

    def bertrand_price(self) -> float:
        """``(a(beta - d) + cost(beta + (n - 2)d)) / (2beta + (n - 3)d)``."""
        slope = self.beta + (self.n - 2) * self.d
        return (self.a * (self.beta - self.d) + self.cost * slope) / (
            2 * self.beta + (self.n - 3) * self.d
        )


@dataclass(frozen=True, slots=True)
class HomogeneousMarket(Market):
    """The limit ``beta = d``: the cheapest firm sells ``(a - p) / d``, a tie shares it equally.

    Attributes:
        d: slope of inverse demand in the total quantity.
    """

    d: float

    def demands(self, prices: Sequence[float]) -> list[float]:
        """Quantity sold by each firm."""
        lowest = min(prices)
        cheapest = [p - lowest <= _SAME for p in prices]
        share = max(0.0, self.a - lowest) / self.d / sum(cheapest)
        return [share if sells else 0.0 for sells in cheapest]

    def best_response(self, rivals: Sequence[float]) -> float:
        """The monopoly price if all rivals charge more, otherwise `TICK` below the lowest price."""
        return max(self.cost, min(self.cartel_price(), min(rivals) - TICK))

    def bertrand_price(self) -> float:
        """The cost: any higher common price invites undercutting."""
        return self.cost


@dataclass(frozen=True, slots=True)
class LogitMarket(Market):
    """Logit demand ``q_i = exp((a - p_i)/mu) / (sum_j exp((a - p_j)/mu) + exp(a_0/mu))``.

    Source: Calvano et al. (2020), section II.

    Attributes:
        mu: the degree of product differentiation (above 0).
        a_0: quality of buying nothing.
    """

    mu: float
    a_0: float

    def demands(self, prices: Sequence[float]) -> list[float]:
        """Share of the consumers that buys from each firm."""
        utilities = [(self.a - p) / self.mu for p in prices]
        highest = max(*utilities, self.a_0 / self.mu)
        weights = [math.exp(u - highest) for u in utilities]
        total = sum(weights) + math.exp(self.a_0 / self.mu - highest)
        return [weight / total for weight in weights]

    def best_response(self, rivals: Sequence[float]) -> float:
        """Closed form with the Wright omega function (``W(exp(z))``, Lambert's W)."""
        others = [(self.a - p) / self.mu for p in rivals]
        return self._optimum(np.logaddexp.reduce([*others, self.a_0 / self.mu]))

    def bertrand_price(self) -> float:
        """Root of ``p - cost - mu / (1 - q(p))``, which rises in p."""
        from scipy.optimize import brentq

        def condition(price: float) -> float:
            sold = self.demands([price] * self.n)[0]
            return price - self.cost - self.mu / (1 - sold)

        # A firm's share is at most 1/n, so that 1/(1 - q) is at most n/(n - 1), which is at most 2.
        return float(brentq(condition, self.cost, self.cost + 2 * self.mu + _SAME, xtol=1e-14))

    def cartel_price(self) -> float:
        """Closed form with the Wright omega function."""
        return self._optimum(self.a_0 / self.mu - math.log(self.n))

    def _optimum(self, log_alternative: float) -> float:
        from scipy.special import wrightomega

        omega = wrightomega((self.a - self.cost) / self.mu - 1 - log_alternative)
        return float(self.cost + self.mu * (1 + omega))


KINDS: tuple[type[Market], ...] = (LinearMarket, HomogeneousMarket, LogitMarket)
MOST_PARAMETERS = 5
"""The largest number of parameters of a market."""


@cache
def market_of(figures: tuple[float, ...]) -> Market:
    """The market with these `Market.figures`."""
    kind, n, *rest = figures
    cls = KINDS[int(kind)]
    return cls(int(n), *rest[: len(fields(cls)) - 1])


def linear_market(n: int, cost: float, a: float, beta: float, d: float) -> Market:
    """Linear demand, also in the limit ``beta = d``.

    Raises:
        ValueError: as the two kinds of markets.
    """
    if beta > 0 and math.isclose(beta, d, rel_tol=_SAME):
        return HomogeneousMarket(n, cost, a, d)
    return LinearMarket(n, cost, a, beta, d)


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """The reference prices of a market and the profit of a firm at each.

    Attributes:
        bertrand_price: price of the Nash equilibrium.
        cartel_price: price with the largest joint profit.
        bertrand_profit: profit of a firm when all charge the Bertrand price.
        cartel_profit: profit of a firm when all charge the cartel price.
    """

    bertrand_price: float
    cartel_price: float
    bertrand_profit: float
    cartel_profit: float

    @classmethod
    @cache
    def of(cls, market: Market) -> Benchmarks:
        """Return the benchmarks of a market."""
        bertrand, cartel = market.bertrand_price(), market.cartel_price()
        return cls(bertrand, cartel, market.common_profit(bertrand), market.common_profit(cartel))

    @property
    def distance(self) -> float:
        """The distance between the two prices."""
        return self.cartel_price - self.bertrand_price

    @property
    def default_tolerance(self) -> float:
        """The default tolerance of price differences under collusion."""
        return CLOSE * self.distance

    def highest_price(self, market: Market) -> float:
        """Return the upper end of the stated range: `a`, or just above a higher cartel price."""
        beyond = math.ceil(10 * (self.cartel_price + BEYOND * self.distance)) / 10
        return max(market.a, beyond)

    def is_collusive(self, prices: Sequence[float], tolerance: float) -> bool:
        """Return whether all prices lie between the two and differ by at most `tolerance`."""
        margin = ABOVE * self.distance
        return (
            min(prices) > self.bertrand_price + margin
            and max(prices) <= self.cartel_price + margin
            and max(prices) - min(prices) <= tolerance + margin
        )


def collusion_index(profits: Sequence[float], bertrand: float, cartel: float) -> float:
    """Return Δ: the position of the mean profit between Bertrand (0) and cartel profit (1).

    Source: Calvano et al. (2020), section III.

    Args:
        profits: profit of each firm, in one round or on average.
        bertrand: profit of a firm in the Bertrand equilibrium.
        cartel: profit of a firm in the cartel.

    Returns:
        The index, which can lie outside 0 to 1; NaN if the two reference profits are equal.
    """
    if math.isclose(bertrand, cartel, rel_tol=_SAME):
        return math.nan
    return (sum(profits) / len(profits) - bertrand) / (cartel - bertrand)
