"""The guessing game played repeatedly: depth of reasoning, expected picks, convergence.

Sources:
    Nagel (1995), "Unraveling in Guessing Games: An Experimental Study", American Economic
    Review 85(5), 1313-1326: levels against the previous mean, rates of decrease, adjustment
    factors. Lu (2024), "Strategic Interactions between Large Language Models-based Agents in
    Beauty Contests", arXiv 2404.08492, sections 3 and 4: groups of several types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SMALLEST_SHARE = 1 / 500
"""Picks below this share of the reference are taken to be it, so that 0 has a finite depth: with
the mid-point of the range as the reference it is a thousandth of the range (our choice)."""
NOTHING = 1e-12
"""Means below this share of the mid-point are taken to be 0: nothing can be told against them."""
SAME = 1e-9
"""Adjustment factors that differ by this share or less are the same but for rounding."""


def strategic_level(choice: float, reference: float = 50.0, p: float = 2 / 3) -> float:
    """Depth of reasoning d of a pick: the real number with ``choice = reference * p**d``.

    The inverse of Nagel's definition of a level (1995, p. 1315). With p < 1 it is negative for a
    pick above the reference, with p > 1 for one below it.

    Args:
        choice: a pick, 0 or more.
        reference: where level 0 stands: the mid-point in the first round, then the mean of the
            previous round.
        p: factor of the target.

    Returns:
        The depth; picks below `SMALLEST_SHARE` of the reference have the depth of that share.
        NaN if the pick is NaN, the reference is 0 or `p` is 1: then no depth can be told.

    Raises:
        ValueError: if the pick or the reference is negative or `p` is not positive.
    """
    if choice < 0 or reference < 0 or not p > 0:
        raise ValueError(f"need choice >= 0, reference >= 0, p > 0, not {choice}, {reference}, {p}")
    if math.isnan(choice) or not reference > 0 or p == 1:
        return math.nan
    return math.log(max(choice / reference, SMALLEST_SHARE)) / math.log(p)


def step_limits(step: int, reference: float, p: float = 2 / 3) -> tuple[float, float]:
    """The lower and the upper limit of the picks of a step, ``reference * p**(step ± 1/2)``.

    Args:
        step: 0 or more; step 0 ends at the reference itself (Nagel 1995, table 2).
        reference: where level 0 stands.
        p: factor of the target.
    """
    near = reference * p ** max(step - 0.5, 0)
    far = reference * p ** (step + 0.5)
    return min(near, far), max(near, far)


def best_reply(others_mean: float, n_players: int, p: float = 2 / 3) -> float:
    """The pick that is exactly p times the mean it is itself a part of (Nagel 1995, footnote 8).

    Args:
        others_mean: mean pick that is expected of the others.
        n_players: players with oneself, 2 or more.
        p: factor of the target, below `n_players`.

    Raises:
        ValueError: if there are fewer than 2 players, or `p` is not between 0 and their number.
    """
    if n_players < 2 or not 0 < p < n_players:
        raise ValueError(f"need n_players >= 2 and 0 < p < n_players, not {n_players}, {p}")
    return p * (n_players - 1) / (n_players - p) * others_mean


def expected_choice(counts: Sequence[float], choices: Sequence[float], p: float = 2 / 3) -> float:
    """The next pick if each type is expected to repeat its last: p times the mean of all.

    With opponents that always pick 0 it is equation 1 of Lu (2024, section 4); with two types it
    is equation 2, `counts` being how many an agent believes each to be. Divided by the own last
    pick it is the ratio that is expected of one who replies naively.

    Args:
        counts: for each type its number of players, oneself included.
        choices: for each type its last pick.
        p: factor of the target.

    Raises:
        ValueError: if nobody plays, or the lengths differ.
    """
    if len(counts) != len(choices) or not sum(counts) > 0:
        raise ValueError(f"need a number of players for each type, not {counts} and {choices}")
    return p * float(np.dot(counts, choices)) / sum(counts)


def rate_of_decrease(first: float, last: float) -> float:
    """By which share of the first value the last one is lower (Nagel 1995, equations 1a and 1b).

    NaN where the first value is 0 or unknown.
    """
    return (first - last) / first if first > 0 else math.nan


def direction_share(
    choices: npt.ArrayLike,
    means: npt.ArrayLike,
    reference: float = 50.0,
    p: npt.ArrayLike = 2 / 3,
    players: npt.ArrayLike | None = None,
) -> float:
    """Share of the changes of behaviour that learning direction theory predicts.

    A pick's adjustment factor is its ratio to the mean of the previous round, the optimal one that
    of the target. Who was above the optimal factor should lower its own, who was below should
    raise it (Nagel 1995, equations 2 to 4). Winners of a round, whose distance to the target is
    the smallest, are left out, and so are factors that do not change or follow a mean of nothing.

    Args:
        choices: picks by round and player, shape (n_rounds, n_players); NaN is an abstention.
        means: mean of the valid picks by round, shape (n_rounds,).
        reference: stands for the mean before the first round.
        p: factor of the target, or one a round, shape (n_rounds,).
        players: which players are judged, shape (n_players,); all, when None.

    Returns:
        The share; NaN when there is no change to judge.
    """
    picks, mean = np.asarray(choices, dtype=float), np.asarray(means, dtype=float)
    before = np.concatenate(([reference], mean[:-1]))
    before = np.where(before > NOTHING * reference, before, math.nan)
    target = np.asarray(p, dtype=float) * mean
    factors, optimal = picks / before[:, None], (target / before)[:, None]
    gap = np.abs(picks - target[:, None])
    won = gap <= np.fmin.reduce(gap, axis=1, keepdims=True) * (1 + 1e-12)
    change, wanted = np.diff(factors, axis=0), (optimal - factors)[:-1]
    stays = np.isclose(factors[1:], factors[:-1], rtol=SAME, atol=0)
    judged = ~won[:-1] & ~np.isnan(change) & ~np.isnan(wanted) & ~stays
    if players is not None:
        judged &= np.asarray(players, dtype=bool)
    return float((np.sign(change) == np.sign(wanted))[judged].mean()) if judged.any() else math.nan


def falling_share(choices: npt.ArrayLike) -> float:
    """Share of the pairs of picks in consecutive rounds of which the later one is smaller.

    Args:
        choices: picks by round and player, shape (n_rounds, n_players); NaN is an abstention.

    Returns:
        The share (Nagel 1995, p. 1318); NaN without such a pair.
    """
    change = np.diff(np.asarray(choices, dtype=float), axis=0)
    known: Floats = change[~np.isnan(change)]
    return float((known < 0).mean()) if known.size else math.nan
