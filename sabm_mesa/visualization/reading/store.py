"""Recordings: those below a folder, their runs, and the data of a run, read on demand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import pandas as pd

from sabm_mesa.core.toml_io import expand_home
from sabm_mesa.errors import RecordingError, SabmError
from sabm_mesa.minds.specs import describe_deciders
from sabm_mesa.recording import RecordedRun, load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.store import APPLICATION_ID, may_be_open, open_for_reading
from sabm_mesa.recording.varied import SET, TAG, word_of
from sabm_mesa.visualization.access import check_path
from sabm_mesa.visualization.run_controller import PLAN

STOPPED = ("stopped", "closed", "closed in the viewer")
"""The reasons recorded for runs that a person ended."""
MOST_DRAWN = 50_000
"""Maximum number of rows of agent data in the charts of a run."""
MOST = 100
"""Maximum number of listed recordings, the newest first."""
FEW = 3
"""Maximum number of minds, conditions and seeds that are listed for a recording."""
MOST_FOLDERS, DEPTH = 5000, 6
ENDINGS = (".sqlite", ".sqlite3", ".db")
SKIPPED = {"node_modules", "__pycache__", "site-packages"}
_MARK = 68
"""Offset of the application id in an SQLite file, in four bytes."""
Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class RunData:
    """A recorded run; its data are read on demand.

    Attributes:
        recorded: the run.
    """

    recorded: RecordedRun

    @cached_property
    def rounds(self) -> list[int]:
        """The rounds with data or asks, in order, including an unfinished one."""
        return self._frames.rounds(self.recorded.run)

    @cached_property
    def events(self) -> dict[str, set[int]]:
        """Kind of event → its rounds: talk, plans and invalid answers."""
        rounds, run = self._frames.rounds, self.recorded.run
        return {
            "talk": set(rounds(run, spoken=True)),
            "plans": set(rounds(run, phase=PLAN)),
            "invalid attempts": set(rounds(run, invalid=True)),
        }

    @cached_property
    def model_data(self) -> pd.DataFrame:
        """One row per round."""
        return self._frames.model_data(self.recorded.run)

    @cached_property
    def agent_data(self) -> pd.DataFrame:
        """One row per agent and round: all of them, for comparisons."""
        return self._frames.agent_data(self.recorded.run)

    @cached_property
    def step(self) -> int:
        """The charts show agents every this many rounds, so that they can be drawn."""
        if not self.rounds:
            return 1
        return -(-len(self.agents_of(self.rounds[0])) * len(self.rounds) // MOST_DRAWN) or 1

    @cached_property
    def some_agent_data(self) -> pd.DataFrame:
        """The agent data of every `step`-th round."""
        last = self.rounds[-1] if self.rounds else 0
        return self._frames.agent_data(self.recorded.run, range(0, last + 1, self.step))

    def model_of(self, round_: int) -> pd.DataFrame:
        """The model data of a round: at most one row."""
        return self.model_data[self.model_data["round"] == round_]

    def agents_of(self, round_: int) -> pd.DataFrame:
        """The agent data of a round."""
        return self._frames.agent_data(self.recorded.run, range(round_, round_ + 1))

    def asks_of(self, round_: int) -> pd.DataFrame:
        """The attempts of a round."""
        return self._frames.asks(run=self.recorded.run, rounds=range(round_, round_ + 1))

    def messages_of(self, rounds: range) -> pd.DataFrame:
        """The messages of some rounds."""
        return self._frames.messages(self.recorded.run, rounds)

    @cached_property
    def _frames(self) -> Recorded:
        return Recorded(self.recorded.path, check=False)


def runs_of(path: Path) -> pd.DataFrame:
    """The runs of a recording, without counts that require reading every ask.

    Raises:
        RecordingError: when it cannot be read, or must not be opened in a browser (see
            `check_path`).
    """
    _check(path)
    frame = _runs_at(path, stamp(path))
    if "running" in set(frame["status"]):  # the end of a run may not change the file
        frame = _runs_at.__wrapped__(path, ())
    return frame


@lru_cache(maxsize=2 * MOST)
def _runs_at(path: Path, _when: Stamp) -> pd.DataFrame:
    """The runs; a run that a person ended early counts as stopped, not as failed."""
    frame = Recorded(path, check=False).runs(counts=False)
    frame["status"] = frame["status"].mask(frame["problem"].isin(STOPPED), "stopped")
    return frame


def run_data(path: Path, number: int) -> RunData:
    """The data of one run of a recording.

    Raises:
        RecordingError: when it cannot be read, or must not be opened in a browser (see
            `check_path`).
        UnknownName: when there is no such run.
    """
    _check(path)
    return _run_at(path, number, stamp(path))


@lru_cache(maxsize=8)
def _run_at(path: Path, number: int, _when: Stamp) -> RunData:
    return read_run(path, number)


def read_run(path: Path, number: int) -> RunData:
    """Read the data of one run of a recording, wherever it is.

    Raises:
        RecordingError: when it cannot be read.
        UnknownName: when there is no such run.
    """
    (recorded,) = load_runs(path, number, check=False)
    return RunData(recorded)


def place_of(path: str) -> Path:
    """Resolve the path of a recording from a browser.

    Args:
        path: relative to the server's folder; ``~`` is the home of the server's user.
    """
    return Path.cwd() / expand_home(path)


def _check(path: Path) -> None:
    try:
        path.stat()
    except FileNotFoundError:
        pass  # opening it reports the error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise RecordingError(f"There is no recording of this name: {why}.") from None
    check_path(path)


def seed_of(run: RecordedRun) -> str:
    """The seed of a run in words."""
    return "-".join(map(str, run.seed))


def stamp(path: Path) -> Stamp:
    """Return a stamp that changes with the recording: time and size of the file and of its log.

    An empty log counts as missing, since it exists whenever a process reads.
    """
    stamps = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            stat = file.stat()
        except (OSError, ValueError):  # not a file name
            stamps.append((0, 0))
        else:
            stamps.append((stat.st_mtime_ns, stat.st_size) if stat.st_size else (0, 0))
    return tuple(stamps)


@dataclass(frozen=True, eq=False)
class Listed:
    """A recording in the list.

    Attributes:
        path: its path.
        name: its path relative to the folder.
        runs: its runs; empty if it cannot be read.
        problem: why it cannot be read, or ``""``.
    """

    path: Path
    name: str
    runs: pd.DataFrame
    problem: str = ""

    @property
    def words(self) -> str:
        """Scenario, runs and status."""
        if self.problem:
            return self.problem
        scenarios = ", ".join(dict.fromkeys(self.runs["scenario"])) or "no scenario"
        states = self.runs["status"].value_counts(sort=False)
        counts = ", ".join(f"{count} {status}" for status, count in states.items())
        n = len(self.runs)
        return f"{scenarios} · {n} run{'' if n == 1 else 's'}" + (f" ({counts})" if counts else "")

    @property
    def about(self) -> str:
        """Minds, conditions and seeds; the first few of each."""
        if self.problem or self.runs.empty:
            return ""
        rows = self.runs.to_dict("records")
        minds = [describe_deciders(json.loads(r["minds"]), json.loads(r["forks"])) for r in rows]
        conditions = [str(json.loads(row["parameters"]).get("condition", "")) for row in rows]
        seeds = [row["seed"].strip("[]") for row in rows]
        about = f"{_few(minds)} · {_few(conditions)} · seed {_few(seeds)}"
        varied = [
            f"{title} ({len(values)})" for title, values in values_by_name(self.runs).values()
        ]
        return about + (f" · varied: {', '.join(varied)}" if varied else "")


def values_by_name(runs: pd.DataFrame) -> dict[str, tuple[str, list[str]]]:
    """The varied parameters and tags of the runs of a recording.

    Args:
        runs: as `Recorded.runs` returns them.

    Returns:
        Column → its title, and its values as shown in labels, in their order.
    """
    names = [str(name) for name in runs.columns if str(name).startswith((SET, TAG))]
    return {
        name: (
            name.removeprefix(SET).removeprefix(TAG),
            [*dict.fromkeys(word_of(value) for value in runs[name])],
        )
        for name in names
    }


def listed(folder: Path) -> list[Listed]:
    """The recordings below a folder, the newest first."""
    paths = sorted(_recordings(folder), key=_changed, reverse=True)
    return [_listed(folder, path) for path in paths[:MOST]]


def find_run(recordings: Sequence[Listed], uid: str) -> tuple[Path, int] | None:
    """Find the recording of a run and the number of the run in it.

    Args:
        uid: the unique identifier of the run.
    """
    for recording in recordings:
        if not recording.problem and uid in set(recording.runs["uid"]):
            return recording.path, int(
                recording.runs.loc[recording.runs["uid"] == uid, "run"].iloc[0]
            )
    return None


def _listed(folder: Path, path: Path) -> Listed:
    name = str(path.relative_to(folder))
    try:
        return Listed(path, name, runs_of(path))
    except SabmError as error:
        return Listed(path, name, pd.DataFrame(), str(error))


def _recordings(folder: Path) -> Iterator[Path]:
    for n, (here, folders, names) in enumerate(os.walk(folder)):
        deep = len(Path(here).relative_to(folder).parts) >= DEPTH
        folders[:] = [] if deep else [f for f in folders if f[0] != "." and f not in SKIPPED]
        yield from (
            path for name in names
            if name.endswith(ENDINGS) and _is_recording(path := Path(here, name))
        )  # fmt: skip
        if n >= MOST_FOLDERS:
            return


def _is_recording(path: Path) -> bool:
    if not path.is_file():  # opening a pipe would block
        return False
    if may_be_open(path):
        try:
            with open_for_reading(path, check=False):
                return True
        except RecordingError:
            return False
    try:
        with path.open("rb") as file:
            head = file.read(_MARK + 4)
    except OSError:
        return False
    return head[_MARK:] == APPLICATION_ID.to_bytes(4, "big")


def _few(texts: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(texts))
    return ", ".join(distinct[:FEW]) + (", …" if len(distinct) > FEW else "")


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
