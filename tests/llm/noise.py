"""A server that fails for a part of the requests, whatever the order in which they come."""

import hashlib
import random
import threading
from collections import Counter
from typing import Any

from tests.llm_server import Fault

RATES = {"429": 0.1, "500": 0.05, "empty": 0.05}


class Noise:
    """A plan of faults that depends on a request and on how often it was sent, and on no order.

    Args:
        seed: of the draws.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._sent: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, _number: int, body: dict[str, Any]) -> Fault | None:
        digest = hashlib.sha256(repr(body["messages"]).encode()).hexdigest()
        with self._lock:
            self._sent[digest] += 1
            times = self._sent[digest]
        draw = random.Random(f"{self._seed}/{digest}/{times}").random()
        for kind, rate in RATES.items():
            draw -= rate
            if draw < 0:
                return Fault(kind, retry_after=0.01 if kind == "429" else None)
        return None
