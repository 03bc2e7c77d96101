"""The plan of an experiment: conditions times seeds, with the chosen minds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pandas as pd

from sabm_mesa.core.parameters import check_choice, check_int
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.llm import Connection
from sabm_mesa.minds.specs import Minds, by_spec, describe_given, language_model, named_in
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import scenario
from sabm_mesa.runs.planned import RunSpec
from sabm_mesa.studies.experiments.design import (
    SCALES,
    Condition,
    Experiment,
    Figures,
    load_experiment,
)

GIVEN = "given"
"""In a slot: the given mind for all."""


def minds_of(experiment: Experiment, minds: Minds | Mapping[str, Minds]) -> dict[str, Minds]:
    """Condition → the minds that decide in it.

    Args:
        experiment: the experiment.
        minds: the minds that decide in all conditions; or condition or slot → those in it, with
            ``"classical"`` by default.

    Raises:
        UnknownName: for a condition that does not exist.
        ParameterError: for minds of a condition that continues another one, and for several minds
            in one slot.
    """
    names = [condition.name for condition in experiment.conditions]
    places = [*experiment.slots, *names]
    by_place: Mapping[str, Minds] = {}
    for_all = cast(Minds, minds)
    if isinstance(minds, Mapping) and set(minds) & set(places):
        by_place, for_all = cast(Mapping[str, Minds], minds), "classical"
    for name in by_place:
        if name not in places:
            raise UnknownName(f"condition of {experiment.name}", name, places)
    for condition in experiment.conditions:
        if condition.fork_of and condition.name in by_place:
            raise ParameterError(
                f"{condition.name} continues the runs of {condition.fork_of}: name the minds "
                "of that one."
            )
    by_condition = {
        condition.name: by_place.get(condition.name)
        or _mixed(experiment, condition, by_place, for_all)
        for condition in experiment.conditions
    }
    return {
        condition.name: by_condition[condition.fork_of or condition.name]
        for condition in experiment.conditions
    }


def asks_language_model(minds: Minds) -> bool:
    """Whether any of the minds is a language model.

    Args:
        minds: one for all; spec → number of agents; or one per agent.
    """
    return any(map(language_model, specs_of(minds)))


def only_language_models(minds: Minds) -> bool:
    """Whether all of the minds are language models.

    Args:
        minds: one for all; spec → number of agents; or one per agent.
    """
    return all(map(language_model, specs_of(minds)))


def specs_of(minds: Minds) -> list[str]:
    """The specs of minds.

    Args:
        minds: the minds of a run.
    """
    return named_in(by_spec(minds))


def _mixed(
    experiment: Experiment, condition: Condition, by_slot: Mapping[str, Minds], for_all: Minds
) -> Minds:
    """The default minds of a condition: those for all, or its mixture of slots."""
    if not condition.mix:
        return for_all
    counts: dict[Any, int] = {}
    for slot, n in condition.mix.items():
        default = experiment.slots[slot]
        mind: Any = by_slot.get(slot, for_all if default == GIVEN else default)
        if isinstance(mind, Mapping | list | tuple):
            raise ParameterError(
                f"{experiment.name} mixes minds itself ({', '.join(experiment.slots)}): name one "
                f"for {slot} (--minds {slot}=SPEC), not several."
            )
        counts[mind] = counts.get(mind, 0) + n
    return next(iter(counts)) if len(counts) == 1 else counts


SEED = 1
"""The default of the first seed, so that the same command finds its runs again."""


Name = tuple[str, int]
"""(condition, seed)"""


@dataclass(frozen=True)
class ExperimentRun:
    """One run of an experiment.

    Attributes:
        condition: the name of its condition.
        seed: its seed.
        parameters: its initial parameters, without the seed.
        fork_of: the condition whose runs it continues, or ``""``.
        at: the round of the fork.
        changes: the parameters that change at the fork.
        builds_on: the condition of the earlier run that it builds on, or ``""``.
    """

    condition: str
    seed: int
    parameters: Mapping[str, Any]
    fork_of: str = ""
    at: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)
    builds_on: str = ""


def name_of(cell: ExperimentRun) -> Name:
    """The condition and the seed of a run."""
    return cell.condition, cell.seed


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment.

    Attributes:
        experiment: the experiment.
        scale: ``quick`` or ``paper``.
        runs: runs a condition.
        cells: the runs: condition by condition, in the order of their seeds.
        minds: condition → the minds that decide.
        earlier: the earlier runs that these build on, one per condition, or None.
    """

    experiment: Experiment
    scale: str
    runs: int
    cells: Sequence[ExperimentRun]
    minds: Mapping[str, Minds]
    earlier: Plan | None = None

    @property
    def model(self) -> type[SmartModel]:
        """The model class of the experiment."""
        return scenario(self.experiment.scenario)

    def model_of(self, condition: str) -> type[SmartModel]:
        """The model class of a condition, which may have another scenario."""
        return scenario(self.experiment.condition(condition).scenario or self.experiment.scenario)

    @cached_property
    def specs(self) -> dict[Name, RunSpec]:
        """(condition, seed) → the run, tagged with its condition, in the order of the cells."""
        return {name_of(cell): self._spec(cell) for cell in self.cells}

    def _spec(self, cell: ExperimentRun) -> RunSpec:
        tags = {"condition": cell.fork_of or cell.condition}
        model = self.model_of(cell.fork_of or cell.condition)
        spec = RunSpec(model, cell.parameters, cell.seed, tags)
        if not cell.fork_of:
            return spec
        return spec.forked(cell.at, cell.changes, {"condition": cell.condition})

    @property
    def published(self) -> list[Figures]:
        """The published numbers that runs of this scale can be compared with."""
        return [
            published
            for published in self.experiment.published
            if published.scale in {"", self.scale}
        ]

    @property
    def seeds(self) -> list[int]:
        """The seeds of each condition."""
        return sorted({cell.seed for cell in self.cells})


