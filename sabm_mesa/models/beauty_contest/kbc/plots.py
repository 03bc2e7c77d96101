"""Plots of the Keynesian beauty contest: variance, picks and depth of reasoning by round."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import mean_by_round, require_columns, require_rows
from sabm_mesa.analysis.plot_style import interval_band, thin_lines
from sabm_mesa.models.beauty_contest.guessing import (
    HIGHER,
    TAU,
    cognitive_hierarchy_choices,
    level_k_marks,
    level_names,
    poisson_frequencies,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_PANELS = 6
"""Maximum number of rounds of a histogram; with more rounds, it shows the first and the last."""
SHOWN = 0.01
"""The minimum share of players for drawing a step."""
_AREA, _HEIGHT, _HEADROOM = 300.0, 0.88, 1.2
UNREADABLE = "unreadable"
LEVELS = (*range(HIGHER, -2, -1),)
"""The classes of `nagel_level` as they are stacked, the deepest at the bottom."""
NAMES = (
    "deeper",
    *(f"step {k}" for k in reversed(range(HIGHER))),
    "above the\nreference",
    UNREADABLE,
)
MIND_COLOURS = (style.SKY_BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.YELLOW)
LEVEL_COLOURS = ("#08306B", "#2171B5", "#6BAED6", "#BDD7E7", "#EFF3FF", style.ORANGE)
"""Deeper steps are darker; a pick above the reference is not a step."""
LOOKS: list[dict[str, Any]] = [
    *({"facecolor": colour, "edgecolor": style.GREY} for colour in LEVEL_COLOURS),
    {"facecolor": "#FFFFFF", "edgecolor": style.GREY, "hatch": "////"},
]
NUMBERED = 6
"""Maximum number of rounds for writing the shares into the bars."""
_ROOM_FOR_NUMBER = 0.06


def figures(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = ""
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: see `variance_by_round` and `picks_histogram`.
        agent_data: see `picks_histogram` and `depth`.
        subtitle: which minds and condition were run.

    Returns:
        ``variance``, ``picks`` and ``depth``.
    """
    return {
        "variance": variance_by_round(model_data, subtitle),
        "picks": picks_histogram(model_data, agent_data, subtitle),
        "depth": depth(agent_data, subtitle),
    }


