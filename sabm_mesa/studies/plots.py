"""Plots of studies: conditions side by side, codes of messages, and tournaments."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import (
    estimate_mean,
    mean_by_round,
    require_columns,
    require_rows,
)
from sabm_mesa.analysis.messages import CODES, shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY_BLUE)
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", (0, (5, 1.5)), (0, (2, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (1, 1)), (0, (8, 2)))
PUBLISHED = "*"
MOST_MARKS = 25
"""Of n published numbers of a condition, every (n // MOST_MARKS)-th one is drawn."""
_TITLE = 78
"""The number of characters that fit into the title of a panel."""
_HALF_LEGEND = 48
"""The number of characters that fit into half the width of a figure."""
NO_RUN = "no run has a value"
_DASHES = (0, (5, 2))
_LABEL_LINE, _HALF_TITLE = 22, 32
"""Characters of a line of a condition's label, and of a panel's title in half a figure."""
_ROW, _HEAD, _LINE = 0.34, 0.62, 0.2
"""Inches of a condition, of a panel's axis with the space around it, and of a line of title."""
_LOOKS = (
    (style.BLUE, "-", "o"), (style.VERMILLION, (0, (5, 1.5)), "s"), (style.GREEN, ":", "^"),
)  # fmt: skip
"""Colour, line and marker of each coder; all three differ between coders."""
_LABEL = 26
"""The maximum displayed length of an entrant's name."""


def look(number: int) -> tuple[str, str, object]:
    """Colour, marker and dashes of a condition by its place, different for the first 36."""
    again, n = divmod(number, len(COLORS))
    return COLORS[n], MARKERS[(n + again) % len(MARKERS)], DASHES[(n + again) % len(DASHES)]


@dataclass(frozen=True)
class Mark:
    """A prediction of theory, drawn as a line.

    Attributes:
        label: its name in the legend.
        heights: one number, or one per round.
        rounds: the rounds of the numbers; empty for one number for all rounds.
    """

    label: str
    heights: tuple[float, ...]
    rounds: tuple[float, ...] = ()


def by_round(
    data: pd.DataFrame,
    column: str,
    labels: Mapping[str, str],
    *,
    title: str,
    label: str,
    subtitle: str = "",
    published: pd.DataFrame | None = None,
    marks: Sequence[Mark] = (),
    given: int = 0,
    kept: bool = False,
) -> Figure:
    """The mean of a column by round and condition, with its interval over runs.

    Raises:
        ValueError: if a column is missing.
    """
    require_columns(data, ["condition", "run", "round", column])
    figure = style.new_figure(title, subtitle, height=4.1)
    ax = figure.add_subplot()
    rounds = sorted(data["round"].unique().tolist())
    few = len(rounds) <= style.FEW
    for number, (condition, name) in enumerate(labels.items()):
        runs = data[data["condition"] == condition]
        mine = mean_by_round(runs, column, kept=kept)
        color, marker, dashes = look(number)
        ax.fill_between(
            mine["round"], mine["low"], mine["high"], color=color, alpha=0.16, linewidth=0, zorder=2
        )
        ax.plot(
            mine["round"], mine["mean"], color=color, linestyle=dashes,
            marker=marker if few else "", markersize=5.5, linewidth=1.8, zorder=3,
            label=f"{name}{style.mean_note(runs, kept=kept)}",
        )  # fmt: skip
    _published(ax, published, list(labels))
    for mark, dash in zip(marks, DASHES[1:], strict=False):
        _mark(ax, mark, dash, rounds)
    style.plain_axes(ax, "Round", label)
    style.round_ticks(ax.xaxis, rounds, given)
    ax.margins(x=0.02)
    if ax.get_ylim()[0] > 0 and np.nanmin(data[column].to_numpy(dtype=float)) >= 0:
        low, high = ax.get_ylim()
        ax.set_ylim(0 if low < 0.4 * high else low, high)
    _legend_by_round(figure, ax)
    return figure


def distributions(
    data: pd.DataFrame,
    column: str,
    labels: Mapping[str, str],
    *,
    title: str,
    label: str,
    subtitle: str = "",
    people: tuple[str, Sequence[tuple[float, float, float]]] | None = None,
    marks: Sequence[Mark] = (),
) -> Figure:
    """The distribution of the values of an agent column, one panel per condition.

    Raises:
        ValueError: if a column is missing.
    """
    require_columns(data, ["condition", column])
    n = len(labels) + (people is not None)
    figure = style.new_figure(title, subtitle, height=0.9 + 1.5 * n)
    panels = figure.subplots(n, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for number, (condition, name) in enumerate(labels.items()):
        ax, mine = panels[number], data.loc[data["condition"] == condition, column]
        values = mine.dropna().astype(float).to_numpy()
        shares = 100 * pd.Series(values).round().value_counts(normalize=True)
        ax.bar(
            shares.index, shares, width=0.9, color=look(number)[0],
            edgecolor=style.BLACK, linewidth=0.3,
        )  # fmt: skip
        left = f", {mine.isna().sum()} without a value" if mine.isna().any() else ""
        head = textwrap.fill(f"{name} ({values.size} values{left})", _TITLE)
        ax.set_title(head, loc="left", fontsize=style.LABEL)
    if people is not None:
        for low, high, share in people[1]:
            width = high - low + 1
            panels[-1].bar(
                low - 0.5, share / width, width=width, align="edge", color=style.GREY,
                edgecolor=style.BLACK, linewidth=0.3,
            )  # fmt: skip
        group = textwrap.fill(people[0], _TITLE)
        panels[-1].set_title(group, loc="left", fontsize=style.LABEL)
    for ax in panels:
        style.plain_axes(ax)
        style.integer_ticks(ax.yaxis, most=4)
        if marks:
            named = {mark.heights[0]: mark.label for mark in marks}
            style.mark_values(ax, named, named=ax is panels[0])
    panels[-1].set_xlabel(label, fontsize=style.LABEL)
    figure.supylabel("Per cent for each number", fontsize=style.LABEL)
    return figure


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
    """Each measure by condition: one dot per run, the mean with its interval, the published number.

    Labels are listed from top to bottom.

    Raises:
        ValueError: if a column is missing.
    """
    require_columns(values, ["condition", "measure", "value"])
    wide = 1 if len(measures) == 1 else 2
    high = -(-len(measures) // wide)
    names = {condition: textwrap.fill(name, _LABEL_LINE) for condition, name in labels.items()}
    titles = {
        measure: textwrap.fill(name, _HALF_TITLE * (2 if wide == 1 else 1))
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
        for i, condition in enumerate(labels):
            _draw_runs(ax, i, mine.loc[mine["condition"] == condition, "value"])
        if published is not None:
            starred |= _draw_published(ax, list(labels), published[published["measure"] == measure])
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
    _legend_by_condition(figure, starred, bool(people))
    return figure


def _published(ax: Axes, published: pd.DataFrame | None, conditions: Sequence[str]) -> None:
    """Published numbers: open stars in the colour of their condition, side by side."""
    if published is None or published.empty:
        return
    aside = 0.012 * np.ptp(published["round"].to_numpy(dtype=float))
    for number, condition in enumerate(conditions):
        mine = published[published["condition"] == condition]
        if not mine.empty:
            ax.plot(
                mine["round"] + aside * (number - (len(conditions) - 1) / 2), mine["published"],
                linestyle="", marker=PUBLISHED, markersize=9, markerfacecolor="none",
                markeredgecolor=look(number)[0], markeredgewidth=1.1, zorder=5,
                markevery=max(1, len(mine) // MOST_MARKS),
            )  # fmt: skip
    ax.plot(
        [], [], linestyle="", marker=PUBLISHED, markersize=9, markerfacecolor="white",
        markeredgecolor=style.BLACK, label="published, in the colour of its condition",
    )  # fmt: skip


def _mark(ax: Axes, mark: Mark, dash: object, rounds: Sequence[int]) -> None:
    ends = (min(rounds), max(rounds)) if len(rounds) > 1 else (rounds[0] - 0.5, rounds[0] + 0.5)
    x = mark.rounds or ends
    y = mark.heights if mark.rounds else (mark.heights[0],) * 2
    ax.plot(x, y, color="#404040", linestyle=dash, linewidth=1.1, zorder=1.5, label=mark.label)


def _legend_by_round(figure: Figure, ax: Axes) -> None:
    """One legend below the axes, so that it covers nothing."""
    handles, names = ax.get_legend_handles_labels()
    band = ax.fill_between([], [], [], color=style.GREY, alpha=0.3, linewidth=0)
    handles, names = [*handles, band], [*names, style.INTERVAL]
    longest = max(map(len, names))
    figure.legend(
        handles, names, loc="outside lower left", ncols=2 if longest <= _HALF_LEGEND else 1,
        frameon=False, fontsize=style.NOTE,
    )  # fmt: skip


def _draw_runs(ax: Axes, row: int, values: pd.Series[float]) -> None:
    """The runs of a condition as dots, and their mean with its interval."""
    numbers = values.to_numpy(dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if not numbers.size:
        ax.annotate(
            NO_RUN, (0.02, row), xycoords=("axes fraction", "data"), va="center",
            fontsize=style.NOTE, color="#606060",
        )  # fmt: skip
        return
    color, marker, _ = look(row)
    aside = np.linspace(-0.22, 0.22, numbers.size) if numbers.size > 1 else np.zeros(1)
    ax.plot(
        numbers, row + aside, linestyle="", marker=marker, markersize=4, markerfacecolor=color,
        markeredgewidth=0, alpha=0.55, zorder=2,
    )  # fmt: skip
    estimate = estimate_mean(numbers)
    ax.vlines(estimate.mean, row - 0.28, row + 0.28, color=style.BLACK, linewidth=1.6, zorder=4)
    if numbers.size > 1:
        ax.hlines(row, estimate.low, estimate.high, color=style.BLACK, linewidth=1.6, zorder=4)


def _draw_published(ax: Axes, conditions: list[str], published: pd.DataFrame) -> bool:
    """Draw published numbers as stars; return whether there were any."""
    rows = published.dropna(subset=["published"])
    rows = rows[rows["condition"].isin(conditions)]
    for _, row in rows.iterrows():
        row_of = conditions.index(row["condition"])
        ax.plot(
            row["published"], row_of - 0.32, linestyle="", marker=PUBLISHED, markersize=10,
            markerfacecolor=look(row_of)[0], markeredgecolor=style.BLACK, markeredgewidth=0.6,
            zorder=5, clip_on=False,
        )  # fmt: skip
    return not rows.empty


def _widen(ax: Axes) -> None:
    """Widen the axis of numbers that differ only by rounding, so that they look equal."""
    low, high = (float(end) for end in ax.dataLim.intervalx)
    if not np.isfinite([low, high]).all():
        ax.set_xticks([])
    elif high - low < 1e-6 * max(1.0, abs(low + high) / 2):
        middle = (low + high) / 2
        start = -0.05 if 0 <= middle < 0.5 else middle - 0.5  # no negative share beside a 0
        ax.set_xlim(start, start + 1.0)


def _legend_by_condition(figure: Figure, starred: bool, people: bool) -> None:
    """One legend below the panels, so that it covers nothing."""
    run = Line2D([], [], linestyle="", marker="o", color=style.GREY, markersize=4)
    mean = Line2D([], [], color=style.BLACK, linewidth=1.6)
    star = Line2D(
        [], [], linestyle="", marker=PUBLISHED, markersize=10, markerfacecolor="white",
        markeredgecolor=style.BLACK,
    )  # fmt: skip
    dashes = Line2D([], [], color=style.GREY, linestyle=_DASHES, linewidth=1.3)
    shown = {"a run": run, "mean and its 95 % interval over runs": mean}
    shown |= {"published": star} if starred else {}
    shown |= {"people": dashes} if people else {}
    figure.legend(
        shown.values(), shown.keys(), loc="outside lower left", ncols=len(shown), frameon=False,
        fontsize=style.NOTE,
    )  # fmt: skip


def codes_by_round(coders: Mapping[str, pd.DataFrame], subtitle: str = "") -> Figure:
    """The share of the messages with each code, by round: one panel per code.

    The messages of all runs are taken together. The last panel has the mean number of messages per
    round and run.

    Raises:
        ValueError: when there is no coder, more than three, or no message, or a column is missing.
    """
    if not 1 <= len(coders) <= len(_LOOKS):
        raise ValueError(f"one to {len(_LOOKS)} coders can be drawn, not {len(coders)}")
    drawn = {name: _by_round(messages) for name, messages in coders.items()}
    figure = style.new_figure("What messages do, by round", subtitle, height=6.4)
    panels = figure.subplots(3, 3, sharex=True).ravel()
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
    for ax in panels[-3:]:
        ax.set_xlabel("Round", fontsize=style.LABEL)
        style.round_ticks(ax.xaxis, _rounds(next(iter(coders.values()))))
    if len(coders) > 1:
        figure.legend(
            *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(coders),
            fontsize=style.NOTE, frameon=False,
        )  # fmt: skip
    return figure


def _rounds(messages: pd.DataFrame) -> list[int]:
    return sorted(int(round_) for round_ in messages["round"].unique())


def _by_round(messages: pd.DataFrame) -> pd.DataFrame:
    """Shares by round: ``round``, the codes, ``a_round`` (messages per run)."""
    require_rows(messages, ["run", "round", *CODES])
    rounds = np.arange(messages["round"].min(), messages["round"].max() + 1)
    rates = shares(messages).set_index("round").reindex(rounds)
    a_round = rates["messages"].fillna(0) / messages["run"].nunique()
    return rates.rename_axis("round").reset_index().assign(a_round=a_round.to_numpy())


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


def ranking(table: pd.DataFrame, label: str, subtitle: str = "") -> Figure:
    """The mean score of each entrant with its interval, the best at the top.

    Raises:
        ValueError: if a column is missing, or there are no rows.
    """
    require_rows(table, ["entrant", "score", "low", "high", "invalid"])
    n = len(table)
    figure = style.new_figure("Tournament: ranking", subtitle, height=0.9 + 0.36 * n)
    ax = figure.subplots()
    places, scores = np.arange(n), table["score"].to_numpy(dtype=float)
    known = table["low"].notna().to_numpy()
    low, high = (table[end].to_numpy(dtype=float)[known] for end in ("low", "high"))
    ax.hlines(places[known], low, high, color=style.BLUE, linewidth=2.2)
    ax.plot(scores, places, "o", color=style.BLUE, markersize=7)
    names = [
        _name(str(entrant), int(invalid))
        for entrant, invalid in zip(table["entrant"], table["invalid"], strict=True)
    ]
    style.plain_axes(ax, f"{label}: mean and 95 % interval over seeds" if known.any() else label)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color="#E0E0E0", linewidth=0.6)
    ax.set_yticks(places, names)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)  # a file's name is no formula
    ax.set_ylim(n - 0.5, -0.5)
    ax.margins(x=0.06)
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.tick_params(axis="y", length=0)
    return figure


def _name(entrant: str, invalid: int = 0) -> str:
    # Of a long one the ends: files of one name are distinguished by their folders.
    half = _LABEL // 2
    name = entrant if len(entrant) <= _LABEL else f"{entrant[:half]}…{entrant[1 - half :]}"
    return f"{name}\n({invalid:,} invalid)" if invalid else name
