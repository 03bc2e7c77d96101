"""Estimates of behavioural models: maximum likelihood, intervals, selection, absolute test.

Data are a `Panel`; models follow `sabm_mesa.analysis.behaviour`.

Sources:
    Shares of a mixture: expectation maximisation (Dempster, Laird and Rubin 1977, Journal of the
    Royal Statistical Society B 39(1), 1-38).
    Intervals by the profile likelihood: Venzon and Moolgavkar 1988, Applied Statistics 37(1),
    87-94.
    Absolute test: a parametric bootstrap (Efron and Tibshirani 1993, "An Introduction to the
    Bootstrap", chapter 16) of residuals by the probability integral transform (Dunn and Smyth 1996,
    Journal of Computational and Graphical Statistics 5(3), 236-244).
    Share gained over chance: McFadden 1974, "Conditional logit analysis of qualitative choice
    behavior", with chance as the null model.
    Criterion: Schwarz 1978, Annals of Statistics 6(2), 461-464; Kass and Raftery 1995, Journal of
    the American Statistical Association 90(430), 773-795.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sabm_mesa.analysis.behaviour import BehaviouralModel, Floats, Mixture, Panel, Uniform, log_sum

STARTS, BEST_STARTS = 40, 2
"""Number of starting points per parameter, spread evenly over the limits, and of those from which
the search begins.
"""
EM_STEPS = 200
"""A fixed number, so that the likelihood is a smooth function of the other parameters."""
CHI_SQUARE = 3.841458820694124
"""The 95 % quantile of the chi-square distribution with one degree of freedom."""
MENTIONED = 2.0
"""Smaller differences of Schwarz' criterion are "not worth more than a bare mention" (Kass and
Raftery 1995, section 3.2).
"""
DATA_SETS = 99
"""Number of simulated data sets for the test of absolute fit."""
DRAWS = 25
"""Number of draws per decision; the rank of the decision among them is its residual."""
LEVEL = 0.025
"""Probability of rejecting a true model."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A model with its estimates, in the order of its parameters."""

    model: BehaviouralModel
    parameters: Floats
    log_likelihood: float
    n_decisions: int

    @property
    def n_free(self) -> int:
        """The number of free parameters; one share of a mixture is not free."""
        return len(self.model.parameters) - isinstance(self.model, Mixture)

    @property
    def bic(self) -> float:
        """Schwarz' criterion, by the number of decisions; smaller is better."""
        return self.n_free * math.log(self.n_decisions) - 2 * self.log_likelihood

    def gained(self, panel: Panel) -> float:
        """The gain over chance as a share of the log-likelihood of chance (McFadden's pseudo R²).

        Chance has 0, certainty 1; below 0 the model is worse than chance.
        """
        chance = float(Uniform().log_likelihood(np.zeros(0), panel).sum())
        return 1 - self.log_likelihood / chance

    @property
    def by_name(self) -> dict[str, float]:
        """Parameter → its estimate."""
        names = (parameter.name for parameter in self.model.parameters)
        return dict(zip(names, map(float, self.parameters), strict=True))


def fit(
    model: BehaviouralModel,
    panel: Panel,
    *,
    fixed: Mapping[str, float] | None = None,
    start: Floats | None = None,
) -> Fit:
    """Estimate the parameters of a model by maximum likelihood.

    The shares of a mixture are maximised for all values of the other parameters.

    Fixed parameters have their values in `fixed`. Without a start, several are tried.
    """
    from scipy.optimize import minimize
    from scipy.stats import qmc

    known = dict(fixed or {})
    n_shares = len(model.types) if isinstance(model, Mixture) else 0
    given = np.array([known.get(parameter.name, math.nan) for parameter in model.parameters])
    free = [i for i in range(n_shares, len(given)) if np.isnan(given[i])]

    def solution(unit: Floats) -> tuple[Floats, float]:
        vector = given.copy()
        vector[free] = [
            model.parameters[i].at(at) for i, at in zip(free, np.clip(unit, 0, 1), strict=True)
        ]
        if not isinstance(model, Mixture):
            return vector, float(model.log_likelihood(vector, panel).sum())
        by_type = panel.totals(model.by_type(vector, panel))
        shares = best_shares(by_type, vector[:n_shares])
        vector[:n_shares] = shares
        return vector, float(log_sum(by_type + np.log(np.maximum(shares, 1e-300))[:, None]).sum())

    def loss(unit: Floats) -> float:
        return -solution(unit)[1]

    if not free:
        return Fit(model, *solution(np.zeros(0)), len(panel))
    if start is None:
        points = qmc.Halton(len(free), scramble=False).random(STARTS * len(free) + 1)[1:]
        starts = sorted(points, key=loss)[:BEST_STARTS]
    else:
        starts = [np.array([model.parameters[i].share(float(start[i])) for i in free])]
    found = [
        minimize(
            loss, unit, method="L-BFGS-B", bounds=[(0, 1)] * len(free),
            options={"eps": 1e-6, "ftol": 1e-9, "gtol": 1e-4},
        ).x
        for unit in starts
    ]  # fmt: skip
    return Fit(model, *max(map(solution, found), key=lambda found: found[1]), len(panel))


