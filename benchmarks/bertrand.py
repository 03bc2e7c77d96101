"""The price competition: without a language model, and five long runs at once with one."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from benchmarks.llm import LATENCY_S, against_path, contest_of_one_round
from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import BertrandCompetition, Connection
from sabm_mesa.llm import close_all

ROUNDS = 1200
RUNS = 5
SHORTER_S = 0.04
"""A latency in seconds at which 1200 rounds take a minute. The runs ask five times as often as at
200 ms, so their own computing time counts five times as much."""


def best_response(_folder: str) -> list[Result]:
    """1200 rounds of two best-response firms, without talk."""
    name = "Bertrand, 1200 rounds, two best-response firms: seconds"
    return [Result(name, statistics.median(_seconds() for _ in range(5)), "<= 1")]


def _seconds() -> float:
    model = BertrandCompetition(n_rounds=ROUNDS, communication=False, rng=1)
    started = time.perf_counter()
    model.run_model()
    return time.perf_counter() - started


def five_runs(folder: str) -> list[Result]:
    """Five simultaneous recorded runs of 1200 rounds, compared with one run, at 40 ms."""
    return _runs(folder, SHORTER_S)


def five_runs_at_200_ms(folder: str) -> list[Result]:
    """Five simultaneous recorded runs of 1200 rounds, compared with one, at 200 ms (9 min)."""
    return _runs(folder, LATENCY_S)


def _runs(folder: str, latency_s: float) -> list[Result]:
    with latency_server(latency_s) as url:
        connection = Connection(base_url=url)
        contest_of_one_round(connection)
        parameters = {"minds": "llm:stub", "communication": False, "n_rounds": ROUNDS}
        one, many = (
            against_path(
                Path(folder, f"{runs}.sqlite"), BertrandCompetition, parameters, runs, connection,
                latency_s,
            )
            for runs in (1, RUNS)
        )  # fmt: skip
    close_all()
    what = f"Bertrand, {ROUNDS} rounds, no talk, {latency_s * 1000:.0f} ms:"
    return [
        Result(
            f"{what} {RUNS} runs at once / one run", many.ratio / one.ratio, "<= 1.05",
            f"{many.detail}, over {one.detail}",
        ),
        Result(f"{what} time of {RUNS} runs / critical path", many.ratio),
    ]  # fmt: skip
