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
        self._waiting: _OpenQuestion | None = None
        self._turns: list[Turn] = []
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
    def question(self) -> Question | None:
        """The question that waits for an answer."""
        waiting = self._waiting
        return None if waiting is None or waiting.answer is not None else waiting.question

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The finished questions, oldest first, without those to an earlier person at this seat."""
        with self._changed:
            return tuple(self._turns[self._begin :])

    def take(self, holder: str) -> bool:
        """Take the seat; it may be the holder's already.

        Args:
            holder: a secret of the one browser or terminal that takes the seat.

        Returns:
            Whether the seat is the holder's.
        """
        with self._changed:
            if self._holder is None:
                if self._last_holder and not same(self._last_holder, holder):
                    self._begin = len(self._turns)
                self._holder = self._last_holder = holder
                self._notify()
        return self.held_by(holder)

    def held_by(self, holder: str) -> bool:
        """Whether the seat is the holder's."""
        with self._changed:
            return self._holder is not None and same(self._holder, holder)

    def hand_over(self, holder: str) -> None:
        """Give the seat to another device of the same person, who keeps the earlier answers."""
        with self._changed:
            self._holder = self._last_holder = holder
            self._notify()

    @property
    def away(self) -> bool:
        """Whether the seat is taken, and its page has been silent for a while."""
        return self.taken and not self.pages and time.monotonic() - self.seen > AWAY_S

    def free(self) -> None:
        """Free the seat for the next visitor of its link."""
        with self._changed:
            self._holder = None
            self._notify()

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
            question, waiting = self.question, self._waiting
            if question is None or waiting is None or question.number != number:
                return Phrase("seat.question_over")
            lines = [SPACE.sub(" ", replace_surrogates(t)).strip() for t in (reasoning, answer)]
            text = "\n".join(filter(None, lines)) if lines[1] else ""
            try:
                question.ask.read(Reply(text))
            except InvalidAnswer as problem:
                return _reason(question.ask.book, problem)
            waiting.answer, self._last_answer = text, message
            waiting.stir()
            self._notify()
        return ""

    def skip(self) -> None:
        """Give up the waiting question, as if its time had run out."""
        with self._changed:
            if (waiting := self._waiting) is not None:
                waiting.skipped = True
                waiting.stir()

    def add_time(self, seconds: float) -> None:
        """Give more time for the waiting question, if there is a limit."""
        with self._changed:
            if (waiting := self._waiting) is not None:
                question = waiting.question
                if question.held_s is not None:
                    question.held_s += seconds
                elif question.deadline is not None:
                    question.deadline += seconds
                waiting.stir()
                self._notify()

    def pause(self, *, paused: bool) -> None:
        """Stop or restart the clock."""
        with self._changed:
            if paused == self.paused:
                return
            self.paused = paused
            if (waiting := self._waiting) is not None:
                waiting.question.hold(held=paused)
                waiting.stir()
            self._notify()

    async def ask(self, ask: Ask) -> Reply:
        """Ask the person at the seat, and wait for the answer; the engine does it.

        Returns:
            The answer; an abstention when there was none within the time limit.
        """
        started = time.monotonic()
        limit = self.time_limit_s
        deadline = None if limit is None else started + limit
        question = Question(len(self._turns), ask, deadline)
        waiting = _OpenQuestion(question, asyncio.get_running_loop())
        with self._changed:
            question.hold(held=self.paused)
            self._waiting = waiting
            self._notify()
        stopped = False
        try:
            while waiting.answer is None and not waiting.skipped and question.remaining_s != 0:
                waiting.stirred.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(question.runs_out_in_s):
                        await waiting.stirred.wait()
        except asyncio.CancelledError:
            stopped = True
        with self._changed:  # so that no message is taken that the answer lacks
            self._close(waiting, stopped=stopped)
        if stopped and waiting.answer is None:
            raise asyncio.CancelledError  # what a person has answered is recorded before it stops
        if waiting.answer is None:
            allowed = None if question.deadline is None else question.deadline - started
            spent = time.monotonic() - started if waiting.skipped else allowed
            waited = round(spent or 0.0, 6)
            return Reply("", latency_s=waited, finish_reason=ABSTAINED)
        latency = time.monotonic() - started
        return Reply(waiting.answer, latency_s=latency, stopped=stopped)

    def remember(self, ask: Ask, reply: Reply) -> None:
        """Add a question that was finished before the game was continued."""
        answer = None if reply.finish_reason == ABSTAINED else str(reply.answer)
        with self._changed:
            self._turns.append(Turn(ask, answer))
            self._notify()

    def wait(self, version: int) -> int:
        """Wait until something changes at the seat.

        Returns:
            The version now.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.version != version)
            return self.version

    async def changed_from(self, version: int, timeout_s: float) -> None:
        """Wait until something changes at the seat, on the loop of a server."""
        waker = asyncio.get_running_loop(), asyncio.Event()
        with self._changed:
            if self.version != version:
                return
            self._wakers.append(waker)
        try:
            async with asyncio.timeout(timeout_s):
                await waker[1].wait()
        except TimeoutError:
            pass
        finally:
            with self._changed:
                self._wakers.remove(waker)

    def touch(self) -> None:
        """Announce a change that is visible at the seat, such as the end of the game."""
        with self._changed:
            self._notify()

    def _close(self, waiting: _OpenQuestion, *, stopped: bool) -> None:
        """End the question: later answers are refused, and a given answer counts.

        It is added to the turns, unless the run was stopped without an answer.
        """
        with self._changed:
            self._waiting = None
            if not stopped or waiting.answer is not None:
                self._turns.append(Turn(waiting.question.ask, waiting.answer))
            self._notify()

    def _notify(self) -> None:
        self.version += 1
        self._changed.notify_all()
        for loop, event in self._wakers:
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(event.set)


@dataclass(slots=True)
class Question:
    """A question that waits for an answer.

    Attributes:
        number: its number at this seat, from 0.
        ask: the ask.
        deadline: the end of its time, on the clock of `time.monotonic`; None without a limit.
        held_s: the remaining seconds when the clock was stopped; None while it runs.
        asked_at: when it was asked, on that clock.
    """

    number: int
    ask: Ask
    deadline: float | None
    held_s: float | None = None
    asked_at: float = field(default_factory=time.monotonic)

    @property
    def text(self) -> tuple[str, str]:
        """The scenario text and the question that the person reads."""
        return text_of(self.ask)

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
        if self.deadline is None or held == (self.held_s is not None):
            return
        if held:
            self.held_s = self.remaining_s
        else:
            self.deadline, self.held_s = time.monotonic() + (self.held_s or 0.0), None


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that is over.

    Attributes:
        ask: the ask.
        answer: the given answer; None when the time was up.
    """

    ask: Ask
    answer: str | None

    @property
    def text(self) -> tuple[str, str]:
        """The scenario text and the question that the person read."""
        return text_of(self.ask)


