"""Time limits that exclude the time in which the whole process was stopped."""

from __future__ import annotations

import asyncio
from types import TracebackType

LATE_S = 1.0
"""The maximum delay of a loop while its process runs, in seconds."""
SETTLE_S = 10.0
"""Seconds to read answers that arrived while a process was stopped (SIGSTOP, Ctrl-Z)."""


def after_a_stop(until: float, now: float, limit_s: float) -> float | None:
    """The new end of a time limit that passed while the process was stopped.

    Args:
        until: the end of the limit, on the clock of the loop.
        now: the time at which the loop notices its end.
        limit_s: the limit in seconds; it is never extended by more.

    Returns:
        None when the process was not stopped.
    """
    return now + min(SETTLE_S, limit_s) if now - until > LATE_S else None


class Deadline:
    """`asyncio.timeout`, but an answer that came while the process was stopped is still read.

    A loop that wakes up late sees expired timers and received data together, and would cancel
    first: a paid answer would be lost and asked for again.

    Args:
        limit_s: the limit in seconds.

    Raises:
        TimeoutError: at the end of the block, when it took longer.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        """Begin to count."""
        self._loop = asyncio.get_running_loop()
        await self._timeout.__aenter__()
        self._ends(self._loop.time() + self._limit_s)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop counting; raise `TimeoutError` for a cancellation by the limit."""
        self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _ends(self, until: float) -> None:
        self._until = until
        self._timer = self._loop.call_at(until, self._passed)

    def _passed(self) -> None:
        now = self._loop.time()
        extended = after_a_stop(self._until, now, self._limit_s)
        if extended is None:
            self._timeout.reschedule(now)
        else:
            self._ends(extended)
