"""P-values of tests on few runs, exact where they can be, for one sample or for many at once.

Every function takes arrays whose last axis holds the runs of a condition, one number a run and
none of them NaN, and returns one-sided p-values over the other axes; a 1-D array gives an array
of no axes, and a condition without runs gives NaN. Thus `power.runs_needed` tests hundreds of
simulated experiments in one call. Two numbers count as equal when they differ by less than a
billionth of the largest, so that rounding neither makes nor breaks a tie.

Sources:
    Fisher (1935), "The Design of Experiments", section 21: the sign-flip test.
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
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Side = Literal["above", "below"]
Order = Literal["less", "more"]

EXACT = 2**14
"""Up to this many permutations all are tried."""
DRAWS, DRAWS_FOR_MANY = 20_000, 2_000
"""Otherwise this many are drawn: for one sample, and for each of many."""
EXACT_PAIRS = 400
"""Up to this many pairs of runs a Mann-Whitney test is exact; then its normal limit serves."""
_SEED = 0
_SAME = 1e-10


def one_sample_p(values: npt.ArrayLike, value: float, side: Side) -> Floats:
    """Sign-flip test that the mean is above (or below) `value`.

    If the mean were `value` and the distribution symmetric, every difference from `value` would
    be as likely with the other sign. All 2**n signs are tried up to `EXACT`, else some are drawn.

    Args:
        values: shape (..., n).
        value: what the mean is compared with.
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
        order: ``"less"`` or ``"more"``: what `a` is claimed to be.

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
    pooled = sign * merged(first, second)
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
    exact = math.comb(n + n_second, n) <= EXACT
    splits = _all_splits(n + n_second, n) if exact else _some_splits(n + n_second, n, _draws(first))
    slack = n * _SAME * np.maximum(np.abs(pooled).max(axis=-1), abs(by))
    return _share(pooled @ splits.T, first.sum(axis=-1) - slack, exact=exact)


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


def merged(a: Floats, b: Floats) -> Floats:
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
    """A generator that always starts alike, so that a test repeated gives the same p."""
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


def _some_splits(total: int, n: int, draws: int) -> Floats:
    """Random choices of n of `total` places, shape (draws, total)."""
    chosen = _rng().random((draws, total)).argpartition(n - 1, axis=1)[:, :n]
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
