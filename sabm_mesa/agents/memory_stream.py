"""A memory with retrieval: what is recent, matters, and bears on the situation comes to mind.

A memory is a text with a date, a rating of its importance and a date after which it is forgotten.
For each point of focus the memories are ranked by

    0.5 · recency + 3 · importance + 2 · relevance,

recency 0.99^i with i = 0 for the newest, importance (rating − 1) / 9, and relevance, 1 at the
most, as a `Relevance` measures it. What has always to be remembered ranks above everything else.

Source: Park et al. 2023, "Generative Agents", arXiv 2304.03442, section 4.1; weights and decay as
in Piatti et al. 2024, arXiv 2404.16698 (their program, in which the oldest memory counts as the
most recent one: here it is the newest).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from sabm_mesa.analysis.sparse_text import SparseText, pieces
from sabm_mesa.embeddings import Vector

RECENCY, IMPORTANCE, RELEVANCE = 0.5, 3.0, 2.0
"""Weights of the three parts of a score."""
DECAY = 0.99
"""Recency of a memory to that of the next newer one."""
LOWEST, HIGHEST = 1, 10
"""The scale on which importance is rated."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing that is remembered.

    Attributes:
        text: the words.
        kind: ``"event"``, ``"chat"`` or ``"thought"``.
        importance: its rating from 1 to 10; None when the rating could not be read, and then it
            adds nothing to the score.
        created: the day from which it is remembered.
        expires: the last day on which it is remembered.
        always: whether it comes to mind whatever the focus is.
        own: whether it is in words of the scenario, and not of a mind.
    """

    text: str
    kind: str
    importance: int | None
    created: date
    expires: date
    always: bool = False
    own: bool = False


class Relevance(Protocol):
    """What measures how much texts bear on a query."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The relevance of each text, 1 at the most; 0 stands for none.

        Args:
            query: what is in focus.
            texts: the texts, in any order.
        """


class SparseRelevance:
    """Cosine similarity of tf-idf vectors over the pieces of words.

    It needs neither a network nor a model (see `sabm_mesa.analysis.sparse_text`); "harvested" is
    near "harvesting". The pieces weigh as they occur in the texts and the query together.
    """

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The similarity of each text to the query.

        Args:
            query: what is in focus.
            texts: the texts.
        """
        both = [query, *texts]
        wanted, *known = SparseText(both, pieces).vectors(both)
        return [min(1.0, float((each * wanted).sum())) for each in known]


class EmbeddedRelevance:
    """Cosine similarity of the vectors that an embedding model gave to texts.

    Attributes:
        vectors: text → its vector, of length 1. To a text without one nothing is relevant.
    """

    def __init__(self) -> None:
        self.vectors: dict[str, Vector] = {}

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The similarity of each text to the query, from −1 to 1.

        Args:
            query: what is in focus.
            texts: the texts.
        """
        wanted = self.vectors.get(query)
        if wanted is None:
            return [0.0] * len(texts)
        known = [self.vectors.get(text) for text in texts]
        return [0.0 if each is None else float((each * wanted).sum()) for each in known]


class MemoryStream:
    """The memories of one agent.

    Args:
        relevance: what measures how much a memory bears on a focus.

    Attributes:
        memories: all that is remembered, oldest first.
    """

    def __init__(self, relevance: Relevance) -> None:
        self.memories: list[Memory] = []
        self._relevance = relevance

    def add(self, memory: Memory) -> None:
        """Remember something, as the newest memory."""
        self.memories.append(memory)

    def forget(self, today: date) -> None:
        """Forget for good what is remembered no longer.

        Args:
            today: the day.
        """
        self.memories = self.known(today)

    def known(self, today: date) -> list[Memory]:
        """What is remembered, oldest first.

        Args:
            today: the day.
        """
        return [each for each in self.memories if each.expires >= today]

    def retrieve(self, focus: Iterable[str], k: int, today: date) -> tuple[Memory, ...]:
        """What comes to mind: the `k` memories that rank highest for any of the points of focus.

        Args:
            focus: the points of focus.
            k: memories for each of them at the most.
            today: the day.

        Returns:
            The memories, oldest first.
        """
        known = self.known(today)
        chosen: set[int] = set()
        for point in focus:
            scores = self._scores(point, known)
            newest_first = range(len(known) - 1, -1, -1)
            chosen.update(sorted(newest_first, key=lambda i: -scores[i])[:k])
        return tuple(known[i] for i in sorted(chosen))

    def _scores(self, point: str, known: Sequence[Memory]) -> list[float]:
        relevance = self._relevance.scores(point, [each.text for each in known])
        scores = [
            RECENCY * DECAY ** (len(known) - 1 - i)
            + IMPORTANCE * _weight(each.importance)
            + RELEVANCE * relevance[i]
            for i, each in enumerate(known)
        ]
        above = max(scores, default=0.0) + 1
        return [above if each.always else score for each, score in zip(known, scores, strict=True)]


def _weight(importance: int | None) -> float:
    return 0.0 if importance is None else (importance - LOWEST) / (HIGHEST - LOWEST)
