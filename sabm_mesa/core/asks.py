"""Asks: the facts that an agent knows, the question to its mind, and the attempts at an answer.

An ask has the facts, the prompt that is rendered from them and the answer spec, and nothing else of
the model. Every mind decides on the same information, except minds of theory that are declared
`informed`.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sabm_mesa.core.answers import (
    ABSTAINED,
    BY_FILTER,
    BY_LENGTH,
    FAILED,
    AnswerSpec,
    Decision,
    Format,
    InvalidAnswer,
    Number,
    Reply,
    Text,
    shorten,
)
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.core.structured import Structured
from sabm_mesa.core.usage import Usage

T = TypeVar("T")
Chat = tuple[tuple[str, str], ...]
"""Messages in their order: role and content of each."""

TRUNCATED = " […]"
"""The mark of a text that the model did not finish, or that is quoted only in part."""
SCENARIO = "scenario"
"""The prompt entry that precedes every question, unless agents have their own."""
SUMMARISE = "summarise"
"""The prompt entry by which a mind summarises a memory (`sabm_mesa.Summary`)."""
QUOTED = 200
"""The maximum quotation of a rejected answer in the next attempt, in characters."""
REPEATED = 4000
"""The maximum part of a rejected answer that is sent back, in characters, since it is paid for
again."""
canonical_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


class Key(NamedTuple):
    """Position of an ask in a run.

    Attributes:
        round: the round, from 0.
        phase: the name of the phase.
        agent: the agent's unique id.
        call: the number of this agent's ask in the phase and round, from 0.
    """

    round: int
    phase: str
    agent: int
    call: int

    def __str__(self) -> str:
        """Name the position in words."""
        return f"round {self.round}, {self.phase}, agent {self.agent}"


class SentNotes(Protocol):
    """An object that writes the row of a request before it is sent."""

    async def note_sent(self, model: str, most: Usage) -> int:
        """Write the row of a request; return its number once the row is on disk."""

    def take_back(self, sent: int) -> None:
        """Remove the row of a request that cost nothing."""


class Ask:
    """One question to a mind.

    Args:
        name: the prompt entry with the question.
        facts: what the agent knows.
        spec: the definition of a legal answer.
        key: the position of the question in the run.
        book: the prompts of the run.
        answer_format: ``"labelled"``, ``"paper"`` or ``"json"``.
        agent: the agent whose random streams the mind may use.
        paid: whether the mind is paid, so that every attempt has its own stream.
        position: its turn in the phase, from 0, as in strict one-by-one order.
        scenario: the prompt entry before every question to the agent.

    Attributes:
        rejected: (answer, reason) of the attempts so far that could not be used.
        sent_notes: writes the row of a request before it is sent, or None.
        last: whether this is the last of several attempts: it asks for JSON.
        enforced: whether the server enforces the JSON schema (`Mind.enforces_json`).
        history: earlier questions and answers, which are sent before the question.
    """

    def __init__(
        self,
        name: str,
        facts: Facts,
        spec: AnswerSpec,
        key: Key,
        book: PromptBook,
        answer_format: Format,
        agent: Any,
        paid: bool = False,
        position: int = 0,
        scenario: str = SCENARIO,
    ) -> None:
        self.scenario = scenario
        self.name, self.facts, self.spec = name, facts, spec
        self.position = position
        self.key, self.book, self.answer_format = key, book, answer_format
        self.rejected: tuple[tuple[str, str], ...] = ()
        self.sent_notes: SentNotes | None = None
        self.last = False
        self.enforced = False
        self.history: Chat = ()
        self._agent, self._paid = agent, paid
        self._streams: dict[int, np.random.Generator] = {}
        self._question: tuple[str, str] | None = None

    @property
    def rng(self) -> np.random.Generator:
        """The only randomness a mind may use.

        A mind whose answers are free uses the stream of the agent. A paid mind has a stream for
        each attempt: a recorded answer is not asked for again, and the draws of others must not
        depend on that.
        """
        if not self._paid:
            rng: np.random.Generator = self._agent.rng
            return rng
        attempt = len(self.rejected)
        if attempt not in self._streams:
            self._streams[attempt] = self._agent.stream(self.key, attempt)
        return self._streams[attempt]

    @property
    def question(self) -> tuple[str, str]:
        """The scenario text and the question, rendered from the facts when first read."""
        if self._question is None:
            book = self.book
            values = {**book.shown(vars(self.facts)), "form": self._form(self.answer_format)}
            self._question = book.render(self.scenario, values), book.render(self.name, values)
        return self._question

    def ask_in(self, answer_format: Format, *, enforced: bool = False) -> None:
        """From now on, ask for another format of the answer."""
        if (answer_format, enforced) != (self.answer_format, self.enforced):
            self.answer_format, self.enforced = answer_format, enforced
            self._question = None

    def messages(self) -> list[dict[str, str]]:
        """The chat messages of this attempt: the unchanging part first, rejected answers last."""
        return [{"role": role, "content": content} for role, content in self.chat()]

    def chat(self) -> Chat:
        """The same messages as pairs, as they are sent and recorded."""
        system, question = self.question
        chat = [("system", system), *self.history, ("user", question)]
        for number, (answer, reason) in enumerate(self.rejected, 1):
            last = self.last and number == len(self.rejected)
            form = self._form(
                "json" if last or self.answer_format == "json" else "paper", alone=True
            )
            placeholders = {"answer": shorten(answer, QUOTED), "reason": reason, "form": form}
            again = self.book.render("again", placeholders)
            if not answer.strip():  # servers refuse an empty message, and two of one role in a row
                chat[-1] = ("user", f"{chat[-1][1]}\n\n{again}")
                continue
            repeated = answer if len(answer) <= REPEATED else answer[:REPEATED] + TRUNCATED
            chat += [("assistant", repeated), ("user", again)]
        return tuple(chat)

    def _form(self, answer_format: Format, *, alone: bool = False) -> str:
        """The instructions on the form of the answer."""
        plain = isinstance(self.spec, Text) and (alone or not self.spec.reasoning)
        if self.enforced and plain and answer_format == "json":
            answer_format = "paper"  # small models write about the JSON that they are asked for
        return self.book.form(self.spec, answer_format, alone=alone)

    @property
    def attempt_format(self) -> Format:
        """The format that this attempt asks for."""
        return "json" if self.last or isinstance(self.spec, Structured) else self.answer_format

    def ask_again(self, answer: str, reason: str, *, last: bool) -> None:
        """Go on to the next attempt, after an unusable answer; the last one may ask for JSON."""
        self.rejected += ((answer, reason),)
        self.last = last

    def answer_schema(self, *, bounded: bool = False) -> dict[str, Any]:
        """The JSON schema of the answer, with options in the order in which they are shown."""
        return self.book.as_shown(self.spec).answer_schema(
            reasoned=not self.rejected, bounded=bounded
        )

    def digest(self) -> str:
        """The hash of the messages of this attempt and the form of the answer."""
        schema = self.book.as_shown(self.spec).answer_schema()
        whole = canonical_json([self.messages(), self.answer_format, schema])
        return hashlib.sha256(whole.encode()).hexdigest()

    def read(self, reply: Reply) -> Decision:
        """Read a reply; numbers that the question states are ignored.

        Raises:
            InvalidAnswer: when it cannot be used.
        """
        answer, ended = reply.answer, reply.finish_reason
        if ended == ABSTAINED:
            raise InvalidAnswer("no_answer", seconds=f"{reply.latency_s:.3g}")
        if ended == FAILED:
            raise InvalidAnswer("failed", problem=answer)
        if not isinstance(answer, str):
            return Decision(self.spec.check(answer))
        cut_off, empty = ended == BY_LENGTH, not answer.strip()
        is_text_alone = isinstance(self.spec, Text) and not self.spec.reasoning
        if cut_off and reply.answer_format == "json":
            answer = _closed(answer)
        if empty and ended == BY_FILTER:
            raise InvalidAnswer("refused")
        if cut_off and (empty or not is_text_alone):
            if empty and (reply.thoughts or reply.thought_tokens):
                raise InvalidAnswer(
                    "cut_off_thinking", limit=f"{reply.limit} tokens" if reply.limit else "tokens"
                )
            raise InvalidAnswer("cut_off")
        states = "\n".join(self.question) if isinstance(self.spec, Number) else ""
        decision = self.spec.read(answer, reply.answer_format, question=states)
        if not cut_off:
            return decision
        return decision._replace(value=decision.value.removesuffix(TRUNCATED) + TRUNCATED)


def _closed(answer: str) -> str:
    """An object of JSON that was cut off within its last text, with the end that it lacks."""
    for end in ('"}', "}"):
        with suppress(ValueError):
            json.loads(answer.rstrip("\\") + end)
            return answer.rstrip("\\") + end
    return answer
