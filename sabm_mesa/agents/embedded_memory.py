"""A memory whose relevance an embedding model measures: what has no vector yet is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.memory_stream import EmbeddedRelevance, MemoryStream
from sabm_mesa.asks import Mind
from sabm_mesa.embeddings import Texts, TextsAsk, Vectors, unit

ASK = "embed"
"""The name of the question in the data; it has no prompt."""


async def embed(
    agent: SmartAgent,
    mind: Mind,
    memory: MemoryStream,
    relevance: EmbeddedRelevance,
    focus: Sequence[str],
    k: int,
    today: date,
) -> None:
    """Have all embedded that is needed to say what comes to mind, each text once in a run.

    Nothing is asked where there is nothing to choose: when all memories come to mind anyway.
    Texts for which no usable vectors came have none, and no relevance; they are asked for again
    when they are needed again.

    Args:
        agent: whose memory it is.
        mind: the embedding model.
        memory: the memory.
        relevance: what learns the vectors.
        focus: the points of focus.
        k: memories for each of them at the most.
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
