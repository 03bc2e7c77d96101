"""Real SIGKILLs of every command that asks a language model and continues by being given again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

from sabm_mesa.minds.human import HUMAN
from sabm_mesa.recording.writing import FOLDER
from tests.chaos.kills import MIND, ONCE, Trial, carry_out
from tests.chaos.outcomes import Outcome
from tests.chaos.points import Fate, be_mortal
from tests.chaos.processes import ended, start
from tests.chaos.scripts import SCRIPTS
from tests.chaos.server import Server
from tests.chaos.studies import entered_in, rows
from tests.studies.experiments.support import SMALL

KIND = "command given again"
SMALL_CONTEST = ("--set", "n_players=4", "--rounds", "2")
COMMANDS: dict[str, tuple[str, ...]] = {
    "sweep": ("sweep", "kbc", *SMALL_CONTEST, "--runs", "2"),
    "tournament": ("tournament", "kbc", "classical", *SMALL_CONTEST, "--runs", "2"),
    "reproduce": ("reproduce", "small.toml", "--runs", "1"),
    "audit": ("audit", "small.toml", "--runs", "1", "--factor", "wording"),
    "screen": ("screen",),
    "probe": ("probe", "--games", "20"),
    "judge": ("judge", "said.sqlite"),
    **dict.fromkeys(SCRIPTS, ()),
}
"""Command → its words, or script; `small.toml` and `said.sqlite` are made where they are tried."""
_DATA = (
    "SELECT parameters, seed, status, {0}.round, {0}.data FROM {0} JOIN runs USING (run) "
    "ORDER BY parameters, seed, {0}.round, {0}.data"
)


def kill_commands(kills: int, seed: int, processes: int, folder: Path) -> list[Outcome]:
    """Kill commands, one after another of all kinds, and give each again.

    Args:
        kills: how many.
        seed: of the moments and of the runs.
        processes: how many commands at once.
        folder: for all files.
    """
    trials = [CommandTrial(number, seed, folder) for number in range(kills)]
    return carry_out(trials, processes, folder / "commands")


class CommandTrial(Trial):
    """One command that is killed and given again.

    Args:
        number: its number: which command it is goes by it.
        seed: of the moments and of the runs.
        folder: where it makes a folder of its own.
    """

    def __init__(self, number: int, seed: int, folder: Path) -> None:
        super().__init__(number, seed, folder)
        self.scenario = list(COMMANDS)[number % len(COMMANDS)]

    def _outcome(self, server: Server) -> Outcome:
        whole = self._place("whole", server)
        asked, began = server.settled(), time.monotonic()
        self._must_end_well(self._again(whole, server))
        lasted, asked = time.monotonic() - began, server.settled() - asked
        for attempt in count():
            place = self._place(f"killed-{attempt}", server)
            before, held = server.settled(), _count(place, "asks")
            child = start(partial(self._command, self._again(place, server)), self._said)
            time.sleep(self._draw.uniform(0, lasted))
            os.kill(child, signal.SIGKILL)
            if ended(child) == -signal.SIGKILL:
                break
        requests, lost = server.settled() - before, _count(place, "sent")
        problem = ""
        if requests > (kept := _count(place, "asks") - held) + lost:
            problem = f"{requests - kept - lost} requests were sent without a note"
        try:
            self._must_end_well(self._again(place, server))
        except RuntimeError as error:
            problem = problem or str(error)
        if not problem and _data(whole) != _data(place):
            problem = "its recordings came out otherwise"
        twice = max(0, server.settled() - before - asked)
        if problem:
            problem = f"{self.scenario}, seed {self.seed}, killed: {problem}"
        return Outcome(
            self.scenario, KIND, ONCE, lost, twice, max(0, twice - lost), problem,
        )  # fmt: skip

    def _place(self, name: str, server: Server) -> Path:
        """A folder with all that the command reads."""
        place = self._folder / name
        place.mkdir()
        (place / "small.toml").write_text(SMALL, "utf-8")
        if "said.sqlite" in COMMANDS[self.scenario]:
            words = ["run", "kbc", "--minds", MIND, "--base-url", server.url, *SMALL_CONTEST]
            self._must_end_well([*words, "--seed", str(self.seed), "--out", str(place / "said")])
            (place / "said" / "recording.sqlite").rename(place / "said.sqlite")
        return place

    def _again(self, place: Path, server: Server) -> list[str]:
        """The command, which is the same each time."""
        if self.scenario in SCRIPTS:
            return [self.scenario, str(place), server.url, str(self.seed)]
        words = [str(place / w) if (place / w).exists() else w for w in COMMANDS[self.scenario]]
        minds = ["--against" if self.scenario == "tournament" else "--minds", MIND]
        seed = [] if self.scenario == "judge" else ["--seed", str(self.seed)]
        return [*words, *minds, "--base-url", server.url, *seed, "--out", str(place / "out")]

    def _command(self, arguments: Sequence[str]) -> None:
        if arguments[0] not in SCRIPTS:
            super()._command(arguments)
            return
        script, place, url, seed = arguments
        be_mortal(Fate(), self._bill)
        SCRIPTS[script](Path(place), url, int(seed))


def _recordings(place: Path) -> list[Path]:
    return sorted(place.rglob("*.sqlite"))


def _count(place: Path, table: str) -> int:
    """The rows of a table in all recordings, without people's; one that was not begun has none."""
    where = f"WHERE mind <> '{HUMAN}'" if table == "asks" else ""
    found = 0
    for path in _recordings(place):
        if rows(path, "SELECT 1 FROM sqlite_master WHERE name = ?", table):
            found += int(rows(path, f"SELECT count(*) FROM {table} {where}")[0][0])
    return found


def _data(place: Path) -> list[object]:
    """The data of the runs in each recording, in an order that does not depend on their numbers."""
    return [
        (_name(path.relative_to(place)), table, rows(path, _DATA.format(table)))
        for path in _recordings(place)
        if entered_in(path)
        for table in ("model_data", "agent_data")
    ]


def _name(path: Path) -> str:
    """The name of a recording; one that nobody named has the time in it."""
    return str(FOLDER if path.parent == FOLDER else path)
