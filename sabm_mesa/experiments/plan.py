"""What an experiment will run: its conditions times seeds, with the minds that were chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.experiments.design import SCALES, Condition, Experiment, Figures
from sabm_mesa.minds import Minds, by_spec
from sabm_mesa.models.base import SmartModel
from sabm_mesa.parameters import bind, one_of, whole
from sabm_mesa.recording.statistics import as_recorded
from sabm_mesa.registry import scenario

SEED = 1
"""The first seed when none is chosen: the same command then finds its runs again."""


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    Attributes:
        condition: the name of its condition.
        seed: its seed.
        parameters: the parameters it begins with, without the seed.
        fork_of: the condition whose run of the same seed it goes on with, or ``""``.
        at: the round at which it does.
        changes: the parameters that change then.
    """

    condition: str
    seed: int
    parameters: Mapping[str, Any]
    fork_of: str = ""
    at: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment.

    Attributes:
        experiment: the experiment.
        scale: ``quick`` or ``paper``.
        runs: runs a condition.
        cells: the runs: condition by condition, in the order of their seeds.
        minds: condition → who decides.
    """

    experiment: Experiment
    scale: str
    runs: int
    cells: Sequence[Cell]
    minds: Mapping[str, Minds]

    @property
    def model(self) -> type[SmartModel]:
        """The model class."""
        return scenario(self.experiment.scenario)

    @property
    def published(self) -> list[Figures]:
        """The published numbers that runs of this scale can be compared with."""
        return [each for each in self.experiment.published if each.scale in {"", self.scale}]

    @property
    def seeds(self) -> list[int]:
        """The seeds; each condition has all of them."""
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
        minds: who decides in all conditions; or condition → who decides in it, with
            ``"classical"`` in those that are not named.
        runs: runs a condition; those of the scale when None.
        seed: the first seed.

    Raises:
        UsageError: for a scale, minds, a number of runs or a seed that cannot be used.
    """
    one_of("scale", scale, SCALES)
    chosen = experiment.scales[scale]
    runs = chosen.runs if runs is None else whole("runs", runs, 1)
    seeds = [whole("seed", seed, 0) + i for i in range(runs)]
    who = _minds_of(experiment, minds)
    common = {**experiment.set, **chosen.set}
    given = {
        each.name: {**common, **each.set, "minds": who[each.name]} for each in experiment.conditions
    }
    made = [
        _cell(experiment, scale, each, common, given, seed)
        for each in experiment.conditions
        for seed in seeds
    ]
    return Plan(experiment, scale, runs, made, who)


def recorded_parameters(model: type[SmartModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a run, as a recording holds them.

    Args:
        model: the model class.
        given: those that differ from the defaults.

    Raises:
        UnknownName: for a parameter that does not exist.
    """
    bound = bind(model, given)
    bound.pop("rng", None)
    return as_recorded({**bound, "minds": by_spec(bound["minds"])})


def _cell(
    experiment: Experiment,
    scale: str,
    condition: Condition,
    common: Mapping[str, Any],
    given: Mapping[str, Mapping[str, Any]],
    seed: int,
) -> Cell:
    if not condition.fork_of:
        return Cell(condition.name, seed, given[condition.name])
    trunk = experiment.condition(condition.fork_of)
    changes = {k: v for k, v in condition.set.items() if {**common, **trunk.set}.get(k) != v}
    at = condition.at[scale]
    return Cell(condition.name, seed, given[trunk.name], trunk.name, at, changes)


def _minds_of(experiment: Experiment, minds: Minds | Mapping[str, Minds]) -> dict[str, Minds]:
    """Condition → who decides in it."""
    names = [each.name for each in experiment.conditions]
    if not (isinstance(minds, Mapping) and set(minds) & set(names)):
        return {name: cast(Minds, minds) for name in names}
    given = cast(Mapping[str, Minds], minds)
    for name in given:
        if name not in names:
            raise UnknownName(f"condition of {experiment.name}", name, names)
    for each in experiment.conditions:
        if each.fork_of and each.name in given:
            raise ParameterError(
                f"{each.name} goes on with the runs of {each.fork_of}: name the minds of that one."
            )
    found = {name: given.get(name, "classical") for name in names}
    for each in experiment.conditions:
        if each.fork_of:
            found[each.name] = found[each.fork_of]
    return found
