"""The preliminary test of the evacuation: the way out of an empty room of 10 × 10 cells.

The prompts are in our own words. Their explanation of the coordinates avoids a contradiction in the
published prompt, where the move from (1, 1) to (2, 2) goes to the upper right although (0, 0) is at
the top left.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, ClassVar

from sabm_mesa.core.answers import Text
from sabm_mesa.models.evacuation.room import Cell
from sabm_mesa.models.exam import Exam, Problem, Problems

SIZE = 10
EXITS: tuple[Cell, ...] = ((5, 0), (9, 4), (8, 9))
STARTS: tuple[Cell, ...] = ((1, 3), (2, 6))
_CELL = re.compile(r"\(\s*(-?\d{1,6})\s*,\s*(-?\d{1,6})\s*\)")


def is_shortest(start: Cell, text: str) -> bool:
    """Return whether a route leads to its first exit by legal moves, as few as possible.

    A legal move leads to one of the eight neighbouring cells inside the room.
    """
    cells = [(int(x), int(y)) for x, y in _CELL.findall(text)]
    here, moves = start, 0
    for cell in cells[1:] if cells[:1] == [start] else cells:
        if _distance(here, cell) != 1 or not all(0 <= place < SIZE for place in cell):
            return False
        here, moves = cell, moves + 1
        if here in EXITS:
            return moves == min(_distance(start, exit_) for exit_ in EXITS)
    return False


def _distance(one: Cell, other: Cell) -> int:
    """The fewest moves between two cells of an empty room."""
    return max(abs(one[0] - other[0]), abs(one[1] - other[1]))


class PathTest(Problems):
    """People who name their way out of an empty room, each alone."""

    scenario_name = "path-test"
    prompt_file = "exam.toml"
    defaults: ClassVar[dict[str, Any]] = {"temperature": 0.0, "max_tokens": 512}

    def problems(self, n: int) -> list[Problem]:
        """Each start, `n` times."""
        room = {"size": SIZE, "last": SIZE - 1, "exits": ", ".join(map(str, EXITS))}
        return [
            Problem(f"from {start}", "act", {**room, "start": str(start)}, Text(max_words=200),
                    partial(is_shortest, start))
            for start in STARTS
            for _ in range(n)
        ]  # fmt: skip


EXAM = Exam(
    title="the way out of an empty room of 10 × 10 cells",
    source="Wu et al. 2024, appendix B.3 and figure 12",
    right="a shortest route to a nearest exit: 4 moves from (1, 3), 6 moves from (2, 6)",
    published="GPT-4 takes a shortest route from both cells; GPT-3.5, Gemini Pro and Claude 2 take "
    "longer routes or reach no exit",
    model=PathTest,
    parameters=lambda _, n: {"n_problems": n},
    marks=PathTest.marks,
)
