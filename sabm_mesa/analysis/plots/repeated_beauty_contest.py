"""Plots of the repeated beauty contest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from sabm_mesa.analysis.guessing_measures import by_type, is_fixed
from sabm_mesa.analysis.plots import legends, style
from sabm_mesa.analysis.plots.guessing_picks import first_picks, picks
from sabm_mesa.analysis.plots.guessing_types import (
    legend_below,
    look_of,
    name_of,
    rounds_axis,
    types_of,
)
from sabm_mesa.analysis.statistics import require_rows
from sabm_mesa.analysis.theory.guessing_game import HIGHER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLASSES = {
    -1: "other side of the reference", **{k: f"step {k}" for k in range(HIGHER)}, HIGHER: "higher",
}  # fmt: skip
MOST_PANELS = 6
_MODEL = ["run", "round", "mean", "target", "high", "p"]
_AGENTS = ["run", "round", "agent", "mind", "choice", "payoff", "level", "depth"]


def figures(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = ""
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: one row a run and round, with columns ``run``, ``round``, ``mean``, ``target``,
            ``high`` (largest legal pick) and ``p``.
        agent_data: one row a run, round and agent, with columns ``run``, ``round``, ``agent``,
            ``mind``, ``choice`` (NaN: the agent abstained), ``payoff`` (points), ``level`` and
            ``depth``.
        subtitle: which minds and condition were run.

    Returns:
        ``picks``; ``first_picks`` (with p < 1); ``levels`` (where anybody's pick has one);
        ``convergence`` (with two rounds or more); ``payoffs`` (with two types or more).

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_rows(model_data, _MODEL)
    require_rows(agent_data, _AGENTS)
    model, agents, unit = _on_one_scale(model_data, agent_data)
    subtitle = style.with_runs(subtitle, model)
    found = {"picks": picks(model, agents, subtitle, unit=unit)}
    if (model["p"] < 1).all():
        found["first_picks"] = first_picks(model, agents, subtitle, unit=unit)
    if agents.loc[~agents["mind"].map(is_fixed), "level"].notna().any():
        found["levels"] = levels(agents, subtitle)
    if model["round"].unique().size > 1:
        found["convergence"] = convergence(model, agents, subtitle)
    if agents["mind"].unique().size > 1:
        found["payoffs"] = payoffs(agents, subtitle)
    return found


def levels(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Shares of Nagel's classes by round, a panel a type; above each bar the median depth.

    Args:
        agent_data: see `figures`; types with a fixed strategy, and picks without a class, are
            left out.
        subtitle: which minds and condition were run.
    """
    data = agent_data[~agent_data["mind"].map(is_fixed) & agent_data["level"].notna()]
    minds = types_of(data)[:MOST_PANELS]
    rows, few = -(-len(minds) // 2), data["round"].nunique() <= style.FEW
    if few:
        subtitle = f"{subtitle} · above the bars: median depth"
    figure = style.new_figure("Depth of reasoning by round", subtitle, height=0.9 + 2.5 * rows)
    columns = min(2, len(minds))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    rounds = sorted(data["round"].unique().tolist())
    shades = colormaps["cividis_r"](np.linspace(0.08, 1, HIGHER + 1))
    for ax, mind in zip(panels, minds, strict=False):
        own = data[data["mind"] == mind]
        shares = pd.crosstab(own["round"], own["level"].astype(int), normalize="index") * 100
        bottom = np.zeros(len(shares))
        for level, label in CLASSES.items():
            height = shares[level].to_numpy() if level in shares else np.zeros(len(shares))
            ax.bar(
                shares.index, height, 0.8, bottom, label=label, edgecolor="white", linewidth=0.5,
                color="#D9D9D9" if level < 0 else shades[level],
                hatch="////" if level < 0 else None,
            )  # fmt: skip
            bottom += height
        if few:
            for number, depth in own.groupby("round")["depth"].median().dropna().items():
                ax.annotate(
                    f"{depth:.1f}", (float(str(number)), 101), ha="center", va="bottom",
                    fontsize=style.NOTE, color="#404040",
                )  # fmt: skip
        style.plain_axes(ax)
        ax.set_ylim(0, 112)
        ax.set_yticks(range(0, 101, 25))
        style.integer_ticks(ax.xaxis, rounds)
        style.bar_room(ax, rounds)
        if len(minds) > 1:
            ax.set_title(name_of(mind), loc="left", fontsize=style.LABEL)
    for ax in panels[len(minds) :]:
        ax.set_axis_off()
    for ax in panels[max(len(minds) - columns, 0) : len(minds)]:
        ax.set_xlabel("Round", fontsize=style.LABEL)
        ax.tick_params(labelbottom=True)
    figure.supylabel("Picks (%)", fontsize=style.LABEL)
    legend_below(figure, *panels[: len(minds)])
    return figure


def convergence(model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """The mean pick of each type divided by that of the round before, and what is expected of it.

    Expected is p where all reply naively to the last mean, and, where all others always pick 0,
    p times the share of players who do not (Lu 2024, section 4).

    Args:
        model_data: see `figures`.
        agent_data: see `figures`; types with a fixed strategy have no line.
        subtitle: which minds and condition were run.
    """
    figure = style.new_figure("Convergence: mean pick over the last one", subtitle, height=3.4)
    ax = figure.add_subplot()
    _type_lines(ax, by_type(agent_data), "ratio", moving_only=True)
    p = float(model_data["p"].iloc[-1])
    ax.axhline(p, color=style.GREY, linestyle="--", linewidth=1.2, label=f"p = {p:.3g}")
    if (share := _moving_share(agent_data)) < 1:
        ax.axhline(
            p * share, color=style.VERMILLION, linestyle=":", linewidth=1.6,
            label=f"expected against fixed players: {p * share:.3f}",
        )  # fmt: skip
    rounds_axis(ax, model_data[model_data["round"] > model_data["round"].min()], "Ratio")
    ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    if agent_data["choice"].isna().all():
        legends.empty(ax)
    legend_below(figure, ax)
    return figure


def payoffs(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """What a player of each type received on average by round.

    Args:
        agent_data: see `figures`.
        subtitle: which minds and condition were run.
    """
    figure = style.new_figure("Payoffs by type", subtitle, height=3.2)
    ax = figure.add_subplot()
    _type_lines(ax, by_type(agent_data), "payoff")
    ax.plot(
        *zip(*agent_data.groupby("round")["payoff"].mean().items(), strict=True),
        color=style.GREY, linestyle="--", linewidth=1.2, label="all players",
    )  # fmt: skip
    rounds_axis(ax, agent_data, "Points per player and round")
    ax.set_ylim(bottom=0)
    legend_below(figure, ax)
    return figure


def _on_one_scale(
    model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """The data with all ranges as 0 to 100 where they differ, and the label of picks."""
    agents = agent_data.astype({"choice": float, "depth": float})
    if model_data["high"].unique().size == 1:
        return model_data, agents, "Pick"
    factor = 100 / model_data["high"]
    scaled = model_data.assign(
        mean=model_data["mean"] * factor, target=model_data["target"] * factor, high=100.0
    )
    of_run = factor.groupby(model_data["run"]).first()
    choice = agents["choice"] * agents["run"].map(of_run)
    return scaled, agents.assign(choice=choice), "Pick (% of the range)"


def _moving_share(agent_data: pd.DataFrame) -> float:
    """The share of players without a fixed strategy; 1 where fixed players do not pick 0."""
    fixed = agent_data["mind"].map(is_fixed)
    zeros = (agent_data.loc[fixed, "choice"] == 0).all()
    return float(1 - fixed.mean()) if zeros else 1.0


def _type_lines(ax: Axes, table: pd.DataFrame, column: str, *, moving_only: bool = False) -> None:
    """A line for each type: the mean over runs by round."""
    for place, mind in enumerate(types_of(table)):
        if moving_only and is_fixed(mind):
            continue
        values = table[table["mind"] == mind].groupby("round")[column].mean().dropna()
        colour, marker = look_of(place)
        ax.plot(
            values.index, values, color=colour, linewidth=1.9, marker=marker,
            markersize=5 if len(values) <= style.FEW else 0,
            label=name_of(mind),
        )  # fmt: skip
