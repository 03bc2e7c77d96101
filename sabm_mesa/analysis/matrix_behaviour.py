"""Behavioural models of finite games with simultaneous choices.

They read these facts from `Panel.known`: ``payoffs``, shape (n, own options, options of each other
player, players): the payoffs of all players, with the deciding player first on each axis (padded
with NaN); ``others_last``, shape (n, others): the last choices of the others as indices of their
options, NaN if unknown. A decision is the index of the player's option.

Payoffs are divided by the spread between the largest and the smallest payoff of the game, so that
the precision does not depend on the unit of money.

Sources:
    McKelvey and Palfrey 1995, Games and Economic Behavior 10(1), 6-38: logit equilibrium.
    Turocy 2005, Games and Economic Behavior 51(2), 243-263: tracing its branch from uniform play.
    Camerer, Ho and Chong 2004, Quarterly Journal of Economics 119(3), 861-898: cognitive hierarchy.
    Stahl and Wilson 1995, Games and Economic Behavior 10(1), 218-254: levels as types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from sabm_mesa.analysis.behaviour import (
    BehaviouralModel,
    ChoiceModel,
    Floats,
    FreeParameter,
    Mixture,
    Panel,
    TypesModel,
    drawn_options,
    floored,
    once_a_panel,
)
from sabm_mesa.analysis.guessing import poisson_frequencies

PAYOFFS, LAST = "payoffs", "others_last"
EQUAL = 1e-9
"""Tolerance for equally good options, as a share of the spread."""
LARGEST_PRECISION = 100.0
PRECISION = FreeParameter(
    "lambda", "precision of choices", 0.01, LARGEST_PRECISION, "1 / spread of payoffs", log=True
)
LAPSES = FreeParameter("epsilon", "share of choices by chance", 0.0, 1.0)
LONGEST_STEP, SHORTEST_STEP = 0.5, 1e-6
"""Limits of the steps along the branch of logit equilibria."""
MOST_STEPS = 4_000
ACCURACY = 1e-10
FASTER = 0.1
"""Derivatives are recomputed if a correction leaves more than this share of the residual."""


class QuantalResponse(ChoiceModel):
    """The logit quantal response equilibrium: every player chooses better options more often.

    Each player chooses with probabilities proportional to exp(lambda · expected payoff), given that
    the others do the same. If there are several equilibria, it is the one on the branch that starts
    at uniform play (lambda 0).

    Source: McKelvey & Palfrey 1995, section 3.
    """

    name, title = "quantal_response", "logit quantal response equilibrium"
    source = "McKelvey & Palfrey 1995, GEB 10(1), section 3"
    parameters = (PRECISION,)
    needs = (PAYOFFS,)

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The equilibrium strategy of the player, which is the same in all rounds."""
        return _for_each_game(panel, lambda game: quantal_response(game, float(parameters[0]))[0])


class NoisyReply(ChoiceModel):
    """A noisy best response to the last choices of the others, first to uniform play.

    With probability epsilon the choice is random. Equally good options are equally likely.
    """

    name, title = "noisy_best_reply", "noisy best reply to the last choices"
    source = "Cournot 1838; Cheung & Friedman 1997, GEB 19(1)"
    parameters = (LAPSES,)
    needs = (PAYOFFS, LAST)

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The best reply, with lapses."""
        different, index = panel.distinct(PAYOFFS, LAST)
        rows = []
        for facts in different:
            game = without_padding(facts[PAYOFFS])
            seen = None if np.isnan(facts[LAST]).any() else tuple(map(int, facts[LAST]))
            reply = _reply_to(game.tobytes(), game.shape, seen)
            rows.append(_lapsing(reply, float(parameters[0])))
        return _padded(rows, panel)[index]


class LevelOfPlay(ChoiceModel):
    """A player of level k: best response to level k − 1, with lapses; level 0 plays randomly.

    Source: Stahl & Wilson 1995.

    Args:
        k: the level.
    """

    title, source = "a level with lapses", "Stahl & Wilson 1995"
    needs = (PAYOFFS,)

    def __init__(self, k: int) -> None:
        self.k, self.name = k, f"level_{k}"
        self.parameters = (LAPSES,) if k else ()

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The strategy of the level, with lapses."""
        lapses = float(parameters[0]) if self.k else 0.0
        return _for_each_game(
            panel, lambda game: _lapsing(_level(game.tobytes(), game.shape, self.k), lapses)
        )


