"""A plot of the measures of an experiment: runs, means with intervals, published numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sabm_mesa.analysis.inference import one_sample
from sabm_mesa.analysis.plots import style
from sabm_mesa.analysis.plots.conditions import PUBLISHED, look
from sabm_mesa.analysis.statistics import require_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NONE = "no run has a value"
_DASHES = (0, (5, 2))
_LABEL, _TITLE = 22, 32
"""Letters of a line of a condition's label, and of a panel's title in half a figure."""
_ROW, _HEAD, _LINE = 0.34, 0.62, 0.2
"""Inches of a condition, of a panel's axis with the space around it, and of a line of title."""


def by_condition(
    values: pd.DataFrame,
    labels: Mapping[str, str],
    measures: Mapping[str, str],
    *,
    title: str,
    subtitle: str = "",
    published: pd.DataFrame | None = None,
    people: Mapping[str, Sequence[float]] | None = None,
) -> Figure:
    """Each measure by condition: a dot a run, the mean with its interval, the published number.

    Args:
        values: one row a run and measure: ``condition``, ``measure``, ``value``.
        labels: condition → how it is called, from top to bottom.
        measures: measure → its name with the unit, one panel each.
        title: the title.
        subtitle: which minds were run, and how often.
        published: published numbers: ``measure``, ``condition``, ``published``.
        people: measure → published numbers of people.

    Raises:
        ValueError: if a column is missing.
    """
    require_columns(values, ["condition", "measure", "value"])
    wide = 1 if len(measures) == 1 else 2
    high = -(-len(measures) // wide)
    names = {condition: textwrap.fill(name, _LABEL) for condition, name in labels.items()}
    titles = {
        measure: textwrap.fill(name, _TITLE * (2 if wide == 1 else 1))
        for measure, name in measures.items()
    }
    rows = sum(1 + 0.45 * name.count("\n") for name in names.values())
    lines = max(1 + name.count("\n") for name in titles.values())
    height = high * (_ROW * rows + _HEAD + _LINE * lines) + 0.3
    figure = style.new_figure(title, subtitle, height=height)
    panels = figure.subplots(high, wide, squeeze=False, sharey=True).ravel()
    starred = False
    for ax, (measure, name) in zip(panels, titles.items(), strict=False):
        mine = values[values["measure"] == measure]
        for place, condition in enumerate(labels):
            _runs(ax, place, mine.loc[mine["condition"] == condition, "value"])
        if published is not None:
            starred |= _stars(ax, list(labels), published[published["measure"] == measure])
        for number in (people or {}).get(measure, ()):
            ax.axvline(number, color=style.GREY, linestyle=_DASHES, linewidth=1.3, zorder=1)
        style.plain_axes(ax)
        ax.grid(visible=False, axis="y")
        ax.grid(visible=True, axis="x", color="#E0E0E0", linewidth=0.6)
        ax.set_title(name, loc="left", fontsize=style.LABEL)
        ax.margins(x=0.06)
        _widen(ax)
        ax.ticklabel_format(axis="x", useOffset=False)
        ax.locator_params(axis="x", nbins=5)
        ax.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(labels)), list(names.values()))
    panels[0].set_ylim(len(labels) - 0.5, -0.5)
    for ax in panels[len(measures) :]:
        ax.set_axis_off()
    _legend(figure, starred, bool(people))
    return figure


def _runs(ax: Axes, place: int, values: pd.Series[float]) -> None:
    """The runs of a condition as dots, and their mean with its interval."""
    found = values.to_numpy(dtype=float)
    found = found[~np.isnan(found)]
    if not found.size:
        ax.annotate(
            NONE, (0.02, place), xycoords=("axes fraction", "data"), va="center",
            fontsize=style.NOTE, color="#606060",
        )  # fmt: skip
        return
    color, marker, _ = look(place)
    aside = np.linspace(-0.22, 0.22, found.size) if found.size > 1 else np.zeros(1)
    ax.plot(
        found, place + aside, linestyle="", marker=marker, markersize=4, markerfacecolor=color,
        markeredgewidth=0, alpha=0.55, zorder=2,
    )  # fmt: skip
    test = one_sample(found, 0.0, "above")
    ax.vlines(test.estimate, place - 0.28, place + 0.28, color=style.BLACK, linewidth=1.6, zorder=4)
    if found.size > 1:
        ax.hlines(place, test.low, test.high, color=style.BLACK, linewidth=1.6, zorder=4)


def _stars(ax: Axes, conditions: list[str], published: pd.DataFrame) -> bool:
    """Published numbers as stars; whether there were any."""
    said = published.dropna(subset=["published"])
    said = said[said["condition"].isin(conditions)]
    for _, row in said.iterrows():
        place = conditions.index(row["condition"])
        ax.plot(
            row["published"], place - 0.32, linestyle="", marker=PUBLISHED, markersize=10,
            markerfacecolor=look(place)[0], markeredgecolor=style.BLACK, markeredgewidth=0.6,
            zorder=5, clip_on=False,
        )  # fmt: skip
    return not said.empty


def _widen(ax: Axes) -> None:
    """Give numbers that differ by rounding alone an axis on which they do not seem to differ."""
    low, high = (float(end) for end in ax.dataLim.intervalx)
    if not np.isfinite([low, high]).all():
        ax.set_xticks([])
    elif high - low < 1e-6 * max(1.0, abs(low + high) / 2):
        middle = (low + high) / 2
        start = -0.05 if 0 <= middle < 0.5 else middle - 0.5  # no negative share beside a 0
        ax.set_xlim(start, start + 1.0)


def _legend(figure: Figure, starred: bool, people: bool) -> None:
    """One legend below the panels, so that it covers nothing."""
    run = Line2D([], [], linestyle="", marker="o", color=style.GREY, markersize=4)
    mean = Line2D([], [], color=style.BLACK, linewidth=1.6)
    star = Line2D(
        [], [], linestyle="", marker=PUBLISHED, markersize=10, markerfacecolor="white",
        markeredgecolor=style.BLACK,
    )  # fmt: skip
    dashes = Line2D([], [], color=style.GREY, linestyle=_DASHES, linewidth=1.3)
    shown = {"a run": run, "mean and its 95 % bootstrap interval over runs": mean}
    shown |= {"published": star} if starred else {}
    shown |= {"people": dashes} if people else {}
    figure.legend(
        shown.values(), shown.keys(), loc="outside lower left", ncols=len(shown), frameon=False,
        fontsize=style.NOTE,
    )  # fmt: skip
