"""Charts as data: declared once, drawn in the browser, and drawn with matplotlib for files.

A scenario declares its charts of one run as a function of its data frames. The viewer sends the
points to the browser, where ECharts draws them. `draw` makes a figure of the same chart; `pooled`
makes one chart of several runs: thin lines, their mean and its interval.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import mean_by_round
from sabm_mesa.errors import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY_BLUE, style.VERMILLION)
"""Colours of series, in turn."""
GOLDEN = (5**0.5 - 1) / 2
ASIDE = 0.3
"""Maximum horizontal offset of a dot from its round, so that equal values do not overlap."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MARGIN = 0.02
"""Space above a given end of the y axis, as a share of its length."""
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1.5, 1)))
"""Markers of short lines of agents, and dashes of long ones, so that equal lines can be seen."""
BESIDE, SPREAD = 0.09, 0.4
"""Horizontal offset between short lines of agents in rounds, and maximum for all of them."""
LONG_NAMES = 34
"""Number of letters of all names on an axis above which they are rotated."""
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
        look: whether it is highlighted, or faint because another one is; thin: one of several runs.
        dashed: whether it is of theory, published data or another condition.
        band: the lower and the upper end of the interval at each point; empty: none.
    """

    label: str
    points: Sequence[Point]
    kind: Literal["line", "dots", "bars"] = "line"
    colour: str = style.BLUE
    agents: Sequence[int] = ()
    look: Literal["plain", "strong", "faint", "thin"] = "plain"
    dashed: bool = False
    band: Sequence[Point] = ()

    def for_browser(self, first: int) -> dict[str, Any]:
        """The series as JSON values; each dot of an agent is followed by the agent.

        `first` is the displayed number of round 0.
        """
        points = [[x + first, _sent(y)] for x, y in self.points]
        if self.kind == "dots" and self.agents:
            points = [[*at, agent] for at, agent in zip(points, self.agents, strict=True)]
        agent = self.agents[0] if self.kind != "dots" and self.agents else None
        names = ("label", "kind", "colour", "look", "dashed")
        return {**{key: getattr(self, key) for key in names}, "agent": agent, "points": points}


@dataclass(frozen=True)
class Level:
    """A horizontal line at a value from theory or from people."""

    at: float
    label: str
    colour: str = style.GREY


class Span(NamedTuple):
    """Rounds that are shaded, and what is so in them."""

    first: float
    last: float
    label: str


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
        low: the lower end; None: automatic.
        spans: shaded rounds.
        last: the last round of the axis; None: the last one with a point.
        noun: the word for a round.
        first: the displayed number of round 0.
        x: the label of the other axis, if its values are not rounds.
        names: the names of its values 0, 1, …; empty: numbers.
        kept: whether the values of a run that has ended are kept in means over runs.
    """

    name: str
    title: str
    series: Sequence[Series] = ()
    y: str = ""
    levels: Sequence[Level] = ()
    high: float | None = None
    low: float | None = None
    spans: Sequence[Span] = ()
    last: int | None = None
    noun: str = "round"
    first: int = 1
    x: str = ""
    names: Sequence[str] = ()
    kept: bool = False

    def for_browser(self) -> dict[str, Any]:
        """The chart as JSON values; x is the displayed number of a round."""
        return {
            **{key: getattr(self, key) for key in ("name", "title", "y", "low", "high", "first")},
            "x": self.x or self.noun.capitalize(),
            "rounds": not self.x,
            "names": list(self.names),
            "spans": [[a + self.first, b + self.first, label] for a, b, label in self.spans],
            "last": None if self.last is None else self.last + self.first,
            "levels": [[level.at, level.label, level.colour] for level in self.levels],
            "series": [series.for_browser(self.first) for series in self.series],
        }

    def with_own(self, agent: int, name: str) -> Chart:
        """The chart with the line of one agent in front of the others, and its name in the legend.

        Its dots are joined to a line. A chart without lines or dots of the agent is unchanged.
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
    """A line for each column of data by ``round``; `labels` are column → the name of its line.

    The colours are used in turn. `agents` has the agent of each line, if they are lines of agents.
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


def points_of(values: pd.Series[Any]) -> list[Point]:
    """The points of values with their place as index."""
    return list(zip(values.index.tolist(), values.astype(float).tolist(), strict=True))


def dots(
    data: pd.DataFrame, column: str, noun: str, colours: Sequence[str] = COLOURS
) -> list[Series]:
    """A dot for each agent and round, in a series for each mind.

    The data have ``round``, ``agent``, ``mind`` and the column. If all agents have the same mind,
    the series is called `noun`. The colours are used in turn.
    """
    series = []
    groups = list(data.groupby("mind", sort=False)) if len(data) else []
    for i, (mind, rows) in enumerate(groups):
        name = mind if len(groups) > 1 else noun
        agents = rows["agent"].tolist()
        values = zip(rows["round"], rows[column].astype(float), agents, strict=True)
        points = [(_beside(x, agent), y) for x, y, agent in values]
        colour = colours[i % len(colours)]
        series.append(Series(str(name), points, "dots", colour, agents=agents))
    return series


