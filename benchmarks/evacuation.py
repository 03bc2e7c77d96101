"""The evacuation: against the authors' program, by number of persons, and over HTTP."""

from __future__ import annotations

import statistics
import time

from benchmarks.llm import contest_of_one_round
from benchmarks.results import Result
from benchmarks.server import latency_server
from sabm_mesa import Connection, EmergencyEvacuation
from sabm_mesa.llm import close_all

AUTHORS_S = {100: 24.7, 400: 95.7}
"""Number of persons → seconds that the authors' program took for 51 rounds, with an instant stub
instead of the language model, on a machine with two cores. Measured once, not in the same run."""
ROUNDS = 51
CROWDS = {100: 33, 400: 64, 1600: 126, 10_000: 312}
"""Persons → side of the room, including walls. The area inside grows in proportion."""
LATENCY_S = 0.2
ROUNDS_OVER_HTTP = 3


def without_language_model(_folder: str) -> list[Result]:
    """Classical minds: the authors' time / ours, and the cost of a step by number of persons."""
    results = []
    for people, authors in AUTHORS_S.items():
        took = statistics.median(_seconds(people, 33, ROUNDS)[0] for _ in range(5))
        detail = f"{authors} s (measured once, with prompts) and {took:.3f} s"
        name = f"evacuation, {people} persons, {ROUNDS} rounds at most: authors' time / ours"
        results.append(Result(name, authors / took, ">= 50", detail))
    steps = {people: _step_cost(people, side) for people, side in CROWDS.items()}
    costs = ", ".join(f"{people}: {cost * 1e6:.0f} µs" for people, cost in steps.items())
    ratio = steps[10_000] / steps[100]
    name = "evacuation, cost of an agent's step, 10,000 persons / 100"
    return [*results, Result(name, ratio, "<= 1.3", costs)]


def _seconds(people: int, side: int, rounds: int) -> tuple[float, int]:
    model = EmergencyEvacuation(n_people=people, width=side, height=side, n_rounds=rounds, rng=1)
    started = time.perf_counter()
    model.run_model()
    return time.perf_counter() - started, int(sum(model.model_frame()["inside"]))


def _step_cost(people: int, side: int) -> float:
    runs = [_seconds(people, side, 10) for _ in range(5 if people < 5000 else 1)]
    return min(took / steps for took, steps in runs)


def ten_thousand(_folder: str) -> list[Result]:
    """Rounds a second with 10,000 classical persons who talk, in a room of 200 × 200."""
    model = EmergencyEvacuation(n_people=10_000, width=200, height=200, n_rounds=ROUNDS, rng=1)
    model.step()  # in the first round, everyone plans
    walls, cpus = [], []
    for _ in range(10):
        wall, cpu = time.perf_counter(), time.process_time()
        model.step()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    wall, cpu = statistics.median(walls), statistics.median(cpus)
    detail = f"{wall:.2f} s a round, of which {cpu:.2f} s CPU"
    return [Result("evacuation, 10,000 persons: rounds a second", 1 / wall, ">= 5", detail)]


def with_language_model(_folder: str) -> list[Result]:
    """100 persons over HTTP at 200 ms who all move at once (for turns, see `scenarios`)."""
    with latency_server(LATENCY_S) as url:
        connection = Connection(base_url=url)
        contest_of_one_round(connection)
        model = EmergencyEvacuation(
            n_rounds=ROUNDS_OVER_HTTP, movement="simultaneous", minds="llm:stub", rng=1,
            connection=connection, recording=False,
        )  # fmt: skip
        started = time.perf_counter()
        model.run_model()
        took = time.perf_counter() - started
    close_all()
    calls, chain = model.total.asks + model.total.reasks, model.critical_path_asks
    what = "evacuation, 100 persons, simultaneous, 200 ms:"
    detail = f"{took:.2f} s, {calls} calls, {chain} in a chain"
    return [
        Result(f"{what} time / critical path", took / (chain * LATENCY_S), "", detail),
        Result(f"{what} one at a time / time", calls * LATENCY_S / took, ">= 8"),
    ]
