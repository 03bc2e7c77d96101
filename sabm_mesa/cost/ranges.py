"""Ranges: numbers that are known to lie between a low and a high one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

MARGIN = 0.05
"""What is learned from a recording holds in another run to this share at best (our choice)."""
PRIOR = 3
"""Values that the assumed deviation counts for."""
ERRORS = 4.0
"""Standard errors of a recorded mean that the range around it spans to either side."""


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`; NaN where nothing is known.

    Attributes:
        low: the lowest value.
        high: the highest value.
    """

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        """The range of the sum."""
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range | float) -> Range:
        """The range of the product, of numbers that are not negative."""
        low, high = (other.low, other.high) if isinstance(other, Range) else (other, other)
        return Range(self.low * low, self.high * high)

    def narrowed(self, learned: Range | None) -> Range:
        """The part that agrees with what was learned, or what was learned when none does."""
        if learned is None:
            return self
        low, high = max(self.low, learned.low), min(self.high, learned.high)
        return Range(low, high) if low <= high else learned


ZERO = Range(0.0, 0.0)


def total(ranges: Iterable[Range]) -> Range:
    """The range of a sum."""
    return sum(ranges, ZERO)


def span(ranges: Iterable[Range]) -> Range:
    """The smallest range that holds all of these."""
    all_ = list(ranges)
    return Range(min(each.low for each in all_), max(each.high for each in all_))


def around(by_run: Sequence[Sequence[float]], differ: float = 0.5) -> Range:
    """Where the mean of another run lies: between those of the recorded runs, and a bit beyond.

    Args:
        by_run: for each recorded run the values that were seen, at least one.
        differ: the share of their mean by which single values are taken to differ; it counts like
            `PRIOR` values, so that a few that happen to be alike do not say too much.
    """
    means = [fmean(values) for values in by_run]
    seen = [value for values in by_run for value in values]
    mean, n = fmean(seen), len(seen)
    squares = sum((value - mean) ** 2 for value in seen) + PRIOR * (differ * mean) ** 2
    beyond = MARGIN * max(means) + ERRORS * math.sqrt(squares / (n + PRIOR) / n)
    return Range(max(0.0, min(means) - beyond), max(means) + beyond)