def plan(
    experiment: Experiment,
    scale: str = "quick",
    *,
    minds: Minds | Mapping[str, Minds] = "classical",
    runs: int | None = None,
    seed: int = SEED,
) -> Plan:
    """The runs of an experiment; run i of every condition has the seed ``seed + i``.

    Args:
        experiment: the experiment.
        scale: ``"quick"`` or ``"paper"``.
        minds: the minds that decide in all conditions; or condition, or slot of the experiment →
            those in it, with ``"classical"`` in other conditions.
        runs: the number of runs per condition; None: that of the scale.
        seed: the first seed.

    Raises:
        UsageError: for a scale, minds, a number of runs or a seed that cannot be used.
    """
    check_choice("scale", scale, SCALES)
    chosen = experiment.scales[scale]
    runs = chosen.runs if runs is None else check_int("runs", runs, 1)
    seeds = [check_int("seed", seed, 0) + i for i in range(runs)]
    who = minds_of(experiment, minds)
    common = {**experiment.set, **chosen.set}
    given = {
        condition.name: {**common, **condition.set, "minds": who[condition.name]}
        for condition in experiment.conditions
    }
    builds_on = scenario(experiment.scenario).builds_on
    if builds_on is not None:
        for parameters in given.values():
            if (name := builds_on.parameter) in parameters:
                parameters[name] = builds_on.read(parameters[name])  # once, for all runs
    made = [
        _cell(experiment, scale, condition, common, given, seed)
        for condition in experiment.conditions
        for seed in seeds
    ]
    return Plan(experiment, scale, runs, made, who, _earlier(experiment, scale, who, seeds[0]))


def described(minds: Minds) -> str:
    """Minds in a few words.

    Args:
        minds: one for all; spec → number of agents; or one per agent.
    """
    return describe_given(by_spec(minds))


