"""Plots of the Bertrand competition: prices, profits and the collusion index by round."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import complete_rounds, require_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


GIVEN = 1
"""Number of given rounds at the start: round 0 has the initial prices."""
MOST_PANELS = 5
"""Maximum number of runs with one panel each; more runs are overlaid."""
_COLORS = (
    style.BLUE, style.VERMILLION, style.ORANGE, style.PURPLE, style.SKY_BLUE, style.YELLOW,
)  # fmt: skip
"""The colours of the firms, different from the colours of the reference lines."""
_WIDE, _LINE = 26, 0.16
"""Maximum length of a label for a legend with 3 columns instead of 2; height of a line in inches.
"""
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1.5, 1)))
_TAIL = 0.05
"""The maximum share of values beyond each end of the axis."""


def figures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    names: Sequence[str] = (),
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: see `prices`, `profits` and `collusion`.
        agent_data: not used, since the model data are sufficient.
        subtitle: which minds and condition were run.
        names: the names of the firms, in the order of their numbers.

    Returns:
        ``prices``, ``profits`` and ``collusion``.
    """
    del agent_data
    model_data = _decided(model_data)
    return {
        "prices": prices(model_data, subtitle, names),
        "profits": profits(model_data, subtitle, names),
        "collusion": collusion(model_data, subtitle),
    }


def prices(model_data: pd.DataFrame, subtitle: str = "", names: Sequence[str] = ()) -> Figure:
    """The firms' prices by round, between the Bertrand and the cartel price.

    Up to `MOST_PANELS` runs have a panel each. For more runs, the mean price of the firms is drawn
    by run, with the average over the runs until the first one ends. A dotted line marks the begin
    or end of talk during a run.
    """
    return _draw(_PRICE, model_data, subtitle, names)


def profits(model_data: pd.DataFrame, subtitle: str = "", names: Sequence[str] = ()) -> Figure:
    """The firms' profits by round, between the profits at the Bertrand and the cartel price."""
    return _draw(_PROFIT, model_data, subtitle, names)


