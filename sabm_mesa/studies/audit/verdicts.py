"""The verdict of an audit on a claim: robust, fragile, failing, or not to be told.

The effect of a claim is the quantity that it is about: a measure, or the difference of two
conditions in runs of the same seed. It is measured in every cell with the same seeds, and the seed
is the unit of all tests: the mean of a level is taken within each seed first, and Student's t over
the seeds follows, at a level of 5 % a claim.

- *robust*: at every level of every factor the mean is told to be on the claim's side. Each of these
  tests has to tell, so that no correction is needed (intersection-union test; Berger 1982,
  "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24).
- *fragile*: at some level the claim is not told, although it is told at the other levels of that
  factor, and the mean is told to be less than half of theirs, measured from the limit of the claim
  (corrected for the number of levels after Holm 1979). Of a claim with two limits: it is told to be
  outside them.
- *fails*: neither, and the mean of all cells is told to be on the other side.
- *cannot tell*: none of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
from sabm_mesa.analysis.inference import holm
from sabm_mesa.studies.experiments.design import ALPHA

Floats = npt.NDArray[np.float64]
Word = Literal["robust", "fragile", "fails", "cannot tell", "not told"]
WORDS: tuple[Word, ...] = ("robust", "fragile", "fails", "cannot tell", "not told")
KEPT = 0.5
"""The share of the effect at the other levels below which a level makes a claim fragile."""
FEWEST_SEEDS = 3
"""Seeds without which nothing is told."""
Sides = Sequence[tuple[int, float]]
"""The limits of a claim: (1, limit) above it, (−1, limit) below it."""


@dataclass(frozen=True)
class Judged:
    """The verdict on one claim.

    Attributes:
        word: the verdict.
        why: why nothing can be told, or ``""``.
        mean: the effect over all cells, with its 95 % interval over seeds.
        low: see `mean`.
        high: see `mean`.
        n_seeds: the seeds that have a value in every cell.
        cells: one row a cell: ``cell``, ``effect``, ``low``, ``high`` (95 %, Student's t over
            seeds), ``side`` (whether the mean is on the claim's side), ``told`` (``"for"``,
            ``"against"`` or ``""``; corrected for the number of cells after Holm).
        levels: one row a level: ``factor``, ``level`` (its number), ``effect``, ``low``, ``high``,
            ``told_for`` (whether the claim is told there), ``p_fragile`` (corrected; NaN where the
            other levels do not tell the claim), ``fragile``.
        shares: one row a source: ``source``, ``share``, ``low``, ``high`` of the variance of the
            effect of one run: the factors, `OTHER`, `SEED` and `CHANCE`.
    """

    word: Word
    why: str
    mean: float
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
    def told_for(self) -> int:
        """The number of cells in which the claim is told."""
        return int((self.cells["told"] == "for").sum())

    @property
    def told_against(self) -> int:
        """The number of cells in which the opposite is told: sign flips that are no chance."""
        return int((self.cells["told"] == "against").sum())

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
    n = y.shape[1]
    why = ""
    if n < FEWEST_SEEDS:
        why = f"only {n} seeds have a value in every cell, and it takes {FEWEST_SEEDS}"
    elif (y == y[:, :1]).all():
        why = "all seeds give the same numbers, and count as one"
    cells = _cells(y, sides, alpha)
    levels = _levels(y, design, factors, sides, alpha)
    mean, low, high = _interval(y.mean(axis=0) if n else np.empty(0))
    word: Word = "cannot tell"
    if not why:
        against = _p_against(y.mean(axis=0), sides)
        if levels["told_for"].all():
            word = "robust"
        elif levels["fragile"].any():
            word = "fragile"
        elif against <= alpha:
            word = "fails"
    return Judged(word, why, mean, low, high, n, cells, levels, _shares(y, design, factors))


def _cells(y: Floats, sides: Sides, alpha: float) -> pd.DataFrame:
    both = [(_p_for(each, sides), _p_against(each, sides)) for each in y]
    corrected = holm([min(1.0, 2 * min(each)) for each in both])
    rows = []
    for cell, (values, (p_for, p_against), p) in enumerate(zip(y, both, corrected, strict=True)):
        told = ("for" if p_for < p_against else "against") if p <= alpha else ""
        mean, low, high = _interval(values)
        inside = all(side * (mean - limit) > 0 for side, limit in sides)
        rows.append((cell, mean, low, high, inside, told))
    return pd.DataFrame(rows, columns=["cell", "effect", "low", "high", "side", "told"])


def _levels(
    y: Floats, design: Design, factors: Sequence[str], sides: Sides, alpha: float
) -> pd.DataFrame:
    rows, raw = [], []
    for factor, weights in zip(factors, level_weights(design), strict=True):
        means = weights @ y
        for level in range(len(means)):
            others = np.delete(means, level, axis=0).mean(axis=0)
            told_for = _p_for(means[level], sides) <= alpha
            raw.append(_p_fragile(means[level], others, sides, alpha))
            rows.append((factor, level, *_interval(means[level]), told_for))
    columns = ["factor", "level", "effect", "low", "high", "told_for"]
    table = pd.DataFrame(rows, columns=columns)
    # A level whose others do not tell is no test that was left out: it counts in the correction.
    p = holm([1.0 if math.isnan(each) else each for each in raw])
    p = np.where(np.isnan(raw), math.nan, p)
    return table.assign(p_fragile=p, fragile=(p <= alpha) & ~table["told_for"].to_numpy(dtype=bool))


def _p_fragile(level: Floats, others: Floats, sides: Sides, alpha: float) -> float:
    """The p-value that less than the share `KEPT` is left; NaN if the others do not tell."""
    if not _p_for(others, sides) <= alpha:
        return math.nan
    if len(sides) > 1:
        return _p_against(level, sides)
    side, limit = sides[0]
    return _p_below(side * (level - limit) - KEPT * side * (others - limit))


def _p_for(values: Floats, sides: Sides) -> float:
    """The one-sided p-value that the mean is on the inner side of all limits."""
    return max(_p_below(-side * (values - limit)) for side, limit in sides)


def _p_against(values: Floats, sides: Sides) -> float:
    """The one-sided p-value that the mean is beyond a limit, corrected for their number."""
    found = min(_p_below(side * (values - limit)) for side, limit in sides)
    return min(1.0, len(sides) * found)


def _p_below(values: Floats) -> float:
    """Student's one-sided p-value that a mean is below 0; of equal values that of their signs."""
    from scipy.special import stdtr

    n = values.size
    if n < 2:
        return 1.0
    if not (spread := float(values.std(ddof=1))):
        return 0.5**n if values[0] < 0 else 1.0
    return float(stdtr(n - 1, values.mean() / (spread / math.sqrt(n))))


def _interval(values: Floats) -> tuple[float, float, float]:
    """The mean with its 95 % interval by Student's t."""
    from scipy.special import stdtrit

    if not values.size:
        return (math.nan,) * 3
    mean = float(values.mean())
    if values.size < 2:
        return mean, math.nan, math.nan
    half = float(stdtrit(values.size - 1, 0.975) * values.std(ddof=1) / math.sqrt(values.size))
    return mean, mean - half, mean + half


def _shares(y: Floats, design: Design, factors: Sequence[str]) -> pd.DataFrame:
    sources = [*factors, OTHER, SEED, CHANCE]
    shares = low = high = np.full(len(sources), math.nan)
    if y.shape[1] >= FEWEST_SEEDS:
        shares = shares_of(variance_components(y, design))
        low, high = share_intervals(y, design)
    return pd.DataFrame({"source": sources, "share": shares, "low": low, "high": high})
