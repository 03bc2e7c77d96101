"""The verdict of an audit on a claim: robust, fragile, failing, or inconclusive.

The effect of a claim is its quantity: a measure, or the difference of two conditions in runs of the
same seed. It is measured in every cell with the same seeds, and the seed is the unit of all tests:
the sign test of `sabm_mesa.analysis.tests` over the seeds, one-sided at half the level of the
experiment (2.5 %). The interval of each verdict belongs to the same test.

- *robust*: in every cell the median over seeds is significantly on the claim's side. Each of these
  tests must be significant, so that no correction is needed (intersection-union test; Berger 1982,
  "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24).
- *fragile*: the claim is not shown in some cell, but it is by the mean of the others, and the
  effect there is significantly less than half of theirs, measured from the limit of the claim
  (corrected for the number of cells after Holm 1979). For a claim with two limits, the effect is
  significantly outside them.
- *fails*: neither of these, and the mean of all cells is significantly on the other side.
- *inconclusive*: none of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.intervals import Floats, sign_interval
from sabm_mesa.analysis.tests import Estimand, holm, sign_test
from sabm_mesa.studies.experiments.design import ALPHA

Word = Literal["robust", "fragile", "fails", "inconclusive", "not judged"]
WORDS: tuple[Word, ...] = ("robust", "fragile", "fails", "inconclusive", "not judged")
KEPT = 0.5
"""The share of the effect in the other cells below which a cell makes a claim fragile."""
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
            ``"against"`` or ``""``; corrected for the number of cells after Holm), ``shown``
            (whether the claim is detected, without a correction), ``p_fragile`` (corrected; NaN if
            the other cells do not show the claim), ``fragile``.
    """

    word: Word
    why: str
    effect: float
    low: float
    high: float
    n_seeds: int
    cells: pd.DataFrame

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
    def fragile_in(self) -> list[int]:
        """The cells, from 0, in which the claim does not hold."""
        return [int(cell) for cell in self.cells.loc[self.cells["fragile"], "cell"]]


def judge(effects: npt.ArrayLike, sides: Sides, alpha: float = ALPHA) -> Judged:
    """The verdict on a claim from its effect in each cell and seed.

    Args:
        effects: shape (n_cells, n_seeds); a seed with a NaN in any cell is left out.
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
    mean = y.mean(axis=0) if n else np.empty(0)
    word: Word = "inconclusive"
    if not why:
        if cells["shown"].all():
            word = "robust"
        elif cells["fragile"].any():
            word = "fragile"
        elif _p_values(mean, sides)[1] <= level:
            word = "fails"
    return Judged(word, why, *_interval(mean), n, cells)


def _cells(y: Floats, sides: Sides, alpha: float) -> pd.DataFrame:
    both = [_p_values(effects, sides) for effects in y]
    corrected = holm(min(1.0, 2 * min(pair)) for pair in both)
    raw = [
        _p_fragile(y[cell], np.delete(y, cell, axis=0).mean(axis=0), sides, alpha / 2)
        for cell in range(len(y))
    ]
    # A cell without a detected claim in the others is no test that was left out: it counts.
    p_fragile = np.where(np.isnan(raw), math.nan, holm(np.nan_to_num(raw, nan=1.0)))
    rows = []
    for cell, (values, (p_for, p_against), p) in enumerate(zip(y, both, corrected, strict=True)):
        detected = ("for" if p_for < p_against else "against") if p <= alpha else ""
        effect, low, high = _interval(values)
        inside = all(side * (effect - limit) > 0 for side, limit in sides)
        shown = p_for <= alpha / 2
        fragile = bool(p_fragile[cell] <= alpha / 2) and not shown
        rows.append((cell, effect, low, high, inside, detected, shown, p_fragile[cell], fragile))
    columns = ["cell", "effect", "low", "high", "side", "detected", "shown", "p_fragile", "fragile"]
    return pd.DataFrame(rows, columns=columns)


def _p_fragile(here: Floats, others: Floats, sides: Sides, level: float) -> float:
    """The p-value of less than `KEPT` of the effect; NaN if other cells do not show the claim."""
    if not _p_values(others, sides)[0] <= level:
        return math.nan
    if len(sides) > 1:
        return _p_values(here, sides)[1]
    side, limit = sides[0]
    left = side * (here - limit) - KEPT * side * (others - limit)
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
