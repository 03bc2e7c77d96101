"""Run the crash tests: ``python -m tests.chaos [--deaths N] [--kills N] [--commands N] …``."""

from __future__ import annotations

import argparse
import os
import sys
import time

# A thread, such as those for linear algebra, would make it unsafe to fork: set before any import.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from tests.chaos.commands import kill_commands
from tests.chaos.deaths import die_at_boundaries
from tests.chaos.kills import kill_at_random_moments
from tests.chaos.processes import scratch
from tests.chaos.report import faults, report
from tests.chaos.stops import stop_commands


def main(arguments: list[str] | None = None) -> int:
    """Die, go on, report; the status is 1 for any fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--deaths", type=int, default=10_000, help="simulated deaths")
    parser.add_argument("--kills", type=int, default=100, help="real SIGKILLs")
    parser.add_argument("--commands", type=int, default=100, help="SIGKILLs of other commands")
    parser.add_argument("--stops", type=int, default=90, help="commands that are stopped")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at once")
    given = parser.parse_args(arguments)
    started = time.perf_counter()
    with scratch() as folder:
        died = die_at_boundaries(given.deaths, given.seed, given.processes, folder)
        killed = kill_at_random_moments(given.kills, given.seed, given.processes, folder)
        killed += kill_commands(given.commands, given.seed, given.processes, folder)
        stopped = stop_commands(given.stops, given.seed, given.processes, folder)
    took_s = time.perf_counter() - started
    sys.stdout.write(report(died, killed, stopped, given.seed, took_s))
    return int(faults([*died, *killed, *stopped]) > 0)


if __name__ == "__main__":
    sys.exit(main())
