"""Inference over runs: tests of a claim, their p-values, corrections, and the runs they need.

The unit of every test is the run: one number a run, since rounds and agents within a run depend
on one another. Each test gives two one-sided p-values, for the claim and against it. When neither
is small, the runs do not decide it, and `runs_needed` estimates how many would. A run without a
value (NaN or None) is left out and counted, and its pair is left out. Intervals are those of
`statistics.bootstrap_interval`.

The functions whose names end in ``_p`` take arrays whose last axis holds the runs of a condition,
one number a run and none of them NaN, and return one-sided p-values over the other axes; a 1-D
array gives an array without axes, and a condition without runs gives NaN. So `runs_needed` tests
hundreds of simulated experiments in one call. Two numbers count as equal when they differ by less
than 1e-10 of the largest, so that rounding neither makes nor breaks a tie.

The sign flips and splits are computed here and not by `scipy.stats.permutation_test`, with which
they agree (a test compares them), because that function permutes each simulated experiment by
itself (300 times slower for 400 experiments of 14 runs), refuses a condition with a single run,
and measures ties relative to the statistic, so that rounding breaks ties at 0. `scipy.stats` has
no exact Mann-Whitney test with ties and no Holm correction. Its normal approximation is used for
many pairs.

Sources:
    Fisher (1935), "The Design of Experiments", section 21: the sign-flip test, of pairs too.
    Phipson and Smyth (2010), "Permutation P-values Should Never Be Zero", Statistical Applications
    in Genetics and Molecular Biology 9(1): one is added to both counts of drawn permutations.
    Streitberg and Röhmel (1986), "Exact Distributions for Permutation and Rank Tests",
    Statistical Software Newsletter 12: the distribution of a rank sum also with ties.
    Schuirmann (1987), "A Comparison of the Two One-Sided Tests Procedure and the Power Approach",
    Journal of Pharmacokinetics and Biopharmaceutics 15: to lie in a band is to be above its lower
    limit and below its upper one; both tests have to reject.
    Arboretti, Carrozzo, Pesarin and Salmaso (2018), "Testing for Equivalence: An
    Intersection-Union Permutation Solution", Statistics in Biopharmaceutical Research 10(2): the
    same by permutations of shifted samples.
    Efron and Tibshirani (1993), "An Introduction to the Bootstrap", section 25.4: the power of a
    test from samples drawn out of the observed ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.statistics import Floats, bootstrap_interval, known_values

Values = Iterable[float | None]
Side = Literal["above", "below"]
Order = Literal["less", "more"]
DELTA = "Cliff's delta"
DELTA_WITHIN = "Cliff's delta within pairs"
FROM_MIDDLE = "distance from the middle, in half widths"
IN_MARGINS = "difference, in margins"

EXACT = 2**14
"""Permutations are all tried if they are at most this many."""
DRAWS, DRAWS_FOR_MANY = 20_000, 2_000
"""Otherwise this many are drawn: for one sample, and for each of many."""
EXACT_PAIRS = 400
"""A Mann-Whitney test of at most this many pairs of runs is exact, of more a normal limit."""
SIMULATIONS = 400
"""Experiments simulated for each number of runs: a power of 0.8 is known to ± 0.04."""
_SEED = 0
_SAME = 1e-10


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """The result of a test.

    Attributes:
        name: the kind of test.
        n: number of runs of each condition that have a value.
        missing: number of runs, over all conditions, that have none.
        statistic: mean minus value, the mean, Mann-Whitney U of the first condition, or the
            difference of means, as the test says.
        p_for: one-sided p-value for the claim; NaN when a condition has no runs.
        p_against: one-sided p-value for the opposite of the claim; NaN likewise.
        effect: size of the effect, without unit.
        effect_name: name of that measure.
        estimate: mean, or difference of means, in units of the values.
        low: lower limit of the bootstrap interval of `estimate`; NaN with one run in a condition.
        high: its upper limit.
        paired: whether runs of two conditions were compared pair by pair.
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
    paired: bool = False


def one_sample(values: Values, value: float, direction: Side, *, seed: int = 0) -> SignificanceTest:
    """Test that the mean over runs is above (or below) a value, by flipping signs.

    The statistic is mean minus `value`; the effect is Cliff's delta to the value: the share of
    runs above it less the share below (Cliff 1993, "Dominance Statistics: Ordinal Analyses to
    Answer Ordinal Questions", Psychological Bulletin 114(3)). See `one_sample_p`.

    Args:
        values: one number a run.
        value: the number with which the mean is compared, in the same unit.
        direction: ``"above"`` or ``"below"``: the claim.
        seed: of the bootstrap.

    Raises:
        ValueError: for another direction, or a number that is infinite.
    """
    x, missing = known_values(values)
    _check_finite("value", value)
    other: Side = "below" if direction == "above" else "above"
    mean = _mean(x)
    low, high = _interval(seed, x)
    return SignificanceTest(
        "sign flips", (x.size,), missing, mean - value,
        float(one_sample_p(x, value, direction)),
        float(one_sample_p(x, value, other)),
        _delta(x, np.array([float(value)])), DELTA, mean, low, high,
    )  # fmt: skip