@dataclass(slots=True)
class _OpenQuestion:
    """A question, and the event that the engine waits for."""

    question: Question
    loop: asyncio.AbstractEventLoop
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    answer: str | None = None
    skipped: bool = False

    def stir(self) -> None:
        """Wake the engine, from any thread."""
        self.loop.call_soon_threadsafe(self.stirred.set)


def text_of(ask: Ask) -> tuple[str, str]:
    """The scenario text and the question, without the form in which a language model answers.

    A person fills in fields, or is asked line by line, with instructions on what to enter.
    """
    system, question = ask.question
    form = re.escape(ask.book.form(ask.spec, ask.answer_format))
    # What stands behind it on its line is about the form too.
    return system, re.sub(f"{form}.*", "", question).strip()


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
    syllables = (secrets.choice(_CONSONANTS) + secrets.choice(_VOWELS) for _ in range(5))
    return "".join(syllables)


_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


# The form of an answer.


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the form for an answer.

    Attributes:
        path: its label in the plain text of the answer; ``""`` of an answer that is this value.
        kind: ``"number"``, ``"choice"``, ``"several"`` (any of the options), ``"list"`` (values
            with commas between them) or ``"text"``.
        label: what to enter, in a few words.
        spec: its spec.
        options: the options of a choice.
        when: inputs that must be filled in before it, each with the values for which it is
            shown.
    """

    path: str
    kind: str
    label: str
    spec: AnswerSpec
    options: tuple[str, ...] = ()
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()

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
        if self.kind == "text" and isinstance(spec, Text):
            extra["max_words"] = spec.max_words
        return {
            "path": self.path,
            "kind": self.kind,
            "label": self.label,
            "options": list(self.options),
            "when": [[path, list(values)] for path, values in self.when],
            **extra,
        }


def inputs_of(spec: AnswerSpec) -> list[Input]:
    """The inputs of the form for an answer; a pydantic model has one for each field."""
    if isinstance(spec, Structured):
        return list(_inputs(spec, spec.schema(), "", ()))
    return [_leaf(spec, "", ())]


def text_from(spec: AnswerSpec, given: Mapping[str, str]) -> str:
    """The text of a filled-in answer: the value, or JSON for a pydantic model.

    Args:
        given: path → value; several options are separated by commas.
    """
    if isinstance(spec, Structured):
        return json.dumps(_json_from(spec, spec.schema(), "", given), ensure_ascii=False)
    value = SPACE.sub(" ", given.get("", "")).strip()
    return _plain_number(value) if isinstance(spec, Number) else value


_SCIENTIFIC = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]{1,2}")
"""A number such as ``1e2``, which browsers accept as input."""
_CHOSEN = "#"
"""The path of the choice between models that have no field to tell them apart."""


def _plain_number(value: str) -> str:
    return format(Decimal(value), "f") if _SCIENTIFIC.fullmatch(value) else value


def _alternatives(spec: Structured, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The field that tells the models of a union apart, and name → schema of each."""
    options = [spec.resolved(option) for option in schema["anyOf"]]
    options = [option for option in options if option.get("type") != "null"]
    tags = [
        {name for name, part in option.get("properties", {}).items() if "const" in part}
        for option in options
    ]
    tag = min(set.intersection(*tags), default=_CHOSEN)
    names = [
        str(option["properties"][tag]["const"]) if tag != _CHOSEN else str(number)
        for number, option in enumerate(options, 1)
    ]
    return tag, dict(zip(names, options, strict=True))


