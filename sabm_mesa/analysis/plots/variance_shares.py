"""A plot of where the variance of outcomes comes from."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.statistics import require_columns
from sabm_mesa.analysis.variance_split import INTERACTION, REST

LOOKS = (
    (style.BLUE, "white", ""), (style.ORANGE, "black", "//"), (style.PURPLE, "black", "\\\\"),
    (style.SKY_BLUE, "black", "xx"),
)  # fmt: skip
"""Colour, colour of the writing on it, and hatching of the factors: told apart in grey too."""
LAST = {INTERACTION: (style.YELLOW, "black", ".."), REST: ("#D9D9D9", "black", "")}
LEAST = 0.07
"""A smaller share has no room for its number."""


def variance_shares(
    shares: pd.DataFrame,
    measures: Mapping[str, str],
    sources: Mapping[str, str],
    *,
    title: str = "Where the variance comes from",
    subtitle: str = "",
) -> Figure | None:
    """Shares of the variance by source, one stacked bar a measure.

    Args:
        shares: one row a measure and source: ``measure``, ``source``, ``share`` (0 to 1; NaN for
            a measure without variance, which gets no bar).
        measures: measure → how it is called, from top to bottom.
        sources: source → how it is called.
        title: the title.
        subtitle: which minds were run, and how often.

    Returns:
        The figure; None when no measure has any variance.

    Raises:
        ValueError: if a column is missing.
    """
    require_columns(shares, ["measure", "source", "share"])
    known = shares.dropna(subset=["share"])
    shown = [name for name in measures if name in set(known["measure"])]
    if not shown:
        return None
    table = known.pivot_table(index="measure", columns="source", values="share").reindex(shown)
    found = list(dict.fromkeys(known["source"]))
    order = [
        *(each for each in found if each not in LAST),
        *(each for each in LAST if each in found),
    ]
    figure = style.new_figure(title, subtitle, height=0.5 * len(shown) + 0.9)
    ax = figure.add_subplot()
    left = np.zeros(len(shown))
    for number, source in enumerate(order):
        color, ink, hatch = LAST.get(source, LOOKS[number % len(LOOKS)])
        width = table[source].fillna(0.0).to_numpy(dtype=float)
        bars = ax.barh(
            range(len(shown)), width, left=left, height=0.62, color=color, hatch=hatch,
            edgecolor=style.BLACK, linewidth=0.5, label=sources.get(source, source),
        )  # fmt: skip
        texts = [f"{100 * each:.0f} %" if each >= LEAST else "" for each in width]
        for text in ax.bar_label(bars, texts, label_type="center", color=ink, fontsize=style.NOTE):
            if hatch:
                text.set_bbox({"facecolor": color, "edgecolor": "none", "pad": 1.5})
        left += width
    style.plain_axes(ax, "Share of the variance over runs")
    ax.grid(visible=False)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.set_xlim(0, 1)
    ax.set_yticks(range(len(shown)), [textwrap.fill(measures[name], 26) for name in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower left", ncols=len(order), frameon=False, fontsize=style.NOTE)
    return figure
