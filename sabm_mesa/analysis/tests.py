"""Tests of claims about runs: one interface for verdicts, intervals and numbers of runs.

`infer` takes the runs of one, two or four groups, and the limits of a claim. It returns an estimate
with its 95 % interval, p-values, a verdict, the effect size and the minimum number of runs. The
unit is the run: one number per run, since rounds and agents within a run are dependent. Runs
without a value (NaN or None) are left out and counted, together with their pairs.

Runs of two groups are paired by seed: the test for one group is applied to the differences. For
four groups a, b, c, d the quantity is the difference of differences (a − b) − (c − d). The tests:

median
    `sign_test`. The quantity of two groups is the median of the differences.
share
    `share_test`; for differences of shares `betting_test`.
mean
    `betting_test`, for a measure with known bounds. Without bounds no test of a mean is valid: a
    single rare run can move the mean anywhere.

Groups that are not paired are compared by their means, with `shift_test`.

Sources:
    Dixon and Mood (1946), "The Statistical Sign Test", Journal of the American Statistical
    Association 41.
    Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting",
    Journal of the Royal Statistical Society B 86(1), section 4 and appendix B ("diversified Kelly
    betting": several constant bets at once).
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15: to lie between two
    limits is to be above one and below the other; both tests must reject.
    Holm (1979), "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
    Statistics 6(2): several verdicts at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

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
)

Values = Iterable[float | None]
Of = Literal["mean", "median", "share"]
Verdict = Literal[
    "agrees",
    "disagrees",
    "inconclusive",
    "too few runs",
    "effects differ",
    "no difference detected",
]
AGREES: Verdict = "agrees"
DISAGREES: Verdict = "disagrees"
INCONCLUSIVE: Verdict = "inconclusive"
TOO_FEW: Verdict = "too few runs"
DIFFER: Verdict = "effects differ"
NO_DIFFERENCE: Verdict = "no difference detected"
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
_SAME = 1e-10
_GROUPS = (1, 2, 4)


# The tests. Each gives the one-sided p-value that a quantity is above (or below) a limit.


def sign_test(x: Floats, limit: float, side: Side) -> float:
    """Sign test of a median, for independent runs of any distribution.

    A run at the limit counts against the claim.
    """
    slack = _SAME * np.maximum(np.abs(x), abs(limit))
    beyond = x > limit + slack if side == "above" else x < limit - slack
    return _binomial(int(beyond.sum()), x.size, 0.5)


def share_test(x: Floats, limit: float, side: Side) -> float:
    """Exact binomial test of a share, for independent runs that are 0 or 1."""
    ones = int(x.sum())
    if side == "above":
        return _binomial(ones, x.size, limit)
    return _binomial(x.size - ones, x.size, 1 - limit)


def betting_test(x: Floats, limit: float, side: Side, bounds: tuple[float, float]) -> float:
    """Bets on a mean, for independent runs of any distribution between two bounds.

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
    """Permutation test of two means, for independent groups that differ by a shift alone."""
    from scipy.stats import permutation_test

    sign = 1 if side == "above" else -1

    def distance(one: Floats, other: Floats, axis: int = -1) -> Any:
        return sign * (one.mean(axis=axis) - other.mean(axis=axis))

    found = permutation_test(
        (a - limit, b), distance, vectorized=True, n_resamples=RESAMPLES, alternative="greater",
        rng=np.random.default_rng(0),
    )  # fmt: skip
    return float(found.pvalue)


