"""The room of the evacuation: walls, exits, obstacles, distances, sight, and the grid.

Cells are (x, y): x runs from top to bottom, y from left to right, both from 0. The outermost ring
of cells is the wall; exits are gaps in it. A `Room` computes its maps once. `Sight` computes the
field of view (a disc of offsets) and the line of sight to each of its cells once; looking around is
then a few NumPy operations on all observers together. Only `RoomGrid` uses Mesa's grid.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from random import Random
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from mesa.discrete_space import OrthogonalMooreGrid

from sabm_mesa.core.parameters import check_fields, check_int
from sabm_mesa.errors import ParameterError, about

Cell = tuple[int, int]
Exits = Mapping[str, Sequence[Sequence[int]]]
Obstacles = bool | str | Sequence[str] | Sequence[Sequence[int]]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
People = npt.NDArray[np.intc]


# The room.

Side = Annotated[int, Ge(5), Le(2000)]
"""Minimum and maximum number of cells along a side, including the wall."""
PUBLISHED = (33, 33)
"""Width and height of the published room."""
STRAIGHT: tuple[Cell, ...] = ((-1, 0), (0, -1), (0, 1), (1, 0))
DIAGONAL: tuple[Cell, ...] = ((-1, -1), (-1, 1), (1, -1), (1, 1))
RADIUS = 10
"""The range of sight, in cells (Euclidean)."""
EMPTY, SOLID = 0, -1
"""The values of the padded map without people; elsewhere it holds their ids."""
_SAME_ANGLE = 1e-9
"""Tolerance for equal angles."""
_HALF_VIEW = np.array([-np.pi / 4 - _SAME_ANGLE, np.pi / 4 + _SAME_ANGLE])[:, None, None]
"""The ends of a view of 90°, relative to its middle."""
_OBSERVERS = 512
"""Number of observers per batch."""
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
    def widths(self) -> tuple[int, ...]:
        """The number of cells of each exit."""
        return tuple(map(len, self.exit_cells.values()))

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

    @cached_property
    def inside(self) -> Ints:
        """The free cells that are not exits, one per row: the possible starting cells."""
        free = np.argwhere(~self.solid[1:-1, 1:-1]) + 1
        return free.astype(np.int64)

    @cached_property
    def distance(self) -> Floats:
        """Euclidean distance to each exit, by (exit, x, y): the mean over the exit's cells."""
        x, y = np.indices(self.solid.shape)
        return np.array(
            [
                np.mean([np.hypot(x - a, y - b) for a, b in cells], axis=0)
                for cells in self.exit_cells.values()
            ]
        )

    @cached_property
    def steps(self) -> Floats:
        """Steps to each exit around walls and obstacles, by (exit, x, y), or infinity."""
        return np.array([self._steps_to(cells) for cells in self.exit_cells.values()])

    @cached_property
    def steps_from(self) -> list[list[list[float]]]:
        """`steps` as plain rows by (x, y, exit), for fast reads of single cells."""
        rows: list[list[list[float]]] = np.moveaxis(self.steps, 0, -1).tolist()
        return rows

    @cached_property
    def field(self) -> Floats:
        """The floor field: `steps`, with ties broken in favour of the straighter route.

        Source: static floor field of Burstedde, Klauck, Schadschneider & Zittartz 2001.
        """
        return self.steps + self.distance / (2 * (self.height + self.width))

    @cached_property
    def way_down(self) -> dict[str, list[list[float]]]:
        """The floor field of each exit as plain rows, for fast reads of single cells."""
        return dict(zip(self.names, self.field.tolist(), strict=True))

    def close_to(self, radius: float) -> npt.NDArray[np.bool_]:
        """Whether a cell lies within a Euclidean radius of any cell of an exit, by (exit, x, y)."""
        x, y = np.indices(self.solid.shape)
        return np.array(
            [
                np.any([(x - a) ** 2 + (y - b) ** 2 <= radius**2 for a, b in cells], axis=0)
                for cells in self.exit_cells.values()
            ]
        )

    @property
    def moves(self) -> tuple[Cell, ...]:
        """The steps to neighbouring cells."""
        return STRAIGHT + DIAGONAL if self.diagonals else STRAIGHT

    def side(self, name: str) -> str:
        """Return the side of the room with an exit: ``top``, ``bottom``, ``left`` or ``right``."""
        x, y = self.exit_cells[name][0]
        if x in {0, self.height - 1}:
            return "bottom" if x else "top"
        return "right" if y else "left"

    def _steps_to(self, cells: Iterable[Cell]) -> Floats:
        """Breadth-first search from the cells of an exit, one ring of cells at a time."""
        stride = self.width + 2
        jumps = np.array([dx * stride + dy for dx, dy in self.moves])
        ring = np.array([(x + 1) * stride + y + 1 for x, y in cells])
        seen = np.pad(self.solid, 1, constant_values=True).ravel()
        distances = np.full(seen.size, np.inf)
        count = 0
        while ring.size:
            distances[ring], seen[ring] = count, True
            near = (ring[:, None] + jumps).ravel()
            near = near[~seen[near]]
            seen[near] = True
            ring = np.unique(near)
            count += 1
        steps = distances.reshape(self.height + 2, stride)[1:-1, 1:-1]
        return np.ascontiguousarray(steps)


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


