"""A sweep in one process, in two, and on Ray."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.results import Result
from sabm_mesa import sweep

VARY = {"n_people": [100, 200, 300]}
RUNS = 15
REPEATS = 2
WORKERS = 2
LOOP = "sum(range(60_000_000))"


@dataclass(frozen=True)
class Took:
    """Seconds of a sweep: wall time, CPU time of this process, and CPU time of its workers."""

    wall_s: float
    own_s: float
    workers_s: float


def two_workers(folder: str) -> list[Result]:
    """The time in one process / the time with two workers, including their start.

    On a machine with busy cores, two bare loops also gain little; their gain is reported. The ratio
    by CPU time does not depend on that: on free cores, the time would be the CPU time of this
    process plus half of that of the workers.
    """
    places: dict[str, dict[str, int]] = {"here": {}, "processes": {"workers": WORKERS}}
    with _local_ray() as start_s:
        if start_s is not None:
            places["ray"] = {}
        took: dict[str, list[Took]] = {place: [] for place in places}
        gains = []
        for repeat in range(REPEATS):
            for place, more in places.items():
                took[place].append(_swept(Path(folder, f"{place}-{repeat}"), place, more))
            gains.append(2 * _loops(1) / _loops(2))
    runs = RUNS * len(VARY["n_people"])
    name = f"sweep of {runs} evacuations: one process / {WORKERS} workers on"
    bare = f"two bare loops gain {statistics.median(gains):.2f}"
    results = [_compared(took, "processes", f"{name} processes", ">= 1.8", bare)]
    if start_s is None:
        how = "not installed: pip install 'sabm-mesa[ray]'"
        results.append(Result(f"{name} ray", None, ">= 1.6", how))
    else:
        more_said = f"{bare}; Ray starts in {start_s:.1f} s"
        results.append(_compared(took, "ray", f"{name} ray", ">= 1.6", more_said))
    pairs = list(zip(took["here"], took["processes"], strict=True))
    cpu = [one.own_s / (two.own_s + two.workers_s / WORKERS) for one, two in pairs]
    last = pairs[-1][1]
    detail = f"{pairs[-1][0].own_s:.1f} s and {last.own_s:.1f} s + {last.workers_s:.1f} s / 2"
    return [*results, Result(f"{name} processes, by CPU time", statistics.median(cpu), "", detail)]


@contextmanager
def _local_ray() -> Iterator[float | None]:
    """Start a local Ray with `WORKERS` workers; yield its start time in s, or None without Ray."""
    if find_spec("ray") is None:
        yield None
        return
    import ray

    began = time.perf_counter()
    ray.init(
        address="local", num_cpus=WORKERS, include_dashboard=False, logging_level="ERROR",
        log_to_driver=False,
    )  # fmt: skip
    try:
        yield time.perf_counter() - began
    finally:
        ray.shutdown()


def _compared(took: dict[str, list[Took]], place: str, name: str, target: str, said: str) -> Result:
    pairs = list(zip(took["here"], took[place], strict=True))
    ratio = statistics.median(one.wall_s / two.wall_s for one, two in pairs)
    one_s, two_s = (statistics.median(t.wall_s for t in took[each]) for each in ("here", place))
    return Result(name, ratio, target, f"{one_s:.1f} s and {two_s:.1f} s; {said}")


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
    """Return the seconds that this number of simultaneous processes take for a loop each."""
    began = time.perf_counter()
    command = [sys.executable, "-c", LOOP]
    for process in [subprocess.Popen(command) for _ in range(number)]:
        process.wait()
    return time.perf_counter() - began
