"""Poisson cognitive hierarchy in the guessing game.

Source:
    Camerer, Ho and Chong (2004), "A Cognitive Hierarchy Model of Games", Quarterly Journal of
    Economics 119(3), 861-898: Poisson distributed steps of thinking.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def poisson_frequencies(tau: float, k_max: int) -> npt.NDArray[np.float64]:
    """Shares of players on steps 0 to `k_max`, ``exp(-tau) * tau**k / k!``.

    Source: Camerer, Ho and Chong (2004), section II.

    Args:
        tau: mean number of steps, 0 to 100.
        k_max: last step wanted.

    Returns:
        Array of shape (k_max + 1,); the tail beyond `k_max` is left out, not spread.

    Raises:
        ValueError: if `tau` is outside 0 to 100 or `k_max` is negative.
    """
    if not 0 <= tau <= 100 or k_max < 0:
        raise ValueError(f"need 0 <= tau <= 100 and k_max >= 0, not {tau} and {k_max}")
    ratios = np.concatenate(([1.0], tau / np.arange(1, k_max + 1)))
    return np.asarray(np.exp(-tau) * np.cumprod(ratios), dtype=np.float64)


def cognitive_hierarchy_choices(
    tau: float, k_max: int, reference: float = 50.0, p: float = 2 / 3
) -> npt.NDArray[np.float64]:
    """Picks of steps 0 to `k_max` in the Poisson cognitive hierarchy, many players.

    Step k answers best to the steps below it, in their true relative shares:
    ``x_k = p * sum(f(h) * x_h) / sum(f(h))`` over h < k, with x_0 the reference (step 0 picks
    uniformly). A player's own weight in the mean is left out.
    Source: Camerer, Ho and Chong (2004), section II.

    Returns:
        Array of shape (k_max + 1,), in units of a pick.

    Raises:
        ValueError: as `poisson_frequencies`, or if `p` is not positive.
    """
    if not p > 0:
        raise ValueError(f"p must be positive, not {p}")
    shares = poisson_frequencies(tau, k_max)
    choices = np.full(k_max + 1, float(reference))
    for k in range(1, k_max + 1):
        choices[k] = p * (shares[:k] @ choices[:k]) / shares[:k].sum()
    return choices


def cognitive_hierarchy_mean(tau: float, reference: float = 50.0, p: float = 2 / 3) -> float:
    """Mean pick of a population in the Poisson cognitive hierarchy.

    Source: Camerer, Ho and Chong (2004), section II. Steps are summed until the tail left out
    is far below rounding error.

    Raises:
        ValueError: as `cognitive_hierarchy_choices`.
    """
    k_max = 40 if not tau > 0 else math.ceil(tau + 15 * math.sqrt(tau) + 40)
    shares = poisson_frequencies(tau, k_max)
    return float(shares @ cognitive_hierarchy_choices(tau, k_max, reference, p) / shares.sum())


def cognitive_hierarchy_target(tau: float, reference: float = 50.0, p: float = 2 / 3) -> float:
    """Winning number of that population: `p` times `cognitive_hierarchy_mean`."""
    return p * cognitive_hierarchy_mean(tau, reference, p)