class Trace:
    """The dynamic floor field: a trace of all people, which diffuses and decays.

    A step adds 1 to the cell that it leaves. At the end of a round, a share of each trace decays,
    and a share of the rest moves to the free cells up, down, left and right in equal parts: the
    expectation of the random particles of the source.

    Source: Burstedde, Klauck, Schadschneider & Zittartz 2001; Kirchner & Schadschneider 2002.

    Args:
        room: the room.

    Attributes:
        field: the field by (x, y).
        rows: the field as plain rows, for fast reads of single cells.
    """

    def __init__(self, room: Room) -> None:
        self._free = ~room.solid
        self.field: Floats = np.zeros((room.height, room.width))
        self.rows: list[list[float]] = self.field.tolist()
        self._ways = self._from_around(self._free.astype(np.float64))
        self._at_least_one = np.maximum(self._ways, 1)

    def end_round(self, left: npt.NDArray[np.bool_]) -> None:
        """Add the steps of a round; then let the field decay and diffuse.

        Args:
            left: whether a cell was left, by (x, y).
        """
        field = self.field + left
        parts: Floats = DIFFUSION * field / self._at_least_one
        after = field - parts * self._ways + self._from_around(parts)
        self.field = (1 - DECAY) * np.where(self._free, after, 0.0)
        self.rows = self.field.tolist()

    def _from_around(self, values: Floats) -> Floats:
        """The sum over the four cells beside each cell."""
        total = np.zeros_like(values)
        total[1:] += values[:-1]
        total[:-1] += values[1:]
        total[:, 1:] += values[:, :-1]
        total[:, :-1] += values[:, 1:]
        return total


# Sight.


class View(NamedTuple):
    """The view of observers, one row per observer.

    Attributes:
        distances: Euclidean distance to each exit.
        crowds: number of people seen towards each exit.
        in_view: number of people seen in all directions.
        near: number of people in the eight neighbouring cells.
    """

    distances: Floats
    crowds: Floats
    in_view: Ints
    near: Ints


