"""The evacuation as a game for a class."""

from __future__ import annotations

import re
from collections import Counter
from math import dist
from typing import Any

import numpy as np

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.languages import Lines, Phrase, known, slug
from sabm_mesa.models.declarations import ClassGame, ToldRound
from sabm_mesa.models.evacuation.agents import DEAD, ESCAPED


def board(ask: Ask) -> dict[str, Any] | None:
    """The room, with the exits or the cells to choose from; a cell is (row, column) in the model.

    Args:
        ask: the question.
    """
    seen: Any = ask.observation
    if ask.name == "choose":
        return _exits(seen)
    if ask.name != "act":
        return None
    room = seen.room
    options = zip(ask.spec.options, seen.options, strict=False)  # type: ignore[attr-defined]
    free = {tuple(map(int, cell)) for cell in (seen.cell, *seen.options)}
    row, column = map(int, seen.cell)
    beside = [(row + i, column + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    cells = room.exit_cells[seen.target]
    nearest = min(cells, key=lambda cell: dist(cell, seen.cell))
    return {
        **_room(seen),
        "people": [
            _place(cell)
            for cell in beside
            if cell not in free and not room.solid[cell] and cell not in room.exit_at
        ],
        "target": _place(nearest),
        "text": Phrase("room.step", exit=_named(seen.target)),
        "options": [{"option": name, "at": _place(cell)} for name, cell in options],
    }


def _room(seen: Any) -> dict[str, Any]:
    room = seen.room
    # People do not see obstacles on the board.
    last = room.height - 1, room.width - 1
    solid = np.argwhere(room.solid)
    walls = [cell for cell in solid if 0 in cell or cell[0] == last[0] or cell[1] == last[1]]
    return {
        "kind": "map",
        "width": room.width,
        "height": room.height,
        "me": _place(seen.cell),
        "exits": [_place(cell) for cells in room.exit_cells.values() for cell in cells],
        "walls": [_place(cell) for cell in walls if tuple(map(int, cell)) not in room.exit_at],
    }


def _exits(seen: Any) -> dict[str, Any]:
    """The whole room with the exits as options, their visible crowds, and messages about them."""
    room, glance = seen.room, seen.glance
    sights = zip(room.names, glance.distances, glance.crowds, strict=True)
    lines: list[str] = [
        Phrase("room.sight", exit=_named(name), away=round(away), n=round(crowd))
        for name, away, crowd in sights
    ]
    if seen.heard:
        lines += ["", Phrase("room.heard", exits=_grouped(seen))]
    if seen.choices:
        lines += ["", Phrase("room.last_choice", exit=_named(seen.choices[-1]))]
    return {
        **_room(seen),
        "whole": True,
        "people": [],
        "text": Lines([Phrase("room.which"), "", *lines]),
        "options": [
            {"option": name, "at": _place(cells[len(cells) // 2])}
            for name, cells in room.exit_cells.items()
        ],
    }


def _named(exit_: str) -> str:
    """An exit by the name that appears in messages, with its meaning."""
    return known(f"words.{slug(exit_)}", exit_)


def _grouped(seen: Any) -> list[str]:
    """The number of messages about each exit, such as ``"left (11)"``."""
    counts = Counter[str]()
    for message in seen.heard:
        words = set(re.findall(r"\w+", message.text.lower()))
        named = [name for name in seen.room.names if name.lower() in words]
        counts[named[0] if len(named) == 1 else ""] += 1
    parts: list[str] = [f"{name} ({n})" for name, n in counts.most_common() if name]
    return [*parts, Phrase("room.no_exit", n=counts[""])] if counts[""] else parts


def _place(cell: Any) -> list[int]:
    row, column = cell
    return [int(column), int(row)]


def result_lines(played: ToldRound) -> list[str]:
    """The number of people who are out, and whether the player is out.

    Args:
        played: the round.
    """
    out = int((played.agents["status"] == ESCAPED).sum())
    lines: list[str] = [Phrase("room.out", n=out, of=len(played.model.population))]
    mine = played.own
    if mine.get("status") == ESCAPED:
        lines.append(Phrase("room.you_are_out", exit=_named(mine["exit"])))
    elif mine.get("status") == DEAD:
        lines.append(Phrase("room.not_out"))
    elif mine:
        lines.append(Phrase("room.inside"))
    return lines


GAME = ClassGame(
    rule=Phrase("rules.room"),
    people=(2, 30),
    minutes=10,
    # A smaller room, in which people do not wait long for the steps of others.
    parameters={
        "n_people": 30, "n_rounds": 20, "width": 15, "height": 15, "movement": "simultaneous",
    },
    people_answer=("choose", "act"),
    board=board,
    told=result_lines,
    never=(Phrase("room.still_inside"), Phrase("room.never_out")),
)  # fmt: skip
