"""Plots of a tournament: the ranking with its intervals, and who did how well against whom."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.statistics import require_rows

_LABEL = 26
"""Letters of an entrant's name at the most."""
_MOST = 16
"""Entrants of which the numbers fit into the cells of a matrix."""


def ranking(table: pd.DataFrame, label: str, subtitle: str = "") -> Figure:
    """The mean score of each entrant with its interval, the best at the top.

    Args:
        table: one row an entrant, the best first: ``entrant``, ``score``, ``low``, ``high``,
            ``invalid``.
        label: what the score is.
        subtitle: which scenario was played, and how often.

    Raises:
        ValueError: if a column is missing, or there are no rows.
    """
    require_rows(table, ["entrant", "score", "low", "high", "invalid"])
    n = len(table)
    figure = style.new_figure("Tournament: ranking", subtitle, height=0.9 + 0.36 * n)
    ax = figure.subplots()
    places, scores = np.arange(n), table["score"].to_numpy(dtype=float)
    known = table["low"].notna().to_numpy()
    low, high = (table[end].to_numpy(dtype=float)[known] for end in ("low", "high"))
    ax.hlines(places[known], low, high, color=style.BLUE, linewidth=2.2)
    ax.plot(scores, places, "o", color=style.BLUE, markersize=7)
    names = [
        _name(str(entrant), int(invalid))
        for entrant, invalid in zip(table["entrant"], table["invalid"], strict=True)
    ]
    style.plain_axes(ax, f"{label}: mean and 95 % interval over seeds" if known.any() else label)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color="#E0E0E0", linewidth=0.6)
    ax.set_yticks(places, names)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)  # a file's name is no formula
    ax.set_ylim(n - 0.5, -0.5)
    ax.margins(x=0.06)
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.tick_params(axis="y", length=0)
    return figure


def matrix(
    table: pd.DataFrame, label: str, subtitle: str = "", *, differences: bool = False
) -> Figure:
    """The score of each entrant (rows) against each other one (columns).

    Args:
        table: a square table, the best entrant first.
        label: what the score is.
        subtitle: which scenario was played, and how often.
        differences: whether the numbers say by how much the row was above the column.

    Raises:
        ValueError: if there are no entrants.
    """
    require_rows(table, [])
    n = len(table)
    side = max(3.0, 1.9 + 0.55 * n)
    width = max(style.WIDTH, side + 1.6)
    title = "Tournament: differences in score" if differences else "Tournament: payoff matrix"
    figure = style.new_figure(title, subtitle, height=side, width=width)
    ax = figure.subplots()
    values = table.to_numpy(dtype=float)
    most = max(float(np.nanmax(np.abs(values))), 1e-9)
    # Both maps keep their order for colour-blind readers and in grey.
    ends = {"cmap": "PuOr", "vmin": -most, "vmax": most} if differences else {"cmap": "cividis"}
    image = ax.imshow(values, aspect="auto", **ends)
    if n <= _MOST:
        for (row, column), value in np.ndenumerate(values):
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            number = (f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}").replace("-", "−")
            color = "white" if dark else "black"
            ax.text(column, row, number, ha="center", va="center", fontsize=style.NOTE, color=color)
    names = [_name(str(name)) for name in table.index]
    ax.set_xticks(range(n), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(n), names)
    for text in [*ax.get_xticklabels(), *ax.get_yticklabels()]:
        text.set_parse_math(False)
    ax.tick_params(labelsize=style.TICK, length=0)
    ax.set_xlabel("… minus this one" if differences else "… against this one", fontsize=style.LABEL)
    ax.set_ylabel("This entrant …", fontsize=style.LABEL)
    ax.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=ax, shrink=0.8)
    told = f"Difference: {label}" if differences else label
    bar.set_label(textwrap.fill(told, 28), fontsize=style.LABEL, labelpad=8)
    bar.ax.tick_params(labelsize=style.TICK)
    return figure


def _name(entrant: str, invalid: int = 0) -> str:
    # Of a long one the ends: files of one name are told apart by their folders.
    half = _LABEL // 2
    name = entrant if len(entrant) <= _LABEL else f"{entrant[:half]}…{entrant[1 - half :]}"
    return f"{name}\n({invalid:,} invalid)" if invalid else name
