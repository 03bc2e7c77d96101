"""Plots of the picks in the repeated beauty contest: all rounds, and the first one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sabm_mesa.analysis.guessing_measures import is_fixed
from sabm_mesa.analysis.human_guesses import first_period_shares, session_means
from sabm_mesa.analysis.plots import legends, style
from sabm_mesa.analysis.plots.guessing_types import (
    largest_pick,
    legend_below,
    level_names,
    look_of,
    mark_picks,
    name_of,
    rounds_axis,
    types_of,
)
from sabm_mesa.analysis.theory.guessing_game import level_k_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 50
"""Bars of the histogram."""
GOLDEN = (5**0.5 - 1) / 2
MANY = 3000
"""With more picks than this their marks are small."""


def picks(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = "", *, unit: str = "Pick"
) -> Figure:
    """All picks by round, coloured by type, with the mean, the target and what people did.

    Args:
        model_data: see `figures`; means and targets are means over runs.
        agent_data: see `figures`.
        subtitle: which minds and condition were run.
        unit: the label of the axis of picks.
    """
    figure = style.new_figure("Picks by round", subtitle, height=3.9)
    ax = figure.add_subplot()
    minds = types_of(agent_data)
    few = len(agent_data) <= MANY
    spread = 0.62 / len(minds)
    for place, mind in enumerate(minds):
        data = agent_data[agent_data["mind"] == mind]
        # Places that fill the width evenly instead of random ones: same data, same picture.
        order = data.groupby("round")["choice"].rank(method="first")
        beside = (order * GOLDEN) % 1 - 0.5
        colour, marker = look_of(place)
        ax.scatter(
            data["round"] + (place - (len(minds) - 1) / 2) * spread + 0.8 * spread * beside,
            data["choice"], s=14 if few else 4, color=colour, marker=marker, alpha=0.6,
            linewidths=0, label=name_of(mind),
        )  # fmt: skip
    by_round = model_data.groupby("round")[["mean", "target"]].mean()
    lines = {"mean": (style.BLACK, "-", "mean"), "target": (style.VERMILLION, "--", "target")}
    for column, (colour, dashes, label) in lines.items():
        ax.plot(
            by_round.index, by_round[column], color=colour, linestyle=dashes, linewidth=1.8,
            marker="o", markersize=4.5 if len(by_round) <= style.FEW else 0, label=label,
        )  # fmt: skip
    _people(ax, model_data, agent_data)
    rounds_axis(ax, model_data, unit)
    top = max(largest_pick(model_data), float(by_round["target"].fillna(0).max()))
    ax.set_ylim(-0.02 * top, 1.03 * top)
    if agent_data["choice"].isna().all():
        legends.empty(ax)
    legend_below(figure, ax)
    return figure


def first_picks(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = "", *, unit: str = "Pick"
) -> Figure:
    """How often each number was picked in the first round, all runs together, by type.

    Marks show the picks of levels 0 to 3 that start from the mid-point of the range (Nagel 1995);
    the outline, for p = 2/3, is the distribution of Nagel's subjects.

    Args:
        model_data: see `figures`.
        agent_data: see `figures`; types with a fixed strategy are left out.
        subtitle: which minds and condition were run.
        unit: the label of the axis of picks.
    """
    figure = style.new_figure("Picks of the first round", subtitle, height=3.4)
    ax = figure.add_subplot()
    high, p = largest_pick(model_data), float(model_data["p"].iloc[0])
    at_first = agent_data["round"] == agent_data["round"].min()
    data = agent_data[at_first & ~agent_data["mind"].map(is_fixed)].dropna(subset="choice")
    known, minds = types_of(agent_data), types_of(data)
    if minds:
        ax.hist(
            [data.loc[data["mind"] == mind, "choice"].to_numpy() for mind in minds],
            bins=np.linspace(0, high, BINS + 1).tolist(), stacked=True,
            weights=[np.full((data["mind"] == mind).sum(), 100 / len(data)) for mind in minds],
            color=[look_of(known.index(mind))[0] for mind in minds],
            edgecolor="white", linewidth=0.4, label=[name_of(mind) for mind in minds],
        )  # fmt: skip
    if math.isclose(p, 2 / 3):
        intervals, shares = first_period_shares()
        edges = np.append(intervals[:, 0], 100.0)
        density = 100 * shares / np.diff(edges) * (100 / BINS)
        ax.stairs(
            density, edges * high / 100, color="#404040", linewidth=1.3, label="people (Nagel 1995)"
        )
    mark_picks(ax, level_names(level_k_marks(3, high / 2, p)))
    style.plain_axes(ax, unit, "Picks (%)")
    ax.set_xlim(-0.01 * high, 1.01 * high)
    if data.empty:
        legends.empty(ax, "No pick of the first round could be used.")
    legend_below(figure, ax)
    return figure


def _people(ax: Axes, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> None:
    """The mean pick of Nagel's sessions, where the same p was played without fixed players."""
    means = session_means(float(model_data["p"].iloc[0]))
    rounds = sorted(model_data["round"].unique())
    if means is None or agent_data["mind"].map(is_fixed).any():
        return
    path = means.mean(axis=0)[: len(rounds)] * largest_pick(model_data) / 100
    ax.plot(
        rounds[: len(path)], path, color="#595959", linestyle=":", linewidth=1.6, marker="x",
        markersize=6, label="people (Nagel 1995)",
    )  # fmt: skip