def holm(p_values: Iterable[float]) -> Floats:
    """P-values that control the family-wise error rate, for any dependence of the tests (Holm).

    Args:
        p_values: one per test; tests without a result (NaN) do not count.

    Returns:
        Array of the same length and order, with NaN at the same positions.

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


@lru_cache(maxsize=100_000)
def _binomial(ones: int, n: int, chance: float) -> float:
    """The probability of at least this number of successes."""
    from scipy.stats import binomtest

    return float(binomtest(ones, n, min(max(chance, 0.0), 1.0), alternative="greater").pvalue)


# Claims.


@dataclass(frozen=True, slots=True)
class Estimand:
    """The quantity of a claim, and the limits that the claim sets.

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
        if self.n_groups not in _GROUPS:
            raise ValueError(f"there are 1, 2 or 4 groups of runs (got {self.n_groups})")
        limits = [limit for _, limit in self.limits]
        if not all(math.isfinite(limit) for limit in limits):
            raise ValueError("every limit must be finite; leave out the one that is open")
        if len(limits) == 2 and not limits[0] < limits[1]:
            raise ValueError(f"a claim between two limits needs above < below, not {limits}")
        if self.bounds is not None and not (
            all(map(math.isfinite, self.bounds)) and self.bounds[0] < self.bounds[1]
        ):
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
        pairs = " of pairs" if self.n_groups > 1 else ""
        if self.of == "median":
            return f"sign test{pairs}"
        if self.of == "share" and not pairs:
            return "binomial test"
        return f"bets{pairs.replace('of', 'on')}"

    def p(self, x: Sequence[Floats], limit: float, side: Side) -> float:
        """The p-value that the estimand is above (or below) a limit.

        Args:
            x: one sample, or two independent ones.
            limit: the limit.
            side: the side of the limit.

        Returns:
            NaN if no valid test exists, or without runs.
        """
        if not self.testable or min(sample.size for sample in x) == 0:
            return math.nan
        if len(x) > 1:
            return shift_test(x[0], x[1], limit, side)
        if self.of == "median":
            return sign_test(x[0], limit, side)
        if self.of == "share" and self.n_groups == 1:
            return share_test(x[0], limit, side)
        return betting_test(x[0], limit, side, self.range or (0.0, 1.0))

    def p_values(self, x: Sequence[Floats]) -> tuple[float, float]:
        """The one-sided p-values for the claim and for its opposite.

        For the opposite of a claim with two limits, the smaller p of both sides is doubled
        (Bonferroni). Without limits, the first is the two-sided p-value of a difference, and the
        second is NaN.

        Args:
            x: one sample, or two independent ones.
        """
        if not self.limits:
            return min(2 * min(self.p(x, 0.0, side) for side in get_args(Side)), 1.0), math.nan
        towards = [self.p(x, limit, side) for side, limit in self.limits]
        against = [self.p(x, limit, _other(side)) for side, limit in self.limits]
        return max(towards), min(len(against) * min(against), 1.0)  # NaN stays

    def interval(self, x: Sequence[Floats]) -> tuple[float, float]:
        """The values that neither one-sided test at `LEVEL` rejects; for untestable ones Student's.

        Args:
            x: one sample, or two independent ones.

        Returns:
            The two ends; NaN if the runs exclude nothing.
        """
        if min(sample.size for sample in x) == 0:
            return NONE
        if len(x) > 1:
            return shift_interval(x[0], x[1])
        if self.of == "median":
            return sign_interval(x[0])
        if self.of == "share" and self.n_groups == 1:
            return share_interval(x[0])
        if self.range is None:
            return mean_interval(x[0])
        return inverted(lambda limit, side: self.p(x, limit, side), float(x[0].mean()), self.range)

    def least_p(self, n: int) -> float:
        """The smallest one-sided p-value of the claim with n runs per group.

        Args:
            n: the number of runs.
        """
        if not self.testable or n < 1:
            return 1.0
        if self.independent:
            return max(1 / math.comb(2 * n, n), 1 / (RESAMPLES + 1))
        if self.of == "median":
            return 0.5**n
        low, high = self.range or (0.0, 1.0)
        limits = self.limits or [("above", 0.0)]
        if self.of == "share" and self.n_groups == 1:
            from scipy.stats import binom

            ones = np.arange(n + 1)
            tails = [
                binom.sf(ones - 1, n, limit) if side == "above" else binom.cdf(ones, n, limit)
                for side, limit in limits
            ]
            return float(np.max(tails, axis=0).min())
        equal_runs = (np.full(n, value) for value in np.linspace(low, high, 41))
        return min(max(self.p([x], limit, side) for side, limit in limits) for x in equal_runs)

    def fewest_runs(self, level: float = LEVEL) -> int:
        """The minimum number of runs per group with which the test could show the claim.

        A share of at least 0.9 needs 36 runs at 2.5 %, and a mean below 0.5 of a measure from 0
        to 20 needs 168.

        Args:
            level: the level.

        Returns:
            The number; 0 if `MOST_RUNS` are not enough.
        """
        fewest, enough = 1, MOST_RUNS
        if self.least_p(enough) > level:
            return 0
        while fewest < enough:
            middle = (fewest + enough) // 2
            fewest, enough = (
                (fewest, middle) if self.least_p(middle) <= level else (middle + 1, enough)
            )
        return fewest


