"""Behavioural models of social preferences: inequity aversion, and types of cooperation.

They read these facts from `Panel.known`:
    Inequity aversion: for each option the expected payoff ``own``, and the expected mean amounts by
    which the others have more (``behind``) and less (``ahead``); each of shape (n, options), in
    shares of the spread of the player's payoffs, NaN for missing options.
    Types of cooperation: ``others`` (shape (n,): the cooperation that the player expects of the
    others, from 0 to 1), and ``steps`` (shape (n,): the distances between possible amounts from
    none to full cooperation). A decision is the number of twentieths of full cooperation, 0 to 20.

Sources:
    Fehr and Schmidt 1999, "A Theory of Fairness, Competition, and Cooperation", Quarterly Journal
    of Economics 114(3), 817-868, equation 1.
    Fischbacher, Gächter and Fehr 2001, "Are people conditionally cooperative? Evidence from a
    public goods experiment", Economics Letters 71(3), 397-404; Fischbacher and Gächter 2010,
    American Economic Review 100(1), 541-556: the types, adaptive beliefs (table 3), and an
    endowment of 20 units.
    Iriberri and Rey-Biel 2013, Quantitative Economics 4(3), 515-547: social preferences as types.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from sabm_mesa.analysis.behaviour import (
    BehaviouralModel,
    Chance,
    ChoiceModel,
    Floats,
    FreeParameter,
    Mixture,
    Panel,
    PublishedEstimate,
    TypesModel,
    floored,
)

UNITS = 20
"""Units of full cooperation."""
LAMBDA = FreeParameter(
    "lambda", "weight of utility, in spreads of the payoffs", 0.01, 200.0, log=True
)
ENVY = FreeParameter("alpha", "envy: weight of having less", -2.0, 10.0)
GUILT = FreeParameter("beta", "guilt: weight of having more", -5.0, 5.0)
INTERCEPT = FreeParameter("intercept", "cooperation at none of the others", -1.0, 1.0)
SLOPE = FreeParameter("slope", "rise with the cooperation of the others", 0.1, 2.0)
LEVEL = FreeParameter("level", "cooperation at any of the others", 0.05, 1.5)
SIGMA = FreeParameter("sigma", "standard deviation of cooperation", 0.01, 2.0, log=True)
UPDATE = FreeParameter("update", "weight of the last observation in a belief", 0.0, 1.0)
FIRST = FreeParameter("first", "mean first belief about the cooperation of the others", 0.0, 1.0)
SPREAD = FreeParameter("spread", "standard deviation of first beliefs between players", 0.0, 0.5)
NODES = 5
"""Number of nodes for the normal distribution of first beliefs."""
SLIP = FreeParameter("slip", "probability that a free rider cooperates", 0.0, 0.5)


INEQUITY_ESTIMATES = (
    PublishedEstimate(
        "people: mean of 297 estimates in 41 articles",
        "inequity_aversion",
        {"alpha": 0.533, "beta": 0.326},
        "Nunnari & Pozzi 2026, Economic Journal, abstract",
    ),
    PublishedEstimate(
        "people: mean of the assumed types",
        "inequity_aversion",
        {"alpha": 0.85, "beta": 0.315},
        "Fehr & Schmidt 1999, table III",
    ),
)
"""The published weights of people."""


class InequityAversion(ChoiceModel):
    """Logit choices of players who dislike having less or more than others.

    The utility of an option is its payoff, minus alpha times the mean amount by which the others
    have more, minus beta times the mean amount by which they have less.

    Source: Fehr and Schmidt 1999, equation 1; errors by the logit rule, as in McKelvey and Palfrey
    1995.

    Args:
        selfish: whether both weights are 0, so that only the player's payoff counts.
    """

    source = "Fehr & Schmidt 1999, Quarterly Journal of Economics 114(3), equation 1"
    needs = ("own", "behind", "ahead")

    def __init__(self, *, selfish: bool = False) -> None:
        self.selfish = selfish
        self.name = "selfish" if selfish else "inequity_aversion"
        self.title = "own payoff alone, with errors" if selfish else "inequity aversion"
        self.parameters = (LAMBDA,) if selfish else (LAMBDA, ENVY, GUILT)

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """Return logit probabilities from the utilities."""
        known = panel.known
        utility = known["own"]
        if not self.selfish:
            _, envy, guilt = parameters
            utility = utility - envy * known["behind"] - guilt * known["ahead"]
        weighted = parameters[0] * (utility - np.nanmax(utility, axis=1, keepdims=True))
        weights = np.where(np.isnan(weighted), 0.0, np.exp(weighted))
        probabilities: Floats = weights / weights.sum(axis=1, keepdims=True)
        return probabilities


def inequity_types() -> Mixture:
    """The mixture of selfish and inequity-averse players.

    Both types have the same precision.
    """
    return Mixture(
        "inequity_types",
        "mixture of selfish and inequity-averse players",
        "Fehr & Schmidt 1999, section II; Iriberri & Rey-Biel 2013",
        {"selfish": InequityAversion(selfish=True), "averse": InequityAversion()},
    )


class CooperationByChance(Chance):
    """Each possible amount is equally likely."""

    title = "each amount equally likely"
    needs = ("steps",)

    def count(self, panel: Panel) -> Floats:
        """The number of amounts."""
        n_amounts: Floats = panel.known["steps"] + 1
        return n_amounts

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw an amount."""
        del parameters
        amounts: Floats = np.floor(rng.random(len(panel)) * self.count(panel))
        return UNITS * amounts / panel.known["steps"]


