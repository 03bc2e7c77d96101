"""Plots of the cocktail party."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import mean_by_round, require_rows
from sabm_mesa.models.pairs.cocktail_party import measures
from sabm_mesa.models.pairs.cocktail_party.measures import Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FULL = measures.WINDOW - 1
"""The first round with a full window."""
PERIODS = 2
"""Number of parts of a run, each with a network."""
SMALLEST, LARGEST = 110.0, 420.0
"""Areas of the nodes, in square points."""
THINNEST, THICKEST = 0.6, 7.0
"""Widths of the edges, in points."""
MANY = 8
"""Number of talks from which on an edge has the maximum width."""
_POPULARITY = LinearSegmentedColormap.from_list("popularity", ["#F4F4F4", style.ORANGE])


def figures(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = ""
) -> dict[str, Figure]:
    """All plots of the scenario, by name.

    Args:
        model_data: see `ratios_by_round`.
        agent_data: see `distances` and `network_by_period`.
        subtitle: the minds and the condition.

    Returns:
        ``ratios``, ``network`` and ``distances``.
    """
    return {
        "ratios": ratios_by_round(model_data, agent_data, subtitle),
        "network": network_by_period(agent_data, subtitle),
        "distances": distances(agent_data, subtitle),
    }


def ratios_by_round(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str = ""
) -> Figure:
    """Ratio of different partners to all in the last 10 rounds, and for random partners."""
    ratios = {
        "distinct_conversation_ratio": ("talks", style.BLUE, "o"),
        "distinct_invitation_ratio": ("invitations", style.VERMILLION, "s"),
    }
    require_rows(model_data, ["run", "round", *ratios])
    figure = style.new_figure(
        f"Different partners among all of the last {measures.WINDOW} rounds",
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
    style.round_ticks(ax.xaxis, sorted(model_data["round"].unique().tolist()))
    ax.set_ylim(0, 1.03)
    if model_data[list(ratios)].isna().all(axis=None):
        style.explain_empty(ax, "Nobody has invited anybody.")
    style.add_legend(ax, loc="best")
    return figure


def _expected(agent_data: pd.DataFrame) -> pd.Series[float]:
    """Round → mean over agents of the expected ratio for the same number of random partners."""
    others = agent_data["agent"].nunique() - 1
    counts = [len(measures.words(cell)) for cell in agent_data["partners"]]
    table = agent_data.assign(n=counts).pivot_table(
        index="round", columns=["run", "agent"], values="n", aggfunc="sum"
    )
    window = table.rolling(measures.WINDOW, min_periods=1).sum()
    ratios = window.map(lambda talks: measures.expected_distinct_ratio(talks, others))
    return ratios.mean(axis=1)


def network_by_period(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """The networks of talks in the first and in the second half of the first run.

    The size of a node shows the number of sent invitations, its colour the number of received ones,
    and the width of an edge the number of talks, all in the period (after Lai et al. 2024, figure
    2). The guests have the same positions in both.
    """
    require_rows(agent_data, ["run", "round", "agent", "partners", "invited"])
    runs = agent_data["run"].unique()
    data = agent_data[agent_data["run"] == runs.min()]
    talks, sent = measures.talks_of(data), measures.invitations_of(data)
    agents = sorted(data["agent"].unique().tolist())
    shown = f"run {runs.min()}" if len(runs) > 1 else ""
    words = " · ".join(filter(None, [subtitle, shown]))
    figure = style.new_figure("Who talks with whom", words, height=3.9)
    places = _places(agents, list(zip(talks["a"], talks["b"], strict=True)))
    parts = np.array_split(sorted(data["round"].unique()), min(PERIODS, data["round"].nunique()))
    counts = [
        measures.talk_counts(zip(*_within(talks, part, "a", "b"), strict=True)) for part in parts
    ]
    invitations = [_within(sent, part, "sender", "receiver") for part in parts]
    most_talks = max((n for count in counts for n in count.values()), default=0)
    most_sent, most_got = (
        max(pair[side].count(agent) for pair in invitations for agent in agents) for side in (0, 1)
    )
    panels = figure.subplots(1, len(parts), squeeze=False)[0]
    colours = Normalize(0, max(1, most_got))
    for ax, part, count, (senders, receivers) in zip(
        panels, parts, counts, invitations, strict=True
    ):
        _edges(ax, places, count, most_talks)
        areas = [
            SMALLEST + (LARGEST - SMALLEST) * senders.count(agent) / max(1, most_sent)
            for agent in agents
        ]
        ax.scatter(
            [places[agent][0] for agent in agents], [places[agent][1] for agent in agents],
            s=areas, c=[_POPULARITY(colours(receivers.count(agent))) for agent in agents],
            edgecolors=style.BLACK, linewidths=0.8, zorder=3,
        )  # fmt: skip
        for agent in agents:
            ax.annotate(
                str(agent), places[agent], ha="center", va="center", fontsize=style.NOTE, zorder=4
            )
        ax.set_title(_rounds(part), fontsize=style.LABEL)
        ax.set_axis_off()
        ax.set_aspect("equal")
        ax.margins(0.14)
        if not count:
            style.explain_empty(ax, "Nobody has\ntalked.")
    bar = figure.colorbar(
        ScalarMappable(colours, _POPULARITY), ax=panels.tolist(), shrink=0.7, pad=0.01, aspect=18
    )
    bar.set_label("Invitations received", fontsize=style.NOTE)
    bar.ax.tick_params(labelsize=style.NOTE)
    style.integer_ticks(bar.ax.yaxis, most=5)
    figure.legend(
        handles=_scale(most_talks, most_sent), fontsize=style.NOTE, frameon=False,
        loc="outside lower left", ncols=4, handletextpad=0.9, columnspacing=1.8, borderpad=1.1,
    )  # fmt: skip
    return figure


def _places(agents: list[int], talks: list[Pair]) -> dict[int, tuple[float, float]]:
    """Positions of the guests on a circle; guests who often talk with each other are neighbours."""
    graph = measures.network(agents, talks)
    order = agents
    if graph.number_of_edges():
        communities = nx.community.greedy_modularity_communities(graph, weight="weight")
        order = [agent for community in communities for agent in sorted(community)]
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    return {
        agent: (float(np.cos(angle)), float(np.sin(angle)))
        for agent, angle in zip(order, angles, strict=True)
    }


def _edges(
    ax: Axes, places: dict[int, tuple[float, float]], counts: dict[Pair, int], most: int
) -> None:
    for (a, b), n in counts.items():
        xs, ys = zip(places[a], places[b], strict=True)
        ax.plot(
            xs, ys, color=style.BLUE, alpha=0.35 + 0.5 * n / most, linewidth=_width(n, most),
            solid_capstyle="round", zorder=2,
        )  # fmt: skip


def _width(n: int, most: int) -> float:
    return THINNEST + (THICKEST - THINNEST) * (n - 1) / max(MANY, most - 1)


def _scale(most_talks: int, most_sent: int) -> list[Line2D]:
    """The legend of widths and sizes."""
    talks = [Line2D([], [], color=style.BLUE, linewidth=_width(n, most_talks),
                    label=f"{n} talk{'s' if n > 1 else ''}")
             for n in sorted({1, most_talks}) if 0 < n <= most_talks]  # fmt: skip
    sizes = [Line2D([], [], marker="o", linestyle="", color="white", markeredgecolor=style.BLACK,
                    markersize=float(np.sqrt(SMALLEST + (LARGEST - SMALLEST) * bool(n))),
                    label=f"{n} invitation{'s' if n != 1 else ''} sent")
             for n in sorted({0, most_sent}) if most_sent]  # fmt: skip
    return [*talks, *sizes]


def _within(data: pd.DataFrame, rounds: np.ndarray, *columns: str) -> list[list[int]]:
    chosen = data[data["round"].isin(rounds)]
    return [chosen[column].astype(int).tolist() for column in columns]


def _rounds(part: np.ndarray) -> str:
    first, last = int(part[0]) + 1, int(part[-1]) + 1
    return f"Round {first}" if first == last else f"Rounds {first} to {last}"


def distances(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Semantic distance of tight and of loose pairs by round, with the trend over full windows.

    The trend is the mean of the slopes of the runs, with the p-value of `measures.trend` if there
    are several.
    """
    require_rows(agent_data, ["run", "round", "agent", "partners", "distances"])
    data = measures.distances_by_round(agent_data)
    figure = style.new_figure(
        "How far pairs are from what all talk about",
        style.with_runs(subtitle, agent_data),
        height=3.5,
    )
    ax = figure.add_subplot()
    kinds = {
        "tight": (f"tight pairs (over {measures.TIGHT} talks)", style.BLUE, "o"),
        "loose": ("loose pairs", style.VERMILLION, "s"),
    }
    for column, (label, colour, marker) in kinds.items():
        if data[column].isna().all():
            continue
        _line(ax, data, column, label + _trend(data, column), colour, marker)
    _window_mark(ax, data)
    style.plain_axes(ax, "Round", "Cosine distance of\nsparse text vectors (0 to 1)")
    style.round_ticks(ax.xaxis, sorted(data["round"].unique().tolist()))
    drawn = [float(v) for column in kinds for v in data[column] if not np.isnan(v)]
    ax.set_ylim(0, style.headroom(drawn, 0.25))
    if not drawn:
        style.explain_empty(ax, "No two have talked.")
    style.add_legend(ax, loc="best")
    return figure


def _trend(data: pd.DataFrame, column: str) -> str:
    """The trend over the full windows in words; ``""`` without one."""
    full = data[data["round"] >= FULL]
    slope, p, n_runs = measures.trend(
        measures.slope(rows["round"].tolist(), rows[column].tolist())
        for _, rows in full.groupby("run")
    )
    if not n_runs:
        return ""
    tested = f" ({'p < 0.001' if p < 0.001 else f'p = {p:.3f}'}, {n_runs} runs)"
    return f": {slope:+.4f} a round{tested if n_runs > 1 else ''}".replace("-", "−")


def _line(ax: Axes, data: pd.DataFrame, column: str, label: str, colour: str, marker: str) -> None:
    """The mean over the runs, and its interval if there are several."""
    summary = mean_by_round(data.astype({column: float}), column)
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
    """Shade the rounds before the window is full."""
    if data["round"].max() >= FULL:
        ax.axvspan(data["round"].min(), FULL, color="#F0F0F0", zorder=0, linewidth=0)
        ax.annotate(
            "window not full", (data["round"].min(), 0), xytext=(3, 3), fontsize=style.NOTE,
            textcoords="offset points", color="#606060",
        )  # fmt: skip
