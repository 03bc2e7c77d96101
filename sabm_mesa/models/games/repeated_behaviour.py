"""Behavioural models of repeated games: learning from payoffs, and strategies of repeated games.

They read these facts: ``payoffs``, shape (n, own options, options of each other player): the
payoffs of the deciding player (padded with NaN); ``others_last``, shape (n, others): the last
choices of the others as indices of their options, NaN if unknown; and strategies ``cooperation``,
shape (n, players): the option of each player that stands for cooperation, the deciding player
first. Only games in which each player has two options, one for cooperation and one for defection,
have it. Nobody learns from a game in which a choice is missing, and strategies ignore it.

Sources:
    Camerer and Ho 1999, "Experience-weighted Attraction Learning in Normal Form Games",
    Econometrica 67(4), 827-874; with the parameter kappa as in Ho, Camerer and Chong 2007,
    "Self-tuning experience weighted attraction learning in games", Journal of Economic Theory
    133(1), 177-198.
    Dal Bó and Fréchette 2011, "The Evolution of Cooperation in Infinitely Repeated Games:
    Experimental Evidence", American Economic Review 101(1), 411-429, section IV.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.behaviour import (
    LIMITS,
    BehaviouralModel,
    ChoiceModel,
    Floats,
    FreeParameter,
    Mixture,
    Panel,
    PublishedEstimate,
)

Flags = npt.NDArray[np.bool_]
PAYOFFS, LAST, COOPERATION = "payoffs", "others_last", "cooperation"
LEARNING = (
    FreeParameter("phi", "weight of older experience", 0.0, 1.0),
    FreeParameter("delta", "weight of payoffs that were not earned", 0.0, 1.0),
    FreeParameter("kappa", "attractions add up (1) or are means (0)", 0.0, 1.0),
    FreeParameter("lambda", "weight of attractions, in spreads of the payoffs", 0.01, 200.0,
                  log=True),
    FreeParameter("n0", "weight of the first attractions", 0.0, 10.0, "games"),
)  # fmt: skip
STRATEGIES = {
    "AD": "always defects",
    "AC": "always cooperates",
    "Grim": "cooperates until anybody defects, and never again",
    "TFT": "repeats what the others did last (tit for tat)",
    "WSLS": "cooperates when all did the same last (win stay, lose shift)",
}
"""Name → description of the strategy; all but the first begin with cooperation."""
STRATEGY_ESTIMATES = tuple(
    PublishedEstimate(
        f"{subjects} students, continuation {continuation}, reward 40",
        "strategies",
        {f"share_{name}": share for name, share in zip(STRATEGIES, shares, strict=True)}
        | {"error": error},
        "estimated here from the data of Dal Bó & Fréchette 2011",
    )
    for subjects, continuation, shares, error in (
        (50, "1/2", (0.783, 0.078, 0.040, 0.098, 0.0), 0.136),
        (38, "3/4", (0.109, 0.296, 0.267, 0.327, 0.0), 0.091),
    )
)
"""Estimates of people in the prisoner's dilemma with the payoffs 50, 40, 25 and 12."""


class ExperienceWeightedAttraction(ChoiceModel):
    """Learning by experience-weighted attraction, or one of its special cases.

    Each option has an attraction, which starts as its mean payoff over all choices of the others.
    After each game the experience is ``N = phi (1 - kappa) N' + 1``, and the attraction of an
    option ``A = (phi N' A' + (delta + (1 - delta) [chosen]) payoff) / N``, where primes mark the
    previous values and N starts at ``n0``. The probability of an option is proportional to the
    exponential of lambda times its attraction.

    Source: Camerer and Ho 1999, section 2; first attractions from uniform beliefs and payoffs as
    shares of their spread are our choice.

    Args:
        name: see `BehaviouralModel`.
        title: see `BehaviouralModel`.
        source: see `BehaviouralModel`.
        fixed: the fixed parameters of `LEARNING`, with their values.
    """

    needs = (*LIMITS, PAYOFFS, LAST)

    def __init__(self, name: str, title: str, source: str, fixed: Mapping[str, float]) -> None:
        self.name, self.title, self.source, self.fixed = name, title, source, fixed
        self.parameters = tuple(p for p in LEARNING if p.name not in fixed)

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """Return logit probabilities from the attractions before each decision."""
        free = zip(self.parameters, parameters.tolist(), strict=True)
        values = dict(self.fixed) | {parameter.name: value for parameter, value in free}
        weighted = values.pop("lambda") * attractions(panel, **values)
        weights = np.exp(weighted - weighted.max(axis=1, keepdims=True))
        probabilities: Floats = weights / weights.sum(axis=1, keepdims=True)
        return probabilities


class LastGame(NamedTuple):
    """The last game before each row; payoffs are shares of the spread of the player's payoffs.

    Attributes:
        paid: the payoff that each option would have given, shape (n, options).
        chosen: 1 for the chosen option, else 0; shape (n, options).
        counts: whether all choices in it are known, shape (n,).
        start: the mean payoff of each option, shape (n, options); −∞ for missing options.
    """

    paid: Floats
    chosen: Floats
    counts: Flags
    start: Floats


