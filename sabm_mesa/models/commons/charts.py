"""The charts of a commons: stock, harvests, gains and survival."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Level, Series, agent_lines, lines
from sabm_mesa.analysis.pictures import Scene, SceneMark
from sabm_mesa.models.commons.study import kaplan_meier, survival
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sabm_mesa.models.commons.model import CommonsGovernance

SIDE, BAR = 10, 20
"""Cells along a side of the stock, each a hundredth of it; cells of the longest bar."""
TAKEN, LEFT, GONE = style.ORANGE, style.SKY_BLUE, "#D5DAE0"


def charts(
    model: CommonsGovernance, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """The stock with the limit of collapse, the harvests, and the gain of each person."""
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
        _gains(model, agent_data, taken),
    ]  # fmt: skip


def _gains(model: CommonsGovernance, agent_data: pd.DataFrame, unit: str) -> Chart:
    """The harvest of each person over the measured months."""
    first = model.first_measured
    counted = agent_data[agent_data["round"] >= first].dropna(subset=["harvest"])
    gains = counted.astype({"harvest": float}).groupby(["agent", "name"])["harvest"].sum()
    names = [str(name) for _, name in gains.index]
    title = "What each person gained" + (f" from month {first + 1} on" if first else "")
    bars = [Series("gain", list(enumerate(gains.tolist())), "bars", style.SKY_BLUE)]
    last = len(names) - 1 if names else 0
    return Chart("gains", title, bars, unit, last=last, x="Person", names=names)


def figures(
    model: CommonsGovernance, model_data: pd.DataFrame, _agent_data: pd.DataFrame, subtitle: str
) -> dict[str, Figure]:
    """The share of commons that survive by month, after Kaplan and Meier."""
    months = model.n_rounds
    lasted = survival(model_data, model.collapse_below)
    curve = kaplan_meier(lasted["months"].tolist(), lasted["collapsed"].tolist())
    figure = style.new_figure("Survival of the commons", subtitle, height=3.2)
    ax = figure.add_subplot()
    # The last estimate extends to the end; undefined intervals are not drawn.
    drawn = pd.concat([curve, curve[-1:].assign(month=float(months))])
    ax.step(
        drawn["month"], 100 * drawn["survival"], where="post", color=style.BLUE, linewidth=2.0,
        label="Kaplan–Meier estimate", clip_on=False, zorder=3,
    )  # fmt: skip
    if curve["low"].notna().any():
        low, high = (100 * np.repeat(drawn[end].to_numpy()[:-1], 2) for end in ("low", "high"))
        ax.fill_between(
            np.repeat(drawn["month"].to_numpy(), 2)[1:-1], low, high, color=style.SKY_BLUE,
            alpha=0.35, linewidth=0, label="95 % interval",
        )  # fmt: skip
    censored = lasted.loc[~lasted["collapsed"], "months"].unique()
    if len(censored):
        height = curve.set_index("month")["survival"].reindex(censored.astype(float))
        ax.plot(
            censored, 100 * height, linestyle="", marker="|", markersize=11, markeredgewidth=2,
            color=style.BLACK, label="not collapsed until then", clip_on=False, zorder=4,
        )  # fmt: skip
    style.plain_axes(ax, "Month", "Commons that survive (%)")
    ax.set_xlim(0, months)
    style.integer_ticks(ax.xaxis, list(range(months + 1)), most=13)
    ax.set_ylim(0, 103)
    style.legend_below(figure, ax)
    return {"survival": figure}


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
    bars = 14.0 + max(len(harvester.name) for harvester in model.harvesters)
    for k, harvester in enumerate(model.harvesters):
        id_, y = harvester.unique_id, SIDE - 0.5 - row * (k + 0.5)
        harvest = harvests.get(id_, 0)
        size = min(1.0, 0.7 * row)
        marks.append(SceneMark(id_, 12.0, y, style.BLUE, size=size, name=harvester.name))
        cells = min(math.ceil(harvest / cell), BAR)
        ground += [(bars + i, y, TAKEN) for i in range(cells)]
        labels += [(13.0, y, harvester.name, "start"), (bars + cells, y, f"{harvest:g}", "start")]
    unit = model.words("stock_units")
    return Scene(
        "stock", f"Stock and harvests ({unit})", (-1, -1, bars + BAR + 3, SIDE + 1),
        tuple(marks), tuple(ground), labels=tuple(labels),
        legend=(
            (f"left {left}", LEFT, "s"), (f"taken {stock - left}", TAKEN, "s"),
            (f"of {model.capacity}, gone before", GONE, "s"),
        ),
        words=f"{stock} {unit}, {stock - left} taken, {left} left",
    )  # fmt: skip


PAGE = ScenarioPage(
    round_name=("month", 1),
    questions={
        "One of five takes all it can: what happens?": {
            "minds": "classical=4,classical:open_access=1"
        },
        "All keep to the sustainable amount: does it last?": {"minds": "classical:sustainable"},
        "Nobody talks: what happens?": {"communication": False},
    },
    charts=charts,
    figures=figures,
    scene=scene,
    public_scene=False,
)
