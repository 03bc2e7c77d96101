"""The page of the Bertrand competition: its card, its columns, and what players may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    from sabm_mesa.models.bertrand.model import BertrandCompetition


def public_columns(model: BertrandCompetition) -> list[str]:
    """Return the columns a human player may see: the prices, not demand or profit of others.

    Args:
        model: the competition.
    """
    return [f"price_{number}" for number in range(1, model.n_firms + 1)]


PAGE = ScenarioPage(
    card_run={"minds": "classical:win_continue_lose_reverse", "n_rounds": 120},
    card_chart="prices",
    titles={
        "price_{}": "Price of {}",
        "demand_{}": "Demand for {}",
        "profit_{}": "Profit of {}",
        "spell": "Collusion so far (rounds)",
        "collusive_share": "Collusive rounds so far (share)",
        "collusion_index": "Collusion index Δ",
        "bertrand_price": "Bertrand price",
        "bertrand_profit": "Bertrand profit",
        "price_messages": "Messages on prices",
    },
    public_columns=public_columns,
)
