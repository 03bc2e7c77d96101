"""A commons that renews itself: growth, what it can bear, and its division when it is over-asked.

The stock is a whole number of units. What is left of it after the harvest doubles, up to the
capacity (Piatti et al. 2024, arXiv 2404.16698, section 2.3 and appendix B.1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

GROWTH = 2
"""What is left is multiplied by this every month."""


def regrown(left: int, capacity: int) -> int:
    """The stock of the next month.

    Args:
        left: units left after the harvest.
        capacity: the most units there can be.
    """
    return min(capacity, GROWTH * left)


def sustainable_harvest(stock: int) -> int:
    """The most units that all together can take so that the stock grows back to what it was.

    It is the largest x with 2·(h − x) ≥ h, that is floor(h / 2).

    Args:
        stock: units before the harvest, h.
    """
    return stock // GROWTH


def threshold(stock: int, n: int) -> int:
    """The most units that each of `n` can take if nobody takes more: floor(floor(h / 2) / n).

    Args:
        stock: units before the harvest, h.
        n: number of agents (at least 1).
    """
    return sustainable_harvest(stock) // n


def allocate(requests: Sequence[int], stock: int, rng: np.random.Generator) -> list[int]:
    """Who gets how many units.

    When there is enough, everybody gets what was asked for. Otherwise units are given out one by
    one, each to somebody drawn with equal chances among those who still want one, until nothing
    is left.

    Args:
        requests: units asked for, by agent (0 or more).
        stock: units there are.
        rng: draws who gets the next unit.

    Returns:
        Units by agent, in the order of `requests`; their sum is the smaller of the stock and of
        the sum of the requests.
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
