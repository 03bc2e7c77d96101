"""Behavioural models of repeated games: learning from payoffs, and strategies of repeated games.

They read the facts of `sabm_mesa.analysis.matrix_behaviour` from `Panel.known`; strategies also
read ``dilemma`` (shape (n,)). A scenario provides this fact, with any value, for games in which
each player has two options, one for cooperation and one for defection (see `option_roles`).
Patterns read ``two_by_two``, provided for games of two players with two options.

Sources:
    Camerer and Ho 1999, "Experience-weighted Attraction Learning in Normal Form Games",
    Econometrica 67(4), 827-874; with the parameter kappa as in Ho, Camerer and Chong 2007,
    "Self-tuning experience weighted attraction learning in games", Journal of Economic Theory
    133(1), 177-198.
    Dal Bó and Fréchette 2011, "The Evolution of Cooperation in Infinitely Repeated Games:
    Experimental Evidence", American Economic Review 101(1), 411-429, section IV.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.behaviour import (
    ChoiceModel,
    Floats,
    FreeParameter,
    Ints,
    Mixture,
    Panel,
    PublishedEstimate,
    once_a_panel,
)
from sabm_mesa.analysis.matrix_behaviour import LAST, PAYOFFS

Flags = npt.NDArray[np.bool_]
NO_CHOICE = -1
"""Padding after the last choice of a shorter series."""
PUNISHMENT = 2
"""Number of games in which the strategy T2 punishes."""
PHI = FreeParameter("phi", "weight of older experience", 0.0, 1.0)
DELTA = FreeParameter("delta", "weight of payoffs that were not earned", 0.0, 1.0)
KAPPA = FreeParameter("kappa", "attractions add up (1) or are means (0)", 0.0, 1.0)
PRECISION = FreeParameter("lambda", "weight of attractions, in spreads of the payoffs", 0.01, 200.0,
                      log=True)  # fmt: skip
PRIOR = FreeParameter("n0", "weight of the first attractions", 0.0, 10.0, "games")
LEARNING = (PHI, DELTA, KAPPA, PRECISION, PRIOR)
ERROR = FreeParameter("error", "probability of another option than that of the strategy", 0.0, 0.5)


# Learning.


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

    needs = (PAYOFFS, LAST)

    def __init__(
        self, name: str, title: str, source: str, fixed: Mapping[str, float] | None = None
    ) -> None:
        self.name, self.title, self.source = name, title, source
        self.fixed = dict(fixed or {})
        self.parameters = tuple(
            parameter for parameter in LEARNING if parameter.name not in self.fixed
        )

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """Return logit probabilities from the attractions before each decision."""
        free = zip(self.parameters, parameters.tolist(), strict=True)
        values = self.fixed | {parameter.name: value for parameter, value in free}
        weighted = values.pop("lambda") * attractions(panel, **values)
        weighted -= np.nanmax(weighted, axis=1, keepdims=True)
        weights = np.where(np.isnan(weighted), 0.0, np.exp(weighted))
        probabilities: Floats = weights / weights.sum(axis=1, keepdims=True)
        return probabilities


class Experience(NamedTuple):
    """The games of several players in order; payoffs are shares of each player's spread.

    Attributes:
        payoffs: the payoff that each option would have given; shape (players, games, options), 0
            after the last game of a player.
        chosen: the index of the chosen option, or `NO_CHOICE`; shape (players, games).
        start: the attractions before the first game; shape (players, options).
        games: number of games before each row of the panel; shape (n,).
    """

    payoffs: Floats
    chosen: Ints
    start: Floats
    games: Ints


@once_a_panel
def experience_of(panel: Panel) -> Experience:
    """The games between the rows of a panel.

    Args:
        panel: the decisions.
    """
    distinct, index = panel.distinct(PAYOFFS)
    scaled = np.array([_in_spreads(facts[PAYOFFS][..., 0]) for facts in distinct])
    uniform = np.nanmean(scaled.reshape(*scaled.shape[:2], -1), axis=2)
    new = _follows_game(panel)
    games = (panel.before(new.astype(np.float64)) + new).astype(np.int64)
    learnt = np.flatnonzero(new)
    seen = tuple(panel.known[LAST][learnt].astype(np.int64).T)
    picked = panel.decisions.astype(np.int64)
    n_players, most = len(panel.players), int(games.max(initial=0)) + 1
    payoffs = np.zeros((n_players, most, scaled.shape[1]))
    chosen = np.full((n_players, most), NO_CHOICE)
    index_of_game = (
        panel.player[learnt],
        games[learnt] - 1,
    )  # the game with new information is the last one
    payoffs[index_of_game] = scaled[(index[learnt], slice(None), *seen)]
    chosen[index_of_game] = picked[learnt - 1]
    return Experience(payoffs, chosen, uniform[index[panel.position == 0]], games)


def attractions(panel: Panel, *, phi: float, delta: float, kappa: float, n0: float) -> Floats:
    """The attraction of each option before each decision.

    Args:
        panel: the decisions.
        phi: see `LEARNING`.
        delta: see `LEARNING`.
        kappa: see `LEARNING`.
        n0: see `LEARNING`.

    Returns:
        Shape (n, options); NaN for options that a row does not have.
    """
    payoffs, chosen, start, games = experience_of(panel)
    n_players, most, n_options = payoffs.shape
    earned = chosen[:, :, None] == np.arange(n_options)
    gains = (delta + (1 - delta) * earned) * payoffs
    times = np.arange(most)
    lags = times[:, None] - times - 1  # number of games between a game and a later one
    weights = np.where(lags >= 0, phi ** np.maximum(lags, 0), 0.0)
    flat = gains.transpose(1, 0, 2).reshape(most, -1)
    total = (weights @ flat).reshape(most, n_players, n_options)
    total += (phi**times)[:, None, None] * n0 * start
    rho = phi * (1 - kappa)
    experience = n0 * rho**times + np.r_[0.0, np.cumsum(rho ** times[:-1])]
    total[1:] /= experience[1:, None, None]
    total[0] = start
    sums: Floats = total[games, panel.player]
    return sums


EWA = ExperienceWeightedAttraction(
    "ewa", "experience-weighted attraction", "Camerer & Ho 1999, Econometrica 67(4), section 2"
)
REINFORCEMENT = ExperienceWeightedAttraction(
    "reinforcement",
    "cumulative reinforcement",
    "Roth & Erev 1995, Games and Economic Behavior 8(1); in the logit form of Camerer & Ho 1999",
    {"delta": 0.0, "kappa": 1.0, "n0": 1.0},
)
MEAN_REINFORCEMENT = ExperienceWeightedAttraction(
    "mean_reinforcement",
    "reinforcement by mean payoffs",
    "Camerer & Ho 1999, section 2 (averaged reinforcement)",
    {"delta": 0.0, "kappa": 0.0, "n0": 1.0},
)
WEIGHTED_FICTITIOUS_PLAY = ExperienceWeightedAttraction(
    "weighted_fictitious_play",
    "weighted fictitious play",
    "Cheung & Friedman 1997, Games and Economic Behavior 19(1), 46-76",
    {"delta": 1.0, "kappa": 0.0, "n0": 1.0},
)
FICTITIOUS_PLAY = ExperienceWeightedAttraction(
    "fictitious_play",
    "fictitious play",
    "Brown 1951; with errors: Fudenberg & Levine 1998, chapter 4",
    {"phi": 1.0, "delta": 1.0, "kappa": 0.0, "n0": 1.0},
)


def learning_models() -> tuple[ChoiceModel, ...]:
    """Experience-weighted attraction and its special cases."""
    return (
        EWA,
        REINFORCEMENT,
        MEAN_REINFORCEMENT,
        WEIGHTED_FICTITIOUS_PLAY,
        FICTITIOUS_PLAY,
    )


# Strategies of repeated games.

STRATEGIES = {
    "AD": "always defects",
    "AC": "always cooperates",
    "Grim": "cooperates until anybody defects, and never again",
    "TFT": "repeats what the others did last (tit for tat)",
    "WSLS": "cooperates when all did the same last (win stay, lose shift)",
    "T2": "cooperates until anybody defects, then defects twice and cooperates again",
}
"""Name → description of the strategy; all but the first begin with cooperation."""


class StrategyWithError(ChoiceModel):
    """A strategy of a repeated game that takes another option by error.

    With more than two players, the others count as one: they cooperate if all of them cooperate.

    Source: Dal Bó and Fréchette 2011, section IV.

    Args:
        name: a key of `STRATEGIES`.
    """

    source = "Dal Bó & Fréchette 2011, American Economic Review 101(1), section IV"
    parameters = (ERROR,)
    needs = (PAYOFFS, LAST, "dilemma")

    def __init__(self, name: str) -> None:
        self.name, self.title = name, STRATEGIES[name]

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The error is the probability of the other option."""
        roles = _roles(panel)
        plan = np.where(cooperates(panel, self.name), roles.cooperation[:, 0], roles.defection)
        probabilities = np.full((len(panel), 2), parameters[0])
        probabilities[np.arange(len(panel)), plan] = 1 - parameters[0]
        return probabilities


