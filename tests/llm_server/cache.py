"""A model of a provider's prompt cache: how much of a prompt was seen before."""

from __future__ import annotations

from bisect import bisect_left


class PrefixCache:
    """Remembers prompts and finds the longest prefix shared with one of them."""

    def __init__(self) -> None:
        self._sorted: list[str] = []

    def shared(self, text: str) -> int:
        """The length of the longest prefix shared with an earlier text; remembers this one.

        In sorted order no text shares a longer prefix than one of the two neighbours does.
        """
        place = bisect_left(self._sorted, text)
        neighbours = self._sorted[max(place - 1, 0) : place + 1]
        longest = max((_common(text, other) for other in neighbours), default=0)
        if longest < len(text) or self._sorted[place] != text:
            self._sorted.insert(place, text)
        return longest


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
