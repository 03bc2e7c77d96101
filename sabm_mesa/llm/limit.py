"""Adaptive concurrency: as many simultaneous requests as the endpoint accepts.

Slow start, then probing. The limit begins at `START` and grows by one with every answer, so it
doubles each round trip, until the endpoint answers 429. Then it is cut once to 0.8 of the requests
under way. From there it grows by one each time as many requests as the limit (at least `FEWEST`)
have been answered. It grows only while it is used. ``Retry-After`` pauses every request to the
endpoint. The scheme is that of TCP congestion control (Jacobson 1988; RFC 7661 for limits that are
not used), as Inspect AI applies it to model endpoints.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sabm_mesa.core import engine
from sabm_mesa.errors import RateLimited, ServerUnavailable

_log = logging.getLogger(__name__)

START = 32
CEILING = 1000
CUT = 0.8
FEWEST = 10
"""The least number of answers between two probes of a higher limit."""
LONGEST_PAUSE_S = 60.0


class Limiter:
    """How many requests may be under way at one endpoint; shared by all runs of the process.

    It belongs to one event loop, the engine's.

    Attributes:
        most: the highest limit: `CEILING`, or the number of files that the process may open.
        limit: the limit as it stands now.
        in_flight: how many requests are under way.
    """

    def __init__(self, start: int = START) -> None:
        left = engine.files_left()
        self.most = CEILING if left is None else min(CEILING, max(1, left))
        if self.most < START:
            _log.warning(
                "Only %d requests are sent at once, because few files can be opened: raise the "
                "limit of the system (ulimit -n).",
                self.most,
            )
        self.limit = float(min(start, self.most))
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

    @asynccontextmanager
    async def slot(self, ceiling: int = CEILING) -> AsyncIterator[None]:
        """A place for a request; its outcome changes the limit."""
        sent = await self.acquire(ceiling)
        try:
            yield
        except (RateLimited, ServerUnavailable) as error:
            if isinstance(error, RateLimited) or error.overloaded:
                self.refused(sent, error.retry_after)
            raise
        else:
            self.answered()
        finally:
            self.release(ceiling)

    async def acquire(self, ceiling: int = CEILING) -> float:
        """Wait for a place, in the order of arrival.

        Args:
            ceiling: the maximum number of simultaneous requests of the run; it holds for all runs
                as long as this one has requests here.

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

    async def _queue(self, waiter: asyncio.Future[None], ceiling: int) -> None:
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._leave(ceiling)
            else:
                self.release(ceiling)
            raise

    def release(self, ceiling: int = CEILING) -> None:
        """Release a place."""
        self.in_flight -= 1
        self._leave(ceiling)

    def _leave(self, ceiling: int) -> None:
        self._ceilings[ceiling] -= 1
        if not self._ceilings[ceiling]:
            del self._ceilings[ceiling]
        while self._waiting and self.in_flight < self.places:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self.in_flight += 1
                waiter.set_result(None)

    def answered(self) -> None:
        """Grow the limit after an answer, if at least half of it is in use."""
        if 2 * self.in_flight > self.limit:
            step = 1.0 if self.limit < self._threshold else 1.0 / max(self.limit, FEWEST)
            self.limit = min(self.limit + step, float(self.most))

    def refused(self, sent: float, retry_after: float | None) -> None:
        """Cut the limit after a 429 or a timeout, unless only one request was under way.

        Args:
            sent: when the refused request was sent (loop time).
        """
        now = asyncio.get_running_loop().time()
        if retry_after:
            self._paused_until = max(self._paused_until, now + min(retry_after, LONGEST_PAUSE_S))
        if sent > self._cut_at and self.in_flight > 1:
            used = min(self.limit, float(self.in_flight))
            self.limit = self._threshold = max(1.0, used * CUT)
            self._cut_at = now
