"""Plots of the joint sentence making."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import require_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ROUND = ("word set", 1)
"""The word for a round, and the number of the first one."""


def figures(
    model_data: pd.DataFrame, _agent_data: pd.DataFrame, subtitle: str = ""
) -> dict[str, Figure]:
    """The plot of the scenario, ``scores``; see `scores` for its data."""
    return {"scores": scores(model_data, subtitle)}


def scores(model_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Validity and diversity of the sentences by word set: the runs and their mean."""
    columns = ["valid_ratio", "variance"]
    require_rows(model_data, ["run", "round", *columns])
    figure = style.new_figure(
        "Validity and diversity of the sentences", style.with_runs(subtitle, model_data), height=3.1
    )
    left, right = figure.subplots(1, 2)
    _points(left, model_data, "valid_ratio")
    _points(right, model_data, "variance")
    style.plain_axes(left, "Word set", "Share of valid sentences")
    style.plain_axes(right, "Word set", "Variance of sparse text vectors")
    left.set_ylim(0, 1.03)
    right.set_ylim(0, style.headroom(model_data["variance"].astype(float).tolist(), 0.25))
    if model_data["variance"].isna().all():
        style.explain_empty(right, "No sentence is valid.")
    for ax in (left, right):
        _word_sets(ax, model_data)
    return figure


def _points(ax: Axes, data: pd.DataFrame, column: str) -> None:
    """A point for each run, and a bar at their mean if there are several."""
    values = data[column].astype(float)
    several = len(data["run"].unique()) > 1
    ax.plot(
        data["round"] + 1, values, linestyle="", marker="o", color=style.BLUE,
        markersize=4 if several else 7, alpha=0.5 if several else 1.0, clip_on=False, zorder=3,
    )  # fmt: skip
    if several:
        means = values.groupby(data["round"]).mean()
        ax.hlines(
            means, means.index + 0.89, means.index + 1.11, color=style.BLUE, linewidth=2.2,
            zorder=4,
        )  # fmt: skip


def _word_sets(ax: Axes, data: pd.DataFrame) -> None:
    sets = sorted((data["round"].unique() + 1).tolist())
    style.integer_ticks(ax.xaxis, sets)
    ax.set_xlim(sets[0] - 0.6, sets[-1] + 0.6)
