"""The plot of the path test: the routes that were named, over the shortest ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from sabm_mesa.agents.path_test import from_words
from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.statistics import require_columns
from sabm_mesa.analysis.theory.grid_routes import Cell, Route, Walk, shortest_routes, walk

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUTES = (style.BLUE, style.VERMILLION, style.PURPLE, style.BLACK)
"""The colours of different routes of a walker, the most frequent first; others are not drawn."""
_SHORTEST: dict[str, Any] = {"color": style.GREEN, "linestyle": (0, (1.6, 0.9)), "linewidth": 4.5}
_NAMED: dict[str, Any] = {"linewidth": 1.6, "marker": "o", "markersize": 3.5}
_COLUMNS = ["start", "route"]
_APART = 0.14
"""Cells between routes that would lie on one another."""
_LINE = 0.19
"""Inches of a line of the legend."""


def figures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    size: int = 10,
    exits: Sequence[Cell] = ((5, 0), (9, 4), (8, 9)),
) -> Mapping[str, Figure]:
    """All plots of the path test; of several minds, one each.

    Args:
        model_data: not used; all scenarios' plots are given it.
        agent_data: see `routes`; and the column ``mind``.
        subtitle: which mind was asked.
        size: cells along a side of the room.
        exits: the exits.
    """
    del model_data
    by_mind = dict(list(agent_data.groupby("mind", sort=False)))
    if len(by_mind) == 1:
        return {"routes": routes(agent_data, subtitle, size=size, exits=exits)}
    return {
        f"routes-{number}": routes(rows, str(mind), size=size, exits=exits)
        for number, (mind, rows) in enumerate(by_mind.items(), 1)
    }


def routes(
    agent_data: pd.DataFrame, subtitle: str = "", *, size: int, exits: Sequence[Cell]
) -> Figure:
    """The room with the routes that were named and the shortest ones, a panel for each start.

    Args:
        agent_data: one row an answer, with columns ``start`` and ``route`` as texts (see
            `in_words` of the agents); a route is missing when no list of cells was given.
        subtitle: which mind was asked.
        size: cells along a side of the room.
        exits: the exits.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_columns(agent_data, _COLUMNS)
    if agent_data.empty:
        raise ValueError("the data frame has no rows: nothing to plot")
    by_start = agent_data.groupby("start", sort=False)["route"]
    named = {str(start): given for start, given in by_start}
    columns = min(2, len(named))
    rows = -(-len(named) // columns)
    width = style.WIDTH if columns > 1 else 0.6 * style.WIDTH
    lines = 3 + max(_entries(each) for each in named.values())
    room, legend = width / columns, _LINE * lines
    figure = style.new_figure(
        "Ways out of the room", subtitle, width=width, height=rows * (room + legend + 0.3)
    )
    layout = figure.get_layout_engine()
    assert isinstance(layout, ConstrainedLayoutEngine)
    layout.set(h_pad=0.12)  # inches: the panels keep off the subtitle
    grid = figure.add_gridspec(2 * rows, columns, height_ratios=[room, legend] * rows)
    for i, (start, given) in enumerate(named.items()):
        row, column = divmod(i, columns)
        ax, below = (figure.add_subplot(grid[2 * row + k, column]) for k in (0, 1))
        (cell,) = from_words(start)
        _draw_room(ax, size, exits, cell)
        handles = _draw_routes(ax, given, size, exits, cell)
        ax.set_title(f"Start {start}", loc="left", fontsize=style.LABEL)
        below.set_axis_off()
        key = below.legend(handles=handles, loc="upper left", borderaxespad=0.0, frameon=False,
                           fontsize=style.NOTE, handlelength=2.6)  # fmt: skip
        key.set_in_layout(False)  # its place is the panel, however long its words are
    return figure


def _entries(named: pd.Series[str]) -> int:
    """The lines that the legend needs for the routes of a walker."""
    different = named.nunique()
    return min(different, len(ROUTES)) + (different > len(ROUTES)) + bool(named.isna().any())


def _draw_room(ax: Axes, size: int, exits: Sequence[Cell], start: Cell) -> None:
    ax.set_aspect("equal")
    for i in range(1, size):
        for line in (([i - 0.5] * 2, [-0.5, size - 0.5]), ([-0.5, size - 0.5], [i - 0.5] * 2)):
            ax.plot(*line, color="#D0D0D0", linewidth=0.5, zorder=1)
    for x, y in exits:
        ax.add_patch(Rectangle((y - 0.5, x - 0.5), 1, 1, facecolor=style.YELLOW, zorder=1.1))
    wall = Rectangle((-0.5, -0.5), size, size, edgecolor=style.BLACK, fill=False, zorder=1.2)
    ax.add_patch(wall)
    ax.plot(start[1], start[0], marker="s", markersize=9, color=style.BLACK, zorder=4)
    ax.set_xlim(-0.7, size - 0.3)
    ax.set_ylim(size - 0.3, -0.7)
    ticks = range(0, size, max(1, size // 10))
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.tick_params(labelsize=style.TICK, length=0, pad=1)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("y", fontsize=style.LABEL, labelpad=2)
    ax.set_ylabel("x", fontsize=style.LABEL, labelpad=2)
    ax.spines[:].set_visible(False)


def _draw_routes(
    ax: Axes, named: pd.Series[str], size: int, exits: Sequence[Cell], start: Cell
) -> list[Artist]:
    """Draw the shortest routes, and the different ones that were named; what the legend says."""
    best = shortest_routes(size, start, exits)
    for route in best:
        _line(ax, (start, *route), **_SHORTEST, zorder=2)
    ways = "a shortest way" if len(best) == 1 else "shortest ways"
    handles: list[Artist] = [
        Patch(facecolor=style.YELLOW, label="exit"),
        Line2D([], [], linestyle="none", marker="s", markersize=7, color="black", label="start"),
        Line2D([], [], **_SHORTEST, label=f"{ways}: {_moves(len(best[0]))}"),
    ]
    counts = Counter(from_words(text) for text in named.dropna())
    ranked = [route for route, _ in counts.most_common()]
    for i, (route, colour) in enumerate(zip(ranked, ROUTES, strict=False)):
        walked = walk(size, start, exits, route)
        aside = _APART * ((i + 1) // 2) * (-1) ** i
        _line(ax, walked.cells, aside, **_NAMED, color=colour, zorder=3)
        if walked.illegal is not None:
            _draw_illegal(ax, walked.cells[-1], walked.illegal, size, aside, colour)
        label = _caption(walked) + _of(counts[route], len(named))
        handles.append(Line2D([], [], **_NAMED, color=colour, label=label))
    unseen = sum(counts[route] for route in ranked[len(ROUTES) :])
    for n, words in ((unseen, "other ways"), (int(named.isna().sum()), "no list of cells")):
        if n:
            handles.append(Line2D([], [], linestyle="none", label=words + _of(n, len(named))))
    return handles


def _draw_illegal(ax: Axes, last: Cell, cell: Cell, size: int, aside: float, colour: str) -> None:
    """A dotted line to where an illegal move leads, and a cross there or at the edge."""
    x, y = (min(max(each, -0.5), size - 0.5) for each in cell)
    ax.plot([last[1] + aside, y + aside], [last[0] + aside, x + aside], color=colour,
            linewidth=1.4, linestyle=":", zorder=3)  # fmt: skip
    ax.plot(y + aside, x + aside, marker="x", markersize=8, markeredgewidth=2, color=colour,
            zorder=4.5, clip_on=False)  # fmt: skip


def _line(ax: Axes, cells: Route, aside: float = 0.0, **look: Any) -> None:
    ax.plot([y + aside for _, y in cells], [x + aside for x, _ in cells], **look)


def _caption(walked: Walk) -> str:
    if walked.exit is not None:
        return f"to {walked.exit} in {_moves(walked.moves)}"
    if walked.illegal is not None:
        return f"{_moves(walked.moves)}, then illegal: {walked.illegal}"
    return f"{_moves(walked.moves)}, to no exit"


def _moves(n: int) -> str:
    return "1 move" if n == 1 else f"{n} moves"


def _of(n: int, of: int) -> str:
    return f" ({n} of {of})" if of > 1 else ""