def _beside(x: float, k: int) -> float:
    """The place of a dot: evenly spread offsets, so that the same data give the same chart."""
    return round(round(x) + 2 * ASIDE * (k * GOLDEN % 1 - 0.5), 3)


def agent_lines(data: pd.DataFrame, column: str, by: str = "agent") -> list[Series]:
    """A line for each agent, called by its number or name in the column `by`.

    The data have one row per agent and round, with ``round``, ``agent``, the column and `by`.
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


def column_charts(
    model_data: pd.DataFrame, columns: Mapping[str, str], kept: Collection[str] = ()
) -> list[Chart]:
    """A chart of each numeric column, at most `MOST_CHARTS`, for scenarios that declare no charts.

    `columns` are column → its title; those in `kept` keep their last value after a run has ended.
    """
    numbers = {
        name: one_line(title)
        for name, title in columns.items()
        if not len(model_data) or style.is_number(model_data[name])
    }
    return [
        Chart(name, f"{title} by round", lines(model_data, {name: title}), title, kept=name in kept)
        for name, title in list(numbers.items())[: style.MOST_CHARTS]
    ]


def counted(charts: Sequence[Chart], noun: str, first: int, last: int | None) -> list[Chart]:
    """Charts with the scenario's word and numbers for rounds.

    `first` is the number of round 0, and `last` the last planned round.
    """
    numbered = []
    for chart in charts:
        if chart.x:
            numbered.append(replace(chart, first=0))
            continue
        until = last if chart.last is None else chart.last
        title = chart.title.replace(" by round", f" by {noun}")
        numbered.append(replace(chart, title=title, noun=noun, first=first, last=until))
    return numbered


def pooled(runs: Sequence[Chart]) -> Chart:
    """One chart of the same chart of one or more runs.

    Lines become thin lines of the runs, their mean and its interval; bars become their mean.
    """
    if len(runs) == 1:
        return runs[0]
    first = runs[0]
    same: dict[tuple[str, str], list[tuple[int, Series]]] = {}
    for run, chart in enumerate(runs):
        for series in chart.series:
            same.setdefault((series.kind, series.label), []).append((run, series))
    pool: list[Series] = []
    alone = sum(kind == "line" and not all_[0][1].dashed for (kind, _), all_ in same.items()) == 1
    for (kind, _), found in same.items():
        if kind == "dots" and not found[0][1].agents:
            pool.append(found[0][1])
        elif kind == "dots":
            points = [point for _, one in found for point in one.points]
            spread = [(_beside(x, k), y) for k, (x, y) in enumerate(points)]
            agents = [agent for _, one in found for agent in one.agents]
            pool.append(replace(found[0][1], points=spread, agents=agents))
        elif kind == "bars":
            sums: dict[float, float] = {}
            for x, y in (point for _, one in found for point in one.points):
                sums[x] = sums.get(x, 0.0) + y / len(runs)
            pool.append(replace(found[0][1], points=sorted(sums.items())))
        else:
            pool += _with_mean(found, kept=first.kept, alone=alone)
    levels = {level.label: level for chart in reversed(runs) for level in chart.levels}
    return replace(first, series=pool, levels=[*levels.values()])


def _with_mean(runs: Sequence[tuple[int, Series]], *, kept: bool, alone: bool) -> list[Series]:
    """Thin lines of the runs, and the line of their mean."""
    first = runs[0][1]
    data = pd.DataFrame(
        [(run, x, y) for run, one in runs for x, y in one.points], columns=["run", "round", "value"]
    )
    if data.empty:
        return [first]
    summary = mean_by_round(data, "value", kept=kept or first.dashed)
    points = list(zip(summary["round"], summary["mean"], strict=True))
    if first.dashed:
        return [replace(first, points=points)]
    colour = style.GREY if alone else first.colour
    thin = [
        replace(one, label="" if i else "single runs", look="thin", colour=colour)
        for i, (_, one) in enumerate(runs)
    ]
    label = f"mean of the runs{style.mean_note(data, kept=kept)}" if alone else first.label
    band = list(zip(summary["low"], summary["high"], strict=True))
    return [*thin, replace(first, label=label, points=points, band=band)]


def figures(runs: Sequence[Sequence[Chart]], subtitle: str) -> dict[str, Figure]:
    """The figures of the charts of several runs, by the names of the charts."""
    by_name: dict[str, list[Chart]] = {}
    for charts in runs:
        for chart in charts:
            by_name.setdefault(chart.name, []).append(chart)
    words = with_runs(subtitle, len(runs))
    return {name: draw(pooled(same), words) for name, same in by_name.items()}


def with_runs(subtitle: str, n: int) -> str:
    """A subtitle with the number of runs, if there are several."""
    return " · ".join(filter(None, [subtitle, f"{n} runs" if n > 1 else ""]))


def draw(chart: Chart, subtitle: str = "") -> Figure:
    """Draw a chart with matplotlib; the subtitle is the minds and the condition of the run."""
    figure = style.new_figure(chart.title, subtitle, height=3.6)
    ax = figure.add_subplot()
    places = _paint(ax, chart)
    style.plain_axes(ax, chart.x or chart.noun.capitalize(), chart.y)
    if chart.names:
        long = sum(map(len, chart.names)) > LONG_NAMES
        turned: dict[str, Any] = {"rotation": 35, "ha": "right"} if long else {}
        ax.set_xticks(range(len(chart.names)), list(chart.names), **turned)
    else:
        style.integer_ticks(ax.xaxis, () if chart.x else places)
    values = [y for series in chart.series for _, y in series.points]
    if not places:
        style.explain_empty(ax, "No round is played yet.")
    elif not any(map(math.isfinite, values)):
        style.explain_empty(ax)
    if len(style.legend_entries(ax)[0]) > 1:
        style.legend_below(figure, ax)
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
    long = (len(series.points) for series in chart.series if series.kind != "dots")
    few = max(long, default=0) <= style.FEW
    persons = [s for s in chart.series if s.kind == "line" and s.agents and s.look != "thin"]
    minds = [series for series in chart.series if series.kind == "dots"]
    for series in chart.series:
        xs = [x + chart.first for x, _ in series.points]
        ys = [y for _, y in series.points]
        strength = FAINT if series.look == "faint" else 1.0
        if series.kind == "bars":
            below = [bottom.get(x, 0.0) for x in xs]
            wide = 1.0 if chart.x and not chart.names else 0.8  # a histogram has no gaps
            ax.bar(
                xs, ys, wide, below, color=series.colour, label=series.label, edgecolor=style.GREY,
                linewidth=0.5 if few else 0,
            )  # fmt: skip
            bottom |= {x: low + y for x, low, y in zip(xs, below, ys, strict=True)}
        elif series.kind == "dots":
            marker = MARKERS[minds.index(series) % len(MARKERS)]
            size, alpha = (34, 1.0) if chart.x else (14, 0.6 * strength)  # of theory, or of agents
            ax.scatter(
                xs, ys, s=size, color=series.colour, alpha=alpha, linewidths=0, clip_on=False,
                label=series.label, marker=marker, zorder=4 if chart.x else 1.5,
            )  # fmt: skip
        else:
            _interval(ax, xs, series)
            at = persons.index(series) if series in persons else 0
            step = min(BESIDE, SPREAD / len(persons)) if few and len(persons) > 1 else 0.0
            aside = (at - (len(persons) - 1) / 2) * step if series in persons else 0.0
            thin = series.look == "thin"
            width = thick * (3 if series.look == "strong" else 0.6 if thin else 1.8)
            ax.plot(
                [x + aside for x in xs], ys, color=series.colour, linewidth=width,
                alpha=0.5 if thin else strength,
                linestyle="--" if series.dashed else "-" if few else DASHES[at % len(DASHES)],
                marker=("." if thin else MARKERS[at % len(MARKERS)]) if few else "",
                markerfacecolor="white" if series.dashed else series.colour,
                markersize=3 if thin else 5, label=series.label, zorder=2 if thin else 3,
            )  # fmt: skip
    for level in chart.levels:
        ax.axhline(level.at, color=level.colour, linestyle=":", linewidth=1.4, label=level.label)
    for span in chart.spans:
        named = ax.get_legend_handles_labels()[1]
        ends = (span.first + chart.first - 0.5, span.last + chart.first + 0.5)
        label = "" if span.label in named else span.label
        ax.axvspan(*ends, color="#EEEEEE", linewidth=0, zorder=0.3, label=label)
    if chart.x and chart.last is not None:
        ax.set_xlim(-0.6, chart.last + 0.6)
    low, high = ax.get_ylim()
    low = min(0.0, low) if chart.low is None else chart.low
    # A little more than the highest value, so that no mark there is cut.
    top = max(0.0, high) if chart.high is None else chart.high + MARGIN * (chart.high - low)
    ax.set_ylim(low, top)
    return sorted({round(x) + chart.first for series in chart.series for x, _ in series.points})


def _interval(ax: Axes, xs: Sequence[float], series: Series) -> None:
    """Draw the interval of a mean: a band, or a bar for a single round."""
    bounded = [(x, *ends) for x, ends in zip(xs, series.band, strict=False) if ends[0] == ends[0]]
    if not bounded:
        return
    at, low, high = zip(*bounded, strict=True)
    named = ax.get_legend_handles_labels()[1]
    look: dict[str, Any] = {
        "color": series.colour, "zorder": 2.5, "linewidth": 0, "alpha": 0.25,
        "label": "" if style.INTERVAL in named else style.INTERVAL,
    }  # fmt: skip
    if len(series.points) == 1:
        ax.vlines(at, low, high, **look | {"linewidth": 6})
    else:
        ax.fill_between(at, low, high, **look)


def _sent(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
