"""Estimates of behavioural models: maximum likelihood, intervals, held-out scores, selection.

Data are a `Panel`; models follow `sabm_mesa.analysis.behaviour`. Players have weights, so bootstrap
samples and held-out data need no copies.

Sources:
    Shares of a mixture: expectation maximisation (Dempster, Laird and Rubin 1977, Journal of the
    Royal Statistical Society B 39(1), 1-38), finished by sequential quadratic programs (Kim,
    Carbonetto, Stephens and Anitescu 2020, Journal of Computational and Graphical Statistics
    29(2), 261-273): the problem is convex in the shares.
    Intervals by the profile likelihood: Venzon and Moolgavkar 1988, Applied Statistics 37(1),
    87-94.
    Absolute test: a parametric bootstrap (Efron and Tibshirani 1993, "An Introduction to the
    Bootstrap", chapter 16) of residuals by the probability integral transform (Dunn and Smyth 1996,
    Journal of Computational and Graphical Statistics 5(3), 236-244).
    Share gained over chance: McFadden 1974, "Conditional logit analysis of qualitative choice
    behavior", with chance as the null model.
    Criteria: Akaike 1974, IEEE Transactions on Automatic Control 19(6), 716-723; Schwarz 1978,
    Annals of Statistics 6(2), 461-464; Kass and Raftery 1995, Journal of the American Statistical
    Association 90(430), 773-795.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sabm_mesa.analysis.behaviour import (
    FINEST,
    BehaviouralModel,
    Chance,
    Floats,
    FreeParameter,
    Ints,
    Mixture,
    Panel,
)

GRID = 13
"""Number of grid points for a single parameter, before the best one is refined."""
STARTS, BEST_STARTS = 40, 4
"""Number of starting points per parameter, spread evenly over the limits; and the maximum number of
the best ones that are refined (at most one per parameter).
"""
CHI_SQUARE = 3.841458820694124
"""The 95 % quantile of the chi-square distribution with one degree of freedom."""
MENTIONED = 2.0
"""Smaller differences of Schwarz' criterion are "not worth more than a bare mention" (Kass and
Raftery 1995, section 3.2).
"""
FOLDS = 5
"""Number of folds for held-out runs."""
EM_STEPS = 5
NEWTON_STEPS = 60
NEAR = 0.05
"""Search radius around a start for a parameter with a grid step, as a share of its range."""
SOME = 10
"""Number of grid values that are tried first for a parameter with a grid step, and per further
search.
"""
HALF = 0.5
DATA_SETS = 99
"""Number of simulated data sets for the test of absolute fit."""
DRAWS = 25
"""Number of draws per decision; the rank of the decision among them is its residual."""
LEVEL = 0.025
"""Probability of rejecting a true model."""
ENOUGH = 20
"""Minimum number of decisions with the same facts for separate counts of their values."""
MANY = 1e3
"""Residuals are between 1/n and 1 − 1/n for this n."""
DIGITS = 9
"""Number of decimals when decisions are compared."""
SMALLEST = 1e-9
"""A smaller share of the log-likelihood of chance counts as 0."""
CLOSE = 1e-9
"""Convergence threshold: gain in log-likelihood per player in a step of the shares."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A model with its estimates.

    Attributes:
        model: the model.
        parameters: the estimates, in the order of the model's parameters.
        log_likelihood: the log-likelihood of the decisions, weighted if there are weights.
        n_decisions: the number of decisions.
    """

    model: BehaviouralModel
    parameters: Floats
    log_likelihood: float
    n_decisions: int

    @property
    def aic(self) -> float:
        """Akaike's criterion; smaller is better."""
        return 2 * n_free(self.model) - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz' criterion, by the number of decisions; smaller is better."""
        return n_free(self.model) * math.log(self.n_decisions) - 2 * self.log_likelihood

    def bic_of(self, n: int) -> float:
        """Schwarz' criterion for a given number of independent units, such as players.

        Args:
            n: the number of units.
        """
        return n_free(self.model) * math.log(n) - 2 * self.log_likelihood

    def gained(self, chance: Chance, panel: Panel) -> float:
        """The gain over chance as a share of the log-likelihood of chance: 0 chance, 1 certainty.

        Args:
            chance: the model of random play.
            panel: the same decisions.

        Returns:
            McFadden's pseudo R², at most 1. Below 0 the model is worse than chance.
        """
        more = self.log_likelihood - float(chance.log_likelihood(np.zeros(0), panel).sum())
        share = more / max(float(chance.uncertainty(panel).sum()), 1e-12)
        return min(0.0 if abs(share) < SMALLEST else share, 1.0)

    @property
    def by_name(self) -> dict[str, float]:
        """Parameter → its estimate."""
        names = (parameter.name for parameter in self.model.parameters)
        return dict(zip(names, map(float, self.parameters), strict=True))


