"""How evenly a count is spread over kinds: here people over exits."""

from __future__ import annotations

import math
from collections.abc import Iterable


def evenness(counts: Iterable[float]) -> float:
    """Pielou's evenness: the entropy of the shares over its largest possible value.

    Args:
        counts: how many of each kind, zeros included.

    Returns:
        1 when all kinds are equally frequent, 0 when there is only one; NaN when nothing was
        counted or there are fewer than two kinds.

    Source: Pielou 1966, "The measurement of diversity in different types of biological
    collections", Journal of Theoretical Biology 13.
    """
    numbers = list(counts)
    total = sum(numbers)
    if total <= 0 or len(numbers) < 2:
        return math.nan
    shares = [number / total for number in numbers if number > 0]
    entropy = math.fsum(share * math.log(1 / share) for share in shares)
    return entropy / math.log(len(numbers))
