"""Plots of the commons: stock, harvests, gains, survival."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import complete_rounds, require_columns, require_rows
from sabm_mesa.models.commons.measures import equality, kaplan_meier, survival

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ROUND = ("month", 1)
"""The word for a round, and the number of the first one."""
COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY_BLUE)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Each harvester has a colour and a marker, so that harvesters differ without colours.

5 colours and 7 markers make 35 combinations."""
BESIDE, SPREAD = 0.09, 0.4
"""Number of months between the markers of two harvesters, and maximum for all of them."""
MANY = 6
"""Number of harvesters above which names are rotated."""


def figures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    subtitle: str = "",
    *,
    unit: str = "units",
    horizon: int | None = None,
    collapse_below: int = 5,
    first_round: int = 0,
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: one row per run and month: ``run``, ``round``, ``stock``, ``left``,
            ``threshold``.
        agent_data: one row per run, month and agent: ``run``, ``round``, ``agent``, ``name``,
            ``harvest``, ``gain``.
        subtitle: the minds and the condition.
        unit: the unit of the stock.
        horizon: maximum number of months of a run; None: the length of the longest run.
        collapse_below: the commons collapses when less than this is left.
        first_round: the first round of the gains, from 0.

    Returns:
        ``stock``, ``harvests``, ``gains`` and ``survival``.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_rows(model_data, ["run", "round", "stock", "left", "threshold"])
    require_columns(agent_data, ["run", "round", "agent", "name", "harvest", "gain"])
    subtitle = style.with_runs(subtitle, model_data)
    months = horizon or int(model_data["round"].max()) + 1
    return {
        "stock": stock(model_data, subtitle, unit, months, collapse_below),
        "harvests": harvests(model_data, agent_data, subtitle, months),
        "gains": gains(agent_data, subtitle, first_round),
        "survival": survival_curve(model_data, subtitle, months, collapse_below),
    }


def stock(
    model_data: pd.DataFrame, subtitle: str, unit: str, months: int, collapse_below: int
) -> Figure:
    """The stock before and after each harvest, for single runs and on average."""
    figure = style.new_figure("Stock by month", subtitle, height=3.4)
    ax = figure.add_subplot()
    several = len(model_data["run"].unique()) > 1
    if several:
        label = "single runs"
        for _, run in model_data.sort_values("round").groupby("run"):
            month, level = _course(run)
            ax.plot(month, level, color=style.GREY, linewidth=0.6, alpha=0.6, label=label)
            label = "_nolegend_"
    mean = complete_rounds(model_data).groupby("round", as_index=False)[["stock", "left"]].mean()
    month, level = _course(mean)
    who = "mean of the runs, while all last" if several else "stock"
    ax.plot(month, level, color=style.BLUE, linewidth=2.0, label=who, zorder=3)
    ax.plot(
        mean["round"] + 1, mean["stock"], linestyle="", marker="o", color=style.BLUE,
        markersize=5, label="before the harvest", zorder=4, clip_on=False,
    )  # fmt: skip
    ax.plot(
        mean["round"] + 1, mean["left"], linestyle="", marker="v", color=style.VERMILLION,
        markersize=5, label="after it", zorder=4, clip_on=False,
    )  # fmt: skip
    ax.axhline(
        collapse_below, color=style.BLACK, linewidth=1.0, linestyle="--",
        label=f"collapse below {collapse_below}",
    )  # fmt: skip
    style.plain_axes(ax, "Month", f"Stock ({unit})")
    _months(ax, months)
    ax.set_ylim(0, style.headroom(model_data["stock"].tolist()))
    _legend(ax)
    return figure


def _course(run: pd.DataFrame) -> tuple[list[float], list[float]]:
    """The stock before and after the harvest, month by month."""
    month = (run["round"] + 1).to_numpy(dtype=float)
    level = run[["stock", "left"]].to_numpy(dtype=float)
    return np.repeat(month, 2).tolist(), level.reshape(-1).tolist()


def harvests(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str, months: int
) -> Figure:
    """Harvest of each person by month, on average over the runs, and the sustainable amount."""
    whole = complete_rounds(model_data)
    last = whole["round"].max()
    if last < model_data["round"].max():
        subtitle += f" · until the first run ended (month {last + 1})"
    figure = style.new_figure("Harvest of each person by month", subtitle, height=3.4)
    ax = figure.add_subplot()
    means = _by_name(agent_data[agent_data["round"] <= last])
    means = means.groupby(["agent", "name", "round"])["harvest"].mean().reset_index()
    n = means["agent"].nunique()
    step = min(BESIDE, SPREAD / n)
    for i, ((_, name), person) in enumerate(means.groupby(["agent", "name"])):
        beside = (i - (n - 1) / 2) * step  # keep equal harvests visible
        ax.plot(
            person["round"] + 1 + beside, person["harvest"], color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)], markersize=4.5, linewidth=1.2, label=str(name),
            alpha=0.9, clip_on=False,
        )  # fmt: skip
    threshold = whole.groupby("round")["threshold"].mean()
    ax.plot(
        threshold.index + 1, threshold, color=style.BLACK, linestyle="--", linewidth=1.4,
        label="sustainable", zorder=4,
    )  # fmt: skip
    style.plain_axes(ax, "Month", "Harvest (units)")
    _months(ax, months)
    style.integer_ticks(ax.yaxis, most=8)
    ax.set_ylim(0, style.headroom([*means["harvest"], *threshold]))
    _legend(ax)
    return figure


