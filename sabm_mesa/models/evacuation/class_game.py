"""The evacuation as a game for a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame


def board(ask: Ask) -> dict[str, Any] | None:
    """The room with the cells that a step can lead to; a cell is (row, column) in the model.

    Args:
        ask: the question.
    """
    seen: Any = ask.observation
    if ask.name != "act":
        return None
    room = seen.room
    options = zip(ask.spec.options, seen.options, strict=False)  # type: ignore[attr-defined]
    solid = np.argwhere(room.solid)
    # Obstacles inside are not told to anybody.
    last = room.height - 1, room.width - 1
    walls = [cell for cell in solid if 0 in cell or cell[0] == last[0] or cell[1] == last[1]]
    return {
        "kind": "map",
        "width": room.width,
        "height": room.height,
        "me": _place(seen.cell),
        "exits": [_place(cell) for cells in room.exit_cells.values() for cell in cells],
        "walls": [_place(cell) for cell in walls if tuple(map(int, cell)) not in room.exit_at],
        "people": [],
        "options": [{"option": name, "at": _place(cell)} for name, cell in options],
    }


def _place(cell: Any) -> list[int]:
    row, column = cell
    return [int(column), int(row)]


GAME = ClassGame(
    rule="Find your way out of the room, by the exit that you choose, before the time is over.",
    people=(2, 30),
    minutes=15,
    board=board,
)
