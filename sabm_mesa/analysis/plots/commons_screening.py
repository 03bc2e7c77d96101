"""The plot of the commons screening: what share of the problems each mind solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.statistics import require_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS = (
    (style.BLUE, "o"), (style.VERMILLION, "s"), (style.GREEN, "^"), (style.PURPLE, "D"),
    (style.ORANGE, "v"), (style.SKY_BLUE, "P"), (style.BLACK, "X"),
)  # fmt: skip
"""Colour and marker of the minds, in turn."""
_ROW, _MIND, _HEAD = 0.26, 0.13, 0.6
"""Inches of a kind of problem, of a mind in it, and of an axis with its title."""
_SPAN = 0.6
"""The part of a row over which its minds are spread."""


def skills(table: pd.DataFrame, subtitle: str = "", *, enough: float) -> Figure:
    """The shares by kind of problem, a panel for each wording, with their intervals.

    Args:
        table: one row a mind, wording and kind of problem: ``mind``, ``wording``, ``skill``,
            ``share``, ``low`` and ``high`` (0 to 1).
        subtitle: what was run.
        enough: the share that has to be reached, 0 to 1.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_columns(table, ["mind", "wording", "skill", "share", "low", "high"])
    if table.empty:
        raise ValueError("the data frame has no rows: nothing to plot")
    minds, wordings, kinds = (
        list(dict.fromkeys(table[name])) for name in ("mind", "wording", "skill")
    )
    legend = 0.22 * (len(minds) + 1)
    height = len(kinds) * (_ROW + _MIND * len(minds)) + _HEAD
    figure = style.new_figure("Problems that were solved", subtitle, height=height + legend)
    grid = figure.add_gridspec(2, len(wordings), height_ratios=[height, legend])
    first: Axes | None = None
    for column, wording in enumerate(wordings):
        ax = figure.add_subplot(grid[0, column], sharey=first)
        _panel(ax, table[table["wording"] == wording], minds, kinds, enough)
        ax.set_title(wording, loc="left", fontsize=style.LABEL).set_parse_math(False)
        ax.tick_params(labelleft=first is None)
        first = first or ax
    below = figure.add_subplot(grid[1, :])
    below.set_axis_off()
    handles = [
        *(Line2D([], [], color=colour, marker=marker, linestyle="none", label=mind)
          for mind, (colour, marker) in _looks(minds)),
        Line2D([], [], color=style.GREY, linestyle="--", label=f"enough to pass: {enough:.0%}"),
    ]  # fmt: skip
    key = below.legend(handles=handles, loc="upper left", frameon=False, fontsize=style.NOTE)
    for text in key.get_texts():
        text.set_parse_math(False)
    return figure


def _panel(
    ax: Axes, table: pd.DataFrame, minds: list[str], kinds: list[str], enough: float
) -> None:
    aside = _SPAN * ((np.arange(len(minds)) + 0.5) / len(minds) - 0.5)
    for (mind, (colour, marker)), beside in zip(_looks(minds), aside, strict=True):
        rows = table[table["mind"] == mind].set_index("skill").reindex(kinds)
        y = np.arange(len(kinds)) + beside
        ax.hlines(y, rows["low"], rows["high"], color=colour, linewidth=1.4)
        ax.plot(rows["share"], y, color=colour, marker=marker, markersize=5, linestyle="none")
    ax.axvline(enough, color=style.GREY, linestyle="--", linewidth=1)
    style.plain_axes(ax, "solved")
    ax.grid(visible=True, axis="x", color="#E0E0E0", linewidth=0.6)
    ax.set_yticks(range(len(kinds)), kinds)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    ax.set_xlim(-0.05, 1.05)
    ax.set_xticks([0, 0.5, 1])
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


def _looks(minds: list[str]) -> list[tuple[str, tuple[str, str]]]:
    return [(mind, LOOKS[i % len(LOOKS)]) for i, mind in enumerate(minds)]
