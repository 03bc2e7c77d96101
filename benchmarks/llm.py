"""Language-model access: a contest against its critical path, alone and 15 runs at once."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import Connection, KeynesianBeautyContest, Recording
from sabm_mesa.llm import close_all
from sabm_mesa.runs.run import run_all

LATENCY_S = 0.2
RUNS = 15


def critical_path(folder: str) -> list[Result]:
    """The time of recorded contests of 24 players / their longest chain of asks.

    The critical path is the longest chain of asks in which each had to wait for the previous one,
    times the latency. No program that follows the rules of the scenario can be faster. The number
    of repeated asks depends on the seed, so each time is divided by the path of its own runs.
    """
    ratios, details = [], []
    with latency_server(LATENCY_S) as url:
        connection = Connection(base_url=url)
        model = KeynesianBeautyContest(
            n_players=2 * RUNS * 24, n_rounds=1, minds="llm:stub", rng=0, connection=connection,
            recording=False,
        )  # fmt: skip
        model.run_model()  # opens connections, loads late imports, and finds the request limit
        for runs in (1, RUNS):
            before = time.process_time()
            with Recording(Path(folder, f"{runs}.sqlite")) as recording:
                done = run_all(
                    KeynesianBeautyContest, {"minds": "llm:stub"}, runs=runs, seed=1,
                    recording=recording, connection=connection,
                )  # fmt: skip
            chain = max(each.critical_path_asks for each in done.models)
            cpu_ms = (time.process_time() - before) / done.total().asks * 1000
            ratios.append(done.wall_s / (chain * LATENCY_S))
            details.append(
                f"{done.wall_s:.2f} s for {chain} asks in a chain, {cpu_ms:.2f} ms of CPU an ask"
            )
    close_all()
    name = "KBC, 24 players, 4 rounds, 200 ms"
    return [
        Result(f"{name}: time / critical path", ratios[0], "<= 1.05", details[0]),
        Result(f"{name}: {RUNS} runs at once / one run", ratios[1] / ratios[0], "<= 1.05",
               f"{details[1]}, over {details[0]}"),
    ]  # fmt: skip