def n_free(model: BehaviouralModel) -> int:
    """The number of free parameters; one share of a mixture is not free.

    Args:
        model: the model.
    """
    return len(model.parameters) - isinstance(model, Mixture)


def fit(
    model: BehaviouralModel,
    panel: Panel,
    weights: Floats | None = None,
    *,
    fixed: Mapping[str, float] | None = None,
    start: Floats | None = None,
) -> Fit:
    """Estimate the parameters of a model by maximum likelihood.

    Args:
        model: the model.
        panel: the decisions.
        weights: shape (players,): the weight of each player; None: 1.
        fixed: parameter → its value, for fixed parameters.
        start: the starting point; None: several are tried.
    """
    counted = np.ones(len(panel.players)) if weights is None else weights
    problem = _Problem(model, panel, counted, dict(fixed or {}))
    parameters, value = problem.solve(start)
    return Fit(model, parameters, value, len(panel))


def by_rank(fits: Sequence[Fit]) -> list[Fit]:
    """Sort fits by Schwarz' criterion, with the selected one first.

    The model with the smallest value is selected. Among models with the same number of free
    parameters and values less than `MENTIONED` above it, the first in `fits` is selected.

    Args:
        fits: the fits of several models to the same decisions, the most common model first.
    """
    ranked = sorted(fits, key=lambda fit: fit.bic)
    if not ranked:
        return []
    most, free = ranked[0].bic + MENTIONED, n_free(ranked[0].model)
    best = next(
        candidate for candidate in fits if candidate.bic < most and n_free(candidate.model) == free
    )
    return [best, *(candidate for candidate in ranked if candidate is not best)]


def profile_interval(best_fit: Fit, panel: Panel, name: str) -> tuple[float, float]:
    """The 95 % interval of a parameter by the profile likelihood.

    The interval does not extend beyond the limits of the parameter.

    Args:
        best_fit: the estimates.
        panel: the same decisions.
        name: the parameter.
    """
    from scipy.optimize import brentq

    index = [parameter.name for parameter in best_fit.model.parameters].index(name)
    scale = best_fit.model.parameters[index]
    top, best = best_fit.log_likelihood, scale.share(best_fit.parameters[index])
    known: dict[float, tuple[float, Floats]] = {best: (-CHI_SQUARE, best_fit.parameters)}

    def excess(at: float) -> float:
        if at not in known:
            near = known[min(known, key=lambda other: abs(other - at))][1]
            fixed = {name: scale.at(at)}
            other = fit(best_fit.model, panel, fixed=fixed, start=near)
            known[at] = 2 * (top - other.log_likelihood) - CHI_SQUARE, other.parameters
        return known[at][0]

    ends = []
    for way, limit in ((-1, 0.0), (1, 1.0)):
        step, inner, outer = 0.02, best, best
        while outer != limit:
            outer = max(best - step, 0.0) if way < 0 else min(best + step, 1.0)
            if excess(outer) > 0:
                outer = float(brentq(excess, inner, outer, xtol=1e-5, rtol=1e-6))
                break
            inner, step = outer, step * 2
        ends.append(scale.at(outer))
    return ends[0], ends[1]


def bootstrap_intervals(
    best_fit: Fit, panel: Panel, units: Ints, n: int, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """95 % percentile intervals of all parameters, from a bootstrap of whole units.

    Args:
        best_fit: the estimates.
        panel: the same decisions.
        units: shape (players,): the unit of each player, such as its run.
        n: the number of samples.
        rng: the generator to draw from.
    """
    n_units = int(units.max()) + 1
    drawn = []
    for _ in range(n):
        times = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)
        weights = times[units].astype(np.float64)
        drawn.append(fit(best_fit.model, panel, weights, start=best_fit.parameters).parameters)
    low, high = np.quantile(np.array(drawn), [0.025, 0.975], axis=0)
    names = (parameter.name for parameter in best_fit.model.parameters)
    return {name: (float(a), float(b)) for name, a, b in zip(names, low, high, strict=True)}


