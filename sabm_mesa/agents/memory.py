"""Memories of agents: a window of the newest items, or a stream with retrieval by relevance.

An agent class declares its memory, and each agent gets its own instance::

    class Trader(SmartAgent):
        memory = Remembers(last=5)  # or Stream(top=3)

``{{ memory }}`` in the prompts stands for the recalled items, one line each. Classical minds read
the fact ``memory``. The model adds items with ``trader.memory.add("…")``.

In a `Stream`, a memory is a text with a rating of its importance and, optionally, a day on which it
expires. For each point of focus the memories are ranked by

    0.5 · recency + 3 · importance + 2 · relevance,

recency 0.99^i with i = 0 for the newest, importance (rating − 1) / 9, and relevance from
`similarities`. Memories with `always` rank above all others.

Source: Park et al. 2023, "Generative Agents", arXiv 2304.03442, section 4.1; weights and decay as
in Piatti et al. 2024, arXiv 2404.16698 (in their program the oldest memory counts as the most
recent one; here it is the newest).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from sabm_mesa.analysis.sparse_text import SparseText, pieces

RECENCY, IMPORTANCE, RELEVANCE = 0.5, 3.0, 2.0
"""Weights of the three parts of a score."""
DECAY = 0.99
"""Recency of a memory relative to that of the next newer one."""
LOWEST, HIGHEST = 1, 10
"""The scale of importance."""
NOTHING = ""
"""An empty point of focus: memories are ranked by recency and importance only."""
Day = Any
"""A point in time: a date, or the number of a round."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory.

    Attributes:
        text: the words.
        kind: a label of the scenario, such as ``"event"`` or ``"thought"``.
        importance: its rating from 1 to 10; None: no rating, which adds nothing to the score.
        created: the first day of the memory; None: unknown.
        expires: the last day of the memory; None: it never expires.
        always: whether it is retrieved for every focus.
        own: whether the scenario wrote the text; otherwise a mind did.
    """

    text: str
    kind: str = "event"
    importance: int | None = None
    created: Day = None
    expires: Day = None
    always: bool = False
    own: bool = False


def newest(items: Sequence[T], last: int | None = None, words: int | None = None) -> tuple[T, ...]:
    """The newest items that fit a window.

    Args:
        items: texts, or objects with an attribute ``text`` or ``words`` (the number of their
            words); oldest first.
        last: maximum number of items; None: no limit.
        words: maximum number of words of all items; None: no limit. The newest item is kept even
            if it is longer; other items are kept or dropped whole.

    Returns:
        The items, oldest first.
    """
    if last is None and words is None:
        return tuple(items)
    fit = len(items) if last is None else min(max(last, 0), len(items))
    if words is not None:
        size = 0
        for n, item in enumerate(reversed(items[len(items) - fit :])):
            size += _n_words(item)
            if n and size > words:
                fit = n
                break
    return tuple(items[len(items) - fit :])


def _n_words(item: Any) -> int:
    if hasattr(item, "words"):
        return int(item.words)
    return len((item if isinstance(item, str) else item.text).split())


class Remembers(Sequence[T]):
    """A window: the sequence of the newest items, oldest first.

    Args:
        last: maximum number of items; None: no limit.
        words: maximum number of words of all items, as in `newest`; None: no limit.
    """

    def __init__(self, last: int | None = None, words: int | None = None) -> None:
        self.last, self.words = last, words
        self._items: list[T] = []

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        """An item, or several."""
        return self._items[at]

    def empty(self) -> Remembers[T]:
        """A memory of the same kind with nothing in it."""
        return Remembers(self.last, self.words)

    def add(self, item: T) -> None:
        """Add an item, and drop the oldest ones that no longer fit the window."""
        self._items.append(item)
        if self.words is not None:
            kept = len(newest(self._items, self.last, self.words))
        else:
            kept = len(self._items) if self.last is None else self.last
        del self._items[: max(len(self._items) - kept, 0)]

    def recall(self, last: int | None = None) -> tuple[T, ...]:
        """The items, oldest first.

        Args:
            last: maximum number of items, the newest ones; None: all.
        """
        return newest(self._items, last)


def similarities(query: str, texts: Sequence[str]) -> list[float]:
    """The relevance of texts to a query: cosines of tf-idf vectors over the pieces of words.

    It needs no network and no model (see `sabm_mesa.analysis.sparse_text`). Inflected words match:
    "harvested" is similar to "harvesting". The texts and the query determine the weights together.

    Returns:
        The similarity of each text to the query, from 0 to 1.
    """
    both = [query, *texts]
    wanted, *known = SparseText(both, pieces).vectors(both)
    return [min(1.0, float((vector * wanted).sum())) for vector in known]


class Stream:
    """All memories of an agent; recall retrieves the relevant ones.

    Args:
        top: maximum number of memories that are recalled for each point of focus.

    Attributes:
        memories: all memories, oldest first.
    """

    def __init__(self, top: int = 10) -> None:
        self.top = top
        self.memories: list[Memory] = []

    def empty(self) -> Stream:
        """Return an empty memory of the same kind."""
        return Stream(self.top)

    def add(self, memory: Memory | str) -> None:
        """Add a memory; a plain text has no rating and never expires."""
        self.memories.append(Memory(memory) if isinstance(memory, str) else memory)

    def forget(self, today: Day) -> None:
        """Remove expired memories."""
        self.memories = self.known(today)

    def known(self, today: Day = None) -> list[Memory]:
        """The memories that have not expired, oldest first.

        Args:
            today: the day; None: include expired memories.
        """
        if today is None:
            return list(self.memories)
        return [
            memory for memory in self.memories if memory.expires is None or memory.expires >= today
        ]

    def recall(
        self, focus: Iterable[str] = (NOTHING,), top: int | None = None, today: Day = None
    ) -> tuple[Memory, ...]:
        """The highest-ranked memories for each point of focus.

        Args:
            focus: the points of focus; `NOTHING` by default.
            top: maximum number of memories for each point; None: the `top` of the stream.
            today: the day; None: include expired memories.

        Returns:
            The memories, oldest first.
        """
        known, k = self.known(today), self.top if top is None else top
        chosen: set[int] = set()
        for point in focus:
            scores = self._scores(point, known)
            newest_first = range(len(known) - 1, -1, -1)
            chosen.update(sorted(newest_first, key=lambda i: -scores[i])[:k])
        return tuple(known[i] for i in sorted(chosen))

    def _scores(self, point: str, known: Sequence[Memory]) -> list[float]:
        texts = [memory.text for memory in known]
        relevance = similarities(point, texts) if point else [0.0] * len(texts)
        scores = [
            RECENCY * DECAY ** (len(known) - 1 - i)
            + IMPORTANCE * _weight(memory.importance)
            + RELEVANCE * relevance[i]
            for i, memory in enumerate(known)
        ]
        above = max(scores, default=0.0) + 1
        return [
            above if memory.always else score for memory, score in zip(known, scores, strict=True)
        ]


def _weight(importance: int | None) -> float:
    return 0.0 if importance is None else (importance - LOWEST) / (HIGHEST - LOWEST)
