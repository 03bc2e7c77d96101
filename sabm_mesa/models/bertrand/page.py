"""The page of the Bertrand competition: its card, charts and columns, and what players see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Level, lines
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.bertrand.model import BertrandCompetition


def public_columns(model: BertrandCompetition) -> list[str]:
    """Return the columns a human player may see: the prices, not demand or profit of others."""
    return [f"price_{number}" for number in range(1, model.n_firms + 1)]


def charts(
    model: BertrandCompetition, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """Prices and profits with those of the equilibrium and of a cartel, and the index Δ."""
    del agent_data
    model_data = model_data[model_data["round"] >= model.given_rounds]
    by_firm = []
    for column, title, unit in (("price", "Prices", "Price"), ("profit", "Profits", "Profit")):
        names = {f"{column}_{k}": name for k, name in enumerate(model.plot_options()["names"], 1)}
        levels = (
            Level(getattr(model.benchmarks, f"bertrand_{column}"), "Bertrand", style.GREY),
            Level(getattr(model.benchmarks, f"cartel_{column}"), "Cartel", style.VERMILLION),
        )
        firms = lines(model_data, names, agents=range(1, model.n_firms + 1))
        by_firm.append(Chart(f"{column}s", f"{title} by round", firms, unit, levels))
    index = lines(model_data, {"collusion_index": "index Δ"})
    levels = (Level(0, "Bertrand"), Level(1, "Cartel", style.VERMILLION))
    return [*by_firm, Chart("collusion", "Collusion index by round", index, "Δ", levels)]


PAGE = ScenarioPage(
    start={"minds": "classical:win_continue_lose_reverse", "n_rounds": "100"},
    questions={
        "Both reply best to each other: where do prices end?": {
            "minds": "classical:best_response",
            "n_rounds": "40",
        },
        "One firm breaks its agreements: what happens?": {
            "minds": "classical:keeps_agreements=1,classical:cheats=1",
            "n_rounds": "100",
        },
        "Four firms instead of two: what happens?": {
            "minds": "classical:win_continue_lose_reverse",
            "n_firms": "4",
            "n_rounds": "100",
        },
    },
    card_run={"minds": "classical:win_continue_lose_reverse", "n_rounds": 120},
    card_chart="prices",
    titles={
        "kept": "Price kept (no answer)",
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
    charts=charts,
    public_columns=public_columns,
)
