"""Routes through an empty square room: which are legal, where they lead, which are shortest.

A cell is (x, y), both from 0 to size − 1; a move goes to one of the eight cells around. Without
obstacles a shortest route is as long as the Chebyshev distance ``max(|Δx|, |Δy|)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import networkx as nx

Cell = tuple[int, int]
Route = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """What comes of a route.

    Attributes:
        cells: the cells that are walked through, from the start to the exit, or to the last cell
            before an illegal move, or to the last cell of the route.
        exit: the exit at which it ends, or None.
        illegal: the cell of the first move that cannot be made: it lies outside the room or is
            not one of the eight around the cell before it; None when there is no such move.
        nearest: moves from the start to the nearest exit.
    """

    cells: Route
    exit: Cell | None
    illegal: Cell | None
    nearest: int

    @property
    def moves(self) -> int:
        """The legal moves that were made."""
        return len(self.cells) - 1

    @property
    def shortest(self) -> bool:
        """Whether it reaches an exit with as few moves as possible."""
        return self.exit is not None and self.moves == self.nearest


@cache
def room_graph(size: int) -> nx.Graph[Cell]:
    """The cells of a square room, with an edge for each move.

    Args:
        size: cells along a side.
    """
    side: nx.Graph[int] = nx.path_graph(size)
    return nx.strong_product(side, side)  # the moves of a king


def shortest_routes(size: int, start: Cell, exits: Iterable[Cell]) -> list[Route]:
    """A shortest route to each of the nearest exits, in the order of the exits.

    Of several shortest routes to an exit it is the one that comes close to it soonest: it begins
    with the diagonal moves.

    Args:
        size: cells along a side.
        start: where they begin.
        exits: the exits.

    Returns:
        The cells after the start, the exit last.
    """
    known = list(exits)
    nearest = min(steps(size, start, each) for each in known)
    return [_to(size, start, each) for each in known if steps(size, start, each) == nearest]


def _to(size: int, start: Cell, exit_: Cell) -> Route:
    def cost(_from: Cell, to: Cell, _edge: object) -> float:
        # What is added along a whole route is less than one move.
        return 1 + math.dist(to, exit_) / (2 * size) ** 2

    return tuple(nx.dijkstra_path(room_graph(size), start, exit_, weight=cost)[1:])


@cache
def steps(size: int, start: Cell, cell: Cell) -> int:
    """Moves from one cell to another at the least.

    Args:
        size: cells along a side.
        start: the one.
        cell: the other.
    """
    return int(nx.shortest_path_length(room_graph(size), start, cell))


def walk(size: int, start: Cell, exits: Sequence[Cell], route: Sequence[Cell]) -> Walk:
    """Walk a route to the first exit on it, or as far as its moves are legal.

    Args:
        size: cells along a side.
        start: where it begins.
        exits: the exits.
        route: the cells after the start; one that begins with the start itself is the same.
    """
    nearest = min(steps(size, start, each) for each in exits)
    graph, cells = room_graph(size), [start]
    for cell in route[1:] if route[:1] == (start,) else route:
        if cells[-1] in exits:
            break
        if not graph.has_edge(cells[-1], cell):
            return Walk(tuple(cells), None, cell, nearest)
        cells.append(cell)
    return Walk(tuple(cells), cells[-1] if cells[-1] in exits else None, None, nearest)
