"""Run the crash tests: ``python -m tests.chaos [--kills N] [--stops N] …``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial

# A thread, such as those for linear algebra, would make it unsafe to fork: set before any import.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from tests.chaos.commands import Kill, Trial, warm_up
from tests.chaos.processes import at_once, last_line, scratch
from tests.chaos.report import faults, read, report
from tests.chaos.stops import Stop


def main(arguments: list[str] | None = None) -> int:
    """Kill, stop, go on, report; the status is 1 for any fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--kills", type=int, default=200, help="commands that are killed")
    parser.add_argument("--stops", type=int, default=90, help="commands that are stopped")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at once")
    given = parser.parse_args(arguments)
    started = time.perf_counter()
    warm_up()
    with scratch() as folder:
        results, said = folder / "outcomes", folder / "said.txt"
        trials: list[Trial] = [Kill(number, given.seed, folder) for number in range(given.kills)]
        trials += [Stop(number, given.seed, folder) for number in range(given.stops)]
        if any(at_once((partial(each.into, results) for each in trials), given.processes, said)):
            raise RuntimeError(f"A trial could not be carried out: {last_line(said)}")
        outcomes = list(read(results))
    sys.stdout.write(report(outcomes, given.seed, time.perf_counter() - started))
    return int(faults(outcomes) > 0)


if __name__ == "__main__":
    sys.exit(main())