class CooperationType(BehaviouralModel):
    """A type of cooperation with a normal error, censored at no and at full cooperation.

    The lowest and the highest amount have the probability of all values beyond them (a censored
    regression: Tobin 1958, Econometrica 26(1), 24-36); an amount between them has the probability
    of the interval that rounds to it.
    """

    source = "Fischbacher, Gächter & Fehr 2001; Fischbacher & Gächter 2010"
    needs = ("others", "steps")

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The logarithm of the probability of each amount, exact in both tails."""
        return _censored(self.mean(parameters, panel.known["others"]), parameters[-1], panel)

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw an amount around the line of the type."""
        return _amounts(self.mean(parameters, panel.known["others"]), parameters[-1], panel, rng)

    @abstractmethod
    def mean(self, parameters: Floats, others: Floats) -> Floats:
        """The cooperation without error.

        Args:
            parameters: the vector of parameters.
            others: shape (n,): the expected cooperation of the others.

        Returns:
            Shape (n,).
        """


class ConditionalCooperator(CooperationType):
    """A conditional cooperator: cooperation rises with the expected cooperation of the others."""

    name, title = "conditional", "conditional cooperator"
    parameters = (INTERCEPT, SLOPE, SIGMA)

    def mean(self, parameters: Floats, others: Floats) -> Floats:
        """A line."""
        means: Floats = parameters[0] + parameters[1] * others
        return means


