"""Charts as data: declared once, drawn in the browser, and drawn with matplotlib for files.

A scenario's page declares its charts of one run as functions of its data frames. The viewer sends
the points to the browser, where ECharts draws them. `draw` makes a figure of the same chart for
download.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.errors import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY_BLUE, style.VERMILLION)
"""Colours of series, in turn."""
GOLDEN = (5**0.5 - 1) / 2
ASIDE = 0.3
"""Maximum horizontal offset of a dot from its round, so that equal values do not overlap."""
FAINT = 0.35
"""Opacity of the other series when one agent is highlighted."""
DIGITS = 6
"""Significant digits of a value that is sent to a browser."""

THUMBNAIL, MOST_NAMED = (4.09, 3.07), 4
"""Size of a thumbnail in inches, and the maximum number of its legend entries."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One series of a chart.

    Attributes:
        label: its name.
        points: x and y of each point, in the order of x; NaN as y leaves a gap.
        kind: lines, dots, or bars stacked on the bars of the other series.
        colour: its colour.
        agents: the agent of each dot, or the single agent of a line; empty: no agents.
        look: whether it is highlighted, or faint because another one is.
        dashed: whether the line is of published data or another condition.
    """

    label: str
    points: Sequence[Point]
    kind: Literal["line", "dots", "bars"] = "line"
    colour: str = style.BLUE
    agents: Sequence[int] = ()
    look: Literal["plain", "strong", "faint"] = "plain"
    dashed: bool = False

    def for_browser(self, first: int) -> dict[str, Any]:
        """The series as JSON values; each dot of an agent is followed by the agent.

        Args:
            first: the displayed number of round 0.
        """
        points = [[x + first, _sent(y)] for x, y in self.points]
        if self.kind == "dots" and self.agents:
            points = [[*at, agent] for at, agent in zip(points, self.agents, strict=True)]
        agent = self.agents[0] if self.kind != "dots" and self.agents else None
        names = ("label", "kind", "colour", "look", "dashed")
        return {**{key: getattr(self, key) for key in names}, "agent": agent, "points": points}


@dataclass(frozen=True)
class Level:
    """A horizontal line at a value from theory or from people.

    Attributes:
        at: the value.
        label: its name.
        colour: the colour of the line.
    """

    at: float
    label: str
    colour: str = style.GREY


@dataclass(frozen=True)
class Chart:
    """A chart of one run; its axis of values contains 0.

    Attributes:
        name: its name in file names.
        title: a description of its content.
        series: its series.
        y: the label of the axis of values, with its unit.
        levels: its horizontal lines.
        high: the upper end of the axis of values; None: automatic.
        last: the last round of the axis; None: the last one with a point.
        noun: the word for a round.
        first: the displayed number of round 0.
    """

    name: str
    title: str
    series: Sequence[Series] = ()
    y: str = ""
    levels: Sequence[Level] = ()
    high: float | None = None
    last: int | None = None
    noun: str = "round"
    first: int = 1

    def for_browser(self) -> dict[str, Any]:
        """The chart as JSON values; x is the displayed number of a round."""
        return {
            **{key: getattr(self, key) for key in ("name", "title", "y", "high", "first")},
            "x": self.noun.capitalize(),
            "last": None if self.last is None else self.last + self.first,
            "levels": [[level.at, level.label, level.colour] for level in self.levels],
            "series": [series.for_browser(self.first) for series in self.series],
        }

    def with_own(self, agent: int, name: str) -> Chart:
        """The chart with the line of one agent in front of the others.

        Its dots are joined to a line. A chart without lines or dots of the agent is unchanged.

        Args:
            agent: the agent.
            name: its name, for the legend.
        """
        if not any(agent in series.agents for series in self.series):
            return self
        shown, path = [], []
        for series in self.series:
            mine = [
                (round(x), y)
                for (x, y), of in zip(series.points, series.agents, strict=False)
                if of == agent and series.kind == "dots"
            ]
            path += mine
            strong = series.kind == "line" and agent in series.agents
            look: Literal["strong", "faint"] = "strong" if strong else "faint"
            shown.append(replace(series, look=look) if series.agents else series)
        if path:
            shown.append(
                Series(name, sorted(path), colour="#000000", agents=(agent,), look="strong")
            )
        return replace(self, series=shown)


def lines(
    data: pd.DataFrame,
    labels: Mapping[str, str],
    colours: Sequence[str] = COLOURS,
    agents: Sequence[int] = (),
) -> list[Series]:
    """A line for each column.

    Args:
        data: one row per round, with ``round`` and the columns.
        labels: column → the name of its line.
        colours: the colours, used in turn.
        agents: the agent of each line; empty: no agents.
    """
    rounds = data["round"].tolist() if len(data) else []
    return [
        Series(
            label,
            list(zip(rounds, data[column].astype(float).tolist(), strict=True)) if rounds else [],
            colour=colours[i % len(colours)],
            agents=agents[i : i + 1],
        )
        for i, (column, label) in enumerate(labels.items())
    ]


def dots(
    data: pd.DataFrame, column: str, noun: str, colours: Sequence[str] = COLOURS
) -> list[Series]:
    """A dot for each agent and round, in a series for each mind.

    Args:
        data: one row per agent and round, with ``round``, ``agent``, ``mind`` and the column.
        column: the values.
        noun: the name of the series if all agents have the same mind.
        colours: the colours, used in turn.
    """
    series = []
    groups = list(data.groupby("mind", sort=False)) if len(data) else []
    for i, (mind, rows) in enumerate(groups):
        name = mind if len(groups) > 1 else noun
        # Evenly spread offsets instead of random ones: the same data give the same chart.
        aside = (rows.groupby("round").cumcount() + 1) * GOLDEN % 1 - 0.5
        xs = (rows["round"] + 2 * ASIDE * aside).round(3)
        points = list(zip(xs.tolist(), rows[column].astype(float).tolist(), strict=True))
        colour = colours[i % len(colours)]
        series.append(Series(str(name), points, "dots", colour, agents=rows["agent"].tolist()))
    return series


def agent_lines(data: pd.DataFrame, column: str, by: str = "agent") -> list[Series]:
    """A line for each agent.

    Args:
        data: one row per agent and round, with ``round``, ``agent``, the column and `by`.
        column: the values.
        by: the column with the numbers or names of the agents.
    """
    groups = data.groupby(by, sort=False) if len(data) else ()
    return [
        Series(
            name if isinstance(name, str) else f"agent {name!s}",
            list(zip(rows["round"].tolist(), rows[column].astype(float).tolist(), strict=True)),
            colour=COLOURS[i % len(COLOURS)],
            agents=rows["agent"].tolist()[:1],
        )
        for i, (name, rows) in enumerate(groups)
    ]


def column_charts(model_data: pd.DataFrame, columns: Mapping[str, str]) -> list[Chart]:
    """A chart of each numeric column, for scenarios that declare no charts.

    Args:
        model_data: one row per round.
        columns: column → its title; columns without numbers are left out.

    Returns:
        The charts of the first `MOST_CHARTS` columns.
    """
    numbers = {
        name: one_line(title)
        for name, title in columns.items()
        if not len(model_data) or style.is_number(model_data[name])
    }
    return [
        Chart(name, f"{title} by round", lines(model_data, {name: title}), title)
        for name, title in list(numbers.items())[: style.MOST_CHARTS]
    ]


def counted(charts: Sequence[Chart], noun: str, first: int, last: int | None) -> list[Chart]:
    """Charts with the scenario's word and numbers for rounds.

    Args:
        charts: the charts.
        noun: the word for a round.
        first: the number of round 0.
        last: the last planned round.
    """
    numbered = []
    for chart in charts:
        until = last if chart.last is None else chart.last
        title = chart.title.replace(" by round", f" by {noun}")
        numbered.append(replace(chart, title=title, noun=noun, first=first, last=until))
    return numbered


def draw(chart: Chart, subtitle: str = "") -> Figure:
    """Draw a chart with matplotlib.

    Args:
        chart: the chart.
        subtitle: the minds and the condition of the run.
    """
    figure = style.new_figure(chart.title, subtitle, height=3.4)
    ax = figure.add_subplot()
    rounds = _paint(ax, chart)
    style.plain_axes(ax, chart.noun.capitalize(), chart.y)
    style.integer_ticks(ax.xaxis, rounds)
    if not rounds:
        style.explain_empty(ax, "No round is played yet.")
    entries = style.legend_entries(ax)
    if len(entries[0]) > 1:
        figure.legend(
            *entries, loc="outside lower center", ncols=3, frameon=False, fontsize=style.NOTE
        )
    return figure


def thumbnail(chart: Chart) -> Figure:
    """Draw a chart that is readable at a third of the page width."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=THUMBNAIL, layout="constrained")
    figure.suptitle(chart.title, x=0.02, ha="left", fontsize=style.TITLE, fontweight="bold")
    ax = figure.add_subplot()
    rounds = _paint(ax, chart, thick=1.3)
    style.plain_axes(ax)
    ax.tick_params(labelsize=style.LABEL)
    style.integer_ticks(ax.xaxis, rounds if len(rounds) < style.FEW else (), most=6)
    ax.locator_params(axis="y", nbins=5)
    entries = style.legend_entries(ax)
    if 1 < len(entries[0]) <= MOST_NAMED:
        figure.legend(
            *entries, loc="outside lower left", ncols=2, frameon=False, fontsize=style.LABEL
        )
    return figure


