"""Sources of the variance of an outcome: the factors of a design, their interaction, and chance.

Each share is a part of the sum of squares about the mean: eta squared of an analysis of variance
(Fisher 1925, "Statistical Methods for Research Workers", chapter 7; Cohen 1973, "Eta-squared and
Partial Eta-squared in Fixed Factor ANOVA Designs", Educational and Psychological Measurement 33).
In an unbalanced design the sum of squares of a factor depends on the order of the factors; here it
is the mean over all orders (Lindeman, Merenda and Gold 1980, "Introduction to Bivariate and
Multivariate Analysis"; Grömping 2007, "Estimators of Relative Importance in Linear Regression Based
on Variance Decomposition", American Statistician 61), which keeps every share between 0 and 1 and
equals the usual one in a balanced design.

Limits: the shares describe the levels in the data and their numbers of runs, not all possible
models or wordings. With n runs, a factor of k levels has an average share of (k - 1)/(n - 1) even
without an effect, so small shares from few runs are not evidence. Factors that always change
together divide their share equally. scipy has no such split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.intervals import Floats, require_columns
from sabm_mesa.analysis.likeness import bootstrap_interval

INTERACTION, REST = "interaction", "rest"


def variance_split(
    frame: pd.DataFrame, outcome: str, factors: Sequence[str], *, seed: int = 0
) -> pd.DataFrame:
    """Split the variance of an outcome over runs into shares of the factors, interaction and rest.

    Args:
        frame: one row per run, with a column for the outcome and for each factor (such as model and
            wording; missing values form a separate level). Runs whose outcome is NaN are left out,
            and so are factors with a single level.
        outcome: name of the measure.
        factors: names of the columns by which the runs differ.
        seed: the seed of the bootstrap, which resamples runs within combinations of levels;
            resamples without variance are left out.

    Returns:
        One row per source: ``source``, ``share`` (0 to 1; together 1), ``low`` and ``high`` (95 %
        percentile interval). First the factors; then ``interaction``, the effect of combinations of
        levels beyond the sum of the factors, if two factors vary and a combination has several
        runs; last ``rest``, the differences between runs that differ only in the seed, including
        the interaction if it has no row. The shares are NaN without variance or with fewer than two
        runs; the bounds are NaN if no combination has two runs.

    Raises:
        ValueError: if a column is missing, a factor is named twice, or the outcome is infinite.
    """
    require_columns(frame, [outcome, *factors])
    if len(set(factors)) < len(factors):
        raise ValueError(f"a factor is named twice: {', '.join(factors)}")
    values = frame[outcome].to_numpy(dtype=np.float64, na_value=math.nan)
    if np.isinf(values).any():
        raise ValueError(f"{outcome} must be finite in every run")
    used = frame.loc[~np.isnan(values), list(factors)]
    values = values[~np.isnan(values)]
    codes = {name: pd.factorize(used[name], use_na_sentinel=False)[0] for name in factors}
    varied = [name for name in factors if codes[name].max(initial=0) > 0]
    cells = _cells([codes[name] for name in varied], len(values))
    order = np.argsort(cells, kind="stable")  # resamples are drawn cell by cell
    values, cells = values[order], cells[order]
    levels = [np.eye(codes[name].max() + 1)[codes[name][order]] for name in varied]
    repeated = int(cells.max(initial=-1)) + 1 < len(values)
    split_cells = repeated and len(varied) > 1
    shares = _shares(values[:, np.newaxis], levels, cells, split_cells)[:, 0]
    sources = [*varied, *([INTERACTION] if split_cells else []), REST]
    low, high = np.full((2, len(sources)), math.nan)
    if repeated and not np.isnan(shares[0]):
        groups = np.split(values, np.flatnonzero(np.diff(cells)) + 1)
        low, high = bootstrap_interval(
            lambda *drawn: _shares(np.concatenate(drawn, axis=-1).T, levels, cells, split_cells),
            *groups,
            rng=seed,
        )
    return pd.DataFrame({"source": sources, "share": shares, "low": low, "high": high})


def _cells(codes: Sequence[npt.NDArray[np.int64]], n: int) -> npt.NDArray[np.int64]:
    """For each run the number of its combination of levels, from 0."""
    if not codes:
        return np.zeros(n, dtype=np.int64)
    return np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(n)


def _shares(
    values: Floats, levels: Sequence[Floats], cells: npt.NDArray[np.int64], split_cells: bool
) -> Floats:
    """Shares by (source, column of `values`): runs keep their levels, so one basis serves all."""
    n, n_columns = values.shape
    centred = values - values.mean(axis=0) if n else values
    total = (centred**2).sum(axis=0)
    k = len(levels)
    explained = {
        chosen: _explained(centred, [levels[i] for i in chosen])
        for size in range(k + 1)
        for chosen in combinations(range(k), size)
    }
    parts = [_mean_gain(i, k, explained) for i in range(k)]
    within = explained[tuple(range(k))]
    if split_cells:
        of_cells = _explained(centred, [np.eye(cells.max() + 1)[cells]])
        parts.append(of_cells - within)
        within = of_cells
    parts.append(total - within)
    least = 1e-18 * n * (np.abs(values).max(axis=0, initial=0.0) ** 2)  # rounding error
    known = (total > least) & (n > 1)
    shares = np.full((len(parts), n_columns), math.nan)
    np.divide(np.maximum(parts, 0.0), total, out=shares, where=known)
    shares /= shares.sum(axis=0)
    return shares


def _explained(centred: Floats, levels: Sequence[Floats]) -> Floats:
    """Sum of squares, by column, that additive effects of these levels explain."""
    from scipy.linalg import orth

    n, n_columns = centred.shape
    if not levels or n == 0:
        return np.zeros(n_columns)
    basis = orth(np.column_stack(levels))
    squares: Floats = ((basis.T @ centred) ** 2).sum(axis=0)
    return squares


def _mean_gain(factor: int, k: int, explained: dict[tuple[int, ...], Floats]) -> Floats:
    """Sum of squares that a factor adds to the factors before it, averaged over all orders."""
    others = [i for i in range(k) if i != factor]
    gain = np.zeros_like(explained[()])
    for size in range(k):
        weight = 1 / (k * math.comb(k - 1, size))
        for before in combinations(others, size):
            both = tuple(sorted((*before, factor)))
            gain += weight * (explained[both] - explained[before])
    return gain
