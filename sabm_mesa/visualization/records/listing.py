"""The recordings below a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sabm_mesa.errors import SabmError
from sabm_mesa.population import describe_deciders
from sabm_mesa.recording.reading import APPLICATION_ID
from sabm_mesa.visualization.records.store import runs_of

MOST = 100
"""Recordings that are listed at the most: the newest."""
FEW = 3
"""Minds, conditions and seeds that are named of each recording."""
MOST_FOLDERS, DEPTH = 5000, 6
ENDINGS = (".sqlite", ".sqlite3", ".db")
SKIPPED = {"node_modules", "__pycache__", "site-packages"}
_MARK = 68
"""Where an SQLite file holds its application id, in four bytes."""


@dataclass(frozen=True, eq=False)
class Listed:
    """A recording in the list.

    Attributes:
        path: where it is.
        name: its path from the folder.
        runs: its runs; none when it cannot be read.
        problem: why not, or ``""``.
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
        told = ", ".join(f"{count} {status}" for status, count in states.items())
        n = len(self.runs)
        return f"{scenarios} · {n} run{'' if n == 1 else 's'}" + (f" ({told})" if told else "")

    @property
    def about(self) -> str:
        """Minds, condition and seed; of several runs the first few of each."""
        if self.problem or self.runs.empty:
            return ""
        rows = self.runs.to_dict("records")
        minds = [describe_deciders(json.loads(r["minds"]), json.loads(r["forks"])) for r in rows]
        conditions = [str(json.loads(row["parameters"]).get("condition", "")) for row in rows]
        seeds = [row["seed"].strip("[]") for row in rows]
        return f"{_few(minds)} · {_few(conditions)} · seed {_few(seeds)}"


def listed(folder: Path) -> list[Listed]:
    """The recordings below a folder, the newest first.

    Args:
        folder: the folder.
    """
    found = sorted(_recordings(folder), key=_changed, reverse=True)
    return [_listed(folder, path) for path in found[:MOST]]


def find_run(recordings: Sequence[Listed], uid: str) -> tuple[Path, int] | None:
    """Where a run is recorded.

    Args:
        recordings: where to look.
        uid: what names the run in any file.
    """
    for each in recordings:
        if not each.problem and uid in set(each.runs["uid"]):
            return each.path, int(each.runs.loc[each.runs["uid"] == uid, "run"].iloc[0])
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
    try:
        with path.open("rb") as file:
            head = file.read(_MARK + 4)
    except OSError:
        return False
    return head[_MARK:] == APPLICATION_ID.to_bytes(4, "big")


def _few(texts: Sequence[str]) -> str:
    found = list(dict.fromkeys(texts))
    return ", ".join(found[:FEW]) + (", …" if len(found) > FEW else "")


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
