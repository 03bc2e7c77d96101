"""Behavioural models of guessing games: steps of reasoning with errors.

They read these facts from `Panel.known`, all of shape (n,): ``reference`` (the pick of level 0: the
middle of the range, or the last mean), ``p`` (factor of the target), ``low`` and ``high`` (the
range), ``whole`` (1 where picks are whole numbers, else 0).

Sources:
    Nagel (1995), American Economic Review 85(5), 1313-1326: levels, from a reference.
    Camerer, Ho and Chong (2004), Quarterly Journal of Economics 119(3), 861-898: the Poisson
    cognitive hierarchy.
    McKelvey and Palfrey (1995), Games and Economic Behavior 10(1), 6-38: logit equilibrium.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.behaviour import (
    FINEST,
    BehaviouralModel,
    Chance,
    Floats,
    FreeParameter,
    Mixture,
    Panel,
    PublishedEstimate,
    TypesModel,
    floored,
)
from sabm_mesa.analysis.guessing import poisson_frequencies

NEEDS = ("reference", "p", "low", "high", "whole")
Error = Literal["normal", "ratio"]
HALF = 0.5
"""Half of the distance between two whole numbers: a whole pick stands for an interval of this
radius.
"""
REPLIES, ACCURACY = 1_000, 1e-9
"""Maximum number of iterations towards an equilibrium, and the change at which they end."""
SMALLEST = 1e-3
"""Lower bound of a real pick, as a share of the range, for errors in proportion to the pick."""
SIGMA = {
    "normal": FreeParameter(
        "sigma", "standard deviation of the pick around its step", 0.05, 50.0, "pick", log=True
    ),
    "ratio": FreeParameter(
        "sigma_log", "standard deviation of the log of the pick around its step", 0.005, 3.0,
        log=True,
    ),
}  # fmt: skip
"""The parameter of each kind of error."""


class Uniform(Chance):
    """A player of level 0: each legal pick is equally likely.

    Source: Camerer, Ho and Chong 2004, section II.
    """

    title, source = "uniform picks", "Camerer, Ho & Chong 2004, section II"
    needs = NEEDS

    def count(self, panel: Panel) -> Floats:
        """The number of legal picks, or the length of the range."""
        return _width(panel)

    def uncertainty(self, panel: Panel) -> Floats:
        """The log of the number of picks; real picks count as hundredths of the range."""
        uncertainty: Floats = np.where(_range(panel)[2], np.log(_width(panel)), math.log(FINEST))
        return uncertainty

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a pick from the range."""
        del parameters
        low, high, whole = _range(panel)
        drawn = low + rng.random(len(panel)) * _width(panel)
        picks: Floats = np.where(whole, np.floor(drawn), np.minimum(drawn, high))
        return picks


class StepWithError(BehaviouralModel):
    """A player of level k, who picks the reference times p to the power of k, with an error.

    The error is normal and censored at the ends of the range. A whole pick has the probability of
    the interval that rounds to it, a real pick a density.

    Source: Nagel 1995 (steps).

    Args:
        k: the level.
        error: the scale of the error: picks, or their logarithms.
    """

    title, source = "a level with error", "Nagel 1995"
    needs = NEEDS

    def __init__(self, k: int, error: Error = "normal") -> None:
        self.k, self.error = k, error
        self.name = f"level_{k}"
        self.parameters = (SIGMA[error],)

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of each pick."""
        return error_log_likelihood(self.step(panel), parameters[0], panel, self.error)

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a pick around the step."""
        return with_error(self.step(panel), parameters[0], panel, self.error, rng)

    def step(self, panel: Panel) -> Floats:
        """The pick of the level, before the error.

        Args:
            panel: the decisions.
        """
        known = panel.known
        steps: Floats = np.minimum(known["reference"] * known["p"] ** self.k, known["high"])
        return steps


