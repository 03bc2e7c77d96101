"""Classical minds of the public goods game: what people do, after Fischbacher & Gächter 2010.

They think in units, a twentieth of the endowment, as the subjects of the laboratory had 20.
"""

from __future__ import annotations

import numpy as np

from sabm_mesa.agents.public_goods import Situation
from sabm_mesa.analysis.human_contributions import (
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
from sabm_mesa.asks import Ask


class FischbacherGaechter:
    """A player of one of four types, which gives by its belief about the others and its schedule.

    It draws its type by the shares of the types among the subjects, and its first contribution
    from the distribution of its type. After each game it revises its belief about the mean
    contribution of the others; then it gives what the published regression says. As in the
    authors' simulation beliefs and contributions are rounded to units of a twentieth of the
    endowment, and there is no noise.

    Args:
        spec: how the mind is named in the data.

    Attributes:
        kind: the number of its type in `type_names`; None before it was first asked.
        belief: what it believes that the others give on average, in units.

    Source: Fischbacher & Gächter 2010, sections II and III.
    """

    instant = True
    paid = False

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.kind: int | None = None
        self.belief = first_belief()
        self._known = 0

    async def answer(self, ask: Ask) -> object:
        """Name a contribution.

        Args:
            ask: the question; its observation is a `Situation`.
        """
        situation = ask.observation
        assert isinstance(situation, Situation)
        if self.kind is None:
            self.kind = int(ask.rng.choice(type_shares().size, p=type_shares()))
        unit = situation.endowment / published()["endowment"]
        self._learn(situation, unit)
        first = self._known == 0
        amount = self.first(self.kind, ask.rng) if first else self.later(self.kind)
        return min(unit * amount, situation.endowment)

    def first(self, kind: int, rng: np.random.Generator) -> float:
        """The contribution before anything is known of the others, in units.

        Args:
            kind: the number of its type.
            rng: the generator to draw from.
        """
        distribution = first_distributions()[kind]
        return float(rng.choice(distribution.size, p=distribution))

    def later(self, kind: int) -> float:
        """The contribution at the belief, in units.

        Args:
            kind: the number of its type.
        """
        return float(estimated(kind, self.belief))

    def revised(self, others_mean: float) -> float:
        """The belief after a game in which the others gave this on average, in units.

        Args:
            others_mean: the mean.
        """
        return float(next_belief(self.belief, others_mean))

    def _learn(self, situation: Situation, unit: float) -> None:
        for game in situation.games:
            if game.number > self._known:
                self._known = game.number
                if game.others_mean is not None:
                    self.belief = self.revised(game.others_mean / unit)


class ScheduleOnly(FischbacherGaechter):
    """The same player when it gives what its schedule says at its belief, also in the first game.

    Args:
        spec: how the mind is named in the data.

    Source: Fischbacher & Gächter 2010, section III (contributions predicted by the schedules).
    """

    def first(self, kind: int, rng: np.random.Generator) -> float:
        """The contribution before anything is known of the others, in units."""
        del rng
        return self.later(kind)

    def later(self, kind: int) -> float:
        """The contribution at the belief, in units."""
        return float(whole_amount(scheduled(kind, self.belief)))


class NaiveBelief(FischbacherGaechter):
    """The same player when it believes that the others give again what they gave last.

    Args:
        spec: how the mind is named in the data.

    Source: Fischbacher & Gächter 2010, section III (naive beliefs).
    """

    def revised(self, others_mean: float) -> float:
        """The belief after a game, in units."""
        return float(whole_amount(others_mean))


class IdenticalSchedule(FischbacherGaechter):
    """The same player when all have one schedule, the line through those of all subjects.

    Args:
        spec: how the mind is named in the data.

    Source: Fischbacher & Gächter 2010, section III (identical schedules).
    """

    def later(self, kind: int) -> float:
        """The contribution at the belief, in units."""
        del kind
        line = published()["all_schedules"]
        schedule = line["constant"] + line["others"] * self.belief
        return float(regressed(self.belief, schedule))


class PerfectCooperation(FischbacherGaechter):
    """A perfect conditional cooperator: it gives what it believes that the others give.

    Args:
        spec: how the mind is named in the data.

    Source: Fischbacher & Gächter 2010, section III (perfect conditional cooperation).
    """

    def first(self, kind: int, rng: np.random.Generator) -> float:
        """The contribution before anything is known of the others, in units."""
        del kind, rng
        return self.belief

    def later(self, kind: int) -> float:
        """The contribution at the belief, in units."""
        del kind
        return self.belief
