"""Running what is missing of a screening: all tests of all minds at the same time.

Each test has a folder with its recording. What the recordings hold already is not run again, what
was cut off is gone on with, and what is missing is run, within one budget.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.errors import MindSpecError
from sabm_mesa.experiments.plan import recorded_parameters
from sabm_mesa.llm import Connection
from sabm_mesa.models.base import SmartModel
from sabm_mesa.parameters import whole
from sabm_mesa.recording import Recording
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.past import pasts
from sabm_mesa.reruns import going_on
from sabm_mesa.runner import Watch, run_models
from sabm_mesa.screening.battery import Battery, Test, battery
from sabm_mesa.spending import spent_before

RECORDING = "recording.sqlite"
Frames = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Cell:
    """One run of a screening.

    Attributes:
        test: the test.
        mind: the spec of the mind.
        seed: the seed.
    """

    test: Test
    mind: str
    seed: int

    @property
    def identity(self) -> str:
        """What makes a recorded run this one and no other."""
        given = self.test.parameters(self.mind)
        return _identity(recorded_parameters(self.test.model, given), [self.seed])


@dataclass(frozen=True)
class Screening:
    """A screening that was run.

    Attributes:
        battery: the set of tests.
        minds: the specs of the minds.
        seeds: the seeds; each test of each mind was run with all of them.
        recordings: test → its recording.
        frames: test → the frames of its recording (see `Recorded.frames`), of these runs only,
            each row with its ``mind``.
        ran: how many runs were played or gone on with now.
    """

    battery: Battery
    minds: Sequence[str]
    seeds: Sequence[int]
    recordings: Mapping[str, Path]
    frames: Mapping[str, Frames]
    ran: int


def screen(
    minds: Sequence[str],
    folder: str | Path,
    *,
    tests: Battery | None = None,
    runs: int = 1,
    seed: int = 1,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> Screening:
    """Put minds to all tests, as far as the folder does not hold it already.

    Args:
        minds: their specs, each once.
        folder: where the recordings are, or will be: ``TEST/recording.sqlite``.
        tests: the set of tests; those of `battery` when None.
        runs: runs a test and mind; run i has the seed ``seed + i``.
        seed: the first seed.
        connection: how language models are reached; what the recordings say has been spent
            already counts for its budget.
        watch: called with the models every tenth of a second.

    Raises:
        UsageError: for minds, a number of runs or a seed that cannot be used; nothing has been
            asked or written then.
        RunError: when a run fails; what was answered is recorded, and the same call goes on.
    """
    if not minds or len(set(minds)) < len(minds):
        raise MindSpecError("A screening needs one mind or more, each named once.")
    seeds = [whole("seed", seed, 0) + i for i in range(whole("runs", runs, 1))]
    chosen = battery() if tests is None else tests
    cells = [Cell(test, mind, each) for test in chosen.tests for mind in minds for each in seeds]
    connection = connection or Connection()
    paths = {test.name: Path(folder) / test.name / RECORDING for test in chosen.tests}
    found = {name: _found(path) for name, path in paths.items()}
    todo = [cell for cell in cells if _run_of(cell, found)[1] != "finished"]
    for cell in todo:  # wrong use ends here, before there is any file
        if cell.seed == seeds[0]:
            _new(cell, connection, False)
    if todo:
        _run(todo, found, paths, connection, watch)
        found = {name: _found(path) for name, path in paths.items()}
    frames = {
        test.name: _frames(
            paths[test.name],
            {_run_of(cell, found)[0]: cell.mind for cell in cells if cell.test is test},
        )
        for test in chosen.tests
    }
    return Screening(chosen, list(minds), seeds, paths, frames, len(todo))


def _run(
    todo: Sequence[Cell],
    found: Mapping[str, Mapping[str, tuple[int, str]]],
    paths: Mapping[str, Path],
    connection: Connection,
    watch: Watch,
) -> None:
    with ExitStack() as stack:
        opened = {
            name: stack.enter_context(Recording(path))
            for name, path in paths.items()
            if found[name] or any(cell.test.name == name for cell in todo)
        }
        if connection.budget is not None:
            for name, recording in opened.items():
                if found[name]:
                    before = spent_before(recording, pasts(recording.path), connection.prices)
                    connection.budget.spent.add(before)
        models: list[SmartModel] = []
        for name, recording in opened.items():
            mine = [cell for cell in todo if cell.test.name == name]
            known = [_run_of(cell, found)[0] for cell in mine if cell.identity in found[name]]
            if known:
                models += going_on(recording, pasts(recording.path, known), connection)
            models += [
                _new(cell, connection, recording)
                for cell in mine
                if cell.identity not in found[name]
            ]
        run_models(models, watch=watch)


def _new(cell: Cell, connection: Connection, recording: Recording | bool) -> SmartModel:
    given = cell.test.parameters(cell.mind)
    return cell.test.model(**given, rng=cell.seed, connection=connection, recording=recording)


def _run_of(cell: Cell, found: Mapping[str, Mapping[str, tuple[int, str]]]) -> tuple[int, str]:
    """Number and status of the run of a cell; −1 and ``""`` when there is none."""
    return found[cell.test.name].get(cell.identity, (-1, ""))


def _found(path: Path) -> dict[str, tuple[int, str]]:
    """Identity → number and status of the runs of a recording; a finished one comes first."""
    known: dict[str, tuple[int, str]] = {}
    for identity, run, status in _listed(path) if path.exists() else ():
        if known.get(identity, (0, ""))[1] != "finished":
            known[identity] = run, status
    return known


def _listed(path: Path) -> Iterator[tuple[str, int, str]]:
    for _, row in Recorded(path).runs().iterrows():
        identity = _identity(json.loads(row["parameters"]), json.loads(row["seed"]))
        yield identity, int(row["run"]), str(row["status"])


def _identity(parameters: Mapping[str, Any], seed: Sequence[int]) -> str:
    return json.dumps([parameters, list(seed)], sort_keys=True)


def _frames(path: Path, minds: Mapping[int, str]) -> Frames:
    """The frames of a recording: the rows of these runs."""
    frames = Recorded(path).frames()
    return {
        name: frame[frame["run"].isin(list(minds))]
        .assign(mind=lambda rows: rows["run"].map(minds))
        .reset_index(drop=True)
        for name, frame in frames.items()
    }
