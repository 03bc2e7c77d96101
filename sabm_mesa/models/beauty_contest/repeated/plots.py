"""Plots of the repeated beauty contest: picks, depth, convergence and payoffs by type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import require_rows
from sabm_mesa.models.beauty_contest.guessing import HIGHER, level_k_marks, level_names
from sabm_mesa.models.beauty_contest.repeated.measures import by_type, is_fixed
from sabm_mesa.models.beauty_contest.repeated.theory import first_period_shares, session_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_PANELS = 6
_MODEL = ["run", "round", "mean", "target", "high", "p"]
_AGENTS = ["run", "round", "agent", "mind", "choice", "payoff", "level", "depth"]
BINS = 50
"""Number of bars of the histogram."""
GOLDEN = (5**0.5 - 1) / 2
MANY = 3000
"""Number of picks above which the marks are small."""
CLASSES = {
    -1: "other side of the reference", **{k: f"step {k}" for k in range(HIGHER)}, HIGHER: "higher",
}  # fmt: skip
COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY_BLUE, style.YELLOW)
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Colours and markers of types in the order of their players, used cyclically."""
LONGEST_NAME = 34


def figures(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = ""
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: one row per run and round, with columns ``run``, ``round``, ``mean``,
            ``target``, ``high`` (largest legal pick) and ``p``.
        agent_data: one row per run, round and agent, with columns ``run``, ``round``, ``agent``,
            ``mind``, ``choice`` (NaN: the agent abstained), ``payoff`` (points), ``level`` and
            ``depth``.
        subtitle: the minds and the condition.

    Returns:
        ``picks``; ``first_picks`` (with p < 1); ``levels`` (if any pick has one); ``convergence``
        (with two rounds or more); ``payoffs`` (with two types or more).

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_rows(model_data, _MODEL)
    require_rows(agent_data, _AGENTS)
    model, agents, unit = _on_one_scale(model_data, agent_data)
    subtitle = style.with_runs(subtitle, model)
    drawn = {"picks": picks(model, agents, subtitle, unit=unit)}
    if (model["p"] < 1).all():
        drawn["first_picks"] = first_picks(model, agents, subtitle, unit=unit)
    if agents.loc[~agents["mind"].map(is_fixed), "level"].notna().any():
        drawn["levels"] = levels(agents, subtitle)
    if model["round"].unique().size > 1:
        drawn["convergence"] = convergence(model, agents, subtitle)
    if agents["mind"].unique().size > 1:
        drawn["payoffs"] = payoffs(agents, subtitle)
    return drawn


# The picks.


def picks(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = "", *, unit: str = "Pick"
) -> Figure:
    """All picks by round, coloured by type, with the mean, the target and the mean of people."""
    figure = style.new_figure("Picks by round", subtitle, height=3.9)
    ax = figure.add_subplot()
    minds = _types_of(agent_data)
    few = len(agent_data) <= MANY
    spread = 0.62 / len(minds)
    for i, mind in enumerate(minds):
        data = agent_data[agent_data["mind"] == mind]
        # Evenly spread offsets instead of random ones: the same data give the same picture.
        order = data.groupby("round")["choice"].rank(method="first")
        beside = (order * GOLDEN) % 1 - 0.5
        colour, marker = _look_of(i)
        ax.scatter(
            data["round"] + (i - (len(minds) - 1) / 2) * spread + 0.8 * spread * beside,
            data["choice"], s=14 if few else 4, color=colour, marker=marker, alpha=0.6,
            linewidths=0, label=_name_of(mind),
        )  # fmt: skip
    by_round = model_data.groupby("round")[["mean", "target"]].mean()
    lines = {"mean": (style.BLACK, "-", "mean"), "target": (style.VERMILLION, "--", "target")}
    for column, (colour, dashes, label) in lines.items():
        ax.plot(
            by_round.index, by_round[column], color=colour, linestyle=dashes, linewidth=1.8,
            marker="o", markersize=4.5 if len(by_round) <= style.FEW else 0, label=label,
        )  # fmt: skip
    _people(ax, model_data, agent_data)
    _rounds_axis(ax, model_data, unit)
    top = max(_largest_pick(model_data), float(by_round["target"].fillna(0).max()))
    ax.set_ylim(-0.02 * top, 1.03 * top)
    if agent_data["choice"].isna().all():
        style.explain_empty(ax)
    style.legend_below(figure, ax)
    return figure


def first_picks(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = "", *, unit: str = "Pick"
) -> Figure:
    """The picks of the first round, all runs together, by type.

    Marks show the picks of levels 0 to 3 that start from the mid-point of the range (Nagel 1995);
    the outline, for p = 2/3, is the distribution of Nagel's subjects.
    """
    figure = style.new_figure("Picks of the first round", subtitle, height=3.4)
    ax = figure.add_subplot()
    high, p = _largest_pick(model_data), float(model_data["p"].iloc[0])
    at_first = agent_data["round"] == agent_data["round"].min()
    data = agent_data[at_first & ~agent_data["mind"].map(is_fixed)].dropna(subset="choice")
    known, minds = _types_of(agent_data), _types_of(data)
    if minds:
        ax.hist(
            [data.loc[data["mind"] == mind, "choice"].to_numpy() for mind in minds],
            bins=np.linspace(0, high, BINS + 1).tolist(), stacked=True,
            weights=[np.full((data["mind"] == mind).sum(), 100 / len(data)) for mind in minds],
            color=[_look_of(known.index(mind))[0] for mind in minds],
            edgecolor="white", linewidth=0.4, label=[_name_of(mind) for mind in minds],
        )  # fmt: skip
    if math.isclose(p, 2 / 3):
        intervals, shares = first_period_shares()
        edges = np.append(intervals[:, 0], 100.0)
        density = 100 * shares / np.diff(edges) * (100 / BINS)
        ax.stairs(
            density, edges * high / 100, color="#404040", linewidth=1.3, label="people (Nagel 1995)"
        )
    style.mark_values(ax, level_names(level_k_marks(3, high / 2, p)))
    style.plain_axes(ax, unit, "Picks (%)")
    ax.set_xlim(-0.01 * high, 1.01 * high)
    if data.empty:
        style.explain_empty(ax, "No pick of the first round could be used.")
    style.legend_below(figure, ax)
    return figure


def _people(ax: Axes, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> None:
    """The mean pick of Nagel's sessions, if they have the same p; only without fixed players."""
    means = session_means(float(model_data["p"].iloc[0]))
    rounds = sorted(model_data["round"].unique())
    if means is None or agent_data["mind"].map(is_fixed).any():
        return
    path = means.mean(axis=0)[: len(rounds)] * _largest_pick(model_data) / 100
    ax.plot(
        rounds[: len(path)], path, color="#595959", linestyle=":", linewidth=1.6, marker="x",
        markersize=6, label="people (Nagel 1995)",
    )  # fmt: skip


# Depth, convergence and payoffs.


def levels(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Shares of Nagel's classes by round and type, with the median depth above each bar."""
    data = agent_data[~agent_data["mind"].map(is_fixed) & agent_data["level"].notna()]
    minds = _types_of(data)[:MOST_PANELS]
    rows, few = -(-len(minds) // 2), data["round"].nunique() <= style.FEW
    if few:
        subtitle = f"{subtitle} · above the bars: median depth"
    figure = style.new_figure("Depth of reasoning by round", subtitle, height=0.9 + 2.5 * rows)
    columns = min(2, len(minds))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    rounds = sorted(data["round"].unique().tolist())
    shades = colormaps["cividis_r"](np.linspace(0.08, 1, HIGHER + 1))
    for ax, mind in zip(panels, minds, strict=False):
        of_mind = data[data["mind"] == mind]
        shares = (
            pd.crosstab(of_mind["round"], of_mind["level"].astype(int), normalize="index") * 100
        )
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
            for number, depth in of_mind.groupby("round")["depth"].median().dropna().items():
                ax.annotate(
                    f"{depth:.1f}", (float(str(number)), 101), ha="center", va="bottom",
                    fontsize=style.NOTE, color="#404040",
                )  # fmt: skip
        style.plain_axes(ax)
        ax.set_ylim(0, 112)
        ax.set_yticks(range(0, 101, 25))
        style.round_ticks(ax.xaxis, rounds)
        style.bar_room(ax, rounds)
        if len(minds) > 1:
            ax.set_title(_name_of(mind), loc="left", fontsize=style.LABEL)
    for ax in panels[len(minds) :]:
        ax.set_axis_off()
    for ax in panels[max(len(minds) - columns, 0) : len(minds)]:
        ax.set_xlabel("Round", fontsize=style.LABEL)
        ax.tick_params(labelbottom=True)
    figure.supylabel("Picks (%)", fontsize=style.LABEL)
    style.legend_below(figure, *panels[: len(minds)])
    return figure


def convergence(model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """The mean pick of each type divided by its previous mean pick, and the expected ratio.

    The expected ratio is p if all players respond naively to the last mean; if fixed players always
    pick 0, it is p times the share of the other players (Lu 2024, section 4).
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
    _rounds_axis(ax, model_data[model_data["round"] > model_data["round"].min()], "Ratio")
    ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    if agent_data["choice"].isna().all():
        style.explain_empty(ax)
    style.legend_below(figure, ax)
    return figure


def payoffs(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """The mean payoff of a player of each type, by round."""
    figure = style.new_figure("Payoffs by type", subtitle, height=3.2)
    ax = figure.add_subplot()
    _type_lines(ax, by_type(agent_data), "payoff")
    ax.plot(
        *zip(*agent_data.groupby("round")["payoff"].mean().items(), strict=True),
        color=style.GREY, linestyle="--", linewidth=1.2, label="all players",
    )  # fmt: skip
    _rounds_axis(ax, agent_data, "Points per player and round")
    ax.set_ylim(bottom=0)
    style.legend_below(figure, ax)
    return figure


def _moving_share(agent_data: pd.DataFrame) -> float:
    """The share of players without a fixed strategy; 1 if fixed players do not pick 0."""
    fixed = agent_data["mind"].map(is_fixed)
    zeros = (agent_data.loc[fixed, "choice"] == 0).all()
    return float(1 - fixed.mean()) if zeros else 1.0


def _type_lines(ax: Axes, table: pd.DataFrame, column: str, *, moving_only: bool = False) -> None:
    """A line for each type: the mean over runs by round."""
    for i, mind in enumerate(_types_of(table)):
        if moving_only and is_fixed(mind):
            continue
        values = table[table["mind"] == mind].groupby("round")[column].mean().dropna()
        colour, marker = _look_of(i)
        ax.plot(
            values.index, values, color=colour, linewidth=1.9, marker=marker,
            markersize=5 if len(values) <= style.FEW else 0,
            label=_name_of(mind),
        )  # fmt: skip


# The look of types, axes and legends.


def _look_of(i: int) -> tuple[str, str]:
    """Colour and marker of a type."""
    return COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]


def _types_of(agent_data: pd.DataFrame) -> list[str]:
    """The minds in the order of their players."""
    return [str(mind) for mind in agent_data["mind"].unique()]


def _name_of(mind: str) -> str:
    """The name of a type in a legend: its mind spec, shortened if it is long."""
    return mind if len(mind) <= LONGEST_NAME else mind[: LONGEST_NAME - 1] + "…"


def _largest_pick(model_data: pd.DataFrame) -> float:
    """The largest legal pick."""
    return float(model_data["high"].iloc[0])


def _rounds_axis(ax: Axes, data: pd.DataFrame, ylabel: str) -> None:
    """Label the axes, with a tick for each round, or fewer ticks for many rounds."""
    rounds = sorted(data["round"].unique().tolist())
    style.plain_axes(ax, "Round", ylabel)
    style.round_ticks(ax.xaxis, rounds)
    ax.set_xlim(rounds[0] - 0.45, rounds[-1] + 0.45)


def _on_one_scale(
    model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """The data with all ranges scaled to 0 to 100 if they differ, and the label of picks."""
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
