"""Q-learning on a grid of prices, as in Calvano, Calzolari, Denicolò and Pastorello 2020 (AER)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from sabm_mesa.analysis.theory.bertrand import Market

POINTS = 15
"""Prices on the grid."""
BEYOND = 0.1
"""Share of the distance between the reference prices by which the grid passes each of them."""
ALPHA, DISCOUNT = 0.15, 0.95
"""Learning rate and discount factor."""
DECAY = 4e-6
"""Decay of exploration by period (section III): about a million periods until it is over."""
FAST_DECAY = 5e-3
"""A decay with which exploration is over (2 %) after 800 of 1200 rounds: too soon to have learned
much. It shows how the mind works, not that it learns to collude."""
MOST_PROFILES = 10**6
"""Combinations of rivals' prices over which the first Q-values can be averaged."""


def price_grid(market: Market) -> list[float]:
    """`POINTS` prices from below the Bertrand price to above the cartel price (section II)."""
    bertrand, cartel = market.bertrand_price(), market.cartel_price()
    beyond = BEYOND * (cartel - bertrand)
    return [float(p) for p in np.linspace(bertrand - beyond, cartel + beyond, POINTS)]


class QLearner:
    """The learner of one firm; a state is the tuple of all firms' places on the grid.

    A row of Q-values is made when its state is first met. Its start values are the discounted
    profits against rivals who draw their prices uniformly from the grid.

    Args:
        market: the demand system.
        decay: exploration happens with probability ``exp(-decay * t)`` in period t.

    Attributes:
        grid: the prices.
        time: periods in which a price was chosen.

    Raises:
        ValueError: with so many firms that the start values cannot be computed.
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
