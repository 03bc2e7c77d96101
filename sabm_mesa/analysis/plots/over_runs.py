"""What plots of a measure by round share: single lines, and the interval of their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis.plots import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CONFIDENCE = 0.95


def thin_lines(
    ax: Axes, data: pd.DataFrame, column: str, by: str, label: str, *, marker: str = "."
) -> None:
    """A thin line for each run or agent; the first one carries the label.

    Args:
        ax: where it is drawn.
        data: one row a round and run or agent, with ``round``, `column` and `by`.
        column: what is drawn.
        by: ``"run"`` or ``"agent"``.
        label: what the lines are called in the legend.
        marker: the mark of a round; none when empty.
    """
    for _, rows in data.sort_values("round").groupby(by):
        (line,) = ax.plot(rows["round"], rows[column], color=style.GREY, label=label)
        line.set(linewidth=0.6, alpha=0.6, marker=marker, markersize=3, zorder=2)
        label = "_nolegend_"


def interval(ax: Axes, summary: pd.DataFrame) -> None:
    """The confidence interval of the mean: a band, or a bar where there is one round only.

    Args:
        ax: where it is drawn.
        summary: see `bootstrap_mean_by_round`, with the confidence `CONFIDENCE`.
    """
    bounded = summary.dropna(subset=["low", "high"])
    look: dict[str, Any] = {
        "color": style.SKY_BLUE,
        "label": f"{CONFIDENCE:.0%} bootstrap interval of the mean".replace("%", " %"),
        "zorder": 3,
    }
    if len(summary) == 1:
        rounds, low, high = (bounded[name] for name in ("round", "low", "high"))
        ax.vlines(rounds, low, high, linewidth=6, alpha=0.6, **look)
    elif not bounded.empty:
        rounds, low, high = (summary[name] for name in ("round", "low", "high"))
        ax.fill_between(rounds, low, high, alpha=0.4, linewidth=0, **look)
