"""Measures and the preliminary test of the evacuation.

Rules, which can be checked by hand, say which exits a message recommends: the word lists are in
``words.toml`` of this folder. They read only the surface of English sentences.

The test is the way out of an empty room of 10 × 10 cells, with prompts in our own words. Their
explanation of the coordinates avoids a contradiction in the published prompt, where the move from
(1, 1) to (2, 2) goes to the upper right although (0, 0) is at the top left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

from sabm_mesa.analysis.messages import read_words
from sabm_mesa.core.answers import Text
from sabm_mesa.models.declarations import Exam, Study
from sabm_mesa.models.evacuation.room import Cell, Room
from sabm_mesa.models.exam import Problem, Problems

WORDS = Path(__file__).with_name("words.toml")
"""The word lists; all but those of recommendations are for the coder of messages."""
_CLAUSE_END = re.compile(r"[.,:;!?\n]|\s(?:but|so|and then|instead of|rather than)\s")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")


def evenness(counts: Iterable[float]) -> float:
    """Return Pielou's evenness: the entropy of the shares over its largest possible value.

    Source: Pielou 1966, "The measurement of diversity in different types of biological
    collections", Journal of Theoretical Biology 13.

    Returns:
        1 if all kinds are equally frequent, 0 if only one kind occurs; NaN without counts or with
        fewer than two kinds.
    """
    numbers = list(counts)
    total = sum(numbers)
    if total <= 0 or len(numbers) < 2:
        return math.nan
    shares = [number / total for number in numbers if number > 0]
    entropy = math.fsum(share * math.log(1 / share) for share in shares)
    return entropy / math.log(len(numbers))


def recommended(text: str, exits: tuple[str, ...]) -> tuple[str, ...]:
    """Return the exits that a message recommends, in the order in which it names them.

    An exit counts when a clause names it without a word against it ("avoid the left exit", "the
    left exit is crowded").
    """
    named: dict[str, None] = {}
    for clause in _clauses(text):
        if not any(_stands_in(word, clause) for word in _words()["against"]):
            named |= {name: None for name in exits if _stands_in(name.lower(), clause)}
    return tuple(named)


@cache
def _words() -> Mapping[str, Sequence[str]]:
    """The lists of words of recommendations."""
    return read_words(WORDS)["recommendation"]


def _clauses(text: str) -> list[str]:
    """The clauses as words separated by single spaces, with a space at both ends."""
    plain = text.lower().replace("\u2019", "'")
    for phrase in _words()["favour"]:
        plain = plain.replace(phrase, "clear")
    return [f" {' '.join(_WORD.findall(part))} " for part in _CLAUSE_END.split(plain)]


def _stands_in(phrase: str, clause: str) -> bool:
    return f" {phrase} " in clause


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


_EXAM = Exam(
    title="the way out of an empty room of 10 × 10 cells",
    source="Wu et al. 2024, appendix B.3 and figure 12",
    right="a shortest route to a nearest exit: 4 moves from (1, 3), 6 moves from (2, 6)",
    published="GPT-4 takes a shortest route from both cells; GPT-3.5, Gemini Pro and Claude 2 take "
    "longer routes or reach no exit",
    model=PathTest,
    parameters=lambda _, n: {"n_problems": n},
    marks=PathTest.marks,
)


STUDY = Study(
    column_bounds={"evenness": (0.0, 1.0)},
    kept_columns=("escaped", *(f"escaped_{name}" for name in Room().names), "inside", "evenness"),
    exam=_EXAM,
)