class AdaptiveCooperator(TypesModel):
    """A conditional cooperator whose belief about the others adapts to their actions.

    After each observation, the belief moves towards it by the share ``update`` of the distance;
    with 1 it equals the last observation, as in `ConditionalCooperator`. First beliefs are normally
    distributed between players; `NODES` types approximate the distribution (Gauss-Hermite
    quadrature). Facts from before the first row, such as a published first belief, are not used.

    Source: Fischbacher and Gächter 2010, table 3 (beliefs); the distribution of first beliefs is
    our choice.
    """

    name, title = "adaptive", "conditional cooperator with adaptive beliefs"
    source = "Fischbacher & Gächter 2010, AER 100(1), table 3"
    parameters = (INTERCEPT, SLOPE, UPDATE, FIRST, SPREAD, SIGMA)
    needs = CooperationType.needs

    def __init__(self) -> None:
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        self._nodes, self._weights = nodes, weights / weights.sum()

    def shares(self, parameters: Floats) -> Floats:
        """The weights of the first beliefs."""
        del parameters
        weights: Floats = self._weights
        return weights

    def by_type(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihoods given each first belief."""
        means = self._means(parameters, panel)
        return np.array([_censored(mean, parameters[-1], panel) for mean in means])

    def draw_type(
        self, kind: int, parameters: Floats, panel: Panel, rng: np.random.Generator
    ) -> Floats:
        """Draw an amount given a first belief."""
        return _amounts(self._means(parameters, panel)[kind], parameters[-1], panel, rng)

    def _means(self, parameters: Floats, panel: Panel) -> Floats:
        """The cooperation without error by first belief, shape (nodes, n)."""
        intercept, slope, update, first, spread, _ = parameters
        seen = panel.padded(panel.known["others"], fill=0.0)
        belief = np.empty((NODES, *seen.shape))
        belief[:, :, 0] = np.clip(first + spread * self._nodes, 0, 1)[:, None]
        for time in range(1, seen.shape[1]):
            last = belief[:, :, time - 1]
            belief[:, :, time] = last + update * (seen[:, time] - last)
        means: Floats = intercept + slope * belief[:, panel.player, panel.position]
        return means


class HumpShapedCooperator(CooperationType):
    """A hump-shaped (triangle) cooperator: cooperation rises up to half, and then falls.

    It follows the line of a conditional cooperator until the others cooperate half, and then the
    mirrored line. So in a mixture with common parameters, it differs from a conditional cooperator
    only beyond half.
    """

    name, title = "hump_shaped", "hump-shaped cooperator"
    parameters = (INTERCEPT, SLOPE, SIGMA)

    def mean(self, parameters: Floats, others: Floats) -> Floats:
        """A line that turns back at one half."""
        means: Floats = parameters[0] + parameters[1] * np.minimum(others, 1 - others)
        return means


class UnconditionalCooperator(CooperationType):
    """An unconditional cooperator: cooperation does not depend on the others."""

    name, title = "unconditional", "unconditional cooperator"
    parameters = (LEVEL, SIGMA)

    def mean(self, parameters: Floats, others: Floats) -> Floats:
        """A constant."""
        return np.full(len(others), parameters[0])


class FreeRider(BehaviouralModel):
    """A free rider: does not cooperate, except for uniformly distributed slips."""

    name, title = "free_rider", "free rider"
    source = CooperationType.source
    parameters = (SLIP,)
    needs = CooperationType.needs

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The logarithm of the probability of each amount."""
        slipped = parameters[0] / panel.known["steps"]
        return floored(np.where(panel.decisions > 0, slipped, 1 - parameters[0]))

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw nothing, or any other amount."""
        steps, (slips, lots) = panel.known["steps"], rng.random((2, len(panel)))
        amount = np.floor(steps * lots) + 1
        amounts: Floats = UNITS * np.where(slips < parameters[0], amount, 0.0) / steps
        return amounts


def cooperation_types() -> tuple[BehaviouralModel, ...]:
    """The types of cooperation, each as a model."""
    return ConditionalCooperator(), FreeRider(), UnconditionalCooperator(), HumpShapedCooperator()


def cooperation_models() -> tuple[BehaviouralModel, ...]:
    """The models of cooperation: mixtures of types, each type alone, and chance."""
    return (
        cooperation_mixture(),
        cooperation_mixture(hump=True),
        cooperation_mixture(adaptive=True),
        *cooperation_types(),
        AdaptiveCooperator(),
        CooperationByChance(),
    )


def cooperation_mixture(*, hump: bool = False, adaptive: bool = False) -> Mixture:
    """A mixture of types of cooperation, with one line and one standard deviation of errors.

    The type "other" of the source is the unconditional one here: the mean schedule of its "other"
    subjects is about flat (Fischbacher and Gächter 2010).

    Args:
        hump: whether hump-shaped cooperators are a separate type. Otherwise they count as
            conditional: both are alike if the others cooperate less than half.
        adaptive: whether the conditional cooperators have adaptive beliefs.
    """
    conditional, free_rider, unconditional, hump_shaped = cooperation_types()
    types = [AdaptiveCooperator() if adaptive else conditional, free_rider, unconditional]
    if hump:
        types.append(hump_shaped)
    ending = "_hump" if hump else "_adaptive" if adaptive else ""
    words = ", also hump-shaped" if hump else ", with adaptive beliefs" if adaptive else ""
    return Mixture(
        f"cooperation_types{ending}",
        f"types of cooperation{words}",
        CooperationType.source,
        {model.name: model for model in types},
    )


def _censored(mean: Floats, sigma: float, panel: Panel) -> Floats:
    """The log-likelihood of amounts around a mean, with normal errors censored at both ends."""
    from scipy.special import ndtr

    share, half = panel.decisions / UNITS, 0.5 / panel.known["steps"]
    below = np.where(share <= 0, -math.inf, (share - half - mean) / sigma)
    above = np.where(share >= 1, math.inf, (share + half - mean) / sigma)
    flip = below > 0
    return floored(ndtr(np.where(flip, -below, above)) - ndtr(np.where(flip, -above, below)))


def _amounts(mean: Floats, sigma: float, panel: Panel, rng: np.random.Generator) -> Floats:
    """Draw amounts around a mean."""
    steps = panel.known["steps"]
    drawn = np.clip(mean + sigma * rng.standard_normal(len(panel)), 0, 1)
    amounts: Floats = UNITS * np.rint(steps * drawn) / steps
    return amounts
