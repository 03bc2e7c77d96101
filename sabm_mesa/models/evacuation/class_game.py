"""The evacuation as a game for a class."""

from __future__ import annotations

import re
from collections import Counter
from math import dist
from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.phrases import Lines, Phrase, known, slug
from sabm_mesa.models.declarations import ClassGame, ToldRound
from sabm_mesa.models.evacuation.agents import DEAD, ESCAPED

ARROWS = ("↖↑↗", "←•→", "↙↓↘")


def board(ask: Ask) -> dict[str, Any] | None:
    """The room, with the exits or the cells to choose from; a cell is (row, column)."""
    seen = ask.facts
    if ask.name == "choose":
        return _exits(seen)
    if ask.name != "act":
        return None
    nearest = min(seen.exits[seen.target]["cells"], key=lambda cell: dist(cell, seen.cell))
    return {
        **_room(seen),
        "target": _place(nearest),
        "text": Phrase("room.step", exit=_named(seen.target)),
        "options": [
            {"option": letter, "at": _place(cell), "words": _arrow(seen.cell, cell)}
            for letter, cell in seen.options.items()
        ],
    }


def _room(seen: Facts) -> dict[str, Any]:
    return {"kind": "map", "width": seen.width, "height": seen.height, "me": _place(seen.cell)}


def _exits(seen: Facts) -> dict[str, Any]:
    """The whole room with the exits as options, their visible crowds, and messages about them."""
    sights = zip(seen.exits, seen.distances, seen.crowds, strict=True)
    lines: list[str] = [
        Phrase("room.sight", exit=_named(name), away=round(away), n=round(crowd))
        for name, away, crowd in sights
    ]
    if seen.said:
        lines += ["", Phrase("room.heard", exits=_grouped(seen))]
    if seen.chosen:
        lines += ["", Phrase("room.last_choice", exit=_named(seen.chosen[-1]))]
    return {
        **_room(seen),
        "whole": True,
        "text": Lines([Phrase("room.which"), "", *lines]),
        "options": [
            {"option": name, "at": _place(exit_["cells"][len(exit_["cells"]) // 2])}
            for name, exit_ in seen.exits.items()
        ],
    }


def _named(exit_: str) -> str:
    """An exit by the name that appears in messages, with its meaning."""
    return known(f"words.{slug(exit_)}", exit_)


def _grouped(seen: Facts) -> list[str]:
    """The number of messages about each exit, such as ``"left (11)"``."""
    counts = Counter[str]()
    for message in seen.said:
        words = set(re.findall(r"\w+", message.text.lower()))
        named = [name for name in seen.exits if name.lower() in words]
        counts[named[0] if len(named) == 1 else ""] += 1
    parts: list[str] = [f"{name} ({n})" for name, n in counts.most_common() if name]
    return [*parts, Phrase("room.no_exit", n=counts[""])] if counts[""] else parts


def _arrow(here: tuple[int, int], there: tuple[int, int]) -> str:
    """The step from a cell to a neighbouring one, or to itself, as an arrow."""
    (row, column), (to_row, to_column) = here, there
    return ARROWS[to_row - row + 1][to_column - column + 1]


def _place(cell: tuple[int, int]) -> list[int]:
    return [cell[1], cell[0]]


def result_lines(played: ToldRound) -> list[str]:
    """The number of people who are out, and whether the player is out."""
    out = int((played.agents["status"] == ESCAPED).sum())
    lines: list[str] = [Phrase("room.out", n=out, of=len(played.model.population))]
    mine = played.own
    if mine.get("status") == ESCAPED:
        path, nearest = _path(played)
        lines.append(Phrase("room.you_are_out", exit=_named(mine["exit"])))
        lines.append(Phrase("room.compared", n=len(path) - 1, away=nearest))
    elif mine.get("status") == DEAD:
        lines.append(Phrase("room.not_out"))
    elif mine:
        lines.append(Phrase("room.inside"))
    return lines


def picture(played: ToldRound) -> dict[str, Any] | None:
    """The path of a player who is out, or whose time is over."""
    if not (mine := played.own) or (mine["status"] not in (ESCAPED, DEAD)):
        return None
    room = played.model.room
    path, _ = _path(played)
    return {"kind": "path", "width": room.width, "height": room.height, "path": path}


def _path(played: ToldRound) -> tuple[list[list[int]], int]:
    """The cells of a player after each round, and the steps from the first one to an exit."""
    data = played.model.agent_frame()
    mine = data[(data["agent"] == played.agent) & data["x"].notna()]
    cells = [(int(x), int(y)) for x, y in zip(mine["x"], mine["y"], strict=True)]
    return [_place(cell) for cell in cells], int(played.model.room.steps[:, *cells[0]].min())


GAME = ClassGame(
    rule=Phrase("rules.room"),
    people=(2, 30),
    minutes=10,
    lesson="people=30&rounds=12&seconds=20",
    # A smaller room, in which people do not wait long for the steps of others.
    parameters={
        "n_people": 30, "n_rounds": 20, "width": 15, "height": 15, "movement": "simultaneous",
    },
    people_answer=("choose", "act"),
    board=board,
    told=result_lines,
    picture=picture,
    never=(Phrase("room.still_inside"), Phrase("room.never_out")),
)  # fmt: skip
