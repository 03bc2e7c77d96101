"""Plots of the joint sentence making."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import require_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ROUND = ("word set", 1)
"""The word for a round, and the number of the first one."""
MANY = 40
"""Maximum number of writers for numbers in all cells."""


def figures(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = "", n_sentences: int = 5
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: see `scores`.
        agent_data: see `writers`.
        subtitle: the minds and the condition.
        n_sentences: sentences of each writer for each word set.

    Returns:
        ``scores`` and ``writers``.
    """
    return {
        "scores": scores(model_data, subtitle),
        "writers": writers(agent_data, subtitle, n_sentences),
    }


def scores(model_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Validity and diversity of the sentences by word set: the runs and their mean.

    Args:
        model_data: one row per run and round, with ``valid_ratio``, ``valid_ratio_at_once`` and
            ``variance``.
        subtitle: the minds and the condition; the number of runs is added.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    columns = ["valid_ratio", "valid_ratio_at_once", "variance"]
    require_rows(model_data, ["run", "round", *columns])
    figure = style.new_figure(
        "Validity and diversity of the sentences", style.with_runs(subtitle, model_data), height=3.1
    )
    left, right = figure.subplots(1, 2)
    _points(left, model_data, "valid_ratio", "after asking again", style.BLUE, "o", -0.12)
    _points(left, model_data, "valid_ratio_at_once", "at once", style.VERMILLION, "s", 0.12)
    _points(right, model_data, "variance", "", style.BLUE, "o", 0.0)
    style.plain_axes(left, "Word set", "Share of valid sentences")
    style.plain_axes(right, "Word set", "Variance of sparse text vectors")
    left.set_ylim(0, 1.03)
    right.set_ylim(0, style.headroom(model_data["variance"].astype(float).tolist(), 0.25))
    if model_data["variance"].isna().all():
        style.explain_empty(right, "No sentence is valid.")
    style.add_legend(left, loc="lower left")
    for ax in (left, right):
        _word_sets(ax, model_data)
    return figure


def writers(agent_data: pd.DataFrame, subtitle: str = "", n_sentences: int = 5) -> Figure:
    """Valid sentences of each writer for each word set, mean over runs.

    Args:
        agent_data: one row per run, round and agent, with ``valid``.
        subtitle: the minds and the condition; the number of runs is added.
        n_sentences: sentences of each writer for each word set.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_rows(agent_data, ["run", "round", "agent", "valid"])
    table = agent_data.pivot_table(index="agent", columns="round", values="valid", aggfunc="mean")
    figure = style.new_figure(
        "Valid sentences of each writer",
        style.with_runs(subtitle, agent_data),
        height=min(6.5, 1.2 + 0.26 * len(table)),
    )
    ax = figure.add_subplot()
    image = ax.imshow(
        table.to_numpy(dtype=float), vmin=0, vmax=n_sentences, cmap="cividis", aspect="auto"
    )
    few = len(table) <= MANY and table.shape[1] <= style.FEW
    if few:
        for (row, column), value in np.ndenumerate(table.to_numpy(dtype=float)):
            dark = value < n_sentences / 2
            ax.annotate(
                f"{value:g}" if value == round(value) else f"{value:.1f}", (column, row),
                ha="center", va="center", fontsize=style.NOTE, color="white" if dark else "black",
            )  # fmt: skip
    ax.set_xticks(range(table.shape[1]), [str(int(n) + 1) for n in table.columns.tolist()])
    ax.set_yticks(range(len(table)), [f"L{agent}" for agent in table.index])
    ax.set_xlabel("Word set", fontsize=style.LABEL)
    ax.set_ylabel("Writer", fontsize=style.LABEL)
    ax.tick_params(labelsize=style.NOTE, length=0)
    ax.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=ax, pad=0.02, aspect=24)
    bar.set_label(f"Valid sentences (of {n_sentences})", fontsize=style.NOTE)
    bar.ax.tick_params(labelsize=style.NOTE)
    return figure


def _points(
    ax: Axes, data: pd.DataFrame, column: str, label: str, colour: str, marker: str, aside: float
) -> None:
    """A point for each run, and a bar at their mean if there are several."""
    values = data[column].astype(float)
    several = len(data["run"].unique()) > 1
    ax.plot(
        data["round"] + 1 + aside, values, linestyle="", marker=marker, color=colour, label=label,
        markersize=4 if several else 7, alpha=0.5 if several else 1.0, clip_on=False, zorder=3,
    )  # fmt: skip
    if several:
        means = values.groupby(data["round"]).mean()
        ax.hlines(
            means, means.index + 1 + aside - 0.11, means.index + 1 + aside + 0.11, color=colour,
            linewidth=2.2, zorder=4,
        )  # fmt: skip


def _word_sets(ax: Axes, data: pd.DataFrame) -> None:
    sets = sorted((data["round"].unique() + 1).tolist())
    style.integer_ticks(ax.xaxis, sets)
    ax.set_xlim(sets[0] - 0.6, sets[-1] + 0.6)
