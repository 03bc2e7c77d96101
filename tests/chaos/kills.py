"""Real SIGKILLs at random moments of commands that ask a language model, and their resumption."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from random import Random

from sabm_mesa.cli import main
from sabm_mesa.models import registry
from tests.chaos.bill import USED, Bill
from tests.chaos.outcomes import Outcome, read, write
from tests.chaos.points import Fate, be_mortal
from tests.chaos.processes import at_once, do, ended, last_line, settle, start
from tests.chaos.server import Server, serving
from tests.chaos.studies import FILE, entered, rows

COMMAND, ONCE, TWICE = "command", "a random moment", "again while resumed"
AGAIN = 4
"""Of this many commands one is killed a second time, while it is resumed."""
COMMANDS: dict[str, Sequence[str]] = {
    "kbc": ("--rounds", "4", "--set", "n_players=4"),
    "bertrand": ("--rounds", "8"),
    "evacuation": (
        "--rounds", "4", "--set", "n_people=5", "--set", "width=11", "--set", "height=11",
    ),
}  # fmt: skip
TABLES = ("model.csv", "agents.csv")
MIND = "llm:gpt-4o-mini"  # a model with a price


def kill_at_random_moments(kills: int, seed: int, processes: int, folder: Path) -> list[Outcome]:
    """At least this many SIGKILLs.

    Args:
        kills: how many.
        seed: of the moments and of the runs.
        processes: how many commands at once.
        folder: for all files.
    """
    outcomes: list[Outcome] = []
    trials = count()
    while (left := kills - sum(1 + (outcome.point == TWICE) for outcome in outcomes)) > 0:
        batch = [Trial(next(trials), seed, folder) for _ in range(left)]
        batch = batch[: max(1, left * AGAIN // (AGAIN + 1))]
        outcomes = carry_out(batch, processes, folder / "kills")
    return outcomes


def carry_out(trials: Sequence[Trial], processes: int, results: Path) -> list[Outcome]:
    """Carry out trials, some at once; return the outcomes of these and of earlier ones.

    Args:
        trials: the trials.
        processes: how many at once.
        results: where each of them writes its outcome.
    """
    if not trials:
        return []
    warm_up()
    said = results.with_name("said.txt")
    if any(at_once((partial(trial.into, results) for trial in trials), processes, said)):
        raise RuntimeError(f"A trial could not be carried out: {last_line(said)}")
    return list(read(results))


def warm_up() -> None:
    """Have available what every child would otherwise import anew."""
    import matplotlib as mpl

    mpl.use("agg")
    for name in ("sabm_mesa.cli.report", "sabm_mesa.cli.progress", "sabm_mesa.llm.openai_client"):
        import_module(name)
    for scenario in COMMANDS:
        import_module(registry.scenario(scenario).plots)
    settle()


def count_rows(folder: Path, table: str) -> int:
    """The number of rows in a table of a recording."""
    ((found,),) = rows(folder / FILE, f"SELECT count(*) FROM {table}")
    return int(found)


class Trial:
    """One command that is killed and resumed, with a server of its own.

    Args:
        number: its number: the case study, and whether it is killed again, go by it.
        seed: of the moments and of the runs.
        folder: where it makes a folder of its own.
    """

    runs = 2

    def __init__(self, number: int, seed: int, folder: Path) -> None:
        self.scenario = list(COMMANDS)[number % len(COMMANDS)]
        self.seed, self.again = seed + number, number % AGAIN == 0
        self._folder = folder / f"{type(self).__name__}-{number}"
        self._said, self._bill = self._folder / "said.txt", Bill(self._folder / "bill")
        self._draw = Random(self.seed)
        self._in_flight = 0

    def into(self, results: Path) -> None:
        """Do it, and write the outcome."""
        self._folder.mkdir()
        with serving(self._folder, self.seed) as server:
            write([self._outcome(server)], results)
        shutil.rmtree(self._folder)

    def _whole(self, server: Server) -> tuple[Path, float]:
        """Let a command end well; its folder, and the seconds until its last run ended."""
        whole = self._folder / "whole"
        began = datetime.now(UTC)
        self._must_end_well(self._run(whole, server))
        ((last,),) = rows(whole / FILE, "SELECT max(ended) FROM runs")
        return whole, (datetime.fromisoformat(last) - began).total_seconds()

    def _outcome(self, server: Server) -> Outcome:
        whole, lasted = self._whole(server)
        place, before = self._killed_run(server, lasted)
        again = self.again and self._killed(self._go_on(place, server), lasted / 2, server)
        problem = self._lost_without_a_note(place, server, before) or self._end(
            whole, place, self._go_on(place, server)
        )
        twice = server.settled() - before - count_rows(place, "asks")
        if problem:
            problem = f"{self.scenario}, seed {self.seed}, killed: {problem}"
        return Outcome(
            self.scenario, COMMAND, TWICE if again else ONCE, self._in_flight, twice,
            max(0, twice - self._in_flight), problem,
        )  # fmt: skip

    def _end(self, whole: Path, place: Path, arguments: Sequence[str]) -> str:
        """Let a command end what was cut off; what came out otherwise, or ``""``."""
        try:
            self._must_end_well(arguments)
        except RuntimeError as error:
            return str(error)
        for table in TABLES:
            if (whole / table).read_bytes() != (place / table).read_bytes():
                return f"{table} came out otherwise"
        return ""

    def _lost_without_a_note(self, place: Path, server: Server, before: int) -> str:
        """Whether more requests came than are recorded or noted as sent, in words."""
        if not entered(place):
            return ""
        missing = server.settled() - before - count_rows(place, "asks") - count_rows(place, "sent")
        return f"{missing} requests were sent without a note" if missing > 0 else ""

    def _killed_run(self, server: Server, lasted: float) -> tuple[Path, int]:
        """Kill a run; its folder, and the requests that others had made before."""
        for attempt in count():
            place, before = self._folder / f"killed-{attempt}", server.settled()
            self._in_flight = 0
            if self._killed(self._run(place, server), lasted, server):
                break
        return place, before

    def _killed(self, arguments: Sequence[str], lasted: float, server: Server) -> bool:
        """Start a command and kill it; False when it had ended before."""
        received, used = server.settled(), self._bill.count(USED)
        child = start(partial(self._command, arguments), self._said)
        time.sleep(self._draw.uniform(0, lasted))
        os.kill(child, signal.SIGKILL)
        was_killed = ended(child) == -signal.SIGKILL
        used = self._bill.count(USED) - used
        self._in_flight += server.settled() - received - used
        return was_killed

    def _must_end_well(self, arguments: Sequence[str]) -> None:
        if status := do(partial(self._command, arguments), self._said):
            raise RuntimeError(f"{arguments[0]} ended with {status}: {last_line(self._said)}")

    def _command(self, arguments: Sequence[str]) -> None:
        be_mortal(Fate(), self._bill)
        main(arguments)

    def _run(self, place: Path, server: Server) -> list[str]:
        return [
            "run", self.scenario, "--minds", MIND, "--base-url", server.url,
            "--runs", str(self.runs),
            "--seed", str(self.seed), "--out", str(place), *COMMANDS[self.scenario],
        ]  # fmt: skip

    def _go_on(self, place: Path, server: Server) -> list[str]:
        """Resume; begin again what was not entered, and replay what was finished."""
        if not entered(place):
            return self._run(place, server)
        path = place / FILE
        ((left,),) = rows(path, "SELECT count(*) FROM runs WHERE status <> 'finished'")
        return ["resume" if left else "replay", str(path), "--out", str(place)]