class HierarchyOfPlay(TypesModel):
    """The Poisson cognitive hierarchy: steps are Poisson distributed with mean tau.

    A player with k steps gives the best response to the players with fewer steps, in their true
    relative shares, with lapses. A player with 0 steps chooses randomly. The number of steps of a
    player is fixed. The likelihood jumps if another option becomes the best, so tau is tried in
    steps of 0.02.

    Source: Camerer, Ho & Chong 2004, section II.

    Args:
        k_max: the maximum number of steps.
    """

    name, title = "cognitive_hierarchy", "Poisson cognitive hierarchy with lapses"
    source = "Camerer, Ho & Chong 2004, QJE 119(3), section II"
    parameters = (FreeParameter("tau", "mean steps of reasoning", 0.0, 6.0, step=0.02), LAPSES)
    needs = (PAYOFFS,)

    def __init__(self, k_max: int = 8) -> None:
        self.k_max = k_max

    def shares(self, parameters: Floats) -> Floats:
        """The Poisson shares of 0 to `k_max` steps."""
        frequencies = poisson_frequencies(float(parameters[0]), self.k_max)
        shares: Floats = frequencies / frequencies.sum()
        return shares

    def by_type(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of each decision for each number of steps."""
        chosen, lapses = _chosen_by_steps(panel, float(parameters[0]), self.k_max), parameters[1]
        return floored((1 - lapses) * chosen + lapses * chosen[0])  # 0 steps: random

    def draw_type(
        self, kind: int, parameters: Floats, panel: Panel, rng: np.random.Generator
    ) -> Floats:
        """Draw a choice of a player with a given number of steps."""
        by_steps = _strategies_by_steps(panel, float(parameters[0]), self.k_max)
        return drawn_options(
            (1 - parameters[1]) * by_steps[kind] + parameters[1] * by_steps[0], rng
        )


@once_a_panel
def _chosen_by_steps(panel: Panel, tau: float, k_max: int) -> Floats:
    """The probability of each row's choice for each number of steps, shape (steps, n)."""
    chosen = panel.decisions.astype(np.int64)
    return _strategies_by_steps(panel, tau, k_max)[:, np.arange(len(panel)), chosen]


def _strategies_by_steps(panel: Panel, tau: float, k_max: int) -> Floats:
    """The strategies of each number of steps in each row, shape (steps, n, options)."""
    different, index = panel.distinct(PAYOFFS)
    hierarchies = []
    for facts in different:
        game = without_padding(facts[PAYOFFS])
        hierarchies.append(_own_hierarchy(game.tobytes(), game.shape, tau, k_max))
    return np.array([_padded(rows, panel) for rows in zip(*hierarchies, strict=True)])[:, index]


@lru_cache(maxsize=2**15)
def _own_hierarchy(
    data: bytes, shape: tuple[int, ...], tau: float, k_max: int
) -> tuple[Floats, ...]:
    """The strategies of the first player for 0 to `k_max` steps."""
    shares = poisson_frequencies(tau, k_max) + 1e-300
    game = np.frombuffer(data).reshape(shape)
    return tuple(profile[0] for profile in hierarchy(game, shares, k_max))


def level_k_of_play(k_max: int = 3) -> Mixture:
    """The mixture of levels: random play, and levels 1 to `k_max` with a common share of lapses.

    Args:
        k_max: the highest level.
    """
    types: dict[str, BehaviouralModel] = {f"level_{k}": LevelOfPlay(k) for k in range(k_max + 1)}
    return Mixture("level_k", "mixture of levels with lapses", "Stahl & Wilson 1995", types)


def matrix_models() -> tuple[BehaviouralModel, ...]:
    """The behavioural models of finite games that need only the payoffs and the last choices."""
    return (QuantalResponse(), level_k_of_play(), HierarchyOfPlay(), NoisyReply())


def without_padding(payoffs: Floats) -> Floats:
    """The payoffs of one game without padding.

    Args:
        payoffs: shape (own options, options of each other player, players).
    """
    known = ~np.isnan(payoffs[..., 0])
    kept = [
        np.flatnonzero(known.any(axis=tuple(j for j in range(known.ndim) if j != i)))
        for i in range(known.ndim)
    ]
    return payoffs[np.ix_(*kept)]


def chance(game: Floats) -> list[Floats]:
    """The uniform strategies of all players.

    Args:
        game: the payoffs of all players, without padding.
    """
    return [np.full(size, 1 / size) for size in game.shape[:-1]]


def expected(game: Floats, player: int, beliefs: Sequence[Floats]) -> Floats:
    """The expected payoff of each option, as a share of the spread of all payoffs.

    Args:
        game: the payoffs of all players.
        player: the player, from 0.
        beliefs: the strategies of the others, in their order.
    """
    payoffs = np.moveaxis(game[..., player], player, 0)
    for belief in reversed(beliefs):
        payoffs = payoffs @ belief
    spread = float(game.max() - game.min())
    utilities: Floats = payoffs / spread if spread > 0 else payoffs * 0.0
    return utilities


def best_reply(game: Floats, player: int, beliefs: Sequence[Floats]) -> Floats:
    """The best options of a player, each equally likely.

    Args:
        game: the payoffs of all players.
        player: the player, from 0.
        beliefs: the strategies of the others, in their order.
    """
    worth = expected(game, player, beliefs)
    best = worth >= worth.max() - EQUAL
    reply: Floats = best / best.sum()
    return reply


def levels(game: Floats, k_max: int) -> list[list[Floats]]:
    """The strategies of all players for levels 0 to `k_max`.

    Args:
        game: the payoffs of all players.
        k_max: the highest level.
    """
    profiles = [chance(game)]
    for _ in range(k_max):
        profiles.append(
            [best_reply(game, i, _others(profiles[-1], i)) for i in range(game.shape[-1])]
        )
    return profiles


def hierarchy(game: Floats, shares: Floats, k_max: int) -> list[list[Floats]]:
    """The strategies of all players for 0 to `k_max` steps of the cognitive hierarchy.

    Args:
        game: the payoffs of all players.
        shares: the shares of players by steps.
        k_max: the largest number of steps.
    """
    profiles = [chance(game)]
    for k in range(1, k_max + 1):
        weights = shares[:k] / shares[:k].sum()
        mean = [
            np.tensordot(weights, np.array([profile[i] for profile in profiles]), axes=1)
            for i in range(game.shape[-1])
        ]
        profiles.append([best_reply(game, i, _others(mean, i)) for i in range(game.shape[-1])])
    return profiles


def quantal_response(game: Floats, precision: float) -> list[Floats]:
    """The logit equilibrium on the branch that starts at uniform play.

    Args:
        game: the payoffs of all players.
        precision: lambda, per spread of payoffs, at most `LARGEST_PRECISION`.

    Returns:
        The strategy of each player.
    """
    return list(_quantal_response(game.tobytes(), game.shape, precision))


@lru_cache(maxsize=4096)
def _quantal_response(data: bytes, shape: tuple[int, ...], precision: float) -> tuple[Floats, ...]:
    at, logs = _branch(data, shape)
    after = min(int(np.searchsorted(at, precision)), len(at) - 1)
    before = max(after - 1, 0)
    gap = at[after] - at[before]
    share = min((precision - at[before]) / gap, 1.0) if gap > 0 else 0.0
    start = logs[before] + share * (logs[after] - logs[before])
    game = np.frombuffer(data).reshape(shape)
    return tuple(_strategies(_corrected(game, start, precision), shape))


@lru_cache(maxsize=256)
def _branch(data: bytes, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Points on the branch of logit equilibria: rising precisions, and the log-odds at them.

    If the branch turns back, it is followed until the precision exceeds all earlier ones.
    """
    game = np.frombuffer(data).reshape(shape)
    point = np.zeros(sum(shape[:-1]) - shape[-1] + 1)  # log-odds and precision
    tangent = _tangent(game, point, None)
    points, step = [point], 0.02
    for _ in range(MOST_STEPS):
        if points[-1][-1] >= LARGEST_PRECISION or step < SHORTEST_STEP:
            break
        tried = _back_to_branch(game, points[-1] + step * tangent, tangent)
        turned = None if tried is None else _tangent(game, tried, tangent)
        if tried is None or turned is None or turned @ tangent < 0.9:
            step /= 2
            continue
        points.append(tried)
        tangent, step = turned, min(step * 1.4, LONGEST_STEP * max(1.0, tried[-1] / 4))
    along = np.array(points)
    rising = along[:, -1] >= np.maximum.accumulate(along[:, -1])
    return along[rising, -1], along[rising, :-1]


def _system(game: Floats, point: Floats) -> Floats:
    """The residual: log-odds minus precision times differences of expected payoffs."""
    strategies = _strategies(point[:-1], game.shape)
    gaps = []
    for player, size in enumerate(game.shape[:-1]):
        worth = expected(game, player, _others(strategies, player))
        gaps.append(point[-1] * (worth[1:] - worth[0]))
        assert len(gaps[-1]) == size - 1
    differences: Floats = point[:-1] - np.concatenate(gaps)
    return differences


def _slopes(game: Floats, point: Floats) -> Floats:
    """The derivatives of `_system`, by finite differences."""
    small, n = 1e-6, len(point)
    up = np.array([_system(game, point + small * unit) for unit in np.eye(n)])
    down = np.array([_system(game, point - small * unit) for unit in np.eye(n)])
    slopes: Floats = ((up - down) / (2 * small)).T
    return slopes


def _tangent(game: Floats, point: Floats, last: Floats | None) -> Floats:
    """The forward direction of the branch at a point."""
    _, _, right = np.linalg.svd(_slopes(game, point))
    tangent: Floats = right[-1]
    onwards = tangent[-1] if last is None else tangent @ last
    return tangent if onwards > 0 else -tangent


def _back_to_branch(game: Floats, point: Floats, tangent: Floats) -> Floats | None:
    """The nearby point on the branch, or None if it is too far away."""
    for _ in range(8):
        gap = _system(game, point)
        if np.abs(gap).max() < ACCURACY:
            return point
        whole = np.vstack([_slopes(game, point), tangent])
        point = point - np.linalg.lstsq(whole, np.append(gap, 0.0))[0]
    return None


def _corrected(game: Floats, logs: Floats, precision: float) -> Floats:
    """The log-odds in equilibrium at a precision, starting from nearby ones."""
    near, last = logs, math.inf
    turned = np.linalg.pinv(_slopes(game, np.append(near, precision))[:, :-1])
    for _ in range(20):
        point = np.append(near, precision)
        gap = _system(game, point)
        size = float(np.abs(gap).max())
        if size < ACCURACY:
            return near
        if size > FASTER * last:
            turned = np.linalg.pinv(_slopes(game, point)[:, :-1])
        near, last = near - turned @ gap, size
    return logs


def _strategies(logs: Floats, shape: tuple[int, ...]) -> list[Floats]:
    """The strategies of all players from the log-odds relative to their first options."""
    strategies, first = [], 0
    for size in shape[:-1]:
        logits = np.append(0.0, logs[first : first + size - 1])
        weights = np.exp(logits - logits.max())
        strategies.append(weights / weights.sum())
        first += size - 1
    return strategies


def _others(strategies: Sequence[Floats], player: int) -> list[Floats]:
    return [strategy for i, strategy in enumerate(strategies) if i != player]


@lru_cache(maxsize=4096)
def _reply_to(data: bytes, shape: tuple[int, ...], seen: tuple[int, ...] | None) -> Floats:
    """The best response to the last choices of the others, or to uniform play."""
    game = np.frombuffer(data).reshape(shape)
    beliefs = chance(game)[1:]
    if seen is not None:
        beliefs = [np.eye(len(strategy))[at] for strategy, at in zip(beliefs, seen, strict=True)]
    return best_reply(game, 0, beliefs)


@lru_cache(maxsize=4096)
def _level(data: bytes, shape: tuple[int, ...], k: int) -> Floats:
    """The strategy of level k of the first player."""
    return levels(np.frombuffer(data).reshape(shape), k)[-1][0]


def _lapsing(strategy: Floats, share: float) -> Floats:
    mixed: Floats = (1 - share) * strategy + share / len(strategy)
    return mixed


def _for_each_game(panel: Panel, strategy: Callable[[Floats], Floats]) -> Floats:
    """The strategy of each row, computed once for each different game."""
    different, index = panel.distinct(PAYOFFS)
    rows = [strategy(without_padding(facts[PAYOFFS])) for facts in different]
    return _padded(rows, panel)[index]


def _padded(rows: Sequence[Floats], panel: Panel) -> Floats:
    """Strategies as rows of an array, with 0 for missing options."""
    padded = np.zeros((len(rows), panel.known[PAYOFFS].shape[1]))
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return padded
