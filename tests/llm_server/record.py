"""Record of the server: requests, counters, and waiting for them from another thread."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Seen:
    """One request to the chat endpoint.

    Attributes:
        number: From 0, in order of arrival; the fault plans count the same way.
        authorized: Whether it carried an Authorization header.
        arrived: Monotonic time at which it arrived.
        body: The request as parsed; empty when it was not JSON.
        started: When it was admitted, or None if it was turned away.
        finished: When the answer was ready, or the client gone; None while it is in flight.
        status: Of the answer, or None as long as there is none.
        fault: The kind of the fault it met, if any.
        headers: The headers of the request; empty when requests are not kept.
        sent: Bytes that the client took of an endless answer.
    """

    number: int
    authorized: bool
    arrived: float
    body: dict[str, Any] = field(default_factory=dict)
    started: float | None = None
    finished: float | None = None
    status: int | None = None
    fault: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sent: int = 0

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The request's messages."""
        messages: list[dict[str, Any]] = self.body.get("messages", [])
        return messages


class Log:
    """Requests and counters, written by the server's thread and read by any.

    Args:
        keep: Whether to keep the requests; the counters always count.
    """

    def __init__(self, keep: bool = True) -> None:
        self.keep = keep
        self.requests: list[Seen] = []
        self.errors: list[BaseException] = []
        self.counts: Counter[str] = Counter()
        self.in_flight = 0
        self.max_in_flight = 0
        self._changed = threading.Condition()

    def arrive(self, authorized: bool) -> Seen:
        seen = Seen(self.counts["requests"], authorized, time.monotonic())
        self.counts["requests"] += 1
        if self.keep:
            self.requests.append(seen)
        return seen

    def admit(self, seen: Seen) -> None:
        with self._changed:
            seen.started = time.monotonic()
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
            self._changed.notify_all()

    def finish(self, seen: Seen) -> None:
        with self._changed:
            seen.finished = time.monotonic()
            if seen.started is not None:
                self.in_flight -= 1
            outcome = "unanswered" if seen.status is None else f"status_{seen.status}"
            self.counts[outcome] += 1
            if seen.fault is not None:
                self.counts[f"fault_{seen.fault}"] += 1
            self.counts["finished"] += 1
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                raise TimeoutError(f"still not so after {timeout:g} s; {self.stats()}")

    def stats(self) -> dict[str, int]:
        counts = {"requests": 0, "finished": 0, "prompt_tokens": 0, "completion_tokens": 0}
        counts |= self.counts
        return counts | {"in_flight": self.in_flight, "max_in_flight": self.max_in_flight}
