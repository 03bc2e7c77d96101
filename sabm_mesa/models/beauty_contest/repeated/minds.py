"""Classical minds of the repeated guessing game: steps of reasoning, learning, data of people."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.facts import Facts
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.beauty_contest.guessing import (
    HIGHER,
    TAU,
    cognitive_hierarchy_choice,
    drawn_steps,
    level_k_choice,
    noisy,
)
from sabm_mesa.models.beauty_contest.repeated.agents import known_mean, reference
from sabm_mesa.models.beauty_contest.repeated.theory import (
    SMALLEST_SHARE,
    best_reply,
    first_period_shares,
    human_guesses,
    later_period_shares,
    step_limits,
)

HIGHER_STEPS = 3
"""Maximum number of steps beyond step 3 (our choice; the data have no limit)."""
REPLIES = MappingProxyType(
    {
        "replies": "each step of a player multiplies the last mean by about p, and picks fall if p "
        "is below 1",
        "steps": "steps are drawn with a mean of 1.5, so that one and two are frequent, and more "
        "than three are rare",
    }
)
"""The assumptions of the minds with steps of reasoning."""
PART_OF_GAP = 0.5
"""Share of the distance to the optimal adjustment factor covered in a round (our choice: learning
direction theory does not specify it).
"""


class Guesser(ClassicalMind):
    """A mind that picks by a rule from the revealed results of earlier rounds."""

    async def answer(self, ask: Ask) -> object:
        """Pick a number; asked for words, give the sentence of the prompt file."""
        game = ask.facts
        if ask.name != "act":
            return ask.book.render(f"classical_{ask.name}", {})
        pick = min(max(self.pick(game, ask.rng), 0.0), game.high)
        return round(pick) if game.integer else pick

    @abstractmethod
    def pick(self, game: Facts, rng: np.random.Generator) -> float:
        """Return the pick before clipping to the range and, for integers, rounding."""


class LevelK(Guesser):
    """A player of level k, who picks r · p^k; r is the last mean, or the middle of the range.

    Source: Nagel 1995 (levels); Camerer, Ho & Chong 2004 (shares of the levels).

    Args:
        spec: the spec of the mind, as shown in the data.
        k: its level, without noise; None: drawn from a Poisson distribution, with lognormal
            noise.
    """

    assumes = REPLIES

    def __init__(self, spec: str, k: int | None = None) -> None:
        super().__init__(spec)
        self.k, self.certain = k, k is not None

    def pick(self, game: Facts, rng: np.random.Generator) -> float:
        """Reason k steps from the reference."""
        if self.k is None:
            self.k = drawn_steps(rng)
        choice = level_k_choice(self.k, reference(game), game.p)
        return choice if self.certain else noisy(choice, game.p, rng)


class CognitiveHierarchy(Guesser):
    """A player of the Poisson cognitive hierarchy.

    With k ≥ 1 steps it gives the best response to the mixture of players with fewer steps, times
    lognormal noise. With 0 steps it picks uniformly. The theory is for one round; later rounds
    start from the last mean instead of the middle of the range, and step 0 is uniform over the
    widest part of the range with this mean (our choice).

    Source: Camerer, Ho & Chong 2004; Nagel 1995 (noise, reference).
    """

    assumes = REPLIES

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.k: int | None = None

    def pick(self, game: Facts, rng: np.random.Generator) -> float:
        """Respond to players with fewer steps."""
        if self.k is None:
            self.k = drawn_steps(rng)
        centre = reference(game)
        if self.k == 0:
            reach = min(centre, game.high - centre)
            return float(rng.uniform(centre - reach, centre + reach))
        reply = cognitive_hierarchy_choice(TAU, self.k, centre, game.p)
        return noisy(reply, game.p, rng)


class EmpiricalStep(Guesser):
    """A player drawn from the subjects of Nagel's sessions in every round.

    First an interval or class is drawn with the observed frequency, then a number within it,
    uniform in its logarithm. The first round uses the data for p = 2/3 for every p. Later rounds
    use the data for 2/3 or 1/2, whichever is nearer, with class limits for the p of the game.

    Source: Nagel 1995, figure 2B and table 2.
    """

    assumes = MappingProxyType(
        dict.fromkeys(REPLIES, "picks are drawn from those of the subjects of these sessions")
    )

    def pick(self, game: Facts, rng: np.random.Generator) -> float:
        """Draw a class and a number in it."""
        if game.round == 0:
            return _first_pick(game, rng)
        shares = later_period_shares(game.p, game.round + 1)
        step = int(rng.choice(len(shares), p=shares)) - 1
        return _within(*_class_limits(step, game), rng)


class LearningDirection(Guesser):
    """A player who adjusts a factor, mostly in the direction that would have been better.

    The factor is the pick divided by the reference. It starts from a pick of the subjects in
    Nagel's first period. After a round it moves half of the way to the optimal factor with the
    observed frequency 0.73, and otherwise equally far away from it.

    Source: Nagel 1995, equations 2 to 4 (after Selten & Stoecker 1986).
    """

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._factor: float | None = None
        self._reference = 0.0

    def pick(self, game: Facts, rng: np.random.Generator) -> float:
        """Correct the factor, and apply it to the new reference."""
        centre = reference(game)
        mean = known_mean(game.past[-1], game.p) if game.past else None
        if self._factor is None:
            self._factor = _first_pick(game, rng) / (game.high / 2)
        elif mean is not None and self._reference > 0:
            gap = game.p * mean / self._reference - self._factor
            right = rng.random() < human_guesses()["learning_direction"]["share"]
            self._factor = max(self._factor + (PART_OF_GAP if right else -PART_OF_GAP) * gap, 0.0)
        self._reference = centre
        pick: float = min(self._factor * centre, game.high)
        if centre > 0:
            self._factor = pick / centre
        return pick


class BestReply(Guesser):
    """A player who expects the others to repeat their last mean and accounts for its own pick.

    Source: Nagel 1995, footnote 8, who finds no evidence of it among subjects.
    """

    def pick(self, game: Facts, rng: np.random.Generator) -> float:
        """Pick exactly p times the resulting mean."""
        del rng
        high: float = game.high
        if game.p >= game.n_others + 1:
            return high
        return best_reply(_mean_of_others(game), game.n_others + 1, game.p)


CLASSICAL_MINDS: Mapping[str, Callable[[str], Any]] = {
    "default": CognitiveHierarchy,
    "level_k": LevelK,
    **{f"level_{k}": partial(LevelK, k=k) for k in range(HIGHER)},
    "empirical_step": EmpiricalStep,
    "learning_direction": LearningDirection,
    "best_reply": BestReply,
}
"""Name → factory; ``level_0`` to ``level_3`` have a fixed level without noise."""


def _first_pick(game: Facts, rng: np.random.Generator) -> float:
    intervals, shares = first_period_shares()
    low, high = intervals[int(rng.choice(len(shares), p=shares))]
    pick: float = _within(low, high, rng) * game.high / 100
    return pick


def _class_limits(step: int, game: Facts) -> tuple[float, float]:
    """The limits of a class of the later periods; −1 is the other side of the reference."""
    centre, p = reference(game), game.p
    if step < 0:
        return (centre, game.high) if p <= 1 else (SMALLEST_SHARE * centre, centre)
    if step < HIGHER:
        return step_limits(step, centre, p)
    near, far = (step_limits(depth, centre, p) for depth in (HIGHER, HIGHER - 1 + HIGHER_STEPS))
    return min(near[0], far[0]), max(near[1], far[1])


def _within(low: float, high: float, rng: np.random.Generator) -> float:
    """A random number, uniform in its logarithm between two limits; 0 if they are 0."""
    if not low > 0:
        return 0.0
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _mean_of_others(game: Facts) -> float:
    """The last mean of the others, or of all players if single picks are hidden."""
    choices = game.past[-1]["choices"] if game.past else None
    others = [
        choice
        for number, choice in enumerate(choices or (), 1)
        if choice is not None and number != game.player
    ]
    return sum(others) / len(others) if others else reference(game)