def variance_by_round(model_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Variance of the picks by round: single runs, their mean and its confidence interval."""
    require_rows(model_data, ["run", "round", "variance"])
    summary = mean_by_round(model_data, "variance")
    n_runs = model_data["run"].nunique()
    few = len(summary) <= style.FEW
    figure = style.new_figure(
        "Variance of picks by round", style.with_runs(subtitle, model_data), height=3.6
    )
    ax = figure.add_subplot()
    rounds = summary["round"].to_numpy()
    if n_runs > 1:
        thin_lines(ax, model_data, "variance", "run", "single runs", marker="." if few else "")
        interval_band(ax, summary)
    ax.plot(
        rounds,
        summary["mean"],
        color=style.BLUE,
        linewidth=2.0,
        marker="o",
        markersize=5 if few else 2.5,
        zorder=4,
        clip_on=False,
        label="mean of the runs" if n_runs > 1 else "the run",
    )
    style.plain_axes(ax, "Round", "Variance (picks squared)")
    style.round_ticks(ax.xaxis, rounds.tolist())
    ax.set_xlim(rounds.min() - 0.25, rounds.max() + 0.25)
    drawn = [*model_data["variance"], *summary["high"]]
    ax.set_ylim(0, style.headroom([float(v) for v in drawn if not pd.isna(v)]))
    if summary["mean"].isna().all():
        style.explain_empty(ax)
    if n_runs > 1:
        style.add_legend(ax)
    return figure


# Picks by round.


def picks_histogram(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    p: float = 2 / 3,
    low: int = 0,
    high: int = 100,
    bin_width: int = 1,
) -> Figure:
    """The number of picks of each number, one panel per round, over all runs.

    Marks show the mean target of the round, the Nash equilibrium at `low` and the picks of
    levels 0 to 3 (Nagel 1995) that start from the mid-point of the range. Circles in round 0 show
    the prediction of the cognitive hierarchy, which is a theory of first picks.
    """
    require_rows(model_data, ["run", "round", "target"])
    require_rows(agent_data, ["run", "round", "choice"])
    if low >= high or bin_width < 1 or not 0 < p < 1:
        raise ValueError(
            f"need low < high, bin_width >= 1, 0 < p < 1, not {low}, {high}, {bin_width}, {p}"
        )
    picks = agent_data["choice"].to_numpy(dtype=np.float64, na_value=np.nan)
    if (picks < low).any() or (picks > high).any():
        raise ValueError(f"a pick lies outside {low} to {high}: pass the range that was played")
    rounds = sorted(agent_data["round"].unique().tolist())
    shown = rounds if len(rounds) <= MOST_PANELS else [rounds[0], rounds[-1]]
    subtitle = style.with_runs(subtitle, agent_data)
    if len(shown) < len(rounds):
        subtitle += f" · rounds {shown[0] + 1} and {shown[-1] + 1} of {len(rounds)}"
    minds = agent_data["mind"].to_numpy() if "mind" in agent_data else np.full(len(picks), "")
    names = list(dict.fromkeys(minds))
    height = 0.75 + 1.45 * len(shown) + 0.2 * (len(names) > 1)
    figure = style.new_figure("Picks by round", subtitle, height=height)
    edges = np.arange(low - 0.5, high + 0.5 + bin_width, bin_width)
    targets = model_data["target"].astype(float).groupby(model_data["round"]).mean()
    marks = {low: f"Nash\n{low:g}", **level_names(level_k_marks(3, (low + high) / 2, p))}
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for ax, number in zip(panels, shown, strict=True):
        played = (agent_data["round"] == number).to_numpy()
        choices = picks[played]
        target = float(targets.get(number, np.nan))
        _picks_panel(ax, {name: picks[played & (minds == name)] for name in names}, edges, target)
        style.mark_values(ax, marks, named=ax is panels[0])
        if number == 0:
            _draw_hierarchy(ax, low, high, p)
        above = None if ax is panels[0] else 1.0  # it needs no space there
        title = _panel_title(number, target, choices)
        ax.set_title(title, loc="left", fontsize=style.LABEL, y=above)
        ax.set_xlim(low - 2, high + 2)
    _note(panels[0])
    panels[-1].set_xlabel("Pick", fontsize=style.LABEL)
    figure.supylabel("Number of picks", fontsize=style.LABEL)
    if len(names) > 1:
        style.legend_below(figure, *panels)
    return figure


def _picks_panel(ax: Axes, choices: dict[str, Floats], edges: Floats, target: float) -> None:
    """Bars of the valid picks by mind and, behind them, the mean target if there is one."""
    from matplotlib.markers import CARETDOWNBASE

    total = np.zeros(len(edges) - 1)
    for (mind, picks), colour in zip(choices.items(), cycle(MIND_COLOURS), strict=False):
        counts, _ = np.histogram(picks[~np.isnan(picks)], edges)
        some = counts > 0  # bars are slow to draw, and most would be empty
        ax.bar(
            edges[:-1][some], counts[some], np.diff(edges)[some], total[some], align="edge",
            color=colour, edgecolor=style.BLACK, linewidth=0.4, label=mind,
        )  # fmt: skip
        total += counts
    style.plain_axes(ax)
    style.integer_ticks(ax.yaxis, most=4)
    ax.set_ylim(0, style.headroom([float(total.max())], 0.2))
    if not np.isnan(target):
        ax.plot(
            [target, target],
            [0, 1],
            color=style.VERMILLION,
            linewidth=1.8,
            linestyle=(0, (4, 1.5)),
            marker=CARETDOWNBASE,
            markersize=8,
            markevery=[1],
            transform=ax.get_xaxis_transform(),
            zorder=0.8,
        )


def _note(ax: Axes) -> None:
    """Explain the dotted lines in the corner above the panel."""
    ax.annotate(
        "dotted: Nash equilibrium\nand picks of level k", (1, 1), xytext=(0, 3),
        xycoords="axes fraction", textcoords="offset points", ha="right", va="bottom",
        fontsize=style.NOTE, color="#404040",
    )  # fmt: skip


def _panel_title(number: int, target: float, choices: Floats) -> str:
    abstained = int(np.isnan(choices).sum())
    parts = [f"Round {number + 1}"]
    parts.append("no valid pick" if np.isnan(target) else f"mean target {target:.1f} (arrow)")
    if abstained:
        parts.append(f"{abstained} of {len(choices)} abstained")
    return " · ".join(parts)


# The prediction of the cognitive hierarchy for first picks.


class Prediction(NamedTuple):
    """The picks of the steps of the hierarchy, from 1 on.

    Attributes:
        picks: the pick of each step.
        shares: the share of players on each step; the rest is on step 0 and picks uniformly.
    """

    picks: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]


def predicted(low: float, high: float, p: float) -> Prediction:
    """Return the predicted picks of the hierarchy for players who have not seen other picks.

    Raises:
        ValueError: if `p` is not positive.
    """
    shares = poisson_frequencies(TAU, 10)
    picks = cognitive_hierarchy_choices(TAU, 10, (low + high) / 2, p)
    shown = shares >= SHOWN
    shown[0] = False
    return Prediction(picks[shown], shares[shown])


def _draw_hierarchy(ax: Axes, low: float, high: float, p: float) -> None:
    """Draw a circle above the bars at the pick of each step, as large as its share of players."""
    picks, shares = predicted(low, high, p)
    ax.set_ylim(0, _HEADROOM * ax.get_ylim()[1])
    across = ax.get_xaxis_transform()
    ax.scatter(
        picks, np.full(picks.size, _HEIGHT), s=_AREA * shares, transform=across,
        facecolor=style.PURPLE, edgecolor=style.BLACK, linewidth=0.5, zorder=3,
    )  # fmt: skip
    ax.text(
        0.995, _HEIGHT, f"circles: cognitive hierarchy, τ = {TAU:g}", transform=ax.transAxes,
        ha="right", va="center", fontsize=style.NOTE, color="#404040",
    )  # fmt: skip


# Steps of reasoning by round.


def depth(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Steps of reasoning by round: the shares of the classes, stacked.

    Raises:
        ValueError: as `levels_by_round`.
    """
    from matplotlib.patches import Patch

    require_columns(agent_data, ["run"])
    shares = levels_by_round(agent_data)
    figure = style.new_figure(
        "Steps of reasoning by round (Nagel 1995)",
        style.with_runs(subtitle, agent_data),
        height=3.4,
    )
    ax = figure.add_subplot()
    rounds = shares.index.to_numpy()
    bottom = np.zeros(len(shares))
    drawn = [*LEVELS, UNREADABLE] if shares[UNREADABLE].any() else [*LEVELS]
    for level, look in zip(drawn, LOOKS, strict=False):
        _layer(ax, rounds, bottom, shares[level].to_numpy(), look)
        bottom += shares[level].to_numpy()
    style.plain_axes(ax, "Round", "Share of the answers")
    ax.grid(visible=False)
    style.round_ticks(ax.xaxis, rounds.tolist())
    ax.set_xlim(rounds.min() - 0.6, rounds.max() + 0.6)
    ax.set_ylim(0, 1)
    looks = zip(NAMES, LOOKS, strict=True)
    handles = [
        Patch(label=name, linewidth=0.5, **look)
        for level, (name, look) in zip(drawn, looks, strict=False)
        if shares[level].any()
    ]
    figure.legend(
        handles=handles[::-1], loc="outside right center", fontsize=style.NOTE, frameon=False
    )
    return figure


def levels_by_round(agent_data: pd.DataFrame) -> pd.DataFrame:
    """Shares of the answers by class of reasoning and round, over all runs.

    Returns:
        Rounds in rising order as index and one column per class: 4 (deeper than step 3) down to
        -1 (above the reference), then ``unreadable``; the shares of a round sum to 1.
    """
    require_rows(agent_data, ["round", "level"])
    levels = agent_data["level"].to_numpy(dtype=np.float64, na_value=np.nan)
    if unknown := set(levels[~np.isnan(levels)].tolist()) - set(LEVELS):
        raise ValueError(f"there is no level {min(unknown):g}: levels are -1 to {HIGHER}")
    classes = [level if level == level else UNREADABLE for level in levels.tolist()]
    counts = pd.crosstab(agent_data["round"].to_numpy(), np.array(classes, dtype=object))
    counts = counts.reindex(columns=[*LEVELS, UNREADABLE], fill_value=0)
    return counts.div(counts.sum(axis=1), axis=0).rename_axis(index="round", columns=None)


def _layer(ax: Axes, rounds: Ints, bottom: Floats, heights: Floats, look: dict[str, Any]) -> None:
    """Draw one class: a segment of each round's bar, with its share if there is space."""
    few = len(rounds) <= style.FEW
    bars = ax.bar(rounds, heights, bottom=bottom, width=0.75 if few else 1.0, zorder=2, **look)
    for bar, height in zip(bars, heights, strict=True):
        bar.set(visible=height > 0, linewidth=0.5 if few else 0.0)
    if len(rounds) > NUMBERED or "hatch" in look:
        return
    colour = "#FFFFFF" if look["facecolor"] in LEVEL_COLOURS[:2] else style.BLACK
    for x, low, height in zip(rounds, bottom, heights, strict=True):
        if height >= _ROOM_FOR_NUMBER:
            words = f"{height:.0%}".replace("%", " %")
            text = ax.text(x, low + height / 2, words, fontsize=style.NOTE, color=colour, zorder=3)
            text.set(ha="center", va="center", in_layout=False)
