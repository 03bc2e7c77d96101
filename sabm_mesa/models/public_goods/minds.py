"""Classical minds of the public goods game, after the subjects of Fischbacher & Gächter 2010.

They think in units of a twentieth of the endowment, since the subjects of the laboratory had 20.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from types import MappingProxyType

import numpy as np

from sabm_mesa.analysis.contributions import (
    estimated,
    first_belief,
    first_distributions,
    next_belief,
    published,
    regressed,
    scheduled,
    type_shares,
    whole_amount,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.facts import Facts
from sabm_mesa.minds.base import ClassicalMind


class FischbacherGaechter(ClassicalMind):
    """A player of one of four types, who gives by its schedule and its belief about the others.

    It draws its type by the shares of the types among the subjects, and its first contribution
    from the distribution of its type. After each game it revises its belief about the mean
    contribution of the others; then it gives the amount of the published regression. As in the
    authors' simulation beliefs and contributions are rounded to units of a twentieth of the
    endowment, and there is no noise.

    Source: Fischbacher & Gächter 2010, sections II and III.

    Attributes:
        kind: the number of its type in `type_names`; None before its first game.
        belief: the mean contribution that it expects of the others, in units.
    """

    assumes = MappingProxyType(
        {"first": "what they give first is drawn from what the subjects of the experiment gave"}
    )

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.kind: int | None = None
        self.belief = first_belief()
        self._known = 0

    async def answer(self, ask: Ask) -> object:
        """Name a contribution."""
        situation = ask.facts
        if self.kind is None:
            shares = type_shares()
            self.kind = int(ask.rng.choice(len(shares), p=shares))
        unit = situation.endowment / published()["endowment"]
        self._learn(situation, unit)
        first = self._known == 0
        amount = self.first(self.kind, ask.rng) if first else self.later(self.kind)
        return min(unit * amount, situation.endowment)

    def first(self, kind: int, rng: np.random.Generator) -> float:
        """The contribution of the first game, in units."""
        shares = first_distributions()[kind]
        return float(rng.choice(len(shares), p=shares))

    def later(self, kind: int) -> float:
        """The contribution at the belief, in units."""
        return float(estimated(kind, self.belief))

    def revised(self, others_mean: float) -> float:
        """The belief after a game, in units."""
        return float(next_belief(self.belief, others_mean))

    def _learn(self, situation: Facts, unit: float) -> None:
        games = situation.games
        for game in games[bisect_right(games, self._known, key=itemgetter("number")) :]:
            self._known = game["number"]
            if game["others_mean"] is not None:
                self.belief = self.revised(game["others_mean"] / unit)


class ScheduleOnly(FischbacherGaechter):
    """The same player, but it gives by its schedule alone, also in the first game.

    Source: Fischbacher & Gächter 2010, section III (contributions predicted by the schedules).
    """

    assumes = MappingProxyType({})

    def first(self, kind: int, rng: np.random.Generator) -> float:
        """The contribution of the first game, in units."""
        del rng
        return self.later(kind)

    def later(self, kind: int) -> float:
        """The contribution at the belief, in units."""
        return float(whole_amount(scheduled(kind, self.belief)))


class NaiveBelief(FischbacherGaechter):
    """The same player, but it expects that the others repeat their last contribution.

    Source: Fischbacher & Gächter 2010, section III (naive beliefs).
    """

    def revised(self, others_mean: float) -> float:
        """The belief after a game, in units."""
        return float(whole_amount(others_mean))


class IdenticalSchedule(FischbacherGaechter):
    """The same player, but all have one schedule, the line through those of all subjects.

    Source: Fischbacher & Gächter 2010, section III (identical schedules).
    """

    def later(self, kind: int) -> float:
        """The contribution at the belief, in units."""
        del kind
        line = published()["all_schedules"]
        schedule = line["constant"] + line["others"] * self.belief
        return float(regressed(self.belief, schedule))


class PerfectCooperation(FischbacherGaechter):
    """A perfect conditional cooperator: it gives the contribution it expects of the others.

    Source: Fischbacher & Gächter 2010, section III (perfect conditional cooperation).
    """

    def first(self, kind: int, rng: np.random.Generator) -> float:
        """The contribution of the first game, in units."""
        del kind, rng
        return self.belief

    def later(self, kind: int) -> float:
        """The contribution at the belief, in units."""
        del kind
        return self.belief
