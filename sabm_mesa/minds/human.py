"""People as minds, each at a seat of a game.

The engine asks an agent's questions at its seat and waits; a browser session or a terminal gives
the answers from its own thread. A seat knows the questions and answers of its own agent, and
nothing of the other seats.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import secrets
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sabm_mesa.core.answers import (
    ABSTAINED,
    SPACE,
    AnswerSpec,
    Choice,
    Format,
    InvalidAnswer,
    Number,
    Reply,
    Text,
    replace_surrogates,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.phrases import ENGLISH, Phrase, texts_of
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.core.structured import Structured, bounds
from sabm_mesa.minds.base import Mind

HUMAN = "human"
"""The spec of the mind."""
LONGEST = 10_000
"""The maximum length of an answer with its reasoning, so that nobody can fill the host's disk."""
AWAY_S = 5.0
"""Seconds without an open page until a person counts as away."""


class HumanMind(Mind):
    """The people of a game, each at the seat of one agent.

    Attributes:
        seats: agent → its seat; the game sets it (see `sabm_mesa.runs.game.Game`).
        stand_ins: agent → the mind that answers instead of a person.
        for_people: the names of the questions that people answer; None: all of them. A stand-in
            answers the others, and all questions of a seat that is empty.
        default_format: the format in which a stand-in without its own format is asked.
    """

    spec = HUMAN
    answer_format: Format | None = "paper"
    """A person writes plain text; a stand-in is asked in the format of its own mind."""

    def __init__(self) -> None:
        self.seats: dict[int, Seat] = {}
        self.stand_ins: Mapping[int, Mind] = {}
        self.for_people: Collection[str] | None = None
        self.default_format: Format = "paper"

    async def answer(self, ask: Ask) -> Reply:
        """Ask the person at the seat of the agent, or the mind that stands in."""
        seat, stand_in = self.seats[ask.key.agent], self.stand_ins.get(ask.key.agent)
        asked = self.for_people is None or ask.name in self.for_people
        if stand_in is None or (asked and seat.taken):
            ask.ask_in("paper")
            async with seat.asking:
                return await seat.ask(ask)
        form = stand_in.answer_format or self.default_format
        ask.ask_in(form, enforced=stand_in.enforces_json)
        answer = await stand_in.answer(ask)
        reply = answer if isinstance(answer, Reply) else Reply(answer)
        reply.by, reply.request = stand_in.spec, reply.request or stand_in.digest(ask)
        return reply

    def remember(self, ask: Ask, reply: Reply) -> None:
        """Show a recorded answer at its seat, in a continued game."""
        if reply.by:
            if (stand_in := self.stand_ins.get(ask.key.agent)) is not None:
                stand_in.remember(ask, reply)
        else:
            self.seats[ask.key.agent].remember(ask, reply)

    def close(self) -> None:
        """Release the resources of the stand-in minds."""
        for mind in self.stand_ins.values():
            mind.close()