class Sight:
    """The sight of all people in a room.

    Flat indices cover the room with a margin as wide as the view, so offsets stay inside the array.

    Args:
        room: the room.

    Attributes:
        stride: the length of a row of the padded map.
        blank: the padded map of the room without people: `EMPTY` or `SOLID` by flat index.
    """

    def __init__(self, room: Room) -> None:
        self.room = room
        self.stride = room.width + 2 * RADIUS
        walls = np.pad(room.solid, RADIUS, constant_values=True).ravel()
        self.blank: People = np.where(walls, SOLID, EMPTY).astype(np.intc)
        offsets = np.array(disc(RADIUS), dtype=np.int64)
        angles = np.arctan2(offsets[:, 1], offsets[:, 0])
        turn = np.argsort(angles, kind="stable")
        offsets, self._angles = offsets[turn], _three_turns(angles[turn])
        self._flat = self.flat(offsets)
        self._neighbours = np.flatnonzero(np.abs(offsets).max(axis=1) == 1)
        self._lines = self._lines_of_sight(offsets) if room.has_obstacles else None
        cells = room.exit_cells.values()
        self._exits = np.array([cell for exit_cells in cells for cell in exit_cells]).T
        self._first = np.cumsum([0, *room.widths])[:-1]

    def index(self, x: Any, y: Any) -> Any:
        """The flat index of a cell."""
        return (x + RADIUS) * self.stride + y + RADIUS

    def flat(self, offsets: Ints) -> Ints:
        """The flat indices of offsets, one (x, y) per row."""
        return offsets[:, 0] * self.stride + offsets[:, 1]

    def look(self, cells: Ints, people: People) -> View:
        """Compute the view from several cells.

        Args:
            cells: the cells of the observers, one (x, y) per row.
            people: the padded map: `EMPTY`, `SOLID` or the id of a person by flat index.
        """
        parts = [self._look(part, people) for _, part in _in_parts(cells)]
        return View(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _look(self, cells: Ints, people: People) -> View:
        x, y = cells.T
        base = self.index(x, y)
        seen = people[base[:, None] + self._flat] > EMPTY
        if self._lines is not None:
            observer, offset = np.nonzero(seen)
            between = people[base[observer][:, None] + self._lines[offset]]
            hidden = (between == SOLID).any(axis=1)
            seen[observer[hidden], offset[hidden]] = False
        so_far = np.zeros((len(cells), seen.shape[1] + 1), dtype=np.int64)
        np.cumsum(seen, axis=1, out=so_far[:, 1:])
        crowds = self._towards(x, y, so_far)
        return View(
            self.room.distance[:, x, y].T,
            np.add.reduceat(crowds, self._first, axis=1) / self.room.widths,
            so_far[:, -1],
            seen[:, self._neighbours].sum(axis=1),
        )

    def _towards(self, x: Ints, y: Ints, so_far: Ints) -> Ints:
        """Number of people whose direction is within 45° of the direction to each cell of an exit.

        The offsets are sorted by angle, so the offsets within 45° are consecutive. Different angles
        differ by more than `_SAME_ANGLE`.

        Args:
            x: rows of the observers.
            y: columns of the observers.
            so_far: for each observer the cumulative number of people over the offsets, and the
                total.
        """
        exits_x, exits_y = self._exits
        way = np.arctan2(exits_y - y[:, None], exits_x - x[:, None])
        ends = np.searchsorted(self._angles, way + _HALF_VIEW)
        turns, offset = np.divmod(ends, len(self._flat))
        before = turns * so_far[:, -1:] + so_far[np.arange(len(x))[:, None], offset]
        towards: Ints = before[1] - before[0]
        return towards

    def _lines_of_sight(self, offsets: Ints) -> Ints:
        """The flat offsets on the line to each offset, padded with (0, 0), which is never solid."""
        lines = np.zeros((len(offsets), RADIUS - 1), dtype=np.int64)
        for line, (dx, dy) in zip(lines, offsets.tolist(), strict=True):
            for i, (x, y) in enumerate(bresenham(dx, dy)):
                line[i] = x * self.stride + y
        return lines


def _three_turns(angles: Floats) -> Floats:
    """Ascending angles over one turn, repeated for the turn before and the turn after."""
    return np.concatenate([angles - 2 * np.pi, angles, angles + 2 * np.pi])


class Around(NamedTuple):
    """Offsets from a cell.

    Attributes:
        offsets: the offsets, one (x, y) per row.
        away: the squared Euclidean length of each offset.
    """

    offsets: Ints
    away: Ints


def around(offsets: Iterable[Cell]) -> Around:
    """The offsets as arrays.

    Args:
        offsets: the offsets as (x, y).
    """
    rows = np.array(list(offsets), dtype=np.int64)
    return Around(rows, (rows**2).sum(axis=1))


@cache
def disc(radius: int) -> tuple[Cell, ...]:
    """The offsets within a Euclidean radius, without (0, 0)."""
    span = range(-radius, radius + 1)
    return tuple((dx, dy) for dx in span for dy in span if 0 < dx * dx + dy * dy <= radius * radius)


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


def _in_parts(cells: Ints) -> Iterator[tuple[int, Ints]]:
    """Split cells into batches to bound memory: the index of the first cell, and the batch."""
    for first in range(0, max(len(cells), 1), _OBSERVERS):
        yield first, cells[first : first + _OBSERVERS]


# The grid.


class Near(NamedTuple):
    """People near several cells, one per row: by cell, in the order of the offsets.

    Attributes:
        cell: the index of the cell in the query.
        away: the square of its Euclidean distance from the cell.
        person: the id of the person.
    """

    cell: Ints
    away: Ints
    person: People


class RoomGrid(OrthogonalMooreGrid[Any]):
    """Mesa's grid over a room, with one person per cell and none in walls.

    Mesa's first coordinate is x, which runs from top to bottom here: the grid has the room's
    height as its ``width``. Mesa's cells are not connected: use `free_neighbours` and `people_near`
    instead.

    Args:
        room: the room.
        random: the random stream of the set of all people on the grid (``agents``).

    Attributes:
        sight: the sight of everybody in the room.
    """

    def __init__(self, room: Room, random: Random) -> None:
        super().__init__((room.height, room.width), torus=False, capacity=1, random=random)
        self.sight = sight = Sight(room)
        self._map = array("i", sight.blank.tobytes())
        self._stride, self._first = sight.stride, int(sight.index(0, 0))
        # Cache the positions, which people share.
        self._places: list[Any] = [None] * len(self._map)
        for x in range(room.height):
            begin = self._first + x * self._stride
            self._places[begin : begin + room.width] = [(x, y) for y in range(room.width)]
        self._jumps = [dx * self._stride + dy for dx, dy in room.moves]

    def _connect_cells(self) -> None:
        """Leave the cells unconnected, since connections are too slow for a large room."""

    @property
    def people(self) -> People:
        """The padded map of the room, see `Sight.look`; a view of the grid's data."""
        return np.frombuffer(self._map, dtype=np.intc)

    @property
    def ids(self) -> People:
        """The map of the room without padding, by (x, y); a view of the grid's data."""
        margin = slice(RADIUS, -RADIUS)
        return self.people.reshape(-1, self.sight.stride)[margin, margin]

    def place_agent(self, agent: Any, pos: Cell) -> None:
        """Place a person in a cell, or move it from another cell.

        Args:
            agent: the person, Mesa's ``CellAgent``; its ``cell`` and its ``pos`` are set.
            pos: the cell.

        Raises:
            ValueError: when the cell is a wall, an obstacle or occupied.
        """
        now, first, stride = self._map, self._first, self._stride
        index = first + pos[0] * stride + pos[1]
        if now[index] != EMPTY:
            raise ValueError(f"The cell {pos} is not free.")
        if agent.cell is not None:
            before = agent.pos
            now[first + before[0] * stride + before[1]] = EMPTY
        agent.cell, agent.pos = self[pos], pos
        now[index] = agent.unique_id

    def remove_agent(self, agent: Any) -> None:
        """Take a person off the grid; its ``pos`` becomes None."""
        self._map[self.sight.index(*agent.pos)] = EMPTY
        agent.cell = agent.pos = None

    def free_neighbours(self, pos: Cell) -> list[Cell]:
        """Return the free neighbouring cells."""
        now, places = self._map, self._places
        here = self._first + pos[0] * self._stride + pos[1]
        return [places[at] for jump in self._jumps if not now[at := here + jump]]

    def people_near(self, cells: Ints, where: Around) -> Near:
        """Find the people at some offsets from several cells.

        Args:
            cells: the cells, one (x, y) per row.
            where: the offsets, which must not exceed the view.
        """
        away, flat = where.away, self.sight.flat(where.offsets)
        people, parts = self.people, []
        for first, part in _in_parts(cells):
            ids = people[self.sight.index(*part.T)[:, None] + flat]
            cell, offset = np.nonzero(ids > EMPTY)
            parts.append((cell + first, away[offset], ids[cell, offset]))
        return Near(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


# Reading of parameters.


@about("exits")
def read_exits(given: Any, width: int, height: int) -> dict[str, tuple[Cell, ...]]:
    """Read the exits of a room: name → cells, all of them gaps in its wall.

    Args:
        given: a mapping name → list of cells.
        width: columns of the room.
        height: rows of the room.

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
        for cell in cells:
            if not _is_gap(cell, width, height):
                raise ParameterError(
                    f"The exit {name} has the cell {cell}, which is not on the wall of a room of "
                    f"{height} rows and {width} columns (corners do not count)."
                )
            if cell in taken:
                raise ParameterError(
                    f"The cell {cell} is listed twice, for the exits {taken[cell]} and {name}."
                )
            taken[cell] = name
    return exits


@about("obstacles")
def read_obstacles(given: Any, width: int, height: int) -> list[Cell]:
    """Read the obstacles of a room.

    Args:
        given: see `Room`.
        width: columns of the room.
        height: rows of the room.

    Raises:
        ParameterError: for a map of another size or with other signs, or a cell that is not
            inside the room.
    """
    if isinstance(given, bool):
        layout = product(AUTHORS_ROWS, AUTHORS_COLUMNS)
        return [(x, y) for x, y in layout if given and x < height - 1 and y < width - 1]
    if isinstance(given, str):
        given = given.strip("\n").split("\n")
    if isinstance(given, Sequence) and given and all(isinstance(line, str) for line in given):
        return _read_map(given, width, height)
    cells = read_cells("obstacles", given)
    for cell in cells:
        if not _is_inside(cell, width, height):
            raise ParameterError(f"The obstacle {cell} is not inside the room.")
    return list(cells)


@about("positions")
def read_positions(given: Any, n: int, free: Sequence[Cell]) -> list[Cell]:
    """Read the cells of people at the start.

    Args:
        given: one cell per person.
        n: the number of people.
        free: the cells that a person can enter.

    Raises:
        ParameterError: when the cells are not `n` different free ones.
    """
    cells = read_cells("positions", given)
    if len(cells) != n or len(set(cells)) != n:
        raise ParameterError(f"positions must name {n} different cells, one a person.")
    if wrong := [cell for cell in cells if cell not in set(free)]:
        raise ParameterError(f"positions: {wrong[0]} is not a free cell inside the room.")
    return list(cells)


def read_cells(what: str, given: Any) -> tuple[Cell, ...]:
    """Read a list of cells.

    Args:
        what: the kind of cells, for the error.
        given: pairs of whole numbers.

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


def _read_map(lines: Sequence[str], width: int, height: int) -> list[Cell]:
    longest = max(map(len, lines))
    if len(lines) != height or longest > width:
        raise ParameterError(
            f"The map of obstacles needs {height} lines of {width} signs "
            f"(got {len(lines)} lines, the longest of {longest})."
        )
    marks = {(x, y): sign for x, line in enumerate(lines) for y, sign in enumerate(line)}
    if unknown := set(marks.values()) - set(FREE + OBSTACLE):
        raise ParameterError(f"The map of obstacles has the unknown sign {min(unknown)!r}.")
    return [
        cell for cell, sign in marks.items() if sign == OBSTACLE and _is_inside(cell, width, height)
    ]


def _is_inside(cell: Cell, width: int, height: int) -> bool:
    return 0 < cell[0] < height - 1 and 0 < cell[1] < width - 1


def _is_gap(cell: Cell, width: int, height: int) -> bool:
    x, y = cell
    on_rows = x in {0, height - 1} and 0 < y < width - 1
    on_columns = y in {0, width - 1} and 0 < x < height - 1
    return on_rows or on_columns


def _name(name: Any) -> str:
    # No digits, since messages name exits and must not contain digits.
    if not (isinstance(name, str) and name[:1].isalpha() and name.replace("_", "").isalpha()):
        raise ParameterError(
            "The name of an exit must be one word that begins with a letter and consists of "
            f"letters (of any script) and underscores, without digits; not {name!r}."
        )
    return name
