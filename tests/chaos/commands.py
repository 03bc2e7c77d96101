"""SIGKILLs at random moments of every command that asks a language model, and its continuation."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import count as from_0
from pathlib import Path
from random import Random

from sabm_mesa.cli import main
from sabm_mesa.models import registry
from tests.chaos.processes import do, ended, last_line, settle, start
from tests.chaos.recordings import UNFINISHED, count, data, entered_in, last_end, rows
from tests.chaos.report import Outcome, write
from tests.chaos.scripts import MIND, SCRIPTS
from tests.chaos.server import Server, serving
from tests.studies.experiments.support import SMALL

AGAIN = 4
"""Of this many commands one is killed a second time, while it goes on."""
SMALL_CONTEST = ("--set", "n_players=4", "--rounds", "2")
SMALL_ROOM = ("--rounds", "4", *(f"--set={x}" for x in ("n_people=5", "width=11", "height=11")))
RUNS: dict[str, tuple[str, ...]] = {
    "run kbc": ("run", "kbc", "--rounds", "4", "--set", "n_players=4", "--runs", "2"),
    "run bertrand": ("run", "bertrand", "--rounds", "8", "--runs", "2"),
    "run evacuation": ("run", "evacuation", *SMALL_ROOM, "--runs", "2"),
}
COMMANDS: dict[str, tuple[str, ...]] = {
    **RUNS,
    "fork": ("fork", "said.sqlite", "--at", "1", "--set", "reward_rule=exclusive"),
    "sweep": ("sweep", "kbc", *SMALL_CONTEST, "--runs", "2"),
    "tournament": ("tournament", "kbc", "classical", *SMALL_CONTEST, "--runs", "2"),
    "reproduce": ("reproduce", "small.toml", "--runs", "1"),
    "audit": ("audit", "small.toml", "--runs", "1"),
    "probe": ("probe", "--games", "20"),
    "judge": ("judge", "said.sqlite"),
    **dict.fromkeys(SCRIPTS, ()),
}
"""Command → its words, or script; `small.toml` and `said.sqlite` are made where they are tried."""


def warm_up() -> None:
    """Have available what every child would otherwise import anew."""
    import matplotlib as mpl

    mpl.use("agg")
    for name in ("sabm_mesa.cli.report", "sabm_mesa.cli.progress", "sabm_mesa.llm.server"):
        import_module(name)
    for command in RUNS:
        assert registry.scenario(command.removeprefix("run ")).page.charts
    settle()


class Trial:
    """One command that ends early and goes on, with a server of its own.

    Args:
        command: its name.
        number: its number, from which its seed comes.
        seed: of the moments and of the runs.
        folder: where it makes a folder of its own.
    """

    def __init__(self, command: str, number: int, seed: int, folder: Path) -> None:
        self.command, self.seed = command, seed + number
        self.folder = folder / f"{type(self).__name__}-{number}"
        self.said = self.folder / "said.txt"
        self.draw = Random(self.seed)

    def into(self, results: Path) -> None:
        """Do it, and write the outcome."""
        self.folder.mkdir()
        with serving(self.folder, self.seed) as server:
            write(self.outcome(server), results)
        shutil.rmtree(self.folder)

    def outcome(self, server: Server) -> Outcome:
        """Let the command end early and go on; a subclass says how."""
        raise NotImplementedError

    def place(self, name: str, server: Server) -> Path:
        """A folder with all that the command reads."""
        place = self.folder / name
        place.mkdir()
        (place / "small.toml").write_text(SMALL, "utf-8")
        if "said.sqlite" in COMMANDS[self.command]:
            words = ["run", "kbc", "--minds", MIND, "--base-url", server.url, *SMALL_CONTEST]
            self.must_end_well([*words, "--seed", str(self.seed), "--out", str(place / "said")])
            (place / "said" / "recording.sqlite").rename(place / "said.sqlite")
        return place

    def words(self, place: Path, server: Server) -> list[str]:
        """The words that begin the command or let it go on: mostly they are the same."""
        if self.command in SCRIPTS:
            return [self.command, str(place), server.url, str(self.seed)]
        recording = place / "out" / "recording.sqlite"
        if self.command in {*RUNS, "fork"} and entered_in(recording):
            verb = "resume" if rows(recording, UNFINISHED) else "replay"
            return [verb, str(recording), "--out", str(place / "out")]
        words = [str(place / w) if (place / w).exists() else w for w in COMMANDS[self.command]]
        minds = ["--against" if self.command == "tournament" else "--minds", MIND]
        if self.command == "fork":
            minds = []
        seed = [] if self.command in {"fork", "judge"} else ["--seed", str(self.seed)]
        return [*words, *minds, "--base-url", server.url, *seed, "--out", str(place / "out")]

    def do(self, words: Sequence[str]) -> None:
        """Carry out the command in this process."""
        if words[0] not in SCRIPTS:
            main(words)
        script, place, url, seed = words
        SCRIPTS[script](Path(place), url, int(seed))

    def must_end_well(self, words: Sequence[str]) -> None:
        """Let a process carry out the command.

        Raises:
            RuntimeError: when it fails.
        """
        if status := do(partial(self.do, words), self.said):
            raise RuntimeError(f"{words[0]} ended with {status}: {last_line(self.said)}")

    def finish(self, words: Sequence[str], place: Path, whole: Path) -> str:
        """Let the command go on to its end; what came out otherwise, or ``""``."""
        try:
            self.must_end_well(words)
        except RuntimeError as error:
            return str(error)
        return "" if data(whole) == data(place) else "its recordings came out otherwise"


class Kill(Trial):
    """One command that is killed and goes on; one of `AGAIN` is killed again then.

    Args:
        number: its number: which command it is goes by it.
        seed: of the moments and of the runs.
        folder: where it makes a folder of its own.
    """

    def __init__(self, number: int, seed: int, folder: Path) -> None:
        super().__init__(list(COMMANDS)[number % len(COMMANDS)], number, seed, folder)
        self.again = number % AGAIN == 0

    def outcome(self, server: Server) -> Outcome:
        """Kill the command until it was killed before its end; go on, and compare."""
        whole = self.place("whole", server)
        asked, began = server.settled(), datetime.now(UTC)
        self.must_end_well(self.words(whole, server))
        asked = server.settled() - asked
        lasted = (last_end(whole) - began).total_seconds()
        for attempt in from_0():
            place = self.place(f"killed-{attempt}", server)
            before = server.settled()
            if (lost := self._killed(place, lasted, server)) is not None:
                break
        problem = ""
        if lost > (noted := count(place, answered=False)):
            problem = f"{lost - noted} requests were sent without a note"
        if self.again:
            lost += self._killed(place, lasted / 2, server) or 0
        problem = problem or self.finish(self.words(place, server), place, whole)
        twice = max(0, server.settled() - before - asked)
        if problem:
            problem = f"{self.command}, seed {self.seed}, killed: {problem}"
        return Outcome(f"{self.command}, killed", lost, twice, problem)

    def _killed(self, place: Path, lasted: float, server: Server) -> int | None:
        """Kill the command; the requests without a recorded answer, or None if it had ended."""
        before = server.settled() - count(place, answered=True)
        child = start(partial(self.do, self.words(place, server)), self.said)
        time.sleep(self.draw.uniform(0, lasted))
        os.kill(child, signal.SIGKILL)
        if ended(child) != -signal.SIGKILL:
            return None
        return server.settled() - count(place, answered=True) - before
