"""How deep the players of a guessing game reason, round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.statistics import require_columns
from sabm_mesa.analysis.theory.guessing_game import HIGHER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
UNREADABLE = "unreadable"
LEVELS = (*range(HIGHER, -2, -1),)
"""The classes of `nagel_level` as they are stacked, the deepest at the bottom."""
NAMES = (
    "deeper",
    *(f"step {k}" for k in reversed(range(HIGHER))),
    "above the\nreference",
    UNREADABLE,
)
COLOURS = ("#08306B", "#2171B5", "#6BAED6", "#BDD7E7", "#EFF3FF", style.ORANGE)
"""The deeper the darker; who picks above the reference takes no step."""
LOOKS: list[dict[str, Any]] = [
    *({"facecolor": colour, "edgecolor": style.GREY} for colour in COLOURS),
    {"facecolor": "#FFFFFF", "edgecolor": style.GREY, "hatch": "////"},
]
NUMBERED = 6
"""Up to this many rounds the shares are written into the bars."""
_ROOM_FOR_NUMBER = 0.06


def levels_by_round(agent_data: pd.DataFrame) -> pd.DataFrame:
    """Shares of the answers by class of reasoning and round, over all runs.

    Args:
        agent_data: one row a run, round and player, with columns ``round`` and ``level``: the
            class after Nagel (1995), see `nagel_level`; NaN where no pick could be read.

    Returns:
        Rounds in rising order as index and one column a class: 4 (deeper than step 3) down to
        -1 (above the reference), then ``unreadable``; the shares of a round sum to 1.

    Raises:
        ValueError: if a column is missing, there are no rows, or a level is none of these.
    """
    require_columns(agent_data, ["round", "level"])
    if agent_data.empty:
        raise ValueError("the data frame has no rows: nothing to plot")
    levels = agent_data["level"].to_numpy(dtype=np.float64, na_value=np.nan)
    if unknown := set(levels[~np.isnan(levels)].tolist()) - set(LEVELS):
        raise ValueError(f"there is no level {min(unknown):g}: levels are -1 to {HIGHER}")
    classes = [level if level == level else UNREADABLE for level in levels.tolist()]
    counts = pd.crosstab(agent_data["round"].to_numpy(), np.array(classes, dtype=object))
    counts = counts.reindex(columns=[*LEVELS, UNREADABLE], fill_value=0)
    return counts.div(counts.sum(axis=1), axis=0).rename_axis(index="round", columns=None)


def depth(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Steps of reasoning by round: the shares of the classes, stacked.

    Args:
        agent_data: see `levels_by_round`, with ``run`` besides.
        subtitle: which minds and condition were run; the number of runs is added.

    Raises:
        ValueError: as `levels_by_round`.
    """
    require_columns(agent_data, ["run"])
    shares = levels_by_round(agent_data)
    n_runs = agent_data["run"].nunique()
    counted = "1 run" if n_runs == 1 else f"{n_runs} runs"
    words = f"{subtitle} · {counted}" if subtitle else counted
    figure = style.new_figure("Steps of reasoning by round (Nagel 1995)", words, height=3.4)
    ax = figure.add_subplot()
    rounds = shares.index.to_numpy()
    bottom = np.zeros(len(shares))
    drawn = [*LEVELS, UNREADABLE] if shares[UNREADABLE].any() else [*LEVELS]
    for level, look in zip(drawn, LOOKS, strict=False):
        _layer(ax, rounds, bottom, shares[level].to_numpy(), look)
        bottom += shares[level].to_numpy()
    style.plain_axes(ax, "Round", "Share of the answers")
    ax.grid(visible=False)
    style.integer_ticks(ax.xaxis, rounds.tolist())
    ax.set_xlim(rounds.min() - 0.6, rounds.max() + 0.6)
    ax.set_ylim(0, 1)
    looks = zip(NAMES, LOOKS, strict=True)
    handles = [
        Patch(label=name, linewidth=0.5, **look)
        for level, (name, look) in zip(drawn, looks, strict=False)
        if shares[level].any()
    ]
    figure.legend(
        handles=handles[::-1], loc="outside right center", fontsize=style.NOTE, frameon=False
    )
    return figure


def _layer(ax: Axes, rounds: Ints, bottom: Floats, heights: Floats, look: dict[str, Any]) -> None:
    """One class: a piece of the bar of each round, with its share where there is room."""
    few = len(rounds) <= style.FEW
    bars = ax.bar(rounds, heights, bottom=bottom, width=0.75 if few else 1.0, zorder=2, **look)
    for bar, height in zip(bars, heights, strict=True):
        bar.set(visible=height > 0, linewidth=0.5 if few else 0.0)
    if len(rounds) > NUMBERED or "hatch" in look:
        return
    colour = "#FFFFFF" if look["facecolor"] in COLOURS[:2] else style.BLACK
    for x, low, height in zip(rounds, bottom, heights, strict=True):
        if height >= _ROOM_FOR_NUMBER:
            words = f"{height:.0%}".replace("%", " %")
            text = ax.text(x, low + height / 2, words, fontsize=style.NOTE, color=colour, zorder=3)
            text.set(ha="center", va="center")
