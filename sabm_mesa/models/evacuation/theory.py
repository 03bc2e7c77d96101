"""The fastest evacuation that the walls and exits of a room allow, and routes of one person.

Nobody can leave before the steps to an exit are walked, and an exit lets out at most one person per
cell and round, since a cell holds one person, and people on exit cells leave at the end of the
round. These are the only limits: people do not block each other elsewhere. So no run can be faster,
and few are as fast.

Sources:
    Ford and Fulkerson (1958), "Constructing Maximal Dynamic Flows from Static Flows", Operations
    Research 6(3): flows over time by a copy of the network for each period.
    Hamacher and Tjandra (2001), "Mathematical Modelling of Evacuation Problems: A State of Art",
    Berichte des Fraunhofer ITWM 24: bounds on evacuation times by such flows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import networkx as nx
import numpy as np
import numpy.typing as npt

Cell = tuple[int, int]
Route = tuple[Cell, ...]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_NUMBER = re.compile(r"[-+]?\d+")


def most_escaped(steps: npt.ArrayLike, widths: Sequence[int], rounds: int) -> Ints:
    """Return the maximum number of escaped people after each number of rounds.

    It is a maximum flow for each number of rounds: a person reaches an exit after one round per
    step, may wait there, and one person leaves per exit cell and round.

    Args:
        steps: steps to each exit, shape (n_exits, n_people); infinite where there is no way.
        widths: number of cells of each exit.
        rounds: the last number of rounds wanted, 0 or more.

    Returns:
        Shape (rounds + 1,), after 0, 1, … rounds; rising from 0.

    Raises:
        ValueError: if there is no exit, or not one width of 1 or more for each, or `rounds` is
            negative.
    """
    if rounds < 0:
        raise ValueError(f"rounds must be 0 or more, not {rounds}")
    crowd = _Crowd(steps, widths)
    curve = np.zeros(rounds + 1, dtype=np.int64)
    for t in range(1, rounds + 1):
        done = curve[t - 1] == crowd.n_reachable
        curve[t] = curve[t - 1] if done else crowd.most_out(t)
    return curve


class _Crowd:
    """People grouped by their steps to the exits."""

    def __init__(self, steps: npt.ArrayLike, widths: Sequence[int]) -> None:
        given = np.maximum(
            np.asarray(steps, dtype=np.float64), 1
        )  # all leave at the end of a round
        if given.ndim != 2 or len(given) == 0 or len(given) != len(widths) or min(widths) < 1:
            raise ValueError(
                f"need steps of shape (n_exits, n_people) with one width of 1 or more for each "
                f"exit, not shape {given.shape} and widths {list(widths)}"
            )
        self.n = given.shape[1]
        able = given[:, np.isfinite(given).any(axis=0)]
        self.n_reachable = able.shape[1]
        self.widths = np.array(widths)
        self.steps, self.counts = np.unique(able, axis=1, return_counts=True)

    def most_out(self, rounds: int) -> int:
        """Return the maximum flow of people to the outside within a number of rounds."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import maximum_flow

        n_exits, n_groups = self.steps.shape
        # The nodes: source, sink, one per group of people, and one per exit and round.
        ends = np.arange(n_exits * rounds).reshape(n_exits, rounds) + 2 + n_groups
        exit_, group = np.nonzero(self.steps <= rounds)
        arrival = ends[exit_, self.steps[exit_, group].astype(np.int64) - 1]
        edges = [
            (np.zeros(n_groups), np.arange(n_groups) + 2, self.counts),
            (group + 2, arrival, self.counts[group]),
            (ends[:, :-1].ravel(), ends[:, 1:].ravel(), np.full(ends[:, 1:].size, self.n)),
            (ends.ravel(), np.ones(ends.size), np.repeat(self.widths, rounds)),
        ]
        tails, heads, most = np.concatenate(edges, axis=1).astype(np.int32)
        size = 2 + n_groups + ends.size
        network = coo_array((most, (tails, heads)), shape=(size, size)).tocsr()
        return int(maximum_flow(network, 0, 1).flow_value)


