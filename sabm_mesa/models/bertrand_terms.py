"""The terms of a Bertrand competition: what its parameters mean, and which can change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sabm_mesa.analysis.theory.bertrand import LogitMarket, Market, collusion_index, linear_market
from sabm_mesa.decisions import Number
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.parameters import one_of, real, whole

DEMANDS = ("linear", "logit")
CHANGEABLE = (
    "communication", "cost", "a", "beta", "d", "mu", "a_0", "tolerance", "stop_after",
)  # fmt: skip
"""Parameters that can change during a run."""
MOST_FIRMS = 26
"""No more firms take part: a figure has a line, and the data three columns, for each."""
SMALLEST = 1e-9
"""Slopes and the like have to be at least this large."""
MOST = 1e9
"""No quantity may be larger: beyond it, profits lose their digits."""
BEYOND = 0.1
"""Share of the distance between the reference prices by which prices may pass the cartel price."""
CLOSE = 0.25
"""The default tolerance, as a share of the distance between the reference prices."""
ABOVE = 1e-6
"""A price within this share of that distance of the Bertrand price counts as equal to it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a round; see `BertrandCompetition` for the parameters.

    Raises:
        UsageError: for a value that cannot be used.
    """

    communication: Any
    demand: str
    n_firms: int
    cost: float | None
    a: float | None
    beta: float
    d: float
    mu: float
    a_0: float
    tolerance: float | None
    stop_after: int | None

    def __post_init__(self) -> None:
        """Refuse illegal values."""
        if self.communication not in (True, False):
            raise ParameterError(
                f"communication has to be true or false, not {self.communication!r}."
            )
        one_of("demand", self.demand, DEMANDS)
        whole("n_firms", self.n_firms, 2, MOST_FIRMS)
        for name in ("cost", "a", "tolerance"):
            if getattr(self, name) is not None:
                real(name, getattr(self, name), 0.0, MOST)
        for name in ("beta", "mu"):
            real(name, getattr(self, name), SMALLEST, MOST)
        real("d", self.d, 0.0, self.beta)
        real("a_0", self.a_0, -MOST, MOST)
        if self.stop_after is not None:
            whole("stop_after", self.stop_after, 1)
        cost, a = self._prices()
        if not cost < a:
            raise ParameterError(f"a has to be above the cost (got a = {a:g} and cost = {cost:g}).")

    def market(self) -> Market:
        """The demand system."""
        cost, a = self._prices()
        if self.demand == "logit":
            return LogitMarket(int(self.n_firms), cost, a, float(self.mu), float(self.a_0))
        return linear_market(int(self.n_firms), cost, a, float(self.beta), float(self.d))

    def changed(self, **changes: Any) -> Terms:
        """The same terms but for some.

        Raises:
            UnknownName: for a parameter that cannot change during a run.
            UsageError: for a value that cannot be used.
        """
        for name in changes:
            if name not in CHANGEABLE:
                raise UnknownName("parameter that can change during a run", name, CHANGEABLE)
        return replace(self, **changes)

    def _prices(self) -> tuple[float, float]:
        cost, a = (1.0, 2.0) if self.demand == "logit" else (2.0, 14.0)
        return (
            cost if self.cost is None else float(self.cost),
            a if self.a is None else float(self.a),
        )


@dataclass(frozen=True, slots=True)
class Reference:
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
    def of(cls, market: Market) -> Reference:
        """The reference points of a market."""
        bertrand, cartel = market.bertrand_price(), market.cartel_price()
        return cls(bertrand, cartel, market.common_profit(bertrand), market.common_profit(cartel))

    @property
    def band(self) -> float:
        """The distance between the two prices."""
        return self.cartel_price - self.bertrand_price

    def legal_price(self, market: Market) -> Number:
        """A number from cost to `a`, or somewhat beyond the cartel price where that is higher."""
        beyond = math.ceil(10 * (self.cartel_price + BEYOND * self.band)) / 10
        return Number(market.cost, max(market.a, beyond))

    def tolerance(self, given: float | None) -> float:
        """By how much prices may differ under collusion."""
        return CLOSE * self.band if given is None else float(given)

    def index(self, profits: Sequence[float]) -> float:
        """The collusion index Δ of these profits."""
        return collusion_index(profits, self.bertrand_profit, self.cartel_profit)

    def collusion(self, prices: Sequence[float], tolerance: float) -> bool:
        """Whether all prices lie between the two and differ by `tolerance` at the most."""
        margin = ABOVE * self.band
        return (
            min(prices) > self.bertrand_price + margin
            and max(prices) <= self.cartel_price + margin
            and max(prices) - min(prices) <= tolerance + margin
        )