class Seat:
    """The seat of one person who decides for one agent.

    Args:
        agent: the id of the agent.
        time_limit_s: seconds until an unanswered question counts as an abstention; None for no
            limit.
        token: the secret in the link to the seat; a new random one when empty.

    Attributes:
        version: increases with every change at the seat.
        word: a word with which its person gets it back on another device.
        paused: whether the host has stopped the clock: then no answer is accepted.
        asking: held while a question is open: a person answers one after another.
        pages: the number of open pages of its person.
        seen: the time of the last message from its person's page, on the clock of `time.monotonic`.
    """

    def __init__(self, agent: int, time_limit_s: float | None = None, token: str = "") -> None:
        self.agent, self.time_limit_s = agent, time_limit_s
        self.token = token or secrets.token_urlsafe(16)
        self.word = new_word()
        self.version = 0
        self.paused = False
        self.asking = asyncio.Lock()
        self.pages, self.seen = 0, 0.0
        self._wakers: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._changed = threading.Condition()
        self._holder: str | None = None
        self._last_holder, self._begin = "", 0
        self._asked: Question | None = None
        self._turns: list[Question] = []
        self._last_answer = ""

    @property
    def taken(self) -> bool:
        """Whether the seat is taken."""
        return self._holder is not None

    @property
    def was_taken(self) -> bool:
        """Whether a person has taken the seat, now or before."""
        return bool(self._last_holder)

    @property
    def away(self) -> bool:
        """Whether the seat is taken, and its page has been silent for a while."""
        return self.taken and not self.pages and time.monotonic() - self.seen > AWAY_S

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer."""
        asked = self._asked
        return None if asked is None or asked.answer is not None else asked

    @property
    def turns(self) -> tuple[Question, ...]:
        """The finished questions, oldest first, without those to an earlier person at this seat."""
        with self._changed:
            return tuple(self._turns[self._begin :])

    def take(self, holder: str) -> bool:
        """Take the seat, unless another person has it.

        Args:
            holder: a secret of the one browser or terminal that takes the seat.

        Returns:
            Whether the seat is the holder's.
        """
        with self._changed:
            if self._holder is None:
                if self._last_holder and not same(self._last_holder, holder):
                    self._begin = len(self._turns)
                self.hand_over(holder)
        return self.held_by(holder)

    def held_by(self, holder: str) -> bool:
        """Whether the seat is the holder's."""
        with self._changed:
            return self._holder is not None and same(self._holder, holder)

    def hand_over(self, holder: str) -> None:
        """Give the seat to another device of the same person, who keeps the earlier answers."""
        with self._changed:
            self._holder = self._last_holder = holder
            self.touch()

    def free(self) -> None:
        """Free the seat for the next visitor of its link."""
        with self._changed:
            self._holder = None
            self.touch()

    def answer(
        self, holder: str, number: int, answer: str, reasoning: str = "", message: str = ""
    ) -> str:
        """Answer the waiting question, from any thread.

        The answer is read as strictly as that of a language model, but before it counts: an invalid
        answer is refused here, and the question keeps waiting.

        Args:
            message: its id, by which a repeated message is recognized; ``""`` for none.

        Returns:
            Why the answer was refused; ``""`` when it was accepted, now or earlier.
        """
        if len(answer) + len(reasoning) > LONGEST:
            return Phrase("seat.too_long", most=LONGEST)
        if not self.held_by(holder):
            return Phrase("seat.not_yours")
        if message and message == self._last_answer:
            return ""
        if self.paused:
            return Phrase("seat.paused")
        with self._changed:
            question = self.question
            if question is None or question.number != number:
                return Phrase("seat.question_over")
            lines = [SPACE.sub(" ", replace_surrogates(t)).strip() for t in (reasoning, answer)]
            text = "\n".join(filter(None, lines)) if lines[1] else ""
            try:
                question.ask.read(Reply(text))
            except InvalidAnswer as problem:
                return _reason(question.ask.book, problem)
            question.answer, self._last_answer = text, message
            self.touch()
        return ""

    def skip(self) -> None:
        """Give up the waiting question, as if its time had run out."""
        with self._changed:
            if self._asked is not None:
                self._asked.skipped = True
                self.touch()

    def add_time(self, seconds: float) -> None:
        """Give more time for the waiting question, if there is a limit."""
        with self._changed:
            if (asked := self._asked) is not None:
                if asked.held_s is not None:
                    asked.held_s += seconds
                elif asked.deadline is not None:
                    asked.deadline += seconds
                self.touch()

    def pause(self, *, paused: bool) -> None:
        """Stop or restart the clock."""
        with self._changed:
            if paused != self.paused:
                self.paused = paused
                if self._asked is not None:
                    self._asked.hold(held=paused)
                self.touch()

    async def ask(self, ask: Ask) -> Reply:
        """Ask the person at the seat, and wait for the answer; the engine does it.

        Returns:
            The answer; an abstention when there was none within the time limit.
        """
        asked = Question(len(self._turns), ask)
        if self.time_limit_s is not None:
            asked.deadline = asked.asked_at + self.time_limit_s
        with self._changed:
            asked.hold(held=self.paused)
            self._asked = asked
            self.touch()
        stopped = False
        try:
            while True:
                version = self.version
                if asked.answer is not None or asked.skipped or asked.remaining_s == 0:
                    break
                await self.changed_from(version, asked.runs_out_in_s)
        except asyncio.CancelledError:
            stopped = True
        with self._changed:  # so that no message is taken that the answer lacks
            self._asked = None
            if not stopped or asked.answer is not None:
                self._turns.append(asked)
            self.touch()
        if asked.answer is not None:  # it is recorded before a run stops
            return Reply(asked.answer, latency_s=asked.open_s, stopped=stopped)
        if stopped:
            raise asyncio.CancelledError
        allowed = None if asked.deadline is None else asked.deadline - asked.asked_at
        spent = asked.open_s if asked.skipped else allowed
        return Reply("", latency_s=round(spent or 0.0, 6), finish_reason=ABSTAINED)

    def remember(self, ask: Ask, reply: Reply) -> None:
        """Add a question that was finished before the game was continued."""
        answer = None if reply.finish_reason == ABSTAINED else str(reply.answer)
        with self._changed:
            self._turns.append(Question(len(self._turns), ask, answer=answer))
            self.touch()

    def wait(self, version: int) -> int:
        """Wait until something changes at the seat.

        Returns:
            The version now.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.version != version)
            return self.version

    async def changed_from(self, version: int, timeout_s: float | None) -> None:
        """Wait until something changes at the seat, on any event loop."""
        waker = asyncio.get_running_loop(), asyncio.Event()
        with self._changed:
            if self.version != version:
                return
            self._wakers.append(waker)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await waker[1].wait()
        finally:
            with self._changed:
                self._wakers.remove(waker)

    def touch(self) -> None:
        """Announce a change that is visible at the seat, such as the end of the game."""
        with self._changed:
            self.version += 1
            self._changed.notify_all()
            for loop, event in self._wakers:
                with suppress(RuntimeError):  # the server has ended
                    loop.call_soon_threadsafe(event.set)


@dataclass(slots=True)
class Question:
    """A question at a seat.

    Attributes:
        number: its number at this seat, from 0.
        ask: the ask.
        deadline: the end of its time, on the clock of `time.monotonic`; None without a limit.
        held_s: the remaining seconds when the clock was stopped; None while it runs.
        asked_at: when it was asked, on that clock.
        answer: the given answer; None before it, and when there was none in time.
        skipped: whether the host has given it up.
    """

    number: int
    ask: Ask
    deadline: float | None = None
    held_s: float | None = None
    asked_at: float = field(default_factory=time.monotonic)
    answer: str | None = None
    skipped: bool = False

    @property
    def text(self) -> tuple[str, str]:
        """The scenario text and the question, without the form in which a model answers.

        A person fills in fields, or is asked line by line, with instructions on what to enter.
        """
        system, question = self.ask.question
        form = re.escape(self.ask.book.form(self.ask.spec, self.ask.answer_format))
        # What stands behind it on its line is about the form too.
        return system, re.sub(f"{form}.*", "", question).strip()

    @property
    def remaining_s(self) -> float | None:
        """Seconds left; None without a limit."""
        if self.held_s is not None:
            return self.held_s
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def open_s(self) -> float:
        """Seconds since it was asked."""
        return time.monotonic() - self.asked_at

    @property
    def runs_out_in_s(self) -> float | None:
        """Seconds until its deadline; None without a limit, or while the clock is stopped."""
        return None if self.held_s is not None else self.remaining_s

    def hold(self, *, held: bool) -> None:
        """Stop or restart the clock; without a limit there is none."""
        if self.deadline is not None and held:
            self.held_s = self.remaining_s
        elif self.held_s is not None:
            self.deadline, self.held_s = time.monotonic() + self.held_s, None


def _reason(book: PromptBook, problem: InvalidAnswer) -> str:
    """Why an answer was refused, in the words of the prompts if they have their own."""
    stated, phrase = book.reason(problem), _phrase_of(problem)
    return phrase if phrase is not None and phrase == stated else stated


def _phrase_of(problem: InvalidAnswer) -> Phrase | None:
    if (key := f"reasons.{problem.code}") not in texts_of(ENGLISH):
        return None
    values = {
        name: _phrase_of(value) if isinstance(value, InvalidAnswer) else value
        for name, value in problem.fields.items()
    }
    return Phrase(key, **values)


def new_word() -> str:
    """A word that can be read out and is hard to guess: one of 1.7 thousand million."""
    return "".join(secrets.choice(letters) for letters in 5 * ("bdfgklmnprstvz", "aeiou"))


# The form of an answer.


Shown = tuple[tuple[str, tuple[str, ...]], ...]
_SCIENTIFIC = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]{1,2}")
"""A number such as ``1e2``, which browsers accept as input."""
_CHOSEN = "#"
"""The path of the choice between models that have no field to tell them apart."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the form for an answer.

    Attributes:
        path: its place in the JSON of the answer, with dots; ``""`` of an answer that is this
            value.
        kind: ``"number"``, ``"choice"``, ``"several"`` (any of the options), ``"list"`` (values
            with commas between them) or ``"text"``.
        spec: the legal values.
        when: inputs that must be filled in before it, each with the values for which it is
            shown.
        values: the JSON values of the options of a pydantic field.
    """

    path: str
    kind: str
    spec: AnswerSpec
    when: Shown = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of a choice."""
        return self.spec.options if isinstance(self.spec, Choice) else ()

    @property
    def label(self) -> str:
        """Instructions in a few words: the name of the field and its legal values."""
        name = self.path.removesuffix(_CHOSEN).strip(".").replace("_", " ").replace(".", ": ")
        spec, takes = self.spec, None
        if isinstance(spec, Number):
            key = "form.integer" if spec.integer else "form.number"
            key += "_from" if math.isfinite(spec.low) else ""
            key += "_to" if math.isfinite(spec.high) else ""
            takes = Phrase(key, low=f"{spec.low:.15g}", high=f"{spec.high:.15g}")
        elif isinstance(spec, Text) and not name:
            key = "your_words" if spec.numbers else "your_words_without_digits"
            return Phrase(f"form.{'your_words_or_nothing' if spec.optional else key}")
        if not name:
            return Phrase("form.your_choice") if takes is None else takes.capitalize()
        name = name.capitalize()
        return name if takes is None else Phrase("form.named", name=name, takes=takes)

    def is_asked(self, given: Mapping[str, str]) -> bool:
        """Whether it is shown, given the earlier values."""
        return all(given.get(path) in values for path, values in self.when)

    def as_dict(self) -> dict[str, Any]:
        """The input as plain data, for a page."""
        spec, extra = self.spec, dict[str, Any]()
        if isinstance(spec, Number):
            extra["step"] = 1 if spec.integer else "any"
            ends = {"low": spec.low, "high": spec.high}
            extra |= {name: end for name, end in ends.items() if math.isfinite(end)}
        elif self.kind == "text" and isinstance(spec, Text):
            extra["max_words"] = spec.max_words
        return {
            "path": self.path,
            "kind": self.kind,
            "label": self.label,
            "options": list(self.options),
            "when": [[path, list(values)] for path, values in self.when],
            **extra,
        }

    def value(self, text: str) -> Any:
        """The value of an entered text, as JSON; pydantic converts or refuses what is left."""
        if self.kind in {"several", "list"}:
            return [self._one(entry.strip()) for entry in text.split(",") if entry.strip()]
        return self._one(text)

    def _one(self, text: str) -> Any:
        if isinstance(self.spec, Number):
            with suppress(InvalidAnswer):
                number = Number(-math.inf, math.inf).read_text(_plain_number(text))
                return int(number) if number.is_integer() else number
        return self.values.get(text, text)


