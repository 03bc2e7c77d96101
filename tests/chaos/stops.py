"""Commands of several runs that a cap, a refused request or repeated Ctrl-C ends; they go on."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from pathlib import Path

from tests.chaos.kills import Trial, carry_out, count_rows
from tests.chaos.outcomes import Outcome
from tests.chaos.processes import ended, last_line, start
from tests.chaos.server import Server, serving
from tests.chaos.studies import entered

COMMAND, KINDS = "stopped", ("a cap in dollars", "a refused request", "Ctrl-C, two to four times")
CAP, REFUSED, INTERRUPTED = KINDS
SHORT_S = 0.2
"""Seconds between two interrupts at most."""


def stop_commands(stops: int, seed: int, processes: int, folder: Path) -> list[Outcome]:
    """Stop this many commands, and let them go on.

    Args:
        stops: how many.
        seed: of the moments and of the runs.
        processes: how many commands at once.
        folder: for all files.
    """
    trials = [Stop(number, seed, folder) for number in range(stops)]
    return carry_out(trials, processes, folder / "stops")


class Stop(Trial):
    """One command of several runs that is stopped, and resumed; nothing it was sent may be lost.

    Args:
        number: its number: the case study, and what stops it, go by it.
        seed: of the moments and of the runs.
        folder: where it makes a folder of its own.
    """

    runs = 4

    def __init__(self, number: int, seed: int, folder: Path) -> None:
        super().__init__(number, seed, folder)
        self.kind = KINDS[(number + number // len(KINDS)) % len(KINDS)]

    def _outcome(self, server: Server) -> Outcome:
        whole, lasted = self._whole(server)
        place, other = self._folder / "stopped", self._folder / "other"
        other.mkdir()
        refused = self._draw.randrange(server.settled()) if self.kind == REFUSED else None
        with serving(other, self.seed, refused) as asked:
            problem = self._stop(self._run(place, asked), whole, lasted)
            answered = asked.settled("status_200")
            kept = count_rows(place, "asks") if entered(place) else 0
            left = count_rows(place, "sent") if entered(place) else 0
            if not problem and (thrown_away := max(left, answered - kept)):
                problem = f"{thrown_away} answers were thrown away, of {answered} that came"
            go_on = self._go_on(place, asked)
            if go_on[0] == "resume":
                go_on += ["--budget-usd", "1000"]
            problem = problem or self._end(whole, place, go_on)
            twice = asked.settled("status_200") - count_rows(place, "asks")
        if problem:
            problem = f"{self.scenario}, seed {self.seed}, {self.kind}: {problem}"
        return Outcome(self.scenario, COMMAND, self.kind, 0, twice, max(0, twice), problem)

    def _stop(self, arguments: list[str], whole: Path, lasted: float) -> str:
        """Let a command be stopped; what was not as it must be, or ``""``."""
        if self.kind == CAP:
            summary = json.loads((whole / "summary.json").read_text("utf-8"))
            cap = summary["cost_usd"] * self._draw.uniform(0.3, 0.8)
            arguments = [*arguments, "--budget-usd", f"{cap:.9f}"]
        child = start(partial(self._command, arguments), self._said)
        if self.kind == INTERRUPTED:
            time.sleep(self._draw.uniform(0, lasted))
            for _ in range(self._draw.randint(2, 4)):
                os.kill(child, signal.SIGINT)
                time.sleep(self._draw.uniform(0, SHORT_S))
        status = ended(child)
        if self.kind != INTERRUPTED and status != 1:
            return f"it ended with {status}: {last_line(self._said)}"
        return ""
