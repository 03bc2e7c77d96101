"""The client: the whole way of a request to a language model."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import BadRequest, BudgetExceeded, LLMError, RateLimited, ServerUnavailable
from sabm_mesa.llm.budget import Budget, longest_answer, most_of
from sabm_mesa.llm.limit import CEILING, Limiter
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.llm.quirks import Quirks
from sabm_mesa.llm.request import Request

MAX_RETRIES = 6
UNMET_RETRIES = 2
"""Retries at an address that has never answered: most likely it is wrong."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
GRACE_S = 10.0
"""The longest wait for an answer after the run was stopped, in seconds."""
SAID_AFTER_S = 0.25
"""Seconds after a stop until the log reports how many answers are still awaited."""
_RETRIED = retry_if_exception_type((RateLimited, ServerUnavailable))
_awaited: set[asyncio.Future[Reply]] = set()
"""The requests of stopped runs whose answers are awaited."""
_log = logging.getLogger(__name__)


class FirstAlone:
    """Lets the first request of a kind go alone; the others follow when it was answered."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, asyncio.Lock] = {}
        self._answered: set[Hashable] = set()

    @asynccontextmanager
    async def turn(self, kind: Hashable) -> AsyncIterator[None]:
        """Wait while the first request of a kind is under way; then the next one goes."""
        if kind not in self._answered:
            async with self._locks.setdefault(kind, asyncio.Lock()):
                if kind not in self._answered:
                    yield
                    self._answered.add(kind)
                    return
        yield


class Sender(ABC):
    """Something that answers requests, and knows the quirks of its models.

    Attributes:
        where: its name in words.
    """

    where = "The model"

    def __init__(self) -> None:
        self._quirks: dict[str, Quirks] = {}

    def quirks(self, model: str) -> Quirks:
        """The known quirks of a model."""
        return self._quirks.setdefault(model, Quirks(self.where, model))

    def turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """The time in which a request may be sent; it waits before it holds a slot or an amount."""
        del request
        return nullcontext()

    @abstractmethod
    async def send(self, request: Request) -> Reply:
        """Send a request and read its answer.

        Raises:
            LLMError: when there is no answer.
        """

    async def close(self) -> None:  # noqa: B027 - most hold nothing
        """Close the connections."""


class Client:
    """Asks the models of a server for a run.

    Args:
        first_wait_s: the longest wait before the first retry, in seconds.
        grace_s: the longest wait for an answer after the run was stopped, in seconds; None:
            `GRACE_S`.
    """

    def __init__(
        self,
        server: Sender,
        prices: PriceTable | None = None,
        budget: Budget | None = None,
        limiter: Limiter | None = None,
        ceiling: int = CEILING,
        max_retries: int = MAX_RETRIES,
        first_wait_s: float = FIRST_WAIT_S,
        grace_s: float | None = None,
    ) -> None:
        self._server, self._prices = server, prices
        self._budget = budget or Budget()
        self._limiter, self._ceiling = limiter or Limiter(CEILING), ceiling
        self._max_retries, self._first_wait_s = max_retries, first_wait_s
        self._grace_s = grace_s
        self._met = False

    def quirks(self, model: str) -> Quirks:
        """The known quirks of a model."""
        return self._server.quirks(model)

    async def complete(self, request: Request) -> Reply:
        """Complete a chat, and once more when thoughts used up the limit of the answer.

        Raises:
            BudgetExceeded: when the request could pass a cap.
            RateLimited: when the rate limit still held after the last retry.
            ServerUnavailable: when the server still failed after the last retry.
            LLMError: at once, for errors that a retry cannot help.
            RecordingError: when the request cannot be noted; then it is not sent.
            asyncio.CancelledError: when stopped and no answer came within the grace.
        """
        quirks = self.quirks(request.model)
        if not request.max_tokens or request.max_thought_tokens is not None:
            return quirks.set_thought_apart(await self._with_retries(request))
        room, reply = await self._with_room(request, quirks.room)
        more = quirks.more_room(reply, request.max_tokens, room)
        if not more:
            return reply
        try:
            _, again = await self._with_room(request, more, more_than=room)
        except (LLMError, BudgetExceeded):  # the first answer is paid for and recorded
            return reply
        except asyncio.CancelledError:
            reply.stopped = True
            return reply
        if quirks.better(reply, again, request.max_tokens, room):
            reply, again = again, reply
        if request.sent_notes is not None and again.note is not None:
            request.sent_notes.take_back(again.note)
        _add(again, reply)
        return reply

    async def _with_room(
        self, request: Request, room: int, more_than: int = -1
    ) -> tuple[int, Reply]:
        """The final room for thoughts, and the reply; less room when the server refuses so much.

        A request that is sent again needs more room than it had, or it would be the same.
        """
        quirks = self.quirks(request.model)
        while True:
            try:
                reply = await self._with_retries(replace(request, room=room) if room else request)
            except BadRequest as error:
                room = quirks.less_room(room, error)
                if room <= more_than:
                    raise
            else:
                return room, quirks.set_thought_apart(reply)

    async def _with_retries(self, request: Request) -> Reply:
        """Send a request again after 408, 409, 429, 5xx, timeouts and lost connections."""
        async for attempt in AsyncRetrying(
            retry=_RETRIED, stop=self._stop, wait=self._wait, reraise=True
        ):
            with attempt:
                reply = await self._send(request)
                self._met = True
        reply.retries = attempt.retry_state.attempt_number - 1
        return reply

    async def _send(self, request: Request) -> Reply:
        """Reserve in the budget, note the request on disk, send it, price and settle its answer.

        The budget comes after the slot: a request that waits for a slot must not hold an amount
        that was set aside before a server turned out to exceed its limits.
        """
        price = None if self._prices is None else self._prices.of(request.model)
        most = most_of(request.texts, longest_answer(request), price)
        async with (
            self._server.turn(request),
            self._limiter.slot(self._ceiling),
            self._budget.spending(self._server.where, request.model, most) as spending,
        ):
            notes, note = request.sent_notes, None
            if notes is not None:
                noted = most if price is not None else replace(most, cost_usd=math.nan)
                note = await notes.note_sent(request.model, noted)
            try:
                reply = await self._finish(self._server.send(request))
            except (LLMError, asyncio.CancelledError) as error:
                problem = error if isinstance(error, LLMError) else error.__cause__
                if isinstance(problem, LLMError) and not problem.billed:
                    spending.free = True
                    if notes is not None and note is not None:
                        notes.take_back(note)
                raise
            if self._prices is not None:
                price = self._prices.add_cost(reply, request)
            spending.count(reply, price)
            reply.note = note
            return reply

    async def _finish(self, answering: Awaitable[Reply]) -> Reply:
        """Delay a cancellation until the answer, which is paid for, has arrived.

        The reply then says `stopped`: its receiver records it and stops. Further cancellations
        change nothing: several runs that end one another, or a second Ctrl-C, cancel more than
        once.
        """
        sending = asyncio.ensure_future(answering)
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError as stop:
            await self._wait_for(sending)
            if not sending.done() or sending.cancelled():
                raise
            if problem := sending.exception():
                raise stop from problem
            reply = sending.result()
            reply.stopped = True
            return reply
        finally:
            sending.cancel()

    async def _wait_for(self, sending: asyncio.Future[Reply]) -> None:
        grace_s = GRACE_S if self._grace_s is None else self._grace_s
        if not grace_s:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + grace_s
        if not _awaited:
            loop.call_later(SAID_AFTER_S, _say, grace_s)
        _awaited.add(sending)
        while not sending.done() and (left_s := until - loop.time()) > 0:
            with suppress(asyncio.CancelledError):
                await asyncio.wait({sending}, timeout=left_s)
        _awaited.discard(sending)

    def _stop(self, state: RetryCallState) -> bool:
        """Whether a failed request is given up: soon, if the address has never answered."""
        error = state.outcome and state.outcome.exception()
        self._met |= isinstance(error, RateLimited) or getattr(error, "reached", False)
        most = self._max_retries if self._met else min(UNMET_RETRIES, self._max_retries)
        return state.attempt_number > most

    def _wait(self, state: RetryCallState) -> float:
        """Seconds to wait before a retry: twice as long each time, or as the server asks.

        A random part keeps many requests from returning at once.
        """
        error = state.outcome and state.outcome.exception()
        asked: float | None = getattr(error, "retry_after", None)
        longest = self._first_wait_s * 2 ** (state.attempt_number - 1)
        backoff: float = longest * (0.5 + random.random() / 2)
        return min(max(backoff, asked + backoff / 2 if asked else 0.0), LONGEST_WAIT_S)


def _add(other: Reply, reply: Reply) -> None:
    """Add the cost of another answer, which was paid for too, to a reply."""
    for name in (
        "prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens",
        "thought_tokens", "cost_usd", "latency_s", "retries",
    ):  # fmt: skip
        setattr(reply, name, getattr(reply, name) + getattr(other, name))
    reply.retries += 1
    reply.stopped |= other.stopped


def _say(grace_s: float) -> None:
    if n := len(_awaited):
        answers = "1 answer that is" if n == 1 else f"{n:,} answers that are"
        _log.warning("Waiting up to %g s for %s paid for.", grace_s, answers)