def inputs_of(spec: AnswerSpec) -> list[Input]:
    """The inputs of the form for an answer; a pydantic model has one for each field."""
    if isinstance(spec, Structured):
        return list(_inputs(spec, spec.schema(), "", ()))
    return [Input("", _kind(spec), spec)]


def text_from(spec: AnswerSpec, given: Mapping[str, str]) -> str:
    """The text of a filled-in answer: the value, or JSON for a pydantic model.

    Args:
        given: path → value; several options are separated by commas.
    """
    texts = {path: SPACE.sub(" ", text).strip() for path, text in given.items()}
    if not isinstance(spec, Structured):
        value = texts.get("", "")
        return _plain_number(value) if isinstance(spec, Number) else value
    answer: dict[str, Any] = {}
    for field_ in inputs_of(spec):
        if field_.is_asked(texts):
            *parents, name = field_.path.split(".")
            place = answer
            for parent in parents:
                place = place.setdefault(parent, {})
            if name != _CHOSEN:
                place[name] = field_.value(texts.get(field_.path, ""))
    return json.dumps(answer, ensure_ascii=False)


def _plain_number(value: str) -> str:
    return format(Decimal(value), "f") if _SCIENTIFIC.fullmatch(value) else value


def _inputs(spec: Structured, schema: dict[str, Any], path: str, when: Shown) -> Iterator[Input]:
    schema, below = spec.resolved(schema), f"{path}." if path else ""
    if "anyOf" in schema:
        options = [spec.resolved(option) for option in schema["anyOf"]]
        options = [option for option in options if option.get("type") != "null"]
        if len(options) == 1:
            yield from _inputs(spec, options[0], path, when)
            return
        fields = [option.get("properties", {}) for option in options]
        tags = [{name for name, part in each.items() if "const" in part} for each in fields]
        tag = min(set.intersection(*tags), default=_CHOSEN)
        names = [str(each.get(tag, {}).get("const", i)) for i, each in enumerate(fields, 1)]
        yield Input(below + tag, "choice", Choice(tuple(names)), when)
        for name, option in zip(names, options, strict=True):
            parts = _inputs(spec, option, path, (*when, (below + tag, (name,))))
            yield from (part for part in parts if part.path != below + tag)
    elif schema.get("type") == "object":
        for name, part in schema.get("properties", {}).items():
            yield from _inputs(spec, part, below + name, when)
    elif schema.get("type") == "array":
        leaf, values = _leaf(spec.resolved(schema["items"]))
        yield Input(path, "several" if values else "list", leaf, when, values)
    else:
        leaf, values = _leaf(schema)
        yield Input(path, _kind(leaf), leaf, when, values)


def _kind(spec: AnswerSpec) -> str:
    return {Number: "number", Choice: "choice"}.get(type(spec), "text")


def _leaf(schema: dict[str, Any]) -> tuple[AnswerSpec, dict[str, Any]]:
    """The spec of one value, and the legal values of a choice by their texts."""
    kind = schema.get("type")
    values: dict[str, Any] = {"yes": True, "no": False} if kind == "boolean" else {}
    if options := schema.get("enum", [schema["const"]] if "const" in schema else []):
        values = {str(option): option for option in options}
    if values:
        return Choice(tuple(values)), values
    if kind in {"integer", "number"}:
        low, high = bounds(schema)
        ends = (-math.inf if low is None else low, math.inf if high is None else high)
        return Number(*ends, integer=kind == "integer"), {}
    return Text(), {}


def same(secret: str, given: str) -> bool:
    """Compare two secrets in constant time."""
    # The text from a browser may hold halves of surrogate pairs.
    return secrets.compare_digest(secret.encode(), given.encode("utf-8", "surrogatepass"))