def _inputs(
    spec: Structured,
    schema: dict[str, Any],
    path: str,
    when: tuple[tuple[str, tuple[str, ...]], ...],
) -> Iterator[Input]:
    schema, below = spec.resolved(schema), f"{path}." if path else ""
    if "anyOf" in schema:
        tag, options = _alternatives(spec, schema)
        if len(options) > 1:
            choice = Choice(tuple(options))
            yield Input(below + tag, "choice", _label(path, None), choice, choice.options, when)
        for name, option in options.items():
            shown = (*when, (below + tag, (name,))) if len(options) > 1 else when
            yield from _inputs(spec, option, path, shown)
    elif schema.get("type") == "object":
        for name, part in schema.get("properties", {}).items():
            yield from _inputs(spec, part, below + name, when)
    elif schema.get("type") == "array" and "enum" in (item := spec.resolved(schema["items"])):
        several = Choice(tuple(map(str, item["enum"])))
        yield Input(path, "several", _label(path, None), several, several.options, when)
    elif schema.get("type") == "array":
        yield Input(path, "list", _label(path, None), Text(), (), when)
    elif "const" not in schema:
        yield _leaf(_spec_of(schema), path, when)


def _spec_of(schema: dict[str, Any]) -> AnswerSpec:
    """The spec of one field."""
    if "enum" in schema:
        return Choice(tuple(map(str, schema["enum"])))
    match schema.get("type"):
        case "integer" | "number" as kind:
            low, high = bounds(schema)
            ends = (-math.inf if low is None else low, math.inf if high is None else high)
            return Number(*ends, integer=kind == "integer")
        case "boolean":
            return Choice(("yes", "no"))
    return Text()


def _json_from(
    spec: Structured, schema: dict[str, Any], path: str, given: Mapping[str, str]
) -> Any:
    """The value of a field as JSON, from the texts of the inputs."""
    schema, below = spec.resolved(schema), f"{path}." if path else ""
    value = SPACE.sub(" ", given.get(path, "")).strip()
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        tag, options = _alternatives(spec, schema)
        chosen = given.get(below + tag, "") if len(options) > 1 else next(iter(options))
        return _json_from(spec, options[chosen], path, given) if chosen in options else None
    if "enum" in schema:
        return next((option for option in schema["enum"] if str(option) == value), value)
    match schema.get("type"):
        case "object":
            parts = schema.get("properties", {})
            return {name: _json_from(spec, parts[name], below + name, given) for name in parts}
        case "array":
            entries = [entry.strip() for entry in value.split(",") if entry.strip()]
            return [_json_from(spec, schema["items"], "", {"": entry}) for entry in entries]
        case "integer" | "number":
            number = Number(-math.inf, math.inf)
            with suppress(InvalidAnswer):
                read = number.read_text(_plain_number(value))
                return int(read) if read.is_integer() else read
        case "boolean":
            return value == "yes"
    return value


def _leaf(spec: AnswerSpec, path: str, when: tuple[tuple[str, tuple[str, ...]], ...]) -> Input:
    if isinstance(spec, Number):
        key = "form.integer" if spec.integer else "form.number"
        ends = {"low": f"{spec.low:.15g}", "high": f"{spec.high:.15g}"}
        key += "_from" if math.isfinite(spec.low) else ""
        key += "_to" if math.isfinite(spec.high) else ""
        return Input(path, "number", _label(path, Phrase(key, **ends)), spec, (), when)
    if isinstance(spec, Choice):
        return Input(path, "choice", _label(path, None), spec, spec.options, when)
    digits = not isinstance(spec, Text) or spec.numbers
    if not _name(path):
        key = "your_words" if digits else "your_words_without_digits"
        if isinstance(spec, Text) and spec.optional:
            key = "your_words_or_nothing"
        return Input(path, "text", Phrase(f"form.{key}"), spec, (), when)
    key = "words" if digits else "words_without_digits"
    return Input(
        path, "text", _label(path, None if digits else Phrase(f"form.{key}")), spec, (), when
    )


def _label(path: str, wording: Phrase | None) -> str:
    """A label: the name of a field, and its legal values."""
    name = _name(path)
    if not name:
        return Phrase("form.your_choice") if wording is None else wording.capitalize()
    return name if wording is None else Phrase("form.named", name=name, takes=wording)


def _name(path: str) -> str:
    """The name of a field; ``""`` of an answer that is one value."""
    return path.removesuffix(_CHOSEN).strip(".").replace("_", " ").replace(".", ": ").capitalize()


def same(secret: str, given: str) -> bool:
    """Compare two secrets in constant time."""
    # The text from a browser may hold halves of surrogate pairs.
    return secrets.compare_digest(secret.encode(), given.encode("utf-8", "surrogatepass"))