@once_a_panel
def cooperates(panel: Panel, strategy: str) -> Flags:
    """Whether a strategy cooperates at each decision, given the earlier choices.

    Args:
        panel: the decisions.
        strategy: a key of `STRATEGIES`.

    Returns:
        Shape (n,).
    """
    if strategy in {"AD", "AC"}:
        return np.full(len(panel), strategy == "AC")
    new = _follows_game(panel)
    at = np.flatnonzero(new)
    cooperated = np.ones(len(panel), dtype=bool)  # in the last game; nobody has defected before it
    others = cooperated.copy()
    cooperation = _roles(panel).cooperation
    cooperated[at] = panel.decisions[at - 1] == cooperation[at - 1, 0]
    others[at] = (panel.known[LAST][at] == cooperation[at, 1:]).all(axis=1)
    if strategy == "Grim":
        broken = (new & ~(cooperated & others)).astype(np.float64)
        kept: Flags = panel.before(broken) + broken == 0
        return kept
    if strategy == "T2":
        return _cooperates_after_punishment(panel, new, cooperated & others)
    latest = np.maximum.accumulate(np.where(new, np.arange(len(panel)), -1))
    first = np.searchsorted(panel.player, panel.player)
    plan = others if strategy == "TFT" else cooperated == others
    return np.where(latest >= first, plan[np.maximum(latest, 0)], True)