class HierarchySteps(TypesModel):
    """The Poisson cognitive hierarchy: steps are Poisson distributed with mean tau.

    A player with k steps gives the best response to the players with fewer steps, in their true
    relative shares, with an error. A player with 0 steps picks uniformly. The number of steps of a
    player is fixed.

    Source: Camerer, Ho & Chong 2004, section II. The theory is for one round; in later rounds the
    reference replaces the middle of the range (our choice).

    Args:
        error: the scale of the error, see `StepWithError`.
        k_max: the maximum number of steps, at which the Poisson distribution is truncated.
    """

    source = "Camerer, Ho & Chong 2004, QJE 119(3), section II"
    needs = NEEDS

    def __init__(self, error: Error = "normal", k_max: int = 8) -> None:
        self.error, self.k_max = error, k_max
        self.name = "cognitive_hierarchy" + _ending(error)
        self.title = f"Poisson cognitive hierarchy, {_WORDS[error]}"
        self.parameters = (FreeParameter("tau", "mean steps of reasoning", 0.0, 6.0), SIGMA[error])
        self._uniform = Uniform()

    def shares(self, parameters: Floats) -> Floats:
        """The Poisson shares of 0 to `k_max` steps."""
        frequencies = poisson_frequencies(float(parameters[0]), self.k_max)
        shares: Floats = frequencies / frequencies.sum()
        return shares

    def by_type(self, parameters: Floats, panel: Panel) -> Floats:
        """Uniform with 0 steps, around the best response otherwise."""
        replies = np.array(self._replies(parameters, panel)[1:])
        around = error_log_likelihood(replies, parameters[1], panel, self.error)
        return np.vstack([self._uniform.log_likelihood(parameters, panel)[None], around])

    def draw_type(
        self, kind: int, parameters: Floats, panel: Panel, rng: np.random.Generator
    ) -> Floats:
        """Draw a pick of a player with a given number of steps."""
        if kind == 0:
            return self._uniform.draw(parameters, panel, rng)
        reply = self._replies(parameters, panel)[kind]
        return with_error(reply, parameters[1], panel, self.error, rng)

    def _replies(self, parameters: Floats, panel: Panel) -> list[Floats]:
        """The best response of each number of steps: p times the mean of the lower ones."""
        shares = self.shares(parameters) + 1e-300
        picks, p = [panel.known["reference"]], panel.known["p"]
        below = shares[0] * picks[0]
        for step in range(1, self.k_max + 1):
            reply = np.minimum(p * below / shares[:step].sum(), panel.known["high"])
            picks.append(reply)
            below = below + shares[step] * reply
        return picks


class NoisyBestReply(StepWithError):
    """A noisy best reply: p times the reference, and a normal error.

    The player expects the others to repeat their last mean, and to pick the middle in the first
    round.

    Source: the best response of Nagel 1995, ignoring the weight of the player's pick (footnote 8).
    """

    title = "noisy best reply to the last mean, normal error"
    source = "Nagel 1995, footnote 8"

    def __init__(self) -> None:
        super().__init__(1)
        self.name = "noisy_best_reply"


class QuantalPicks(BehaviouralModel):
    """A logit equilibrium: picks near the target are more likely, and this is common knowledge.

    The likelihood of a pick is proportional to exp(−lambda d²), with its distance d from the target
    as a share of the range. The target is p times the mean of such picks. If there are several
    solutions, iteration from the middle selects one. The loss by distance is our choice, since only
    the nearest pick wins the prize. The equilibrium is the same in all rounds.

    Source: McKelvey and Palfrey 1995, section 3 (of finite games).
    """

    name, title = "quantal_response", "logit equilibrium with a loss by squared distance"
    source = "McKelvey & Palfrey 1995, GEB 10(1), section 3; the loss is our choice"
    parameters = (
        FreeParameter("lambda", "weight of the squared distance from the target", 0.01, 1e5,
                      "1 / squared range", log=True),
    )  # fmt: skip
    needs = NEEDS

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of each pick."""
        target, spread = self.target(parameters, panel)
        return error_log_likelihood(target, spread, panel, "normal")

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a pick around the target."""
        target, spread = self.target(parameters, panel)
        return with_error(target, spread, panel, "normal", rng)

    def target(self, parameters: Floats, panel: Panel) -> tuple[Floats, Floats]:
        """The target in equilibrium, and the standard deviation before truncation.

        Args:
            parameters: the vector of parameters.
            panel: the decisions.

        Returns:
            Two arrays of shape (n,).
        """
        from scipy.special import ndtr

        games, index = panel.distinct("p", "low", "high", "whole")
        p, low, high, whole = (
            np.array([float(game[name]) for game in games])
            for name in ("p", "low", "high", "whole")
        )
        spread = (high - low) / np.sqrt(2 * parameters[0])
        least, most = low - HALF * whole, high + HALF * whole
        mean = (low + high) / 2
        for _ in range(REPLIES):
            target = np.minimum(p * mean, high)
            ends = (least - target) / spread, (most - target) / spread
            tails = (np.exp(-end * end / 2) / np.sqrt(2 * np.pi) for end in ends)
            inside = np.maximum(ndtr(ends[1]) - ndtr(ends[0]), 1e-300)
            last, mean = mean, target + spread * np.subtract(*tails) / inside
            if np.abs(mean - last).max() < ACCURACY:
                break
        return np.minimum(p * mean, high)[index], spread[index]


def level_k(error: Error = "normal", k_max: int = 3) -> Mixture:
    """The mixture of levels: uniform picks, and levels 1 to `k_max` with the same error size.

    Source: Nagel 1995 (levels); the mixture of types as in Stahl and Wilson 1995, Games and
    Economic Behavior 10(1), 218-254.

    Args:
        error: the scale of the error, see `StepWithError`.
        k_max: the highest level.
    """
    types: dict[str, BehaviouralModel] = {"level_0": Uniform()}
    types |= {f"level_{k}": StepWithError(k, error) for k in range(1, k_max + 1)}
    return Mixture(
        "level_k" + _ending(error),
        f"mixture of levels, {_WORDS[error]}",
        "Nagel 1995; Stahl & Wilson 1995",
        types,
    )


