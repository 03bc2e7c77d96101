"""The page of the commons: the word for a round, and the charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Level, agent_lines, lines
from sabm_mesa.models.commons.plots import ROUND
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.commons.model import CommonsGovernance


def charts(
    model: CommonsGovernance, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """The stock with the limit of collapse, and the harvests with the sustainable amount."""
    unit = model.words("stock_units").capitalize()
    taken = model.words("units").capitalize()
    stock = lines(model_data, {"stock": "before the harvest", "left": "after it"})
    lasts = lines(model_data, {"threshold": "sustainable amount"}, ("#000000",))
    collapse = Level(
        model.collapse_below, f"collapses below {model.collapse_below:g}", style.VERMILLION
    )
    return [
        Chart("stock", "Stock by round", stock, unit, (collapse,)),
        Chart(
            "harvests", "Harvest of each agent by round",
            [*agent_lines(agent_data, "harvest", "name"), *lasts], taken,
        ),
        Chart(
            "over_usage", "Harvests above the sustainable amount by round",
            lines(model_data, {"over_usage": "share of harvests"}), "Share", high=1,
        ),
    ]  # fmt: skip


PAGE = ScenarioPage(round_name=ROUND, charts=charts)
