"""The mind that is a person, at a seat of a game.

The engine asks an agent's questions at its seat and waits; a browser session or a terminal gives
the answers from a thread of its own. A seat knows the questions and answers of its own agent, and
nothing of the other seats.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import threading
import time
from dataclasses import dataclass, field

from sabm_mesa.core.answers import (
    ABSTAINED,
    SPACE,
    Format,
    InvalidAnswer,
    Reply,
    replace_surrogates,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.minds.base import Mind

HUMAN = "human"
"""The spec of the mind."""
LONGEST = 10_000
"""Characters of an answer with its reasoning, so that nobody can fill the recording of the host."""


class HumanMind(Mind):
    """The people of a game, each at the seat of one agent.

    Attributes:
        seats: agent → its seat; the game sets it (see `sabm_mesa.runs.game.Game`).
    """

    spec = HUMAN
    answer_format: Format | None = "paper"
    """A person writes plain text; the format of language models does not matter here."""

    def __init__(self) -> None:
        self.seats: dict[int, Seat] = {}

    async def answer(self, ask: Ask) -> Reply:
        """Ask the person at the seat of the agent.

        Args:
            ask: the question.
        """
        return await self.seats[ask.key.agent].ask(ask)

    def remember(self, ask: Ask, reply: Reply) -> None:
        """Show a recorded answer at its seat, in a game that is taken up again.

        Args:
            ask: the question.
            reply: the recorded reply.
        """
        self.seats[ask.key.agent].remember(ask, reply)


class Seat:
    """The place of one person that decides for one agent.

    Args:
        agent: the id of the agent.
        time_limit_s: seconds until an unanswered question is given up; None for no limit.
        token: the secret in the link to the seat; a new one, which cannot be guessed, when empty.

    Attributes:
        version: goes up with everything that changes at the seat.
    """

    def __init__(self, agent: int, time_limit_s: float | None = None, token: str = "") -> None:
        self.agent, self.time_limit_s = agent, time_limit_s
        self.token = token or secrets.token_urlsafe(16)
        self.version = 0
        self._changed = threading.Condition()
        self._holder: str | None = None
        self._waiting: _OpenQuestion | None = None
        self._turns: list[Turn] = []

    @property
    def taken(self) -> bool:
        """Whether the seat is taken."""
        return self._holder is not None

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer."""
        waiting = self._waiting
        return None if waiting is None or waiting.answer is not None else waiting.question

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The questions that are over, oldest first."""
        with self._changed:
            return tuple(self._turns)

    def take(self, holder: str) -> bool:
        """Take the seat; it may be the holder's already.

        Args:
            holder: a secret of the one browser or terminal that takes the seat.

        Returns:
            Whether the seat is the holder's.
        """
        with self._changed:
            if self._holder is None:
                self._holder = holder
                self._notify()
        return self.held_by(holder)

    def held_by(self, holder: str) -> bool:
        """Whether the seat is the holder's.

        Args:
            holder: the secret with which it was taken.
        """
        with self._changed:
            return self._holder is not None and same(self._holder, holder)

    def free(self) -> None:
        """Free the seat for the next visitor of its link."""
        with self._changed:
            self._holder = None
            self._notify()

    def answer(self, holder: str, number: int, answer: str, reasoning: str = "") -> str:
        """Answer the question that waits, from any thread.

        The answer is read as strictly as that of a language model, but before it counts: an
        invalid answer is refused here, and the question waits on.

        Args:
            holder: the secret with which the seat was taken.
            number: the number of the question.
            answer: the answer.
            reasoning: private reasoning, where the question asks for it.

        Returns:
            Why the answer was not taken; ``""`` when it was.
        """
        if len(answer) + len(reasoning) > LONGEST:
            return f"It is too long: {LONGEST} characters are taken at most."
        if not self.held_by(holder):
            return "This seat is not yours any more."
        with self._changed:
            question, waiting = self.question, self._waiting
            if question is None or waiting is None or question.number != number:
                return "This question is over: no answer is taken any more."
            lines = [
                SPACE.sub(" ", replace_surrogates(line)).strip() for line in (reasoning, answer)
            ]
            text = "\n".join(line for line in lines if line) if lines[1] else ""
            try:
                question.ask.read(Reply(text))
            except InvalidAnswer as problem:
                return question.ask.book.reason(problem)
            waiting.answer = text
            waiting.loop.call_soon_threadsafe(waiting.answered.set)
            self._notify()
        return ""

    async def ask(self, ask: Ask) -> Reply:
        """Ask the person at the seat, and wait for the answer; the engine does it.

        Args:
            ask: the question.

        Returns:
            The answer; a reply that abstains when there was none within the time limit.
        """
        started = time.monotonic()
        limit = self.time_limit_s
        deadline = None if limit is None else started + limit
        question = Question(len(self._turns), ask, deadline)
        waiting = _OpenQuestion(question, asyncio.get_running_loop())
        with self._changed:
            self._waiting = waiting
            self._notify()
        stopped = False
        try:
            async with asyncio.timeout(limit):
                await waiting.answered.wait()
        except TimeoutError:
            pass  # an answer that was taken in this very moment still counts
        except asyncio.CancelledError:
            stopped = True
        self._close(waiting, stopped=stopped)
        if stopped and waiting.answer is None:
            raise asyncio.CancelledError  # what a person has answered is recorded before it stops
        shown = hashlib.sha256("\n".join(ask.question).encode()).hexdigest()
        if waiting.answer is None:
            return Reply("", latency_s=limit or 0.0, finish_reason=ABSTAINED, request=shown)
        latency = time.monotonic() - started
        return Reply(waiting.answer, latency_s=latency, request=shown, stopped=stopped)

    def remember(self, ask: Ask, reply: Reply) -> None:
        """Add a question that was over before the game was taken up again.

        Args:
            ask: the question.
            reply: the recorded reply.
        """
        answer = None if reply.finish_reason == ABSTAINED else str(reply.answer)
        with self._changed:
            self._turns.append(Turn(ask, answer))
            self._notify()

    def wait(self, version: int) -> int:
        """Wait until something changes at the seat.

        Args:
            version: the version that is known already.

        Returns:
            The version now.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.version != version)
            return self.version

    def touch(self) -> None:
        """Announce a change that can be seen from the seat, such as the end of the game."""
        with self._changed:
            self._notify()

    def _close(self, waiting: _OpenQuestion, *, stopped: bool) -> None:
        """End the question: no answer is taken from now on, and one that was given counts.

        It becomes a turn unless the run was stopped without an answer.
        """
        with self._changed:
            self._waiting = None
            if not stopped or waiting.answer is not None:
                self._turns.append(Turn(waiting.question.ask, waiting.answer))
            self._notify()

    def _notify(self) -> None:
        self.version += 1
        self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Question:
    """A question that waits for an answer.

    Attributes:
        number: its number at this seat, from 0.
        ask: the ask.
        deadline: the end of its time, on the clock of `time.monotonic`; None without a limit.
    """

    number: int
    ask: Ask
    deadline: float | None

    @property
    def text(self) -> tuple[str, str]:
        """The scenario text and the question that the person reads."""
        return text_of(self.ask)

    @property
    def remaining_s(self) -> float | None:
        """Seconds left; None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that is over.

    Attributes:
        ask: the ask.
        answer: the answer as it was given; None when nobody answered in time.
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
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    answer: str | None = None


def text_of(ask: Ask) -> tuple[str, str]:
    """The scenario text and the question, without the form in which a language model answers.

    A person fills in fields, or is asked line by line, and is told there what to enter.

    Args:
        ask: the question.
    """
    system, question = ask.question
    form = ask.book.form(ask.spec, ask.answer_format)
    return system, question.replace(form, "").strip()


def same(secret: str, given: str) -> bool:
    """Compare two secrets, in a time that tells nothing about them."""
    # The text from a browser may hold halves of surrogate pairs.
    return secrets.compare_digest(secret.encode(), given.encode("utf-8", "surrogatepass"))
