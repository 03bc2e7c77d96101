"""One run of a sweep, played into a recording of its own: what a worker does."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from sabm_mesa.jsonable import as_read_again
from sabm_mesa.models.base import SmartModel
from sabm_mesa.recording import Recording
from sabm_mesa.runner import run_models

LOSSES = 3
"""Workers that may be lost over one run: then it may be the run that ends them."""


@dataclass(frozen=True)
class Task:
    """A run to be played.

    Attributes:
        model: the model class.
        parameters: its parameters, without the seed.
        seed: the seed.
    """

    model: type[SmartModel]
    parameters: Mapping[str, Any]
    seed: int


@dataclass(frozen=True)
class Played:
    """A run that was played to its end.

    Attributes:
        recording: the file of its recording.
        measures: its end measures, as they come out of JSON.
    """

    recording: bytes
    measures: Mapping[str, Any]


Runs = Generator[tuple[int, Played], None, None]
"""The place of a run among the tasks, and the run: as they come."""


class Engine(Protocol):
    """Where the runs of a sweep are played."""

    def __call__(self, tasks: Sequence[Task], scratch: Path) -> Runs:
        """Play runs; what is lost with a worker is played again.

        Args:
            tasks: the runs.
            scratch: a folder on this machine for what is not finished.

        Returns:
            The runs, as they come; closing it ends the workers.

        Raises:
            RunError: when a run fails, or loses its worker again and again.
        """


def play(task: Task, scratch: Path | None = None) -> Played:
    """Play one run.

    Args:
        task: the run.
        scratch: the folder in which its recording grows; that of the system when None.

    Raises:
        RunError: when it fails.
    """
    with TemporaryDirectory(dir=scratch, prefix="run-") as folder:
        path = Path(folder, "recording.sqlite")
        # Of a run that is cut off nothing is used, so nobody waits for the disk.
        with Recording(path, durable=False) as opened:
            model = task.model(**task.parameters, rng=task.seed, recording=opened)
            run_models([model], recording=opened)
        return Played(path.read_bytes(), as_read_again(model.end_measures()))


def play_here(tasks: Sequence[Task], scratch: Path) -> Runs:
    """Play runs one after another in this process; see `Engine`."""
    for place, task in enumerate(tasks):
        yield place, play(task, scratch)
