"""The verdict of an audit on a claim: robust, fragile, failing, or inconclusive.

The effect of a claim is its quantity: a measure, or the difference of two conditions in runs of the
same seed. It is measured in every cell with the same seeds, and the seed is the unit of all tests:
the mean of a level is taken within each seed first, and the sign test of
`sabm_mesa.analysis.tests` over the seeds follows, one-sided at half the level of the experiment
(2.5 %). The interval of each verdict belongs to the same test.

- *robust*: at every level of every factor the median over seeds is significantly on the claim's
  side. Each of these tests must be significant, so that no correction is needed
  (intersection-union test; Berger 1982, "Multiparameter Hypothesis Testing and Acceptance
  Sampling", Technometrics 24).
- *fragile*: the claim is not shown at some level, but it is at the other levels of that factor, and
  the effect there is significantly less than half of theirs, measured from the limit of the claim
  (corrected for the number of levels after Holm 1979). For a claim with two limits, the effect is
  significantly outside them.
- *fails*: neither of these, and the mean of all cells is significantly on the other side.
- *inconclusive*: none of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.factorial import (
    CHANCE,
    OTHER,
    SEED,
    Design,
    level_weights,
    share_intervals,
    shares_of,
    variance_components,
)
from sabm_mesa.analysis.intervals import sign_interval
from sabm_mesa.analysis.tests import Estimand, holm, sign_test
from sabm_mesa.studies.experiments.design import ALPHA

Floats = npt.NDArray[np.float64]
Word = Literal["robust", "fragile", "fails", "inconclusive", "not judged"]
WORDS: tuple[Word, ...] = ("robust", "fragile", "fails", "inconclusive", "not judged")
KEPT = 0.5
"""The share of the effect at the other levels below which a level makes a claim fragile."""
Sides = Sequence[tuple[int, float]]
"""The limits of a claim: (1, limit) above it, (−1, limit) below it."""


@dataclass(frozen=True)
class Judged:
    """The verdict on one claim.

    Attributes:
        word: the verdict.
        why: why nothing can be concluded, or ``""``.
        effect: the median over seeds of the mean of all cells, with its 95 % interval.
        low: see `effect`.
        high: see `effect`.
        n_seeds: the number of seeds with a value in every cell.
        cells: one row per cell: ``cell``, ``effect`` (median over seeds), ``low``, ``high`` (95 %),
            ``side`` (whether the effect is on the claim's side), ``detected`` (``"for"``,
            ``"against"`` or ``""``; corrected for the number of cells after Holm).
        levels: one row per level: ``factor``, ``level`` (its number), ``effect``, ``low``,
            ``high``, ``detected_for`` (whether the claim is detected there), ``p_fragile``
            (corrected; NaN if the other levels do not show the claim), ``fragile``.
        shares: one row per source: ``source``, ``share``, ``low``, ``high`` of the variance of the
            effect of one run: the factors, `OTHER`, `SEED` and `CHANCE`.
    """

    word: Word
    why: str
    effect: float
    low: float
    high: float
    n_seeds: int
    cells: pd.DataFrame
    levels: pd.DataFrame
    shares: pd.DataFrame

    @property
    def survives(self) -> int:
        """The number of cells whose effect is on the claim's side."""
        return int(self.cells["side"].sum())

    @property
    def detected_for(self) -> int:
        """The number of cells in which the claim is detected."""
        return int((self.cells["detected"] == "for").sum())

    @property
    def detected_against(self) -> int:
        """The number of cells in which the opposite is detected: significant sign flips."""
        return int((self.cells["detected"] == "against").sum())

    @property
    def fragile_in(self) -> list[tuple[str, int]]:
        """The (factor, number of the level) at which the claim does not hold."""
        rows = self.levels[self.levels["fragile"]]
        return list(zip(rows["factor"], rows["level"], strict=True))


def judge(
    effects: npt.ArrayLike,
    design: Design,
    factors: Sequence[str],
    sides: Sides,
    alpha: float = ALPHA,
) -> Judged:
    """The verdict on a claim from its effect in each cell and seed.

    Args:
        effects: shape (n_cells, n_seeds); a seed with a NaN in any cell is left out.
        design: the design.
        factors: the names of the factors.
        sides: the limits of the claim.
        alpha: the level of the tests.
    """
    y = np.asarray(effects, dtype=np.float64)
    y = y[:, ~np.isnan(y).any(axis=0)]
    n, level = y.shape[1], alpha / 2
    fewest = Estimand(above=0).fewest_runs(level)
    why = ""
    if not sides:
        why = "the claim sets no limit (equal effects without a margin)"
    elif n < fewest:
        why = f"only {n} seeds have a value in every cell, and it takes {fewest}"
    elif (y == y[:, :1]).all():
        why = "all seeds give the same numbers, and count as one"
    cells = _cells(y, sides, alpha)
    levels = _levels(y, design, factors, sides, level)
    effect, low, high = _interval(y.mean(axis=0) if n else np.empty(0))
    word: Word = "inconclusive"
    if not why:
        _, against = _p_values(y.mean(axis=0), sides)
        if levels["detected_for"].all():
            word = "robust"
        elif levels["fragile"].any():
            word = "fragile"
        elif against <= level:
            word = "fails"
    return Judged(word, why, effect, low, high, n, cells, levels, _shares(y, design, factors))