def room_graph(free: npt.NDArray[np.bool_], diagonals: bool = True) -> nx.Graph[Cell]:
    """Return the graph of a room: its free cells, joined where one step connects them.

    Args:
        free: whether people can enter a cell, exits included, by (x, y); shape (height, width).
        diagonals: whether steps lead to eight neighbours instead of four.
    """
    graph: nx.Graph[Cell] = nx.Graph()
    cells = [(int(x), int(y)) for x, y in np.argwhere(free)]
    graph.add_nodes_from(cells)
    ahead = ((0, 1), (1, 0), (1, 1), (1, -1)) if diagonals else ((0, 1), (1, 0))
    graph.add_edges_from(
        ((x, y), (x + dx, y + dy))
        for x, y in cells
        for dx, dy in ahead
        if (x + dx, y + dy) in graph
    )
    return graph


# Routes through an empty square room: which are legal, where they lead, which are shortest.


# Routes: which are legal, where they lead, which are shortest.
@dataclass(frozen=True, slots=True)
class Walk:
    """The result of walking a route.

    Attributes:
        cells: the walked cells, from the start to the exit, or to the last cell before an illegal
            move, or to the last cell of the route.
        exit: the exit at which it ends, or None.
        illegal: the cell of the first illegal move, which lies outside the room or is not one of
            the eight around the cell before it; None without one.
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


def walk(size: int, start: Cell, exits: Sequence[Cell], route: Sequence[Cell]) -> Walk:
    """Walk a route to the first exit on it, or up to the first illegal move.

    Args:
        size: cells along a side.
        start: the first cell.
        exits: the exits.
        route: the cells after the start; the start itself may be first.
    """
    nearest = min(steps(size, start, exit_) for exit_ in exits)
    graph, cells = _empty_room(size), [start]
    for cell in route[1:] if route[:1] == (start,) else route:
        if cells[-1] in exits:
            break
        if not graph.has_edge(cells[-1], cell):
            return Walk(tuple(cells), None, cell, nearest)
        cells.append(cell)
    return Walk(tuple(cells), cells[-1] if cells[-1] in exits else None, None, nearest)


def shortest_routes(size: int, start: Cell, exits: Iterable[Cell]) -> list[Route]:
    """Return a shortest route to each of the nearest exits, in the order of the exits.

    Of several shortest routes to an exit it is the one that approaches it soonest: it begins
    with the diagonal moves. Without obstacles it is as long as the Chebyshev distance
    ``max(|Δx|, |Δy|)``.

    Args:
        size: cells along a side.
        start: the first cell.
        exits: the exits.

    Returns:
        The cells after the start, the exit last.
    """
    known = list(exits)
    nearest = min(steps(size, start, exit_) for exit_ in known)
    return [_to(size, start, exit_) for exit_ in known if steps(size, start, exit_) == nearest]


@cache
def steps(size: int, start: Cell, cell: Cell) -> int:
    """Return the fewest moves from one cell to another.

    Args:
        size: cells along a side.
        start: the first cell.
        cell: the last cell.
    """
    return int(nx.shortest_path_length(_empty_room(size), start, cell))


def _to(size: int, start: Cell, exit_: Cell) -> Route:
    def cost(_from: Cell, to: Cell, _edge: object) -> float:
        # The sum of the additions along a route is less than one move.
        return 1 + math.dist(to, exit_) / (2 * size) ** 2

    return tuple(nx.dijkstra_path(_empty_room(size), start, exit_, weight=cost)[1:])


@cache
def _empty_room(size: int) -> nx.Graph[Cell]:
    """The cells of an empty square room, with an edge for each move."""
    return room_graph(np.ones((size, size), dtype=np.bool_))


def in_words(cells: Iterable[Cell]) -> str:
    """Return cells as a text that `from_words` reads.

    Args:
        cells: the cells.
    """
    return " ".join(map(str, cells))


def from_words(text: str) -> tuple[Cell, ...]:
    """Return the cells of a text of `in_words`.

    Args:
        text: the text.
    """
    numbers = [int(number) for number in _NUMBER.findall(text)]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))
