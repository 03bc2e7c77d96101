"""The past of a run, as agents are told it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T")


class Past(Sequence[T]):
    """The newest items of a list that only grows, as they are now; nothing is copied.

    A question that tells all earlier rounds would otherwise cost more in each round. It does what
    a tuple of the same items does, and equals it; slices, sums and multiples are tuples. Where a
    tuple itself is needed, as by `json.dumps`, write ``tuple(past)``.

    Args:
        items: the list.
        last: items at most; None: any number.
    """

    __slots__ = ("_end", "_first", "_items")

    def __init__(self, items: list[T], last: int | None = None) -> None:
        self._items, self._end = items, len(items)
        self._first = 0 if last is None else max(self._end - last, 0)

    def __len__(self) -> int:
        """Number of items."""
        return self._end - self._first

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        """An item, or several."""
        places = range(self._first, self._end)[at]
        if isinstance(places, int):
            return self._items[places]
        if places.step == 1:
            return tuple(self._items[places.start : places.stop])
        return tuple(self._items[place] for place in places)

    def __iter__(self) -> Iterator[T]:
        """Iterate over the items, oldest first."""
        return iter(self._items[self._first : self._end])

    def __eq__(self, other: Any) -> bool:
        """Whether it has the items of another sequence."""
        return isinstance(other, Past | tuple | list) and tuple(self) == tuple(other)

    def __add__(self, other: Any) -> tuple[Any, ...]:
        """The items, and those of another sequence."""
        return tuple(self) + (tuple(other) if isinstance(other, Past) else other)

    def __radd__(self, other: Any) -> tuple[Any, ...]:
        """The items of another sequence, and these."""
        joined: tuple[Any, ...] = other + tuple(self)
        return joined

    def __mul__(self, times: int) -> tuple[T, ...]:
        """The items so many times."""
        return tuple(self) * times

    __rmul__ = __mul__

    def __hash__(self) -> int:
        """Return the hash of the tuple that it equals."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return the form of the tuple that it equals."""
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the process as a tuple, without what came later."""
        return tuple, (tuple(self),)
