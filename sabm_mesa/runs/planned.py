"""Planned runs: their plans, finding them in a recording, and running the missing ones.

A planned run is recorded with its tags. The tag ``spec`` is a digest of everything that identifies
it: the scenario, all parameters, the minds and their files, the seed and the tags. One query for
that tag finds it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.usage import Usage
from sabm_mesa.llm import Connection
from sabm_mesa.minds.specs import (
    endpoints_in,
    files_of,
    objects_by_spec,
)
from sabm_mesa.models.base import SmartModel
from sabm_mesa.recording import RecordedRun, Recording, load_runs
from sabm_mesa.recording.reading import find_tagged
from sabm_mesa.recording.writing import Recorder
from sabm_mesa.runs.cost import with_context
from sabm_mesa.runs.rerun import planned_fork, resume_models, spent_before
from sabm_mesa.runs.run import Watch, run_models


@dataclass(frozen=True)
class PlannedFork:
    """The history with which a planned run begins.

    Attributes:
        of: the parent run.
        at: the first round with other parameters.
        changes: parameter → its new value.
    """

    of: RunSpec
    at: int
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class RunSpec:
    """One planned run.

    Attributes:
        scenario: the model class.
        parameters: the parameters that differ from their defaults, without the seed; for a fork,
            those of its parent.
        seed: the seed.
        tags: name → text that is recorded with the run. Two plans that differ only in a tag are two
            runs.
        fork: the run that it forks, or None.
    """

    scenario: type[SmartModel]
    parameters: Mapping[str, Any]
    seed: int
    tags: Mapping[str, str] = field(default_factory=dict)
    fork: PlannedFork | None = None

    @cached_property
    def identity(self) -> str:
        """JSON of everything that two runs with different seeds and tags have in common."""
        parameters = self.scenario.identity(self.parameters)
        minds = self.parameters.get("minds", parameters["minds"])
        files = files_of(minds)
        fork = self.fork and [self.fork.of.digest, self.fork.at, dict(self.fork.changes)]
        whole = [self.scenario.scenario_name, parameters, files, json_roundtrip(fork)]
        return json.dumps(whole, sort_keys=True)

    @cached_property
    def digest(self) -> str:
        """The identity of the run as 32 hexadecimal digits."""
        whole = json.dumps([self.identity, self.seed, dict(self.tags)], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()[:32]

    @property
    def depth(self) -> int:
        """The number of forks between this run and one without a parent."""
        return self.fork.of.depth + 1 if self.fork else 0

    @property
    def recorded_tags(self) -> dict[str, str]:
        """The tags of the recorded run."""
        return {**self.tags, "spec": self.digest}

    def with_seeds(self, seeds: Iterable[int]) -> list[RunSpec]:
        """The same run with other seeds."""
        specs = [replace(self, seed=seed) for seed in seeds]
        for spec in specs:
            vars(spec)["identity"] = self.identity  # computed once for all
        return specs

    def forked(
        self, at: int, changes: Mapping[str, Any], tags: Mapping[str, str] | None = None
    ) -> RunSpec:
        """A fork of this run."""
        fork = PlannedFork(self, at, changes)
        return RunSpec(self.scenario, self.parameters, self.seed, tags or {}, fork)

    def build(
        self, recording: Recording | Recorder | bool = False, connection: Connection | None = None
    ) -> SmartModel:
        """The model of the run, before its first round.

        Raises:
            UsageError: for a value that cannot be used.
        """
        model = self.scenario(
            **self.parameters, rng=self.seed, recording=recording, connection=connection
        )
        model.tags = self.recorded_tags
        return model


def find_runs(specs: Iterable[RunSpec], path: str | Path) -> dict[str, RecordedRun]:
    """Find planned runs in a recording.

    Returns:
        Digest of the plan → its run, for the recorded plans; see `RecordedRun.finished`.

    Raises:
        RecordingError: when it is not a recording, or damaged.
    """
    return find_tagged(path, [spec.digest for spec in specs])


def missing(specs: Sequence[RunSpec], path: str | Path) -> list[RunSpec]:
    """The plans without a finished run in a recording, their parents included.

    Raises:
        RecordingError: when it is not a recording, or damaged.
    """
    recorded = find_runs(specs, path)
    left = [
        spec for spec in specs if spec.digest not in recorded or not recorded[spec.digest].finished
    ]
    parents = {spec.fork.of.digest: spec.fork.of for spec in left if spec.fork is not None}
    for spec in left:
        parents.pop(spec.digest, None)
    return [*(missing(list(parents.values()), path) if parents else ()), *left]


def trial_models(
    specs: Iterable[RunSpec], connection: Connection | None = None
) -> dict[str, SmartModel]:
    """Build each model once, so that wrong parameters are refused before any file is written.

    The server of a local model starts with a context for the longest prompt of all runs.

    Returns:
        The identity of the plans → an unrecorded model: one for all plans that differ only in seed
        or tags. For a fork it has the parameters after the fork.

    Raises:
        UsageError: for a value that cannot be used.
    """
    first: dict[str, tuple[type[SmartModel], dict[str, Any]]] = {}
    how = connection or Connection()
    for spec in specs:
        if spec.identity not in first:
            changes = spec.fork.changes if spec.fork else {}
            given = {**spec.parameters, **changes, "rng": spec.seed}
            first[spec.identity] = spec.scenario, given
            how = with_context(how, spec.scenario, given)
    return {
        identity: scenario(**given, recording=False, connection=how)
        for identity, (scenario, given) in first.items()
    }


def run_missing(
    plans: Mapping[Path, Sequence[RunSpec]],
    connection: Connection | None = None,
    *,
    watch: Watch = lambda _: None,
) -> int:
    """Run the missing plans: all at the same time, within one budget.

    Recorded runs are not run again, and interrupted ones are continued. Forks are run after their
    parents.

    Args:
        plans: recording → its plans.
        connection: how language models are reached; its budget also counts the recorded costs.

    Returns:
        The number of runs that were played or continued now.

    Raises:
        UsageError: for parameters or minds that cannot be used; then nothing has been written.
        RunError: when a run fails; its answers are recorded, and the same call continues.
    """
    connection = connection or Connection()
    todo = {path: left for path, specs in plans.items() if (left := missing(specs, path))}
    trial_models((spec for left in todo.values() for spec in left), connection)
    if not todo:
        return 0
    # The recordings may come from others: they add no address to those of the plans.
    plans_left = [spec for left in todo.values() for spec in left]
    given = [[spec.parameters, spec.fork and spec.fork.changes] for spec in plans_left]
    connection = connection.for_recorded(endpoints_in(given))
    if connection.budget is not None:
        for path in plans:
            connection.budget.spent.add(spent_in(path, connection.prices))
    with ExitStack() as stack:
        opened = {path: stack.enter_context(Recording(path)) for path in todo}
        for depth in sorted({spec.depth for left in todo.values() for spec in left}):
            models = [
                model
                for path, left in todo.items()
                for model in _models(
                    [spec for spec in left if spec.depth == depth], opened[path], connection
                )
            ]
            if models:
                run_models(models, watch=watch)
    return len(plans_left)


def spent_in(path: Path, prices: str | Path | None) -> Usage:
    """Return the cost of all runs of a recording; see `spent_before`.

    Raises:
        RecordingError: when it cannot be read.
    """
    recorded = load_runs(path, missing_ok=True)
    return spent_before(recorded, prices) if recorded else Usage()


def _models(
    specs: Sequence[RunSpec], opened: Recording, connection: Connection
) -> list[SmartModel]:
    """Models of interrupted runs, of forks that are entered now, and of new runs."""
    parents = [spec.fork.of for spec in specs if spec.fork is not None]
    recorded = find_runs([*specs, *parents], opened.path)
    begun: dict[type[SmartModel], list[int]] = {}
    minds: dict[str, Any] = {}
    new = []
    for spec in specs:
        minds |= objects_by_spec(spec.parameters.get("minds", "classical"))
        if spec.digest in recorded:
            begun.setdefault(spec.scenario, []).append(recorded[spec.digest].run)
        elif spec.fork is not None:
            number = _start_fork(spec, spec.fork, recorded, opened, connection)
            begun.setdefault(spec.scenario, []).append(number)
        else:
            new.append(spec.build(opened, connection))
    resumed = [
        model
        for scenario, runs in begun.items()
        for model in resume_models(
            opened, load_runs(opened.path, runs), connection, minds=minds, scenario=scenario
        )
    ]
    return [*resumed, *new]


def _start_fork(
    spec: RunSpec,
    fork: PlannedFork,
    recorded: Mapping[str, RecordedRun],
    opened: Recording,
    connection: Connection,
) -> int:
    parent = recorded[fork.of.digest]
    forked = planned_fork(
        parent,
        fork.at,
        json_roundtrip(dict(fork.changes)),
        tags=spec.recorded_tags,
        scenario=spec.scenario,
        connection=connection,
    )
    return opened.start_fork(parent, forked)
