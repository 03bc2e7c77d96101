"""Paid answers, one a line, in a file that outlives the process that wrote it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

PAID, USED, DIED = "paid", "used", "died"


@dataclass(frozen=True, slots=True)
class Account:
    """The sum of a bill.

    Attributes:
        paid: answers that were paid for.
        in_flight: answers that were paid for and not used yet when the process died.
        twice: answers that were paid for again.
        beyond: those of them that had not been in flight when a process died.
    """

    paid: int
    in_flight: int
    twice: int
    beyond: int


class Bill:
    """Answers by their place in the run: those that were paid for, and those that were used.

    Args:
        path: the file; lines are appended to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, what: str, place: str = "") -> None:
        """Write a line: it is with the system, so it stays when the process dies."""
        with self.path.open("ab", buffering=0) as file:
            file.write(f"{what} {place}\n".encode())

    def count(self, what: str) -> int:
        """The number of lines that say so."""
        return sum(line.startswith(what) for line in self._lines())

    def account(self) -> Account:
        """Add up."""
        paid: Counter[str] = Counter()
        lost: Counter[str] = Counter()
        waiting: set[str] = set()
        for line in self._lines():
            what, _, place = line.partition(" ")
            if what == PAID:
                paid[place] += 1
                waiting.add(place)
            elif what == USED:
                waiting.discard(place)
            else:
                lost.update(waiting)
                waiting.clear()
        again = {place: times - 1 for place, times in paid.items() if times > 1}
        return Account(
            paid=paid.total(),
            in_flight=lost.total(),
            twice=sum(again.values()),
            beyond=sum(max(0, times - lost[place]) for place, times in again.items()),
        )

    def _lines(self) -> list[str]:
        return self.path.read_text("utf-8").splitlines() if self.path.exists() else []
