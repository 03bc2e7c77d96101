"""The rehearsals of a scenario, and what they show: how many questions, how long prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
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
BRIEF = 120
"""Letters of texts at the most where questions are counted alone: a sentence of many parts."""
LEAST = (Manner.CLASSICAL, Manner.AGREED, Manner.LAST)
"""How stand-ins decide for the least."""
MOST = (Manner.CLASSICAL, Manner.AGREED, Manner.DRAWN, Manner.STILL)
"""How they decide for the most."""


@dataclass(frozen=True, slots=True)
class Play:
    """A run as it is rehearsed in one manner, with one and with other seeds.

    Attributes:
        shown: the rehearsal whose prompts were rendered.
        counts: (question, mind) → number of questions, for each seed.
        rounds: how many rounds were played, for each seed.
    """

    shown: Rehearsal
    counts: list[Counter[Kind]]
    rounds: list[int]

    def asks(self, kind: Kind, n_rounds: int, longest: int) -> Range:
        """Questions of a kind in one run.

        Where every seed has as many in a round, only the number of rounds is open: from the fewest
        that were played to all there are. Else the count depends on chance.

        Args:
            kind: the question and the mind.
            n_rounds: rounds of a run at the most.
            longest: rounds of the longest rehearsal in any manner.
        """
        counts = [count[kind] for count in self.counts]
        first, rounds = counts[0], self.rounds[0]
        if all(n * rounds == first * r for n, r in zip(counts, self.rounds, strict=True)):
            return Range(min(counts), first * n_rounds / rounds)
        found = _widened(counts)
        return Range(found.low, found.high * n_rounds / longest)


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
        self._least = [_play(scenario, parameters, manner, short) for manner in LEAST]
        self._most = [_play(scenario, parameters, manner, long) for manner in MOST]
        self.n_rounds = self._least[0].shown.model.n_rounds
        self._longest = max(max(play.rounds) for play in self._most)

    def kinds(self) -> list[Kind]:
        """(question, mind) of all that was asked, in the order in which it was."""
        return list(dict.fromkeys(kind for play in self._all() for kind in play.shown.questions))

    def asks(self, kind: Kind) -> Range:
        """Questions of a kind in one run."""
        low = min(play.asks(kind, self.n_rounds, self._longest).low for play in self._least)
        high = max(play.asks(kind, self.n_rounds, self._longest).high for play in self._most)
        return Range(low, high)

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

    def _all(self) -> list[Play]:
        return [*self._least, *self._most]

    @staticmethod
    def _of(plays: list[Play], kind: Kind) -> list[Questions]:
        shown = [play.shown.questions for play in plays]
        return [questions[kind] for questions in shown if kind in questions]


def _play(
    scenario: type[SmartModel], parameters: Mapping[str, Any], manner: Manner, length: Length
) -> Play:
    """Rehearse a run in one manner, with other seeds too where chance makes a difference."""
    seed = parameters.get("rng")
    first = seed if isinstance(seed, int) else 0
    shown = rehearse(scenario, parameters, manner, length, seed=first, render=True)
    counts, rounds = [shown.counts()], [shown.rounds]
    few = counts[0].total() <= MANY_ASKS
    for more in range(1, MORE_SEEDS + 1 if few else 2):
        again = rehearse(scenario, parameters, manner, _brief(length), seed=first + more)
        counts.append(again.counts())
        rounds.append(again.rounds)
        if counts[1] == counts[0]:
            break  # chance makes no difference
    return Play(shown, counts, rounds)


def _brief(length: Length) -> Length:
    """The same length of texts, or a sentence: what is said takes time, and changes no count."""
    return lambda question, mind, spec: min(BRIEF, length(question, mind, spec))


def _widened(counts: list[int]) -> Range:
    """Where a count lies by chance; it is exact when all rehearsals agree."""
    low, high = min(counts), max(counts)
    beyond = 0.0 if low == high else max(high - low, DEVIATIONS * math.sqrt(high))
    return Range(max(0.0, low - beyond), high + beyond)
