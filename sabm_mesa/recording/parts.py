"""Recordings of single runs that were played elsewhere, until they are added to one recording.

A sweep plays free runs in other processes or on other machines, each into a recording of its own,
and keeps it in the folder ``parts`` when the run is finished. A part is there whole or not at all,
is added to the recording whole or not at all, and only once, and is removed only when all are:
whatever is cut off, runs that are finished stay finished.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sabm_mesa.errors import OutputError, RecordingError
from sabm_mesa.recording.merging import Merging
from sabm_mesa.recording.outputs import make_folder, write_whole, write_words
from sabm_mesa.recording.past import whole
from sabm_mesa.recording.reading import reading

PARTS, LOCK, MEASURES = "parts", "sweep.lock", "measures.json"


@dataclass(frozen=True)
class Entry:
    """A run as it is entered in a recording.

    Attributes:
        run: its number.
        uid: the same run in any file.
        scenario: the name of the scenario.
        parameters: the parameters it began with.
        seed: the seed.
        files: spec → SHA-256 of the files that its minds come from.
        whole: whether it was played to its end.
        branched: whether it is a fork, or was changed on the way.
        model_columns: the columns of its model data.
    """

    run: int
    uid: str
    scenario: str
    parameters: Mapping[str, Any]
    seed: tuple[int, ...]
    files: Mapping[str, str]
    whole: bool
    branched: bool
    model_columns: tuple[str, ...]


def entries(path: Path) -> list[Entry]:
    """The runs of a recording, in the order of their numbers; none when there is no such file.

    Args:
        path: the recording.

    Raises:
        RecordingError: when it is no recording, or damaged.
    """
    if not path.exists():
        return []
    with reading(path) as connection, whole(path):
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:  # another command is about to make it
            return []
        return [
            Entry(
                row["run"], row["uid"], row["scenario"], json.loads(row["parameters"]),
                tuple(json.loads(row["seed"])), files_in(json.loads(row["versions"])),
                row["status"] == "finished",
                row["parent"] is not None or row["forks"] != "[]",
                tuple(json.loads(row["model_columns"])),
            )
            for row in connection.execute("SELECT * FROM runs ORDER BY run")
        ]  # fmt: skip


def files_in(versions: Mapping[str, str]) -> dict[str, str]:
    """Spec → SHA-256 of the files that the minds of a run come from.

    Args:
        versions: what a recording says of versions.
    """
    return {spec: digest for spec, digest in versions.items() if spec.startswith("py:")}


def measures_in(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The end measures that are known of the runs in a folder, by their uid.

    Args:
        folder: the folder. What cannot be read in it counts as not known.
    """
    try:
        known = json.loads((folder / MEASURES).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    given = known if isinstance(known, dict) else {}
    return {uid: each for uid, each in given.items() if isinstance(each, dict)}


def add_measures(folder: Path, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep end measures of runs, by their uid.

    Args:
        folder: the folder.
        known: the measures; None stands for a value that is missing.

    Raises:
        OutputError: when the file cannot be written.
    """
    if known:
        text = json.dumps({**measures_in(folder), **known}, ensure_ascii=False)
        write_words(folder / MEASURES, text + "\n")


def kept(folder: Path) -> set[str]:
    """The names of the parts in a folder that can be used.

    Args:
        folder: the folder of the recording. What is no part, or half of one, does not count.
    """
    return set(_usable(folder / PARTS))


class Parts:
    """The parts in a folder, for one command at a time.

    Args:
        recording: the recording that they are added to; its folder is made when it does not exist.

    Attributes:
        scratch: a folder for what is not finished; it is removed when the parts are closed.

    Raises:
        OutputError: when the folder cannot be written.
        RecordingError: when another command is at work in it.
    """

    def __init__(self, recording: Path) -> None:
        folder = recording.parent
        self._recording, self._folder, self._parts = recording, folder, folder / PARTS
        self.scratch = self._parts / "unfinished"
        self._merging: Merging | None = None
        self._added: set[str] = set()
        self._made = not folder.exists()
        make_folder(folder)
        self._lock = FileLock(folder / LOCK, thread_local=False)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise RecordingError(
                f"Another sweep is at work in {folder}: wait until it has ended, stop it, or "
                "choose another folder."
            ) from None
        except OSError as error:
            raise OutputError(
                f"Cannot write {folder} ({error.strerror or error}): choose another folder."
            ) from None
        self._tidy()
        make_folder(self.scratch)

    def keep(self, name: str, recording: bytes, measures: Mapping[str, Any]) -> None:
        """Keep the recording of a finished run.

        Args:
            name: the name of the part.
            recording: the file.
            measures: its end measures.

        Raises:
            OutputError: when it cannot be written.
        """
        write_words(self._parts / f"{name}.json", json.dumps(measures, ensure_ascii=False))
        write_whole(self._parts / f"{name}.sqlite", lambda part: part.write_bytes(recording))

    def add(self, name: str) -> None:
        """Add a part to the recording.

        Args:
            name: the name of a part that was kept.

        Raises:
            RecordingError: when the recording cannot be used or written; the part is kept.
            OutputError: when the recording cannot be made.
        """
        self._merging = self._merging or Merging(self._recording)
        self._merging.add(self._parts / f"{name}.sqlite")
        self._added.add(name)

    def finish(self, order: Iterable[str]) -> None:
        """Add all parts that were not added before, and remove the parts.

        Args:
            order: names of parts: they are added in this order, those of others follow.

        Raises:
            RecordingError: when the recording cannot be used or written; the parts are kept.
            OutputError: when a file cannot be written; the parts are kept.
        """
        uids = _usable(self._parts)
        listed = [name for name in order if name in uids]
        for name in [*listed, *sorted(uids.keys() - listed)]:
            if name not in self._added:
                self.add(name)
        known = {uid: _measures(self._parts / f"{name}.json") for name, uid in uids.items()}
        add_measures(self._folder, {uid: each for uid, each in known.items() if each})
        for name in uids:
            (self._parts / f"{name}.sqlite").unlink()
            (self._parts / f"{name}.json").unlink(missing_ok=True)

    def close(self) -> None:
        """Remove what is not finished, and let others in."""
        if self._merging is not None:
            self._merging.close()
        self._tidy()
        if self._parts.exists() and not any(self._parts.iterdir()):
            self._parts.rmdir()
        (self._folder / LOCK).unlink(missing_ok=True)
        self._lock.release()
        if self._made and not any(self._folder.iterdir()):
            self._folder.rmdir()

    def __enter__(self) -> Parts:
        """Return the parts, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self.close()

    def _tidy(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)


def _usable(parts: Path) -> dict[str, str]:
    """Name → uid of the run of each part; half of one, or anything else, is none."""
    found = {}
    for path in sorted(parts.glob("*.sqlite")):
        with suppress(RecordingError), reading(path) as connection:
            runs = connection.execute("SELECT uid, status FROM runs").fetchall()
            (texts,) = connection.execute("SELECT count(*) FROM texts").fetchone()
            if len(runs) == 1 and runs[0]["status"] == "finished" and not texts:
                found[path.stem] = str(runs[0]["uid"])
    return found


def _measures(path: Path) -> Mapping[str, Any]:
    try:
        known: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known
