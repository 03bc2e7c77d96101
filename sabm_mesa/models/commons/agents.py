"""The harvesters of a commons: their prompts, observations and monthly decisions."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable, Sequence
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
from sabm_mesa.core.asks import Observation
from sabm_mesa.core.messages import Message
from sabm_mesa.core.prompts import NO_PERSONA
from sabm_mesa.models.commons.theory import regrown

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.commons.model import CommonsGovernance


NOUNS = ("role", "roles", "place", "take", "took", "units", "stock_units")
"""The prompt words that differ between wordings."""
SENTENCES = ("shared", "holds", "costs", "regrowth", "pay")
"""The prompt sentences that differ between wordings."""
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


class Words:
    """The prompts of a run with the words of its wording filled in.

    Args:
        book: the prompts of the run.
        wording: ``"fishery"``, ``"pasture"`` or ``"pollution"``.
        capacity: the largest stock (units).

    Attributes:
        book: the prompts of the run.
        values: placeholder → value, for placeholders that depend only on the wording and the
            capacity.
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

    @property
    def unit(self) -> str:
        """The unit of an amount for an answer spec: one line, without a colon."""
        return " ".join(self["units"].replace(":", " ").split())

    def __getitem__(self, name: str) -> str:
        """One word, such as the one for ``"place"``."""
        return str(self.values[name])

    def render(self, entry: str, **values: object) -> str:
        """Fill one entry.

        Args:
            entry: the name of the entry.
            values: further placeholders → values.
        """
        return self.book.render(entry, self.values | values)

    def report(self, catches: Sequence[Catch]) -> str:
        """The report of all harvests, in one sentence.

        Args:
            catches: the harvests.
        """
        parts = [self.render("report_one", who=name, harvest=got) for name, got in catches]
        return self.book.render("report", {"catches": ", ".join(parts)})

    def speakers(self, names: Sequence[str]) -> tuple[str, ...]:
        """The possible next speakers: all harvesters, and nobody to end the talk.

        Args:
            names: the names of the participating harvesters.
        """
        return (*names, self.render("nobody"))


