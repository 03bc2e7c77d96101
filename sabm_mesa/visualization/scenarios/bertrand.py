"""The page of the Bertrand competition: its plots serve; only the picture of its card is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sabm_mesa.models.bertrand_competition import BertrandCompetition

CARD: tuple[dict[str, Any], str] = (
    {"minds": "classical:win_continue_lose_reverse", "n_rounds": 120},
    "prices",
)
"""The run whose prices are the picture on the home page."""
TITLES = {
    "spell": "Collusion so far (rounds)",
    "collusion_index": "Collusion index Δ",
    "bertrand_price": "Bertrand price",
    "bertrand_profit": "Bertrand profit",
    "price_messages": "Messages on prices",
}
"""Columns that are called otherwise than they are written."""


def public_columns(model: BertrandCompetition) -> list[str]:
    """What a player may see of a round: the prices, but no demand or profit of others.

    Args:
        model: the competition.
    """
    return [f"price_{number}" for number in range(1, model.n_firms + 1)]
