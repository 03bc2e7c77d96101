"""Adaptive concurrency: as many requests at once as the endpoint bears.

Slow start, then probing: the limit begins at `START` and grows by one with every answer (so it
doubles each round trip) until the endpoint answers 429; then it is cut to 0.8 of itself, once for
all requests that were under way, and from there grows by one each time a whole limit's worth of
requests has been answered. ``Retry-After`` pauses every request to the endpoint. The scheme is
that of TCP congestion control (Jacobson 1988), as Inspect AI applies it to model endpoints.
"""

from __future__ import annotations

import asyncio
from collections import deque

from sabm_mesa.errors import RateLimited
from sabm_mesa.llm.client import Client, Completion, Request

START = 64
CEILING = 1000
CUT = 0.8
LONGEST_PAUSE_S = 60.0


class Limiter:
    """How many requests may be under way at one endpoint; shared by all runs of the process.

    Args:
        ceiling: the highest limit.

    Attributes:
        limit: the limit as it stands now.
        in_flight: how many requests are under way.
    """

    def __init__(self, ceiling: int = CEILING) -> None:
        self.ceiling = ceiling
        self.limit = float(min(START, ceiling))
        self.in_flight = 0
        self._threshold = float("inf")
        self._cut_at = 0.0
        self._paused_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def lower_ceiling(self, ceiling: int) -> None:
        """Set a lower ceiling; a higher one than before changes nothing."""
        self.ceiling = min(self.ceiling, ceiling)
        self.limit = min(self.limit, float(self.ceiling))

    async def acquire(self) -> float:
        """Wait for a place, in the order of arrival.

        Returns:
            The loop's time at which the request may be sent.
        """
        loop = asyncio.get_running_loop()
        if self._waiting or self.in_flight >= int(self.limit):
            await self._queue(loop.create_future())
        else:
            self.in_flight += 1
        try:
            await asyncio.sleep(max(0.0, self._paused_until - loop.time()))
        except asyncio.CancelledError:
            self.release()
            raise
        return loop.time()

    async def _queue(self, place: asyncio.Future[None]) -> None:
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a place back."""
        self.in_flight -= 1
        while self._waiting and self.in_flight < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def answered(self) -> None:
        """Grow the limit after an answer."""
        step = 1.0 if self.limit < self._threshold else 1.0 / self.limit
        self.limit = min(self.limit + step, float(self.ceiling))

    def refused(self, sent: float, retry_after: float | None) -> None:
        """Cut the limit after a 429.

        Args:
            sent: when the refused request was sent (loop time).
            retry_after: seconds the endpoint asked to wait, or None.
        """
        now = asyncio.get_running_loop().time()
        if retry_after:
            self._paused_until = max(self._paused_until, now + min(retry_after, LONGEST_PAUSE_S))
        if sent >= self._cut_at:
            self.limit = self._threshold = max(1.0, min(self.limit, float(self.in_flight)) * CUT)
            self._cut_at = now


class Limited:
    """Keeps the requests of a client within a limiter.

    Args:
        client: the client.
        limiter: the limiter of its endpoint.
    """

    def __init__(self, client: Client, limiter: Limiter) -> None:
        self._client = client
        self._limiter = limiter

    async def complete(self, request: Request) -> Completion:
        """Complete a chat as soon as there is a place.

        Args:
            request: what is asked.

        Raises:
            LLMError: what the client raises.
        """
        sent = await self._limiter.acquire()
        try:
            completion = await self._client.complete(request)
        except RateLimited as error:
            self._limiter.refused(sent, error.retry_after)
            raise
        else:
            self._limiter.answered()
            return completion
        finally:
            self._limiter.release()
