"""Minds: whatever decides for an agent, and the specs that name them.

================================  ==============================================================
spec                              the mind
================================  ==============================================================
``classical``                     the scenario's behavioural model from the literature
``classical:NAME``                another one of the scenario's behavioural models
``fixed:VALUE``                   always the same answer
``llm:MODEL``                     a language model of the default endpoint
``llm:MODEL@URL``                 a language model of an OpenAI-compatible endpoint
``human``                         a person: in ``sabm play`` and in the viewer only
================================  ==============================================================

A population is given as one spec for all, as a mapping spec → count, or as a list with one spec
an agent. A mind object (such as `ScriptedMind`) may stand wherever a spec may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sabm_mesa.asks import Mind
from sabm_mesa.errors import MindSpecError, UnknownName
from sabm_mesa.minds.fixed import FixedMind
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.own import OwnMind
from sabm_mesa.minds.recorded import RecordedMind
from sabm_mesa.minds.scripted import ScriptedMind
from sabm_mesa.scheduler import SIMULTANEOUS

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.recording.history import History

__all__ = [
    "FixedMind",
    "Mind",
    "MindSpec",
    "Minds",
    "ScriptedMind",
    "assign",
    "by_spec",
    "check_forms",
    "check_specs",
    "language_model",
    "mind_makers",
    "model_and_url",
    "objects_by_spec",
]

MindSpec = str | Mind
Minds = MindSpec | Mapping[MindSpec, int] | Sequence[MindSpec]
MindMaker = Callable[["SmartAgent"], Mind]

_FORMS = "classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL"


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
                    f"{what}: the count of {_name(each)} has to be a whole number, not {count!r}."
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
            counts[_name(mind)] = counts.get(_name(mind), 0) + count
        return counts
    if isinstance(minds, Sequence) and not isinstance(minds, str):
        return [_name(mind) for mind in minds]
    return _name(minds)


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
        other = known.setdefault(_name(mind), mind)
        if other is not mind and other != mind:
            raise MindSpecError(
                f"Two different minds have the spec {_name(mind)!r}, so a recording could not tell "
                "them apart: give each an attribute `spec` of its own, or record nothing."
            )


def check_forms(minds: Minds, known: Iterable[str]) -> None:
    """Check that specs can be read, before anything else is done.

    Args:
        minds: one for all, a mapping → count, or a sequence.
        known: specs of minds of one's own that a recording knows.

    Raises:
        MindSpecError: for a spec that cannot be read.
    """
    specs = by_spec(minds)
    for spec in [specs] if isinstance(specs, str) else specs:
        kind, _, rest = spec.partition(":")
        readable = kind == "classical" or (kind in {"fixed", "llm"} and rest)
        if not readable and spec not in {*known, *objects_by_spec(minds)}:
            raise MindSpecError(f"Cannot read the mind spec {spec!r}. Known forms: {_FORMS}.")


def objects_by_spec(minds: Minds) -> dict[str, Mind]:
    """The mind objects of a population by their specs.

    Args:
        minds: one for all, a mapping → count, or a sequence.
    """
    if isinstance(minds, str) or not isinstance(minds, Mapping | Sequence):
        minds = [minds]
    return {_name(mind): mind for mind in minds if not isinstance(mind, str)}


def mind_makers(specs: Iterable[MindSpec], model: SmartModel) -> list[MindMaker]:
    """For each agent the function that gives it its mind; what can be shared is shared.

    Raises:
        MindSpecError: for a spec that cannot be read.
        UnknownName: for a classical mind that the scenario does not have.
        LLMError: for a language model that cannot be set up.
    """
    made: dict[object, MindMaker] = {}
    makers = []
    for spec in specs:
        # A mind object need not be hashable, so its identity stands for it.
        name = spec if isinstance(spec, str) else id(spec)
        if name not in made:
            made[name] = mind_maker(spec, model)
        makers.append(made[name])
    return makers


def mind_maker(spec: MindSpec, model: SmartModel) -> MindMaker:
    """Make the function that gives each agent its mind.

    Raises:
        MindSpecError: for a spec that cannot be read.
        UnknownName: for a classical mind that the scenario does not have.
        LLMError: for a language model that cannot be set up.
    """
    history = model.history
    if history is None:
        return _live_maker(spec, model)
    return _recorded_maker(_name(spec), history, model)


def _live_maker(spec: MindSpec, model: SmartModel) -> MindMaker:
    if not isinstance(spec, str):
        mind = OwnMind.of(spec)
        return lambda _agent: mind
    kind, _, rest = spec.partition(":")
    if kind == "classical":
        return _classical(rest or "default", model)
    if kind == "fixed" and rest:
        fixed = FixedMind(rest)
        return lambda _agent: fixed
    if kind == "llm" and model_and_url(rest)[0]:
        return _language_model(spec, rest, model)
    if spec == HUMAN:
        raise MindSpecError(
            "The mind 'human' needs a person at a seat: use sabm play, or a game in the viewer."
        )
    raise MindSpecError(f"Cannot read the mind spec {spec!r}. Known forms: {_FORMS}.")


def _recorded_maker(spec: str, history: History, model: SmartModel) -> MindMaker:
    """Minds that follow a recorded run: paid ones answer from it, free ones decide anew."""
    make: MindMaker | None
    try:
        make = _live_maker(history.minds.get(spec, spec), model)
    except MindSpecError:
        make = None  # a mind of the user's own

    def maker(agent: SmartAgent) -> Mind:
        mind = None if make is None else make(agent)
        if mind is not None and not mind.paid:
            return mind
        return RecordedMind(spec, history.past, mind, live=history.may_ask)

    return maker


def _classical(name: str, model: SmartModel) -> MindMaker:
    known = type(model).classical_minds
    if name not in known:
        raise UnknownName(f"classical mind of {model.scenario_name}", name, known)
    mind = known[name]
    spec = "classical" if name == "default" else f"classical:{name}"
    return lambda _agent: mind(spec)


def _language_model(spec: str, rest: str, model: SmartModel) -> MindMaker:
    from sabm_mesa.llm import Client, ScriptedClient, connect
    from sabm_mesa.minds.llm import LLMMind

    name, _, url = model_and_url(rest)
    if model.history is not None and not model.history.may_ask:
        client: Client = ScriptedClient(())  # a replay asks nobody
    else:
        client = connect(url or None, model.connection, name)
    together = [phase.name for phase in model.phases if phase.order == SIMULTANEOUS]
    mind = LLMMind(name, client, model.llm_settings, spec, together)
    return lambda _agent: mind


def language_model(spec: str) -> str:
    """The name of the language model in a spec, ``""`` when it is none.

    Args:
        spec: the spec of a mind.
    """
    kind, _, rest = spec.partition(":")
    return model_and_url(rest)[0] if kind == "llm" else ""


def model_and_url(rest: str) -> tuple[str, str, str]:
    """The name, which may hold an @ of its own, and the address behind the last one.

    Args:
        rest: what follows the kind in a spec.

    Returns:
        The name, ``"@"`` and the address; the last two are ``""`` without one.
    """
    name, at, url = rest.rpartition("@")
    return (name, at, url) if "://" in url else (rest, "", "")


def _name(spec: MindSpec) -> str:
    return spec if isinstance(spec, str) else getattr(spec, "spec", type(spec).__name__)
