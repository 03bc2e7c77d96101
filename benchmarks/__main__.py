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

from benchmarks import growth, llm, local, recording, side_by_side, sweep
from benchmarks.results import MARKDOWN, Result, keep, machine, publish, table

BENCHMARKS: dict[str, Callable[[str], list[Result]]] = {
    "llm": llm.critical_path,
    "side-by-side": side_by_side.clients,
    "growth": growth.agents_and_rounds,
    "sweep": sweep.two_workers,
    "recording": recording.overhead_and_size,
    "local": local.against_bare_runtime,
}


def main(words: list[str]) -> int:
    """Measure, print and write. The status is 2 for an unknown name, 1 after a failure."""
    lines = [f"  {name:13} {each.__doc__}".splitlines()[0] for name, each in BENCHMARKS.items()]
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="Without a name, run all benchmarks.",
        epilog="\n".join(["benchmarks:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="a benchmark")
    names: list[str] = parser.parse_args(words).names
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"Unknown benchmark {unknown[0]!r}. Known: {', '.join(BENCHMARKS)}.", file=sys.stderr)
        return 2
    failed = []
    for name in names or BENCHMARKS:
        found, began = machine(), time.perf_counter()
        try:
            with tempfile.TemporaryDirectory() as folder:
                results = BENCHMARKS[name](folder)
        except Exception:  # noqa: BLE001 - the other benchmarks still run
            traceback.print_exc()
            failed.append(name)
            continue
        took = time.perf_counter() - began
        print(
            f"\n{name}: {took:.0f} s, load {found['load']} before\n\n{table(results)}", flush=True
        )
        keep(name, found, results, took)
        publish(list(BENCHMARKS))
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
        return 1
    print(f"\nAll tables: {MARKDOWN}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
