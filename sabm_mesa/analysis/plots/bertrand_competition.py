"""Plots of the Bertrand competition."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from sabm_mesa.analysis.plots import bertrand_talk, legends, style
from sabm_mesa.analysis.plots.bertrand_collusion import collusion
from sabm_mesa.analysis.statistics import require_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 5
"""Up to this many runs each has a panel of its own; more are drawn over one another."""
_COLORS = (
    style.BLUE, style.VERMILLION, style.ORANGE, style.PURPLE, style.SKY_BLUE, style.YELLOW,
)  # fmt: skip
"""The colours of the firms: those that are not used for the reference lines."""
_WIDE, _LINE = 26, 0.16
"""Characters of a label for which the legend has 3 columns, else 2; height of a line, in inches."""
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1.5, 1)))


@dataclass(frozen=True, slots=True)
class _Measure:
    """What a figure shows: the title, the unit, and the columns of the two reference lines."""

    name: str
    title: str
    label: str
    bertrand: str
    cartel: str


_PRICE = _Measure("price", "Prices by round", "Price", "bertrand_price", "cartel_price")
_PROFIT = _Measure(
    "profit", "Profits by round", "Profit of a firm", "bertrand_profit", "cartel_profit"
)


def figures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    names: Sequence[str] = (),
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: see `prices`, `profits` and `collusion`.
        agent_data: not used: the model data hold all of it.
        subtitle: which minds and condition were run.
        names: how the firms are called, in the order of their numbers.

    Returns:
        ``prices``, ``profits`` and ``collusion``.
    """
    del agent_data
    return {
        "prices": prices(model_data, subtitle, names),
        "profits": profits(model_data, subtitle, names),
        "collusion": collusion(model_data, subtitle),
    }


def prices(model_data: pd.DataFrame, subtitle: str = "", names: Sequence[str] = ()) -> Figure:
    """The firms' prices by round, between the Bertrand and the cartel price.

    Up to `MOST_PANELS` runs have a panel each; of more runs the mean price of the firms is drawn,
    run by run and on average over the runs that still go on. Where talk begins or ends during a
    run, a dotted line says so.

    Args:
        model_data: one row a run and round, with columns ``run``, ``round``, ``price_1`` to
            ``price_n``, ``bertrand_price``, ``cartel_price`` and, if it is to be marked,
            ``communication``.
        subtitle: which minds and condition were run; the number of runs is added.
        names: how the firms are called, in the order of their numbers; else "firm 1" and so on.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    return _draw(_PRICE, model_data, subtitle, names)


def profits(model_data: pd.DataFrame, subtitle: str = "", names: Sequence[str] = ()) -> Figure:
    """The firms' profits by round, between the profits at the Bertrand and the cartel price.

    Args:
        model_data: as for `prices`, with ``profit_1`` to ``profit_n``, ``bertrand_profit`` and
            ``cartel_profit``.
        subtitle: as for `prices`.
        names: as for `prices`.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    return _draw(_PROFIT, model_data, subtitle, names)


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
            words_above = _panel(ax, measure, run, dict(zip(columns, labels, strict=True)))
            if panels > 1:
                title = f"Run {run['run'].iloc[0]}"
                ax.set_title(title, loc="left", fontsize=style.LABEL, pad=4 + words_above)
    else:
        _overlay(axes[0], measure, runs, columns)
    _finish(figure, list(axes), measure, model_data, columns, columns_of_legend)
    return figure


def _label(column: str, names: Sequence[str]) -> str:
    """How a firm is called in the legend; a dollar or a leading underscore means itself."""
    number = int(column.rpartition("_")[2])
    name = names[number - 1] if number <= len(names) else f"firm {number}"
    lines = textwrap.fill(name, 38).replace("$", r"\$")
    return f" {lines}" if lines.startswith("_") else lines


def _panel(ax: Axes, measure: _Measure, run: pd.DataFrame, labels: dict[str, str]) -> float:
    """One run: a line for each firm over the shaded band; the points of words above."""
    _band(ax, measure, run)
    words_above = bertrand_talk.draw(ax, run)
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
    return words_above


def _overlay(ax: Axes, measure: _Measure, runs: list[pd.DataFrame], columns: list[str]) -> None:
    """Many runs: the mean of the firms run by run, and its mean over the runs."""
    longest = max(runs, key=len)
    _band(ax, measure, longest)
    bertrand_talk.draw(ax, longest)
    by_run = [pd.Series(run[columns].mean(axis=1).to_numpy(), index=run["round"]) for run in runs]
    marker = "o" if len(longest) == 1 else ""
    for i, path in enumerate(by_run):
        label = "single runs (mean of the firms)" if i == 0 else "_nolegend_"
        ax.plot(path.index, path, color=style.GREY, linewidth=0.6, alpha=0.7, label=label)
    mean = pd.concat(by_run, axis=1).mean(axis=1)
    ax.plot(
        mean.index,
        mean,
        color=style.BLUE,
        linewidth=1.8,
        marker=marker,
        label="mean of the runs that go on",
        zorder=4,
    )


def _band(ax: Axes, measure: _Measure, run: pd.DataFrame) -> None:
    """The two reference lines and the shade between them."""
    rounds, low, high = run["round"], run[measure.bertrand], run[measure.cartel]
    shade = ax.fill_between(rounds, low, high, step="post", color=style.GREEN, alpha=0.15)
    shade.set(linewidth=0, zorder=0.5, label="between the two")
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
    style.integer_ticks(axes[-1].xaxis, sorted(data["round"].unique().tolist()))
    axes[-1].set_xlabel("Round", fontsize=style.LABEL)
    if len(axes) > 1:
        figure.supylabel(measure.label, fontsize=style.LABEL)
    handles, labels = legends.entries(axes[0])
    for ax in axes[1:]:
        legends.entries(ax)
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=columns_of_legend,
        fontsize=style.NOTE,
        frameon=False,
    )
