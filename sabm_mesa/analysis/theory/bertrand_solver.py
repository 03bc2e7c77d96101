"""Reference prices of a market by numerical search alone: the check on the formulas of `bertrand`.

Only the profits of a market are used, none of its first-order conditions. The searches are those
of scipy.optimize.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.theory.bertrand import Market

Floats = npt.NDArray[np.float64]
GRID = 100
"""Prices that are tried before the search is refined: profits have flat parts without sales."""


def solve_best_response(market: Market, rivals: Sequence[float]) -> float:
    """The best reply found by a numerical search over the profit alone."""
    return _highest(lambda price: market.profits([price, *rivals])[0], market)


def solve_bertrand_price(market: Market) -> float:
    """The Nash equilibrium price as the fixed point of numerical best replies of all n firms.

    Raises:
        ValueError: when no price above cost is in equilibrium (homogeneous goods).
    """
    from scipy.optimize import fixed_point

    if market.bertrand_price() <= market.cost:
        raise ValueError("no price above cost is an equilibrium that could be searched for")

    def replies(prices: Floats) -> Floats:
        others = [np.delete(prices, firm).tolist() for firm in range(market.n)]
        return np.array([solve_best_response(market, rivals) for rivals in others])

    start = np.linspace(market.cost, market.a, market.n)
    found = fixed_point(replies, start, xtol=1e-7, maxiter=1000, method="iteration")
    return float(np.mean(found))


def solve_cartel_price(market: Market) -> float:
    """The common price with the largest joint profit, by a numerical search."""
    return _highest(market.common_profit, market)


def _highest(profit: Callable[[float], float], market: Market) -> float:
    """The price with the largest profit: best of a grid, of a finer one, then Brent's method."""
    from scipy.optimize import minimize_scalar

    bounds = market.cost, market.cost + 4 * (market.a - market.cost)
    for _ in range(2):
        grid = np.linspace(*bounds, GRID)
        best = int(np.argmax([profit(price) for price in grid]))
        bounds = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])
    found = minimize_scalar(
        lambda price: -profit(price), bounds=bounds, method="bounded", options={"xatol": 1e-12}
    )
    return float(found.x)