def two_sample(a: Values, b: Values, direction: Order, *, seed: int = 0) -> SignificanceTest:
    """Test that one condition has less (or more) than another (Mann and Whitney 1947).

    The statistic is U of `a`; the effect is Cliff's delta, the share of pairs in which `a` has
    more less the share in which it has less (Cliff 1993); the estimate is mean of `a` minus mean
    of `b`. See `two_sample_p`.

    Args:
        a: one number a run of the first condition.
        b: one number a run of the second.
        direction: ``"less"`` or ``"more"``: the claim about `a`.
        seed: of the bootstrap.

    Raises:
        ValueError: for another direction, or a number that is infinite.
    """
    first, second, missing = _pair(a, b)
    other: Order = "more" if direction == "less" else "less"
    delta = _delta(first, second)
    low, high = _interval(seed, first, second)
    return SignificanceTest(
        "Mann-Whitney", (first.size, second.size), missing,
        (1 + delta) / 2 * first.size * second.size,
        float(two_sample_p(first, second, direction)),
        float(two_sample_p(first, second, other)),
        delta, DELTA, _mean(first) - _mean(second), low, high,
    )  # fmt: skip


def within(values: Values, low: float, high: float, *, seed: int = 0) -> SignificanceTest:
    """Test that the mean over runs lies in a band, by two one-sided tests (Schuirmann 1987).

    For the claim both sign-flip tests have to reject: above `low` and below `high`. Against it
    one is enough, with its p-value doubled since there are two sides. The effect is the mean's
    distance from the middle of the band in half widths: inside it lies between -1 and 1.

    Args:
        values: one number a run.
        low: lower limit of the band; for a band open to one side use `one_sample`.
        high: upper limit.
        seed: of the bootstrap.

    Raises:
        ValueError: unless `low` < `high` and both are finite, or for an infinite number.
    """
    x, missing = known_values(values)
    _check_finite("limit", low, high)
    if not low < high:
        raise ValueError(f"a band needs low < high, not {low} and {high}")
    mean = _mean(x)
    limits = _interval(seed, x)
    return SignificanceTest(
        "two one-sided sign flips", (x.size,), missing, mean,
        float(within_p(x, low, high)), float(outside_p(x, low, high)),
        (mean - (low + high) / 2) / ((high - low) / 2), FROM_MIDDLE, mean, *limits,
    )  # fmt: skip


def equivalent(a: Values, b: Values, margin: float, *, seed: int = 0) -> SignificanceTest:
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
    _check_margin(margin)
    difference = _mean(first) - _mean(second)
    limits = _interval(seed, first, second)
    return SignificanceTest(
        "two one-sided permutations", (first.size, second.size), missing, difference,
        float(equivalent_p(first, second, margin)),
        float(different_p(first, second, margin)),
        difference / margin, IN_MARGINS, difference, *limits,
    )  # fmt: skip


def paired(a: Values, b: Values, direction: Order, *, seed: int = 0) -> SignificanceTest:
    """Test that one condition has less (or more) than another, pair by pair of runs.

    Flips the signs of the differences within pairs (Fisher 1935): valid when the two runs of a pair
    could change places if the condition made no difference, whether or not they are alike. Pairs
    that are alike, such as runs with the same first positions, need far fewer runs than
    `two_sample`; pairs that are not lose little. The statistic and the estimate are the mean
    difference; the effect is Cliff's delta within pairs (Cliff 1993): the share of pairs in which
    `a` has more less the share in which it has less.

    Args:
        a: one number a run of the first condition.
        b: one number a run of the second; run i belongs to run i of the first.
        direction: ``"less"`` or ``"more"``: the claim about `a`.
        seed: of the bootstrap over pairs.

    Raises:
        ValueError: for another direction, lengths that differ, or a number that is infinite.
    """
    differences, missing = _differences(a, b)
    side: Side = "below" if _sign(direction, "more", "less") < 0 else "above"
    test = one_sample(differences, 0.0, side, seed=seed)
    return replace(
        test, name="sign flips within pairs", n=test.n * 2, missing=missing,
        effect_name=DELTA_WITHIN, paired=True,
    )  # fmt: skip