def best_shares(by_type: Floats, fixed: Floats) -> Floats:
    """The maximum-likelihood shares of types; `fixed` ones, shape (types,), are NaN if free.

    The log-likelihood of each player for each type has the shape (types, players).
    """
    likelihood = np.exp(by_type - by_type.max(axis=0))
    free = np.isnan(fixed)
    left = max(1 - float(fixed[~free].sum()), 0.0)
    shares: Floats = np.where(free, left / max(free.sum(), 1), fixed)
    for _ in range(EM_STEPS):
        players = shares * (likelihood @ (1 / np.maximum(shares @ likelihood, 1e-300)))
        shares[free] = left * players[free] / max(float(players[free].sum()), 1e-300)
    return shares


def profile_interval(best_fit: Fit, panel: Panel, name: str) -> tuple[float, float]:
    """The 95 % interval of a parameter by the profile likelihood.

    The interval does not extend beyond the limits of the parameter.
    """
    from scipy.optimize import brentq

    index = list(best_fit.by_name).index(name)
    scale = best_fit.model.parameters[index]
    top, best = best_fit.log_likelihood, scale.share(best_fit.parameters[index])
    known: dict[float, tuple[float, Floats]] = {best: (-CHI_SQUARE, best_fit.parameters)}

    def excess(at: float) -> float:
        if at not in known:
            near = known[min(known, key=lambda other: abs(other - at))][1]
            other = fit(best_fit.model, panel, fixed={name: scale.at(at)}, start=near)
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
    "values": "some decisions are more frequent than it says",
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
    model is fitted to each of them. `MISSES` are measured in all data sets and scaled by their
    spread, and the largest one is the test statistic. So a true model is rejected with probability
    `LEVEL`, except for the estimation error if facts depend on the player's own decisions.
    """
    model = best_fit.model
    measured = [_misses(model, best_fit.parameters, panel, rng)]
    for _ in range(data_sets):
        drawn = model.simulate(best_fit.parameters, panel, rng)
        again = fit(model, drawn, start=best_fit.parameters).parameters
        measured.append(_misses(model, again, drawn, rng))
    table = np.array(measured)
    middle, high = np.quantile(table, [0.5, 0.95], axis=0)
    scaled = (table - middle) / np.maximum(high - middle, 1e-9)
    largest = scaled.max(axis=1)
    implausible = (scaled >= scaled[0] - 1e-12).mean(axis=0) <= LEVEL
    names = [list(MISSES)[i] for i in np.argsort(-scaled[0]) if implausible[i]]
    return AbsoluteTest(float((largest >= largest[0] - 1e-12).mean()), tuple(names), data_sets)


def _misses(
    model: BehaviouralModel, parameters: Floats, panel: Panel, rng: np.random.Generator
) -> list[float]:
    """The size of each of the `MISSES`."""
    from scipy.special import ndtri

    given = panel.cells(panel.decisions)
    drawn = panel.cells(np.array([model.draw(parameters, panel, rng) for _ in range(DRAWS)]))
    below, ties = (drawn < given).sum(axis=0), (drawn == given).sum(axis=0)
    scores = ndtri((below + rng.uniform(0.02, 0.98, len(panel)) * (ties + 1)) / (DRAWS + 1))
    n_cells = max(given.max(), drawn.max()) + 1
    seen = np.bincount(given, minlength=n_cells)
    expected = np.bincount(drawn.ravel(), minlength=n_cells) / DRAWS
    later = np.flatnonzero(panel.position > 0)
    return [
        float(((seen - expected) ** 2 / (seen + expected + 1)).sum()),
        abs(float(scores[later] @ scores[later - 1])),
        float((panel.totals(scores) ** 2 / panel.totals(np.ones(len(panel)))).sum()),
        abs(float((panel.time - panel.time.mean()) @ scores)),
    ]
