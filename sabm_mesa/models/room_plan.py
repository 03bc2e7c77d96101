"""What is said of a room, read and checked: exits, obstacles, and where people stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from sabm_mesa.errors import ParameterError
from sabm_mesa.parameters import whole

Cell = tuple[int, int]
Exits = Mapping[str, Sequence[Sequence[int]]]
Obstacles = bool | str | Sequence[str] | Sequence[Sequence[int]]

AUTHORS_ROWS = (2, 4, 6, 8, 10, 12, 19, 21, 23, 25, 27, 29)
AUTHORS_COLUMNS = (*range(4, 15), *range(18, 29))
"""The published layout of obstacles: these rows × these columns."""
FREE, OBSTACLE = ". ", "#"
"""The signs of a map in text."""


def read_cells(what: str, given: Any) -> tuple[Cell, ...]:
    """Read a list of cells.

    Args:
        what: what the cells are, for the error.
        given: pairs of whole numbers.

    Raises:
        ParameterError: when it is something else.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ParameterError(f"{what} has to be a list of cells [x, y], not {given!r}.")
    cells = []
    for cell in given:
        if not isinstance(cell, Sequence) or isinstance(cell, str) or len(cell) != 2:
            raise ParameterError(f"{what}: a cell is a pair [x, y], not {cell!r}.")
        cells.append((whole(f"{what}: x", cell[0], 0), whole(f"{what}: y", cell[1], 0)))
    return tuple(cells)


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
        raise ParameterError(f"exits has to map names to lists of cells, not {given!r}.")
    found = {_name(name): read_cells(f"exit {name}", cells) for name, cells in given.items()}
    if len({name.casefold() for name in found}) < len(found):
        raise ParameterError(f"Exits need different names (got {', '.join(found)}).")
    taken: dict[Cell, str] = {}
    for name, cells in found.items():
        if not cells:
            raise ParameterError(f"The exit {name} has no cells.")
        for cell in cells:
            if not _is_gap(cell, width, height):
                raise ParameterError(
                    f"The exit {name} has the cell {cell}, which is not on the wall of a room of "
                    f"{height} rows and {width} columns (corners do not count)."
                )
            if cell in taken:
                raise ParameterError(f"The cell {cell} belongs to {taken[cell]} and to {name}.")
            taken[cell] = name
    return found


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


def read_positions(given: Any, n: int, free: Sequence[Cell]) -> list[Cell]:
    """Read where people stand at the start.

    Args:
        given: one cell a person.
        n: the number of people.
        free: the cells in which one can stand.

    Raises:
        ParameterError: when the cells are not `n` different free ones.
    """
    cells = read_cells("positions", given)
    if len(cells) != n or len(set(cells)) != n:
        raise ParameterError(f"positions has to name {n} different cells, one a person.")
    if wrong := [cell for cell in cells if cell not in set(free)]:
        raise ParameterError(f"positions: {wrong[0]} is not a free cell inside the room.")
    return list(cells)


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
    # No digits, since nobody could say such a name: messages hold none.
    if not (isinstance(name, str) and name[:1].isalpha() and name.replace("_", "").isalpha()):
        raise ParameterError(
            "An exit needs one word as its name, of letters (of any script) and underscores, "
            f"with a letter first and without digits; not {name!r}."
        )
    return name
