"""A renewable commons: its growth, its sustainable harvest, and its division.

The stock is a whole number of units. The units left after the harvest double, up to the capacity
(Piatti et al. 2024, arXiv 2404.16698, section 2.3 and appendix B.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Stock = int | npt.NDArray[np.int64]
"""Units of a resource: one number, or an array."""

GROWTH = 2
"""Growth factor per month."""


def regrown(left: int, capacity: int) -> int:
    """The stock of the next month.

    Args:
        left: units left after the harvest.
        capacity: the largest stock (units).
    """
    return min(capacity, GROWTH * left)


def has_collapsed(left: Stock, collapse_below: float) -> Any:
    """Whether a commons has collapsed, for one stock or an array of stocks.

    Args:
        left: units left after the harvest.
        collapse_below: the commons has collapsed when fewer units are left.
    """
    return left < collapse_below


def sustainable_harvest(stock: int) -> int:
    """The largest total harvest after which the stock grows back to its size.

    It is the largest x with 2·(h − x) ≥ h, that is floor(h / 2).

    Args:
        stock: units before the harvest, h.
    """
    return stock // GROWTH


def threshold(stock: int, n: int) -> int:
    """The maximum sustainable units per agent: floor(floor(h / 2) / n).

    Args:
        stock: units before the harvest, h.
        n: number of agents (at least 1).
    """
    return sustainable_harvest(stock) // n


def cooperation(harvest: float, stock: int, n: int) -> float:
    """The degree of cooperation of a harvest, from 0 to 1.

    Full cooperation is to take the threshold or less; no cooperation is to take an equal share of
    the whole stock or more (our choice).

    Args:
        harvest: units of one agent.
        stock: units before the harvest.
        n: number of agents.
    """
    low, high = threshold(stock, n), stock // n
    if high == low:
        return float(harvest <= low)
    return min(1.0, max(0.0, (high - harvest) / (high - low)))


def allocate(requests: Sequence[int], stock: int, rng: np.random.Generator) -> list[int]:
    """Divide the stock.

    If the stock suffices, every request is met. Otherwise units are given one by one to agents
    drawn uniformly among those whose request is not yet met, until none is left.

    Args:
        requests: units asked for, by agent (0 or more).
        stock: units to divide.
        rng: the generator for drawing agents.

    Returns:
        Units by agent, in the order of `requests`; their sum is the smaller of the stock and the
        sum of the requests.
    """
    if sum(requests) <= stock:
        return list(requests)
    given = [0] * len(requests)
    wanting = [i for i, request in enumerate(requests) if request > 0]
    for _ in range(stock):
        lucky = int(rng.integers(len(wanting)))
        i = wanting[lucky]
        given[i] += 1
        if given[i] == requests[i]:
            del wanting[lucky]
    return given
