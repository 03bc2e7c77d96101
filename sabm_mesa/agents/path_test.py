"""The walkers of the path test, and the form of their answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.answers import AnswerSpec, Unusable, shorten, undress
from sabm_mesa.asks import Observation
from sabm_mesa.decisions import Decision

if TYPE_CHECKING:
    from sabm_mesa.models.path_test import PathTest
    from sabm_mesa.prompts import PromptBook

Cell = tuple[int, int]
MOST_CELLS = 100
"""Cells of a route at the most: as many as the room of the published test has."""
_CELL = r"\(\s*[-+]?\d{1,6}\s*,\s*[-+]?\d{1,6}\s*\)"
_BETWEEN = r"\s*(?:,|;|->|→)?\s*"
_ROUTE = re.compile(rf"\[?\s*{_CELL}(?:{_BETWEEN}{_CELL})*\s*\]?")
_NUMBER = re.compile(r"[-+]?\d+")


@dataclass(frozen=True, slots=True)
class Cells(AnswerSpec):
    """A list of cells.

    In a plain text each stands in round brackets, with commas, semicolons, arrows or blanks
    between them, on one line or several, and nothing else stands there. A cell need not lie in
    the room, nor be next to the one before: such a route is an answer, and a wrong one.
    """

    kind = "cells"
    json_type = list

    def check(self, value: Any) -> tuple[Cell, ...]:
        """Return the cells, from a text or from a list of pairs of integers."""
        cells = _in_text(value) if isinstance(value, str) else _in_list(value)
        if not cells:
            raise Unusable("empty")
        if len(cells) > MOST_CELLS:
            raise Unusable("too_many_cells", found=len(cells), most=MOST_CELLS)
        return cells

    def placeholders(self) -> dict[str, Any]:
        """Nothing: the form is the same for all rooms."""
        return {}

    def _value_schema(self) -> dict[str, Any]:
        number = {"type": "integer"}
        cell = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
        return {"type": "array", "items": cell, "minItems": 1, "maxItems": MOST_CELLS}

    def _read_plain(self, lines: list[str]) -> tuple[Cell, ...]:
        return self.check(undress(" ".join(lines)))


ROUTE = Cells()


@dataclass(frozen=True, slots=True)
class Place(Observation):
    """What a walker knows: the room, its exits, and where it stands.

    Attributes:
        size: cells along a side of the room.
        exits: the cells of the exits.
        start: its own cell.
    """

    size: int
    exits: tuple[Cell, ...]
    start: Cell

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """
        return {
            "size": self.size,
            "last": self.size - 1,
            "exits": ", ".join(map(str, self.exits)),
            "start": str(self.start),
            "persona": book.persona(self.persona),
        }


class Walker(SmartAgent):
    """Somebody who says by which way it leaves the room.

    Args:
        model: the test.

    Attributes:
        start: where it stands.
        answered: whether its answer was a list of cells.
        route: that list as a text; None without one.
        legal: whether all its moves up to an exit or to its end can be made.
        exit: the exit it reaches, as a text; None when it reaches none.
        moves: the moves to that exit; None when it reaches none.
        shortest: the moves to the nearest exit.
        is_shortest: whether it reaches an exit with so few.
    """

    model: PathTest

    def __init__(self, model: PathTest) -> None:
        super().__init__(model)
        self.start: Cell = model.starts[self.unique_id - 1]
        self.answered = self.legal = self.is_shortest = False
        self.route: str | None = None
        self.exit: str | None = None
        self.moves: int | None = None
        self.shortest: int | None = None

    @property
    def place(self) -> str:
        """Where it stands, as a text."""
        return str(self.start)

    async def act(self) -> Decision:
        """Say the whole route at once."""
        return await self.ask("act", ROUTE, self.observe())

    def observe(self) -> Place:
        """What the walker knows."""
        model = self.model
        return Place(size=model.size, exits=model.exits, start=self.start, persona=self.persona)


def in_words(cells: Iterable[Cell]) -> str:
    """Cells as a text that can be read again.

    Args:
        cells: the cells.
    """
    return " ".join(map(str, cells))


def from_words(text: str) -> tuple[Cell, ...]:
    """The cells of a text that `in_words` made.

    Args:
        text: the text.
    """
    numbers = [int(number) for number in _NUMBER.findall(text)]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _in_text(text: str) -> tuple[Cell, ...]:
    if _ROUTE.fullmatch(text.strip()) is None:
        raise Unusable("not_cells", found=shorten(text))
    return from_words(text)


def _in_list(value: Any) -> tuple[Cell, ...]:
    if not isinstance(value, Sequence):
        raise Unusable("not_cells", found=shorten(str(value)))
    for cell in value:
        is_pair = isinstance(cell, Sequence) and not isinstance(cell, str) and len(cell) == 2
        if not is_pair or any(type(number) is not int for number in cell):
            raise Unusable("not_cells", found=shorten(str(cell)))
    return tuple((x, y) for x, y in value)
