"""The classical mind of the path test: it walks a shortest way."""

from __future__ import annotations

from sabm_mesa.agents.path_test import Place
from sabm_mesa.analysis.theory.grid_routes import shortest_routes
from sabm_mesa.asks import Ask


class ShortestWay:
    """A walker that takes a shortest way to the nearest exit, the first of several as near.

    Args:
        spec: how the mind is named in the data.

    Source: a shortest path on the graph of the cells, as a measure for other minds.
    """

    instant = True
    paid = False

    def __init__(self, spec: str = "classical") -> None:
        self.spec = spec

    async def answer(self, ask: Ask) -> object:
        """Name the cells of the way.

        Args:
            ask: the question; its observation is a `Place`.
        """
        seen = ask.observation
        assert isinstance(seen, Place)
        return shortest_routes(seen.size, seen.start, seen.exits)[0]
