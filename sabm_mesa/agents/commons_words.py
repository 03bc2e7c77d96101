"""The words in which a commons is told: those of its wording, and numbers that never change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sabm_mesa.analysis.theory.commons import regrown

if TYPE_CHECKING:
    from sabm_mesa.prompts import PromptBook

NOUNS = ("role", "roles", "place", "take", "took", "units", "stock_units")
"""The words in which the wordings differ."""
SENTENCES = ("shared", "holds", "costs", "regrowth", "pay")
"""The sentences in which they differ."""


class Catch(NamedTuple):
    """What one harvester got in a month, as it is made known.

    Attributes:
        name: the name of the harvester.
        harvest: units.
    """

    name: str
    harvest: int


class Words:
    """The prompts of a run with the words of its wording filled in.

    Args:
        book: the prompts of the run.
        wording: ``"fishery"``, ``"pasture"`` or ``"pollution"``.
        capacity: the most units the stock can be.

    Attributes:
        book: the prompts of the run.
        values: placeholder → value, for all that depends on wording and capacity alone.
    """

    def __init__(self, book: PromptBook, wording: str, capacity: int) -> None:
        stock, taken = 9 * capacity // 10, 3 * capacity // 10
        self.book = book
        self.values: dict[str, object] = {
            "capacity": capacity,
            "example_stock": stock,
            "example_taken": taken,
            "example_left": stock - taken,
            "example_next": regrown(stock - taken, capacity),
        }
        self.values |= {
            name: book.render(f"{wording}_{name}", self.values) for name in (*NOUNS, *SENTENCES)
        }

    def __getitem__(self, name: str) -> str:
        """A word, such as that for ``"place"``."""
        return str(self.values[name])

    def render(self, entry: str, **values: object) -> str:
        """Fill one entry.

        Args:
            entry: the name of the entry.
            values: placeholder → value, besides those of the wording.
        """
        return self.book.render(entry, self.values | values)

    def report(self, catches: Sequence[Catch]) -> str:
        """What is made known about everybody's harvest, in one sentence.

        Args:
            catches: everybody's harvest.
        """
        parts = [self.render("report_one", who=who, harvest=harvest) for who, harvest in catches]
        return self.book.render("report", {"catches": ", ".join(parts)})

    def speakers(self, names: Sequence[str]) -> tuple[str, ...]:
        """Who can be named to speak next: everybody, and nobody when the talk is over.

        Args:
            names: the names of all who take part.
        """
        return (*names, self.render("nobody"))
