"""The room of the evacuation: walls, exits, obstacles, distances, traces and sight.

Cells are (x, y): x runs from top to bottom, y from left to right, both from 0. The outermost ring
of cells is the wall; exits are gaps in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from scipy.ndimage import convolve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import KDTree

from sabm_mesa.core.parameters import check_fields, check_int
from sabm_mesa.errors import ParameterError, about

Cell = tuple[int, int]
Exits = Mapping[str, Sequence[Sequence[int]]]
Obstacles = bool | str | Sequence[str] | Sequence[Sequence[int]]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Side = Annotated[int, Ge(5), Le(500)]
"""Minimum and maximum number of cells along a side, including the wall."""
PUBLISHED = (33, 33)
"""Width and height of the published room."""
STRAIGHT: tuple[Cell, ...] = ((-1, 0), (0, -1), (0, 1), (1, 0))
DIAGONAL: tuple[Cell, ...] = ((-1, -1), (-1, 1), (1, -1), (1, 1))
RADIUS = 10
"""The range of sight, in cells (Euclidean)."""
AUTHORS_ROWS = (2, 4, 6, 8, 10, 12, 19, 21, 23, 25, 27, 29)
AUTHORS_COLUMNS = (*range(4, 15), *range(18, 29))
"""The published layout of obstacles: these rows × these columns."""
FREE, OBSTACLE = ". ", "#"
"""The signs of a map in text."""


@dataclass(frozen=True)
class Room:
    """A room with walls, exits and obstacles.

    Args:
        width: cells from left to right, the wall included.
        height: cells from top to bottom, the wall included.
        exits: name → cells; None for the published ones (see `standard_exits`).
        obstacles: False for none; True for the part of the published layout inside the room; a list
            of cells; or a map: one text per row (or one text with line breaks), ``#`` for an
            obstacle, ``.`` or a space for a free cell, as large as the room.
        diagonals: whether diagonal steps are allowed.

    Raises:
        ParameterError: for an impossible room, with the reason.
    """

    width: Side = 33
    height: Side = 33
    exits: Exits | None = None
    obstacles: Obstacles = False
    diagonals: bool = True

    def __post_init__(self) -> None:
        """Check that the room is possible."""
        check_fields(self)
        _ = self.exit_cells, self.solid

    @cached_property
    def exit_cells(self) -> dict[str, tuple[Cell, ...]]:
        """Exit → its cells."""
        if self.exits is None:
            return standard_exits(self.width, self.height)
        return read_exits(self.exits, self.width, self.height)

    @cached_property
    def exit_at(self) -> dict[Cell, str]:
        """Cell → exit."""
        return {cell: name for name, cells in self.exit_cells.items() for cell in cells}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The exits in their order."""
        return tuple(self.exit_cells)

    @cached_property
    def solid(self) -> npt.NDArray[np.bool_]:
        """Whether a cell is wall or obstacle, by (x, y)."""
        solid = np.ones((self.height, self.width), dtype=np.bool_)
        solid[1:-1, 1:-1] = False
        for cell in read_obstacles(self.obstacles, self.width, self.height):
            solid[cell] = True
        for cell in self.exit_at:
            solid[cell] = False
        return solid

    @cached_property
    def has_obstacles(self) -> bool:
        """Whether there is any obstacle."""
        return bool(self.solid[1:-1, 1:-1].any())

    @property
    def is_published(self) -> bool:
        """Whether it is the room of the published runs: its size, its exits, no obstacles."""
        same = (self.width, self.height) == PUBLISHED
        return same and not self.has_obstacles and self.exit_cells == standard_exits(*PUBLISHED)

    @property
    def inside(self) -> list[Cell]:
        """The free cells that are not exits: the possible starting cells."""
        return [(x, y) for x, y in (np.argwhere(~self.solid[1:-1, 1:-1]) + 1).tolist()]

    @cached_property
    def distance(self) -> Floats:
        """Euclidean distance to each exit, by (exit, x, y): the mean over the exit's cells."""
        return np.array([self._away(cells).mean(axis=0) for cells in self.exit_cells.values()])

    @cached_property
    def steps(self) -> Floats:
        """Steps to each exit around walls and obstacles, by (exit, x, y), or infinity."""
        free = np.pad(~self.solid, 1)
        cells, stride = np.flatnonzero(free), self.width + 2
        near = cells[:, None] + [dx * stride + dy for dx, dy in self.moves]
        cell, move = np.nonzero(free.ravel()[near])
        ways = np.ones(len(cell)), (cells[cell], near[cell, move])
        graph = coo_array(ways, shape=(free.size, free.size)).tocsr()
        steps = [
            dijkstra(graph, indices=np.dot(ends, (stride, 1)) + stride + 1, min_only=True)
            for ends in self.exit_cells.values()
        ]
        return np.reshape(steps, (-1, *free.shape))[:, 1:-1, 1:-1]

    @cached_property
    def field(self) -> Floats:
        """The floor field: `steps`, with ties broken in favour of the straighter route.

        Source: static floor field of Burstedde, Klauck, Schadschneider & Zittartz 2001.
        """
        return self.steps + self.distance / (2 * (self.height + self.width))

    @property
    def moves(self) -> tuple[Cell, ...]:
        """The steps to neighbouring cells."""
        return STRAIGHT + DIAGONAL if self.diagonals else STRAIGHT

    def beside(self, cell: Cell) -> list[Cell]:
        """Return the cells one step from a cell, walls and obstacles excluded."""
        x, y = cell
        return [near for dx, dy in self.moves if not self.solid[near := (x + dx, y + dy)]]

    def close_to(self, radius: float) -> npt.NDArray[np.bool_]:
        """Whether a cell lies within a Euclidean radius of any cell of an exit, by (exit, x, y)."""
        exits = self.exit_cells.values()
        return np.array([self._away(cells).min(axis=0) <= radius for cells in exits])

    def side(self, name: str) -> str:
        """Return the side of the room with an exit: ``top``, ``bottom``, ``left`` or ``right``."""
        x, y = self.exit_cells[name][0]
        if x in {0, self.height - 1}:
            return "bottom" if x else "top"
        return "right" if y else "left"

    def _away(self, cells: Sequence[Cell]) -> Floats:
        """Euclidean distance to each of some cells, by (cell, x, y)."""
        x, y = np.indices(self.solid.shape)
        return np.array([np.hypot(x - a, y - b) for a, b in cells])