@dataclass(frozen=True, slots=True)
class Inference:
    """The result of `infer`: the evidence of runs about an estimand.

    Attributes:
        estimand: the estimand, and the claim about it.
        verdict: ``agrees``, ``disagrees``, ``inconclusive`` or ``too few runs`` (the test could not
            show the claim with so few); without a claim ``effects differ`` or ``no difference
            detected``, or ``inconclusive`` for a single group.
        estimate: in units of the measure (a share from 0 to 1).
        low: lower end of its 95 % interval; NaN without one.
        high: upper end.
        p_for: one-sided p-value for the claim; without a claim the two-sided one of a difference.
        p_against: one-sided p-value for the opposite of the claim; NaN without a claim.
        n: number of runs with a value in each group.
        missing: number of runs, over all groups, without a value.
        effect: effect size, without unit.
        effect_name: name of the measure of effect size.
        fewest: minimum number of runs per group with which the test could show the claim at the
            level; 0 if there is no such number.
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
    margin: float | None = None,
    bounds: tuple[float, float] | None = None,
    paired: bool = False,
    level: float = LEVEL,
) -> Inference:
    """Estimate a quantity of runs and judge a claim about it; all verdicts use this function.

    Examples of claims::

        infer(got_out, of="share", above=0.9)  # of runs, each 0 or 1
        infer(price, of="mean", above=6.5, below=7.5, bounds=(0, 20))
        infer(change, below=0)
        infer(talking, silent, below=0, paired=True)
        infer(one, other, of="mean", margin=0.5, bounds=(0, 20), paired=True)
        infer(a, b, c, d, paired=True)  # no limit: do the differences differ?

    Args:
        groups: one, two or four groups, each with one number per run.
        of: see `Estimand`.
        above: see `Estimand`.
        below: see `Estimand`.
        margin: short for above = −margin, below = margin.
        bounds: see `Estimand`.
        paired: see `Estimand`.
        level: the level of each one-sided test of the verdict. The interval always has 95 %.

    Returns:
        The inference. Its verdict is at `level`, not corrected for other claims; see `holm`.

    Raises:
        ValueError: for a wrong number of groups, pairs of different length, a run outside the
            bounds, a share that is neither 0 nor 1, an infinite number, or invalid limits.
    """
    if margin is not None:
        if not 0 < margin < math.inf:
            raise ValueError(f"the margin must be positive and finite, not {margin}")
        above, below = -margin, margin
    return infer_of(Estimand(of, len(groups), above, below, bounds, paired), *groups, level=level)


def infer_of(estimand: Estimand, *groups: Values, level: float = LEVEL) -> Inference:
    """`infer` for an existing estimand.

    Args:
        estimand: the estimand.
        groups: one number per run of each group.
        level: see `infer`.

    Raises:
        ValueError: see `infer`.
    """
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
    """The sample of an estimand: runs or their differences; two of them for independent groups.

    Args:
        estimand: the estimand.
        runs: the runs of each group; those of pairs have equal numbers.
    """
    if estimand.n_groups == 1 or (estimand.n_groups == 2 and not estimand.paired):
        return list(runs)
    n = [min(a.size, b.size) for a, b in zip(runs[::2], runs[1::2], strict=True)]
    parts = [a[:k] - b[:k] for a, b, k in zip(runs[::2], runs[1::2], n, strict=True)]
    return [parts[0] - parts[1]] if estimand.paired and len(parts) == 2 else parts


def runs_needed(
    estimand: Estimand, runs: Sequence[Values], level: float = LEVEL, power: float = 0.8
) -> int | None:
    """The number of runs per group for a verdict, if the truth is the distribution of these runs.

    For medians and shares, the power of the exact test; for means, the number after which the
    wealth of the bets reaches 1 / level at its present growth. Independent groups count as pairs at
    random, which is cautious.

    Args:
        estimand: the estimand, with a claim.
        runs: the runs of each group.
        level: of the one-sided tests.
        power: the probability of a verdict.

    Returns:
        The number; None if `MOST_RUNS` are not enough, or it is not known.
    """
    known, _ = _known(estimand, runs)
    x = samples_of(estimand, known)
    if min(sample.size for sample in x) < 2 or not estimand.testable:
        return None
    if len(x) > 1:
        x = [np.subtract.outer(x[0], x[1]).ravel()]

    def needed(limit: float, side: Side) -> int | None:
        if estimand.of == "median" or estimand.independent:
            beyond = x[0] > limit if side == "above" else x[0] < limit
            return runs_for_share(float(beyond.mean()), level, power)
        if estimand.of == "share" and estimand.n_groups == 1:
            ones = x[0] if side == "above" else 1 - x[0]
            return runs_for_share(
                float(ones.mean()), level, power, limit if side == "above" else 1 - limit
            )
        p = estimand.p(x, limit, side)
        n = math.ceil(x[0].size * math.log(level) / math.log(p)) if 0 < p < 1 else MOST_RUNS + 1
        return n if n <= MOST_RUNS else None

    limits = estimand.limits or [("above", 0.0)]
    towards = [needed(limit, side) for side, limit in limits]
    either = [needed(limit, _other(side)) for side, limit in limits]
    either += [None if None in towards else max(n for n in towards if n is not None)]
    return min((n for n in either if n is not None), default=None)


def runs_for_share(
    share: float, level: float = LEVEL, power: float = 0.8, limit: float = 0.5
) -> int | None:
    """The number of runs for a binomial test to show that a share is above a limit.

    Args:
        share: the true share.
        level: of the one-sided test.
        power: the probability of detection.
        limit: the limit; 0.5 for a sign test.

    Returns:
        The smallest number from which on the test has this power; None if it is more than
        `MOST_RUNS`.
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
    bounds = (0.0, 1.0) if estimand.of == "share" else estimand.bounds
    for group in samples:
        if estimand.of == "share" and not np.isin(group, (0.0, 1.0)).all():
            raise ValueError("a share of runs needs a 0 or a 1 of each run")
        if bounds is not None and group.size:
            low, high = bounds
            slack = 1e-9 * (high - low)
            if group.min() < low - slack or group.max() > high + slack:
                worst = group[np.argmax(np.maximum(low - group, group - high))]
                raise ValueError(f"a run has {worst:g}, outside the bounds {low:g} to {high:g}")
            np.clip(group, low, high, out=group)
    return samples, missing


def _verdict(
    estimand: Estimand, n: int, towards: float, against: float, fewest: int, level: float
) -> tuple[Verdict, str]:
    """The verdict of the p-values, and why there is none."""
    if not estimand.testable:
        return INCONCLUSIVE if estimand.limits else NO_DIFFERENCE, NO_BOUNDS
    if n == 0:
        return INCONCLUSIVE if estimand.limits else NO_DIFFERENCE, "no run has a value"
    if not estimand.limits:
        if estimand.n_groups == 1:
            return INCONCLUSIVE, ""
        return DIFFER if towards <= 2 * level else NO_DIFFERENCE, ""
    if towards <= level:
        return AGREES, ""
    if against <= level:
        return DISAGREES, ""
    if not fewest:
        return TOO_FEW, f"{MOST_RUNS} runs would not do"
    if n < fewest:
        return TOO_FEW, f"{fewest} runs would do"
    return INCONCLUSIVE, ""


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
