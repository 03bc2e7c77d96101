"""New games of a named class, with random payoffs that do not appear in any text.

A class is defined by an order of payoffs or a property of the equilibria; a seed selects a game of
the class. All payoffs of a game differ, and are unlike those of textbooks. Disguises (`FiniteGame`)
change the appearance of a known game; here the game itself is new.

Source:
    Rapoport and Guyer 1966, "A Taxonomy of 2 x 2 Games", General Systems 11, 203-214: classes of
    games of two by the order of their payoffs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.models.games.theory import dominated_options, mixed_equilibria, pure_equilibria

Ints = npt.NDArray[np.int64]
LOWEST, HIGHEST = 101, 997
"""The smallest and the largest random payoff."""
MOST_DRAWS = 10_000
LEAST_STEPS = 3
"""Minimum number of elimination steps of dominated options."""


def novel_game(given: str) -> dict[str, Any]:
    """The table of a new game, in the format of a file.

    Raises:
        UnknownName: for an unknown class.
        ParameterError: for a seed that is not a whole number of at least 0.
    """
    name, _, seed = given.partition(":")
    if name not in CLASSES:
        raise UnknownName("class of new games", name, CLASSES, "Use novel:CLASS:SEED.")
    if not (seed.isascii() and seed.isdecimal()) or len(seed) > 18:
        raise ParameterError(
            f"a new game is novel:CLASS:SEED with a whole number as its seed, such as "
            f"novel:{name}:1, not novel:{given}."
        )
    make, options = CLASSES[name]
    payoffs = make(np.random.default_rng([int(seed), *name.encode()]))
    return {
        "title": f"New {name.replace('_', ' ')} (seed {seed})",
        "source": "Drawn: no publication has it",
        "options": list(options),
        "payoffs": payoffs.tolist(),
        "rounds": 10,
    }


def _four(rng: np.random.Generator) -> list[int]:
    """Four distinct payoffs, the largest first."""
    return sorted(map(int, rng.choice(np.arange(LOWEST, HIGHEST + 1), 4, replace=False)))[::-1]


def _symmetric(reward: int, sucker: int, temptation: int, punishment: int) -> Ints:
    """A symmetric game by the payoffs of player 1 for (1, 1), (1, 2), (2, 1) and (2, 2)."""
    payoffs = np.array([[reward, sucker], [temptation, punishment]])
    return np.stack([payoffs, payoffs.T], axis=-1)


def _in_order(rng: np.random.Generator, order: str) -> Ints:
    """A game with reward, sucker, temptation and punishment in this order, the largest first."""
    paid = dict(zip(order, _four(rng), strict=True))
    return _symmetric(paid["r"], paid["s"], paid["t"], paid["p"])


def _dilemma(rng: np.random.Generator) -> Ints:
    while True:
        payoffs = _in_order(rng, "trps")
        if 2 * payoffs[0, 0, 0] > payoffs[0, 1].sum():  # taking turns does not pay
            return payoffs


def _battle(rng: np.random.Generator) -> Ints:
    best, second, *low = _four(rng)
    payoffs = np.array([[best, low[0]], [low[1], second]])
    other = np.array([[second, low[0]], [low[1], best]])
    return np.stack([payoffs, other], axis=-1)


def _matching(rng: np.random.Generator) -> Ints:
    """Player 1 wants to match and player 2 does not: the only equilibrium is mixed."""
    one, two = _four(rng), _four(rng)
    first = np.array([[one[0], one[2]], [one[3], one[1]]])
    second = np.array([[two[2], two[0]], [two[1], two[3]]])
    return np.stack([first, second], axis=-1)


def _drawn_until(rng: np.random.Generator, fits: Callable[[Ints], bool]) -> Ints:
    """A game of two players with three options each, redrawn until it fits the class."""
    for _ in range(MOST_DRAWS):
        payoffs = rng.choice(np.arange(LOWEST, HIGHEST + 1), (3, 3, 2), replace=False)
        if fits(payoffs):
            return payoffs
    raise ParameterError("no game of this class was found: choose another seed.")


def _dominance(rng: np.random.Generator) -> Ints:
    return _drawn_until(rng, is_dominance_solvable)


def _lots(rng: np.random.Generator) -> Ints:
    """Whether the only equilibrium mixes all options."""

    def fits(payoffs: Ints) -> bool:
        if pure_equilibria(payoffs.astype(float)):
            return False
        equilibria = mixed_equilibria(payoffs.astype(float))
        return len(equilibria) == 1 and all(min(strategy) > 0.05 for strategy in equilibria[0])

    return _drawn_until(rng, fits)


def is_dominance_solvable(payoffs: npt.NDArray[Any]) -> bool:
    """Whether iterated elimination of dominated options leaves one outcome.

    It must take at least three steps, so that the outcome is not obvious.
    """
    left, steps = payoffs.astype(float), 0
    while max(left.shape[:2]) > 1:
        gone = [dominated_options(left, player) for player in (0, 1)]
        if not any(gone):
            return False
        player = 0 if gone[0] else 1
        left, steps = np.delete(left, gone[player], axis=player), steps + 1
    return steps >= LEAST_STEPS


CLASSES: dict[str, tuple[Callable[[np.random.Generator], Ints], tuple[str, ...]]] = {
    "dilemma": (_dilemma, ("cooperate", "defect")),
    "stag_hunt": (partial(_in_order, order="rtps"), ("stag", "hare")),
    "chicken": (partial(_in_order, order="trsp"), ("dove", "hawk")),
    "battle": (_battle, ("first_place", "second_place")),
    "matching": (_matching, ("heads", "tails")),
    "dominance": (_dominance, ("one", "two", "three")),
    "lots": (_lots, ("one", "two", "three")),
}
"""Class → the function that draws a game of it, and the names of its options."""
