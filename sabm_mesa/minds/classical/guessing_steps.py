"""What the classical minds of the guessing games share: how deeply they reason, and their noise.

Sources: Camerer, Ho & Chong 2004 (steps); Nagel 1995 (the neighbourhood of a step).
"""

from __future__ import annotations

import math

import numpy as np

TAU = 1.5
"""Mean steps of reasoning: 1.5 fits many games (Camerer, Ho & Chong 2004)."""
DEEPEST = 7
"""Deeper players are counted as this deep: at tau = 1.5 they are fewer than one in a thousand."""
NOISE = 1 / 4
"""Log standard deviation around a step, in distances between two steps (our choice, after the
neighbourhoods in which Nagel 1995 counts picks as belonging to a step)."""


def drawn_steps(rng: np.random.Generator) -> int:
    """Steps of reasoning, from a Poisson distribution.

    Args:
        rng: the generator to draw from.
    """
    return min(int(rng.poisson(TAU)), DEEPEST)


def noisy(pick: float, p: float, rng: np.random.Generator) -> float:
    """A pick times lognormal noise, whose width is a part of the distance between two steps.

    Args:
        pick: the pick of a step.
        p: factor of the target.
        rng: the generator to draw from.
    """
    return pick * math.exp(NOISE * abs(math.log(p)) * rng.standard_normal())
