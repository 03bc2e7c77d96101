"""The network of those who talk with one another, and networks of random partners beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from sabm_mesa.analysis.collective import Pair, talk_counts

DRAWS = 200
"""Networks of random partners that a network is compared with at the most (our choice)."""
FEWEST = 20
DRAWN_TALKS = 40_000
"""Talks in all these networks: of large ones, which are more alike, fewer are drawn (our choice),
and `FEWEST` at the least."""


class Structure(NamedTuple):
    """Two measures of a network.

    Attributes:
        clustering: mean weighted clustering coefficient (Onnela et al. 2005), 0 to 1.
        modularity: modularity (Newman 2006) of the communities that greedy merging finds (Clauset,
            Newman & Moore 2004), at most 1; NaN without talks.
    """

    clustering: float
    modularity: float


def network(agents: Iterable[int], talks: Iterable[Pair]) -> nx.Graph[int]:
    """Who talked with whom, and how often.

    Args:
        agents: the numbers of all agents.
        talks: the two agents of each talk.

    Returns:
        A graph whose edges have the number of talks as ``weight``.
    """
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(agents)
    graph.add_weighted_edges_from((a, b, n) for (a, b), n in sorted(talk_counts(talks).items()))
    return graph


def structure(graph: nx.Graph[int]) -> Structure:
    """Clustering and modularity of a network of talks.

    Args:
        graph: what `network` gave.
    """
    if graph.number_of_edges() == 0:
        return Structure(0.0, math.nan)
    communities: Any = nx.community.greedy_modularity_communities(graph, weight="weight")
    return Structure(
        float(nx.average_clustering(graph, weight="weight")),
        float(nx.community.modularity(graph, communities, weight="weight")),
    )


def random_partners(
    agents: Sequence[int],
    n_talks: int,
    draws: int | None = None,
    rng: np.random.Generator | int = 0,
) -> list[Structure]:
    """What networks would be like if the two agents of each talk were drawn at random.

    Args:
        agents: the numbers of all agents (2 or more).
        n_talks: number of talks.
        draws: number of networks; None: 200, and from 200 talks on fewer, but 20 at the least.
        rng: generator or seed.

    Returns:
        Clustering and modularity of each network.
    """
    generator = np.random.default_rng(rng)
    if draws is None:
        draws = min(DRAWS, max(FEWEST, DRAWN_TALKS // max(1, n_talks)))
    n = len(agents)
    found = []
    for _ in range(draws):
        first = generator.integers(n, size=n_talks)
        second = (first + generator.integers(1, n, size=n_talks)) % n
        talks = [(agents[a], agents[b]) for a, b in zip(first, second, strict=True)]
        found.append(structure(network(agents, talks)))
    return found
