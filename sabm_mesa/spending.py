"""What recorded runs have spent, as a budget counts it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sabm_mesa.llm.budget import Spent, most_of
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.minds import language_model
from sabm_mesa.minds.embedding import embedding_model
from sabm_mesa.recording import Recording
from sabm_mesa.recording.past import Past


def spent_before(opened: Recording, found: Sequence[Past], prices: str | Path | None) -> Spent:
    """What language models have cost in runs and in those that were started with them.

    Where a server reported no tokens, or a price is not known, an answer counts as the most that
    it could cost, as it did when it came.

    Args:
        opened: the recording.
        found: the runs.
        prices: a user's own price file, or None.

    Raises:
        RecordingError: when it cannot be read.
    """
    spent, table = Spent(*opened.spent([past.run for past in found])), PriceTable(prices)
    for past in found:
        for row in past.answers.values():
            embeds = embedding_model(row["mind"])[0]
            name = language_model(row["mind"]) or embeds
            unreported = not row["prompt_tokens"]
            if not name or row["copied"] or not (unreported or row["cost_usd"] is None):
                continue
            contents = [content for _, content in past.messages(row)]
            limit = 0 if embeds else past.parameters.get("max_tokens")
            assumed = most_of(contents, limit, table.of(name))
            spent.add(
                Spent(
                    0,
                    max(0, assumed.tokens - row["completion_tokens"]) if unreported else 0,
                    assumed.usd if row["cost_usd"] is None else 0.0,
                )
            )
    return spent
