"""One look for all plots: colours, sizes, titles.

Figures are built from `matplotlib.figure.Figure` alone, without pyplot, so that no window, no
global state and no file is touched; every property is set on the artists themselves.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BLACK = "#000000"
ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#8C8C8C"
"""The colour-blind-safe palette of Okabe and Ito (2008), "Color Universal Design"."""

WIDTH = 6.8
"""Width of a figure in inches: a full text column."""
TITLE, SUBTITLE, LABEL, TICK, NOTE = 12.0, 9.5, 10.0, 9.0, 8.5
"""Font sizes in points."""
FEW = 12
"""Up to this many rounds each has its own tick and a large marker."""

NARROW = 3
"""Half the number of bars for which there is room at the least, so that none is a wall."""

_MARGIN = 0.12
_CHARACTERS_PER_INCH = 14


def new_figure(title: str, subtitle: str = "", *, height: float, width: float = WIDTH) -> Figure:
    """An empty figure with a title and a subtitle at the top left.

    Args:
        title: what is shown, in a few words.
        subtitle: of which runs; wrapped to the width of the figure.
        height: inches for the axes; the titles come on top.
        width: inches.

    Returns:
        A figure in constrained layout, to which the caller adds axes.
    """
    lines = textwrap.wrap(subtitle, int((width - 2 * _MARGIN) * _CHARACTERS_PER_INCH))
    title_height = 1.3 * TITLE / 72
    head = _MARGIN + title_height + len(lines) * 1.3 * SUBTITLE / 72
    total = height + head
    below_head = (0, 0, 0.985, height / total)
    layout = ConstrainedLayoutEngine(rect=below_head, h_pad=0.06, w_pad=0.06)
    figure = Figure(figsize=(width, total), dpi=150, facecolor="white", layout=layout)
    left, top = _MARGIN / width, 1 - _MARGIN / total
    heading = figure.suptitle(
        title, x=left, y=top, ha="left", va="top", fontsize=TITLE, fontweight="bold"
    )
    heading.set_parse_math(False)  # what people and models have written is no formula
    if lines:
        below = top - title_height / total
        text = figure.text(left, below, "\n".join(lines), ha="left", va="top", fontsize=SUBTITLE)
        text.set(color="#404040", linespacing=1.15, parse_math=False)
    return figure


def with_runs(subtitle: str, data: pd.DataFrame) -> str:
    """A subtitle with the number of runs behind it.

    Args:
        subtitle: which minds and condition were run, or nothing.
        data: what is drawn, with a column ``run``.
    """
    n = data["run"].nunique()
    runs = "1 run" if n == 1 else f"{n} runs"
    return f"{subtitle} · {runs}" if subtitle else runs


def plain_axes(ax: Axes, xlabel: str = "", ylabel: str = "") -> None:
    """Give axes labels, a light horizontal grid and no box."""
    ax.set_xlabel(xlabel, fontsize=LABEL)
    ax.set_ylabel(ylabel, fontsize=LABEL)
    ax.tick_params(labelsize=TICK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis="y", color="#E0E0E0", linewidth=0.6)
    ax.set_axisbelow(True)


def integer_ticks(axis: Axis, values: Sequence[int] = (), *, most: int = 10) -> None:
    """Put ticks at whole numbers: at each of `values` if they are few, else `most` at most."""
    if 0 < len(values) <= FEW:
        axis.set_ticks(values)
    else:
        axis.set_major_locator(MaxNLocator(nbins=most, integer=True, steps=[1, 2, 5, 10]))


def bar_room(ax: Axes, rounds: Sequence[int]) -> None:
    """Limits of an axis of bars, with room beside few of them.

    Args:
        ax: the axes.
        rounds: where the bars stand, in rising order.
    """
    beside = max(0.6, NARROW - len(rounds) / 2)
    ax.set_xlim(rounds[0] - beside, rounds[-1] + beside)


def headroom(values: list[float], share: float = 0.05) -> float:
    """Upper limit of an axis that starts at 0: above the largest value, 1 if there is none."""
    largest = max((v for v in values if not math.isnan(v)), default=0.0)
    return largest * (1 + share) if largest > 0 else 1.0
