"""Legends of what is drawn, and a sentence where nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D

from sabm_mesa.analysis.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_ANSWER = "No answer could be used: there is nothing to draw."
DASH = 16.0
"""Points: the length of the dash that stands for a line of one round."""


def entries(ax: Axes) -> tuple[list[Any], list[str]]:
    """What is drawn in axes and has a label, for a legend.

    A line of a single point has no length: without a marker it becomes a dash.

    Args:
        ax: the axes, with all that is drawn in them.

    Returns:
        The artists and their labels.
    """
    found = [pair for pair in zip(*ax.get_legend_handles_labels(), strict=True) if _drawn(pair[0])]
    return [artist for artist, _ in found], [label for _, label in found]


def legend(ax: Axes, **look: Any) -> None:
    """Give axes a legend of what is drawn in them; none when there is nothing.

    Args:
        ax: the axes, with all that is drawn in them.
        look: what else `Axes.legend` takes.
    """
    artists, labels = entries(ax)
    if artists:
        ax.legend(artists, labels, **{"fontsize": style.NOTE, "frameon": False, **look})


def empty(ax: Axes, sentence: str = NO_ANSWER) -> None:
    """Say why axes are empty.

    Args:
        ax: the axes.
        sentence: what is said.
    """
    ax.annotate(
        sentence, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center",
        fontsize=style.LABEL, color="#404040", wrap=True,
    )  # fmt: skip


def _drawn(artist: Any) -> bool:
    if isinstance(artist, Line2D):
        points = np.column_stack([np.asarray(each, float) for each in artist.get_data(orig=False)])
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) and not np.ptp(points, axis=0).any() and artist.get_marker() in {"", "None"}:
            artist.set(marker="_", markersize=DASH, markeredgewidth=artist.get_linewidth())
        return bool(len(points))
    if isinstance(artist, BarContainer):
        return any(bar.get_height() for bar in artist.patches)
    if isinstance(artist, PathCollection):
        return bool(np.isfinite(np.asarray(artist.get_offsets(), float)).all(axis=1).any())
    if isinstance(artist, PolyCollection):
        paths = [path for path in artist.get_paths() if np.size(path.vertices)]
        return any(path.get_extents().width for path in paths)
    return True
