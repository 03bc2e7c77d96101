"""What the Poisson cognitive hierarchy predicts, drawn above a histogram of first picks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.theory.cognitive_hierarchy import (
    cognitive_hierarchy_choices,
    poisson_frequencies,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TAU = 1.5
"""Mean steps of reasoning: 1.5 fits many games (Camerer, Ho and Chong 2004, abstract)."""
SHOWN = 0.01
"""Steps that fewer players than this share take are not drawn."""
_AREA, _HEIGHT, _HEADROOM = 300.0, 0.88, 1.2


class Prediction(NamedTuple):
    """The picks of the steps from 1 on.

    Attributes:
        picks: where each step is, in units of a pick.
        shares: which share of the players takes that step; step 0, who pick anything, lack to 1.
    """

    picks: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]


def predicted(low: float, high: float, p: float) -> Prediction:
    """The picks that the hierarchy predicts for players who have seen no other pick.

    Args:
        low: smallest legal pick.
        high: largest legal pick.
        p: factor of the target.

    Raises:
        ValueError: if `p` is not positive.
    """
    shares = poisson_frequencies(TAU, 10)
    picks = cognitive_hierarchy_choices(TAU, 10, (low + high) / 2, p)
    shown = shares >= SHOWN
    shown[0] = False
    return Prediction(picks[shown], shares[shown])


def draw(ax: Axes, low: float, high: float, p: float) -> None:
    """Put a circle above the bars where each step picks, as large as its share of the players.

    Args:
        ax: the axes of the histogram; the limit of its counts is raised to make room.
        low: smallest legal pick.
        high: largest legal pick.
        p: factor of the target.
    """
    picks, shares = predicted(low, high, p)
    ax.set_ylim(0, _HEADROOM * ax.get_ylim()[1])
    across = ax.get_xaxis_transform()
    ax.scatter(
        picks, np.full(picks.size, _HEIGHT), s=_AREA * shares, transform=across,
        facecolor=style.PURPLE, edgecolor=style.BLACK, linewidth=0.5, zorder=3,
    )  # fmt: skip
    ax.text(
        0.995, _HEIGHT, f"circles: cognitive hierarchy, τ = {TAU:g}", transform=ax.transAxes,
        ha="right", va="center", fontsize=style.NOTE, color="#404040",
    )  # fmt: skip
