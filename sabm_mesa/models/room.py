"""The room of the evacuation: walls, exits, obstacles, and the distance maps to each exit.

Cells are (x, y): x runs from top to bottom, y from left to right, both from 0. The outermost ring
of cells is the wall; exits are gaps in it. Everything here is computed once, when a room is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sabm_mesa.models.room_plan import Cell, Exits, Obstacles, read_exits, read_obstacles
from sabm_mesa.parameters import whole

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SMALLEST, LARGEST = 5, 2000
"""Cells along a side, the wall included."""
PUBLISHED = (33, 33)
"""Width and height of the published room."""
STRAIGHT: tuple[Cell, ...] = ((-1, 0), (0, -1), (0, 1), (1, 0))
DIAGONAL: tuple[Cell, ...] = ((-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True)
class Room:
    """A room with walls, exits and obstacles.

    Args:
        width: cells from left to right, the wall included.
        height: cells from top to bottom, the wall included.
        exits: name → cells; None for the published ones (see `standard_exits`).
        obstacles: False for none; True for the published layout, as far as it lies inside; a
            list of cells; or a map: one text a row (or one text with line breaks), ``#`` for an
            obstacle, ``.`` or a blank for a free cell, as large as the room.
        diagonals: whether diagonal steps are allowed.

    Raises:
        ParameterError: for a room that cannot be, with the reason.
    """

    width: int = 33
    height: int = 33
    exits: Exits | None = None
    obstacles: Obstacles = False
    diagonals: bool = True

    def __post_init__(self) -> None:
        """Refuse a room that cannot be."""
        for name in ("width", "height"):
            object.__setattr__(self, name, whole(name, getattr(self, name), SMALLEST, LARGEST))
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

    @cached_property
    def inside(self) -> Ints:
        """The free cells that are not exits, one a row: where people can stand at the start."""
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
        """Steps to each exit around walls and obstacles, by (exit, x, y); infinite where none."""
        return np.array([self._steps_to(cells) for cells in self.exit_cells.values()])

    @cached_property
    def field(self) -> Floats:
        """The floor field: `steps`, and among cells with equally many the straighter one is lower.

        Source: static floor field of Burstedde, Klauck, Schadschneider & Zittartz 2001.
        """
        return self.steps + self.distance / (2 * (self.height + self.width))

    @cached_property
    def way_down(self) -> dict[str, list[list[float]]]:
        """The floor field of each exit as plain rows, which single cells are read from fast."""
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
        """The side of the room an exit is on: ``top``, ``bottom``, ``left`` or ``right``."""
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
        found = np.full(seen.size, np.inf)
        count = 0
        while ring.size:
            found[ring], seen[ring] = count, True
            near = (ring[:, None] + jumps).ravel()
            near = near[~seen[near]]
            seen[near] = True
            ring = np.unique(near)
            count += 1
        steps = found.reshape(self.height + 2, stride)[1:-1, 1:-1]
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
