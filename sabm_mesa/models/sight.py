"""What people in a room see: fields of view, lines of sight, and counts for all at once.

The field of view (a disc of offsets) and the line of sight to each of its cells (the offsets a
Bresenham line passes) are computed once; a look around is then a few NumPy operations on all
observers together. Flat indices run over the room with a margin as wide as the view, so that no
offset leaves the array.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sabm_mesa.models.room import Floats, Ints, Room
from sabm_mesa.models.room_plan import Cell

RADIUS = 10
"""How far a person sees, in cells (Euclidean)."""
EMPTY, SOLID, PERSON = 0, 1, 2
"""What a cell of the padded map holds."""
_OBSERVERS = 512
"""Observers that are handled at a time, which bounds the memory."""


class View(NamedTuple):
    """What observers see, one row an observer.

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


@cache
def disc(radius: int) -> tuple[Cell, ...]:
    """The offsets within a Euclidean radius, without (0, 0)."""
    span = range(-radius, radius + 1)
    return tuple((dx, dy) for dx in span for dy in span if 0 < dx * dx + dy * dy <= radius * radius)


def bresenham(dx: int, dy: int) -> list[Cell]:
    """The offsets strictly between (0, 0) and (dx, dy) on a line of cells.

    Where the exact line runs midway between two cells, the rule decides as seen from the
    starting end; so the line back may pass other cells, and of two people beside an obstacle
    one may see the other without being seen.

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


class Sight:
    """The eyes of everybody in a room.

    Args:
        room: the room.

    Attributes:
        stride: the length of a row of the padded map.
        blank: the padded map of the room without people: `EMPTY` or `SOLID` by flat index.
    """

    def __init__(self, room: Room) -> None:
        self.room = room
        self.stride = room.width + 2 * RADIUS
        self.blank = np.pad(room.solid, RADIUS, constant_values=True).ravel().astype(np.uint8)
        offsets = np.array(disc(RADIUS), dtype=np.int64)
        self._x, self._y = offsets.T
        self._squares = self._x**2 + self._y**2
        self._flat = self._x * self.stride + self._y
        self._neighbour = np.abs(offsets).max(axis=1) == 1
        self._lines = self._lines_of_sight(offsets) if room.has_obstacles else None

    def index(self, x: int, y: int) -> int:
        """The flat index of a cell."""
        return (x + RADIUS) * self.stride + y + RADIUS

    def look(self, cells: Ints, people: npt.NDArray[np.uint8]) -> View:
        """Look around from several cells.

        Args:
            cells: where the observers stand, one (x, y) a row.
            people: the padded map: `EMPTY`, `SOLID` or `PERSON` by flat index.
        """
        parts = [
            self._look(cells[i : i + _OBSERVERS], people)
            for i in range(0, max(len(cells), 1), _OBSERVERS)
        ]
        return View(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _look(self, cells: Ints, people: npt.NDArray[np.uint8]) -> View:
        x, y = cells.T
        base = (x + RADIUS) * self.stride + y + RADIUS
        # One pair for each person within the radius of an observer.
        observer, offset = np.nonzero(people[base[:, None] + self._flat] == PERSON)
        if self._lines is not None:
            between = people[base[observer][:, None] + self._lines[offset]]
            free = ~(between == SOLID).any(axis=1)
            observer, offset = observer[free], offset[free]
        n = len(cells)
        crowds = [
            np.mean([self._towards(x, y, exit_, observer, offset) for exit_ in exits], axis=0)
            for exits in self.room.exit_cells.values()
        ]
        return View(
            self.room.distance[:, x, y].T,
            np.array(crowds).T,
            np.bincount(observer, minlength=n),
            np.bincount(observer[self._neighbour[offset]], minlength=n),
        )

    def _towards(self, x: Ints, y: Ints, exit_: Cell, observer: Ints, offset: Ints) -> Ints:
        """Number of people whose direction lies within 45° of that to a cell of an exit.

        In whole numbers: cos² of the angle is at least 1/2, and the angle below a right one.
        """
        to_x, to_y = exit_[0] - x, exit_[1] - y
        along = self._x[offset] * to_x[observer] + self._y[offset] * to_y[observer]
        squares = self._squares[offset] * (to_x**2 + to_y**2)[observer]
        ahead = (along > 0) & (2 * along**2 >= squares)
        return np.bincount(observer[ahead], minlength=len(x))

    def _lines_of_sight(self, offsets: Ints) -> Ints:
        """For each offset the flat offsets its line passes; (0, 0), never solid, fills up."""
        lines = np.zeros((len(offsets), RADIUS - 1), dtype=np.int64)
        for line, (dx, dy) in zip(lines, offsets.tolist(), strict=True):
            for i, (x, y) in enumerate(bresenham(dx, dy)):
                line[i] = x * self.stride + y
        return lines
