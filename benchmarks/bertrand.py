"""The price competition without a language model."""

from __future__ import annotations

import statistics
import time

from benchmarks.results import Result
from sabm_mesa import BertrandCompetition


def best_response(_folder: str) -> list[Result]:
    """1200 rounds of two firms that reply best, without talk."""
    name = "Bertrand, 1200 rounds, two best-response firms: seconds"
    return [Result(name, statistics.median(_seconds() for _ in range(5)), "<= 1")]


def _seconds() -> float:
    model = BertrandCompetition(n_rounds=1200, communication=False, rng=1)
    started = time.perf_counter()
    model.run_model()
    return time.perf_counter() - started
