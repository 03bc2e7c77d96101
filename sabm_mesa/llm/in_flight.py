"""Requests under way are paid for: they are noted before they leave, and awaited after a stop."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress

from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import LLMError
from sabm_mesa.llm.budget import longest_answer, most_of
from sabm_mesa.llm.client import Client, Completion, Request
from sabm_mesa.llm.prices import PriceTable

GRACE_S = 10.0
SAID_AFTER_S = 0.25
"""Seconds after a stop until the log reports how many answers are still awaited."""
_awaited: set[asyncio.Future[Completion]] = set()
"""The requests of stopped runs whose answers are awaited."""
_log = logging.getLogger(__name__)


class FinishInFlightClient:
    """Delays the cancellation of a request until its answer has arrived.

    The completion then says `stopped`: its receiver records it and stops. Further cancellations
    change nothing: several runs that end one another, or a second Ctrl-C, cancel more than once.

    Args:
        client: the client that sends.
        grace_s: the longest wait for an answer after the run was stopped, in seconds; None:
            `GRACE_S`.
    """

    def __init__(self, client: Client, grace_s: float | None = None) -> None:
        self._client = client
        self._grace_s = GRACE_S if grace_s is None else grace_s

    async def complete(self, request: Request) -> Completion:
        """Complete a chat.

        Args:
            request: the request.

        Raises:
            asyncio.CancelledError: when stopped and no answer came within the grace; an error that
                came instead is its cause.
            LLMError: raised by the client.
        """
        sending = asyncio.ensure_future(self._client.complete(request))
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError as stop:
            await self._wait_for(sending)
            if not sending.done() or sending.cancelled():
                raise
            if problem := sending.exception():
                raise stop from problem
            return sending.result()._replace(stopped=True)
        finally:
            sending.cancel()

    async def _wait_for(self, sending: asyncio.Future[Completion]) -> None:
        if not self._grace_s:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + self._grace_s
        if not _awaited:
            loop.call_later(SAID_AFTER_S, _say, self._grace_s)
        _awaited.add(sending)
        while not sending.done() and (left_s := until - loop.time()) > 0:
            with suppress(asyncio.CancelledError):
                await asyncio.wait({sending}, timeout=left_s)
        _awaited.discard(sending)


class CostClient:
    """Notes requests on disk before they are sent, and says what their answers cost.

    So a crash loses no request without a trace. A note is removed when its answer is recorded, or
    here when nothing is billed.

    Args:
        client: the client that sends.
        prices: the price table.
    """

    def __init__(self, client: Client, prices: PriceTable) -> None:
        self._client, self._prices = client, prices

    async def complete(self, request: Request) -> Completion:
        """Complete a chat.

        Args:
            request: the request.

        Raises:
            RecordingError: when it cannot be noted; then it is not sent.
            LLMError: raised by the client.
        """
        notes, note = request.sent_notes, None
        if notes is not None:
            note = await notes.note_sent(request.model, self._most(request))
        try:
            done = await self._client.complete(request)
        except (LLMError, asyncio.CancelledError) as error:
            problem = error if isinstance(error, LLMError) else error.__cause__
            unbilled = isinstance(problem, LLMError) and not problem.billed
            if unbilled and notes is not None and note is not None:
                notes.take_back(note)
            raise
        return self._prices.priced(done, request)._replace(note=note)

    def _most(self, request: Request) -> Usage:
        """The highest cost of a request."""
        price = self._prices.of(request.model)
        most = most_of(request.texts, longest_answer(request), price)
        if price is None:
            most.cost_usd = math.nan
        return most


def _say(grace_s: float) -> None:
    if n := len(_awaited):
        answers = "1 answer that is" if n == 1 else f"{n:,} answers that are"
        _log.warning("Waiting up to %g s for %s paid for.", grace_s, answers)