def units_of(panel: Panel) -> Ints:
    """The unit of each player for hold-out and bootstrap: its run, or the player in a single run.

    Args:
        panel: the decisions.
    """
    runs = [player.run for player in panel.players]
    labels: Sequence[int] = runs if len(set(runs)) > 1 else range(len(runs))
    units: Ints = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return units


def held_out(best_fit: Fit, panel: Panel, units: Ints) -> float:
    """The mean log-likelihood of a held-out decision.

    The units are assigned to `FOLDS` folds in turn; with fewer units, each unit is a fold.

    Args:
        best_fit: the estimates from all data, used as starting points.
        panel: the decisions.
        units: shape (players,): the unit of each player.

    Returns:
        NaN with a single unit.
    """
    parts = units % FOLDS
    if len(set(parts.tolist())) == 1:
        return math.nan
    total = 0.0
    for part in sorted(set(parts.tolist())):
        rest = fit(
            best_fit.model, panel, (parts != part).astype(np.float64), start=best_fit.parameters
        )
        scores = panel.totals(best_fit.model.log_likelihood(rest.parameters, panel))
        total += float(scores[parts == part].sum())
    return total / len(panel)


def confusion(
    fits: Sequence[Fit],
    panel: Panel,
    n: int,
    rng: np.random.Generator,
    watch: Callable[[], None] = lambda: None,
) -> Floats:
    """How often each model is selected (`by_rank`) for data from each model.

    Data sets are simulated from each estimated model, for the same players and facts. All models
    are fitted to each data set, starting from their estimates.

    Args:
        fits: the estimated models, the most common one first.
        panel: the decisions.
        n: number of data sets per model.
        rng: the generator to draw from.
        watch: called after each data set.

    Returns:
        Shape (models, models): the share of the data sets of the row's model for which the column's
        model is selected.
    """
    counts = np.zeros((len(fits), len(fits)))
    for row, true in enumerate(fits):
        for _ in range(n):
            drawn = true.model.simulate(true.parameters, panel, rng)
            again = [fit(candidate.model, drawn, start=candidate.parameters) for candidate in fits]
            counts[row, again.index(by_rank(again)[0])] += 1
            watch()
    return counts / n


@dataclass(frozen=True)
class AbsoluteTest:
    """The result of the test of absolute fit.

    Attributes:
        p: the share of simulated data sets that differ from the model at least as much as the
            decisions; small if the model does not describe the decisions.
        misses: the ways in which the decisions differ from the model (keys of `MISSES`) more than
            all but a share `LEVEL` of these data sets; the largest first.
        data_sets: the number of these data sets.
    """

    p: float
    misses: tuple[str, ...]
    data_sets: int

    @property
    def refused(self) -> bool:
        """Whether the model is rejected at `LEVEL`."""
        return self.p <= LEVEL


MISSES = {
    "distribution": "the size of the errors is distributed otherwise",
    "values": "some decisions are more frequent than it says, knowing the same",
    "repeats": "players repeat their last decision more or less often than it says",
    "order": "errors depend on the last error",
    "players": "players differ more than it says",
    "trend": "errors change over the rounds",
}
"""Property in which decisions can differ from a model → its description."""


