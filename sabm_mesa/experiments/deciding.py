"""Who decides in each condition of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.experiments.design import Condition, Experiment
from sabm_mesa.minds import Minds, by_spec, language_model

GIVEN = "given"
"""In a slot: whoever is given for all."""


def minds_of(experiment: Experiment, minds: Minds | Mapping[str, Minds]) -> dict[str, Minds]:
    """Condition → who decides in it.

    Args:
        experiment: the experiment.
        minds: who decides in all conditions; or condition or slot → who decides in it, with
            ``"classical"`` where nobody is named.

    Raises:
        UnknownName: for a condition that there is not.
        ParameterError: for minds of a condition that has none of its own, and for several minds
            in one slot.
    """
    names = [each.name for each in experiment.conditions]
    places = [*experiment.slots, *names]
    by_place: Mapping[str, Minds] = {}
    for_all = cast(Minds, minds)
    if isinstance(minds, Mapping) and set(minds) & set(places):
        by_place, for_all = cast(Mapping[str, Minds], minds), "classical"
    for name in by_place:
        if name not in places:
            raise UnknownName(f"condition of {experiment.name}", name, places)
    for each in experiment.conditions:
        if each.fork_of and each.name in by_place:
            raise ParameterError(
                f"{each.name} goes on with the runs of {each.fork_of}: name the minds of that one."
            )
    found = {
        each.name: by_place.get(each.name) or _mixed(experiment, each, by_place, for_all)
        for each in experiment.conditions
    }
    return {each.name: found[each.fork_of or each.name] for each in experiment.conditions}


def asks_language_model(minds: Minds) -> bool:
    """Whether any of the minds is a language model.

    Args:
        minds: one for all; spec → number of agents; or one an agent.
    """
    given = by_spec(minds)
    return any(language_model(spec) for spec in ([given] if isinstance(given, str) else given))


def _mixed(
    experiment: Experiment, condition: Condition, by_slot: Mapping[str, Minds], for_all: Minds
) -> Minds:
    """The minds of a condition that nobody is named for: those for all, or its mixture of slots."""
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
