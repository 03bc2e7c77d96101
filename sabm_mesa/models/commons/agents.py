"""The harvesters of a commons: what they know, and their monthly decisions."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.memory import (
    HIGHEST,
    LOWEST,
    NOTHING,
    Memory,
    Stream,
)
from sabm_mesa.core.answers import Choice, Decision, Number, Text, free
from sabm_mesa.core.messages import Message
from sabm_mesa.core.prompts import NO_PERSONA
from sabm_mesa.models.commons.theory import regrown

if TYPE_CHECKING:
    from sabm_mesa.models.commons.model import CommonsGovernance

NAMES = ("John", "Kate", "Jack", "Emma", "Luke")
"""The names of the published prompts."""
FIRST_YEAR = 2024
"""The first month is January of this year."""
INSIGHTS = 3
"""Maximum number of insights of a reflection."""
SEPARATOR = ";"
KEPT = timedelta(days=63)
"""Lifetime of memories of thoughts and talks."""
LAST_SAID = 4
"""Number of last utterances that are points of focus of a speaker."""
RECALLED, RECALLED_IN_TALK = 10, 5
"""Number of retrieved memories: for harvesting and reflecting, and for each point of focus in a
talk.
"""
UTTERANCE = Text(max_words=60, label="message")
SENTENCE = Text(max_words=40)
THOUGHTS = Text(max_words=100)
RATING = Number(LOWEST, HIGHEST, integer=True, label="rating")


class Catch(NamedTuple):
    """The reported harvest of one harvester in a month.

    Attributes:
        name: the name of the harvester.
        harvest: units.
    """

    name: str
    harvest: int


class LastMonth(NamedTuple):
    """A finished month.

    Attributes:
        stock: units before its harvest.
        catches: the reported harvests; empty if they were not reported.
    """

    stock: int
    catches: tuple[Catch, ...]


def example(capacity: int) -> dict[str, int]:
    """The month that serves as an example in prompts (units)."""
    stock, taken = 9 * capacity // 10, 3 * capacity // 10
    left = stock - taken
    return {"stock": stock, "taken": taken, "left": left, "next": regrown(left, capacity)}


def first_day(month: int) -> date:
    """The day of the harvest."""
    years, month_of_year = divmod(month - 1, 12)
    return date(FIRST_YEAR + years, month_of_year + 1, 1)


def last_day(month: int) -> date:
    """The day of the reflection; the talk is on the day before."""
    first = first_day(month)
    return first.replace(day=monthrange(first.year, first.month)[1])


def talk_day(month: int) -> date:
    """The day of the talk."""
    return last_day(month) - timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Minutes:
    """The minutes of a talk.

    Attributes:
        summary: the talk in one sentence; ``""`` when it could not be read.
        limit: the agreed amount per person and month (units); None without an agreement.
    """

    summary: str = ""
    limit: int | None = None


class Harvester(SmartAgent):
    """A person who lives on the commons.

    Args:
        model: the commons.

    Attributes:
        name: its name.
        wanted: units requested this month; None if the answer was unreadable or the harvester does
            not take part.
        harvest: units received this month; None if it does not take part.
        gain: units received so far; None until it takes part.
        over: whether it received more than the threshold.
        hands_over_to: the name of the chosen next speaker; None if it ended the talk.
        minutes_kept: the last minutes that it wrote as keeper.
        memory: its memories.
    """

    model: CommonsGovernance

    def __init__(self, model: CommonsGovernance) -> None:
        super().__init__(model)
        self.name = ""
        self.wanted: int | None = None
        self.harvest: int | None = None
        self.gain: int | None = None
        self.over: bool | None = None
        self.hands_over_to: str | None = None
        self.minutes_kept = Minutes()
        self.memory = Stream()
        self._limit: tuple[int, date] | None = None

    @property
    def agreed_limit(self) -> int | None:
        """The last agreed amount per person and month (units), if it is still remembered."""
        if self._limit is None or self._limit[1] < first_day(self.model.month):
            return None
        return self._limit[0]

    def message(self, text: str) -> Message:
        """A message to all."""
        return Message(self.model.round, self.unique_id, text, name=self.name)

    async def act(self) -> Decision:
        """Ask in private for a number of units."""
        model, today = self.model, first_day(self.model.month)
        memories = self.memory.recall([model.words("place")], RECALLED, today)
        amount = Number(
            0, model.stock, integer=True, reasoning=free, label="harvest", unit=model.unit
        )
        return await self.ask("act", amount, **self.facts(today), memories=memories)

    async def communicate(self) -> Decision:
        """Send a message to all, and name the next speaker if there is time left."""
        model, today = self.model, talk_day(self.model.month)
        facts = self._listening()
        said = [message.text for message in facts["said"]]
        if model.catches:
            said = [model.report_text, *said]
        memories = self.memory.recall([NOTHING, *said[-LAST_SAID:]], RECALLED_IN_TALK, today)
        utterance = await self.ask("communicate", UTTERANCE, **facts, memories=memories)
        self.hands_over_to = None
        if self.turn + 1 < model.turns:
            if utterance.valid:
                facts["said"] = [*facts["said"], self.message(utterance.value)]
            nobody = model.words("nobody")
            speaker = Choice((*model.names, nobody), label="speaker")
            named = await self.ask("next_speaker", speaker, **facts)
            if named.valid and named.value != nobody:
                self.hands_over_to = named.value
        return utterance

    async def minutes(self) -> Decision:
        """Write the minutes, in the role of an outsider."""
        model = self.model
        facts = {**self._listening(), "minutes": True, "persona": NO_PERSONA}
        yes, no = model.words("yes"), model.words("no")
        summary, decision = await self.ask_together(
            self.ask("summary", SENTENCE, **facts),
            self.ask("agreed", Choice((yes, no)), **facts),
        )
        limit: int | None = None
        if decision.value == yes:
            amount = Number(0, model.capacity, integer=True, label="limit", unit=model.unit)
            decision = await self.ask("limit", amount, **facts)
            limit = decision.value
        self.minutes_kept = Minutes(summary.value or "", limit)
        return decision

    async def plan(self) -> Decision:
        """Remember the talk, a point for planning, and a point of interest."""
        model, today = self.model, talk_day(self.model.month)
        decision, interest = await self.ask_together(
            *(self.ask(name, SENTENCE, **self._listening()) for name in ("plan", "interest"))
        )
        talk = [("chat", model.summary)] if model.summary else []
        notes = [("thought", note.value) for note in (decision, interest) if note.valid]
        await self._remember([*talk, *notes], today)
        if model.agreed_limit is not None:
            self._limit = model.agreed_limit, today + KEPT
            text = model.words("remember_limit", limit=model.agreed_limit)
            self.memory.add(
                Memory(text, "thought", HIGHEST, today, today + KEPT, always=True, own=True)
            )
        return decision

    async def reflect(self) -> Decision:
        """Reflect on the memories of harvesting, and remember the insights."""
        model, today = self.model, last_day(self.model.month)
        memories = self.memory.recall([model.words("harvesting")], RECALLED, today)
        # Without a talk, the reported harvests are stored as memories.
        catches = [] if model.communication else model.catches
        insights = await self.ask(
            "reflect", THOUGHTS, **self.facts(today), memories=memories, catches=catches,
            n_insights=INSIGHTS,
        )  # fmt: skip
        texts = (insights.value or "").split(SEPARATOR, INSIGHTS - 1)
        await self._remember([("thought", text.strip()) for text in texts if text.strip()], today)
        return insights

    def begin_month(self, news: Iterable[str]) -> None:
        """Begin a month: drop expired memories, and remember the news."""
        self.memory.forget(first_day(self.model.month))
        self.gain = self.gain or 0
        for text in news:
            self.witness(text)

    def take(self, harvest: int, threshold: int) -> None:
        """Receive the units of this month, and remember them."""
        self.harvest, self.over = harvest, harvest > threshold
        self.gain = (self.gain or 0) + harvest
        self.witness(self.model.words("remember_own", wanted=self.wanted, harvest=harvest))

    def witness(self, text: str) -> None:
        """Remember an event until the end of the month, independently of the focus."""
        month = self.model.month
        today, until = first_day(month), last_day(month)
        self.memory.add(Memory(text, "event", HIGHEST, today, until, always=True, own=True))

    def facts(self, today: date) -> dict[str, Any]:
        """The facts of every question."""
        model = self.model
        return {
            "wording": model.wording,
            "name": self.name,
            "names": model.names,
            "date": today.isoformat(),
            "capacity": model.capacity,
            "example": example(model.capacity),
            "stock": model.stock,
            "communication": model.communication,
            "reported": model.reported,
            "minutes": False,
            "agreed_limit": self.agreed_limit,
            # Prompts mention the last month only in memories.
            "last_month": model.last_month if "last_month" in self.mind.informed else None,
        }

    def _listening(self) -> dict[str, Any]:
        """The facts of a question during or right after the talk."""
        facts = self.facts(talk_day(self.model.month))
        return {**facts, "said": self.conversation(), "catches": self.model.catches}

    async def _remember(self, texts: Iterable[tuple[str, str]], today: date) -> None:
        """Rate the importance of texts, each with its kind, and remember them."""
        memories = [Memory(text, kind, None, today, today + KEPT) for kind, text in texts]
        ratings = await self.ask_together(
            *(self.ask("importance", RATING, **self.facts(today), item=item) for item in memories)
        )
        for memory, rating in zip(memories, ratings, strict=True):
            self.memory.add(replace(memory, importance=rating.value))
