"""Run the benchmarks: ``python -m benchmarks [NAME …]``.

Each benchmark writes its results as soon as it is done, and replaces its earlier results. So a
stopped run can be continued by naming the remaining benchmarks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable

from benchmarks import (
    bertrand,
    evacuation,
    forms,
    growth,
    history,
    imports,
    instant,
    large,
    llm,
    local,
    million,
    recording,
    scenarios,
    side_by_side,
    sweep,
)
from benchmarks.results import MARKDOWN, Result, keep, machine, publish, table

BENCHMARKS: dict[str, Callable[[str], list[Result]]] = {
    "scenarios": scenarios.critical_paths,
    "kbc-runs": llm.critical_path,
    "bertrand-runs": bertrand.five_runs,
    "evacuation-llm": evacuation.with_language_model,
    "side-by-side": side_by_side.clients,
    "jitter": llm.jitter,
    "million": million.million,
    "growth-agents": growth.agents,
    "growth-rounds": growth.rounds,
    "growth-runs": growth.runs,
    "evacuation10k": evacuation.ten_thousand,
    "instant": instant.instant_minds,
    "evacuation": evacuation.without_language_model,
    "bertrand": bertrand.best_response,
    "sweep": sweep.two_workers,
    "sweep-asks": sweep.asks_on_workers,
    "recording-overhead": history.recording_overhead,
    "replay": history.replays,
    "note-sent": llm.notes,
    "import-time": imports.import_time,
    "commands": instant.commands,
}
LONG: dict[str, Callable[[str], list[Result]]] = {
    "local-kbc": local.kbc,
    "local-bertrand": local.bertrand,
    "local-fishery": local.fishery,
    "bertrand-runs-200ms": bertrand.five_runs_at_200_ms,
    "recording": recording.hundred_thousand_asks,
    "large-recording": large.million_asks,
    "growth-recordings": growth.recordings,
}
"""Benchmarks that take minutes. They run only when named."""
GROUPS = {"local": ["local-kbc", "local-bertrand", "local-fishery"]}
"""Name → several benchmarks. Each result is stored as soon as it is there."""


def main(words: list[str]) -> int:
    """Measure, print and write. The status is 2 for an unknown name, 1 after a failure."""
    if words[:1] == ["forms"]:
        return forms.main(words[1:])
    known = BENCHMARKS | LONG
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="Without a name, run all benchmarks of the first list.",
        epilog=f"{_listed('benchmarks', BENCHMARKS)}\n\n{_listed('only when named', LONG)}\n\n"
        "of a language model:\n  forms --minds SPEC   The answer formats that it follows.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="a benchmark")
    names: list[str] = parser.parse_args(words).names
    names = [name for given in names for name in GROUPS.get(given, [given])]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"Unknown benchmark {unknown[0]!r}. Known: {', '.join(known)}.", file=sys.stderr)
        return 2
    failed = []
    for name in names or BENCHMARKS:
        found, began = machine(), time.perf_counter()
        try:
            with tempfile.TemporaryDirectory() as folder:
                results = known[name](folder)
        except Exception:  # noqa: BLE001 - the other benchmarks still run
            traceback.print_exc()
            failed.append(name)
            continue
        took = time.perf_counter() - began
        print(
            f"\n{name}: {took:.0f} s, load {found['load']} before\n\n{table(results)}", flush=True
        )
        keep(name, found, results, took)
        publish(list(known))
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
        return 1
    print(f"\nAll tables: {MARKDOWN}")
    return 0


def _listed(title: str, benchmarks: dict[str, Callable[[str], list[Result]]]) -> str:
    """Return names and first lines of docstrings, one benchmark per line."""
    rows = [f"  {name:20} {str(each.__doc__).splitlines()[0]}" for name, each in benchmarks.items()]
    return "\n".join([f"{title}:", *rows])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
