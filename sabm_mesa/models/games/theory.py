"""The mathematics of finite games: equilibria, dominance, best responses, backward induction.

A simultaneous game is an array of payoffs of shape (options of player 1, …, options of player n,
n). A game in turns is a tree: a `Node`, or the payoffs at its end.

Source:
    Nash 1951, "Non-Cooperative Games", Annals of Mathematics 54(2), 286-295. Equilibria by the
    vertices of best-response polytopes: Knight and Campbell 2018, "Nashpy: A Python library for the
    computation of Nash equilibria", Journal of Open Source Software 3(30), 904. Subgame-perfect
    equilibria: Selten 1975, International Journal of Game Theory 4(1), 25-55.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Strategy = tuple[float, ...]
"""The probability of each option of a player."""
SMALL = 1e-9
"""Tolerance, as a share of the largest payoff."""
PAIR = 2
MOST_OPTIONS = 12
"""Maximum number of options for computing symmetric equilibria."""
MOST_SUPPORTS = 5_000
"""Maximum number of pairs of supports of equal size: two players with 7 options have 3,431."""


class Node(NamedTuple):
    """A decision in a game in turns.

    Attributes:
        player: the deciding player, from 0.
        choices: the values of its options.
        after: the node or payoffs after each option.
    """

    player: int
    choices: Sequence[float]
    after: Sequence[Node | Sequence[float]]


class Course(NamedTuple):
    """One course of a game in turns.

    Attributes:
        path: the choices.
        payoffs: the payoff of each player.
    """

    path: tuple[float, ...]
    payoffs: tuple[float, ...]


def pure_equilibria(payoffs: Floats) -> list[tuple[int, ...]]:
    """All pure Nash equilibria.

    Returns:
        The index of each player's option, in rising order.
    """
    best = np.ones(payoffs.shape[:-1], dtype=bool)
    for player in range(payoffs.shape[-1]):
        payoff = payoffs[..., player]
        best &= payoff >= payoff.max(axis=player, keepdims=True) - _tolerance(payoffs)
    return [tuple(map(int, profile)) for profile in np.argwhere(best)]


def expected_payoffs(payoffs: Floats, player: int, beliefs: Sequence[Sequence[float]]) -> Floats:
    """The expected payoff of each option of a player.

    `payoffs` is the game, or the player's own payoffs of it (without the last axis); `beliefs` are
    the probabilities of the options of each other player, in their order.
    """
    payoff = payoffs[..., player] if payoffs.ndim == len(beliefs) + 2 else payoffs
    payoff = np.moveaxis(payoff, player, 0)
    for belief in reversed(beliefs):
        payoff = payoff @ np.asarray(belief, dtype=np.float64)
    return payoff


def dominant_option(payoffs: Floats, player: int, *, weakly: bool = False) -> int | None:
    """The dominant option of a player, strictly or `weakly`, or None."""
    payoff = np.moveaxis(payoffs[..., player], player, 0).reshape(payoffs.shape[player], -1)
    gap = _tolerance(payoffs)
    for option in range(len(payoff)):
        rest = np.delete(payoff, option, axis=0)
        if weakly:
            holds = (payoff[option] >= rest - gap).all() and (payoff[option] > rest + gap).any(
                1
            ).all()
        else:
            holds = (payoff[option] > rest + gap).all()
        if holds and len(rest):
            return option
    return None


def mixed_equilibria(payoffs: Floats) -> list[tuple[Strategy, Strategy]]:
    """Nash equilibria of two players, including pure ones.

    These are all equilibria unless the game is degenerate: then a mixture of k options has more
    than k best responses, and the equilibria between those found are further ones.

    Returns:
        The strategies of both players, sorted by larger probabilities of earlier options; empty if
        there are more than `MOST_SUPPORTS` pairs of supports.
    """
    import nashpy

    rows, columns = payoffs.shape[:2]
    if math.comb(rows + columns, rows) - 1 > MOST_SUPPORTS:
        return []
    game = nashpy.Game(*np.moveaxis(_positive(payoffs), -1, 0))
    pairs = {(_rounded(one), _rounded(two)) for one, two in game.vertex_enumeration()}
    return sorted(pairs, reverse=True)


def symmetric_equilibria(payoffs: Floats) -> list[Strategy]:
    """Symmetric Nash equilibria of a symmetric two-player game.

    They are the vertices of the best-response polytope at which each option has the probability 0
    or is a best response.

    Returns:
        The strategies; empty if the game is not symmetric or has more than `MOST_OPTIONS` options.
    """
    from nashpy.polytope import build_halfspaces, non_trivial_vertices

    n = len(payoffs)
    if payoffs.shape[-1] > PAIR or n > MOST_OPTIONS or not is_symmetric(payoffs):
        return []
    vertices = non_trivial_vertices(build_halfspaces(_positive(payoffs)[..., 0]))
    whole = [
        vertex for vertex, labels in vertices if {label % n for label in labels} == {*range(n)}
    ]
    return sorted({_rounded(vertex / vertex.sum()) for vertex in whole}, reverse=True)


def is_symmetric(payoffs: Floats) -> bool:
    """Whether all players have the same options and payoffs."""
    n = payoffs.shape[-1]
    if len(set(payoffs.shape[:-1])) > 1:
        return False
    for player in range(n - 1):
        order = list(range(n))
        order[player], order[player + 1] = player + 1, player
        swapped = np.swapaxes(payoffs, player, player + 1)[..., order]
        if not np.allclose(swapped, payoffs):
            return False
    return True


def subgame_perfect(tree: Node | Sequence[float]) -> list[Course]:
    """The courses of all pure subgame-perfect equilibria.

    A course is kept if the deciding player gains at least as much as with any other choice followed
    by its worst equilibrium.
    """
    if not isinstance(tree, Node):
        return [Course((), tuple(map(float, tree)))]
    after = [subgame_perfect(branch) for branch in tree.after]
    me = tree.player
    worst = [min(course.payoffs[me] for course in courses) for courses in after]
    outcomes = []
    for i, (choice, courses) in enumerate(zip(tree.choices, after, strict=True)):
        least = max((w for j, w in enumerate(worst) if j != i), default=-np.inf)
        outcomes += [
            Course((choice, *course.path), course.payoffs)
            for course in courses
            if course.payoffs[me] >= least - SMALL
        ]
    return outcomes


def inequity_averse(payoffs: Floats, player: int, envy: float, guilt: float) -> Floats:
    """Utility after Fehr and Schmidt 1999, equation 1: payoff minus envy and guilt.

    `envy` is the weight of being behind (alpha), `guilt` that of being ahead (beta).

    Returns:
        The utility of the player, without the last axis.
    """
    payoff = payoffs[..., player]
    gaps = payoffs - payoff[..., None]
    n = payoffs.shape[-1]
    behind = np.maximum(gaps, 0).sum(axis=-1) / (n - 1)
    ahead = np.maximum(-gaps, 0).sum(axis=-1) / (n - 1)
    utility: Floats = payoff - envy * behind - guilt * ahead
    return utility


def logit_choice(expected: Sequence[float] | Floats, precision: float, spread: float) -> Floats:
    """Probabilities of options by the logit rule of McKelvey and Palfrey 1995.

    `precision` is the weight of payoffs, as shares of `spread`, the largest payoff minus the
    smallest one; if either is 0, all options are equally likely.
    """
    values = np.asarray(expected, dtype=np.float64)
    weights = (
        np.exp(precision * (values - values.max()) / spread) if spread else np.ones(len(values))
    )
    probabilities: Floats = weights / weights.sum()
    return probabilities


def _positive(payoffs: Floats) -> Floats:
    """The payoffs from above 0 to 1, with the same equilibria."""
    shifted: Floats = payoffs - payoffs.min() + 1
    return shifted / float(shifted.max())


def _rounded(strategy: Floats) -> Strategy:
    return tuple(float(p) for p in np.round(strategy, 9) + 0.0)


def _tolerance(payoffs: Floats) -> float:
    return SMALL * max(1.0, float(np.abs(payoffs).max()))
