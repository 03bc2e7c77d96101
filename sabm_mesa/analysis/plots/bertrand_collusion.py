"""The collusion index of the Bertrand competition, round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sabm_mesa.analysis.plots import bertrand_talk, style
from sabm_mesa.analysis.statistics import require_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TAIL = 0.05
"""The share of the values at either end that may lie beyond the axis."""


def collusion(model_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """The collusion index Δ by round: 0 at the Bertrand profit, 1 at the cartel profit.

    Each run is a line; of several runs the mean of those that still go on is drawn too. A few
    values far outside, as in the first rounds, are cut off, and the subtitle says so.

    Args:
        model_data: one row a run and round, with columns ``run``, ``round``,
            ``collusion_index`` (see `theory.bertrand.collusion_index`) and, if it is to be
            marked, ``communication``.
        subtitle: which minds and condition were run; the number of runs is added.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_columns(model_data, ["run", "round", "collusion_index"])
    if model_data.empty:
        raise ValueError("the data frame has no rows: nothing to plot")
    runs = [run.sort_values("round") for _, run in model_data.groupby("run")]
    counted = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    words = f"{subtitle} · {counted}" if subtitle else counted
    low, high, cut = _limits(model_data["collusion_index"])
    figure = style.new_figure("Collusion index by round", words + cut, height=3.6)
    ax = figure.add_subplot()
    _references(ax)
    bertrand_talk.draw(ax, max(runs, key=len))
    marker = "o" if len(model_data) == len(runs) else ""
    alone = len(runs) == 1
    for i, run in enumerate(runs):
        (line,) = ax.plot(run["round"], run["collusion_index"], marker=marker, zorder=3)
        line.set(color=style.BLUE if alone else style.GREY, linewidth=1.4 if alone else 0.6)
        line.set_label("_nolegend_" if i else "the run" if alone else "single runs")
    if not alone:
        mean = model_data.groupby("round")["collusion_index"].mean()
        ax.plot(
            mean.index, mean, color=style.BLUE, linewidth=1.8, marker=marker, zorder=4,
            label="mean of the runs that go on",
        )  # fmt: skip
    style.plain_axes(ax, "Round", "Collusion index Δ")
    style.integer_ticks(ax.xaxis, sorted(model_data["round"].unique().tolist()))
    ax.set_xlim(model_data["round"].min() - 0.5, model_data["round"].max() + 0.5)
    ax.set_ylim(low, high)
    figure.legend(loc="outside lower center", ncols=4, fontsize=style.NOTE, frameon=False)
    return figure


def _limits(index: pd.Series[float]) -> tuple[float, float, str]:
    """Limits of the axis for nearly all values, and words on those that lie beyond it."""
    values = index.dropna().to_numpy(dtype=np.float64)
    ends = np.quantile(values, [_TAIL, 1 - _TAIL]).tolist() if values.size else [0.0, 1.0]
    low, high = min(0.0, ends[0]), max(1.0, ends[1])
    margin = 0.1 * (high - low)
    low, high = low - margin, high + margin
    beyond = [f"down to {values.min():.2g}"] if values.min(initial=0.0) < low else []
    beyond += [f"up to {values.max():.2g}"] if values.max(initial=1.0) > high else []
    words = f" · values {' and '.join(beyond)} not shown" if beyond else ""
    return low, high, words.replace("-", "−")


def _references(ax: Axes) -> None:
    """The two reference profits and the shade between them."""
    ax.axhspan(0, 1, color=style.GREEN, alpha=0.15, linewidth=0, zorder=0.5)
    for height, colour, name in ((1, style.GREEN, "cartel (1)"), (0, style.BLACK, "Bertrand (0)")):
        line = ax.axhline(height, color=colour, linewidth=1.0, zorder=2.5, label=name)
        line.set_linestyle((0, (6, 2)))