def coinciding(design: Design) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The levels of different factors that occur in exactly the same cells.

    Their effects cannot be distinguished.

    Args:
        design: the design.

    Returns:
        Pairs of (number of the factor, number of the level).
    """
    places: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for factor, n in enumerate(design.levels):
        for level in range(n):
            cells = tuple(np.flatnonzero(design.cells[:, factor] == level).tolist())
            places.setdefault(cells, []).append((factor, level))
    return [
        pair for same in places.values() for pair in combinations(same, 2)
        if pair[0][0] != pair[1][0]
    ]  # fmt: skip


def _cells(y: Floats, sides: Sides, alpha: float) -> pd.DataFrame:
    both = [_p_values(effects, sides) for effects in y]
    corrected = holm([min(1.0, 2 * min(pair)) for pair in both])
    rows = []
    for cell, (values, (p_for, p_against), p) in enumerate(zip(y, both, corrected, strict=True)):
        detected = ("for" if p_for < p_against else "against") if p <= alpha else ""
        effect, low, high = _interval(values)
        inside = all(side * (effect - limit) > 0 for side, limit in sides)
        rows.append((cell, effect, low, high, inside, detected))
    return pd.DataFrame(rows, columns=["cell", "effect", "low", "high", "side", "detected"])


def _levels(
    y: Floats, design: Design, factors: Sequence[str], sides: Sides, alpha: float
) -> pd.DataFrame:
    """The levels, by one-sided tests at `alpha`."""
    rows, raw = [], []
    for factor, weights in zip(factors, level_weights(design), strict=True):
        means = weights @ y
        for level in range(len(means)):
            others = np.delete(means, level, axis=0).mean(axis=0)
            detected_for = _p_values(means[level], sides)[0] <= alpha
            raw.append(_p_fragile(means[level], others, sides, alpha))
            rows.append((factor, level, *_interval(means[level]), detected_for))
    columns = ["factor", "level", "effect", "low", "high", "detected_for"]
    table = pd.DataFrame(rows, columns=columns)
    # A level without a detected claim in the others is no test that was left out: it counts in the
    # correction.
    p = holm([1.0 if math.isnan(p_value) else p_value for p_value in raw])
    p = np.where(np.isnan(raw), math.nan, p)
    return table.assign(
        p_fragile=p, fragile=(p <= alpha) & ~table["detected_for"].to_numpy(dtype=bool)
    )


def _p_fragile(level: Floats, others: Floats, sides: Sides, alpha: float) -> float:
    """The p-value of less than `KEPT` of the effect; NaN if other levels do not show the claim."""
    if not _p_values(others, sides)[0] <= alpha:
        return math.nan
    if len(sides) > 1:
        return _p_values(level, sides)[1]
    side, limit = sides[0]
    left = side * (level - limit) - KEPT * side * (others - limit)
    return sign_test(left, 0.0, "below")


def _p_values(values: Floats, sides: Sides) -> tuple[float, float]:
    """The one-sided p-values that the median is on the inner side of all limits, and beyond one."""
    if not values.size or not sides:
        return 1.0, 1.0
    above = next((limit for side, limit in sides if side > 0), None)
    below = next((limit for side, limit in sides if side < 0), None)
    return Estimand(above=above, below=below).p_values([values])


def _interval(values: Floats) -> tuple[float, float, float]:
    """The median with its 95 % interval; NaN with too few seeds."""
    if not values.size:
        return math.nan, math.nan, math.nan
    return float(np.median(values)), *sign_interval(values)


def _shares(y: Floats, design: Design, factors: Sequence[str]) -> pd.DataFrame:
    sources = [*factors, OTHER, SEED, CHANCE]
    shares = low = high = np.full(len(sources), math.nan)
    if y.shape[1] >= 3:  # seeds without which there is no chance left to estimate
        shares = shares_of(variance_components(y, design))
        low, high = share_intervals(y, design)
    return pd.DataFrame({"source": sources, "share": shares, "low": low, "high": high})
