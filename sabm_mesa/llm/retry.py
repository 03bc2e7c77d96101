"""Bounded retries with jitter."""

from __future__ import annotations

import asyncio
import random

from sabm_mesa.errors import RateLimited, ServerUnavailable
from sabm_mesa.llm.client import Client, Completion, Request

MAX_RETRIES = 6
UNMET_RETRIES = 2
"""Retries at an address that has never answered: most likely it is wrong."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0


class RetryClient:
    """Sends a request again after 408, 409, 429, 5xx, timeouts and lost connections.

    The wait doubles from `first_wait_s`, with a random part so that many requests do not return at
    once. When the server asks for a wait (``Retry-After``), half of the computed wait is added to
    it, up to `LONGEST_WAIT_S`. Before the first connection, a request is retried at most
    `UNMET_RETRIES` times, so that a wrong address is reported soon.

    Args:
        client: the client that is retried.
        max_retries: the maximum number of retries of a request.
        first_wait_s: the longest wait before the first retry, in seconds.
    """

    def __init__(
        self, client: Client, max_retries: int = MAX_RETRIES, first_wait_s: float = FIRST_WAIT_S
    ) -> None:
        self._client = client
        self._max_retries = max_retries
        self._first_wait_s = first_wait_s
        self._met = False

    async def complete(self, request: Request) -> Completion:
        """Complete a chat, with retries.

        Args:
            request: the request.

        Raises:
            RateLimited: when the rate limit still held after the last retry.
            ServerUnavailable: when the server still failed after the last retry.
            LLMError: at once, for errors that a retry cannot help.
        """
        for retries in range(self._max_retries):
            try:
                done = await self._client.complete(request)
                self._met = True
                return _after(retries, done)
            except (RateLimited, ServerUnavailable) as error:
                self._met |= isinstance(error, RateLimited) or error.reached
                if not self._met and retries >= UNMET_RETRIES:
                    raise
                await asyncio.sleep(self._wait(retries, error.retry_after))
        return _after(self._max_retries, await self._client.complete(request))

    def _wait(self, retries: int, asked: float | None) -> float:
        """Seconds to wait before the next retry; the server may have asked to wait."""
        backoff: float = self._first_wait_s * 2**retries * (0.5 + random.random() / 2)
        return min(max(backoff, asked + backoff / 2 if asked else 0.0), LONGEST_WAIT_S)


def _after(retries: int, done: Completion) -> Completion:
    return done if done.retries == retries else done._replace(retries=retries)