def paired_equivalent(a: Values, b: Values, margin: float, *, seed: int = 0) -> SignificanceTest:
    """Test that the means of two conditions differ by less than a margin, pair by pair of runs.

    Two one-sided sign-flip tests of the differences within pairs, as `within` makes them
    (Schuirmann 1987).

    Args:
        a: one number a run of the first condition.
        b: one number a run of the second; run i belongs to run i of the first.
        margin: the largest difference that does not matter, in units of the values.
        seed: of the bootstrap over pairs.

    Raises:
        ValueError: unless `margin` is positive and finite, for lengths that differ, or for an
            infinite number.
    """
    differences, missing = _differences(a, b)
    _check_margin(margin)
    test = within(differences, -margin, margin, seed=seed)
    return replace(
        test, name="two one-sided sign flips within pairs", n=test.n * 2, missing=missing,
        effect_name=IN_MARGINS, paired=True,
    )  # fmt: skip


def holm(p_values: Iterable[float]) -> Floats:
    """P-values adjusted for the number of tests, so that they keep the family-wise error rate.

    Source: Holm (1979), "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian
    Journal of Statistics 6(2).

    Args:
        p_values: one a test; NaN for a test without a result, which does not count.

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


def one_sample_p(values: npt.ArrayLike, value: float, side: Side) -> Floats:
    """Sign-flip test that the mean is above (or below) `value`.

    If the mean were `value` and the distribution symmetric, every difference from `value` would
    be as likely with the other sign. All 2**n signs are tried up to `EXACT`, else some are drawn.

    Args:
        values: shape (..., n).
        value: the number with which the mean is compared.
        side: ``"above"`` or ``"below"``.

    Returns:
        Shape (...): the share of sign flips whose mean is at least as far on that side.

    Raises:
        ValueError: for another `side`.
    """
    x = np.asarray(values, dtype=np.float64)
    differences = (x - value) * _sign(side, "above", "below")
    n = x.shape[-1]
    if n == 0:
        return np.full(x.shape[:-1], math.nan)
    exact = 2**n <= EXACT
    signs = _all_signs(n) if exact else _rng().choice([-1.0, 1.0], size=(_draws(x), n))
    slack = n * _SAME * np.maximum(np.abs(x).max(axis=-1), abs(value))
    return _share(differences @ signs.T, differences.sum(axis=-1) - slack, exact=exact)


def two_sample_p(a: npt.ArrayLike, b: npt.ArrayLike, order: Order) -> Floats:
    """Mann-Whitney test that `a` tends to be less (or more) than `b`.

    Exact given the ties up to `EXACT_PAIRS` pairs of runs; beyond it scipy's normal
    approximation with its corrections for ties and continuity.

    Args:
        a: shape (..., n_a).
        b: shape (..., n_b).
        order: ``"less"`` or ``"more"``: the claim about `a`.

    Returns:
        Shape (...).

    Raises:
        ValueError: for another `order`.
    """
    from scipy.stats import mannwhitneyu, rankdata

    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    sign = _sign(order, "less", "more")
    if first.shape[-1] > second.shape[-1]:
        first, second, sign = second, first, -sign
    n, n_second = first.shape[-1], second.shape[-1]
    if n == 0:
        return np.full(first.shape[:-1], math.nan)
    pooled = sign * _pooled(first, second)
    if n * n_second > EXACT_PAIRS:
        found = mannwhitneyu(
            pooled[..., :n], pooled[..., n:], alternative="less", method="asymptotic", axis=-1
        )
        return np.asarray(found.pvalue, dtype=np.float64)
    ranks = (2 * np.asarray(rankdata(pooled, axis=-1))).astype(np.int64)
    tails = [_lower_tail(row, n) for row in ranks.reshape(-1, ranks.shape[-1])]
    return np.array(tails).reshape(ranks.shape[:-1])


def more_than_p(a: npt.ArrayLike, b: npt.ArrayLike, by: float) -> Floats:
    """Permutation test that the mean of `a` exceeds that of `b` by more than `by`.

    If the two differed by `by` and in nothing else, ``a - by`` and ``b`` could change places. All
    splits of the pooled runs are tried up to `EXACT`, else some are drawn.

    Args:
        a: shape (..., n_a).
        b: shape (..., n_b).
        by: the difference, in units of the values; may be negative.

    Returns:
        Shape (...).
    """
    first, second = np.asarray(a, dtype=np.float64) - by, np.asarray(b, dtype=np.float64)
    n, n_second = first.shape[-1], second.shape[-1]
    if n == 0 or n_second == 0:
        return np.full(first.shape[:-1], math.nan)
    pooled = np.concatenate([first, second], axis=-1)
    drawn, exact = splits(n + n_second, n, _draws(first))
    slack = n * _SAME * np.maximum(np.abs(pooled).max(axis=-1), abs(by))
    return _share(pooled @ drawn.T, first.sum(axis=-1) - slack, exact=exact)


def within_p(values: npt.ArrayLike, low: float, high: float) -> Floats:
    """Test that the mean is above `low` and below `high`: the larger p of the two tests."""
    above, below = one_sample_p(values, low, "above"), one_sample_p(values, high, "below")
    return np.asarray(np.maximum(above, below), dtype=np.float64)


def outside_p(values: npt.ArrayLike, low: float, high: float) -> Floats:
    """Test that the mean is below `low` or above `high`: twice the smaller p (Bonferroni)."""
    below, above = one_sample_p(values, low, "below"), one_sample_p(values, high, "above")
    return np.asarray(np.minimum(1.0, 2 * np.minimum(below, above)), dtype=np.float64)


def equivalent_p(a: npt.ArrayLike, b: npt.ArrayLike, margin: float) -> Floats:
    """Test that the means differ by less than `margin`: the larger p of `more_than_p` both ways."""
    more, less = more_than_p(a, b, -margin), more_than_p(b, a, -margin)
    return np.asarray(np.maximum(more, less), dtype=np.float64)


def different_p(a: npt.ArrayLike, b: npt.ArrayLike, margin: float) -> Floats:
    """Test that the means differ by more than `margin`: twice the smaller p (Bonferroni)."""
    more, less = more_than_p(a, b, margin), more_than_p(b, a, margin)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(more, less)), dtype=np.float64)


def splits(
    total: int, n: int, draws: int, rng: np.random.Generator | int = _SEED
) -> tuple[Floats, bool]:
    """Choices of n of `total` places as ones among zeros: all up to `EXACT`, else some are drawn.

    Args:
        total: the number of places.
        n: how many of them are chosen.
        draws: the number of choices that are drawn when there are more than `EXACT`.
        rng: generator or seed of the draws.

    Returns:
        One choice a row, and whether they are all.
    """
    if math.comb(total, n) <= EXACT:
        return _all_splits(total, n), True
    return _some_splits(total, n, draws, np.random.default_rng(rng)), False


def runs_needed(
    test_function: Callable[..., Floats],
    samples: Sequence[npt.ArrayLike],
    alpha: float,
    power: float = 0.8,
    most: int = 500,
    rng: np.random.Generator | int = 0,
) -> int | None:
    """The smallest number of runs per condition at which a test would most likely be significant.

    Experiments with n runs in each condition are drawn with replacement from the observed runs,
    and the share with p at most `alpha` is the power at n. The number is searched for by doubling
    and then by bisection. It estimates a repetition on the assumption that the observed runs are
    typical: with few of them it is a rough guide, and it is no evidence for a claim.

    Args:
        test_function: takes one array a condition, each of shape (experiments, n), and returns
            the p-values, shape (experiments,): a function of this module with its other
            arguments bound, such as ``partial(two_sample_p, order="less")``.
        samples: the runs of each condition, one number a run; NaN is left out.
        alpha: the level of significance, between 0 and 1.
        power: the share of experiments that has to be significant, between 0 and 1.
        most: the largest number of runs that is tried, 2 or more.
        rng: generator or seed; a seed gives the same number again.

    Returns:
        The number of runs per condition, never fewer than the test needs to reach `alpha` at
        all; None if it is more than `most`, or a condition has fewer than two runs to draw from.

    Raises:
        ValueError: if `alpha`, `power` or `most` is out of range or there are no samples.
    """
    if not (0 < alpha < 1 and 0 < power < 1 and most >= 2 and samples):
        raise ValueError(
            "need samples, alpha and power between 0 and 1, and most >= 2, "
            f"not {len(samples)} samples, {alpha}, {power}, {most}"
        )
    observed = [np.asarray(sample, dtype=np.float64) for sample in samples]
    observed = [sample[~np.isnan(sample)] for sample in observed]
    if min(sample.size for sample in observed) < 2:
        return None
    seed = int(np.random.default_rng(rng).integers(2**32))

    def suffices(n: int) -> bool:
        """Whether n runs are enough; the draws depend on n alone, not on earlier tries."""
        draw = np.random.default_rng([seed, n])
        drawn = [s[draw.integers(s.size, size=(SIMULATIONS, n))] for s in observed]
        return float(np.mean(test_function(*drawn) <= alpha)) >= power

    too_few, enough = 1, 2
    while not suffices(enough):
        if enough == most:
            return None
        too_few, enough = enough, min(2 * enough, most)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if suffices(middle) else (middle, enough)
    return enough


def _pair(a: Values, b: Values) -> tuple[Floats, Floats, int]:
    (first, missing), (second, missing_too) = known_values(a), known_values(b)
    return first, second, missing + missing_too


def _differences(a: Values, b: Values) -> tuple[Floats, int]:
    """The differences within pairs, and the number of runs without a value."""
    first, second = (
        np.array([math.nan if x is None else x for x in each], float) for each in (a, b)
    )
    if first.size != second.size:
        raise ValueError(f"runs in pairs have to be as many, not {first.size} and {second.size}")
    _, missing = known_values([*first, *second])
    found = first - second
    return found[~np.isnan(found)], missing


def _check_margin(margin: float) -> None:
    if not 0 < margin < math.inf:
        raise ValueError(f"the margin has to be positive and finite, not {margin}")


def _check_finite(what: str, *numbers: float) -> None:
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"every {what} has to be finite")


def _mean(x: Floats) -> float:
    return float(x.mean()) if x.size else math.nan


def _delta(a: Floats, b: Floats) -> float:
    """Share of pairs with a above b, less the share with a below b."""
    if not (a.size and b.size):
        return math.nan
    pooled = _pooled(a, b)
    return float(np.sign(pooled[: a.size, None] - pooled[a.size :]).mean())


def _interval(seed: int, *samples: Floats) -> tuple[float, float]:
    """Bootstrap interval of the mean of one sample, or of the difference of two means."""
    if min(sample.size for sample in samples) < 2:
        return math.nan, math.nan
    low, high = bootstrap_interval(_difference_of_means, *samples, rng=seed).tolist()
    return low, high


def _difference_of_means(first: Floats, *others: Floats) -> Floats:
    difference: Floats = first.mean(axis=-1) - sum(other.mean(axis=-1) for other in others)
    return difference


def _pooled(a: Floats, b: Floats) -> Floats:
    """The runs of two conditions side by side, scaled and rounded so that equal ones are equal."""
    pooled = np.concatenate([a, b], axis=-1)
    largest = np.abs(pooled).max(axis=-1, keepdims=True, initial=0.0)
    rounded: Floats = np.round(pooled / np.where(largest > 0, largest, 1.0), 10)
    return rounded + 0.0  # no negative zeros


def _sign(word: str, plus: str, minus: str) -> int:
    if word not in {plus, minus}:
        raise ValueError(f'the direction is "{plus}" or "{minus}", not {word!r}')
    return 1 if word == plus else -1


def _rng() -> np.random.Generator:
    """A generator with a fixed seed, so that a repeated test gives the same p."""
    return np.random.default_rng(_SEED)


def _draws(values: Floats) -> int:
    return DRAWS if values.ndim == 1 else DRAWS_FOR_MANY


def _share(found: Floats, least: Floats, *, exact: bool) -> Floats:
    """Share of the permutations (last axis) whose value is at least `least`."""
    count = (found >= least[..., None]).sum(axis=-1)
    n = found.shape[-1]
    share = count / n if exact else (count + 1) / (n + 1)
    return np.asarray(share, dtype=np.float64)


def _all_signs(n: int) -> Floats:
    """Every choice of n signs, shape (2**n, n)."""
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return 2 * bits.astype(np.float64) - 1


def _all_splits(total: int, n: int) -> Floats:
    """Every choice of n of `total` places as ones among zeros, one a row."""
    chosen = np.array(list(combinations(range(total), n)))
    splits = np.zeros((len(chosen), total))
    np.put_along_axis(splits, chosen, 1.0, axis=1)
    return splits


def _some_splits(total: int, n: int, draws: int, rng: np.random.Generator) -> Floats:
    """Random choices of n of `total` places, shape (draws, total)."""
    chosen = rng.random((draws, total)).argpartition(n - 1, axis=1)[:, :n]
    splits = np.zeros((draws, total))
    np.put_along_axis(splits, chosen, 1.0, axis=1)
    return splits


def _lower_tail(ranks: npt.NDArray[np.int64], n: int) -> float:
    """Chance that n of these doubled ranks sum to no more than the first n do.

    `counts[k, s]` is the number of ways to take k of the ranks seen so far with sum s.
    """
    most = int(ranks[:n].sum())
    counts = np.zeros((n + 1, most + 1))
    counts[0, 0] = 1.0
    for rank in ranks.tolist():
        if rank <= most:
            counts[1:, rank:] += counts[:-1, : most + 1 - rank].copy()
    return float(counts[n].sum() / math.comb(len(ranks), n))
