"""A language model's server in its own process, which is not killed along."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.chaos.processes import ended, last_line, start
from tests.llm_server import LLMServer, stub

LATENCY_S, JITTER_S = 0.03, 0.04
STARTS_S, LASTS_S = 300, 3600


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes:
        url: its base URL.
        stats_url: where its counters are.
    """

    url: str
    stats_url: str

    def settled(self, what: str = "requests") -> int:
        """The requests so far, when it has noticed that the process that asked is dead.

        Args:
            what: which of its counters; ``"status_200"`` counts the answers, and ``"requests"``
                all of them.
        """
        counts: list[int] = []
        while len(counts) < 3 or len({*counts[-3:]}) > 1:
            with urllib.request.urlopen(self.stats_url) as answer:
                stats = json.load(answer)
            counts += [-len(counts) - 1 if stats["in_flight"] else stats.get(what, 0)]
            time.sleep(0.01)
        return counts[-1]


@contextmanager
def serving(folder: Path, seed: int, refused: int | None = None) -> Iterator[Server]:
    """Start a server with latency and jitter; it ends with the block.

    Args:
        folder: where it tells its address.
        seed: of the jitter.
        refused: the number of the one request that it refuses, or None.
    """
    told, said = folder / "address", folder / "server.txt"
    child = start(lambda: _serve(told, seed, refused), said, hangs_s=LASTS_S)
    try:
        deadline = time.monotonic() + STARTS_S
        while not told.exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start: {last_line(said)}")
            time.sleep(0.01)
        yield Server(*json.loads(told.read_text("utf-8")))
    finally:
        os.kill(child, signal.SIGKILL)
        ended(child)


def _serve(told: Path, seed: int, refused: int | None) -> None:
    server = LLMServer(
        brain=_sloppy, latency=LATENCY_S, jitter=JITTER_S, seed=seed, record=False,
        faults=None if refused is None else {refused: "400"},
    )  # fmt: skip

    def tell() -> None:
        new = told.with_suffix(".new")
        new.write_text(json.dumps([server.url, server.stats_url]), "utf-8")
        new.rename(told)

    asyncio.run(server.serve(tell))


def _sloppy(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """Answer by the text alone, one question in eight unusably at first."""
    if len(messages) == 2 and sha256(repr(messages).encode()).digest()[0] % 8 == 0:
        return "Well\nwell"
    return stub(messages[:2], body)
