"""Recordings of the tasks of a sweep, in the folder ``tasks`` beside the recording of the sweep.

A recording that a killed command has left there is found by the next one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout

from sabm_mesa.errors import OutputError, RecordingError
from sabm_mesa.recording.export import make_folder
from sabm_mesa.recording.reading import load_runs
from sabm_mesa.recording.writing import Recording

TASKS, LOCK = "tasks", "sweep.lock"
UNFINISHED = "unfinished-"
"""The prefix of folders with unfinished free runs, which are not used."""


@contextmanager
def only_sweep(folder: Path) -> Iterator[None]:
    """Keep other sweeps out of a folder. A folder that is made for it and stays empty is removed.

    Raises:
        OutputError: when the folder cannot be written.
        RecordingError: when another sweep uses it.
    """
    made = not folder.exists()
    make_folder(folder)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise RecordingError(
            f"Another sweep is running in {folder}: wait until it has ended, stop it, or choose "
            "another folder."
        ) from None
    except OSError as error:
        raise OutputError(
            f"Cannot write {folder} ({error.strerror or error}): choose another folder."
        ) from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        lock.release()
        if made and not any(folder.iterdir()):
            folder.rmdir()


def new_path(tasks: Path) -> Path:
    """A path for the recording of a new task in a folder."""
    return tasks / f"{uuid4().hex}.sqlite"


def recordings(tasks: Path) -> list[Path]:
    """The recordings in a folder; damaged ones and other files are left as they are."""
    readable = []
    for file in sorted(tasks.glob("*.sqlite")):
        with suppress(RecordingError):
            load_runs(file, missing_ok=True)
            readable.append(file)
    return readable


def merge(path: Path, order: Sequence[str], connected: Mapping[str, Any]) -> None:
    """Merge the recordings of all tasks into the recording of the sweep, and remove them.

    This is done completely or not at all; after a crash it is done again.

    Args:
        order: the digests of planned runs; their runs come first, in this order.

    Raises:
        RecordingError: when it cannot be written; then the recordings of the tasks are kept.
    """
    tasks = path.parent / TASKS
    files, places = recordings(tasks), {digest: place for place, digest in enumerate(order)}
    if files:
        runs = [run for file in files for run in load_runs(file, missing_ok=True)]
        runs.sort(key=lambda run: places.get(run.tags["spec"], len(places)))
        with Recording(path) as opened:
            opened.merge(runs, connected)
    merged = [part for file in files for part in tasks.glob(f"{file.name}*")]
    for part in [*merged, *tasks.glob(f"{UNFINISHED}*")]:
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink(missing_ok=True)
    with suppress(OSError):  # it has other files, or does not exist
        tasks.rmdir()
