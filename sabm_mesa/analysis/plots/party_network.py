"""The network of a cocktail party: who talked with whom, by period."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sabm_mesa.analysis.collective import Pair, invitations_of, talk_counts, talks_of
from sabm_mesa.analysis.plots import legends, style
from sabm_mesa.analysis.statistics import require_rows
from sabm_mesa.analysis.talk_network import network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PERIODS = 2
SMALLEST, LARGEST = 110.0, 420.0
"""Areas of the nodes, in square points."""
THINNEST, THICKEST = 0.6, 7.0
"""Widths of the edges, in points."""
MANY = 8
"""Talks of a pair up to which no edge is as thick as it could be."""
_POPULARITY = LinearSegmentedColormap.from_list("popularity", ["#F4F4F4", style.ORANGE])


def network_by_period(agent_data: pd.DataFrame, subtitle: str = "") -> Figure:
    """Who talked with whom in the first and in the second half of a run (the first one).

    The size of a node shows how many invitations the guest sent, its colour how many it received,
    and the width of an edge how often the two talked, all in the period (after Lai et al. 2024,
    figure 2). The places of the guests are the same in both.

    Args:
        agent_data: one row a run, round and agent, with ``partners`` and ``invited``.
        subtitle: which minds and condition were run.

    Raises:
        ValueError: if a column is missing or there are no rows.
    """
    require_rows(agent_data, ["run", "round", "agent", "partners", "invited"])
    runs = agent_data["run"].unique()
    data = agent_data[agent_data["run"] == runs.min()]
    talks, sent = talks_of(data), invitations_of(data)
    agents = sorted(data["agent"].unique().tolist())
    shown = f"run {runs.min()}" if len(runs) > 1 else ""
    words = " · ".join(filter(None, [subtitle, shown]))
    figure = style.new_figure("Who talks with whom", words, height=3.9)
    places = _places(agents, list(zip(talks["a"], talks["b"], strict=True)))
    parts = np.array_split(sorted(data["round"].unique()), min(PERIODS, data["round"].nunique()))
    counts = [talk_counts(zip(*_within(talks, part, "a", "b"), strict=True)) for part in parts]
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
            legends.empty(ax, "Nobody has\ntalked.")
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
    """Where the guests stand: on a circle, with those who talk much beside one another."""
    graph = network(agents, talks)
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
    """What widths and sizes mean."""
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
    first, last = int(part[0]), int(part[-1])
    return f"Round {first}" if first == last else f"Rounds {first} to {last}"
