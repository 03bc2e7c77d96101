"""Import time, compared with Mesa's."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.results import Result

REPEATS = 5


def import_time(_folder: str) -> list[Result]:
    """``import sabm_mesa``, and the import of a model class, compared with ``import mesa``."""
    mesa, package, model = [], [], []
    for _ in range(REPEATS):
        mesa.append(_time("import mesa"))
        package.append(_time("import sabm_mesa"))
        model.append(_time("from sabm_mesa import KeynesianBeautyContest"))
    base = statistics.median(mesa)
    return [
        Result("import sabm_mesa / import mesa", statistics.median(package) / base, "<= 1.2"),
        Result("import of a model class / import mesa", statistics.median(model) / base, "<= 1.2"),
    ]


def _time(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started
