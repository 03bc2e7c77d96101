"""Minds for tests of a scenario: they answer at random, late, after checks, or not at all."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Collection, Iterator
from copy import copy
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

from sabm_mesa.core.answers import FORMATS, AnswerSpec, InvalidAnswer, Text
from sabm_mesa.core.asks import Ask, Key
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.prompts import NO_PERSONA, shown_number
from sabm_mesa.errors import PromptError, SabmError, error_message, one_line
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.human import Seat

if TYPE_CHECKING:
    from sabm_mesa.runs.game import Game

LATENCY = 9
"""The maximum delay of an answer in turns of the loop."""
SINGLE = re.compile(r"\{([A-Za-z_]\w*)\}")
"""A fact in single braces, which a template shows as it stands."""


class DrawingMind:
    """Gives random answers from the stream of the question.

    Args:
        unusable: the share of attempts with an unusable answer.
        paid: whether its answers count as paid: each is recorded, and depends only on the position
            of the question.
        late: the seed of random delays of answers, in turns of the loop; None: no delay.
        spec: its name in the data.
    """

    spec = "drawing"

    def __init__(
        self,
        unusable: float = 0.0,
        *,
        paid: bool = False,
        late: int | None = None,
        spec: str = "drawing",
    ) -> None:
        self.paid, self.instant, self.spec = paid, late is None, spec
        self._unusable, self._late = unusable, late

    async def answer(self, ask: Ask) -> object:
        """Draw an answer."""
        if self._late is not None:
            turns = Random(f"{self._late}/{ask.key}/{len(ask.rejected)}").randint(0, LATENCY)
            for _ in range(turns):
                await asyncio.sleep(0)
        return self.draw(ask)

    def draw(self, ask: Ask) -> object:
        """An example of a legal answer, or an unusable answer."""
        if ask.rng.random() < self._unusable:
            return ""
        return ask.spec.example(ask.rng)


class NotingMind(DrawingMind):
    """Gives random answers and keeps them.

    Attributes:
        noted: (question, round, agent) → its last answer, if that is a number or an option; fields
            have the question, a point, and the name of the field as key.
    """

    def __init__(self) -> None:
        super().__init__()
        self.noted: dict[tuple[str, int, int], object] = {}

    @property
    def questions(self) -> list[str]:
        """The questions whose answers are kept."""
        return list(dict.fromkeys(question for question, _, _ in self.noted))

    async def answer(self, ask: Ask) -> object:
        """Draw an answer and keep it."""
        answer = self.draw(ask)
        if answer != "":
            for name, value in _parts_of(ask.name, answer):
                self.noted[name, ask.key.round, ask.key.agent] = value
        return answer


def _parts_of(name: str, answer: Any) -> Iterator[tuple[str, object]]:
    """The numbers and options in an answer, with the names of their fields."""
    if isinstance(answer, BaseModel):
        for field in type(answer).model_fields:
            yield from _parts_of(f"{name}.{field}", getattr(answer, field))
    elif isinstance(answer, int | float) or (isinstance(answer, str) and " " not in answer):
        yield name, answer


class CoveringMind(DrawingMind):
    """Answers each question with the cases of its spec in turn, such as each option.

    Attributes:
        problems: the faults of the specs, each once.
        asked: question → the number of the last case.
    """

    def __init__(self) -> None:
        super().__init__()
        self.problems: dict[str, None] = {}
        self.asked: dict[str, int] = {}
        self._known: set[AnswerSpec] = set()

    async def answer(self, ask: Ask) -> object:
        """Return the next case, and check a new spec."""
        cases = ask.spec.cases(ask.rng)
        if ask.spec not in self._known:
            self._known.add(ask.spec)
            for case in cases:
                try:
                    ask.spec.check(case)
                except InvalidAnswer as problem:
                    self.problems[
                        f"the spec of {ask.name!r} refuses its own example {case!r}: "
                        f"{ask.book.reason(problem)}"
                    ] = None
        n = self.asked[ask.name] = self.asked.get(ask.name, -1) + 1
        return cases[n % len(cases)]


class LateMind(DrawingMind):
    """Gives random paid answers, and keeps the messages.

    Args:
        unusable: the share of attempts with an unusable answer.
        late: as of `DrawingMind`.

    Attributes:
        sent: the position of a question and the number of the attempt → its messages.
    """

    def __init__(self, unusable: float, late: int | None = None) -> None:
        super().__init__(unusable, paid=True, late=late)
        self.sent: dict[tuple[Key, int], object] = {}

    async def answer(self, ask: Ask) -> object:
        """Keep the messages and draw an answer."""
        self.sent[ask.key, len(ask.rejected)] = ask.messages()
        return await super().answer(ask)


class ReadingMind(DrawingMind):
    """Reads all prompts, in each format of answers, before it answers.

    Args:
        persona: the persona of its agents.

    Attributes:
        problems: the faults of the prompts, each once.
        persona_is_told: whether the text of the persona was in any prompt.
    """

    def __init__(self, persona: str = NO_PERSONA) -> None:
        super().__init__(0.2)
        self.problems: dict[str, None] = {}
        self.persona_is_told = False
        self._persona = persona

    async def answer(self, ask: Ask) -> object:
        """Read the prompts and draw an answer."""
        for answer_format in FORMATS:
            other = copy(ask)
            other.ask_in(answer_format)
            try:
                self._read(other)
            except PromptError as error:
                self.problems[str(error)] = None
        return self.draw(ask)

    def _read(self, ask: Ask) -> None:
        texts = [message["content"] for message in ask.messages()]
        for entry, text in zip((ask.scenario, ask.name), texts, strict=False):
            if not text:
                self.problems[f"the entry {entry!r} is empty"] = None
            if left := SINGLE.search(text):
                self.problems[
                    f"the entry {entry!r} shows {left[0]} as it stands; a fact is written "
                    f"{{{{ {left[1]} }}}}"
                ] = None
        if ask.name not in ask.book.questions:
            self.problems[
                f"the entry {ask.name!r} lacks {{{{ form }}}}, which says how to answer"
            ] = None
        if one_line(ask.book.persona(self._persona)) in one_line(" ".join(texts)):
            self.persona_is_told = True


class WatchedRule(Mind):
    """A rule whose reads of facts are compared with the prompts.

    Args:
        rule: the rule.
        shown: the names of the facts that the prompts show; ``.NAME`` of parts of facts.
        untold: gets (question, fact) of each other fact that the rule reads, and whose value is in
            no text of the question either.
    """

    def __init__(self, rule: Mind, shown: Collection[str], untold: dict[tuple[str, str], None]):
        self.spec, self.instant, self.paid = rule.spec, rule.instant, rule.paid
        self.informed = rule.informed
        self._rule, self._shown, self._untold = rule, {*shown, *rule.informed}, untold

    async def answer(self, ask: Ask) -> Any:
        """Answer as the rule, and note what it reads."""
        read: set[str] = set()
        watched = copy(ask)
        watched.facts = _watched(ask.facts, read)
        answer = await self._rule.answer(watched)
        for name in sorted(read - self._shown):
            fact, _, part = name.partition(".")
            value = ask.facts[fact][part] if part else ask.facts[name]
            if part and (self._shown & {f".{part}", ".items", ".values"} or fact in self.informed):
                continue
            word = shown_number(value) if isinstance(value, int | float) else str(value)
            texts = " ".join(message["content"] for message in ask.messages())
            stated = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", texts)
            if value is not None and (isinstance(value, bool) or not stated):
                self._untold[ask.name, name] = None
        return answer


def _watched(facts: Facts, read: set[str]) -> Facts:
    """The same facts, which note the names of those that are read."""

    class _Watched(Facts):
        def __getattribute__(self, name: str) -> Any:
            return self[name] if name in facts else getattr(facts, name)

        def __getitem__(self, name: str) -> Any:
            read.add(name)
            value = facts[name]
            return _Parts(value, name) if type(value) is dict else value

    class _Parts(dict[str, Any]):
        def __init__(self, parts: dict[str, Any], of: str) -> None:
            super().__init__(parts)
            self._of = of

        def __getitem__(self, name: str) -> Any:
            read.add(f"{self._of}.{name}")
            return super().__getitem__(name)

    return _Watched.__new__(_Watched)


class Silent:
    """Never answers anything usable."""

    spec, instant, paid = "silent", True, False

    async def answer(self, ask: Ask) -> object:
        """Read the prompts, with the reason of the earlier refusal, and give no answer."""
        ask.messages()
        is_legal = isinstance(ask.spec, Text) and ask.spec.optional  # silence
        return 0 if is_legal else ""


class People:
    """Simulated people at the seats of a game, who type examples of legal answers.

    Attributes:
        problems: the answers that a seat refused, in words.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.problems: list[str] = []

    def play(self, seconds: float) -> None:
        """Start the game and answer until it is over, or until the time limit."""
        at = [threading.Thread(target=self._sit, args=[s]) for s in self.game.seats.values()]
        late = threading.Timer(seconds, self.game.stop)
        for thread in (*at, late):
            thread.start()
        self.game.start()
        for thread in at:
            thread.join()
        late.cancel()
        self.game.join(seconds)

    def _sit(self, seat: Seat) -> None:
        """Answer the questions at one seat."""
        me, rng = f"person {seat.agent}", np.random.default_rng(seat.agent)
        seat.take(me)
        while self.game.status != "over":
            version, question = seat.version, seat.question
            if question is None:
                seat.wait(version)
                continue
            spec = question.ask.spec
            reasoning, example = "I think so." if spec.reasoning else "", spec.example(rng)
            try:
                typed = spec.as_text(spec.check(example))
                refusal = seat.answer(me, question.number, typed, reasoning)
            except InvalidAnswer as problem:
                refusal = question.ask.book.reason(problem)
            except SabmError as error:  # no answer would be taken
                self.problems.append(f"{type(error).__name__}: {error_message(error)}")
                self.game.stop()
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the answer is not taken
                refusal = f"{type(error).__name__}: {error_message(error)}"
            if refusal:
                self.problems.append(
                    f"the seat of a person refuses {example!r}, an example of an "
                    f"answer to {question.ask.name!r}: {refusal}"
                )
                self.game.stop()
                return
