"""The frame of a picture of the room as it is now: title, axes for the room, and legend.

The people are drawn by whoever has the model, see `sabm_mesa.visualization.scenarios.evacuation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.lines import Line2D

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.plots.evacuation_plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.0
"""Width of the picture in inches."""


def room_figure(plan: Plan, moment: str, subtitle: str = "") -> tuple[Figure, Axes, float]:
    """An empty picture of a room.

    Args:
        plan: the plan of the room.
        moment: which moment is shown, in a few words.
        subtitle: which minds and condition are on show.

    Returns:
        The figure, its axes, and the area of a person in square points that fills most of a cell.
    """
    height, width = plan.walls.shape
    figure = style.new_figure(
        "The room", f"{moment} · {subtitle}", width=WIDTH, height=0.75 + 5.4 * height / width
    )
    cell = 72 * 5.4 / (width + 1)
    return figure, figure.add_subplot(), (0.72 * cell) ** 2


def trait_legend(
    figure: Figure,
    plan: Plan,
    markers: Mapping[str, str],
    edges: Mapping[str, tuple[str, float]],
) -> None:
    """What colours, shapes and edges mean.

    Args:
        figure: the figure.
        plan: the plan of the room, with the colours of the exits.
        markers: state of mind → marker.
        edges: strength of body → colour and width of the edge.
    """
    handles = [
        Line2D([], [], linestyle="none", marker="s", markersize=7, color=colour, label=f"to {name}")
        for name, colour in plan.colours.items()
    ]
    handles += [
        Line2D([], [], linestyle="none", marker=mark, markersize=6, color=style.GREY, label=mind)
        for mind, mark in markers.items()
    ]
    for body, (colour, width) in edges.items():
        mark = Line2D([], [], linestyle="none", marker="o", markersize=7, label=body)
        mark.set(color=style.GREY, markeredgecolor=colour, markeredgewidth=width)
        handles.append(mark)
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), frameon=False,
        fontsize=style.NOTE, handletextpad=0.1, columnspacing=0.9,
    )  # fmt: skip