STRATEGY_ESTIMATES = tuple(
    PublishedEstimate(
        f"{subjects} students, continuation {continuation}, reward {reward}",
        "strategies",
        {f"share_{name}": share for name, share in zip(STRATEGIES, shares, strict=True)}
        | {"error": error},
        "estimated here from the data of Dal Bó & Fréchette 2011",
    )
    for subjects, continuation, reward, shares, error in (
        (44, "1/2", 32, (0.920, 0.0, 0.0, 0.080, 0.0, 0.0), 0.059),
        (50, "1/2", 40, (0.783, 0.078, 0.040, 0.098, 0.0, 0.0), 0.136),
        (46, "1/2", 48, (0.533, 0.072, 0.0, 0.376, 0.019, 0.0), 0.088),
        (44, "3/4", 32, (0.648, 0.0, 0.0, 0.352, 0.0, 0.0), 0.096),
        (38, "3/4", 40, (0.109, 0.296, 0.267, 0.327, 0.0, 0.0), 0.091),
        (44, "3/4", 48, (0.0, 0.079, 0.116, 0.561, 0.0, 0.244), 0.030),
    )
)
"""Estimates of people in the prisoner's dilemma with the payoffs 50, reward, 25 and 12."""


def strategy_mixture() -> Mixture:
    """The mixture of strategies, with one probability of errors for all.

    Source: Dal Bó and Fréchette 2011, section IV: their gamma is ``1 / log((1 - error) / error)``.
    """
    return Mixture(
        "strategies",
        "mixture of strategies of repeated games",
        StrategyWithError.source,
        {name: StrategyWithError(name) for name in STRATEGIES},
    )


# Patterns of choices in games of two options.

PATTERNS = {
    "first": "always the first option",
    "second": "always the second option",
    "alternates": "the other option than its own last one",
    "imitates": "the last option of the other player",
    "opposes": "the other option than the last one of the other player",
}
"""Name → description of the pattern; options are in the order of their values. The first choice is
random.
"""


