"""Adaptive concurrency: as many requests at once as the endpoint bears.

Slow start, then probing: the limit begins at `START` and grows by one with every answer (so it
doubles each round trip) until the endpoint answers 429; then it is cut to 0.8 of what was under
way, once for all requests of that time, and from there grows by one each time a whole limit's
worth of requests (at least `FEWEST`) has been answered. It grows only while it is made use of.
``Retry-After`` pauses every request to the endpoint. The scheme is that of TCP congestion control
(Jacobson 1988; RFC 7661 for limits that are not used), as Inspect AI applies it to model endpoints.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from sabm_mesa.errors import RateLimited, ServerUnavailable
from sabm_mesa.llm.client import Client, Completion, Request

START = 32
CEILING = 1000
CUT = 0.8
FEWEST = 10
"""Answers between two probes of a higher limit at least."""
LONGEST_PAUSE_S = 60.0


class Limiter:
    """How many requests may be under way at one endpoint; shared by all runs of the process.

    It belongs to one event loop, the engine's.

    Args:
        start: the limit to begin with.

    Attributes:
        limit: the limit as it stands now.
        in_flight: how many requests are under way.
    """

    def __init__(self, start: int = START) -> None:
        self.limit = float(start)
        self.in_flight = 0
        self._ceilings: Counter[int] = Counter()
        self._threshold = float("inf")
        self._cut_at = float("-inf")
        self._paused_until = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def places(self) -> int:
        """How many requests may be under way now: within the limit and the lowest ceiling."""
        return min(int(self.limit), min(self._ceilings, default=CEILING))

    async def acquire(self, ceiling: int = CEILING) -> float:
        """Wait for a place, in the order of arrival.

        Args:
            ceiling: the most requests at once that the asking run wants; as long as it has
                requests here, it holds for all.

        Returns:
            The loop's time at which the request may be sent.
        """
        loop = asyncio.get_running_loop()
        self._ceilings[ceiling] += 1
        if self._waiting or self.in_flight >= self.places:
            await self._queue(loop.create_future(), ceiling)
        else:
            self.in_flight += 1
        try:
            # In a loop, since a pause may be made longer while it lasts.
            while (now := loop.time()) < self._paused_until:  # noqa: ASYNC110
                await asyncio.sleep(self._paused_until - now)
        except asyncio.CancelledError:
            self.release(ceiling)
            raise
        return now

    async def _queue(self, place: asyncio.Future[None], ceiling: int) -> None:
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._leave(ceiling)
            else:
                self.release(ceiling)
            raise

    def release(self, ceiling: int = CEILING) -> None:
        """Give a place back.

        Args:
            ceiling: the one with which it was acquired.
        """
        self.in_flight -= 1
        self._leave(ceiling)

    def _leave(self, ceiling: int) -> None:
        self._ceilings[ceiling] -= 1
        if not self._ceilings[ceiling]:
            del self._ceilings[ceiling]
        while self._waiting and self.in_flight < self.places:
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def answered(self) -> None:
        """Grow the limit after an answer, if at least half of it is in use."""
        if 2 * self.in_flight > self.limit:
            step = 1.0 if self.limit < self._threshold else 1.0 / max(self.limit, FEWEST)
            self.limit = min(self.limit + step, float(CEILING))

    def refused(self, sent: float, retry_after: float | None) -> None:
        """Cut the limit after a 429 or a timeout; the only request was not one too many.

        Args:
            sent: when the refused request was sent (loop time).
            retry_after: seconds the endpoint asked to wait, or None.
        """
        now = asyncio.get_running_loop().time()
        if retry_after:
            self._paused_until = max(self._paused_until, now + min(retry_after, LONGEST_PAUSE_S))
        if sent > self._cut_at and self.in_flight > 1:
            used = min(self.limit, float(self.in_flight))
            self.limit = self._threshold = max(1.0, used * CUT)
            self._cut_at = now


class LimitClient:
    """Keeps the requests of a client within a limiter.

    Args:
        client: the client.
        limiter: the limiter of its endpoint.
        ceiling: requests under way at once at most.
    """

    def __init__(self, client: Client, limiter: Limiter, ceiling: int = CEILING) -> None:
        self._client, self._limiter, self._ceiling = client, limiter, ceiling

    async def complete(self, request: Request) -> Completion:
        """Complete a chat as soon as there is a place.

        Args:
            request: the request.

        Raises:
            LLMError: raised by the client.
        """
        sent = await self._limiter.acquire(self._ceiling)
        try:
            completion = await self._client.complete(request)
        except (RateLimited, ServerUnavailable) as error:
            if isinstance(error, RateLimited) or error.overloaded:
                self._limiter.refused(sent, error.retry_after)
            raise
        else:
            self._limiter.answered()
            return completion
        finally:
            self._limiter.release(self._ceiling)
