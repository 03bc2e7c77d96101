"""The page of the commons: the word for a round, the charts, and the picture of the stock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Level, agent_lines, lines
from sabm_mesa.analysis.pictures import Scene, SceneMark
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


SIDE, BAR = 10, 10
"""Cells along a side of the stock, each a hundredth of it; length of a bar of a fifth of it."""
TAKEN, LEFT, GONE = style.ORANGE, style.SKY_BLUE, "#D5DAE0"


def scene(
    model: CommonsGovernance, people: pd.DataFrame | None, numbers: Mapping[str, Any]
) -> Scene:
    """The stock as a square of a hundred cells, and what each harvester has taken from it."""
    stock = int(numbers.get("stock", model.capacity))
    left = int(numbers.get("left", model.capacity))
    cell = model.capacity / SIDE**2
    ground, marks, labels = [], [], []
    for k in range(SIDE**2):
        colour = LEFT if cell * k < left else TAKEN if cell * k < stock else GONE
        ground.append((float(k % SIDE), float(k // SIDE), colour))
    harvests = {} if people is None else dict(zip(people["agent"], people["harvest"], strict=True))
    row = SIDE / len(model.harvesters)
    for k, harvester in enumerate(model.harvesters):
        id_, y = harvester.unique_id, SIDE - 0.5 - row * (k + 0.5)
        harvest = harvests.get(id_, 0)
        size = min(1.0, 0.7 * row)
        marks.append(SceneMark(id_, 12.0, y, style.BLUE, size=size, name=harvester.name))
        cells = min(math.ceil(harvest / (2 * cell)), BAR)
        ground += [(17.0 + i, y, TAKEN) for i in range(cells)]
        labels += [(13.0, y, harvester.name, "start"), (17.0 + cells, y, f"{harvest:g}", "start")]
    unit = model.words("stock_units")
    return Scene(
        "stock", f"Stock and harvests ({unit})", (-1, -1, SIDE + BAR + 9, SIDE + 1),
        tuple(marks), tuple(ground), labels=tuple(labels),
        legend=(
            (f"left {left}", LEFT, "s"), (f"taken {stock - left}", TAKEN, "s"),
            (f"of {model.capacity}, gone before", GONE, "s"),
        ),
        words=f"{stock} {unit}, {stock - left} taken, {left} left",
    )  # fmt: skip


PAGE = ScenarioPage(
    round_name=ROUND,
    questions={
        "One of five takes all it can: what happens?": {
            "minds": "classical=4,classical:open_access=1"
        },
        "All keep to the sustainable amount: does it last?": {"minds": "classical:sustainable"},
        "Nobody talks: what happens?": {"communication": False},
    },
    charts=charts,
    scene=scene,
    public_scene=False,
)