def standard_exits(width: int, height: int) -> dict[str, tuple[Cell, ...]]:
    """The published exits, in the middle of the sides of a room of any size.

    Three cells on the left and at the bottom, one on the right, a cell below the middle: in a
    room of 33 × 33 (15..17, 0), (32, 15..17) and (17, 32).
    """
    x, y = height // 2, width // 2
    return {
        "left": ((x - 1, 0), (x, 0), (x + 1, 0)),
        "bottom": ((height - 1, y - 1), (height - 1, y), (height - 1, y + 1)),
        "right": ((x + 1, width - 1),),
    }


# The dynamic floor field.

DECAY, DIFFUSION = 0.3, 0.1
"""The shares of a trace that decay and that diffuse in a round: the defaults of Chraibi's program
``cellular_automata``; the papers vary both."""
FRESH = (1 - DECAY) * (1 - DIFFUSION)
"""The share of the trace of a step that remains in the cell after one round."""
_BESIDE = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


class Trace:
    """The dynamic floor field: a trace of all people, which diffuses and decays.

    A step adds 1 to the cell that it leaves. At the end of a round, a share of each trace decays,
    and a share of the rest moves to the free cells up, down, left and right in equal parts: the
    expectation of the random particles of the source.

    Source: Burstedde, Klauck, Schadschneider & Zittartz 2001; Kirchner & Schadschneider 2002.

    Attributes:
        field: the field by (x, y).
        left: the cells that people left in this round.
    """

    def __init__(self, room: Room) -> None:
        self._free = (~room.solid).astype(np.float64)
        self.field: Floats = np.zeros(room.solid.shape)
        self.left: list[Cell] = []

    def end_round(self) -> None:
        """Add the steps of the round; then let the field decay and diffuse."""
        for cell in self.left:
            self.field[cell] += 1
        self.left.clear()
        ways = convolve(self._free, _BESIDE, mode="constant")
        part = DIFFUSION * self.field / np.maximum(ways, 1)
        moved = convolve(part, _BESIDE, mode="constant") - part * ways
        self.field = (1 - DECAY) * (self.field + moved) * self._free


