"""A memory with retrieval by recency, importance and relevance to the situation.

A memory is a text with a date, a rating of its importance and a last day. For each point of focus
the memories are ranked by

    0.5 · recency + 3 · importance + 2 · relevance,

recency 0.99^i with i = 0 for the newest, importance (rating − 1) / 9, and relevance, at most 1, as
measured by a `Relevance`. Memories with `always` rank above all others.

Source: Park et al. 2023, "Generative Agents", arXiv 2304.03442, section 4.1; weights and decay as
in Piatti et al. 2024, arXiv 2404.16698 (in their program the oldest memory counts as the most
recent one; here it is the newest).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.analysis.sparse_text import SparseText, pieces
from sabm_mesa.core.embeddings import Texts, TextsAsk, Vector, Vectors, unit
from sabm_mesa.minds.base import Mind

RECENCY, IMPORTANCE, RELEVANCE = 0.5, 3.0, 2.0
"""Weights of the three parts of a score."""
DECAY = 0.99
"""Recency of a memory relative to that of the next newer one."""
LOWEST, HIGHEST = 1, 10
"""The scale of importance."""
ASK = "embed"
"""The name of the question in the data; it has no prompt."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory.

    Attributes:
        text: the words.
        kind: ``"event"``, ``"chat"`` or ``"thought"``.
        importance: its rating from 1 to 10; None when the rating could not be read, and then it
            adds nothing to the score.
        created: the day from which it is remembered.
        expires: the last day on which it is remembered.
        always: whether it is retrieved whatever the focus is.
        own: whether its words are those of the scenario and not of a mind.
    """

    text: str
    kind: str
    importance: int | None
    created: date
    expires: date
    always: bool = False
    own: bool = False


class Relevance(Protocol):
    """A measure of how much texts bear on a query."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The relevance of each text, at most 1; 0 stands for none.

        Args:
            query: the point of focus.
            texts: the texts, in any order.
        """


class SparseRelevance:
    """Cosine similarity of tf-idf vectors over the pieces of words.

    It needs neither a network nor a model (see `sabm_mesa.analysis.sparse_text`); "harvested" is
    near "harvesting". The weights of the pieces come from the texts and the query together.
    """

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The similarity of each text to the query.

        Args:
            query: the point of focus.
            texts: the texts.
        """
        both = [query, *texts]
        wanted, *known = SparseText(both, pieces).vectors(both)
        return [min(1.0, float((each * wanted).sum())) for each in known]


class EmbeddedRelevance:
    """Cosine similarity of the vectors of an embedding model.

    Attributes:
        vectors: text → its vector, of length 1; the relevance of a text without one is 0.
    """

    def __init__(self) -> None:
        self.vectors: dict[str, Vector] = {}

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The similarity of each text to the query, from −1 to 1.

        Args:
            query: the point of focus.
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
        relevance: the measure of how much a memory bears on a focus.

    Attributes:
        memories: all memories, oldest first.
    """

    def __init__(self, relevance: Relevance) -> None:
        self.memories: list[Memory] = []
        self._relevance = relevance

    def add(self, memory: Memory) -> None:
        """Add the newest memory."""
        self.memories.append(memory)

    def forget(self, today: date) -> None:
        """Remove the memories whose last day is over.

        Args:
            today: the day.
        """
        self.memories = self.known(today)

    def known(self, today: date) -> list[Memory]:
        """The memories whose last day is not over, oldest first.

        Args:
            today: the day.
        """
        return [each for each in self.memories if each.expires >= today]

    def retrieve(self, focus: Iterable[str], k: int, today: date) -> tuple[Memory, ...]:
        """The `k` memories that rank highest for each of the points of focus.

        Args:
            focus: the points of focus.
            k: memories for each of them at most.
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


async def embed(
    agent: SmartAgent,
    mind: Mind,
    memory: MemoryStream,
    relevance: EmbeddedRelevance,
    focus: Sequence[str],
    k: int,
    today: date,
) -> None:
    """Ask for the vectors that retrieval needs, for each text once in a run.

    Nothing is asked when all memories are retrieved anyway. Texts without usable vectors have no
    relevance; they are asked for again when they are needed again.

    Args:
        agent: the agent whose memory it is.
        mind: the embedding model.
        memory: the memory.
        relevance: the vectors so far; the new ones are added.
        focus: the points of focus.
        k: memories for each of them at most.
        today: the day.
    """
    known = memory.known(today)
    if len(known) <= k:
        return
    wanted = [*focus, *(each.text for each in known if not each.always)]
    texts = tuple(text for text in dict.fromkeys(wanted) if text and text not in relevance.vectors)
    if not texts:
        return
    length = next((vector.size for vector in relevance.vectors.values()), None)
    spec, seen = Vectors(len(texts), length), Texts(texts, persona=agent.persona)
    decision = await agent.ask(ASK, spec, seen, mind=mind, kind=TextsAsk)
    if decision.valid:
        relevance.vectors |= zip(texts, map(unit, decision.value), strict=True)
