"""Fractional factorial designs, and the sources of variance of an effect measured in them.

A design is an array of cells (rows) by factors (columns) with level numbers from 0. It is chosen
for a model of main effects: coordinate exchange maximises the determinant of the information matrix
(D-optimality; Meyer and Nachtsheim 1995, "The Coordinate-Exchange Algorithm for Constructing Exact
Optimal Experimental Designs", Technometrics 37). A design of efficiency 1 is balanced and
orthogonal: each level of a factor occurs equally often with each level of any other factor.

Effects are an array of cells by seeds: the same seeds in all cells. The model is
``effect = mean + factors + other + seed + chance``: ``other`` are the differences between cells
beyond the sum of the factors (interactions), ``seed`` the differences that all cells share, and
``chance`` the rest. The factors have fixed levels: their variance is the variance of their
contributions over the cells of the design, minus the expected contribution of chance (the method of
moments; Searle, Casella and McCulloch 1992, "Variance Components", chapter 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
OTHER, SEED, CHANCE = "other", "seed", "chance"
_STARTS = 24
"""Number of random starting designs of an exchange."""
_SWEEPS = 30
"""Maximum number of passes over all coordinates; the exchange ends when a pass changes nothing."""
_GOOD = 0.999
"""Efficiency at which the search within a size stops."""
_BALANCED = 0.99
"""Efficiency at which no larger design is tried."""


@dataclass(frozen=True)
class Design:
    """A fraction of all combinations of levels.

    Attributes:
        cells: the numbers of the levels, from 0; shape (n_cells, n_factors). The first cell has
            the first level of every factor.
        levels: the number of levels of each factor.
        efficiency: D-efficiency for main effects, from 0 to 1: 1 is balanced and orthogonal.
    """

    cells: Integers
    levels: tuple[int, ...]
    efficiency: float


def fewest_cells(levels: Sequence[int]) -> int:
    """The minimum number of cells for estimating all main effects.

    Args:
        levels: the number of levels of each factor.
    """
    return 1 + sum(k - 1 for k in levels)


def fraction(levels: Sequence[int], n_cells: int, *, seed: int = 0) -> Design:
    """A balanced fraction with a given number of different cells.

    Args:
        levels: the number of levels of each factor, 2 or more.
        n_cells: the number of cells.
        seed: the seed of the random starting designs.

    Raises:
        ValueError: for a factor with one level, or an impossible number of cells.
    """
    sizes = tuple(levels)
    least, most = fewest_cells(sizes), math.prod(sizes)
    if not sizes or min(sizes) < 2:
        raise ValueError(f"every factor needs 2 levels or more (got {sizes})")
    if not least <= n_cells <= most:
        raise ValueError(f"there can be {least} to {most} cells (got {n_cells})")
    if n_cells == most:
        return Design(np.array(list(product(*map(range, sizes)))), sizes, 1.0)
    rng = np.random.default_rng([seed, n_cells, *sizes])
    codes = [_contrasts(k) for k in sizes]
    best, best_value = np.empty((0, len(sizes)), dtype=np.int64), -math.inf
    for _ in range(_STARTS):
        cells = _random_cells(sizes, n_cells, rng)
        value = _exchange(cells, codes)
        if value > best_value:
            best, best_value = cells, value
        if _efficiency(best_value, n_cells, least) >= _GOOD:
            break
    rest = best[1:]
    ordered = rest[np.lexsort(rest.T[::-1])]
    return Design(np.vstack([best[:1], ordered]), sizes, _efficiency(best_value, n_cells, least))


def balanced_fraction(levels: Sequence[int], most: int, *, seed: int = 0) -> Design:
    """The smallest balanced design, or the best design up to a number of cells.

    Args:
        levels: the number of levels of each factor.
        most: the largest number of cells; designs beyond twice `fewest_cells` are not tried.
        seed: see `fraction`.

    Raises:
        ValueError: when `most` is below `fewest_cells`.
    """
    least, full = fewest_cells(levels), math.prod(levels)
    first = min(least + 1, most, full)  # one more cell than effects, so that the fit can be checked
    best = fraction(levels, first, seed=seed)
    for n in range(first + 1, min(most, full, 2 * least) + 1):
        if best.efficiency >= _BALANCED:
            break
        candidate = fraction(levels, n, seed=seed)
        if candidate.efficiency > best.efficiency:
            best = candidate
    return best


def _efficiency(log_determinant: float, n_cells: int, n_effects: int) -> float:
    return float(min(1.0, math.exp(log_determinant / n_effects) / n_cells))


def _contrasts(k: int) -> Floats:
    """Orthogonal contrasts of k levels, shape (k, k - 1), each with a mean square of 1."""
    basis = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, :-1]]))[0]
    return np.asarray(basis[:, 1:] * math.sqrt(k), dtype=np.float64)


def _matrix(cells: Integers, codes: Sequence[Floats]) -> Floats:
    """The model matrix of main effects, shape (n_cells, n_effects)."""
    parts = [code[cells[:, i]] for i, code in enumerate(codes)]
    return np.column_stack([np.ones(len(cells)), *parts])


def _random_cells(levels: Sequence[int], n: int, rng: np.random.Generator) -> Integers:
    """Distinct cells with nearly balanced levels; the first cell has the first levels."""
    while True:
        columns = [rng.permutation(np.arange(n) % k) for k in levels]
        cells = np.column_stack(columns).astype(np.int64)
        cells[0] = 0
        if len(np.unique(cells, axis=0)) == n:
            return cells
        if n * 2 > math.prod(levels):  # too many cells for random draws: take any distinct cells
            every = np.array(list(product(*map(range, levels))), dtype=np.int64)
            chosen = rng.choice(len(every) - 1, size=n - 1, replace=False) + 1
            return np.vstack([every[:1], every[chosen]])


def _exchange(cells: Integers, codes: Sequence[Floats]) -> float:
    """Improve one coordinate at a time until nothing improves; return the log determinant.

    Changing a row of the model matrix from x to z multiplies the determinant by ``(1 + z'Dz)(1 -
    x'Dx) + (z'Dx)²``, where D is the inverse of the information.
    """
    matrix = _matrix(cells, codes)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        return -math.inf
    inverse = np.linalg.inv(matrix.T @ matrix)
    taken = {tuple(row) for row in cells.tolist()}
    for _ in range(_SWEEPS):
        changed = False
        for row in range(1, len(cells)):
            here = tuple(cells[row].tolist())
            tried = [
                (*here[:factor], level, *here[factor + 1 :])
                for factor, code in enumerate(codes)
                for level in range(len(code))
            ]
            free = np.array([row for row in tried if row not in taken], dtype=np.int64)
            if not len(free):
                continue
            x, z = matrix[row], _matrix(free, codes)
            leverage, across = x @ inverse @ x, z @ inverse @ x
            gains = (1 + ((z @ inverse) * z).sum(axis=1)) * (1 - leverage) + across**2
            chosen = int(gains.argmax())
            if gains[chosen] > 1 + 1e-9:
                changed = True
                cells[row], matrix[row] = free[chosen], z[chosen]
                inverse = np.linalg.inv(matrix.T @ matrix)
                taken.remove(here)
                taken.add(tuple(cells[row].tolist()))
        if not changed:
            break
    return float(np.linalg.slogdet(matrix.T @ matrix)[1])


# Effects measured in the cells.


def level_weights(design: Design) -> list[Floats]:
    """The weights of the cells in the mean of each level, as if the other factors were balanced.

    Args:
        design: the design.

    Returns:
        For each factor an array of shape (n_levels, n_cells); each row sums to 1.
    """
    codes = [_contrasts(k) for k in design.levels]
    fit = np.linalg.pinv(_matrix(design.cells, codes))
    weights, column = [], 1
    for code in codes:
        width = code.shape[1]
        weights.append(fit[0] + code @ fit[column : column + width])
        column += width
    return weights


def variance_components(
    effects: npt.ArrayLike, design: Design, *, resampled: bool = False
) -> Floats:
    """The variance of the effect of one run by its sources.

    Args:
        effects: the effect in each cell and run, shape (…, n_cells, n_seeds); two seeds or more.
        design: the design.
        resampled: whether the seeds are a bootstrap sample, whose additional noise is subtracted
            too.

    Returns:
        Shape (…, n_factors + 3): the factors, then ``other`` (NaN in a design without more cells
        than effects), ``seed`` and ``chance``. An estimate of a small variance may be negative.
    """
    y = np.asarray(effects, dtype=np.float64)
    n_cells, n_seeds = y.shape[-2:]
    means, by_seed = y.mean(axis=-1), y.mean(axis=-2)
    rest = y - means[..., np.newaxis] - by_seed[..., np.newaxis, :]
    rest = rest + y.mean(axis=(-2, -1))[..., np.newaxis, np.newaxis]
    chance = (rest**2).sum(axis=(-2, -1)) / ((n_cells - 1) * (n_seeds - 1))
    times = 1.0
    if resampled:
        chance, times = chance * n_seeds / (n_seeds - 1), 2.0
    components = _between(means, times * chance / n_seeds, design)
    seeds = by_seed.var(axis=-1, ddof=1) * (n_seeds / (n_seeds - 1) if resampled else 1.0)
    return np.stack([*components, seeds - chance / n_cells, chance], axis=-1)


def _between(means: Floats, noise: Floats, design: Design) -> list[Floats]:
    """The components of the factors and of ``other``, from the cell means and their noise."""
    codes = [_contrasts(k) for k in design.levels]
    matrix = _matrix(design.cells, codes)
    n_cells = len(matrix)
    fit, components, column = np.linalg.pinv(matrix), [], 1
    for code in codes:
        chosen = slice(column, column + code.shape[1])
        column += code.shape[1]
        maps = (matrix[:, chosen] - matrix[:, chosen].mean(axis=0)) @ fit[chosen]
        squares = ((means @ maps.T) ** 2).sum(axis=-1)
        components.append((squares - noise * (maps**2).sum()) / n_cells)
    left = n_cells - matrix.shape[1]
    beyond = ((means @ (np.eye(n_cells) - matrix @ fit).T) ** 2).sum(axis=-1)
    other = (beyond - noise * left) / n_cells if left else np.full_like(beyond, math.nan)
    return [*components, other]


def shares_of(components: Floats) -> Floats:
    """The components as shares of their sum; negative components count as 0.

    Args:
        components: from `variance_components`.

    Returns:
        The same shape; NaN without any variance.
    """
    kept = np.where(np.isnan(components), components, np.maximum(components, 0.0))
    total = np.nansum(kept, axis=-1, keepdims=True)
    shares: Floats = np.divide(kept, total, out=np.full_like(kept, math.nan), where=total > 0)
    return shares


def share_intervals(
    effects: npt.ArrayLike, design: Design, *, seed: int = 0, n_resamples: int = 2000
) -> Floats:
    """95 % intervals of the shares.

    For the factors and ``other``, they come from a bootstrap over seeds; all cells of a seed stay
    together. The percentiles are adjusted so that the interval of a mean is as wide as Student's
    (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", American Statistician 69,
    section 4.6): otherwise a bootstrap of few seeds is too narrow.

    For ``seed`` and ``chance``, where a bootstrap of few seeds is too narrow, they are generalized
    confidence intervals (Weerahandi 1993, "Generalized Confidence Intervals", JASA 88): both
    variances are drawn given their sums of squares, assuming normal differences between seeds and
    normal chance. With heavy tails they are too narrow.

    Args:
        effects: the effect in each cell and run, shape (n_cells, n_seeds).
        design: the design.
        seed: the seed of the bootstrap.
        n_resamples: the number of bootstrap samples.

    Returns:
        Lower and upper limits, shape (2, n_factors + 3).
    """
    from scipy.special import ndtr, stdtrit

    y = np.asarray(effects, dtype=np.float64)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(y.shape[1], size=(n_resamples, y.shape[1]))
    again = np.moveaxis(y[:, drawn], 0, 1)
    shares = shares_of(variance_components(again, design, resampled=True))
    known = shares[~np.isnan(shares).all(axis=-1)]
    if not len(known):
        return np.full((2, shares.shape[-1]), math.nan)
    n = y.shape[1]
    tail = float(ndtr(-math.sqrt(n / (n - 1)) * stdtrit(n - 1, 0.975)))
    limits: Floats = np.quantile(known, [tail, 1 - tail], axis=0)
    drawn_shares = shares_of(_generalized(y, design, rng, n_resamples))[:, -2:]
    limits[:, -2:] = np.quantile(drawn_shares, [0.025, 0.975], axis=0)
    return limits


def _generalized(y: Floats, design: Design, rng: np.random.Generator, n_draws: int) -> Floats:
    """Draws of the components given the data, from chi-square draws of the sums of squares.

    The factors get new noise of the means, so the noise is subtracted twice, as in a bootstrap.
    """
    n_cells, n = y.shape
    means, by_seed = y.mean(axis=1), y.mean(axis=0)
    rest = y - means[:, np.newaxis] - by_seed + y.mean()
    chance = (rest**2).sum() / rng.chisquare((n_cells - 1) * (n - 1), n_draws)
    shared = (n - 1) * by_seed.var(ddof=1) / rng.chisquare(n - 1, n_draws)
    noise = chance / n
    again = means + rng.standard_normal((n_draws, n_cells)) * np.sqrt(noise)[:, np.newaxis]
    components = _between(again, 2 * noise, design)
    return np.stack([*components, shared - chance / n_cells, chance], axis=-1)