# Sight.


class Glance(NamedTuple):
    """A look around.

    Attributes:
        distances: cells to each exit (Euclidean; the mean over the cells of a wide exit).
        crowds: people seen towards each exit (the mean over its cells).
        in_view: people seen in all directions.
        near: people in the eight neighbouring cells.
    """

    distances: Sequence[float]
    crowds: Sequence[float]
    in_view: int
    near: int


def look(room: Room, cells: Ints, people: Ints) -> list[Glance]:
    """Return the view of each observer.

    Args:
        cells: the cells of the observers, one (x, y) per row.
        people: the cells of all people, the observers included.
    """
    n, (x, y) = len(cells), cells.T
    pairs = KDTree(cells).sparse_distance_matrix(KDTree(people), RADIUS, output_type="ndarray")
    pairs = pairs[pairs["v"] > 0]  # nobody sees itself
    observer = pairs["i"]
    away = people[pairs["j"]] - cells[observer]
    if room.has_obstacles:
        passed = cells[observer][:, None] + _lines_of_sight()[tuple(away.T)]
        seen = ~room.solid[tuple(passed.T)].any(axis=0)
        observer, away = observer[seen], away[seen]
    direction = np.arctan2(away[:, 1], away[:, 0])

    def towards(a: int, b: int) -> Ints:
        """The number of people whom each observer sees within 45° of the direction to a cell."""
        turn = np.abs(direction - np.arctan2(b - y, a - x)[observer])
        ahead = np.minimum(turn, 2 * np.pi - turn) <= np.pi / 4 + 1e-9
        return np.bincount(observer[ahead], minlength=n)

    exits = room.exit_cells.values()
    crowds = [np.mean([towards(*cell) for cell in cells_], axis=0) for cells_ in exits]
    in_view = np.bincount(observer, minlength=n)
    near = np.bincount(observer[np.abs(away).max(axis=1) == 1], minlength=n)
    columns = room.distance[:, x, y].T, np.transpose(crowds), in_view, near
    return [Glance(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


@cache
def _lines_of_sight() -> Ints:
    """The offsets on the line to each offset, by (dx, dy); a negative index counts from the end.

    The rest is (0, 0), the observer's own cell, which is never solid.
    """
    side = 2 * RADIUS + 1
    lines = np.zeros((side, side, RADIUS, 2), dtype=np.int64)
    for dx, dy in disc(RADIUS):
        passed = bresenham(dx, dy)
        lines[dx, dy, : len(passed)] = np.reshape(passed, (-1, 2))
    return lines


def disc(radius: int) -> list[Cell]:
    """The offsets within a Euclidean radius, without (0, 0)."""
    span = range(-radius, radius + 1)
    return [(dx, dy) for dx in span for dy in span if 0 < dx * dx + dy * dy <= radius * radius]


def bresenham(dx: int, dy: int) -> list[Cell]:
    """The offsets strictly between (0, 0) and (dx, dy) on a line of cells.

    If the exact line runs midway between two cells, the choice depends on the starting end. So the
    line back may pass other cells, and beside an obstacle one person may see another but not the
    reverse.

    Source: Bresenham 1965, "Algorithm for computer control of a digital plotter".
    """
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    wide, high = abs(dx), abs(dy)
    error = wide - high
    x = y = 0
    passed: list[Cell] = []
    while True:
        twice = 2 * error
        if twice > -high:
            error -= high
            x += step_x
        if twice < wide:
            error += wide
            y += step_y
        if (x, y) == (dx, dy):
            return passed
        passed.append((x, y))


# Reading of parameters.


@about("exits")
def read_exits(given: Any, width: int, height: int) -> dict[str, tuple[Cell, ...]]:
    """Read the exits of a room: name → cells, all of them gaps in its wall.

    Raises:
        ParameterError: when there is none, or one is not on the wall, or two overlap.
    """
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(f"exits must map names to lists of cells, not {given!r}.")
    exits = {_name(name): read_cells(f"exit {name}", cells) for name, cells in given.items()}
    if len({name.casefold() for name in exits}) < len(exits):
        raise ParameterError(f"Exits need different names (got {', '.join(exits)}).")
    taken: dict[Cell, str] = {}
    for name, cells in exits.items():
        if not cells:
            raise ParameterError(f"The exit {name} has no cells.")
        for x, y in cells:
            on_end, on_side = x in {0, height - 1}, y in {0, width - 1}
            if on_end == on_side or x >= height or y >= width:
                raise ParameterError(
                    f"The exit {name} has the cell {x, y}, which is not on the wall of a room of "
                    f"{height} rows and {width} columns (corners do not count)."
                )
            if (x, y) in taken:
                raise ParameterError(
                    f"The cell {x, y} is listed twice, for the exits {taken[x, y]} and {name}."
                )
            taken[x, y] = name
    return exits


def _name(name: Any) -> str:
    # No digits, since messages name exits and must not contain digits.
    if not (isinstance(name, str) and name[:1].isalpha() and name.replace("_", "").isalpha()):
        raise ParameterError(
            "The name of an exit must be one word that begins with a letter and consists of "
            f"letters (of any script) and underscores, without digits; not {name!r}."
        )
    return name


@about("obstacles")
def read_obstacles(given: Any, width: int, height: int) -> Sequence[Cell]:
    """Read the obstacles of a room, see `Room`.

    Raises:
        ParameterError: for a map of another size or with other signs, or a cell that is not
            inside the room.
    """
    inside = set(product(range(1, height - 1), range(1, width - 1)))
    if isinstance(given, bool):
        layout = product(AUTHORS_ROWS, AUTHORS_COLUMNS)
        return [cell for cell in layout if given and cell in inside]
    if isinstance(given, str):
        given = given.strip("\n").split("\n")
    if isinstance(given, Sequence) and given and all(isinstance(line, str) for line in given):
        longest = max(map(len, given))
        if len(given) != height or longest > width:
            raise ParameterError(
                f"The map of obstacles needs {height} lines of {width} signs "
                f"(got {len(given)} lines, the longest of {longest})."
            )
        if unknown := set("".join(given)) - set(FREE + OBSTACLE):
            raise ParameterError(f"The map of obstacles has the unknown sign {min(unknown)!r}.")
        signs = ((x, y, sign) for x, line in enumerate(given) for y, sign in enumerate(line))
        return [(x, y) for x, y, sign in signs if sign == OBSTACLE and (x, y) in inside]
    cells = read_cells("obstacles", given)
    if wrong := [cell for cell in cells if cell not in inside]:
        raise ParameterError(f"The obstacle {wrong[0]} is not inside the room.")
    return cells


@about("positions")
def read_positions(given: Any, n: int, free: Sequence[Cell]) -> Sequence[Cell]:
    """Read the cells of `n` people at the start.

    Raises:
        ParameterError: when the cells are not `n` different free ones.
    """
    cells = read_cells("positions", given)
    if len(cells) != n or len(set(cells)) != n:
        raise ParameterError(f"positions must name {n} different cells, one a person.")
    if wrong := set(cells).difference(free):
        raise ParameterError(f"positions: {min(wrong)} is not a free cell inside the room.")
    return cells


def read_cells(what: str, given: Any) -> tuple[Cell, ...]:
    """Read a list of pairs of whole numbers; `what` is the kind of cells, for the error.

    Raises:
        ParameterError: for anything else.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ParameterError(f"{what} must be a list of cells [x, y], not {given!r}.")
    cells = []
    for cell in given:
        if not isinstance(cell, Sequence) or isinstance(cell, str) or len(cell) != 2:
            raise ParameterError(f"{what}: a cell is a pair [x, y], not {cell!r}.")
        cells.append((check_int(f"{what}: x", cell[0], 0), check_int(f"{what}: y", cell[1], 0)))
    return tuple(cells)
