"""The guessing game ("beauty contest"): pick a number, closest to p times the mean wins.

Shared theory of the scenarios with this game: winners, rewards, levels of reasoning,
the Poisson cognitive hierarchy, and the noise of classical players.

Sources:
    Nagel (1995), "Unraveling in Guessing Games: An Experimental Study", American Economic
    Review 85(5), 1313-1326: the game, levels of reasoning and their class limits.
    Camerer, Ho and Chong (2004), "A Cognitive Hierarchy Model of Games", Quarterly Journal of
    Economics 119(3), 861-898: Poisson distributed steps of thinking.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

RewardRule = Literal["independent", "amplified", "exclusive", "shared"]
REWARD_RULES: tuple[str, ...] = get_args(RewardRule)
HIGHER = 4
"""The top class of `nagel_level`: all picks deeper than step 3, including 0."""
TAU = 1.5
"""Mean steps of reasoning: 1.5 fits many games (Camerer, Ho & Chong 2004)."""
DEEPEST = 7
"""Maximum number of steps; at tau = 1.5 fewer than one player in a thousand is deeper."""
NOISE = 1 / 4
"""Log standard deviation around a step, in distances between two steps (our choice, after the
neighbourhoods in which Nagel 1995 assigns picks to a step)."""


class GuessingOutcome(NamedTuple):
    """The outcome of a round of picks.

    Attributes:
        mean: mean of the valid picks; this and the next three are NaN without valid picks.
        median: their median.
        variance: their population variance.
        target: p times the mean.
        won: one flag per player, see `winners`.
    """

    mean: float
    median: float
    variance: float
    target: float
    won: tuple[bool, ...]


def winners(picks: Sequence[float | None], p: float | Fraction = 2 / 3) -> tuple[bool, ...]:
    """Return the players closest to p times the mean of the valid picks; all tied players win.

    Distances are compared as integers or fractions, so rounding does not affect ties.

    Args:
        picks: one entry per player; None or NaN is an abstention.
        p: factor of the target; a float such as 2/3 is read as the nearest simple fraction.

    Returns:
        One flag per player, in the same order; all False when everybody abstained.

    Raises:
        ValueError: if a pick is infinite or `p` is not positive.
    """
    factor = _fraction(p)
    ratios = [_ratio(pick) for pick in picks]
    valid = [ratio for ratio in ratios if ratio is not None]
    if not valid:
        return (False,) * len(picks)
    # Multiply by the denominators and the number of picks, so that all values are integers.
    common = math.lcm(*{below for _, below in valid})
    target = factor.numerator * sum([above * (common // below) for above, below in valid])
    scale = factor.denominator * len(valid) * common
    distances = [abs(above * scale // below - target) for above, below in valid]
    closest, remaining = min(distances), iter(distances)
    return tuple([ratio is not None and next(remaining) == closest for ratio in ratios])


def outcome(picks: Sequence[float | None], p: float = 2 / 3) -> GuessingOutcome:
    """Return the outcome of a round of picks.

    Args:
        picks: one entry per player; None is an abstention.
        p: factor of the target.

    Raises:
        ValueError: as `winners`.
    """
    valid = np.array([pick for pick in picks if pick is not None], dtype=float)
    if not valid.size:
        return GuessingOutcome(math.nan, math.nan, math.nan, math.nan, (False,) * len(picks))
    mean, median, variance = float(valid.mean()), float(np.median(valid)), float(valid.var())
    return GuessingOutcome(mean, median, variance, p * mean, winners(picks, p))


def reward_per_winner(n_winners: int, reward_rule: RewardRule, prize: float = 100.0) -> float:
    """Return the reward of each winner when `n_winners` tie; 0 when nobody won.

    ``independent``: the prize each. ``amplified``: `n_winners` times the prize each.
    ``exclusive``: the prize for a sole winner, nothing when several tie. ``shared``: the prize
    split equally, as in the laboratory (Nagel 1995).

    Raises:
        ValueError: if the rule is unknown or `n_winners` is negative.
    """
    if reward_rule not in REWARD_RULES:
        rules = ", ".join(REWARD_RULES)
        raise ValueError(f"unknown reward rule {reward_rule!r}: use one of {rules}")
    if n_winners < 0:
        raise ValueError(f"n_winners must be 0 or more, not {n_winners}")
    if n_winners == 0:
        return 0.0
    factors = {
        "independent": 1.0,
        "amplified": float(n_winners),
        "exclusive": float(n_winners == 1),
        "shared": 1 / n_winners,
    }
    return prize * factors[reward_rule]


# Levels of reasoning (Nagel 1995).


def level_k_choice(k: int, reference: float = 50.0, p: float = 2 / 3) -> float:
    """Pick of a level-k player, ``reference * p**k`` (Nagel 1995, p. 1315).

    Args:
        k: steps of reasoning, 0 or more.
        reference: the choice of level 0: the mid-point 50, or the mean of the previous round.
        p: factor of the target.

    Raises:
        ValueError: if `k` is negative or `p` is not positive.
    """
    if k < 0:
        raise ValueError(f"k must be 0 or more, not {k}")
    _fraction(p)
    return reference * float(p) ** k


def level_k_marks(k_max: int = 3, reference: float = 50.0, p: float = 2 / 3) -> dict[int, float]:
    """The picks of levels 0 to `k_max`, as marks for a plot."""
    return {k: level_k_choice(k, reference, p) for k in range(k_max + 1)}


def level_k_labels() -> dict[str, float]:
    """Return label on a plot → pick, for Nash and levels 0 to 3 with p = 2/3."""
    marks = {f"k={k}\n{round(pick, 1):g}": pick for k, pick in level_k_marks(3).items()}
    return {"Nash\n0": 0.0, **marks}


@lru_cache(maxsize=4096)  # exact arithmetic is slow, and players choose few different numbers
def nagel_level(choice: float, reference: float = 50.0, p: float = 2 / 3) -> int:
    """Class of a pick by its depth of reasoning (Nagel 1995, Table 2).

    Step n holds the picks in ``(r * p**(n + 1/2), r * p**(n - 1/2)]``, r being the reference;
    step 0 ends at r itself. With p > 1, where reasoning leads upwards, the same limits hold in
    the other direction. The limits are compared exactly.

    Args:
        choice: a pick, 0 or more.
        reference: r: 50 in the first round, then the mean of the previous round.
        p: factor of the target, not 1 (then all levels pick the reference).

    Returns:
        -1 above the reference (p > 1: below it), 0 to 3 for these steps, and 4 (`HIGHER`) for
        all beyond step 3. A pick of 0 is always in the top class if p < 1, also when the
        reference is 0.

    Raises:
        ValueError: if the pick is NaN (an abstention has no level) or negative, the reference
            is negative, or `p` is not positive or is 1.
    """
    pick, start, factor = _ratio(choice), _ratio(reference), _fraction(p)
    if pick is None:
        raise ValueError("an abstention has no level: pass a number")
    if start is None or pick[0] < 0 or start[0] < 0 or factor == 1:
        raise ValueError(
            f"need choice >= 0, reference >= 0, p > 0 and p != 1, not {choice}, {reference}, {p}"
        )
    way = 1 if factor < 1 else -1
    # Both times the denominators; squared, since half a step is a square root of the factor.
    mine, first = pick[0] * start[1], start[0] * pick[1]
    if way * (mine - first) > 0:
        return -1
    for step in range(HIGHER):
        odd = 2 * step + 1
        if way * (mine**2 * factor.denominator**odd - first**2 * factor.numerator**odd) > 0:
            return step
    return HIGHER


# The Poisson cognitive hierarchy (Camerer, Ho and Chong 2004).


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
    uniformly). The weight of the player's pick in the mean is ignored. Source: Camerer, Ho and
    Chong (2004), section II.

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


@lru_cache
def cognitive_hierarchy_choice(
    tau: float, k: int, reference: float = 50.0, p: float = 2 / 3
) -> float:
    """Pick of step k in the Poisson cognitive hierarchy, see `cognitive_hierarchy_choices`.

    Raises:
        ValueError: as `cognitive_hierarchy_choices`.
    """
    return float(cognitive_hierarchy_choices(tau, k, reference, p)[k])


def drawn_steps(rng: np.random.Generator) -> int:
    """Draw the steps of reasoning of a player from a Poisson distribution.

    Args:
        rng: the generator to draw from.
    """
    return min(int(rng.poisson(TAU)), DEEPEST)


def noisy(pick: float, p: float, rng: np.random.Generator) -> float:
    """Multiply a pick by lognormal noise, with a width relative to the distance between two steps.

    Args:
        pick: the pick of a step.
        p: factor of the target.
        rng: the generator to draw from.
    """
    return pick * math.exp(NOISE * abs(math.log(p)) * rng.standard_normal())


# Equilibria.


# Exact arithmetic.


def _ratio(pick: float | Fraction | None) -> tuple[int, int] | None:
    """The exact value of a number, as numerator and denominator; None for None and NaN."""
    if pick is None:
        return None
    if type(pick) is int:
        return pick, 1
    if not isinstance(pick, float) and isinstance(pick, Rational):
        return int(pick.numerator), int(pick.denominator)
    value = float(pick)
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError("a pick must be finite")
    return value.as_integer_ratio()


@lru_cache
def _fraction(p: float | Fraction) -> Fraction:
    """The simple fraction a float is meant to be (2/3, 7/10), or else its exact value."""
    ratio = _ratio(p)
    if ratio is None or ratio[0] <= 0:
        raise ValueError(f"p must be positive, not {p}")
    value = Fraction(*ratio)
    simple = value.limit_denominator(1000)
    return simple if abs(simple - value) < Fraction(1, 10**12) else value