def absolute_test(
    best_fit: Fit, panel: Panel, rng: np.random.Generator, data_sets: int = DATA_SETS
) -> AbsoluteTest:
    """Test the absolute fit of an estimated model.

    The residual of a decision is its rank among draws of the model for the same row. Under a true
    model, residuals are uniform and independent. Data sets are simulated from the model, and the
    model is fitted to each of them (a parameter with a grid step is fixed). `MISSES` are measured
    in all data sets and scaled by their spread, and the largest one is the test statistic. So a
    true model is rejected with probability `LEVEL`, except for the estimation error if facts depend
    on the player's own decisions.

    Args:
        best_fit: the estimates.
        panel: the decisions.
        rng: the generator to draw from.
        data_sets: the number of data sets, 39 or more.
    """
    model = best_fit.model
    situations = _situations(model, panel)
    stepped = [parameter.name for parameter in model.parameters if parameter.step]
    fixed = {name: best_fit.by_name[name] for name in stepped}
    measured = [_misses(model, best_fit.parameters, panel, situations, rng)]
    for _ in range(data_sets):
        drawn = model.simulate(best_fit.parameters, panel, rng)
        again = fit(model, drawn, fixed=fixed, start=best_fit.parameters).parameters
        measured.append(_misses(model, again, drawn, situations, rng))
    table = np.array(measured)
    middle, high = np.quantile(table, [0.5, 0.95], axis=0)
    spread = high - middle
    use = spread > 1e-9 * np.maximum(np.abs(middle), 1e-3)
    if not use.any():
        return AbsoluteTest(1.0, (), data_sets)
    scaled = (table[:, use] - middle[use]) / spread[use]
    largest = scaled.max(axis=1)
    p = float((largest >= largest[0] - 1e-12).mean())
    names = [name for name, kept in zip(MISSES, use, strict=True) if kept]
    implausible = (scaled >= scaled[0] - 1e-12).mean(axis=0)
    order = np.argsort(-scaled[0])
    return AbsoluteTest(p, tuple(names[i] for i in order if implausible[i] <= LEVEL), data_sets)


def _situations(model: BehaviouralModel, panel: Panel) -> Ints:
    """The index of the situation of each row; rare situations are merged."""
    if not model.needs:
        return np.zeros(len(panel), dtype=np.int64)
    _, index = panel.distinct(*model.needs)
    counts = np.bincount(index)
    situations: Ints = np.where(counts[index] >= ENOUGH, index + 1, 0)
    return np.unique(situations, return_inverse=True)[1].astype(np.int64)


def _misses(
    model: BehaviouralModel,
    parameters: Floats,
    panel: Panel,
    situations: Ints,
    rng: np.random.Generator,
) -> list[float]:
    """The size of each of the `MISSES`."""
    from scipy.special import ndtri

    n, given = len(panel), np.round(panel.decisions, DIGITS)  # formulas differ in the last digits
    drawn = np.round(model.draws(parameters, panel, rng, DRAWS), DIGITS)
    below, ties = (drawn < given).sum(axis=0), (drawn == given).sum(axis=0)
    rank = below + np.floor(rng.random(n) * (ties + 1)) + rng.random(n)
    uniform = rank / (DRAWS + 1)
    ranks = (2 * np.arange(1, n + 1) - 1) / (2 * n)
    scores = ndtri(np.clip(uniform, 1 / MANY, 1 - 1 / MANY))
    later = np.flatnonzero(panel.position > 0)
    times = panel.time - panel.time.mean()
    earlier = given[later - 1]
    same, likely = given[later] == earlier, (drawn[:, later] == earlier).mean(axis=0)
    counts = np.bincount(panel.player, minlength=len(panel.players))
    several = len(later) > 0
    return [
        float(((np.sort(uniform) - ranks) ** 2).sum()),
        _unlike_values(given, drawn, situations),
        abs(float((same - likely).sum())) if several else 0.0,
        abs(float(scores[later] @ scores[later - 1])) if several else 0.0,
        float((panel.totals(scores) ** 2 / counts).sum()) if several else 0.0,
        abs(float(times @ scores)),
    ]


def _unlike_values(given: Floats, drawn: Floats, situations: Ints) -> float:
    """The chi-square distance between observed and drawn frequencies of values per situation.

    Real values are counted in bins of a hundredth of their range.
    """
    if (given == np.rint(given)).all():
        observed, others = given, drawn
    else:
        low, high = min(given.min(), drawn.min()), max(given.max(), drawn.max())
        observed, others = (
            np.rint((values - low) / (high - low or 1.0) * (FINEST - 1))
            for values in (given, drawn)
        )
    cells, cell = np.unique(
        np.column_stack(
            [np.tile(situations, len(drawn) + 1), np.concatenate([observed, others.ravel()])]
        ),
        axis=0,
        return_inverse=True,
    )
    cell = cell.reshape(-1)
    n = len(given)
    seen = np.bincount(cell[:n], minlength=len(cells))
    expected = np.bincount(cell[n:], minlength=len(cells)) / len(drawn)
    return float(((seen - expected) ** 2 / (seen + expected + 1)).sum())


