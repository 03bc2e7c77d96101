"""A sweep of classical evacuations: in one process, on two, and on a Ray of two workers."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import ray

from benchmarks.results import Result
from sabm_mesa import sweep

VARY = {"n_people": [100, 200, 300]}
RUNS = 15
REPEATS = 3
WORKERS = 2
LOOP = "sum(range(60_000_000))"


@dataclass(frozen=True)
class Took:
    """Seconds of a sweep: on the clock, of CPU in this process, and of CPU in its workers."""

    wall_s: float
    own_s: float
    workers_s: float


def two_workers(folder: str) -> list[Result]:
    """The time in one process over that of two workers, start-up of the workers included.

    A Ray is started before, as a cluster is; what its start takes is told beside. A machine whose
    cores are not free shows it by what two bare loops gain on it. The CPU time does not depend on
    that: free cores would need that of this process, and half of that of the workers.
    """
    began = time.perf_counter()
    ray.init(
        address="local", num_cpus=WORKERS, include_dashboard=False, logging_level="ERROR",
        log_to_driver=False,
    )  # fmt: skip
    start_s = time.perf_counter() - began
    places = {"here": {}, "processes": {"workers": WORKERS}, "ray": {}}
    took: dict[str, list[Took]] = {place: [] for place in places}
    gains = []
    try:
        for repeat in range(REPEATS):
            for place, more in places.items():
                took[place].append(_swept(Path(folder, f"{place}-{repeat}"), place, more))
            gains.append(2 * _loops(1) / _loops(2))
    finally:
        ray.shutdown()
    runs = RUNS * len(VARY["n_people"])
    name = f"sweep of {runs} evacuations: one process / {WORKERS} workers on"
    bare = f"two bare loops gain {statistics.median(gains):.2f}"
    results = []
    for place, least, more in (
        ("processes", 1.8, bare), ("ray", 1.6, f"{bare}; Ray starts in {start_s:.1f} s"),
    ):  # fmt: skip
        pairs = list(zip(took["here"], took[place], strict=True))
        ratio = statistics.median(one.wall_s / two.wall_s for one, two in pairs)
        seconds = (statistics.median(t.wall_s for t in took[each]) for each in ("here", place))
        detail = "{:.1f} s and {:.1f} s".format(*seconds)
        results.append(Result(f"{name} {place}", ratio, f">= {least}", f"{detail}; {more}"))
    pairs = list(zip(took["here"], took["processes"], strict=True))
    cpu = [one.own_s / (two.own_s + two.workers_s / WORKERS) for one, two in pairs]
    last = pairs[-1][1]
    detail = f"{pairs[-1][0].own_s:.1f} s and {last.own_s:.1f} s + {last.workers_s:.1f} s / 2"
    return [*results, Result(f"{name} processes, by CPU time", statistics.median(cpu), "", detail)]


def _swept(folder: Path, place: str, more: dict[str, int]) -> Took:
    began, before = time.perf_counter(), os.times()
    sweep("evacuation", VARY, runs=RUNS, folder=folder, on=place, **more)
    after = os.times()
    return Took(
        time.perf_counter() - began,
        after.user + after.system - before.user - before.system,
        after.children_user + after.children_system - before.children_user - before.children_system,
    )


def _loops(number: int) -> float:
    """Seconds that so many processes at once take for a loop each."""
    began = time.perf_counter()
    command = [sys.executable, "-c", LOOP]
    for process in [subprocess.Popen(command) for _ in range(number)]:
        process.wait()
    return time.perf_counter() - began
