"""The price competition: without a language model, and five long runs at once with one."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from benchmarks.llm import LATENCY_S, contest_of_one_round
from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import BertrandCompetition, Connection, Recording
from sabm_mesa.llm import close_all
from sabm_mesa.runs.run import run_all

ROUNDS = 1200
RUNS = 5
SHORTER_S = 0.04
"""A latency at which 1200 rounds take a minute. The runs then ask five times as often as at 200 ms,
and the computing that waiting hides weighs five times as much."""


def best_response(_folder: str) -> list[Result]:
    """1200 rounds of two firms that reply best, without talk."""
    name = "Bertrand, 1200 rounds, two best-response firms: seconds"
    return [Result(name, statistics.median(_seconds() for _ in range(5)), "<= 1")]


def _seconds() -> float:
    model = BertrandCompetition(n_rounds=ROUNDS, communication=False, rng=1)
    started = time.perf_counter()
    model.run_model()
    return time.perf_counter() - started


def five_runs(folder: str) -> list[Result]:
    """Five recorded runs of 1200 rounds at once against one, without talk, at 40 ms."""
    return _runs(folder, SHORTER_S)


def five_runs_at_200_ms(folder: str) -> list[Result]:
    """The same at 200 ms, which takes nine minutes."""
    return _runs(folder, LATENCY_S)


def _runs(folder: str, latency_s: float) -> list[Result]:
    took = {}
    with latency_server(latency_s) as url:
        connection = Connection(base_url=url)
        contest_of_one_round(connection)
        for runs in (1, RUNS):
            with Recording(Path(folder, f"{runs}.sqlite")) as recording:
                done = run_all(
                    BertrandCompetition,
                    {"minds": "llm:stub", "communication": False, "n_rounds": ROUNDS},
                    runs=runs, seed=1, recording=recording, connection=connection,
                )  # fmt: skip
            took[runs], chain = done.wall_s, max(m.critical_path_asks for m in done.models)
    close_all()
    what = f"Bertrand, {ROUNDS} rounds, no talk, {latency_s * 1000:.0f} ms:"
    ratio, path = took[RUNS] / took[1], chain * latency_s
    return [
        Result(
            f"{what} {RUNS} runs at once / one run", ratio, "<= 1.05",
            f"{took[RUNS]:.1f} s and {took[1]:.1f} s",
        ),
        Result(f"{what} time of {RUNS} runs / critical path", took[RUNS] / path, "",
               f"{chain} asks in a chain"),
    ]  # fmt: skip
