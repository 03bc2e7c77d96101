"""The evacuation as a game for a class."""

from __future__ import annotations

from math import dist
from typing import Any

import numpy as np

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame, ToldRound
from sabm_mesa.models.evacuation.agents import DEAD, ESCAPED


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
    free = {tuple(map(int, cell)) for cell in (seen.cell, *seen.options)}
    row, column = map(int, seen.cell)
    beside = [(row + i, column + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    cells = room.exit_cells[seen.target]
    nearest = min(cells, key=lambda cell: dist(cell, seen.cell))
    return {
        "kind": "map",
        "width": room.width,
        "height": room.height,
        "me": _place(seen.cell),
        "exits": [_place(cell) for cells in room.exit_cells.values() for cell in cells],
        "walls": [_place(cell) for cell in walls if tuple(map(int, cell)) not in room.exit_at],
        "people": [
            _place(cell)
            for cell in beside
            if cell not in free and not room.solid[cell] and cell not in room.exit_at
        ],
        "target": _place(nearest),
        "text": f"You want to leave by the {seen.target} exit. Tap the cell that you step to; your "
        "own one means that you wait.",
        "options": [{"option": name, "at": _place(cell)} for name, cell in options],
    }


def _place(cell: Any) -> list[int]:
    row, column = cell
    return [int(column), int(row)]


def told(played: ToldRound) -> list[str]:
    """How many are out, and whether the person is.

    Args:
        played: the round.
    """
    out = int((played.agents["status"] == ESCAPED).sum())
    lines = [f"{out} of {len(played.model.population)} are out of the room."]
    own = played.own
    if own.get("status") == ESCAPED:
        lines.append(f"You are out, by the {own['exit']} exit.")
    elif own.get("status") == DEAD:
        lines.append("You did not get out.")
    elif own:
        lines.append("You are still inside.")
    return lines


GAME = ClassGame(
    rule="Find your way out of the room, by the exit that you choose, before the time is over.",
    people=(2, 30),
    minutes=10,
    # A smaller room, in which nobody waits for the steps of others.
    parameters={
        "n_people": 30, "n_rounds": 20, "width": 15, "height": 15, "movement": "simultaneous",
    },
    people_answer=("choose", "act"),
    board=board,
    told=told,
    never=("still inside", "did not get out"),
)  # fmt: skip
