"""Theory of the repeated guessing game: depth of reasoning, expected picks, learning, people.

Sources:
    Nagel (1995), "Unraveling in Guessing Games: An Experimental Study", American Economic
    Review 85(5), 1313-1326: levels against the previous mean, rates of decrease, adjustment
    factors, and the picks of her subjects (``human_guesses.toml``). Lu (2024), "Strategic
    Interactions between Large Language Models-based Agents in Beauty Contests", arXiv 2404.08492,
    sections 3 and 4: groups of several types.
"""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


# Depth of reasoning and replies.

SMALLEST_SHARE = 1 / 500
"""Minimum share of the reference for a pick, so that 0 has a finite depth: with the mid-point as
the reference, it is a thousandth of the range (our choice).
"""
NOTHING = 1e-12
"""Means below this share of the mid-point count as 0, and ratios to them are undefined."""
SAME = 1e-9
"""Relative tolerance for equal adjustment factors."""


def strategic_level(choice: float, reference: float = 50.0, p: float = 2 / 3) -> float:
    """Depth of reasoning d of a pick: the real number with ``choice = reference * p**d``.

    The inverse of Nagel's definition of a level (1995, p. 1315). With p < 1 it is negative for a
    pick above the reference, with p > 1 for one below it.

    Args:
        choice: a pick, 0 or more.
        reference: the choice of level 0: the mid-point in the first round, then the mean of the
            previous round.
        p: factor of the target.

    Returns:
        The depth; picks below `SMALLEST_SHARE` of the reference have the depth of that share.
        NaN if the pick is NaN, the reference is 0 or `p` is 1.

    Raises:
        ValueError: if the pick or the reference is negative or `p` is not positive.
    """
    if choice < 0 or reference < 0 or not p > 0:
        raise ValueError(f"need choice >= 0, reference >= 0, p > 0, not {choice}, {reference}, {p}")
    if math.isnan(choice) or not reference > 0 or p == 1:
        return math.nan
    return math.log(max(choice / reference, SMALLEST_SHARE)) / math.log(p)


def step_limits(step: int, reference: float, p: float = 2 / 3) -> tuple[float, float]:
    """Return the lower and the upper limit of the picks of a step, ``reference * p**(step ± 1/2)``.

    Args:
        step: 0 or more; step 0 ends at the reference itself (Nagel 1995, table 2).
        reference: the choice of level 0.
        p: factor of the target.
    """
    near = reference * p ** max(step - 0.5, 0)
    far = reference * p ** (step + 0.5)
    return min(near, far), max(near, far)


def best_reply(others_mean: float, n_players: int, p: float = 2 / 3) -> float:
    """Return the pick that equals p times the mean including itself (Nagel 1995, footnote 8).

    Args:
        others_mean: the expected mean pick of the others.
        n_players: all players, 2 or more.
        p: factor of the target, below `n_players`.

    Raises:
        ValueError: if there are fewer than 2 players, or `p` is not between 0 and their number.
    """
    if n_players < 2 or not 0 < p < n_players:
        raise ValueError(f"need n_players >= 2 and 0 < p < n_players, not {n_players}, {p}")
    return p * (n_players - 1) / (n_players - p) * others_mean


# Learning from round to round.


def rate_of_decrease(first: float, last: float) -> float:
    """Return the relative decrease from the first to the last value (Nagel 1995, eq. 1a, 1b).

    NaN if the first value is 0 or unknown.
    """
    return (first - last) / first if first > 0 else math.nan


def falling_share(choices: npt.ArrayLike) -> float:
    """Return the share of decreases among pairs of picks in consecutive rounds.

    Args:
        choices: picks by round and player, shape (n_rounds, n_players); NaN is an abstention.

    Returns:
        The share (Nagel 1995, p. 1318); NaN without such a pair.
    """
    change = np.diff(np.asarray(choices, dtype=float), axis=0)
    known: Floats = change[~np.isnan(change)]
    return float((known < 0).mean()) if known.size else math.nan


def direction_share(
    choices: npt.ArrayLike,
    means: npt.ArrayLike,
    reference: float = 50.0,
    p: npt.ArrayLike = 2 / 3,
    players: npt.ArrayLike | None = None,
) -> float:
    """Return the share of changes in the direction that learning direction theory predicts.

    The adjustment factor of a pick is its ratio to the mean of the previous round; the optimal
    factor is the ratio of the target to that mean. A player above the optimal factor should lower
    the factor, a player below it should raise it (Nagel 1995, equations 2 to 4). Winners of a round
    (at the smallest distance to the target) are left out, as are unchanged factors and factors
    after a mean of 0.

    Args:
        choices: picks by round and player, shape (n_rounds, n_players); NaN is an abstention.
        means: mean of the valid picks by round, shape (n_rounds,).
        reference: the value used as the mean before the first round.
        p: factor of the target, or one per round, shape (n_rounds,).
        players: which players count, shape (n_players,); None: all.

    Returns:
        The share; NaN without such changes.
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


# How people played (Nagel 1995).


@cache
def human_guesses() -> MappingProxyType[str, Any]:
    """Return the tables of ``human_guesses.toml``, which documents them and their source."""
    text = files(__package__).joinpath("human_guesses.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def session_means(p: float) -> Floats | None:
    """Return Nagel's mean picks by session and period, (n_sessions, 4); None for another `p`.

    Args:
        p: factor of the target.
    """
    text = files(__package__).joinpath("people.toml").read_text(encoding="utf-8")
    for people in tomllib.loads(text).values():
        of = Fraction(people["set"]["p"])
        if "sessions" in people and abs(of - Fraction(p)) < Fraction(1, 10**9):
            return np.array(people["sessions"], dtype=float)
    return None


def first_period_shares() -> tuple[Floats, Floats]:
    """Period 1 of p = 2/3: intervals of the range 0 to 100, shape (11, 2), and their shares."""
    table = human_guesses()["first_period"]
    counts = np.array(table["counts"], dtype=float)
    return np.array(table["intervals"], dtype=float), counts / counts.sum()


def later_period_shares(p: float, period: int) -> Floats:
    """Shares of the classes in a later period, for the nearest `p` in the data.

    Args:
        p: factor of the target.
        period: 2 or more; periods after the last one in the data use the last one.

    Returns:
        Array of shape (6,): above the previous mean, steps 0 to 3, higher steps.
    """
    tables: dict[str, Any] = human_guesses()["later_periods"]
    nearest = min(tables, key=lambda name: abs(Fraction(name) - Fraction(p)))
    rows = tables[nearest]
    shares = np.array(rows[min(period - 2, len(rows) - 1)], dtype=float)
    return np.asarray(shares / shares.sum(), dtype=np.float64)
