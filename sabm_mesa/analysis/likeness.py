"""Similarity of the decisions of two groups: distances, effects, variance components.

A group is a `DecisionSample`: decisions, each with the unit to which it belongs. Decisions within a
unit may be dependent (the players of a session, after its first round); units are independent. So
whole units are permuted. `energy_test` keeps its error rate for any dependence within
units, and is exact if all units have the same size. scipy has both distances, but no permutation of
units.

Sources:
    Székely and Rizzo (2013), "Energy Statistics: A Class of Statistics Based on Distances", Journal
    of Statistical Planning and Inference 143(8): the energy distance; for numbers it is twice the
    integral of the squared difference of the two distribution functions.
    Vallender (1974), "Calculation of the Wasserstein Distance Between Probability Distributions on
    the Line", Theory of Probability and Its Applications 18(4): the integral of the absolute
    difference.
    Fieller (1954), "Some Problems in Interval Estimation", Journal of the Royal
    Statistical Society B 16(2): the interval of a ratio of two means. Searle, Casella and McCulloch
    (1992), "Variance Components", section 3.6: parts of the variance by the method of moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.intervals import Floats

Units = npt.NDArray[np.int64]
PERMUTATIONS = 2_000
"""Number of random splits of the units if there are too many to try all."""
GRID = 1_000
"""Maximum number of distinct values in distances; with more, values are rounded to a grid of this
size.
"""
CHUNK = 200
EXACT = 2**14
"""Maximum number of splits for exhaustive enumeration."""


@dataclass(frozen=True, eq=False)
class DecisionSample:
    """Decisions of a group.

    Attributes:
        decisions: shape (n,), finite numbers.
        units: shape (n,): the number of each decision's unit, from 0 without gaps.
    """

    decisions: Floats
    units: Units

    @classmethod
    def of(cls, values: npt.ArrayLike, units: Sequence[object] | None = None) -> DecisionSample:
        """Make a sample.

        Args:
            values: the decisions; NaN (no decision) is left out.
            units: the name of each decision's unit; None: each decision is a unit.

        Raises:
            ValueError: for an infinite decision, or when the numbers of units and decisions differ.
        """
        given = np.asarray(values, dtype=np.float64)
        known = ~np.isnan(given)
        if np.isinf(given).any():
            raise ValueError("every decision must be finite")
        if units is None:
            return cls(given[known], np.arange(int(known.sum())))
        if len(units) != given.size:
            raise ValueError(f"{given.size} decisions have {len(units)} units: need one for each")
        names = [str(name) for name, is_known in zip(units, known, strict=True) if is_known]
        _, codes = np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)
        return cls(given[known], codes.astype(np.int64))

    @property
    def n_units(self) -> int:
        """The number of units."""
        return int(self.units.max(initial=-1)) + 1


class DistributionTest(NamedTuple):
    """The distance between two distributions, with a test.

    Attributes:
        wasserstein: Wasserstein distance in units of the decisions: the average distance by which
            decisions of one group must move to match the other.
        energy: energy distance, in units of the decisions.
        p: share of the splits of the pooled units with an energy distance at least as large.
        by_chance: the 95 % quantile of the Wasserstein distance over the splits.
        least_p: the smallest possible p with these numbers of units.
    """

    wasserstein: float
    energy: float
    p: float
    by_chance: float
    least_p: float


class Interval(NamedTuple):
    """A number with its 95 % interval.

    Attributes:
        value: the number; NaN when it is not defined.
        low: lower limit; NaN without a value or with fewer than two units.
        high: upper limit.
    """

    value: float
    low: float
    high: float


class Components(NamedTuple):
    """Variance components of decisions, in squared units of the decisions.

    Attributes:
        between: the variance between people (or agents): their lasting differences.
        within: the variance of a person from round to round.
    """

    between: float
    within: float

    @property
    def share(self) -> float:
        """Share of the variance between persons; NaN without variance."""
        total = self.between + self.within
        return self.between / total if total > 0 else math.nan


def energy_test(
    a: DecisionSample, b: DecisionSample, *, rng: np.random.Generator | int = 0
) -> DistributionTest:
    """Permutation test of units for equal distributions of two groups.

    Args:
        a: a group.
        b: the other.
        rng: generator or seed of random splits.

    Raises:
        ValueError: when a group has no decision.
    """
    counts, sizes, gaps = _counts(a, b)
    n = a.n_units
    wasserstein, energy = _distances(_first(n, len(sizes)), counts, sizes, gaps)
    drawn, exact = splits(len(sizes), n, PERMUTATIONS, rng)
    moved, energies = _distances(drawn, counts, sizes, gaps)
    at_least = int((energies >= energy[0] * (1 - 1e-9) - 1e-15).sum())
    p = at_least / len(drawn) if exact else (at_least + 1) / (len(drawn) + 1)
    least = 1 / len(drawn) if exact else 1 / (len(drawn) + 1)
    if exact and 2 * n == len(sizes):
        least *= 2  # the two groups are interchangeable
    return DistributionTest(
        float(wasserstein[0]), float(energy[0]), p, float(np.quantile(moved, 0.95)), least
    )


def effect_ratio(
    runs: Floats, people: Floats, *, runs_other: Floats | None = None,
    people_other: Floats | None = None,
) -> Interval:  # fmt: skip
    """Ratio of the effects of runs and people, with Fieller's interval over units.

    The interval contains the ratios that Student's t does not reject, with the degrees of freedom
    of Welch and Satterthwaite at the estimated ratio. It is unbounded if the effect of people is
    not significantly different from 0. With 6 sessions and 6 runs it covers the truth in
    95 % of cases.

    Args:
        runs: the effect of each unit of the runs; with `runs_other`, its mean in one condition.
        people: the same of people.
        runs_other: the means of other units in another condition, which is subtracted.
        people_other: the same of people.
    """
    from scipy.special import stdtrit

    def difference(one: Floats, other: Floats | None) -> tuple[float, list[tuple[float, int]]]:
        both = [one] if other is None else [one, other]
        mean = float(one.mean() - (0.0 if other is None else other.mean()))
        few = any(sample.size < 2 for sample in both)
        variances = [
            math.nan if few else float(sample.var(ddof=1)) / sample.size for sample in both
        ]
        return mean, [(v, sample.size - 1) for v, sample in zip(variances, both, strict=True)]

    top, of_runs = difference(runs, runs_other)
    bottom, of_people = difference(people, people_other)
    if bottom == 0:
        return Interval(math.nan, math.nan, math.nan)
    value = top / bottom
    parts = [*of_runs, *((value**2 * v, df) for v, df in of_people)]
    noise = sum(v for v, _ in parts)
    if math.isnan(noise):
        return Interval(value, math.nan, math.nan)
    if not noise:
        return Interval(value, value, value)
    t = float(stdtrit(noise**2 / sum(v**2 / df for v, df in parts), 0.975))
    known = bottom**2 - t**2 * sum(v for v, _ in of_people)
    if known <= 0:
        return Interval(value, -math.inf, math.inf)
    rest = top**2 - t**2 * sum(v for v, _ in of_runs)
    half = math.sqrt(max(0.0, (top * bottom) ** 2 - known * rest))
    return Interval(value, (top * bottom - half) / known, (top * bottom + half) / known)


def components(
    values: npt.ArrayLike, cells: Sequence[object], persons: Sequence[object]
) -> Components:
    """Variance components between and within persons, by the method of moments.

    The mean of each cell (a round of a session) is subtracted first, so that common learning and
    the level of a session do not count.

    Args:
        values: the decisions; NaN is left out.
        cells: the session and round of each decision.
        persons: the person who made each decision.

    Returns:
        NaN if no person decided twice or no session has two persons. A negative estimate of the
        variance between persons is set to 0.
    """
    import pandas as pd

    frame = pd.DataFrame(
        {"value": np.asarray(values, dtype=np.float64), "cell": list(cells), "who": list(persons)}
    ).dropna()
    by_cell = frame.groupby("cell")["value"]
    frame = frame[by_cell.transform("size") > 1]
    size = frame.groupby("cell")["value"].transform("size")
    # Correct for the variance that subtracting a mean of m decisions removes.
    rest = (frame["value"] - frame.groupby("cell")["value"].transform("mean")) * np.sqrt(
        size / (size - 1)
    )
    groups = rest.groupby(frame["who"])
    n = groups.size().to_numpy(dtype=np.float64)
    total, k = float(n.sum()), len(n)
    if k < 2 or total <= k:
        return Components(math.nan, math.nan)
    means = groups.mean().to_numpy(dtype=np.float64)
    within = float((groups.var(ddof=0).to_numpy(dtype=np.float64) * n).sum()) / (total - k)
    mean_square = float((n * (means - (n * means).sum() / total) ** 2).sum()) / (k - 1)
    typical = (total - float((n**2).sum()) / total) / (k - 1)
    return Components(max(0.0, (mean_square - within) / typical), within)


def _counts(a: DecisionSample, b: DecisionSample) -> tuple[Floats, Floats, Floats]:
    """Cumulative counts of decisions by unit (units, values), their total, and the gaps."""
    if not (a.decisions.size and b.decisions.size):
        raise ValueError("a group has no decision")
    values = np.concatenate([a.decisions, b.decisions])
    units = np.concatenate([a.units, b.units + a.n_units])
    points, places = np.unique(values, return_inverse=True)
    if points.size > GRID:
        step = (points[-1] - points[0]) / GRID
        points, places = np.unique(np.round((values - points[0]) / step), return_inverse=True)
        points = points * step
    counts = np.zeros((a.n_units + b.n_units, points.size))
    np.add.at(counts, (units, places.reshape(-1)), 1.0)
    counts = counts.cumsum(axis=1)
    return counts[:, :-1], counts[:, -1].copy(), np.diff(points)


def _cdf(chosen: Floats, counts: Floats, sizes: Floats) -> Floats:
    """Distribution function of the decisions of the chosen units (rows of ones and zeros)."""
    shares: Floats = (chosen @ counts) / (chosen @ sizes)[:, None]
    return shares


def _distances(
    chosen: Floats, counts: Floats, sizes: Floats, gaps: Floats
) -> tuple[Floats, Floats]:
    """Wasserstein and energy distance between the chosen units and the others, by row."""
    moved, energy = [], []
    for start in range(0, len(chosen), CHUNK):
        part = chosen[start : start + CHUNK]
        difference = _cdf(part, counts, sizes) - _cdf(1 - part, counts, sizes)
        moved.append(np.abs(difference) @ gaps)
        energy.append(2 * (difference**2) @ gaps)
    return np.concatenate(moved), np.concatenate(energy)


def _first(n: int, total: int) -> Floats:
    return np.array([[1.0] * n + [0.0] * (total - n)])


def splits(
    total: int, n: int, draws: int, rng: np.random.Generator | int = 0
) -> tuple[Floats, bool]:
    """Choices of n of `total` positions as 0/1 rows: all of them up to `EXACT`, otherwise a sample.

    Args:
        total: the number of positions.
        n: the number of chosen positions.
        draws: the size of the sample if there are more than `EXACT` choices.
        rng: generator or seed of the sample.

    Returns:
        One choice per row, and whether the rows are all choices.
    """
    if math.comb(total, n) <= EXACT:
        return _all_splits(total, n), True
    return _some_splits(total, n, draws, np.random.default_rng(rng)), False


def _all_splits(total: int, n: int) -> Floats:
    """All choices of n of `total` positions, as one 0/1 row per choice."""
    chosen = np.array(list(combinations(range(total), n)))
    splits = np.zeros((len(chosen), total))
    np.put_along_axis(splits, chosen, 1.0, axis=1)
    return splits


def _some_splits(total: int, n: int, draws: int, rng: np.random.Generator) -> Floats:
    """Random choices of n of `total` positions, shape (draws, total)."""
    chosen = rng.random((draws, total)).argpartition(n - 1, axis=1)[:, :n]
    splits = np.zeros((draws, total))
    np.put_along_axis(splits, chosen, 1.0, axis=1)
    return splits
