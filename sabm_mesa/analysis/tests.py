"""Tests of claims about runs: one interface for verdicts, intervals and numbers of runs.

`infer` takes the runs of one, two or four groups, and the limits of a claim. The unit is the run:
one number per run, since rounds and agents within a run are dependent. Runs without a value (NaN or
None) are left out and counted, together with their pairs. Runs of two groups are paired by seed:
the test for one group is applied to the differences. For four groups a, b, c, d the quantity is
(a − b) − (c − d). Without bounds no test of a mean is valid: a single rare run can move the mean
anywhere.

Sources: Dixon and Mood (1946), Journal of the American Statistical Association 41 (sign test).
Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting", Journal
of the Royal Statistical Society B 86(1), section 4 and appendix B (several constant bets at once).
Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15: to lie between two limits,
both one-sided tests must reject. Holm (1979), Scandinavian Journal of Statistics 6(2). Székely and
Rizzo (2013), Journal of Statistical Planning and Inference 143(8) (energy distance).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.intervals import (
    LEVEL,
    NONE,
    RESAMPLES,
    Floats,
    Side,
    inverted,
    known_values,
    mean_interval,
    share_interval,
    shift_interval,
    sign_interval,
    splits,
)

Values = Iterable[float | None]
Of = Literal["mean", "median", "share"]
Verdict = Literal[
    "agrees", "disagrees", "inconclusive", "too few runs", "effects differ",
    "no difference detected",
]  # fmt: skip
BETS: Sequence[tuple[float, float]] = (
    (0.1, 0.1), (0.25, 0.1), (0.5, 0.15), (0.75, 0.15), (1.0, 0.5),
)  # fmt: skip
"""(Fraction of the largest bet, share of the stake); the largest is best when runs differ little.
"""
MOST_RUNS = 500
"""Maximum number of runs in planning."""
DELTA, FROM_MIDDLE = "Cliff's delta", "distance from the middle, in half widths"
NO_BOUNDS = (
    "no test of a mean is valid without bounds of the measure: name them, or claim a median or a "
    "share"
)
CHUNK = 200
"""The number of splits whose distances are computed at once."""
GRID = 1_000
"""The most distinct values in distances: more are rounded to a grid of this size."""
_SAME = 1e-10


# The tests. Each gives the one-sided p-value that a quantity is above (or below) a limit.


def sign_test(x: Floats, limit: float, side: Side) -> float:
    """Assumes independent runs of any distribution: sign test of their median.

    A run at the limit counts against the claim.
    """
    slack = _SAME * np.maximum(np.abs(x), abs(limit))
    beyond = x > limit + slack if side == "above" else x < limit - slack
    return _binomial(int(beyond.sum()), x.size, 0.5)


def share_test(x: Floats, limit: float, side: Side) -> float:
    """Assumes independent runs that are 0 or 1: exact binomial test of their share."""
    ones, chance = (x, limit) if side == "above" else (1 - x, 1 - limit)
    return _binomial(int(ones.sum()), x.size, chance)


@lru_cache(maxsize=100_000)
def _binomial(ones: int, n: int, chance: float) -> float:
    """The probability of at least this number of successes."""
    from scipy.stats import binomtest

    return float(binomtest(ones, n, min(max(chance, 0.0), 1.0), alternative="greater").pvalue)


def betting_test(x: Floats, limit: float, side: Side, bounds: tuple[float, float]) -> float:
    """Assumes independent runs between two known bounds: bets on their mean.

    Runs are scaled to [0, 1]. If the mean is at most m, a bet of the fraction f multiplies the
    stake by 1 + f (x / m − 1), whose expectation is at most 1. The wealth of all bettors exceeds
    1 / p with probability at most p (Markov). The order of the runs does not matter.
    """
    low, high = bounds
    scaled, m = (x - low) / (high - low), (limit - low) / (high - low)
    if side == "below":
        scaled, m = 1 - scaled, 1 - m
    if m <= _SAME:  # a mean below the lowest value is impossible
        return 0.0 if m < -_SAME or scaled.max() > 0 else 1.0
    with np.errstate(divide="ignore"):
        wealth = [math.log(stake) + np.log1p(bet * (scaled / m - 1)).sum() for bet, stake in BETS]
    return float(np.exp(-max(0.0, np.logaddexp.reduce(wealth))))


def shift_test(a: Floats, b: Floats, limit: float, side: Side) -> float:
    """Assumes independent groups that differ by a shift alone: permutation test of two means."""
    sign = 1 if side == "above" else -1
    pooled = np.concatenate([a - limit, b])
    chosen, exact = splits(pooled.size, a.size)
    sums = chosen @ pooled
    means = sign * (sums / a.size - (pooled.sum() - sums) / b.size)
    seen = sign * (a.mean() - limit - b.mean())
    at_least = int((means >= seen - _SAME * np.abs(pooled).max()).sum())
    return at_least / len(chosen) if exact else (at_least + 1) / (len(chosen) + 1)


def holm(p_values: Iterable[float]) -> Floats:
    """Assumes valid p-values, of any dependence: corrects them for their number (Holm).

    Tests without a result (NaN) do not count, and stay.

    Raises:
        ValueError: for a p-value outside 0 to 1.
    """
    p = np.array(list(p_values), dtype=np.float64)
    made = np.flatnonzero(~np.isnan(p))
    if ((p[made] < 0) | (p[made] > 1)).any():
        raise ValueError(f"p-values lie between 0 and 1, not {p[made].tolist()}")
    order = made[np.argsort(p[made], kind="stable")]
    stepped = p[order] * np.arange(order.size, 0, -1)
    p[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return p


# Claims.


@dataclass(frozen=True, slots=True)
class Estimand:
    """The quantity of a claim, and the limits that the claim sets.

    Its methods take one sample, or two independent ones (`samples_of`).

    Attributes:
        of: ``mean``, ``median`` or ``share``.
        n_groups: 1, 2 (a difference) or 4 (a difference of differences).
        above: the claimed lower limit; None: none.
        below: the claimed upper limit; None: none. Without both, the question is whether the groups
            differ at all (a difference of 0).
        bounds: the minimum and maximum possible value of the measure.
        paired: whether run i of all groups shares a seed.

    Raises:
        ValueError: for an invalid quantity, number of groups, limit or bound.
    """

    of: Of = "median"
    n_groups: int = 1
    above: float | None = None
    below: float | None = None
    bounds: tuple[float, float] | None = None
    paired: bool = False

    def __post_init__(self) -> None:
        if self.of not in get_args(Of):
            raise ValueError(f"of is one of {', '.join(get_args(Of))}, not {self.of!r}")
        if self.n_groups not in (1, 2, 4):
            raise ValueError(f"there are 1, 2 or 4 groups of runs (got {self.n_groups})")
        limits = [limit for _, limit in self.limits]
        if not all(math.isfinite(limit) for limit in limits):
            raise ValueError("every limit must be finite; leave out the one that is open")
        if len(limits) == 2 and not limits[0] < limits[1]:
            raise ValueError(f"a claim between two limits needs above < below, not {limits}")
        if self.bounds is not None and not -math.inf < self.bounds[0] < self.bounds[1] < math.inf:
            raise ValueError(f"bounds are two finite numbers, low < high, not {self.bounds}")

    @property
    def limits(self) -> list[tuple[Side, float]]:
        """The sides and limits of the claim."""
        sides: list[tuple[Side, float | None]] = [("above", self.above), ("below", self.below)]
        return [(side, limit) for side, limit in sides if limit is not None]

    @property
    def independent(self) -> bool:
        """Whether two independent groups are compared."""
        return self.n_groups > 1 and not self.paired

    @property
    def _single_share(self) -> bool:
        return self.of == "share" and self.n_groups == 1

    @property
    def range(self) -> tuple[float, float] | None:
        """The bounds of the estimand, or None if they are unknown."""
        bounds = (0.0, 1.0) if self.of == "share" else self.bounds
        if bounds is None or self.n_groups == 1:
            return bounds
        width = (bounds[1] - bounds[0]) * self.n_groups / 2
        return -width, width

    @property
    def testable(self) -> bool:
        """Whether a valid test exists; there is none for a mean without bounds."""
        return self.of == "median" or self.independent or self.range is not None

    @property
    def method(self) -> str:
        """The test in words."""
        if not self.testable:
            return "none (a mean without bounds)"
        if self.independent:
            return "permutation test of the means"
        if self._single_share:
            return "binomial test"
        test, pairs = ("sign test", " of pairs") if self.of == "median" else ("bets", " on pairs")
        return test + pairs * (self.n_groups > 1)

    def p(self, x: Sequence[Floats], limit: float, side: Side) -> float:
        """The p-value of the estimand being above (or below) a limit; NaN without test or runs."""
        if not self.testable or min(sample.size for sample in x) == 0:
            return math.nan
        if len(x) > 1:
            return shift_test(x[0], x[1], limit, side)
        if self.of == "median":
            return sign_test(x[0], limit, side)
        if self._single_share:
            return share_test(x[0], limit, side)
        return betting_test(x[0], limit, side, self.range or (0.0, 1.0))

    def p_values(self, x: Sequence[Floats]) -> tuple[float, float]:
        """The one-sided p-values for the claim and for its opposite.

        For the opposite of a claim with two limits, the smaller p of both sides is doubled
        (Bonferroni). Without limits, the first is the two-sided p-value of a difference, and the
        second is NaN.
        """
        if not self.limits:
            return min(2 * min(self.p(x, 0.0, side) for side in get_args(Side)), 1.0), math.nan
        towards = [self.p(x, limit, side) for side, limit in self.limits]
        against = [self.p(x, limit, _other(side)) for side, limit in self.limits]
        return max(towards), min(len(against) * min(against), 1.0)  # NaN stays

    def interval(self, x: Sequence[Floats]) -> tuple[float, float]:
        """The values that neither one-sided test at `LEVEL` rejects; for untestable ones Student's.

        The ends are NaN if the runs exclude nothing.
        """
        if min(sample.size for sample in x) == 0:
            return NONE
        if len(x) > 1:
            return shift_interval(x[0], x[1])
        if self.of == "median":
            return sign_interval(x[0])
        if self._single_share:
            return share_interval(x[0])
        if self.range is None:
            return mean_interval(x[0])
        return inverted(lambda limit, side: self.p(x, limit, side), float(x[0].mean()), self.range)

    def least_p(self, n: int) -> float:
        """The smallest one-sided p-value of the claim with n runs per group."""
        if not self.testable or n < 1:
            return 1.0
        if self.independent:
            return max(1 / math.comb(2 * n, n), 1 / (RESAMPLES + 1))
        if self.of == "median":
            return 0.5**n
        best = [(np.arange(n) < ones).astype(float) for ones in range(n + 1)]
        if not self._single_share:
            best = [np.full(n, value) for value in np.linspace(*(self.range or (0.0, 1.0)), 41)]
        limits = self.limits or [("above", 0.0)]
        return min(max(self.p([x], limit, side) for side, limit in limits) for x in best)

    def fewest_runs(self, level: float = LEVEL) -> int:
        """The minimum number of runs per group with which the test could show the claim.

        A share of at least 0.9 needs 36 runs at 2.5 %, and a mean below 0.5 of a measure from 0
        to 20 needs 168. The number is 0 if `MOST_RUNS` are not enough.
        """
        numbers = range(1, MOST_RUNS + 1)
        index = bisect_left(numbers, True, key=lambda n: self.least_p(n) <= level)
        return numbers[index] if index < MOST_RUNS else 0


@dataclass(frozen=True, slots=True)
class Inference:
    """The result of `infer`: the evidence of runs about an estimand.

    Attributes:
        estimand: the estimand, and the claim about it.
        verdict: ``agrees``, ``disagrees``, ``inconclusive`` or ``too few runs`` (the test could not
            show the claim with so few); without a claim ``effects differ`` or ``no difference
            detected``, or ``inconclusive`` for a single group.
        estimate: in units of the measure (a share from 0 to 1), with its 95 % interval, whose ends
            are NaN without one.
        p_for: one-sided p-value for the claim; without a claim the two-sided one of a difference.
        p_against: one-sided p-value for the opposite of the claim; NaN without a claim.
        n: number of runs with a value in each group.
        missing: number of runs, over all groups, without a value.
        effect: effect size, without unit, called `effect_name`.
        fewest: see `Estimand.fewest_runs`.
        why: the reason for a missing verdict or interval, or ``""``.
    """

    estimand: Estimand
    verdict: Verdict
    estimate: float
    low: float
    high: float
    p_for: float
    p_against: float
    n: tuple[int, ...]
    missing: int
    effect: float
    effect_name: str
    fewest: int
    why: str = ""

    @property
    def method(self) -> str:
        """The test in words."""
        return self.estimand.method

    @property
    def p(self) -> float:
        """The two-sided p-value: twice the smaller one-sided one; NaN without runs."""
        if math.isnan(self.p_against):
            return self.p_for
        return min(2 * min(self.p_for, self.p_against), 1.0)


def infer(
    *groups: Values,
    of: Of = "median",
    above: float | None = None,
    below: float | None = None,
    bounds: tuple[float, float] | None = None,
    paired: bool = False,
    level: float = LEVEL,
) -> Inference:
    """Estimate a quantity of runs and judge a claim about it; all verdicts use this function.

    Examples of claims::

        infer(got_out, of="share", above=0.9)  # of runs, each 0 or 1
        infer(price, of="mean", above=6.5, below=7.5, bounds=(0, 20))
        infer(talking, silent, below=0, paired=True)
        infer(one, other, of="mean", above=-0.5, below=0.5, bounds=(0, 20), paired=True)
        infer(a, b, c, d, paired=True)  # no limit: do the differences differ?

    Args:
        groups: one, two or four groups, each with one number per run.
        of: see `Estimand`, as the other arguments.
        above: the claimed lower limit.
        below: the claimed upper limit.
        paired: whether run i of all groups shares a seed.
        level: the level of each one-sided test of the verdict, which is not corrected for other
            claims (see `holm`). The interval always has 95 %.

    Raises:
        ValueError: for a wrong number of groups, pairs of different length, a run outside the
            bounds, a share that is neither 0 nor 1, an infinite number, or invalid limits.
    """
    return infer_of(Estimand(of, len(groups), above, below, bounds, paired), *groups, level=level)


def infer_of(estimand: Estimand, *groups: Values, level: float = LEVEL) -> Inference:
    """`infer` for an existing estimand."""
    runs, missing = _known(estimand, groups)
    x, n = samples_of(estimand, runs), tuple(group.size for group in runs)
    towards, against = estimand.p_values(x)
    fewest = estimand.fewest_runs(level)
    word, why = _verdict(estimand, min(n), towards, against, fewest, level)
    estimate = math.nan if min(n) == 0 else _centre(estimand, x)
    return Inference(
        estimand, word, estimate, *estimand.interval(x), towards, against, n, missing,
        *_effect(estimand, x), fewest, why,
    )  # fmt: skip


def samples_of(estimand: Estimand, runs: Sequence[Floats]) -> list[Floats]:
    """The sample of an estimand: runs or their differences; two of them for independent groups."""
    if estimand.n_groups == 1 or (estimand.n_groups == 2 and not estimand.paired):
        return list(runs)
    n = [min(a.size, b.size) for a, b in zip(runs[::2], runs[1::2], strict=True)]
    parts = [a[:k] - b[:k] for a, b, k in zip(runs[::2], runs[1::2], n, strict=True)]
    return [parts[0] - parts[1]] if estimand.paired and len(parts) == 2 else parts


def runs_needed(
    estimand: Estimand, runs: Sequence[Values], level: float = LEVEL, power: float = 0.8
) -> int | None:
    """Assumes that these runs are the truth: the number of runs per group for a verdict.

    For medians and shares, the power of the exact test; for means, the number after which the
    wealth of the bets reaches 1 / level at its present growth. Independent groups count as pairs at
    random, which is cautious.

    Returns:
        The number; None if `MOST_RUNS` are not enough, or it is not known.
    """
    x = samples_of(estimand, _known(estimand, runs)[0])
    if min(sample.size for sample in x) < 2 or not estimand.testable:
        return None
    whole = x[0] if len(x) == 1 else np.subtract.outer(x[0], x[1]).ravel()

    def beyond(limit: float, side: Side) -> float:
        if estimand.of == "median" or estimand.independent:
            share, chance = (whole > limit if side == "above" else whole < limit).mean(), 0.5
        elif estimand.of == "share" and estimand.n_groups == 1:
            share, chance = whole.mean(), limit
            share, chance = (share, chance) if side == "above" else (1 - share, 1 - chance)
        else:
            p = estimand.p([whole], limit, side)
            return math.ceil(whole.size * math.log(level) / math.log(p)) if 0 < p < 1 else math.inf
        return runs_for_share(float(share), level, power, chance) or math.inf

    limits = estimand.limits or [("above", 0.0)]
    towards = max(beyond(limit, side) for side, limit in limits)
    needed = min(towards, *(beyond(limit, _other(side)) for side, limit in limits))
    return int(needed) if needed <= MOST_RUNS else None


def runs_for_share(
    share: float, level: float = LEVEL, power: float = 0.8, limit: float = 0.5
) -> int | None:
    """Assumes a true share: the number of runs for a binomial test to show it above a limit.

    From the number on, the test has this power; None if it is more than `MOST_RUNS`. With the limit
    0.5, it is a sign test.
    """
    from scipy.stats import binom

    n = np.arange(1, MOST_RUNS + 1)
    rejected = binom.isf(level, n, limit) + 1  # the fewest ones whose tail is at most the level
    too_few = n[binom.sf(rejected - 1, n, share) < power]
    needed = int(too_few[-1]) + 1 if too_few.size else 1
    return needed if needed <= MOST_RUNS else None


def _known(estimand: Estimand, groups: Sequence[Values]) -> tuple[list[Floats], int]:
    """The runs with a value, by group, and the number of runs without a value."""
    if len(groups) != estimand.n_groups:
        raise ValueError(f"there must be {estimand.n_groups} groups of runs (got {len(groups)})")
    given = [
        np.array([math.nan if value is None else value for value in group], dtype=np.float64)
        for group in groups
    ]
    missing = sum(known_values(group)[1] for group in given)
    if estimand.paired and len({group.size for group in given}) > 1:
        sizes = " and ".join(str(group.size) for group in given)
        raise ValueError(f"paired runs need groups of equal size, not {sizes}")
    whole = ~np.isnan(given).any(axis=0) if estimand.paired else None
    samples = [group[~np.isnan(group) if whole is None else whole] for group in given]
    return [_within_bounds(estimand, group) for group in samples], missing


def _within_bounds(estimand: Estimand, group: Floats) -> Floats:
    """The runs, without errors of rounding at the bounds."""
    if estimand.of == "share" and not np.isin(group, (0.0, 1.0)).all():
        raise ValueError("a share of runs needs a 0 or a 1 of each run")
    if estimand.bounds is None or not group.size:
        return group
    low, high = estimand.bounds
    inside = np.clip(group, low, high)
    away = np.abs(group - inside)
    if away.max() > 1e-9 * (high - low):
        worst = group[away.argmax()]
        raise ValueError(f"a run has {worst:g}, outside the bounds {low:g} to {high:g}")
    return inside


def _verdict(
    estimand: Estimand, n: int, towards: float, against: float, fewest: int, level: float
) -> tuple[Verdict, str]:
    """The verdict of the p-values, and why there is none."""
    if not estimand.testable or n == 0:
        why = "no run has a value" if estimand.testable else NO_BOUNDS
        return "inconclusive" if estimand.limits else "no difference detected", why
    if not estimand.limits:
        if estimand.n_groups == 1:
            return "inconclusive", ""
        return "effects differ" if towards <= 2 * level else "no difference detected", ""
    if towards <= level:
        return "agrees", ""
    if against <= level:
        return "disagrees", ""
    if not fewest:
        return "too few runs", f"{MOST_RUNS} runs would not do"
    return ("too few runs", f"{fewest} runs would do") if n < fewest else ("inconclusive", "")


def _centre(estimand: Estimand, x: Sequence[Floats]) -> float:
    if len(x) > 1:
        return float(x[0].mean() - x[1].mean())
    return float(np.median(x[0]) if estimand.of == "median" else x[0].mean())


def _effect(estimand: Estimand, x: Sequence[Floats]) -> tuple[float, str]:
    """The size of the effect, and its name.

    Cliff's delta: the share of runs above the limit, or the other group, minus the share below it.
    Source: Cliff (1993), "Dominance Statistics", Psychological Bulletin 114(3).
    """
    limits = [limit for _, limit in estimand.limits]
    pairs = " within pairs" if estimand.n_groups > 1 and estimand.paired else ""
    if min(sample.size for sample in x) == 0:
        return math.nan, DELTA
    if len(limits) == 2:
        middle, half = sum(limits) / 2, (limits[1] - limits[0]) / 2
        return (_centre(estimand, x) - middle) / half, FROM_MIDDLE
    limit = limits[0] if limits else 0.0
    other = x[1] + limit if len(x) > 1 else np.array([limit])
    largest = max(np.abs(x[0]).max(), np.abs(other).max()) or 1.0
    one, other = (np.round(values / largest, 10) for values in (x[0], other))
    return float(np.sign(one[:, None] - other).mean()), f"{DELTA}{pairs}"


def _other(side: Side) -> Side:
    return "below" if side == "above" else "above"


# Two groups of decisions, whose units (the sessions of people, the runs) are independent.


class DistributionTest(NamedTuple):
    """The distance between two distributions, with a test, in units of the decisions.

    Attributes:
        wasserstein: the average distance by which decisions of one group must move to match the
            other.
        energy: energy distance.
        p: share of the splits of the pooled units with an energy distance at least as large.
        by_chance: the 95 % quantile of the Wasserstein distance over the splits.
        least_p: the smallest possible p with these numbers of units.
        units: the number of units of each group.
    """

    wasserstein: float
    energy: float
    p: float
    by_chance: float
    least_p: float
    units: tuple[int, int]


def energy_test(
    a: Floats,
    b: Floats,
    a_units: Sequence[Any] | None = None,
    b_units: Sequence[Any] | None = None,
) -> DistributionTest:
    """Assumes independent units: permutation test of them for equal distributions of two groups.

    Decisions within a unit may be dependent. The test is exact if all units have the same size.
    `a_units` has the unit of each decision of `a`; None: each decision is a unit.
    """
    (codes, names), (more, others) = (
        pd.factorize(np.arange(x.size) if units is None else pd.Series(units))
        for x, units in ((a, a_units), (b, b_units))
    )
    n, total = len(names), len(names) + len(others)
    counts, gaps = _cumulated(np.concatenate([a, b]), np.concatenate([codes, more + n]), total)
    chosen, exact = splits(total, n)
    chosen = np.vstack([np.arange(total) < n, chosen])  # the groups as they are come first
    moved, energies = [], []
    for part in np.array_split(chosen.astype(np.float64), 1 + len(chosen) // CHUNK):
        one, other = part @ counts, (1 - part) @ counts
        difference = (one / one[:, -1:] - other / other[:, -1:])[:, :-1]
        moved += (np.abs(difference) @ gaps).tolist()
        energies += (2 * difference**2 @ gaps).tolist()
    enough = energies[0] * (1 - 1e-9) - 1e-15
    at_least = sum(energy >= enough for energy in energies) - exact
    done = len(chosen) - exact
    least = (2 if exact and 2 * n == total else 1) / done  # halves are interchangeable
    by_chance = float(np.quantile(moved[1:], 0.95))
    return DistributionTest(
        moved[0], energies[0], at_least / done, by_chance, least, (n, total - n)
    )


def _cumulated(
    decisions: Floats, units: npt.NDArray[np.int64], total: int
) -> tuple[Floats, Floats]:
    """The decisions of each unit up to each distinct value, and the gaps between these values."""
    points, places = np.unique(decisions, return_inverse=True)
    if points.size > GRID:
        step = (points[-1] - points[0]) / GRID
        points, again = np.unique(np.round((points - points[0]) / step) * step, return_inverse=True)
        places = again[places]
    counts = np.zeros((total, points.size))
    np.add.at(counts, (units, places.reshape(-1)), 1.0)
    return counts.cumsum(axis=1), np.diff(points)
