"""Run the benchmarks: ``python -m benchmarks [NAME …]``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.bertrand import best_response
from benchmarks.evacuation import ten_thousand, with_language_model, without_language_model
from benchmarks.history import recording_overhead, replays
from benchmarks.imports import import_time
from benchmarks.llm import critical_path, jitter, simultaneous_asks
from benchmarks.million import million
from benchmarks.recording import hundred_thousand_asks
from benchmarks.results import Result, table, write
from benchmarks.sweep import two_workers

BENCHMARKS: dict[str, Callable[[str], list[Result]]] = {
    "import-time": import_time,
    "critical-path": critical_path,
    "simultaneous-asks": simultaneous_asks,
    "jitter": jitter,
    "bertrand": best_response,
    "evacuation": without_language_model,
    "evacuation-llm": with_language_model,
    "evacuation10k": ten_thousand,
    "million": million,
    "recording": hundred_thousand_asks,
    "recording-overhead": recording_overhead,
    "replay": replays,
    "sweep": two_workers,
}


def main(names: list[str]) -> int:
    """Measure, print, write; the status is 2 for an unknown name."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"Unknown benchmark {unknown[0]!r}. Known: {', '.join(BENCHMARKS)}.", file=sys.stderr)
        return 2
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or BENCHMARKS:
            results += BENCHMARKS[name](folder)
    print(table(results))
    if not names:
        write(results, Path(__file__).parent / "results.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