def first_day(month: int) -> date:
    """The day of the harvest.

    Args:
        month: the month, from 1.
    """
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
class CommonsView(Observation):
    """The observation of a harvester in an ask.

    Attributes:
        wording: ``"fishery"``, ``"pasture"`` or ``"pollution"``.
        name: its own name.
        names: the names of all participating harvesters of this month, including itself, in order.
        month: the month, from 1.
        day: the day.
        capacity: the largest stock (units).
        stock: units before this month's harvest.
        communication: whether the harvesters talk.
        reported: whether all harvests are reported.
        catches: the reported harvests of this month, if the prompt states them.
        memory: the retrieved memories, oldest first.
        talk: the messages of this month's talk so far.
        agreed_limit: the last agreed amount per person and month (units), while it is remembered.
        item: the memory to rate; None in other questions.
        minutes: whether the question is for the keeper of the minutes, outside the talk.
        last_month: the previous month, for `informed` minds, since prompts mention it only in
            memories; otherwise None.
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
    talk: tuple[Message, ...] = ()
    agreed_limit: int | None = None
    item: Memory | None = None
    minutes: bool = False
    last_month: LastMonth | None = None

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
            "told": words.render(f"told_{self._stated()}"),
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
        """The last entries of the talk, including the report.

        Args:
            book: the prompts of the run.
            n: maximum number of entries.
        """
        words = Words(book, self.wording, self.capacity)
        opening = [words.report(self.catches)] if self.catches else []
        return [*opening, *(message.text for message in self.talk)][-n:]

    def _stated(self) -> str:
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
            for number, memory in enumerate(self.memory, 1)
        ]
        return "\n".join(lines) or book.render("memory_nothing", {})

    def _talk(self, words: Words) -> str:
        book, lines = words.book, []
        if self.catches:
            values = {"speaker": words.render("moderator"), "text": words.report(self.catches)}
            lines.append(book.render("said_other", values))
        for message in book.quoted_in_order(self.talk):
            is_own = message.name == self.name and not self.minutes
            text = book.quote(message.text, self.names)
            entry = "said_own" if is_own else "said_other"
            lines.append(book.render(entry, {"speaker": message.name, "text": text}))
        return "\n".join(lines) or book.render("said_nothing", {})


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
        """A message to all.

        Args:
            text: its words.
        """
        return Message(self.model.round, self.unique_id, text, name=self.name)

    async def act(self) -> Decision:
        """Ask in private for a number of units."""
        model, today = self.model, first_day(self.model.month)
        memories = self.memory.recall([model.words["place"]], RECALLED, today)
        unit = model.words.unit
        amount = Number(0, model.stock, integer=True, reasoning=free, label="harvest", unit=unit)
        return await self.ask("act", amount, self.observe(today, memory=memories))

    async def communicate(self) -> Decision:
        """Send a message to all, and name the next speaker if there is time left."""
        model, today = self.model, talk_day(self.model.month)
        seen = self._listening()
        focus = [NOTHING, *seen.last_said(model.book, LAST_SAID)]
        memories = self.memory.recall(focus, RECALLED_IN_TALK, today)
        utterance = await self.ask("communicate", UTTERANCE, replace(seen, memory=memories))
        self.hands_over_to = None
        if self.turn + 1 < model.turns:
            if utterance.valid:
                message = self.message(utterance.value)
                seen = replace(seen, talk=(*seen.talk, message))
            options = model.words.speakers(model.names)
            named = await self.ask("next_speaker", Choice(options, label="speaker"), seen)
            if named.valid and named.value != options[-1]:
                self.hands_over_to = named.value
        return utterance

    async def minutes(self) -> Decision:
        """Write the minutes, in the role of an outsider."""
        model = self.model
        seen = replace(self._listening(), minutes=True, persona=NO_PERSONA)
        summary = await self.ask("summary", SENTENCE, seen)
        yes, no = (model.words.render(answer) for answer in ("yes", "no"))
        decision = await self.ask("agreed", Choice((yes, no)), seen)
        limit: int | None = None
        if decision.value == yes:
            unit = model.words.unit
            amount = Number(0, model.capacity, integer=True, label="limit", unit=unit)
            decision = await self.ask("limit", amount, seen)
            limit = decision.value
        self.minutes_kept = Minutes(summary.value or "", limit)
        return decision

    async def plan(self) -> Decision:
        """Remember the talk, a point for planning, and a point of interest."""
        model, today = self.model, talk_day(self.model.month)
        seen = self._listening()
        if model.summary:
            await self._remember("chat", model.summary, seen)
        decision = await self._note("plan", seen)
        await self._note("interest", seen)
        if model.agreed_limit is not None:
            self._limit = model.agreed_limit, today + KEPT
            text = model.words.render("remember_limit", limit=model.agreed_limit)
            self.memory.add(
                Memory(text, "thought", HIGHEST, today, today + KEPT, always=True, own=True)
            )
        return decision

    async def reflect(self) -> Decision:
        """Reflect on the memories of harvesting, and remember the insights."""
        model, today = self.model, last_day(self.model.month)
        focus = [model.words.render("harvesting")]
        memories = self.memory.recall(focus, RECALLED, today)
        # Without a talk, the reported harvests are stored as memories.
        known = () if model.communication else tuple(model.catches)
        seen = self.observe(today, memory=memories, catches=known)
        insights = await self.ask("reflect", THOUGHTS, seen)
        if insights.valid:
            for text in insights.value.split(SEPARATOR, INSIGHTS - 1):
                if text.strip():
                    await self._remember("thought", text.strip(), seen)
        return insights

    def begin_month(self, news: Iterable[str]) -> None:
        """Begin a month: drop expired memories, and remember the news.

        Args:
            news: the news for all.
        """
        self.memory.forget(first_day(self.model.month))
        self.gain = self.gain or 0
        for text in news:
            self.witness(text)

    def take(self, harvest: int, threshold: int) -> None:
        """Receive the units of this month, and remember them.

        Args:
            harvest: units.
            threshold: the sustainable amount per person (units).
        """
        self.harvest, self.over = harvest, harvest > threshold
        self.gain = (self.gain or 0) + harvest
        entry = f"{self.model.wording}_remember_own"
        if self.wanted is None:
            entry = "remember_nothing_taken"
        self.witness(self.model.words.render(entry, wanted=self.wanted, harvest=harvest))

    def witness(self, text: str) -> None:
        """Remember an event until the end of the month, independently of the focus.

        Args:
            text: the event.
        """
        month = self.model.month
        today, until = first_day(month), last_day(month)
        self.memory.add(Memory(text, "event", HIGHEST, today, until, always=True, own=True))

    def observe(self, today: date, **more: Any) -> CommonsView:
        """The knowledge of the harvester at this moment.

        Args:
            today: the day.
            more: further fields of `CommonsView`.
        """
        model = self.model
        return CommonsView(
            wording=model.wording,
            name=self.name,
            names=model.names,
            month=model.month,
            day=today,
            capacity=model.capacity,
            stock=model.stock,
            communication=model.communication,
            reported=model.reported,
            agreed_limit=self.agreed_limit,
            persona=self.persona,
            last_month=model.last_month if "last_month" in self.mind.informed else None,
            **more,
        )

    def _listening(self) -> CommonsView:
        """The observation of the harvester during and right after the talk."""
        model = self.model
        catches = tuple(model.catches)
        return self.observe(talk_day(model.month), talk=self.conversation(), catches=catches)

    async def _note(self, name: str, seen: CommonsView) -> Decision:
        decision = await self.ask(name, SENTENCE, seen)
        if decision.valid:
            await self._remember("thought", decision.value, seen)
        return decision

    async def _remember(self, kind: str, text: str, seen: CommonsView) -> None:
        """Rate the importance of a text, and remember it."""
        memory = Memory(text, kind, None, seen.day, seen.day + KEPT)
        rating = await self.ask("importance", RATING, replace(seen, item=memory))
        self.memory.add(replace(memory, importance=rating.value))