def shares_of_types(likelihoods: Floats, weights: Floats) -> tuple[Floats, float]:
    """The maximum-likelihood shares of types with known likelihoods.

    Args:
        likelihoods: shape (players, types): the log-likelihood of each player by type.
        weights: shape (players,): how often each player counts.

    Returns:
        The shares, and the log-likelihood.
    """
    from scipy.linalg import LinAlgError, cholesky, solve_triangular
    from scipy.optimize import nnls

    counts = weights > 0
    top = likelihoods[counts].max(axis=1)
    likelihood, weight = np.exp(likelihoods[counts] - top[:, None]), weights[counts]
    total, n_types = weight.sum(), likelihoods.shape[1]
    shares = np.full(n_types, 1 / n_types)
    for _ in range(EM_STEPS):
        shares = shares * (likelihood.T @ (weight / (likelihood @ shares))) / total
    value = float(weight @ np.log(likelihood @ shares))
    for _ in range(NEWTON_STEPS):
        inside = likelihood @ shares
        slope = likelihood.T @ (weight / inside)
        curve = (likelihood * (weight / inside**2)[:, None]).T @ likelihood
        curve[np.diag_indices(n_types)] += 1e-10 * np.trace(curve)
        try:
            root = cholesky(curve)
        except LinAlgError:
            break
        aim = nnls(root, solve_triangular(root, 2 * slope - total, trans="T"))[0]
        way, length, better = aim - shares, 1.0, -math.inf
        while length > 1e-6:
            tried = np.maximum(shares + length * way, 0.0)
            tried = tried / tried.sum() if tried.sum() > 0 else shares
            better = float(weight @ np.log(np.maximum(likelihood @ tried, 1e-300)))
            if better > value:
                break
            length /= 2
        if not better > value:
            break
        gain, shares, value = better - value, tried, better
        if gain < CLOSE * total:
            break
    return shares, value + float(weight @ top)


