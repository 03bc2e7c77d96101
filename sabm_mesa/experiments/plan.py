"""What an experiment will run: its conditions times seeds, with the minds that were chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sabm_mesa.errors import ParameterError
from sabm_mesa.experiments import reading
from sabm_mesa.experiments.deciding import minds_of
from sabm_mesa.experiments.design import SCALES, Condition, Experiment, Figures
from sabm_mesa.minds import Minds, by_spec, language_model
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.party_memory import PartyMemories, read_party
from sabm_mesa.parameters import bind, one_of, whole
from sabm_mesa.population import describe_minds
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
        party: the condition, of the plan's parties, that its agents remember, or ``""``.
    """

    condition: str
    seed: int
    parameters: Mapping[str, Any]
    fork_of: str = ""
    at: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)
    party: str = ""


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment.

    Attributes:
        experiment: the experiment.
        scale: ``quick`` or ``paper``.
        runs: runs a condition.
        cells: the runs: condition by condition, in the order of their seeds.
        minds: condition → who decides.
        parties: the parties that are held before, one run a condition; None when there are none.
    """

    experiment: Experiment
    scale: str
    runs: int
    cells: Sequence[Cell]
    minds: Mapping[str, Minds]
    parties: Plan | None = None

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
        minds: who decides in all conditions; or condition, or slot of the experiment → who decides
            in it, with ``"classical"`` in conditions that are not named.
        runs: runs a condition; those of the scale when None.
        seed: the first seed.

    Raises:
        UsageError: for a scale, minds, a number of runs or a seed that cannot be used.
    """
    one_of("scale", scale, SCALES)
    chosen = experiment.scales[scale]
    runs = chosen.runs if runs is None else whole("runs", runs, 1)
    seeds = [whole("seed", seed, 0) + i for i in range(runs)]
    who = minds_of(experiment, minds)
    common = {**experiment.set, **chosen.set}
    given = {
        each.name: {**common, **each.set, "minds": who[each.name]} for each in experiment.conditions
    }
    for parameters in given.values():
        if "party" in parameters:
            parameters["party"] = read_party(parameters["party"])  # once, for all runs
    made = [
        _cell(experiment, scale, each, common, given, seed)
        for each in experiment.conditions
        for seed in seeds
    ]
    return Plan(experiment, scale, runs, made, who, _parties(experiment, scale, who, seeds[0]))


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
    if isinstance(bound.get("party"), PartyMemories):
        bound["party"] = bound["party"].reference
    return as_recorded({**bound, "minds": by_spec(bound["minds"])})


def described(minds: Minds) -> str:
    """Minds in a few words.

    Args:
        minds: one for all; spec → number of agents; or one an agent.
    """
    given = by_spec(minds)
    if isinstance(given, str):
        return given
    return describe_minds(given if isinstance(given, Mapping) else Counter(given))


def _cell(
    experiment: Experiment,
    scale: str,
    condition: Condition,
    common: Mapping[str, Any],
    given: Mapping[str, Mapping[str, Any]],
    seed: int,
) -> Cell:
    if not condition.fork_of:
        party = condition.party.rpartition("/")[2]
        return Cell(condition.name, seed, given[condition.name], party=party)
    trunk = experiment.condition(condition.fork_of)
    changes = {k: v for k, v in condition.set.items() if {**common, **trunk.set}.get(k) != v}
    at = condition.at[scale]
    party = trunk.party.rpartition("/")[2]
    return Cell(condition.name, seed, given[trunk.name], trunk.name, at, changes, party)


def _parties(
    experiment: Experiment, scale: str, who: Mapping[str, Minds], seed: int
) -> Plan | None:
    """One run of each party that a condition remembers."""
    guests: dict[str, Minds] = {}
    source = ""
    for each in experiment.conditions:
        if not each.party:
            continue
        source, _, party = each.party.rpartition("/")
        minds = _guest(each.name, who[each.name])
        if guests.setdefault(party, minds) != minds:
            raise ParameterError(
                f"Several conditions of {experiment.name} remember the party {each.party}: give "
                "them the same minds, since its guests decide in all of them."
            )
    if not guests:
        return None
    found = reading.experiment(source)
    held = replace(found, conditions=[c for c in found.conditions if c.name in guests])
    return plan(held, scale, minds=guests, runs=1, seed=seed)


def _guest(condition: str, minds: Minds) -> Minds:
    """Who is at the party that a condition remembers; rules of its scenario do not fit there."""
    given: Any = minds if isinstance(minds, Mapping | Sequence) else [minds]
    named = [minds] if isinstance(minds, str) else list(given)
    paid = list(dict.fromkeys(m for m in named if not isinstance(m, str) or language_model(m)))
    if len(paid) > 1:
        raise ParameterError(
            f"{condition} remembers a party, whose guests are its language model: name one, not "
            f"{len(paid)}."
        )
    return paid[0] if paid else "classical"
