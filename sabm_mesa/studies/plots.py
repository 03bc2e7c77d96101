"""Plots of studies: conditions side by side, codes of messages, and tournaments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from matplotlib.transforms import ScaledTranslation

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import (
    Floats,
    estimate_mean,
    mean_by_round,
    require_columns,
    require_rows,
)
from sabm_mesa.analysis.messages import CODES, shares
from sabm_mesa.models.declarations import parameter_label
from sabm_mesa.recording.varied import word_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
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
_SHARED = "shared"
"""Marks a line that several conditions share."""
_DASHES = (0, (5, 2))
_LABEL_LINE, _HALF_TITLE = 22, 32
"""Characters of a line of a condition's label, and of a panel's title in half a figure."""
_ROW, _HEAD, _LINE = 0.34, 0.62, 0.2
"""Inches of a condition, of a panel's axis with the space around it, and of a line of title."""


def look(number: int) -> tuple[str, str, object]:
    """Colour, marker and dashes of a condition by its place, different for the first 36."""
    again, n = divmod(number, len(COLORS))
    return COLORS[n], MARKERS[(n + again) % len(MARKERS)], DASHES[(n + again) % len(DASHES)]


def by_round(
    data: pd.DataFrame,
    column: str,
    labels: Mapping[str, str],
    *,
    title: str,
    label: str,
    subtitle: str = "",
    published: pd.DataFrame | None = None,
    marks: Mapping[str, float] = MappingProxyType({}),
    given: int = 0,
    kept: bool = False,
) -> Figure:
    """The mean of a column by round and condition, with its interval over runs."""
    require_columns(data, ["condition", "run", "round", column])
    figure = style.new_figure(title, subtitle, height=4.1)
    ax = figure.add_subplot()
    rounds = sorted(data["round"].unique().tolist())
    few = len(rounds) <= style.FEW
    by_condition = {name: data[data["condition"] == name] for name in labels}
    means = [mean_by_round(runs, column, kept=kept) for runs in by_condition.values()]
    for number, (mine, name) in enumerate(zip(means, labels.values(), strict=True)):
        color, marker, dashes = look(number)
        same = [n for n, other in enumerate(means) if other["mean"].equals(mine["mean"])]
        shared = len(same) > 1 and not few
        if shared:  # one line of all their colours
            dashes = (6 * same.index(number), (6, 6 * (len(same) - 1)))
        ax.fill_between(
            mine["round"], mine["low"], mine["high"], color=color, alpha=0.16, linewidth=0, zorder=2
        )
        ax.plot(
            mine["round"], mine["mean"], color=color, linestyle=dashes,
            marker=marker if few else "", markersize=5.5, linewidth=1.8, zorder=3, label=name,
            gid=_SHARED if shared else None,
        )  # fmt: skip
        if few:
            _aside(ax.lines[-1:], number, len(means))
    _published(ax, published, list(labels))
    ends = (rounds[0], rounds[-1]) if len(rounds) > 1 else (rounds[0] - 0.5, rounds[0] + 0.5)
    for (name, height), dash in zip(marks.items(), DASHES[1:], strict=False):
        ax.plot(
            ends, (height, height), color="#404040", linestyle=dash, linewidth=1.1, zorder=1.5,
            label=name,
        )  # fmt: skip
    style.plain_axes(ax, "Round", label)
    style.round_ticks(ax.xaxis, rounds, given)
    ax.margins(x=0.02)
    if ax.get_ylim()[0] > 0 and np.nanmin(data[column].to_numpy(dtype=float)) >= 0:
        low, high = ax.get_ylim()
        ax.set_ylim(0 if low < 0.4 * high else low, high)
    notes = (style.mean_note(runs, kept=kept) for runs in by_condition.values())
    _legend_by_round(figure, ax, next(filter(None, notes), ""))
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
    marks: Mapping[str, float] = MappingProxyType({}),
) -> Figure:
    """The distribution of the values of an agent column, one panel per condition."""
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
            named = {height: name for name, height in marks.items()}
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
    estimates: Mapping[str, Sequence[float]] | None = None,
    of: str = "mean",
) -> Figure:
    """Each measure by condition: one dot per run, the mean with its interval, the published number.

    Labels are listed from top to bottom. `estimates` have another statistic of each condition,
    `of`, with its interval.
    """
    require_columns(values, ["condition", "measure", "value"])
    wide = 1 if len(measures) == 1 else 2
    high = -(-len(measures) // wide)
    names = {
        condition: "\n".join(textwrap.fill(line, _LABEL_LINE) for line in name.splitlines())
        for condition, name in labels.items()
    }
    titles = {
        measure: textwrap.fill(name, _HALF_TITLE * (2 if wide == 1 else 1))
        for measure, name in measures.items()
    }
    rows = sum(1 + 0.45 * name.count("\n") for name in names.values())
    lines = max(1 + name.count("\n") for name in titles.values())
    height = high * (_ROW * rows + _HEAD + _LINE * lines) + 0.3
    figure = style.new_figure(title, subtitle, height=height)
    panels = figure.subplots(high, wide, squeeze=False, sharey=True).ravel()
    for ax, (measure, name) in zip(panels, titles.items(), strict=False):
        mine = values[values["measure"] == measure]
        for i, condition in enumerate(labels):
            numbers = mine.loc[mine["condition"] == condition, "value"].dropna().to_numpy(float)
            estimate = estimates[condition] if estimates else estimate_mean(numbers)[1:]
            _draw_runs(ax, i, numbers, estimate, of)
        if published is not None:
            _draw_published(ax, list(labels), published[published["measure"] == measure])
        for number in (people or {}).get(measure, ()):
            ax.axvline(
                number, color=style.GREY, linestyle=_DASHES, linewidth=1.3, zorder=1,
                label="people",
            )  # fmt: skip
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
    handles = dict[str, Any]()
    for ax in panels:
        drawn, names_of = ax.get_legend_handles_labels()
        handles |= dict(zip(names_of, drawn, strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower left", ncols=len(handles) or 1,
        frameon=False, fontsize=style.NOTE,
    )  # fmt: skip
    return figure


def by_parameter(
    runs: pd.DataFrame, varied: Sequence[str], measures: Mapping[str, str], *, subtitle: str = ""
) -> Figure:
    """Each measure by the first varied parameter, in a colour for each value of the second.

    The runs have the varied parameters and the measures; those that differ in the third and later
    parameters are pooled. `measures` are column → its title, with its unit.
    """
    x, *others = varied
    is_scale = style.is_number(runs[x])
    words = {name: runs[name].map(word_of).map(style.short_minds) for name in varied}
    values = dict(zip(runs[x] if is_scale else words[x], words[x], strict=True))
    at = {value: value if is_scale else place for place, value in enumerate(values)}
    runs = runs.assign(**words, place=[at[value] for value in (runs[x] if is_scale else words[x])])
    groups = dict(list(runs.groupby(others[0], sort=False))) if others else {"mean": runs}
    labels = [parameter_label(name) for name in varied]
    by = " and ".join(label[0].lower() + label[1:] for label in labels[:2])
    pooled = f"all runs of: {', '.join(labels[2:])}" if labels[2:] else ""
    wide = min(len(measures), 2)
    high = -(-len(measures) // wide)
    figure = style.new_figure(
        f"Runs by {by}", " · ".join(filter(None, (subtitle, pooled))), height=2.4 * high + 0.5
    )
    panels = figure.subplots(high, wide, squeeze=False).ravel()
    for ax, (measure, title) in zip(panels, measures.items(), strict=False):
        for number, (name, mine) in enumerate(groups.items()):
            color, marker, _ = look(number)
            cells = [
                (place, *estimate_mean(cell)) for place, cell in mine.groupby("place")[measure]
            ]
            places, _n, means, low, up = np.array(cells, dtype=float).T
            dots = ax.plot(
                mine["place"], mine[measure].astype(float), linestyle="", marker=marker,
                markersize=3.5, color=color, alpha=0.4, markeredgewidth=0,
            )  # fmt: skip
            mean = ax.plot(
                places, means, color=color, linestyle="-" if is_scale else "", linewidth=1.2,
                marker=marker, markersize=6.5, markeredgecolor=style.BLACK, label=str(name),
            )  # fmt: skip
            bars = ax.vlines(places, low, up, color=color, linewidth=1.6)
            _aside(dots, 3 * number, 3 * len(groups), 6)
            _aside([*mean, bars], 3 * number + 1, 3 * len(groups), 6)
        style.plain_axes(ax, labels[0])
        ax.set_title(textwrap.fill(title, _HALF_TITLE), loc="left", fontsize=style.LABEL)
        if len(values) <= style.FEW:
            ax.set_xticks([at[value] for value in values], list(values.values()))
        ax.margins(x=0.15)
        _widen(ax, "y")
    for ax in panels[len(measures) :]:
        ax.set_axis_off()
    dots = "small: a run; large: the mean of the runs, with its 95 % interval"
    named = f"{labels[1]} ({dots})" if others else dots.capitalize()
    style.legend_below(figure, *panels, title=named, title_fontsize=style.NOTE)
    return figure


def _published(ax: Axes, published: pd.DataFrame | None, conditions: Sequence[str]) -> None:
    """Published numbers: open stars in the colour of their condition, side by side."""
    if published is None or published.empty:
        return
    for number, condition in enumerate(conditions):
        mine = published[published["condition"] == condition]
        if not mine.empty:
            ax.plot(
                mine["round"], mine["published"], linestyle="", marker=PUBLISHED, markersize=9,
                markerfacecolor="none", markeredgecolor=look(number)[0], markeredgewidth=1.1,
                zorder=5, markevery=max(1, len(mine) // MOST_MARKS),
            )  # fmt: skip
            _aside(ax.lines[-1:], number, len(conditions))
    ax.plot(
        [], [], linestyle="", marker=PUBLISHED, markersize=9, markerfacecolor="white",
        markeredgecolor=style.BLACK, label="published, in the colour of its condition",
    )  # fmt: skip


def _aside(artists: Iterable[Artist], number: int, of: int, points: float = 2.5) -> None:
    """Move what belongs to one of several conditions, so that none covers another."""
    for artist in artists:
        figure = artist.get_figure(root=True)
        assert figure is not None
        inches = points * (number - (of - 1) / 2) / 72
        moved = ScaledTranslation(inches, 0, figure.dpi_scale_trans)
        artist.set_transform(artist.get_transform() + moved)


def _legend_by_round(figure: Figure, ax: Axes, note: str) -> None:
    """One legend below the axes, so that it covers nothing."""
    handles, names = ax.get_legend_handles_labels()
    band = ax.fill_between([], [], [], color=style.GREY, alpha=0.3, linewidth=0)
    handles, names = [*handles, band], [*names, f"{style.INTERVAL}{note}"]
    longest = max(map(len, names))
    legend = figure.legend(
        handles, names, loc="outside lower left", ncols=2 if longest <= _HALF_LEGEND else 1,
        frameon=False, fontsize=style.NOTE,
    )  # fmt: skip
    for entry, handle in zip(legend.legend_handles, handles, strict=True):
        if handle.get_gid() == _SHARED:
            entry.set(linestyle="-")  # type: ignore[union-attr]  # an entry of a line


def _draw_runs(ax: Axes, row: int, numbers: Floats, estimate: Sequence[float], of: str) -> None:
    """The runs of a condition as dots, and an estimate with its interval."""
    if not numbers.size:
        ax.annotate(
            NO_RUN, (0.02, row), xycoords=("axes fraction", "data"), va="center",
            fontsize=style.NOTE, color="#606060", backgroundcolor="white",
        )  # fmt: skip
        return
    color, marker, _ = look(row)
    aside = np.linspace(-0.22, 0.22, numbers.size) if numbers.size > 1 else np.zeros(1)
    ax.plot(
        numbers, row + aside, linestyle="", marker=marker, markersize=4, markerfacecolor=color,
        markeredgewidth=0, alpha=0.8, zorder=4.5,
    )  # fmt: skip
    ax.plot([], [], linestyle="", marker="o", color=style.GREY, markersize=4, label="a run")
    middle, low, high = estimate
    ax.vlines(
        middle, row - 0.28, row + 0.28, color=style.BLACK, linewidth=1.6, zorder=4,
        label=f"{of} and its 95 % interval over runs",
    )  # fmt: skip
    if numbers.size > 1:
        ax.hlines(row, low, high, color=style.BLACK, linewidth=1.6, zorder=4)


def _draw_published(ax: Axes, conditions: list[str], published: pd.DataFrame) -> None:
    """Published numbers as stars in the colour of their condition."""
    rows = published.dropna(subset=["published"])
    rows = rows[rows["condition"].isin(conditions)]
    for condition, number in zip(rows["condition"], rows["published"], strict=True):
        row = conditions.index(condition)
        ax.plot(
            number, row - 0.32, linestyle="", marker=PUBLISHED, markersize=10,
            markerfacecolor="none", markeredgecolor=look(row)[0], markeredgewidth=1.1,
            zorder=5, clip_on=False,
        )  # fmt: skip
        ax.plot(
            [], [], linestyle="", marker=PUBLISHED, markersize=10, markerfacecolor="none",
            markeredgecolor=style.BLACK, label="published",
        )  # fmt: skip


def _widen(ax: Axes, axis: Literal["x", "y"] = "x") -> None:
    """Widen the axis of numbers that differ only by rounding, so that they look equal."""
    low, high = map(float, ax.dataLim.intervalx if axis == "x" else ax.dataLim.intervaly)
    if not np.isfinite([low, high]).all():
        ax.set(**{f"{axis}ticks": []})
    elif high - low < 1e-6 * max(1.0, abs(low + high) / 2):
        middle = (low + high) / 2
        start = -0.05 if 0 <= middle < 0.5 else middle - 0.5  # no negative share beside a 0
        ax.set(**{f"{axis}lim": (start, start + 1.0)})


def codes_by_round(coders: Mapping[str, pd.DataFrame], subtitle: str = "") -> Figure:
    """The share of the messages of all runs with each code, by round: one panel per code.

    Each coder of the same messages has one row per message: ``round`` and one column per code.
    """
    figure = style.new_figure("What messages do, by round", subtitle, height=4.6)
    panels = figure.subplots(2, 4, sharex=True).ravel()
    for number, (name, messages) in enumerate(coders.items()):
        require_rows(messages, ["round", *CODES])
        by_round = shares(messages)
        color, marker, dashes = look(number)
        few = len(by_round) <= style.FEW
        for ax, code in zip(panels, CODES, strict=True):
            ax.plot(
                by_round["round"], by_round[code], color=color, linestyle=dashes, linewidth=1.6,
                marker=marker if few else "", markersize=4.5, label=name, clip_on=False,
            )  # fmt: skip
    for ax, code in zip(panels, CODES, strict=True):
        style.plain_axes(ax)
        ax.set_title(code, fontsize=style.LABEL, loc="left", pad=3)
        ax.set_ylim(-0.04, 1.04)
        ax.set_yticks([0, 0.5, 1])
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    rounds = sorted({int(n) for messages in coders.values() for n in messages["round"]})
    for ax in panels[-4:]:
        ax.set_xlabel("Round", fontsize=style.LABEL)
        style.round_ticks(ax.xaxis, rounds)
    if len(coders) > 1:
        figure.legend(
            *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(coders),
            fontsize=style.NOTE, frameon=False,
        )  # fmt: skip
    return figure
