"""Commands of several runs that a cap, a refused request or repeated Ctrl-C ends; they go on."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from pathlib import Path

from tests.chaos.commands import RUNS, Trial
from tests.chaos.processes import ended, last_line, start
from tests.chaos.recordings import count
from tests.chaos.report import Outcome
from tests.chaos.server import Server, serving

CAP, REFUSED, INTERRUPTED = KINDS = "a cap in dollars", "a refused request", "Ctrl-C, repeated"
SHORT_S = 0.2
"""Seconds between two interrupts at most."""


class Stop(Trial):
    """One run that is stopped and resumed; no answer that came may be lost.

    Args:
        number: its number: the scenario, and what stops it, go by it.
        seed: of the moments and of the runs.
        folder: where it makes a folder of its own.
    """

    def __init__(self, number: int, seed: int, folder: Path) -> None:
        super().__init__(list(RUNS)[number % len(RUNS)], number, seed, folder)
        self.kind = KINDS[(number + number // len(KINDS)) % len(KINDS)]

    def outcome(self, server: Server) -> Outcome:
        """Stop the run, go on, and compare."""
        whole, place, other = (self.place(name, server) for name in ("whole", "stopped", "other"))
        began = time.monotonic()
        self.must_end_well(self.words(whole, server))
        lasted = time.monotonic() - began
        refused = self.draw.randrange(server.settled()) if self.kind == REFUSED else None
        with serving(other, self.seed, refused) as asked:
            problem = self._stop(self.words(place, asked), whole, lasted)
            answered = asked.settled("status_200")
            lost = max(count(place, answered=False), answered - count(place, answered=True))
            if not problem and lost:
                problem = f"{lost} answers were thrown away, of {answered} that came"
            words = self.words(place, asked)
            words += ["--budget-usd", "1000"] if words[0] == "resume" else []
            problem = problem or self.finish(words, place, whole)
            twice = asked.settled("status_200") - count(place, answered=True)
        if problem:
            problem = f"{self.command}, seed {self.seed}, {self.kind}: {problem}"
        return Outcome(f"{self.command}, {self.kind}", 0, max(0, twice), problem)

    def _stop(self, words: list[str], whole: Path, lasted: float) -> str:
        """Let a command be stopped; what was not as it must be, or ``""``."""
        if self.kind == CAP:
            summary = json.loads((whole / "out" / "summary.json").read_text("utf-8"))
            cap = summary["cost_usd"] * self.draw.uniform(0.3, 0.8)
            words = [*words, "--budget-usd", f"{cap:.9f}"]
        child = start(partial(self.do, words), self.said)
        if self.kind == INTERRUPTED:
            time.sleep(self.draw.uniform(0, lasted))
            for _ in range(self.draw.randint(2, 4)):
                os.kill(child, signal.SIGINT)
                time.sleep(self.draw.uniform(0, SHORT_S))
        status = ended(child)
        if self.kind != INTERRUPTED and status != 1:
            return f"it ended with {status}: {last_line(self.said)}"
        return ""
