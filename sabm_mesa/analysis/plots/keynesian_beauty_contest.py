"""Plots of the Keynesian beauty contest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.markers import CARETDOWNBASE

from sabm_mesa.analysis.plots import hierarchy, legends, style
from sabm_mesa.analysis.plots.depth import depth
from sabm_mesa.analysis.plots.guessing_types import level_names, mark_picks
from sabm_mesa.analysis.plots.over_runs import CONFIDENCE, interval, thin_lines
from sabm_mesa.analysis.statistics import bootstrap_mean_by_round, require_rows
from sabm_mesa.analysis.theory.guessing_game import level_k_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
MOST_PANELS = 6
"""With more rounds than this the histogram shows the first and the last one only."""


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


def variance_by_round(
    model_data: pd.DataFrame, subtitle: str = "", *, rng: np.random.Generator | int = 0
) -> Figure:
    """Variance of the picks by round: single runs, their mean and its confidence interval.

    Args:
        model_data: one row a run and round, with columns ``run``, ``round`` and ``variance``
            (population variance of the picks, in picks squared; NaN without valid picks).
        subtitle: which minds and condition were run; the number of runs is added.
        rng: generator or seed of the bootstrap.

    Raises:
        ValueError: if a column is missing, there are no rows, or a run has two rows for a round.
    """
    require_rows(model_data, ["run", "round", "variance"])
    summary = bootstrap_mean_by_round(model_data, "variance", rng=rng, confidence=CONFIDENCE)
    n_runs = model_data["run"].nunique()
    few = len(summary) <= style.FEW
    figure = style.new_figure(
        "Variance of picks by round", style.with_runs(subtitle, model_data), height=3.6
    )
    ax = figure.add_subplot()
    rounds = summary["round"].to_numpy()
    if n_runs > 1:
        thin_lines(ax, model_data, "variance", "run", "single runs", marker="." if few else "")
        interval(ax, summary)
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
    style.plain_axes(ax, "Round k", "Variance (picks squared)")
    style.integer_ticks(ax.xaxis, rounds.tolist())
    ax.set_xlim(rounds.min() - 0.25, rounds.max() + 0.25)
    drawn = [*model_data["variance"], *summary["high"]]
    ax.set_ylim(0, style.headroom([float(v) for v in drawn if not pd.isna(v)]))
    if summary["mean"].isna().all():
        legends.empty(ax)
    if n_runs > 1:
        legends.legend(ax)
    return figure


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
    """How often each number was picked, one panel a round, over all runs.

    Marks show the mean target of the round, the Nash equilibrium at `low` and the picks of
    levels 0 to 3 (Nagel 1995) that start from the mid-point of the range. Circles in round 0 show
    what the cognitive hierarchy predicts, which is a theory of first picks.

    Args:
        model_data: one row a run and round, with columns ``run``, ``round`` and ``target``.
        agent_data: one row a run, round and agent, with columns ``run``, ``round`` and
            ``choice`` (NaN: the agent abstained).
        subtitle: which minds and condition were run; the number of runs is added.
        p: factor of the target, between 0 and 1.
        low: smallest legal pick.
        high: largest legal pick.
        bin_width: whole numbers a bar; bars are centred on whole numbers if 1.

    Raises:
        ValueError: if a column is missing, there are no rows, or a pick is outside the
            range, or the range, `bin_width` or `p` is not as above.
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
        subtitle += f" · rounds {shown[0]} and {shown[-1]} of {len(rounds)}"
    figure = style.new_figure("Picks by round", subtitle, height=0.75 + 1.45 * len(shown))
    edges = np.arange(low - 0.5, high + 0.5 + bin_width, bin_width)
    targets = model_data["target"].astype(float).groupby(model_data["round"]).mean()
    marks = {low: f"Nash\n{low:g}", **level_names(level_k_marks(3, (low + high) / 2, p))}
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for ax, number in zip(panels, shown, strict=True):
        choices = picks[agent_data["round"] == number]
        target = float(targets.get(number, np.nan))
        _picks_panel(ax, choices, edges, target)
        mark_picks(ax, marks, named=ax is panels[0])
        if number == 0:
            hierarchy.draw(ax, low, high, p)
        ax.set_title(_panel_title(number, target, choices), loc="left", fontsize=style.LABEL)
        ax.set_xlim(low - 2, high + 2)
    _note(panels[0])
    panels[-1].set_xlabel("Pick", fontsize=style.LABEL)
    figure.supylabel("Number of picks", fontsize=style.LABEL)
    return figure


def _picks_panel(ax: Axes, choices: Floats, edges: Floats, target: float) -> None:
    """Bars of the valid picks and, behind them, the mean target if there is one."""
    valid = choices[~np.isnan(choices)]
    ax.hist(valid, bins=edges.tolist(), color=style.SKY_BLUE, edgecolor=style.BLACK, linewidth=0.4)
    style.plain_axes(ax)
    style.integer_ticks(ax.yaxis, most=4)
    largest = float(np.histogram(valid, edges)[0].max())
    ax.set_ylim(0, style.headroom([largest], 0.2))
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
    """What the dotted lines are, in the corner above the panel."""
    ax.annotate(
        "dotted: Nash equilibrium\nand picks of level k", (1, 1), xytext=(0, 3),
        xycoords="axes fraction", textcoords="offset points", ha="right", va="bottom",
        fontsize=style.NOTE, color="#404040",
    )  # fmt: skip


def _panel_title(number: int, target: float, choices: Floats) -> str:
    abstained = int(np.isnan(choices).sum())
    parts = [f"Round {number}"]
    parts.append("no valid pick" if np.isnan(target) else f"mean target {target:.1f} (arrow)")
    if abstained:
        parts.append(f"{abstained} of {len(choices)} abstained")
    return " · ".join(parts)
