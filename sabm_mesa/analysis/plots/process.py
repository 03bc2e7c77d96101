"""Plots of the process measures: what messages do, round by round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.process import CODES, shares
from sabm_mesa.analysis.statistics import require_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 60
"""With more rounds than this, neighbouring ones are put together into so many stretches."""
_LOOKS = (
    (style.BLUE, "-", "o"), (style.VERMILLION, (0, (5, 1.5)), "s"), (style.GREEN, ":", "^"),
)  # fmt: skip
"""Colour, line and marker of each coder: any one of them tells two coders apart."""


def codes_by_round(coders: Mapping[str, pd.DataFrame], subtitle: str = "") -> Figure:
    """The share of the messages that carry each code, by round: one panel a code.

    The messages of all runs are taken together. Of many rounds, `MOST_POINTS` stretches of equal
    length are drawn, each at the middle of its rounds. The last panel has the number of messages
    a round in each run, on average over the runs.

    Args:
        coders: name of a coder → the messages as it coded them, with ``run``, ``round`` and a
            column a code; up to three coders of the same messages.
        subtitle: which runs, and which minds and condition.

    Raises:
        ValueError: when there is no coder, more than three, or no message, or a column is missing.
    """
    if not 1 <= len(coders) <= len(_LOOKS):
        raise ValueError(f"one to {len(_LOOKS)} coders can be drawn, not {len(coders)}")
    drawn = {name: _by_stretch(messages) for name, messages in coders.items()}
    figure = style.new_figure("What messages do, by round", subtitle, height=6.4)
    panels = figure.subplots(4, 2, sharex=True).ravel()
    for ax, code in zip(panels, CODES, strict=False):
        for (name, data), look in zip(drawn.items(), _LOOKS, strict=False):
            _line(ax, data, code, look, name)
        style.plain_axes(ax)
        ax.set_title(code, fontsize=style.LABEL, loc="left", pad=3)
        ax.set_ylim(-0.04, 1.04)
        ax.set_yticks([0, 0.5, 1])
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    first = next(iter(drawn.values()))
    counts = panels[len(CODES)]
    _line(counts, first, "a_round", (style.GREY, "-", "D"), "_nolegend_")
    style.plain_axes(counts)
    counts.set_title("messages a round", fontsize=style.LABEL, loc="left", pad=3)
    counts.set_ylim(0, style.headroom(first["a_round"].tolist(), 0.1))
    for ax in panels[-2:]:
        ax.set_xlabel("Round", fontsize=style.LABEL)
        style.integer_ticks(ax.xaxis, _rounds(next(iter(coders.values()))))
    if len(coders) > 1:
        figure.legend(
            *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(coders),
            fontsize=style.NOTE, frameon=False,
        )  # fmt: skip
    return figure


def _rounds(messages: pd.DataFrame) -> list[int]:
    return sorted(int(round_) for round_ in messages["round"].unique())


def _by_stretch(messages: pd.DataFrame) -> pd.DataFrame:
    """Shares by stretch of rounds: ``round`` (its middle), the codes, ``a_round``."""
    require_columns(messages, ["run", "round", *CODES])
    if messages.empty:
        raise ValueError("the data frame has no rows: nothing to plot")
    rounds = np.arange(messages["round"].min(), messages["round"].max() + 1)
    n = min(len(rounds), MOST_POINTS)
    stretch = pd.Series(np.arange(len(rounds)) * n // len(rounds), index=rounds)
    middle = pd.Series(rounds, index=rounds).groupby(stretch).mean()
    length = stretch.value_counts()
    found = shares(messages.assign(stretch=messages["round"].map(stretch)), "stretch")
    found = found.set_index("stretch").reindex(middle.index)
    said = found["messages"].fillna(0) / length.reindex(middle.index) / messages["run"].nunique()
    return found.assign(round=middle, a_round=said)


def _line(
    ax: Axes, data: pd.DataFrame, column: str, look: tuple[str, object, str], label: str
) -> None:
    color, dashes, marker = look
    few = len(data) <= style.FEW
    ax.plot(
        data["round"], data[column].astype(float),
        color=color, linestyle=dashes, linewidth=1.6, label=label, clip_on=False,
        marker=marker if few else "", markersize=4.5,
    )  # fmt: skip
