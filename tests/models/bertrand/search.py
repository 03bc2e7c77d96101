"""Reference prices by a numerical search: the check on the formulas of the theory.

Only the profits of a market enter it, none of its first-order conditions.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import fixed_point, minimize_scalar

from sabm_mesa.models.bertrand.theory import Floats, Market

GRID = 100
"""Prices tried before the search is refined: profits are flat where nothing is sold."""


def solve_best_response(market: Market, rivals: Sequence[float]) -> float:
    """The best reply found by a search over the profit alone."""
    return _highest(lambda price: market.profits([price, *rivals])[0], market)


def solve_bertrand_price(market: Market) -> float:
    """The Nash equilibrium price as the fixed point of numerical best replies of all n firms."""

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
    bounds = market.cost, market.cost + 4 * (market.a - market.cost)
    for _ in range(2):
        grid = np.linspace(*bounds, GRID)
        best = int(np.argmax([profit(price) for price in grid]))
        bounds = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])
    found = minimize_scalar(
        lambda price: -profit(price), bounds=bounds, method="bounded", options={"xatol": 1e-12}
    )
    return float(found.x)
