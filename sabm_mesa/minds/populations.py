"""Populations of minds: how specs are spread over agents, and how they are recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sabm_mesa.asks import Mind
from sabm_mesa.errors import MindSpecError

MindSpec = str | Mind
Minds = MindSpec | Mapping[MindSpec, int] | Sequence[MindSpec]


def assign(what: str, given: Any, n: int) -> list[Any]:
    """Spread a population over `n` agents, in the order of their ids.

    Args:
        what: what is spread, for the error: ``"minds"`` or ``"personas"``.
        given: one for all, a mapping → count, or a sequence with one an agent.
        n: the number of agents.

    Raises:
        MindSpecError: when the counts are not whole numbers that add up to `n`.
    """
    if isinstance(given, Mapping):
        for each, count in given.items():
            if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                raise MindSpecError(
                    f"{what}: the count of {name_of(each)} has to be a whole number, not {count!r}."
                )
        spread = [each for each, count in given.items() for _ in range(count)]
    elif isinstance(given, Sequence) and not isinstance(given, str):
        spread = list(given)
    else:
        spread = [given] * n
    if len(spread) != n:
        raise MindSpecError(
            f"{what}: {len(spread)} are given for {n} agents; the counts have to add up to {n}."
        )
    return spread


def by_spec(minds: Minds) -> Any:
    """The same population with the specs of mind objects in their place, as it is recorded."""
    if isinstance(minds, Mapping):
        counts: dict[str, int] = {}
        for mind, count in minds.items():
            counts[name_of(mind)] = counts.get(name_of(mind), 0) + count
        return counts
    if isinstance(minds, Sequence) and not isinstance(minds, str):
        return [name_of(mind) for mind in minds]
    return name_of(minds)


def check_specs(minds: Minds) -> None:
    """Check that a recording can tell the minds of a population apart by their specs.

    Args:
        minds: one for all, a mapping → count, or a sequence.

    Raises:
        MindSpecError: when two different mind objects, or one and a spec, have the same spec.
    """
    several: Any = minds if isinstance(minds, Mapping | Sequence) else [minds]
    known: dict[str, Any] = {}
    for mind in [minds] if isinstance(minds, str) else several:
        other = known.setdefault(name_of(mind), mind)
        if other is not mind and other != mind:
            raise MindSpecError(
                f"Two different minds have the spec {name_of(mind)!r}, so a recording could not "
                "tell them apart: give each an attribute `spec` of its own, or record nothing."
            )


def objects_by_spec(minds: Minds) -> dict[str, Mind]:
    """The mind objects of a population by their specs.

    Args:
        minds: one for all, a mapping → count, or a sequence.
    """
    if isinstance(minds, str) or not isinstance(minds, Mapping | Sequence):
        minds = [minds]
    return {name_of(mind): mind for mind in minds if not isinstance(mind, str)}


def name_of(spec: MindSpec) -> str:
    """The spec itself, or that of a mind object: the name of its class when it has none."""
    return spec if isinstance(spec, str) else getattr(spec, "spec", type(spec).__name__)