def _cell(
    experiment: Experiment,
    scale: str,
    condition: Condition,
    common: Mapping[str, Any],
    given: Mapping[str, Mapping[str, Any]],
    seed: int,
) -> ExperimentRun:
    if not condition.fork_of:
        earlier = condition.builds_on.rpartition("/")[2]
        return ExperimentRun(condition.name, seed, given[condition.name], builds_on=earlier)
    parent = experiment.condition(condition.fork_of)
    changes = {k: v for k, v in condition.set.items() if {**common, **parent.set}.get(k) != v}
    earlier = parent.builds_on.rpartition("/")[2]
    at: Mapping[str, int] = condition.at
    return ExperimentRun(
        condition.name, seed, given[parent.name], parent.name, at[scale], changes, earlier
    )


def _earlier(
    experiment: Experiment, scale: str, who: Mapping[str, Minds], seed: int
) -> Plan | None:
    """The earlier runs that conditions build on: one run of each."""
    deciding: dict[str, Minds] = {}
    source = ""
    for condition in experiment.conditions:
        if not condition.builds_on:
            continue
        source, _, name = condition.builds_on.rpartition("/")
        minds = _deciding_earlier(condition.name, who[condition.name])
        if deciding.setdefault(name, minds) != minds:
            raise ParameterError(
                f"Several conditions of {experiment.name} build on {condition.builds_on}: give "
                "them the same minds, since these decide there too."
            )
    if not deciding:
        return None
    source_experiment = load_experiment(source)
    named = tuple(
        condition for condition in source_experiment.conditions if condition.name in deciding
    )
    chosen = source_experiment.model_copy(update={"conditions": named})
    return plan(chosen, scale, minds=deciding, runs=1, seed=seed)


def _deciding_earlier(condition: str, minds: Minds) -> Minds:
    """The minds of the earlier run of a condition; rules of another scenario do not fit there."""
    given: Any = minds if isinstance(minds, Mapping | Sequence) else [minds]
    named = [minds] if isinstance(minds, str) else list(given)
    paid = list(dict.fromkeys(m for m in named if not isinstance(m, str) or language_model(m)))
    if len(paid) > 1:
        raise ParameterError(
            f"{condition} builds on an earlier run, in which its language model decides: name one, "
            f"not {len(paid)}."
        )
    return paid[0] if paid else "classical"


def with_earlier_runs(plan: Plan, recording: Path, runs: pd.DataFrame) -> Plan:
    """The plan of an experiment with the earlier runs as parameters.

    Args:
        plan: the experiment.
        recording: the recording of the earlier runs.
        runs: the runs in it: ``condition`` and the number of the ``run``.

    Raises:
        ParameterError: when no run can build on one of them.
    """
    builds_on = plan.model.builds_on
    assert builds_on is not None
    numbers = zip(runs["condition"], runs["run"], strict=True)
    known = {name: builds_on.read(f"{recording}#{run}") for name, run in numbers}

    def given(cell: ExperimentRun) -> ExperimentRun:
        earlier = {builds_on.parameter: known[cell.builds_on]} if cell.builds_on else {}
        return replace(cell, parameters={**cell.parameters, **earlier})

    return replace(plan, cells=[given(cell) for cell in plan.cells])


def with_pending_run(
    plan: Plan, cell: ExperimentRun, connection: Connection, **changes: Any
) -> dict[str, Any]:
    """The parameters of a run, with a placeholder for a missing earlier run.

    Args:
        plan: the experiment.
        cell: the run.
        connection: how language models are reached.
        changes: changed parameters of the earlier run.

    Raises:
        UsageError: for parameters or minds that cannot be used.
    """
    given: dict[str, Any] = {**cell.parameters, **cell.changes}
    on = plan.model.builds_on
    if on is None or plan.earlier is None or not cell.builds_on or on.parameter in given:
        return given
    earlier = next(
        candidate for candidate in plan.earlier.cells if candidate.condition == cell.builds_on
    )
    model = plan.earlier.model(
        **{**earlier.parameters, **changes},
        rng=earlier.seed,
        recording=False,
        connection=connection,
    )
    name = f"{plan.earlier.experiment.name}/{cell.builds_on}"
    return {**given, on.parameter: on.pending(model, name)}
