"""Growth of the cost of an agent or of a round with their number."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.results import Result, number
from sabm_mesa.models.registry import scenario

AGENTS = (100, 1_000, 10_000)
ROUNDS = (100, 1_000, 10_000)
LONG: dict[str, dict[str, Any]] = {
    "bertrand": {"communication": False, "stop_after": None},
    "games": {"game": "prisoners_dilemma"},
    "public-goods": {},
    "beauty-contest": {},
}
"""Scenarios with classical minds → their parameters."""


def agents_and_rounds(folder: str) -> list[Result]:
    """The CPU time of an agent and of a round in recorded classical runs, by their number."""
    agents = [
        (n, _cpu_s(Path(folder, f"agents-{n}"), "beauty-contest", n_players=n, n_rounds=1) / n)
        for n in AGENTS
    ]
    results = [_compared("beauty-contest: an agent", agents)]
    for name, parameters in LONG.items():
        rounds = [
            (n, _cpu_s(Path(folder, f"{name}-{n}"), name, n_rounds=n, **parameters) / n)
            for n in ROUNDS
        ]
        results.append(_compared(f"{name}: a round", rounds))
    return results


def _cpu_s(path: Path, name: str, **parameters: Any) -> float:
    """Return the seconds of CPU of one recorded run."""
    model = scenario(name)(**parameters, rng=1, recording=path)
    began = time.process_time()
    model.run_model()
    return time.process_time() - began


def _compared(what: str, points: list[tuple[int, float]]) -> Result:
    (before, one), (most, last) = points[-2:]
    detail = ", ".join(f"{n:,}: {number(seconds * 1e6)} µs" for n, seconds in points)
    return Result(f"{what} among {most:,} / among {before:,}", last / one, "<= 1.5", detail)