@lru_cache(maxsize=32)
def last_game(panel: Panel) -> LastGame:
    """The last game before each row of a panel."""
    n, n_options, *_ = panel.known[PAYOFFS].shape
    payoffs = panel.known[PAYOFFS].reshape(n, -1)
    low, high = (end(payoffs, axis=1, keepdims=True) for end in (np.nanmin, np.nanmax))
    scaled = (payoffs - low) / np.where(high > low, high - low, 1.0)
    by_option = scaled.reshape(n, n_options, -1)
    n_cases = (~np.isnan(by_option)).sum(axis=2)
    means = np.nansum(by_option, axis=2) / np.maximum(n_cases, 1)
    counts = ~np.isnan(panel.known[LAST]).any(axis=1) & (panel.position > 0)
    at = np.flatnonzero(counts)
    paid, chosen = np.zeros((2, n, n_options))
    seen = tuple(panel.known[LAST][at].astype(np.int64).T)
    table = scaled.reshape(panel.known[PAYOFFS].shape)
    paid[at] = np.nan_to_num(table[(at, slice(None), *seen)])
    chosen[at, panel.decisions[at - 1].astype(np.int64)] = 1.0
    return LastGame(paid, chosen, counts, np.where(n_cases > 0, means, -np.inf))


def attractions(panel: Panel, *, phi: float, delta: float, kappa: float, n0: float) -> Floats:
    """The attraction of each option before each decision.

    Returns:
        Shape (n, options); −∞ for options that a row does not have.
    """
    paid, chosen, counts, start = last_game(panel)
    gains = (delta + (1 - delta) * chosen) * paid
    attraction, experience = np.maximum(start, 0.0), np.full(len(panel), n0)
    for position in range(1, int(panel.position.max(initial=0)) + 1):
        now = np.flatnonzero(panel.position == position)
        before, old = attraction[now - 1], experience[now - 1]
        new = phi * (1 - kappa) * old + 1
        learnt = ((phi * old)[:, None] * before + gains[now]) / new[:, None]
        attraction[now] = np.where(counts[now, None], learnt, before)
        experience[now] = np.where(counts[now], new, old)
    return np.where(np.isinf(start), start, attraction)


def learning_models() -> tuple[ChoiceModel, ...]:
    """Experience-weighted attraction, and its special cases reinforcement and fictitious play."""
    return (
        ExperienceWeightedAttraction(
            "ewa", "experience-weighted attraction",
            "Camerer & Ho 1999, Econometrica 67(4), section 2", {},
        ),
        ExperienceWeightedAttraction(
            "reinforcement", "cumulative reinforcement",
            "Roth & Erev 1995, Games and Economic Behavior 8(1); in the logit form of Camerer & Ho "
            "1999", {"delta": 0.0, "kappa": 1.0, "n0": 1.0},
        ),
        ExperienceWeightedAttraction(
            "fictitious_play", "fictitious play",
            "Brown 1951; with errors: Fudenberg & Levine 1998, chapter 4",
            {"phi": 1.0, "delta": 1.0, "kappa": 0.0, "n0": 1.0},
        ),
    )  # fmt: skip


class StrategyWithError(ChoiceModel):
    """A strategy of a repeated game that takes another option by error.

    With more than two players, the others count as one: they cooperate if all of them cooperate.

    Source: Dal Bó and Fréchette 2011, section IV.

    Args:
        name: a key of `STRATEGIES`.
    """

    source = "Dal Bó & Fréchette 2011, American Economic Review 101(1), section IV"
    parameters = (
        FreeParameter("error", "probability of another option than that of the strategy", 0.0, 0.5),
    )
    needs = (*LIMITS, LAST, COOPERATION)

    def __init__(self, name: str) -> None:
        self.name, self.title = name, STRATEGIES[name]

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The error is the probability of the other option."""
        cooperation = panel.known[COOPERATION][:, 0]
        plan = np.where(cooperates(panel, self.name), cooperation, 1 - cooperation)
        planned = plan[:, None] == np.arange(2)
        probabilities: Floats = np.where(planned, 1 - parameters[0], parameters[0])
        return probabilities


@lru_cache(maxsize=128)
def cooperates(panel: Panel, strategy: str) -> Flags:
    """Whether a strategy cooperates at each decision, given the earlier choices; shape (n,)."""
    own, others = np.ones((2, len(panel)), dtype=bool)  # nobody has defected before the first game
    counts = ~np.isnan(panel.known[LAST]).any(axis=1) & (panel.position > 0)
    at = np.flatnonzero(counts)
    cooperation = panel.known[COOPERATION]
    own[at] = panel.decisions[at - 1] == cooperation[at - 1, 0]
    others[at] = (panel.known[LAST][at] == cooperation[at, 1:]).all(axis=1)
    broken = (~(own & others)).astype(np.float64)
    plans: dict[str, Flags] = {
        "AD": np.zeros(len(panel), dtype=bool),
        "AC": np.ones(len(panel), dtype=bool),
        "Grim": panel.before(broken) + broken == 0,
        "TFT": others,
        "WSLS": own == others,
    }
    return plans[strategy]


def strategy_mixture() -> Mixture:
    """The mixture of strategies, with one probability of errors for all.

    Source: Dal Bó and Fréchette 2011, section IV: their gamma is ``1 / log((1 - error) / error)``.
    """
    types: list[BehaviouralModel] = [StrategyWithError(name) for name in STRATEGIES]
    title = "mixture of strategies of repeated games"
    return Mixture("strategies", title, StrategyWithError.source, types)


def cooperative_options(payoffs: Floats) -> list[int] | None:
    """The option of each player that stands for cooperation; None if the game is no dilemma.

    It is the option with the largest possible sum of payoffs. A dilemma has two options per player,
    and cooperation is not the option with the player's highest minimum payoff.

    Args:
        payoffs: shape (options of each player…, players), with the deciding player first.
    """
    if set(payoffs.shape[:-1]) != {2}:
        return None
    total, axes = payoffs.sum(axis=-1), range(payoffs.ndim - 1)
    best = [int(np.argmax(total.max(axis=tuple(a for a in axes if a != k)))) for k in axes]
    safe = int(np.argmax(payoffs[..., 0].reshape(2, -1).min(axis=1)))
    return None if best[0] == safe else best
