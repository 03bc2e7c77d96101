"""Await the answer of a request that is under way, also when the run is stopped: it is paid for."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace

from sabm_mesa.llm.client import Client, Completion, Request

GRACE_S = 10.0
SAID_AFTER_S = 0.25
"""Seconds after a stop at which the log says for how many answers it waits, if it still does."""
_awaited: set[asyncio.Future[Completion]] = set()
"""The requests of stopped runs whose answers are awaited."""
_log = logging.getLogger(__name__)


class FinishInFlightClient:
    """Defers the cancellation of a request that is under way until its answer is there.

    The completion then says `stopped`: whoever gets it records it and stops. Further cancellations
    change nothing: several runs that end one another, or a second Ctrl-C, cancel more than once.

    Args:
        client: the client that sends.
        grace_s: seconds an answer is awaited at most after the run was stopped.
    """

    def __init__(self, client: Client, grace_s: float = GRACE_S) -> None:
        self._client = client
        self._grace_s = grace_s

    async def complete(self, request: Request) -> Completion:
        """Complete a chat.

        Args:
            request: the request.

        Raises:
            asyncio.CancelledError: when stopped and no answer came within the grace.
            LLMError: raised by the client.
        """
        sending = asyncio.ensure_future(self._client.complete(request))
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError:
            await self._wait_for(sending)
            if not sending.done() or sending.cancelled() or sending.exception():
                raise
            return replace(sending.result(), stopped=True)
        finally:
            sending.cancel()

    async def _wait_for(self, sending: asyncio.Future[Completion]) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._grace_s
        if not _awaited:
            loop.call_later(SAID_AFTER_S, _say, self._grace_s)
        _awaited.add(sending)
        while not sending.done() and (left_s := until - loop.time()) > 0:
            with suppress(asyncio.CancelledError):
                await asyncio.wait({sending}, timeout=left_s)
        _awaited.discard(sending)


def _say(grace_s: float) -> None:
    if n := len(_awaited):
        answers = "1 answer that is" if n == 1 else f"{n:,} answers that are"
        _log.warning("Waiting up to %g s for %s paid for.", grace_s, answers)