PEOPLE = (
    PublishedEstimate(
        "67 students, shares of picks near a step",
        "level_k",
        {"share_level_1": 0.269, "share_level_2": 0.239, "share_level_3": 0.015},
        "Nagel 1995, figure 2B",
    ),
    PublishedEstimate(
        "67 students, shares of picks near a step",
        "level_k_ratio",
        {"share_level_1": 0.269, "share_level_2": 0.239, "share_level_3": 0.015},
        "Nagel 1995, figure 2B",
    ),
    PublishedEstimate(
        "people in many games",
        "cognitive_hierarchy",
        {"tau": 1.5},
        "Camerer, Ho & Chong 2004, abstract",
    ),
    PublishedEstimate(
        "people in many games",
        "cognitive_hierarchy_ratio",
        {"tau": 1.5},
        "Camerer, Ho & Chong 2004, abstract",
    ),
)
"""Published estimates; those of Nagel are shares of classes of picks, not of mixture types."""


def guessing_models() -> tuple[BehaviouralModel, ...]:
    """The behavioural models of guessing games."""
    return (
        level_k(),
        level_k("ratio"),
        HierarchySteps(),
        HierarchySteps("ratio"),
        NoisyBestReply(),
        QuantalPicks(),
        Uniform(),
    )


def error_log_likelihood(
    centre: Floats, sigma: float | Floats, panel: Panel, error: Error
) -> Floats:
    """The log-likelihood of picks around a centre, with errors that stay within the range.

    Args:
        centre: shape (…, n): the picks without error.
        sigma: the standard deviation of the error, a number or of shape (n,).
        panel: the decisions.
        error: its scale.

    Returns:
        Shape (…, n).
    """
    low, high, whole = _range(panel)
    at = panel.decisions
    reach = np.where(whole, HALF, 0.0)
    mid = _scaled(centre, panel, error)

    def inside(least: Floats, most: Floats) -> Floats:
        ends = (_scaled(end, panel, error) for end in (least, most))
        return _interval(*((end - mid) / sigma for end in ends))

    total = np.maximum(inside(low - reach, high + reach), 1e-300)
    if whole.all():
        return floored(inside(at - HALF, at + HALF) / total)
    z = (_scaled(at, panel, error) - mid) / sigma
    density = np.exp(-z * z / 2) / (sigma * np.sqrt(2 * np.pi))
    if error == "ratio":
        density = density / np.maximum(at, SMALLEST * high)
    if whole.any():
        density = np.where(whole, inside(at - HALF, at + HALF), density)
    return floored(density / total)


def with_error(
    centre: Floats, sigma: float | Floats, panel: Panel, error: Error, rng: np.random.Generator
) -> Floats:
    """Draw picks around a centre, with errors that stay within the range.

    Args:
        centre: shape (n,): the picks without error.
        sigma: the standard deviation of the error, a number or of shape (n,).
        panel: the decisions.
        error: its scale.
        rng: the generator; one number is drawn for each row.

    Returns:
        Shape (n,).
    """
    from scipy.special import ndtr, ndtri

    low, high, whole = _range(panel)
    reach = np.where(whole, HALF, 0.0)
    mid = _scaled(centre, panel, error)
    least = ndtr((_scaled(low - reach, panel, error) - mid) / sigma)
    most = ndtr((_scaled(high + reach, panel, error) - mid) / sigma)
    drawn = mid + sigma * ndtri(least + rng.random(len(panel)) * (most - least))
    picks = np.exp(drawn) if error == "ratio" else drawn
    legal: Floats = np.clip(np.where(whole, np.rint(picks), picks), low, high)
    return legal


_WORDS = {"normal": "normal error", "ratio": "error in proportion to the pick"}


def _ending(error: Error) -> str:
    return "" if error == "normal" else "_ratio"


def _range(panel: Panel) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """The ends of the range, and whether picks are whole."""
    known = panel.known
    return known["low"], known["high"], known["whole"] > 0


def _width(panel: Panel) -> Floats:
    """The number of legal picks, or the length of the range."""
    low, high, whole = _range(panel)
    width: Floats = high - low + np.where(whole, 2 * HALF, 0.0)
    return width


def _scaled(values: Floats, panel: Panel, error: Error) -> Floats:
    if error == "normal":
        return values
    logs: Floats = np.log(np.maximum(values, SMALLEST * panel.known["high"]))
    return logs


def _interval(low: Floats, high: Floats) -> Floats:
    """The probability of a standard normal variable between two limits, exact in both tails."""
    from scipy.special import ndtr

    flip = low > 0
    probability: Floats = ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low))
    return probability