def gains(agent_data: pd.DataFrame, subtitle: str, first_round: int = 0) -> Figure:
    """Gain of each harvester in a run: the mean over the runs, and each run as a dot."""
    counted = _by_name(agent_data[agent_data["round"] >= first_round])
    if first_round:
        subtitle += f" · from month {first_round + 1} (reached by {counted['run'].nunique()})"
    totals = counted.groupby(["run", "agent", "name"])["harvest"].sum().reset_index()
    even = (
        totals.groupby("run")["harvest"].apply(lambda harvests: equality(harvests.tolist())).mean()
    )
    if not np.isnan(even):
        subtitle += f" · equality (1 − Gini) {even:.2f}"
    figure = style.new_figure("What each person gained", subtitle, height=2.8)
    ax = figure.add_subplot()
    means = totals.groupby(["agent", "name"])["harvest"].mean()
    names = [str(name) for _, name in means.index]
    places = np.arange(len(names))
    ax.bar(places, means, width=0.6, color=style.SKY_BLUE, edgecolor=style.BLACK, linewidth=0.5)
    if len(totals["run"].unique()) > 1:
        place_of = {agent: i for i, (agent, _) in enumerate(means.index)}
        ax.plot(
            totals["agent"].map(place_of), totals["harvest"], linestyle="", marker="o",
            markersize=3.5, color=style.BLACK, alpha=0.5, label="single runs",
        )  # fmt: skip
        _legend(ax)
    ax.set_xticks(places, names)
    if len(names) > MANY:
        ax.tick_params(axis="x", labelrotation=35)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
    style.plain_axes(ax, "", "Gain (units)")
    if not names:
        ax.set_yticks([])
        style.explain_empty(
            ax, f"No run reached month {first_round + 1}, from which on gains are counted."
        )
    ax.set_ylim(0, style.headroom(totals["harvest"].tolist(), 0.08))
    return figure


def _by_name(agent_data: pd.DataFrame) -> pd.DataFrame:
    """The rows of harvesters that took part, with their harvests as numbers."""
    took_part = agent_data.dropna(subset=["harvest"])
    return took_part.assign(harvest=took_part["harvest"].astype(float))


def survival_curve(
    model_data: pd.DataFrame, subtitle: str, months: int, collapse_below: int
) -> Figure:
    """The share of commons that survive by month, after Kaplan and Meier."""
    lasted = survival(model_data, collapse_below)
    curve = kaplan_meier(lasted["months"].tolist(), lasted["collapsed"].tolist())
    figure = style.new_figure("Survival of the commons", subtitle, height=3.2)
    ax = figure.add_subplot()
    # The last estimate extends to the end; undefined intervals are not drawn.
    drawn = pd.concat([curve, curve[-1:].assign(month=float(months))])
    ax.step(
        drawn["month"], 100 * drawn["survival"], where="post", color=style.BLUE, linewidth=2.0,
        label="Kaplan–Meier estimate", clip_on=False, zorder=3,
    )  # fmt: skip
    if curve["low"].notna().any():
        low, high = (100 * np.repeat(drawn[end].to_numpy()[:-1], 2) for end in ("low", "high"))
        ax.fill_between(
            np.repeat(drawn["month"].to_numpy(), 2)[1:-1], low, high, color=style.SKY_BLUE,
            alpha=0.35, linewidth=0, label="95 % interval",
        )  # fmt: skip
    censored = lasted.loc[~lasted["collapsed"], "months"].unique()
    if len(censored):
        height = curve.set_index("month")["survival"].reindex(censored.astype(float))
        ax.plot(
            censored, 100 * height, linestyle="", marker="|", markersize=11, markeredgewidth=2,
            color=style.BLACK, label="not collapsed until then", clip_on=False, zorder=4,
        )  # fmt: skip
    style.plain_axes(ax, "Month", "Commons that survive (%)")
    ax.set_xlim(0, months)
    style.integer_ticks(ax.xaxis, list(range(months + 1)), most=13)
    ax.set_ylim(0, 103)
    _legend(ax)
    return figure


def _months(ax: Axes, months: int) -> None:
    ax.set_xlim(0.7, months + 0.3)
    style.integer_ticks(ax.xaxis, list(range(1, months + 1)))


def _legend(ax: Axes) -> None:
    """A legend outside the axes, so that it covers no data."""
    style.add_legend(ax, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0.2)
