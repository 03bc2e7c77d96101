"""Minds that put a scenario to the test: they draw, dawdle, read all prompts, or say nothing."""

from __future__ import annotations

import asyncio
import re
from copy import copy
from random import Random

from sabm_mesa.core.answers import FORMATS, Choice, Number
from sabm_mesa.core.asks import Ask, Key
from sabm_mesa.core.prompts import NO_PERSONA
from sabm_mesa.errors import PromptError, one_line

LATENCY = 9
"""Turns of the loop that an answer takes at most."""
_PLACEHOLDER = re.compile(r"\{[A-Za-z_]\w*\}")


class DrawingMind:
    """Answers with what it draws from the stream of the question.

    Args:
        unusable: the share of attempts that it answers with nothing usable.
        paid: whether its answers count as paid for: each is recorded, and what it draws depends on
            the place of the question alone.
        late: answers come after as many turns of the loop as are drawn with this number; at once
            when None.
    """

    spec = "drawing"

    def __init__(
        self, unusable: float = 0.0, *, paid: bool = False, late: int | None = None
    ) -> None:
        self.paid, self.instant = paid, late is None
        self._unusable, self._late = unusable, late

    async def answer(self, ask: Ask) -> object:
        """Draw an answer."""
        if self._late is not None:
            turns = Random(f"{self._late}/{ask.key}/{len(ask.rejected)}").randint(0, LATENCY)
            for _ in range(turns):
                await asyncio.sleep(0)
        return self.draw(ask)

    def draw(self, ask: Ask) -> object:
        """An example of a legal answer, or nothing usable."""
        if ask.rng.random() < self._unusable:
            return ""
        return ask.spec.example(ask.rng)


class NotingMind(DrawingMind):
    """Answers with what it draws and keeps it.

    Attributes:
        noted: (question, round, agent) → what it answered last, numbers and options only.
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
        if isinstance(ask.spec, Choice | Number):
            self.noted[ask.name, ask.key.round, ask.key.agent] = answer
        return answer


class LateMind(DrawingMind):
    """Draws answers that are paid for, and keeps what it was sent.

    Args:
        unusable: the share of attempts that it answers with nothing usable.
        late: as of `DrawingMind`.

    Attributes:
        sent: the place of a question and the number of the attempt → its messages.
    """

    def __init__(self, unusable: float, late: int | None = None) -> None:
        super().__init__(unusable, paid=True, late=late)
        self.sent: dict[tuple[Key, int], object] = {}

    async def answer(self, ask: Ask) -> object:
        """Keep the messages and draw an answer."""
        self.sent[ask.key, len(ask.rejected)] = ask.messages()
        return await super().answer(ask)


class ReadingMind(DrawingMind):
    """Reads all that it is sent, in each format of answers, before it answers.

    Args:
        persona: the persona of those it decides for.

    Attributes:
        problems: the faults of the prompts, each once.
        persona_is_told: whether the text of the persona was in any of them.
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
            other.answer_format = answer_format
            other.forget_question()
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
            if left := _PLACEHOLDER.search(text):
                self.problems[f"the entry {entry!r} shows {left[0]} as it stands"] = None
        if one_line(ask.book.persona(self._persona)) in one_line(" ".join(texts)):
            self.persona_is_told = True


class Silent:
    """Never answers anything usable."""

    spec, instant, paid = "silent", True, False

    async def answer(self, ask: Ask) -> object:
        """Read the prompts, which say why the attempt before could not be used, and say nothing."""
        ask.messages()
        return ""
