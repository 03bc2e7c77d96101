"""The parameters of the market of a price competition."""

from __future__ import annotations

from dataclasses import dataclass

from sabm_mesa.core.parameters import check_float
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.bertrand.theory import LogitMarket, Market, linear_market


@dataclass(frozen=True, slots=True)
class MarketParameters:
    """The parameters that can change from round to round; see `BertrandCompetition`.

    Raises:
        UsageError: for a value that cannot be used.
    """

    communication: bool
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
        """Check that the values are consistent."""
        check_float("d", self.d, 0, self.beta)
        cost, a = self._cost_and_a()
        if not cost < a:
            raise ParameterError(
                f"a must be above the cost (got a = {a:g} and cost = {cost:g}).", parameter="a"
            )

    def market(self) -> Market:
        """Return the demand system."""
        cost, a = self._cost_and_a()
        if self.demand == "logit":
            return LogitMarket(self.n_firms, cost, a, self.mu, self.a_0)
        return linear_market(self.n_firms, cost, a, self.beta, self.d)

    def _cost_and_a(self) -> tuple[float, float]:
        cost, a = (1.0, 2.0) if self.demand == "logit" else (2.0, 14.0)
        return (
            cost if self.cost is None else self.cost,
            a if self.a is None else self.a,
        )
