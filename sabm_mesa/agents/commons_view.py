"""What a harvester of the commons sees, and how its prompts tell it."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from sabm_mesa.agents.commons_words import Catch, Words
from sabm_mesa.agents.memory_stream import Memory
from sabm_mesa.asks import Observation

if TYPE_CHECKING:
    from sabm_mesa.prompts import PromptBook

FIRST_YEAR = 2024
"""The first month is January of this year."""
INSIGHTS = 3
"""Insights of one reflection at the most."""


class Message(NamedTuple):
    """What one harvester said to all.

    Attributes:
        round: the round in which it was said.
        speaker: the name of the harvester.
        text: the words.
    """

    round: int
    speaker: str
    text: str


def first_day(month: int) -> date:
    """The day of the harvest.

    Args:
        month: the month, from 1.
    """
    years, place = divmod(month - 1, 12)
    return date(FIRST_YEAR + years, place + 1, 1)


def last_day(month: int) -> date:
    """The day of the reflection; the talk is on the day before."""
    first = first_day(month)
    return first.replace(day=monthrange(first.year, first.month)[1])


def talk_day(month: int) -> date:
    """The day of the talk."""
    return last_day(month) - timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CommonsView(Observation):
    """What a harvester knows at the moment of an ask.

    Attributes:
        wording: ``"fishery"``, ``"pasture"`` or ``"pollution"``.
        name: its own name.
        names: the names of all who take part this month, its own among them, in order.
        month: the month, from 1.
        day: the day.
        capacity: the most units the stock can be.
        stock: units before this month's harvest.
        communication: whether the harvesters talk.
        reported: whether everybody's harvest is made known.
        catches: everybody's harvest of this month, where it is told.
        memories: what comes to its mind, oldest first.
        talk: what was said in this month's talk so far.
        agreed_limit: units a person and month that were agreed on last, as far as it remembers.
        item: what is to be rated, or None.
        minutes: whether it is asked as the keeper of the minutes, who has no part in the talk.
    """

    wording: str
    name: str
    names: tuple[str, ...]
    month: int
    day: date
    capacity: int
    stock: int
    communication: bool
    reported: bool
    catches: tuple[Catch, ...] = ()
    memories: tuple[Memory, ...] = ()
    talk: tuple[Message, ...] = ()
    agreed_limit: int | None = None
    item: Memory | None = None
    minutes: bool = False

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """
        words = Words(book, self.wording, self.capacity)
        others = [name for name in self.names if name != self.name]
        values = words.values | {
            "name": self.name,
            "others": ", ".join(others),
            "everybody": ", ".join(self.names),
            "date": self.day.isoformat(),
            "stock": self.stock,
            "n_insights": INSIGHTS,
            "persona": book.persona(self.persona),
            "told": words.render(f"told_{self._told()}"),
            "memories": self._remembered(book, "memory"),
            "numbered": self._remembered(book, "memory_numbered"),
            "talk": self._talk(words),
            "options": ", ".join(words.speakers(self.names)),
            **{answer: words.render(answer) for answer in ("nobody", "yes", "no")},
        }
        if self.item is not None:
            values["kind"] = words.render(f"kind_{self.item.kind}")
            values["item"] = self._text(book, self.item)
        values["rules"] = book.render("rules", values)
        briefing = "briefing_minutes" if self.minutes else "briefing"
        return values | {"briefing": book.render(briefing, values)}

    def last_said(self, book: PromptBook, n: int) -> list[str]:
        """The last entries of the talk, the report among them.

        Args:
            book: the prompts of the run.
            n: how many at the most.
        """
        words = Words(book, self.wording, self.capacity)
        opening = [words.report(self.catches)] if self.catches else []
        return [*opening, *(each.text for each in self.talk)][-n:]

    def _told(self) -> str:
        if self.communication:
            return "talk" if self.reported else "talk_only"
        return "report_only" if self.reported else "nothing"

    def _text(self, book: PromptBook, memory: Memory) -> str:
        return memory.text if memory.own else book.quote(memory.text, self.names)

    def _remembered(self, book: PromptBook, entry: str) -> str:
        lines = [
            book.render(
                entry,
                {
                    "number": number,
                    "date": memory.created.isoformat(),
                    "text": self._text(book, memory),
                },
            )
            for number, memory in enumerate(self.memories, 1)
        ]
        return "\n".join(lines) or book.render("memory_nothing", {})

    def _talk(self, words: Words) -> str:
        book, lines = words.book, []
        if self.catches:
            told = {"speaker": words.render("moderator"), "text": words.report(self.catches)}
            lines.append(book.render("said_other", told))
        for message in self.talk:
            own = message.speaker == self.name and not self.minutes
            text = book.quote(message.text, self.names)
            entry = "said_own" if own else "said_other"
            lines.append(book.render(entry, {"speaker": message.speaker, "text": text}))
        return "\n".join(lines) or book.render("said_nothing", {})
