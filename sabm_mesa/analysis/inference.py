"""Tests of a claim on runs: is it borne out, refuted, or left open?

The unit of every test is the run: one number a run, since rounds and agents within a run depend
on one another. Each test gives two one-sided p-values, for the claim and against it; when neither
is small, the runs do not tell, and `power.runs_needed` says how many would. A run without a value
(NaN or None) is left out and counted. The p-values are those of `permutation`, with their
sources; intervals are percentile intervals of a bootstrap over runs (Efron and Tibshirani 1993,
"An Introduction to the Bootstrap", chapter 13), somewhat narrow for few runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis import permutation
from sabm_mesa.analysis.permutation import Floats, Order, Side

Values = Iterable[float | None]
CONFIDENCE = 0.95
RESAMPLES = 2000
DELTA = "Cliff's delta"
FROM_MIDDLE = "distance from the middle, in half widths"
IN_MARGINS = "difference, in margins"


@dataclass(frozen=True, slots=True)
class Test:
    """What a test found.

    Attributes:
        name: the kind of test.
        n: number of runs of each condition that have a value.
        missing: number of runs, over all conditions, that have none.
        statistic: mean minus value, the mean, Mann-Whitney U of the first condition, or the
            difference of means, as the test says.
        p_for: one-sided p-value for the claim; NaN when a condition has no runs.
        p_against: one-sided p-value for the opposite of the claim; NaN likewise.
        effect: size of the effect, without unit.
        effect_name: which measure of size that is.
        estimate: mean, or difference of means, in units of the values.
        low: lower limit of the bootstrap interval of `estimate`; NaN with one run in a condition.
        high: its upper limit.
    """

    name: str
    n: tuple[int, ...]
    missing: int
    statistic: float
    p_for: float
    p_against: float
    effect: float
    effect_name: str
    estimate: float
    low: float
    high: float


def one_sample(values: Values, value: float, direction: Side, *, seed: int = 0) -> Test:
    """Test that the mean over runs is above (or below) a value, by flipping signs.

    The statistic is mean minus `value`; the effect is Cliff's delta to the value: the share of
    runs above it less the share below (Cliff 1993, "Dominance Statistics: Ordinal Analyses to
    Answer Ordinal Questions", Psychological Bulletin 114(3)). See `permutation.one_sample_p`.

    Args:
        values: one number a run.
        value: what the mean is compared with, in the same unit.
        direction: ``"above"`` or ``"below"``: the claim.
        seed: of the bootstrap.

    Raises:
        ValueError: for another direction, or a number that is infinite.
    """
    x, missing = _numbers(values)
    _finite("value", value)
    other: Side = "below" if direction == "above" else "above"
    mean = _mean(x)
    low, high = _interval(seed, x)
    return Test(
        "sign flips", (x.size,), missing, mean - value,
        _p(permutation.one_sample_p, x, value, direction),
        _p(permutation.one_sample_p, x, value, other),
        _delta(x, np.array([float(value)])), DELTA, mean, low, high,
    )  # fmt: skip


def two_sample(a: Values, b: Values, direction: Order, *, seed: int = 0) -> Test:
    """Test that one condition has less (or more) than another (Mann and Whitney 1947).

    The statistic is U of `a`; the effect is Cliff's delta, the share of pairs in which `a` has
    more less the share in which it has less (Cliff 1993); the estimate is mean of `a` minus mean
    of `b`. See `permutation.two_sample_p`.

    Args:
        a: one number a run of the first condition.
        b: one number a run of the second.
        direction: ``"less"`` or ``"more"``: what `a` is claimed to be.
        seed: of the bootstrap.

    Raises:
        ValueError: for another direction, or a number that is infinite.
    """
    first, second, missing = _pair(a, b)
    other: Order = "more" if direction == "less" else "less"
    delta = _delta(first, second)
    low, high = _interval(seed, first, second)
    return Test(
        "Mann-Whitney", (first.size, second.size), missing,
        (1 + delta) / 2 * first.size * second.size,
        _p(permutation.two_sample_p, first, second, direction),
        _p(permutation.two_sample_p, first, second, other),
        delta, DELTA, _mean(first) - _mean(second), low, high,
    )  # fmt: skip


def within(values: Values, low: float, high: float, *, seed: int = 0) -> Test:
    """Test that the mean over runs lies in a band, by two one-sided tests (Schuirmann 1987).

    For the claim both sign-flip tests have to reject: above `low` and below `high`. Against it
    one is enough, its p-value doubled since there are two sides. The effect is the mean's
    distance from the middle of the band in half widths: inside it lies between -1 and 1.

    Args:
        values: one number a run.
        low: lower limit of the band; for a band open to one side use `one_sample`.
        high: upper limit.
        seed: of the bootstrap.

    Raises:
        ValueError: unless `low` < `high` and both are finite, or for an infinite number.
    """
    x, missing = _numbers(values)
    _finite("limit", low, high)
    if not low < high:
        raise ValueError(f"a band needs low < high, not {low} and {high}")
    mean = _mean(x)
    limits = _interval(seed, x)
    return Test(
        "two one-sided sign flips", (x.size,), missing, mean,
        _p(permutation.within_p, x, low, high), _p(permutation.outside_p, x, low, high),
        (mean - (low + high) / 2) / ((high - low) / 2), FROM_MIDDLE, mean, *limits,
    )  # fmt: skip


def equivalent(a: Values, b: Values, margin: float, *, seed: int = 0) -> Test:
    """Test that the means of two conditions differ by less than a margin.

    Two one-sided permutation tests of the difference of means, each on runs shifted by the
    margin (Schuirmann 1987; Arboretti et al. 2018). They take the two distributions to have one
    shape under the null; where the spreads differ widely and the numbers of runs too, they are
    approximate. Permutations are chosen over a bootstrap because they are exact for few runs.

    Args:
        a: one number a run of the first condition.
        b: one number a run of the second.
        margin: the largest difference that does not matter, in units of the values.
        seed: of the bootstrap.

    Raises:
        ValueError: unless `margin` is positive and finite, or for an infinite number.
    """
    first, second, missing = _pair(a, b)
    if not 0 < margin < math.inf:
        raise ValueError(f"the margin has to be positive and finite, not {margin}")
    difference = _mean(first) - _mean(second)
    limits = _interval(seed, first, second)
    return Test(
        "two one-sided permutations", (first.size, second.size), missing, difference,
        _p(permutation.equivalent_p, first, second, margin),
        _p(permutation.different_p, first, second, margin),
        difference / margin, IN_MARGINS, difference, *limits,
    )  # fmt: skip


def holm(p_values: Iterable[float]) -> Floats:
    """P-values adjusted for the number of tests, so that the chance of any false claim is kept.

    Source: Holm (1979), "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian
    Journal of Statistics 6(2).

    Args:
        p_values: one a test; NaN for a test that could not be made, which does not count.

    Returns:
        Array of the same length and order; NaN where it was NaN.

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


def _numbers(values: Values) -> tuple[Floats, int]:
    """The values there are, and how many are missing."""
    given = pd.Series(list(values), dtype=object).to_numpy(dtype=np.float64, na_value=np.nan)
    found = given[~np.isnan(given)]
    _finite("value", *found)
    return found, given.size - found.size


def _pair(a: Values, b: Values) -> tuple[Floats, Floats, int]:
    (first, missing), (second, missing_too) = _numbers(a), _numbers(b)
    return first, second, missing + missing_too


def _finite(what: str, *numbers: float) -> None:
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"every {what} has to be finite")


def _mean(x: Floats) -> float:
    return float(x.mean()) if x.size else math.nan


def _p(function: Callable[..., npt.NDArray[np.float64]], *arguments: Any) -> float:
    return float(function(*arguments))


def _delta(a: Floats, b: Floats) -> float:
    """Share of pairs with a above b, less the share with a below b."""
    if not (a.size and b.size):
        return math.nan
    pooled = permutation.merged(a, b)
    return float(np.sign(pooled[: a.size, None] - pooled[a.size :]).mean())


def _interval(seed: int, x: Floats, other: Floats | None = None) -> tuple[float, float]:
    """Percentile interval of the mean of `x`, less that of `other` if there is one."""
    samples = [x] if other is None else [x, other]
    if min(sample.size for sample in samples) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    means = [s[rng.integers(s.size, size=(RESAMPLES, s.size))].mean(axis=1) for s in samples]
    estimates = means[0] if other is None else means[0] - means[1]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(estimates, [tail, 1 - tail])
    return float(low), float(high)
