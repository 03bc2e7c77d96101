"""The page of the public goods game: its charts; its card shows a laboratory session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.analysis.charts import Chart, dots, lines
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.public_goods.model import PublicGoods


def charts(model: PublicGoods, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Chart]:
    """Contributions of all players and their mean, the efficiency, and the free riders."""
    mean = lines(model_data, {"contribution": "mean"}, ("#000000",))
    given = [*dots(agent_data, "contribution", "players"), *mean]
    top = float(model.endowment)
    shares = {"efficiency": "efficiency", "zero_share": "players who gave nothing"}
    return [
        Chart("contributions", "Contributions by round", given, "Dollars", high=top),
        Chart("shares", "Efficiency and free riding by round", lines(model_data, shares), "Share"),
    ]


PAGE = ScenarioPage(
    card_run={
        "n_players": 24,
        "group_size": 4,
        "matching": "stranger",
        "endowment": 20,
        "multiplier": 1.6,
    },
    card_chart="contributions",
    charts=charts,
)
