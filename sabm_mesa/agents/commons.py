"""The harvesters of a commons: they harvest, talk, and keep what they learn in their memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.commons_view import (
    INSIGHTS,
    CommonsView,
    Message,
    first_day,
    last_day,
    talk_day,
)
from sabm_mesa.agents.embedded_memory import embed
from sabm_mesa.agents.memory_stream import (
    HIGHEST,
    LOWEST,
    EmbeddedRelevance,
    Memory,
    MemoryStream,
)
from sabm_mesa.decisions import Choice, Decision, Number, Text
from sabm_mesa.prompts import NO_PERSONA

if TYPE_CHECKING:
    from sabm_mesa.models.commons import CommonsGovernance

KEPT = timedelta(days=63)
"""How long thoughts and talks are remembered."""
LAST_SAID = 4
"""A speaker has so many of the last utterances in focus."""
NOTHING = ""
"""A point of focus to which nothing is relevant: what is recent and important comes to mind."""
RECALLED, RECALLED_IN_TALK = 10, 5
"""Memories that come to mind: when harvesting and reflecting; for each point of focus in a talk."""
WORDS = Text(max_words=60)
SENTENCE = Text(max_words=40)
THOUGHTS = Text(max_words=100)
RATING = Number(LOWEST, HIGHEST, integer=True)
SEPARATOR = ";"
FORGETFUL = {"classical", "fixed"}
"""Kinds of minds that read no memories."""


@dataclass(frozen=True, slots=True)
class Minutes:
    """What the minutes of a talk say.

    Attributes:
        summary: the talk in one sentence; ``""`` when it could not be read.
        limit: units a person and month that were agreed on; None without an agreement.
    """

    summary: str = ""
    limit: int | None = None


class Harvester(SmartAgent):
    """A person who lives from the commons.

    Args:
        model: the commons.

    Attributes:
        name: its name.
        wanted: units it asked for this month; None when its answer could not be read, and while
            it does not take part.
        harvest: units it got this month; None while it does not take part.
        gain: units it got so far; None until it takes part.
        over: whether it got more than the sustainable amount of a person.
        hands_over_to: the name of the person it wants to speak next; None when the talk is over.
        minutes_kept: what it last wrote as the keeper of the minutes.
        memory: what it remembers.
        agreed_limit: units a person and month that were agreed on last; None without any.
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
        self._vectors = EmbeddedRelevance()
        self.memory = MemoryStream(model.relevance if model.embedder is None else self._vectors)
        self._limit: tuple[int, date] | None = None

    @property
    def paid(self) -> bool:
        """Whether its mind is paid, or the embeddings of its memories are."""
        return self.mind.paid or self._embeds

    @property
    def agreed_limit(self) -> int | None:
        """What was agreed on last, as long as it is remembered."""
        if self._limit is None or self._limit[1] < first_day(self.model.month):
            return None
        return self._limit[0]

    async def act(self) -> Decision:
        """Ask in private for a number of units."""
        model, today = self.model, first_day(self.model.month)
        memories = await self._recall([model.words["place"]], RECALLED, today)
        amount = Number(0, model.stock, integer=True, reasoning=True)
        return await self.ask("act", amount, self.observe(today, memories=memories))

    async def communicate(self) -> Decision:
        """Say something to all, and name who speaks next unless there is no time left for it."""
        model, today = self.model, talk_day(self.model.month)
        seen = self._listening()
        focus = [NOTHING, *seen.last_said(model.book, LAST_SAID)]
        memories = await self._recall(focus, RECALLED_IN_TALK, today)
        said = await self.ask("communicate", WORDS, replace(seen, memories=memories))
        self.hands_over_to = None
        if self.position + 1 < model.turns:
            if said.valid:
                own = Message(model.round, self.name, said.value)
                seen = replace(seen, talk=(*seen.talk, own))
            options = model.words.speakers(model.names)
            named = await self.ask("next_speaker", Choice(options), seen)
            if named.valid and named.value != options[-1]:
                self.hands_over_to = named.value
        return said

    async def minutes(self) -> Decision:
        """Keep the minutes, as somebody who has no part in the talk."""
        model = self.model
        seen = replace(self._listening(), minutes=True, persona=NO_PERSONA)
        summary = await self.ask("summary", SENTENCE, seen)
        yes, no = (model.words.render(answer) for answer in ("yes", "no"))
        decision = await self.ask("agreed", Choice((yes, no)), seen)
        limit: int | None = None
        if decision.value == yes:
            decision = await self.ask("limit", Number(0, model.capacity, integer=True), seen)
            limit = decision.value
        self.minutes_kept = Minutes(summary.value or "", limit)
        return decision

    async def plan(self) -> Decision:
        """Remember the talk, and what in it matters for planning and is of interest."""
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
        """Think over what comes to mind about harvesting, and remember the insights."""
        model, today = self.model, last_day(self.model.month)
        focus = [model.words.render("harvesting")]
        memories = await self._recall(focus, RECALLED, today)
        # Without a talk the harvests that are made known are among what is remembered.
        known = () if model.communication else tuple(model.catches)
        seen = self.observe(today, memories=memories, catches=known)
        insights = await self.ask("reflect", THOUGHTS, seen)
        if insights.valid:
            for text in insights.value.split(SEPARATOR, INSIGHTS - 1):
                if text.strip():
                    await self._remember("thought", text.strip(), seen)
        return insights

    def begin_month(self, told: Iterable[str]) -> None:
        """Start a month: what is out of date is forgotten, and what all are told remembered.

        Args:
            told: what all are told.
        """
        self.memory.forget(first_day(self.model.month))
        self.gain = self.gain or 0
        for text in told:
            self.witness(text)

    def take(self, harvest: int, threshold: int) -> None:
        """Take what one got, and remember it.

        Args:
            harvest: units.
            threshold: the sustainable amount of a person.
        """
        self.harvest, self.over = harvest, harvest > threshold
        self.gain = (self.gain or 0) + harvest
        entry = f"{self.model.wording}_remember_own"
        if self.wanted is None:
            entry = "remember_nothing_taken"
        self.witness(self.model.words.render(entry, wanted=self.wanted, harvest=harvest))

    def witness(self, text: str) -> None:
        """Remember to the end of the month what happened, whatever is in focus.

        Args:
            text: what happened.
        """
        month = self.model.month
        today, until = first_day(month), last_day(month)
        self.memory.add(Memory(text, "event", HIGHEST, today, until, always=True, own=True))

    def observe(self, today: date, **more: Any) -> CommonsView:
        """What the harvester knows now.

        Args:
            today: the day.
            more: what it knows besides: see `CommonsView`.
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
            **more,
        )

    @property
    def _embeds(self) -> bool:
        kind = self.mind.spec.partition(":")[0]
        return self.model.embedder is not None and kind not in FORGETFUL

    async def _recall(self, focus: Sequence[str], k: int, today: date) -> tuple[Memory, ...]:
        """What comes to mind; what that takes is embedded first, where it is."""
        model = self.model
        if model.embedder is not None and self._embeds:
            words = model.words
            focus = [words.render("embedded_focus", text=text) if text else text for text in focus]
            await embed(self, model.embedder, self.memory, self._vectors, focus, k, today)
        return self.memory.retrieve(focus, k, today)

    def _listening(self) -> CommonsView:
        """What the harvester knows in the talk and just after it."""
        model = self.model
        said, catches = tuple(model.said), tuple(model.catches)
        return self.observe(talk_day(model.month), talk=said, catches=catches)

    async def _note(self, name: str, seen: CommonsView) -> Decision:
        decision = await self.ask(name, SENTENCE, seen)
        if decision.valid:
            await self._remember("thought", decision.value, seen)
        return decision

    async def _remember(self, kind: str, text: str, seen: CommonsView) -> None:
        """Rate how important something is, and remember it."""
        memory = Memory(text, kind, None, seen.day, seen.day + KEPT)
        rating = await self.ask("importance", RATING, replace(seen, item=memory))
        self.memory.add(replace(memory, importance=rating.value))
