"""Asking: the only way in which a decision comes about.

A question is put to the mind; what it replies is read strictly, and recorded before it is used. A
reply that cannot be used is asked for again with the reason, a bounded number of times; then the
decision is invalid, and says so.
"""

from __future__ import annotations

import asyncio
import time
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sabm_mesa.answers import sound
from sabm_mesa.asks import Ask, Mind, Reply
from sabm_mesa.decisions import Decision, Reading, Unusable
from sabm_mesa.errors import MindError, SabmError
from sabm_mesa.jsonable import as_read_again

if TYPE_CHECKING:
    from sabm_mesa.usage import Tally


class Attempt(NamedTuple):
    """One attempt at an ask, as it is recorded.

    Attributes:
        ask: the question; its `rejected` are the attempts before this one.
        number: the number of the attempt, from 0.
        mind: the spec of the mind.
        reply: what it answered.
        reading: what was read, or None.
        reason: why nothing could be read, or ``""``.
    """

    ask: Ask
    number: int
    mind: str
    reply: Reply
    reading: Reading | None
    reason: str


class Recorder(Protocol):
    """Where attempts are written."""

    async def record(self, attempt: Attempt, *, durable: bool) -> None:
        """Write one attempt; with `durable`, return only when it is on disk."""


async def put(
    ask: Ask, mind: Mind, recorder: Recorder, tally: Tally, max_attempts: int
) -> Decision:
    """Put a question to a mind until it is answered usably or the attempts are used up.

    Args:
        ask: the question.
        mind: who is asked.
        recorder: where every attempt is written before the decision is used.
        tally: where attempts and decision are counted.
        max_attempts: how often the mind is asked at most (at least 1).

    Returns:
        The decision; its value is None when no usable answer came.

    Raises:
        MindError: when the mind raises anything that is not an error of this package.
    """
    for number in count():
        started = time.perf_counter()
        try:
            answer = await mind.answer(ask)
        except SabmError:
            raise
        except (Exception, SystemExit) as error:  # a mind that exits ends no process
            raise MindError(
                f"The mind {mind.spec!r} failed at {ask.key}: {type(error).__name__}: {error}"
            ) from error
        attempt = _attempt(ask, number, mind, _as_reply(answer, ask, mind, started))
        tally.add_reply(attempt.reply, ask.key.agent)
        await recorder.record(attempt, durable=mind.paid)
        decision = _decision(attempt)
        final = decision.valid or attempt.reply.final or number + 1 == max_attempts
        if final:
            tally.add_decision(decision, ask.key.agent)
        if attempt.reply.stopped:
            raise asyncio.CancelledError
        if final:
            break
        ask.rejected += ((str(attempt.reply.answer), attempt.reason),)
    return decision


def _attempt(ask: Ask, number: int, mind: Mind, reply: Reply) -> Attempt:
    reading, reason = None, ""
    try:
        reading = ask.read(reply)
    except Unusable as problem:
        reason = ask.book.reason(problem)
    return Attempt(ask, number, mind.spec, reply, reading, reason)


def _decision(attempt: Attempt) -> Decision:
    reading, attempts = attempt.reading, attempt.number + 1
    if reading is None:
        return Decision(None, reason=attempt.reason, attempts=attempts)
    return Decision(reading.value, reading.reasoning, attempts=attempts)


def _as_reply(answer: object, ask: Ask, mind: Mind, started: float) -> Reply:
    if not isinstance(answer, Reply):
        latency = 0.0 if mind.instant else time.perf_counter() - started
        answer = Reply(answer, latency_s=latency)
    if isinstance(answer.answer, str):
        answer.answer = sound(answer.answer)
    elif mind.paid:  # a value is used as it can be read from the recording again
        answer.answer = as_read_again(answer.answer)
    if mind.paid:
        answer.request = ask.digest_of(mind)
    return answer
