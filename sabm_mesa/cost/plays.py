"""The rehearsals of a scenario, and what they show: how many questions, how long prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.cost.ranges import Range
from sabm_mesa.cost.rehearsal import Kind, Questions, Rehearsal, rehearse
from sabm_mesa.cost.stand_ins import Length, Manner
from sabm_mesa.decisions import AnswerSpec

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

MORE_SEEDS = 3
MANY_ASKS = 5000
"""Runs with more asks than this are rehearsed with one more seed only: chance evens out in them."""
DEVIATIONS = 3.0
"""Standard deviations by which a count that depends on chance is widened; one is its root, since
who is asked is mostly drawn independently."""
LEAST = (Manner.CLASSICAL, Manner.AGREED)
"""How stand-ins decide for the least."""
MOST = (Manner.CLASSICAL, Manner.DRAWN, Manner.STILL)
"""How they decide for the most."""


class Plays:
    """The rehearsals of a run of a scenario, some with short texts and some with long ones.

    Args:
        scenario: the model class.
        parameters: its parameters.
        short: how long texts are at the least.
        long: how long they are at the most.

    Raises:
        UsageError: for parameters that cannot be used.
        RunError: when the scenario or a classical mind fails.
    """

    def __init__(
        self, scenario: type[SmartModel], parameters: Mapping[str, Any], short: Length, long: Length
    ) -> None:
        seed = parameters.get("rng")
        first = seed if isinstance(seed, int) else 0

        def play(
            manner: Manner, length: Length, more: int = 0, *, render: bool = True
        ) -> Rehearsal:
            return rehearse(scenario, parameters, manner, length, seed=first + more, render=render)

        least = {manner: play(manner, short) for manner in LEAST}
        most = {manner: play(manner, long) for manner in MOST}
        self.n_rounds = least[Manner.CLASSICAL].model.n_rounds
        self._rounds = max(each.model.round + 1 for each in most.values())
        self._least, self._most = list(least.values()), list(most.values())
        self._counts: dict[Manner, list[Counter[Kind]]] = {}
        for manner, rehearsal in {**most, **least}.items():
            counts = [rehearsal.counts()]
            few = counts[0].total() <= MANY_ASKS
            for more in range(1, MORE_SEEDS + 1 if few else 2):
                counts.append(play(manner, short, more, render=False).counts())
                if counts[1] == counts[0]:
                    break  # chance makes no difference
            self._counts[manner] = counts

    def kinds(self) -> list[Kind]:
        """(question, mind) of all that was asked, in the order in which it was."""
        return list(dict.fromkeys(kind for play in self._all() for kind in play.questions))

    def asks(self, kind: Kind) -> Range:
        """Questions of a kind in one run."""
        seen = {
            manner: _widened([count[kind] for count in counts])
            for manner, counts in self._counts.items()
        }
        low = min(seen[manner].low for manner in LEAST)
        high = max(each.high for each in seen.values())
        return Range(low, high * self.n_rounds / self._rounds)

    def letters(self, kind: Kind) -> Range:
        """Letters of the prompt of a question of a kind, on average over a run."""
        short, long = self._of(self._least, kind), self._of(self._most, kind)
        low = min(each.mean_length(self.n_rounds) for each in short or long)
        if not long:
            return Range(low, max(each.mean_length(self.n_rounds) for each in short))
        longest = np.max([each.lengths(self.n_rounds) for each in long], axis=0)
        most_asked = max(long, key=lambda each: each.total)
        weights = most_asked.by_round(self.n_rounds)
        return Range(low, float(np.maximum.accumulate(longest) @ weights) / most_asked.total)

    def specs(self, kind: Kind) -> list[AnswerSpec]:
        """What legal answers to a question of a kind are."""
        found = [each.specs for each in self._of(self._all(), kind)]
        return list(dict.fromkeys(spec for specs in found for spec in specs))

    def _all(self) -> list[Rehearsal]:
        return [*self._least, *self._most]

    @staticmethod
    def _of(plays: list[Rehearsal], kind: Kind) -> list[Questions]:
        return [play.questions[kind] for play in plays if kind in play.questions]


def _widened(counts: list[int]) -> Range:
    """Where a count lies by chance; it is exact when all rehearsals agree."""
    low, high = min(counts), max(counts)
    beyond = 0.0 if low == high else max(high - low, DEVIATIONS * math.sqrt(high))
    return Range(max(0.0, low - beyond), high + beyond)
