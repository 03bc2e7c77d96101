"""Plots that put the conditions of an experiment side by side, with what was published."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.statistics import bootstrap_mean_by_round, require_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY_BLUE)
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", (0, (5, 1.5)), (0, (2, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (1, 1)), (0, (8, 2)))
PUBLISHED = "*"
MOST_MARKS = 25
"""Published numbers of a condition that are drawn at the most; of more, every so many."""
_TITLE = 78
"""Letters that fit into the title of a panel."""
_HALF_LEGEND = 48
"""Letters that fit into half the width of a figure."""


def look(number: int) -> tuple[str, str, object]:
    """Colour, marker and dashes of a condition by its place, different for the first 36.

    Args:
        number: the place of the condition, from 0.
    """
    again, n = divmod(number, len(COLORS))
    return COLORS[n], MARKERS[(n + again) % len(MARKERS)], DASHES[(n + again) % len(DASHES)]


@dataclass(frozen=True)
class Mark:
    """A line that theory draws.

    Attributes:
        label: its name in the legend.
        heights: one number, or one a round.
        rounds: the rounds of the numbers; empty for one number that holds in all.
    """

    label: str
    heights: tuple[float, ...]
    rounds: tuple[float, ...] = ()


def by_round(
    data: pd.DataFrame,
    column: str,
    labels: Mapping[str, str],
    *,
    title: str,
    label: str,
    subtitle: str = "",
    published: pd.DataFrame | None = None,
    marks: Sequence[Mark] = (),
) -> Figure:
    """The mean of a column by round and condition, with its bootstrap interval over runs.

    Args:
        data: one row a run and round: ``condition``, ``run``, ``round`` and `column`.
        column: the column.
        labels: condition → how it is called, in the order of the legend.
        title: the title.
        label: the axis of the values, with its unit.
        subtitle: which minds were run, and how often.
        published: published numbers: ``condition``, ``round``, ``published``.
        marks: what theory says.

    Raises:
        ValueError: if a column is missing.
    """
    require_columns(data, ["condition", "run", "round", column])
    figure = style.new_figure(title, subtitle, height=4.1)
    ax = figure.add_subplot()
    rounds = sorted(data["round"].unique().tolist())
    few = len(rounds) <= style.FEW
    for number, (condition, name) in enumerate(labels.items()):
        mine = bootstrap_mean_by_round(data[data["condition"] == condition], column)
        color, marker, dashes = look(number)
        ax.fill_between(
            mine["round"], mine["low"], mine["high"], color=color, alpha=0.16, linewidth=0, zorder=2
        )
        ax.plot(
            mine["round"], mine["mean"], color=color, linestyle=dashes,
            marker=marker if few else "", markersize=5.5, linewidth=1.8, zorder=3, label=name,
        )  # fmt: skip
    _published(ax, published, list(labels))
    for mark, dash in zip(marks, DASHES[1:], strict=False):
        _mark(ax, mark, dash, rounds)
    style.plain_axes(ax, "Round", label)
    style.integer_ticks(ax.xaxis, rounds)
    ax.margins(x=0.02)
    if ax.get_ylim()[0] > 0 and np.nanmin(data[column].to_numpy(dtype=float)) >= 0:
        low, high = ax.get_ylim()
        ax.set_ylim(0 if low < 0.4 * high else low, high)
    _legend(figure, ax)
    return figure


def distributions(
    data: pd.DataFrame,
    column: str,
    labels: Mapping[str, str],
    *,
    title: str,
    label: str,
    subtitle: str = "",
    people: tuple[str, Sequence[tuple[float, float, float]]] | None = None,
    marks: Sequence[Mark] = (),
) -> Figure:
    """How the values of an agent column are distributed, one panel a condition.

    Args:
        data: one row an agent: ``condition`` and `column`; those without a value are left out.
        column: the column: whole numbers.
        labels: condition → how it is called, from top to bottom.
        title: the title.
        label: the axis of the values, with its unit.
        subtitle: which minds were run, and how often.
        people: who they are, and (from, to, share) of each bin, both ends included: shares of
            people, drawn in a panel of their own as density by whole number.
        marks: what theory says, one number each.

    Raises:
        ValueError: if a column is missing.
    """
    require_columns(data, ["condition", column])
    n = len(labels) + (people is not None)
    figure = style.new_figure(title, subtitle, height=0.9 + 1.5 * n)
    panels = figure.subplots(n, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for number, (condition, name) in enumerate(labels.items()):
        ax, mine = panels[number], data.loc[data["condition"] == condition, column]
        found = mine.dropna().astype(float).to_numpy()
        shares = 100 * pd.Series(found).round().value_counts(normalize=True)
        ax.bar(
            shares.index, shares, width=0.9, color=look(number)[0],
            edgecolor=style.BLACK, linewidth=0.3,
        )  # fmt: skip
        left = f", {mine.isna().sum()} without a value" if mine.isna().any() else ""
        head = textwrap.fill(f"{name} ({found.size} values{left})", _TITLE)
        ax.set_title(head, loc="left", fontsize=style.LABEL)
    if people is not None:
        for low, high, share in people[1]:
            width = high - low + 1
            panels[-1].bar(
                low - 0.5, share / width, width=width, align="edge", color=style.GREY,
                edgecolor=style.BLACK, linewidth=0.3,
            )  # fmt: skip
        who = textwrap.fill(people[0], _TITLE)
        panels[-1].set_title(who, loc="left", fontsize=style.LABEL)
    for ax in panels:
        style.plain_axes(ax)
        style.integer_ticks(ax.yaxis, most=4)
        for mark in marks:
            ax.axvline(mark.heights[0], color=style.GREY, linewidth=0.9, linestyle=":", zorder=0.5)
    if marks:
        top = panels[0].secondary_xaxis("top")
        top.set_xticks([mark.heights[0] for mark in marks], [mark.label for mark in marks])
        top.tick_params(labelsize=style.NOTE, length=2, pad=1, labelcolor="#404040")
        top.spines["top"].set_visible(False)
    panels[-1].set_xlabel(label, fontsize=style.LABEL)
    figure.supylabel("Per cent for each number", fontsize=style.LABEL)
    return figure


def _published(ax: Axes, published: pd.DataFrame | None, conditions: Sequence[str]) -> None:
    """Published numbers: stars in the colour of their condition."""
    if published is None or published.empty:
        return
    for number, condition in enumerate(conditions):
        mine = published[published["condition"] == condition]
        if not mine.empty:
            ax.plot(
                mine["round"], mine["published"], linestyle="", marker=PUBLISHED, markersize=9,
                markerfacecolor=look(number)[0], markeredgecolor=style.BLACK,
                markeredgewidth=0.6, zorder=5, markevery=max(1, len(mine) // MOST_MARKS),
            )  # fmt: skip
    ax.plot(
        [], [], linestyle="", marker=PUBLISHED, markersize=9, markerfacecolor="white",
        markeredgecolor=style.BLACK, label="published, in the colour of its condition",
    )  # fmt: skip


def _mark(ax: Axes, mark: Mark, dash: object, rounds: Sequence[int]) -> None:
    ends = (min(rounds), max(rounds)) if len(rounds) > 1 else (rounds[0] - 0.5, rounds[0] + 0.5)
    x = mark.rounds or ends
    y = mark.heights if mark.rounds else (mark.heights[0],) * 2
    ax.plot(x, y, color="#404040", linestyle=dash, linewidth=1.1, zorder=1.5, label=mark.label)


def _legend(figure: Figure, ax: Axes) -> None:
    """One legend below the axes, so that it covers nothing."""
    handles, names = ax.get_legend_handles_labels()
    band = ax.fill_between([], [], [], color=style.GREY, alpha=0.3, linewidth=0)
    handles, names = [*handles, band], [*names, "95 % bootstrap interval of the mean"]
    longest = max(map(len, names))
    figure.legend(
        handles, names, loc="outside lower left", ncols=2 if longest <= _HALF_LEGEND else 1,
        frameon=False, fontsize=style.NOTE,
    )  # fmt: skip