def _paint(ax: Axes, chart: Chart, thick: float = 1.0) -> list[int]:
    """Draw the series and levels of a chart; return the displayed numbers of its rounds."""
    bottom: dict[float, float] = {}
    few = max((len(series.points) for series in chart.series), default=0) <= style.FEW
    for series in chart.series:
        xs = [x + chart.first for x, _ in series.points]
        ys = [y for _, y in series.points]
        strength = FAINT if series.look == "faint" else 1.0
        if series.kind == "bars":
            below = [bottom.get(x, 0.0) for x in xs]
            ax.bar(xs, ys, 0.8, below, color=series.colour, label=series.label, linewidth=0)
            bottom |= {x: low + y for x, low, y in zip(xs, below, ys, strict=True)}
        elif series.kind == "dots":
            ax.scatter(
                xs, ys, s=14, color=series.colour, alpha=0.6 * strength, linewidths=0,
                label=series.label,
            )  # fmt: skip
        else:
            ax.plot(
                xs, ys, color=series.colour,
                linewidth=thick * (3 if series.look == "strong" else 1.8), alpha=strength,
                linestyle="--" if series.dashed else "-",
                marker="o" if few else "", markersize=5, label=series.label,
            )  # fmt: skip
    for level in chart.levels:
        ax.axhline(level.at, color=level.colour, linestyle=":", linewidth=1.4, label=level.label)
    low, high = ax.get_ylim()
    ax.set_ylim(min(0.0, low), max(0.0, high) if chart.high is None else chart.high)
    return sorted({round(x) + chart.first for series in chart.series for x, _ in series.points})


def _sent(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
