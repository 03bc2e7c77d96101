"""The seam to Mesa's grid: one person a cell, and a flat map that is read fast.

Outside the models this is the only module that touches `mesa.space`.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import mesa
import numpy as np
from mesa.space import MultiGrid

from sabm_mesa.models.room import Room
from sabm_mesa.models.room_plan import Cell
from sabm_mesa.models.sight import EMPTY, PERSON, Sight

__all__ = ["RoomGrid"]


class RoomGrid(MultiGrid):
    """Mesa's MultiGrid over a room, with one person a cell and none in a wall.

    Mesa's first coordinate is x, which runs from top to bottom here: the grid has the room's
    height as its ``width``.

    Args:
        room: the room.
        random: the random stream of the set of all people on the grid (see `agents`).

    Attributes:
        sight: the eyes of everybody in the room.
        people: the padded map of the room for `Sight.look`; a view of what the grid keeps.
    """

    def __init__(self, room: Room, random: Random) -> None:
        super().__init__(room.height, room.width, torus=False)
        self._random = random
        self.sight = Sight(room)
        self._map = bytearray(self.sight.blank.tobytes())
        self.people = np.frombuffer(self._map, dtype=np.uint8)
        self._at: list[Any] = [None] * len(self._map)
        self._moves = [(dx, dy, dx * self.sight.stride + dy) for dx, dy in room.moves]

    @property
    def agents(self) -> mesa.agent.AgentSet:
        """Everybody on the grid; Mesa's own warns when nobody is left."""
        return mesa.agent.AgentSet([a for a in self._at if a is not None], random=self._random)

    def place_agent(self, agent: mesa.Agent, pos: Cell) -> None:
        """Put a person into a cell.

        Raises:
            ValueError: when the cell is wall or obstacle, or somebody stands there.
        """
        index = self.sight.index(*pos)
        if self._map[index] != EMPTY:
            raise ValueError(f"The cell {pos} is not free.")
        super().place_agent(agent, pos)
        self._map[index], self._at[index] = PERSON, agent

    def remove_agent(self, agent: mesa.Agent) -> None:
        """Take a person off the grid."""
        index = self.sight.index(*agent.pos)  # type: ignore[misc]  # Mesa leaves pos open
        super().remove_agent(agent)
        self._map[index], self._at[index] = EMPTY, None

    def free_neighbours(self, pos: Cell) -> list[Cell]:
        """The neighbouring cells into which one can step."""
        x, y = pos
        here, now = self.sight.index(x, y), self._map
        return [(x + dx, y + dy) for dx, dy, jump in self._moves if not now[here + jump]]

    def people_at(self, pos: Cell, offsets: Iterable[Cell]) -> list[Any]:
        """Who stands at these offsets from a cell; offsets reach no further than the view."""
        here, stride, at = self.sight.index(*pos), self.sight.stride, self._at
        near = [at[here + dx * stride + dy] for dx, dy in offsets]
        return [person for person in near if person is not None]
