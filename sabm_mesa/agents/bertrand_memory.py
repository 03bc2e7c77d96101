"""What a firm of the Bertrand competition remembers: the last rounds, and averages of older ones.

However long a run is, the memory does not grow (Wu et al. 2024, appendix C.2).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

RECENT = 20
"""Rounds that are remembered one by one."""
PERIOD = 20
"""Rounds of a period; of older rounds the averages by period are remembered."""
PERIODS = 20
"""Periods that are remembered: up to 400 rounds before the recent ones."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a firm knows of one round, or the averages of several.

    Attributes:
        first: the first round.
        last: the last round.
        price: own price.
        demand: own demand.
        profit: own profit.
        rivals: prices of the other firms, in the order of their numbers.
    """

    first: int
    last: int
    price: float
    demand: float
    profit: float
    rivals: tuple[float, ...]


class Memory:
    """What a firm remembers of the past: bounded, and kept up to date at a constant cost a round.

    A period is a run of `PERIOD` rounds that begins at a multiple of it. A round that leaves the
    recent ones enters the averages of its period; the oldest period is forgotten.

    Attributes:
        recent: the last `RECENT` rounds, one by one.
        periods: averages of the older rounds by period; the last one may still be incomplete.
    """

    def __init__(self) -> None:
        self.recent: deque[Stretch] = deque()
        self.periods: deque[Stretch] = deque(maxlen=PERIODS)

    def add(self, played: Stretch) -> None:
        """Remember the round that has just been played."""
        self.recent.append(played)
        if len(self.recent) > RECENT:
            self._average(self.recent.popleft())

    def _average(self, old: Stretch) -> None:
        if old.first % PERIOD == 0:
            self.periods.append(old)
            return
        period = self.periods.pop()
        weight = 1 / (old.last - period.first + 1)

        def mean(before: float, now: float) -> float:
            return before + weight * (now - before)

        self.periods.append(
            Stretch(
                period.first,
                old.last,
                mean(period.price, old.price),
                mean(period.demand, old.demand),
                mean(period.profit, old.profit),
                tuple(map(mean, period.rivals, old.rivals)),
            )
        )
