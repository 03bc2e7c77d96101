"""What is wrong with an experiment: all that can be told before it is planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sabm_mesa.errors import ParameterError, UnknownName, UsageError
from sabm_mesa.experiments.design import COMPARED, SCALES, Condition, Experiment
from sabm_mesa.parameters import parameters_of, whole
from sabm_mesa.registry import scenario

PARTY = "cocktail-party"
Read = Callable[[str], Experiment]


def mistakes(found: Experiment, read: Read) -> list[str]:
    """What an experiment names and there is not, or says and does not fit.

    Args:
        found: the experiment.
        read: reads another experiment by its name.
    """
    wrong = [f"the scale {scale!r} is missing." for scale in SCALES if scale not in found.scales]
    wrong += [*_of_names(found), *_of_references(found)]
    for measure in found.measures:
        if measure.agent and measure.data != "agents":
            wrong.append(f'{measure.name}: an agent needs data = "agents".')
    for each in found.conditions:
        wrong += [f"{each.name}: {said}" for said in _of_condition(found, each)]
    try:
        known = parameters_of(scenario(found.scenario)) if found.scenario else None
    except UnknownName as error:
        return [str(error), *wrong]
    if known is not None:
        wrong += _of_parameters(found, list(known))
        wrong += _of_parties(found, read, can="party" in known)
    return wrong


def _of_names(found: Experiment) -> Iterator[str]:
    conditions = [each.name for each in found.conditions]
    measures = [each.name for each in found.measures]
    for kind, given in (("condition", conditions), ("measure", measures)):
        if not given or len(set(given)) < len(given):
            yield f"it needs one {kind} or more, each with its own name."
    for name in sorted(set(found.slots) & set(conditions)):
        yield f"{name} is the name of a slot and of a condition."


def _of_references(found: Experiment) -> Iterator[str]:
    known = {
        "measure": [each.name for each in found.measures],
        "condition": [each.name for each in found.conditions],
        "condition to fork": [each.name for each in found.conditions if not each.fork_of],
    }
    for where, kind, name in _named(found):
        if name and name not in known[kind]:
            yield f"{where}: {UnknownName(kind, name, known[kind])}"


def _of_condition(found: Experiment, condition: Condition) -> Iterator[str]:
    if condition.fork_of and set(condition.at) != set(SCALES):
        yield "at has to name quick and paper."
    if condition.fork_of and condition.party:
        yield f"it remembers the party of {condition.fork_of}, and can name none."
    for slot, n in condition.mix.items():
        if slot not in found.slots:
            yield f"mix: {UnknownName('slot', slot, found.slots)}"
        else:
            try:
                whole(slot, n, 1)
            except ParameterError as error:
                yield f"mix: {error}"


def _of_parameters(found: Experiment, known: Sequence[str]) -> Iterator[str]:
    given = [("set", found.set)]
    given += [(f"scale {name}, set", scale.set) for name, scale in found.scales.items()]
    given += [(f"{each.name}, set", each.set) for each in found.conditions]
    for where, parameters in given:
        for name in parameters:
            if name not in known:
                yield f"{where}: {UnknownName('parameter', name, known)}"


def _of_parties(found: Experiment, read: Read, *, can: bool) -> Iterator[str]:
    """What is wrong with the parties that conditions remember."""
    named = sorted({each.party for each in found.conditions if each.party})
    sources = sorted({party.rpartition("/")[0] for party in named})
    if not named:
        return
    if not can:
        yield f"nobody in {found.scenario} can remember a party."
    elif len(sources) > 1:
        yield f"its parties are of several experiments: {sources}."
    else:
        try:
            held = read(sources[0])
        except UsageError as error:
            yield str(error)
            return
        if held.scenario != PARTY:
            yield f"{held.name} is of {held.scenario}, and holds no {PARTY}."
            return
        known = [each.name for each in held.conditions if not each.fork_of]
        for party in named:
            if (name := party.rpartition("/")[2]) not in known:
                yield str(UnknownName(f"party of {held.name}", name, known))


def _named(found: Experiment) -> Iterator[tuple[str, str, str]]:
    """The measures and conditions that other entries name, and where."""
    for number, claim in enumerate(found.claims, 1):
        yield f"claims {number}", "measure", claim.measure
        yield f"claims {number}", "condition", claim.condition
        if claim.kind in COMPARED and not claim.than:
            yield f"claims {number}", "condition", "(none: than is missing)"
        elif claim.kind in COMPARED:
            yield f"claims {number}", "condition", claim.than
    for number, each in enumerate(found.published, 1):
        yield f"published {number}", "measure", each.measure
        yield f"published {number}", "condition", each.condition
    for number, ratio in enumerate(found.ratios, 1):
        yield f"ratios {number}", "measure", ratio.measure
        yield f"ratios {number}", "condition", ratio.condition
        yield f"ratios {number}", "condition", ratio.than
    for condition in found.conditions:
        yield condition.name, "condition to fork", condition.fork_of
