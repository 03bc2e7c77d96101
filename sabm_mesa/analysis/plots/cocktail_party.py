"""Plots of the cocktail party."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from sabm_mesa.analysis import collective
from sabm_mesa.analysis.plots import legends, style
from sabm_mesa.analysis.plots.party_network import network_by_period
from sabm_mesa.analysis.statistics import bootstrap_mean_by_round, require_rows
from sabm_mesa.analysis.talk_network import network, random_partners, structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FULL = collective.WINDOW - 1
"""The first round with a full window."""


def figures(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = ""
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: see `ratios_by_round`.
        agent_data: see `distances`, `chance` and `network_by_period`.
        subtitle: which minds and condition were run.

    Returns:
        ``ratios``, ``network``, ``distances`` and ``chance``.
    """
    return {
        "ratios": ratios_by_round(model_data, agent_data, subtitle),
        "network": network_by_period(agent_data, subtitle),
        "distances": distances(agent_data, subtitle),
        "chance": chance(agent_data, subtitle),
    }


def ratios_by_round(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = ""
) -> Figure:
    """Different partners among all of the last 10 rounds, and what random partners would give.

    Args:
        model_data: one row a run and round, with ``distinct_conversation_ratio`` and
            ``distinct_invitation_ratio``.
        agent_data: one row a run, round and agent, with ``partners``.
        subtitle: which minds and condition were run; the number of runs is added.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    ratios = {
        "distinct_conversation_ratio": ("talks", style.BLUE, "o"),
        "distinct_invitation_ratio": ("invitations", style.VERMILLION, "s"),
    }
    require_rows(model_data, ["run", "round", *ratios])
    figure = style.new_figure(
        f"Different partners among all of the last {collective.WINDOW} rounds",
        style.with_runs(subtitle, model_data),
        height=3.5,
    )
    ax = figure.add_subplot()
    for column, (label, colour, marker) in ratios.items():
        _line(ax, model_data, column, label, colour, marker)
    expected = _expected(agent_data)
    ax.plot(
        expected.index, expected, color=style.GREY, linestyle="--", linewidth=1.4,
        label="talks with random partners", zorder=2,
    )  # fmt: skip
    _window_mark(ax, model_data)
    style.plain_axes(ax, "Round", "Distinct ratio (mean over guests)")
    style.integer_ticks(ax.xaxis, sorted(model_data["round"].unique().tolist()))
    ax.set_ylim(0, 1.03)
    if model_data[list(ratios)].isna().all(axis=None):
        legends.empty(ax, "Nobody has invited anybody.")
    legends.legend(ax, loc="best")
    return figure


def distances(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Semantic distance of tight and of loose pairs by round, with its trend over full windows.

    The trend is the mean over runs of the slopes of each, with the p-value of `collective.trend`
    where there are several runs.

    Args:
        agent_data: one row a run, round and agent, with ``partners`` and ``distances``.
        subtitle: which minds and condition were run; the number of runs is added.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_rows(agent_data, ["run", "round", "agent", "partners", "distances"])
    data = collective.distances_by_round(agent_data)
    figure = style.new_figure(
        "How far pairs are from what all talk about",
        style.with_runs(subtitle, agent_data),
        height=3.5,
    )
    ax = figure.add_subplot()
    kinds = {
        "tight": (f"tight pairs (over {collective.TIGHT} talks)", style.BLUE, "o"),
        "loose": ("loose pairs", style.VERMILLION, "s"),
    }
    for column, (label, colour, marker) in kinds.items():
        if data[column].isna().all():
            continue
        _line(ax, data, column, label + _trend(data, column), colour, marker)
    _window_mark(ax, data)
    style.plain_axes(ax, "Round", "Cosine distance of\nsparse text vectors (0 to 1)")
    style.integer_ticks(ax.xaxis, sorted(data["round"].unique().tolist()))
    drawn = [float(v) for column in kinds for v in data[column] if not np.isnan(v)]
    ax.set_ylim(0, style.headroom(drawn, 0.25))
    if not drawn:
        legends.empty(ax, "No two have talked.")
    legends.legend(ax, loc="best")
    return figure


def chance(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Talks a pair, clustering and modularity, beside what random partners would give.

    Args:
        agent_data: one row a run, round and agent, with ``partners``.
        subtitle: which minds and condition were run; the number of runs is added.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_rows(agent_data, ["run", "round", "agent", "partners"])
    talks = collective.talks_of(agent_data)
    agents = sorted(agent_data["agent"].unique().tolist())
    runs = agent_data["run"].unique()
    by_run = {
        run: list(zip(*(talks.loc[talks["run"] == run, c] for c in "ab"), strict=True))
        for run in runs
    }
    figure = style.new_figure(
        "The network beside random partners", style.with_runs(subtitle, agent_data), height=2.9
    )
    left, middle, right = figure.subplots(1, 3, width_ratios=[2.2, 1, 1])
    _talks_a_pair(left, by_run, len(agents))
    found = [structure(network(agents, held)) for held in by_run.values()]
    usual = round(float(np.mean([len(held) for held in by_run.values()])))
    random = random_partners(agents, usual)
    for ax, name in ((middle, "clustering"), (right, "modularity")):
        _beside(ax, [getattr(s, name) for s in found], [getattr(s, name) for s in random], name)
    return figure


def _expected(agent_data: pd.DataFrame) -> pd.Series[float]:
    """Round → mean over agents of the ratio that as many random partners would give."""
    others = agent_data["agent"].nunique() - 1
    counts = [len(collective.words(cell)) for cell in agent_data["partners"]]
    table = agent_data.assign(n=counts).pivot_table(
        index="round", columns=["run", "agent"], values="n", aggfunc="sum"
    )
    window = table.rolling(collective.WINDOW, min_periods=1).sum()
    ratios = window.map(lambda talks: collective.expected_distinct_ratio(talks, others))
    return ratios.mean(axis=1)


def _line(ax: Axes, data: pd.DataFrame, column: str, label: str, colour: str, marker: str) -> None:
    """The mean over the runs, and its bootstrap interval when there are several."""
    summary = bootstrap_mean_by_round(data.astype({column: float}), column)
    if len(data["run"].unique()) > 1:
        ax.fill_between(
            summary["round"], summary["low"], summary["high"], color=colour, alpha=0.2, linewidth=0
        )
    few = len(summary) <= style.FEW
    ax.plot(
        summary["round"], summary["mean"], color=colour, linewidth=1.9, label=label,
        marker=marker, markersize=5 if few else 2.8, zorder=3, clip_on=False,
    )  # fmt: skip


def _window_mark(ax: Axes, data: pd.DataFrame) -> None:
    """Shade the rounds in which the window is not full yet."""
    if data["round"].max() >= FULL:
        ax.axvspan(data["round"].min(), FULL, color="#F0F0F0", zorder=0, linewidth=0)
        ax.annotate(
            "window not full", (data["round"].min(), 0), xytext=(3, 3), fontsize=style.NOTE,
            textcoords="offset points", color="#606060",
        )  # fmt: skip


def _talks_a_pair(ax: Axes, by_run: Mapping[object, list[collective.Pair]], n_agents: int) -> None:
    n_pairs = n_agents * (n_agents - 1) // 2
    counts = [collective.talk_counts(held) for held in by_run.values()]
    most = max([1, *(n for count in counts for n in count.values())])
    talked = np.zeros(most + 1)
    for count in counts:
        talked += np.bincount([*count.values(), *[0] * (n_pairs - len(count))], minlength=most + 1)
    numbers = np.arange(most + 1)
    colours = [style.BLUE if n > collective.TIGHT else style.SKY_BLUE for n in numbers]
    ax.bar(numbers, talked / len(counts), color=colours, width=0.85)
    usual = round(sum(map(len, by_run.values())) / len(counts))
    expected = stats.binom.pmf(numbers, usual, 1 / n_pairs) * n_pairs
    ax.plot(
        numbers, expected, color=style.BLACK, linewidth=1.2,
        marker="o", markersize=3, linestyle="--", label="random partners",
    )  # fmt: skip
    if most > collective.TIGHT:
        ax.annotate(
            "tight", (collective.TIGHT + 0.6, 1), xycoords=("data", "axes fraction"),
            va="top", fontsize=style.NOTE, color=style.BLUE,
        )  # fmt: skip
        ax.axvline(collective.TIGHT + 0.5, color=style.GREY, linestyle=":", linewidth=1)
    style.plain_axes(ax, "Talks of a pair in the run", "Pairs")
    style.integer_ticks(ax.xaxis, most=8)
    ax.set_ylim(0, style.headroom([float((talked / len(counts)).max()), expected.max()], 0.3))
    legends.legend(ax, loc="upper right", bbox_to_anchor=(1, 0.95))


def _beside(ax: Axes, found: list[float], random: list[float], name: str) -> None:
    """The runs as points, beside the middle 95 % of random networks."""
    known = [value for value in random if not np.isnan(value)]
    if np.isnan(found).all():
        legends.empty(ax, "not defined:\nno talks")
    low, middle, high = np.quantile(known, [0.025, 0.5, 0.975]) if known else (0.0, np.nan, 0.0)
    ax.bar(1, high - low, bottom=low, width=0.5, color="#D0D0D0", zorder=2)
    ax.plot([0.75, 1.25], [middle] * 2, color=style.BLACK, linewidth=1.2, zorder=3)
    ax.plot([0] * len(found), found, "o", color=style.BLUE, markersize=6, alpha=0.8, zorder=3)
    style.plain_axes(ax, "", name.capitalize())
    ax.set_xticks([0, 1], ["found", "random\n(95 %)"])
    ax.set_xlim(-0.6, 1.6)
    ax.set_ylim(
        min([0.0, float(low), *(v for v in found if not np.isnan(v))]),
        style.headroom([*found, float(high)], 0.2),
    )


def _trend(data: pd.DataFrame, column: str) -> str:
    """The trend over the full windows, in words; nothing when there is none."""
    full = data[data["round"] >= FULL]
    slope, p, n_runs = collective.trend(
        collective.slope(rows["round"].tolist(), rows[column].tolist())
        for _, rows in full.groupby("run")
    )
    if not n_runs:
        return ""
    tested = f" ({'p < 0.001' if p < 0.001 else f'p = {p:.3f}'}, {n_runs} runs)"
    return f": {slope:+.4f} a round{tested if n_runs > 1 else ''}"
