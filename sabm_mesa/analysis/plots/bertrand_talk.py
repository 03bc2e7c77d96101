"""Where talk begins or ends in a plot of the Bertrand competition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sabm_mesa.analysis.plots import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROW = 11.0
"""Height of a row of words, in points."""
_WIDTH = 0.13
"""Width of the words as a share of the width of the axes, rather more than they take."""
_MOST_ROWS = 4


def changes(run: pd.DataFrame) -> dict[int, str]:
    """Round → ``"talk on"`` or ``"talk off"``, for each round in which talk begins or ends.

    Args:
        run: one row a round, in order, with a column ``round`` and perhaps ``communication``.
    """
    if "communication" not in run.columns:
        return {}
    on = (run["communication"].astype(str) == "True").tolist()
    rounds = run["round"].tolist()
    return {
        rounds[i]: "talk on" if on[i] else "talk off"
        for i in range(1, len(on))
        if on[i] != on[i - 1]
    }


def rows(marks: Sequence[int], span: float) -> list[int]:
    """The row above the axes in which the words of each mark stand, so that none overlap.

    Words stand to the right of their mark. Those of the last mark stand in the lowest row, 0; the
    words of an earlier one rise above those that they would run into.

    Args:
        marks: the rounds, rising.
        span: number of rounds that the axis shows.
    """
    found: list[int] = []
    starts: list[float] = []  # by row, where its leftmost words or mark stand
    for mark in reversed(marks):
        end = mark + _WIDTH * span
        row = next((i for i, start in enumerate(starts) if end <= start), len(starts))
        starts[: row + 1] = [mark] * (row + 1)  # the mark rises through the rows below its words
        found.append(row)
    return found[::-1]


def draw(ax: Axes, run: pd.DataFrame) -> float:
    """A dotted line at each change, with words above the axes.

    Where changes follow one another so closely that more than a few rows would be needed, the
    lines of those that find no place have no words; on and off take turns.

    Args:
        ax: the axes.
        run: as for `changes`.

    Returns:
        The height of the words above the axes, in points.
    """
    found = changes(run)
    span = float(run["round"].iloc[-1] - run["round"].iloc[0] + 1)
    height = 0.0
    for (at, words), row in zip(found.items(), rows(list(found), span), strict=True):
        ax.axvline(at, color=style.GREY, linewidth=1.0, linestyle=":", zorder=1)
        if row >= _MOST_ROWS:
            continue
        height = max(height, (row + 1) * ROW)
        ax.annotate(
            f" {words}",
            xy=(at, 1),
            xycoords=ax.get_xaxis_transform(),
            xytext=(0, 2 + row * ROW),
            textcoords="offset points",
            va="bottom",
            fontsize=style.NOTE,
            color="#404040",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "linestyle": ":", "color": style.GREY, "linewidth": 1.0,
                "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0),
            },
        )  # fmt: skip
    return height
