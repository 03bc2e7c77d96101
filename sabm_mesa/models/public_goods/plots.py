"""Plots of the public goods game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import mean_by_round, require_rows
from sabm_mesa.analysis.plot_style import interval_band, thin_lines
from sabm_mesa.core.phrases import ordinal
from sabm_mesa.models.public_goods.measures import infections

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Floats = npt.NDArray[np.float64]
MOST_ORDERS = 4
"""Orders of infection that have a panel each, at most."""
MOST_PLAYERS = 24
"""Players up to which each has a line, where there is one run."""
CLASSES = {
    "nothing": style.VERMILLION,
    "up to half": style.ORANGE,
    "more than half": style.SKY_BLUE,
    "everything": style.BLUE,
    "no valid amount": style.GREY,
}
"""Class of a contribution → its colour."""


def figures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    endowment: float = 100.0,
    *,
    chain: bool = False,
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: see `contributions_by_round`.
        agent_data: see `shares_by_round` and `infection`.
        subtitle: the minds and the condition.
        endowment: dollars of each player at the start of a game.
        chain: whether the players are a chain.

    Returns:
        ``contributions``; ``shares``, or in a chain ``infection`` once somebody was infected.
    """
    drawn = {"contributions": contributions_by_round(model_data, agent_data, subtitle, endowment)}
    if not chain:
        return {**drawn, "shares": shares_by_round(agent_data, subtitle, endowment)}
    if infections(agent_data).empty:
        return drawn
    return {"infection": infection(agent_data, subtitle, endowment), **drawn}


def contributions_by_round(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str, endowment: float
) -> Figure:
    """Mean contribution by round, with its interval over runs, and single runs or players."""
    require_rows(model_data, ["run", "round", "contribution", "normal_contribution"])
    require_rows(agent_data, ["run", "round", "agent", "contribution"])
    n_runs = model_data["run"].nunique()
    figure = style.new_figure(
        "Mean contribution by round", style.with_runs(subtitle, model_data), height=3.6
    )
    ax = figure.add_subplot()
    summary = mean_by_round(model_data, "contribution")
    rounds = summary["round"].to_numpy()
    if n_runs > 1:
        thin_lines(ax, model_data, "contribution", "run", "single runs")
        interval_band(ax, summary)
    elif agent_data["agent"].nunique() <= MOST_PLAYERS:
        thin_lines(ax, agent_data, "contribution", "agent", "single players")
    few = len(rounds) <= style.FEW
    look: dict[str, Any] = {
        "linewidth": 2.0,
        "marker": "o",
        "markersize": 5 if few else 2.5,
        "clip_on": False,
    }
    label = "mean of the runs" if n_runs > 1 else "mean of the players"
    ax.plot(rounds, summary["mean"], color=style.BLUE, zorder=4, label=label, **look)
    normal = model_data.groupby("round")["normal_contribution"].mean()
    if not np.allclose(normal, summary["mean"], equal_nan=True):
        ax.plot(
            rounds, normal, color=style.GREEN, linestyle="--", zorder=5,
            label="without malicious players", **look,
        )  # fmt: skip
    style.plain_axes(ax, "Round", "Contribution (dollars)")
    style.round_ticks(ax.xaxis, rounds.tolist())
    ax.set_xlim(rounds.min() - 0.25, rounds.max() + 0.25)
    ax.set_ylim(0, endowment)
    if summary["mean"].isna().all():
        style.explain_empty(ax)
    style.add_legend(ax, loc="best")
    return figure


def shares_by_round(agent_data: pd.DataFrame, subtitle: str, endowment: float) -> Figure:
    """Shares of players that give nothing, some or all of their endowment, by round."""
    require_rows(agent_data, ["run", "round", "contribution", "payoff"])
    playing = agent_data[agent_data["payoff"].notna()]
    classes = playing["contribution"].astype(float).map(lambda c: class_of(c, endowment))
    counts = pd.crosstab(playing["round"], classes).reindex(columns=list(CLASSES), fill_value=0)
    shares = counts.div(counts.sum(axis=1), axis=0)
    figure = style.new_figure(
        "What players give of their endowment",
        style.with_runs(subtitle, agent_data),
        height=3.4,
    )
    ax = figure.add_subplot()
    base = np.zeros(len(shares))
    for name, color in CLASSES.items():
        share = shares[name].to_numpy()
        ax.bar(
            shares.index, share, bottom=base, width=0.86, color=color, label=name,
            edgecolor="white", linewidth=0.6 if len(shares) <= style.FEW * 3 else 0,
        )  # fmt: skip
        base = base + share
    style.plain_axes(ax, "Round", "Share of the players")
    style.round_ticks(ax.xaxis, shares.index.tolist())
    ax.set_ylim(0, 1)
    style.bar_room(ax, shares.index.tolist())
    style.add_legend(
        ax, reverse=True, title="gives", title_fontsize=style.NOTE, loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )  # fmt: skip
    return figure


def infection(agent_data: pd.DataFrame, subtitle: str, endowment: float) -> Figure:
    """Contributions in a chain before and after infection, by order."""
    cases = infections(agent_data)
    if cases.empty:
        raise ValueError("nobody of the chain played twice: nothing to plot")
    orders = sorted(cases["order"].unique().tolist())[:MOST_ORDERS]
    figure = style.new_figure(
        "Contribution before and after infection",
        style.with_runs(subtitle, agent_data),
        height=3.3,
    )
    panels = figure.subplots(1, len(orders), sharey=True, squeeze=False)[0]
    for ax, order in zip(panels, orders, strict=True):
        pairs = cases.loc[cases["order"] == order, ["before", "after"]].dropna().to_numpy()
        _slopes(ax, pairs)
        style.plain_axes(ax)
        ax.set_xticks([0, 1], ["before", "after"])
        ax.set_xlim(-0.35, 1.35)
        ax.set_ylim(0, endowment)
        drop = f"mean drop {_mean_drop(pairs)}" if len(pairs) else "no valid pair"
        ax.set_title(f"{ordinal(order)} order\n{drop}", loc="left", fontsize=style.LABEL)
    panels[0].set_ylabel("Contribution (dollars)", fontsize=style.LABEL)
    if len(cases["run"].unique()) > 1:
        panels[-1].legend(fontsize=style.NOTE, frameon=False, loc="best")
    return figure


def class_of(contribution: float, endowment: float) -> str:
    """The class of a contribution, a key of `CLASSES`; NaN is no amount."""
    if np.isnan(contribution):
        return "no valid amount"
    if contribution in (0, endowment):
        return "nothing" if contribution == 0 else "everything"
    return "up to half" if contribution <= endowment / 2 else "more than half"


def _mean_drop(pairs: Floats) -> str:
    before, after = pairs.mean(axis=0)
    return f"{before - after:.1f}".replace("-", "−")


def _slopes(ax: Axes, pairs: Floats) -> None:
    """A thin line for each run and a thick one for their mean."""
    for i, pair in enumerate(pairs if len(pairs) > 1 else []):
        label = "single runs" if i == 0 else "_nolegend_"
        ax.plot([0, 1], pair, color=style.GREY, linewidth=0.7, alpha=0.6, label=label, zorder=2)
    if len(pairs):
        ax.plot(
            [0, 1], pairs.mean(axis=0), color=style.BLUE, linewidth=2.2, marker="o", markersize=6,
            label="mean", zorder=4, clip_on=False,
        )  # fmt: skip
