"""Small runs of each case study: one after another and all at once, paid and free, many and one."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa import (
    BertrandCompetition,
    EmergencyEvacuation,
    KeynesianBeautyContest,
    Recording,
    SmartModel,
)
from sabm_mesa.recording.store import versions
from sabm_mesa.runs.rerun import fork, replay, resume
from sabm_mesa.runs.run import Runs, run_models
from tests.chaos.bill import Bill
from tests.chaos.minds import Billed, Free
from tests.chaos.points import Fate

FILE = "recording.sqlite"
PARENT = "parent.sqlite"
FREE_TO_DIFFER = {"run", "answers_from_recording", "cost_usd_from_recording", "parent", "forks"}
Data = dict[int, list[Any]]


@dataclass(frozen=True)
class Study:
    """One or several runs that one command starts.

    Attributes:
        scenario: the name of the case study.
        model: its class.
        parameters: its parameters.
        minds: how many agents are ``billed``, ``free``, or of a spec.
        runs: how many runs.
        fork_at: the round of the fork; fork_set: what it changes.
    """

    scenario: str
    model: type[SmartModel]
    parameters: Mapping[str, Any]
    minds: Mapping[str, int]
    runs: int
    fork_at: int
    fork_set: Mapping[str, Any] = field(default_factory=dict)

    def play(self, folder: Path, seed: int, own: Mapping[str, Any]) -> Runs:
        """Run them, as a command does."""
        minds = {own.get(spec, spec): count for spec, count in self.minds.items()}
        with Recording(folder / FILE) as recording:
            return run_models(
                [
                    self.model(**self.parameters, minds=minds, rng=seed + i, recording=recording)
                    for i in range(self.runs)
                ]
            )

    def branch(self, folder: Path, own: Mapping[str, Any]) -> Runs:
        """Fork the runs that are recorded beside."""
        parent = folder / PARENT
        return fork(parent, self.fork_at, self.fork_set, folder / FILE, minds=own)


def own_minds(bill: Bill, fate: Fate) -> dict[str, Any]:
    """The minds by their specs."""
    return {"billed": Billed(bill, fate), "free": Free()}


def go_on(folder: Path, own: Mapping[str, Any]) -> Runs:
    """Resume what is recorded, or replay it when it was finished."""
    path = folder / FILE
    left = rows(path, "SELECT count(*) FROM runs WHERE status <> 'finished'")[0][0]
    return resume(path, minds=own) if left else replay(path, minds=own)


def entered(folder: Path) -> bool:
    """Whether any run has been entered."""
    return entered_in(folder / FILE)


def entered_in(path: Path) -> bool:
    """Whether any run has been entered in a recording."""
    try:
        return bool(rows(path, "SELECT count(*) FROM runs")[0][0])
    except sqlite3.OperationalError:  # there is no table yet
        return False


def rows(path: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query of a recording; nothing in the folder is changed."""
    with closing(sqlite3.connect(path.as_uri() + "?mode=ro", uri=True)) as connection:
        return connection.execute(query, values).fetchall()


def data_of(runs: Runs, path: Path) -> Data:
    """For each seed all that has to come out the same: frames, summary, and recorded rows."""
    columns = [name for _, name, *_ in rows(path, "PRAGMA table_info(asks)")]
    same = ", ".join(sorted({*columns} - {"run", "messages", "latency_s"}))
    data: Data = {}
    for number, model, told in zip(runs.numbers, runs.models, runs.summary()["runs"], strict=True):
        data[model.entropy[0]] = [
            model.model_frame(),
            model.agent_frame(),
            {name: repr(value) for name, value in told.items() if name not in FREE_TO_DIFFER},
            rows(path, f"SELECT {same} FROM asks WHERE run = ?", number),
            rows(path, "SELECT round, data FROM model_data WHERE run = ?", number),
            rows(path, "SELECT round, data FROM agent_data WHERE run = ?", number),
            rows(path, "SELECT status, problem, forks FROM runs WHERE run = ?", number),
        ]
    return data


def difference(expected: Data, found: Data) -> str:
    """The first difference between runs; ``""`` without one."""
    for seed, parts in found.items():
        for number, (one, other) in enumerate(zip(expected[seed], parts, strict=True)):
            frames = isinstance(one, pd.DataFrame)
            if not (one.equals(other) if frames else one == other):
                what = ("model frame", "agent frame", "summary", "recorded answers",
                        "recorded model data", "recorded agent data", "end")  # fmt: skip
                return f"the {what[number]} of the run with seed {seed} came out otherwise"
    return "" if found else "no run was found"


def warm_up() -> None:
    """Have available what every child would otherwise read anew."""
    versions()
    for study in STUDIES:
        study.model(**study.parameters, rng=0).agent_frame()


STUDIES = (
    Study(
        "kbc", KeynesianBeautyContest, {"n_players": 3, "n_rounds": 3}, {"billed": 3}, 2,
        2, {"reward_rule": "exclusive", "n_rounds": 4},
    ),
    Study(
        "kbc", KeynesianBeautyContest,
        {"n_players": 5, "n_rounds": 3, "max_attempts": 2, "personas": {"agreeable": 5}},
        {"billed": 3, "classical": 1, "free": 1}, 1,
        1, {"condition": "cooperative"},
    ),
    Study(
        "bertrand", BertrandCompetition, {"n_rounds": 4}, {"billed": 2}, 1,
        2, {"communication": False},
    ),
    Study(
        "bertrand", BertrandCompetition,
        {"n_rounds": 3, "n_firms": 3, "changes": {"2": {"communication": False}}},
        {"billed": 1, "classical:tit_for_tat": 1, "free": 1}, 2,
        1, {"minds": {"classical": 1, "billed": 2}},
    ),
    Study(
        "evacuation", EmergencyEvacuation,
        {"n_people": 3, "n_rounds": 3, "width": 9, "height": 9}, {"billed": 3}, 1,
        1, {"movement": "simultaneous"},
    ),
    Study(
        "evacuation", EmergencyEvacuation,
        {"n_people": 4, "n_rounds": 2, "width": 9, "height": 9, "movement": "simultaneous"},
        {"billed": 2, "classical": 1, "free": 1}, 2,
        1, {"communication": False, "n_rounds": 3},
    ),
)  # fmt: skip
