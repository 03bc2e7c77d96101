"""Await the answer of a request that is under way, also when the run is stopped: it is paid for."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from sabm_mesa.llm.client import Client, Completion, Request

GRACE_S = 10.0


class FinishInFlightClient:
    """Defers the cancellation of a request that is under way until its answer is there.

    The completion then says `stopped`: whoever gets it records it and stops.

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
            await asyncio.wait({sending}, timeout=self._grace_s)
            if not sending.done() or sending.cancelled() or sending.exception():
                raise
            return replace(sending.result(), stopped=True)
        finally:
            sending.cancel()