def collusion(model_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """The collusion index Δ by round: 0 at the Bertrand profit, 1 at the cartel profit.

    Each run is a line; for several runs, their mean until the first one ends is drawn too. A
    few outliers, as in the first rounds, are cut off. The subtitle mentions them, and the range of
    the share of collusive rounds over runs.
    """
    require_rows(model_data, ["run", "round", "collusion_index"])
    runs = [run.sort_values("round") for _, run in model_data.groupby("run")]
    words = style.with_runs(subtitle, model_data) + _collusive(runs)
    low, high, cut = _index_limits(model_data["collusion_index"])
    figure = style.new_figure("Collusion index by round", words + cut, height=3.6)
    ax = figure.add_subplot()
    _mark_benchmarks(ax)
    _shade_talk(ax, max(runs, key=len))
    marker = "o" if len(model_data) == len(runs) else ""
    alone = len(runs) == 1
    for i, run in enumerate(runs):
        (line,) = ax.plot(run["round"], run["collusion_index"], marker=marker, zorder=3)
        line.set(color=style.BLUE if alone else style.GREY, linewidth=1.4 if alone else 0.6)
        line.set_label("_nolegend_" if i else "the run" if alone else "single runs")
    if not alone:
        mean = complete_rounds(model_data).groupby("round")["collusion_index"].mean()
        ax.plot(
            mean.index, mean, color=style.BLUE, linewidth=1.8, marker=marker, zorder=4,
            label="mean of the runs, while all go on",
        )  # fmt: skip
    style.plain_axes(ax, "Round", "Collusion index Δ")
    style.round_ticks(ax.xaxis, sorted(model_data["round"].unique().tolist()), GIVEN)
    ax.set_xlim(model_data["round"].min() - 0.5, model_data["round"].max() + 0.5)
    ax.set_ylim(low, high)
    style.legend_below(figure, ax)
    return figure


# Prices and profits.


def _decided(model_data: pd.DataFrame) -> pd.DataFrame:
    """The rounds with decisions: all except round 0, if there are others."""
    decided = model_data[model_data["round"] > 0]
    return model_data if decided.empty else decided


@dataclass(frozen=True, slots=True)
class _Measure:
    """The subject of a figure: title, unit, and the columns of the two reference lines."""

    name: str
    title: str
    label: str
    bertrand: str
    cartel: str


_PRICE = _Measure("price", "Prices by round", "Price", "bertrand_price", "cartel_price")
_PROFIT = _Measure(
    "profit", "Profits by round", "Profit of a firm", "bertrand_profit", "cartel_profit"
)


def _draw(
    measure: _Measure, model_data: pd.DataFrame, subtitle: str, names: Sequence[str]
) -> Figure:
    first = f"{measure.name}_1"
    require_rows(model_data, ["run", "round", first, measure.bertrand, measure.cartel])
    columns = [name for name in model_data.columns if name.startswith(f"{measure.name}_")]
    columns = [name for name in columns if name.rpartition("_")[2].isdecimal()]
    runs = [run.sort_values("round") for _, run in model_data.groupby("run")]
    panels = len(runs) if len(runs) <= MOST_PANELS else 1
    labels = [_label(column, names) for column in columns] if panels == len(runs) else []
    columns_of_legend = 3 if all(len(label) <= _WIDE for label in labels) else 2
    lines = sum(label.count("\n") + 1 for label in labels) / columns_of_legend
    height = (3.8 if panels == 1 else 0.9 + 1.75 * panels) + _LINE * max(0.0, lines - 1)
    figure = style.new_figure(measure.title, style.with_runs(subtitle, model_data), height=height)
    axes = figure.subplots(panels, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    if panels == len(runs):
        for ax, run in zip(axes, runs, strict=True):
            _panel(ax, measure, run, dict(zip(columns, labels, strict=True)))
            if panels > 1:
                ax.set_title(f"Run {run['run'].iloc[0]}", loc="left", fontsize=style.LABEL)
    else:
        _overlay(axes[0], measure, runs, columns)
    _finish(figure, list(axes), measure, model_data, columns, columns_of_legend)
    return figure


def _label(column: str, names: Sequence[str]) -> str:
    """The label of a firm in the legend, with dollar signs and leading underscores escaped."""
    number = int(column.rpartition("_")[2])
    name = style.short_minds(names[number - 1]) if number <= len(names) else f"firm {number}"
    lines = textwrap.fill(name, 38).replace("$", r"\$")
    return f" {lines}" if lines.startswith("_") else lines


def _panel(ax: Axes, measure: _Measure, run: pd.DataFrame, labels: dict[str, str]) -> None:
    """One run: a line for each firm over the shaded band."""
    _shade_benchmarks(ax, measure, run)
    _shade_talk(ax, run)
    alone = len(run) == 1
    for i, (column, label) in enumerate(labels.items()):
        ax.plot(
            run["round"],
            run[column],
            color=_COLORS[i % len(_COLORS)],
            linestyle=_DASHES[i % len(_DASHES)],
            linewidth=1.4 if len(run) <= 300 else 1.0,
            marker="o" if alone else "",
            zorder=3 + 0.01 * i,
            label=label,
        )


def _overlay(ax: Axes, measure: _Measure, runs: list[pd.DataFrame], columns: list[str]) -> None:
    """Many runs: the mean of the firms in each run, and the mean over the runs."""
    longest = max(runs, key=len)
    _shade_benchmarks(ax, measure, longest)
    _shade_talk(ax, longest)
    by_run = [pd.Series(run[columns].mean(axis=1).to_numpy(), index=run["round"]) for run in runs]
    marker = "o" if len(longest) == 1 else ""
    for i, path in enumerate(by_run):
        label = "single runs (mean of the firms)" if i == 0 else "_nolegend_"
        ax.plot(path.index, path, color=style.GREY, linewidth=0.6, alpha=0.7, label=label)
    mean = pd.concat(by_run, axis=1, join="inner").mean(axis=1)
    ax.plot(
        mean.index,
        mean,
        color=style.BLUE,
        linewidth=1.8,
        marker=marker,
        label="mean of the runs, while all go on",
        zorder=4,
    )


def _shade_benchmarks(ax: Axes, measure: _Measure, run: pd.DataFrame) -> None:
    """The two reference lines and the shade between them."""
    rounds, low, high = run["round"], run[measure.bertrand], run[measure.cartel]
    shade = ax.fill_between(rounds, low, high, step="post", color=style.GREEN, alpha=0.15)
    shade.set(linewidth=0, zorder=0.5, label="between Bertrand and cartel")
    for values, color, name in ((high, style.GREEN, "cartel"), (low, style.BLACK, "Bertrand")):
        ax.plot(
            rounds,
            values,
            color=color,
            linewidth=1.0,
            linestyle=(0, (6, 2)),
            drawstyle="steps-post",
            zorder=2.5,
            label=f"{name} {measure.name} ({_span(values)})",
        )


def _span(values: pd.Series[float]) -> str:
    ends = [f"{value:.4g}" for value in (values.iloc[0], values.iloc[-1])]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _finish(
    figure: Figure,
    axes: list[Axes],
    measure: _Measure,
    data: pd.DataFrame,
    columns: list[str],
    columns_of_legend: int,
) -> None:
    """Labels, limits and one legend below all panels."""
    drawn = data[[*columns, measure.bertrand, measure.cartel]].to_numpy(dtype=float)
    low, high = float(drawn.min()), float(drawn.max())
    margin = 0.06 * (high - low) or 0.5
    last = int(data["round"].max())
    for ax in axes:
        style.plain_axes(ax, ylabel=measure.label if len(axes) == 1 else "")
        ax.set_ylim(low - margin, high + margin)
        ax.set_xlim(data["round"].min() - 0.5, last + 0.5)
        ax.margins(x=0.01)
    style.round_ticks(axes[-1].xaxis, sorted(data["round"].unique().tolist()), GIVEN)
    axes[-1].set_xlabel("Round", fontsize=style.LABEL)
    if len(axes) > 1:
        figure.supylabel(measure.label, fontsize=style.LABEL)
    style.legend_below(figure, *axes, ncols=columns_of_legend)


# The collusion index.


def _collusive(runs: Sequence[pd.DataFrame]) -> str:
    """A text on the share of collusive rounds by run."""
    if "collusion" not in runs[0].columns:
        return ""
    shares = sorted(f"{100 * run['collusion'].astype(float).mean():.0f}" for run in runs)
    shares.sort(key=float)
    ends = dict.fromkeys((shares[0], shares[-1]))
    return f" · {' to '.join(ends)} % of rounds collusive"


def _index_limits(index: pd.Series[float]) -> tuple[float, float, str]:
    """Limits of the axis for nearly all values, and a text on the values beyond it."""
    values = index.dropna().to_numpy(dtype=np.float64)
    ends = np.quantile(values, [_TAIL, 1 - _TAIL]).tolist() if values.size else [0.0, 1.0]
    low, high = min(0.0, ends[0]), max(1.0, ends[1])
    margin = 0.1 * (high - low)
    low, high = low - margin, high + margin
    beyond = [f"down to {values.min():.2g}"] if values.min(initial=0.0) < low else []
    beyond += [f"up to {values.max():.2g}"] if values.max(initial=1.0) > high else []
    words = f" · values {' and '.join(beyond)} not shown" if beyond else ""
    return low, high, words.replace("-", "−")


def _mark_benchmarks(ax: Axes) -> None:
    """The two reference profits and the shade between them."""
    band = ax.axhspan(0, 1, color=style.GREEN, alpha=0.15, linewidth=0, zorder=0.5)
    band.set_label("between Bertrand and cartel")
    for height, colour, name in ((1, style.GREEN, "cartel (1)"), (0, style.BLACK, "Bertrand (0)")):
        line = ax.axhline(height, color=colour, linewidth=1.0, zorder=2.5, label=name)
        line.set_linestyle((0, (6, 2)))


# Talk.


def _shade_talk(ax: Axes, run: pd.DataFrame) -> None:
    """Shade the rounds with talk, if talk begins or ends in the run."""
    if "communication" not in run.columns:
        return
    on = run["communication"].astype(str) == "True"
    if on.all():
        return
    label = "rounds with talk"
    for _, block in run[on].groupby((on != on.shift()).cumsum()):
        first, last = block["round"].iloc[[0, -1]]
        ax.axvspan(first - 0.5, last + 0.5, color="#EEEEEE", linewidth=0, zorder=0.3, label=label)
        label = "_nolegend_"