class _Problem:
    """The maximisation of a likelihood over the free parameters."""

    def __init__(
        self, model: BehaviouralModel, panel: Panel, weights: Floats, fixed: dict[str, float]
    ) -> None:
        self.model, self.panel, self.weights, self.fixed = model, panel, weights, fixed
        n_shares = model.n_types if isinstance(model, Mixture) else 0
        self.vector = np.array([fixed.get(p.name, math.nan) for p in model.parameters])
        self.free = [
            i for i, p in enumerate(model.parameters) if i >= n_shares and p.name not in fixed
        ]
        self.scales = [model.parameters[i] for i in self.free]

    def solve(self, start: Floats | None) -> tuple[Floats, float]:
        """The maximum-likelihood vector of parameters, and the log-likelihood."""
        if not self.free:
            return self.value(np.zeros(0))
        stepped = [scale for scale in self.scales if scale.step]
        if stepped:
            return self._by_steps(stepped[0], start)
        if len(self.free) == 1:
            return self._one(start)
        return self._several(start)

    def _by_steps(self, scale: FreeParameter, start: Floats | None) -> tuple[Floats, float]:
        """Search the grid of one parameter, only near the start if one is given.

        First, some evenly spread values are fitted. Then all values are compared, with the other
        parameters from the nearest fit, and the best ones are fitted too.
        """
        n = round((scale.high - scale.low) / scale.step)
        values = scale.low + scale.step * np.arange(n + 1)
        index = [parameter.name for parameter in self.model.parameters].index(scale.name)
        if start is not None:
            reach = NEAR * (scale.high - scale.low) + HALF * scale.step
            values = values[np.abs(values - start[index]) < reach]

        def solved(at: float, near: Floats | None) -> tuple[Floats, float]:
            fixed = self.fixed | {scale.name: at}
            return _Problem(self.model, self.panel, self.weights, fixed).solve(near)

        solutions: dict[float, tuple[Floats, float]] = {}
        near = start
        for at in values[::SOME].tolist():
            solutions[at] = solved(at, near)
            near = solutions[at][0]
        scores = []
        for at in values.tolist():
            vector = solutions[min(solutions, key=lambda other: abs(other - at))][0].copy()
            vector[index] = at
            totals = self.panel.totals(self.model.log_likelihood(vector, self.panel))
            scores.append((float(self.weights @ totals), at, vector))
        for _, at, vector in sorted(scores, key=lambda score: -score[0])[:SOME]:
            if at not in solutions:
                solutions[at] = solved(at, vector)
        return max(solutions.values(), key=lambda solution: solution[1])

    def value(self, unit: Floats) -> tuple[Floats, float]:
        """All parameters and the log-likelihood, from free parameters as shares of their ranges."""
        vector = self.vector.copy()
        for i, scale, at in zip(self.free, self.scales, unit, strict=True):
            vector[i] = scale.at(float(at))
        if not isinstance(self.model, Mixture):
            totals = self.panel.totals(self.model.log_likelihood(vector, self.panel))
            return vector, float(self.weights @ totals)
        n_types = self.model.n_types
        vector[:n_types] = np.where(np.isnan(vector[:n_types]), 0.0, vector[:n_types])
        totals = self.panel.totals(self.model.by_type(vector, self.panel)).T
        known = [i for i in range(n_types) if self.model.parameters[i].name in self.fixed]
        rest = [i for i in range(n_types) if i not in known]
        left = 1 - vector[known].sum()
        if not known:
            vector[:n_types], value = shares_of_types(totals, self.weights)
            return vector, value
        if left < 1e-9:
            vector[rest] = 0.0
        else:
            with np.errstate(divide="ignore"):
                logs = np.log(np.append(vector[known], left))
            mixed = [
                np.logaddexp.reduce(totals[:, [*known, k]] + logs, axis=1) for k in rest
            ]  # the fixed types; one type takes the rest
            within, _ = shares_of_types(np.array(mixed).T, self.weights)
            vector[rest] = left * within
        with np.errstate(divide="ignore"):
            by_unit = np.logaddexp.reduce(totals + np.log(vector[:n_types]), axis=1)
        return vector, float(self.weights @ by_unit)

    def _one(self, start: Floats | None) -> tuple[Floats, float]:
        from scipy.optimize import minimize_scalar

        def loss(at: float) -> float:
            return -self.value(np.array([at]))[1]

        low, high = 0.0, 1.0
        if start is None:
            tried = np.linspace(0, 1, GRID)
            best = int(np.argmin([loss(at) for at in tried]))
            low, high = tried[max(best - 1, 0)], tried[min(best + 1, GRID - 1)]
        else:
            at = self.scales[0].share(float(start[self.free[0]]))
            low, high = max(at - 0.15, 0.0), min(at + 0.15, 1.0)
        optimum = minimize_scalar(
            loss, bounds=(low, high), method="bounded", options={"xatol": 1e-5}
        )
        edge = min(optimum.x - low, high - optimum.x) < 1e-3
        if edge and start is not None:
            return self._one(None)
        ends = [float(optimum.x), *(end for end in (0.0, 1.0) if end in (low, high))]
        return max((self.value(np.array([at])) for at in ends), key=lambda solution: solution[1])

    def _several(self, start: Floats | None) -> tuple[Floats, float]:
        from scipy.optimize import minimize

        def loss(unit: Floats) -> float:
            return -self.value(np.clip(unit, 0, 1))[1]

        n = len(self.free)
        if start is None:
            starts = [*_spread(STARTS * n, n)]
            starts.sort(key=loss)
            starts = starts[: min(BEST_STARTS, n)]
        else:
            pairs = zip(self.free, self.scales, strict=True)
            starts = [np.array([scale.share(float(start[i])) for i, scale in pairs])]
        best: tuple[Floats, float] | None = None
        for unit in starts:
            optimum = minimize(
                loss, unit, method="L-BFGS-B", bounds=[(0, 1)] * n,
                options={"eps": 1e-6, "ftol": 1e-9, "gtol": 1e-4},
            )  # fmt: skip
            solution = self.value(np.clip(optimum.x, 0, 1))
            if best is None or solution[1] > best[1]:
                best = solution
        assert best is not None
        return best


def _spread(n: int, dimensions: int) -> Floats:
    """Points spread evenly over the unit cube (Roberts' sequence of low discrepancy)."""
    root = 2.0
    for _ in range(30):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = (1 / root) ** np.arange(1, dimensions + 1)
    points: Floats = (0.5 + np.outer(np.arange(1, n + 1), steps)) % 1
    return points