class PatternWithError(ChoiceModel):
    """A pattern of choices in a game of two players with two options, with errors.

    Patterns do not depend on payoffs, so they describe players of any such game: players who take
    turns in a battle of the sexes alternate or imitate.

    Source: the strategies "last one" and "alternation" of Akata et al. 2025, Nature Human Behaviour
    9, 1380-1390, as types with errors as in Dal Bó and Fréchette 2011.

    Args:
        name: a key of `PATTERNS`.
    """

    source = "Akata et al. 2025, Nature Human Behaviour 9"
    parameters = (ERROR,)
    needs = (PAYOFFS, LAST, "two_by_two")

    def __init__(self, name: str) -> None:
        self.name, self.title = name, PATTERNS[name]

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The error is the probability of the other option."""
        if self.name in {"first", "second"}:
            plan = np.full(len(panel), float(self.name == "second"))
        elif self.name == "alternates":
            before = np.maximum(np.arange(len(panel)) - 1, 0)
            plan = np.where(panel.position > 0, 1 - panel.decisions[before], math.nan)
        else:
            last = panel.known[LAST][:, 0]
            plan = last if self.name == "imitates" else 1 - last
        sure = 1 - 2 * parameters[0]
        first = np.where(np.isnan(plan), 0.5, parameters[0] + sure * (plan == 0))
        return np.column_stack([first, 1 - first])


def pattern_mixture() -> Mixture:
    """The mixture of patterns, with one probability of errors for all."""
    return Mixture(
        "patterns",
        "mixture of patterns of choices between two options",
        PatternWithError.source,
        {name: PatternWithError(name) for name in PATTERNS},
    )


class OptionRoles(NamedTuple):
    """The options that stand for cooperation and defection.

    Attributes:
        cooperation: the index of each player's option with the largest possible sum of payoffs, the
            deciding player first; shape (players,), or of several games (n, players).
        defection: the index of the player's option with the highest minimum payoff.
    """

    cooperation: Ints
    defection: Any


def option_roles(payoffs: Floats) -> OptionRoles:
    """The options of a game that stand for cooperation and defection.

    Args:
        payoffs: the payoffs of one game, as in `sabm_mesa.analysis.matrix_behaviour`.
    """
    total, payoff = payoffs.sum(axis=-1), payoffs[..., 0]
    axes = range(total.ndim)
    best = [int(np.argmax(total.max(axis=tuple(a for a in axes if a != k)))) for k in axes]
    safe = int(np.argmax(payoff.reshape(len(payoff), -1).min(axis=1)))
    return OptionRoles(np.array(best, dtype=np.int64), safe)


def is_dilemma(payoffs: Floats) -> bool:
    """Whether a game has two options per player, and cooperation is not the safe one.

    Args:
        payoffs: the payoffs of one game, as in `sabm_mesa.analysis.matrix_behaviour`.
    """
    roles = option_roles(payoffs)
    return set(payoffs.shape[:-1]) == {2} and int(roles.cooperation[0]) != roles.defection


@once_a_panel
def _roles(panel: Panel) -> OptionRoles:
    """The roles of options at each row."""
    distinct, index = panel.distinct(PAYOFFS)
    roles_of_games = [option_roles(game[PAYOFFS]) for game in distinct]
    cooperation = np.array([roles.cooperation for roles in roles_of_games])[index]
    return OptionRoles(cooperation, np.array([roles.defection for roles in roles_of_games])[index])


def _in_spreads(payoffs: Floats) -> Floats:
    """The player's payoffs, scaled from 0 (the smallest) to 1 (the largest)."""
    low, high = np.nanmin(payoffs), np.nanmax(payoffs)
    scaled: Floats = (payoffs - low) / (high - low or 1.0)
    return scaled


def _follows_game(panel: Panel) -> Flags:
    """Whether the game of the previous row counted, so that all choices in it are known."""
    follows: Flags = ~np.isnan(panel.known[LAST]).any(axis=1) & (panel.position > 0)
    return follows


def _cooperates_after_punishment(panel: Panel, new: Flags, both: Flags) -> Flags:
    """Whether T2 cooperates; it considers only games in which its plan was to cooperate."""
    news, joint = panel.padded(new, fill=False), panel.padded(both, fill=True)
    plans = np.ones_like(news)
    left = np.zeros(len(news), dtype=np.int64)
    for game in range(1, news.shape[1]):
        starts = plans[:, game - 1] & ~joint[:, game]
        after = np.where(starts, PUNISHMENT, np.maximum(left - 1, 0))
        left = np.where(news[:, game], after, left)
        plans[:, game] = left == 0
    planned: Flags = plans[panel.player, panel.position]
    return planned
