"""Minds: whatever decides for an agent, and the specs that name them.

================================  ==============================================================
spec                              the mind
================================  ==============================================================
``classical``                     the scenario's behavioural model from the literature
``classical:NAME``                another one of the scenario's behavioural models
``fixed:VALUE``                   always the same answer
``llm:MODEL``                     a language model of the default endpoint
``llm:MODEL@URL``                 a language model of an OpenAI-compatible endpoint
``gguf:PATH``                     a language model in a GGUF file, run in this process
``py:FILE``                       the one mind in a Python file, see `sabm_mesa.minds.students`
``py:FILE:NAME``                  the mind of that name in a Python file
``human``                         a person: in ``sabm play`` and in the viewer only
================================  ==============================================================

A population is given as one spec for all, as a mapping spec → count, or as a list with one spec
an agent. A mind object (such as `ScriptedMind`) may stand wherever a spec may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sabm_mesa.asks import Mind
from sabm_mesa.errors import MindSpecError, UnknownName
from sabm_mesa.minds.fixed import FixedMind
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.own import OwnMind
from sabm_mesa.minds.populations import (
    Minds,
    MindSpec,
    assign,
    by_spec,
    check_specs,
    name_of,
    objects_by_spec,
)
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
    "files_of",
    "is_file",
    "language_model",
    "mind_makers",
    "model_and_url",
    "objects_by_spec",
]

MindMaker = Callable[["SmartAgent"], Mind]

FILE = "py:"
"""How the spec of a mind in a file begins."""
_FORMS = (
    "classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL, gguf:PATH, py:FILE, "
    "py:FILE:NAME"
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
        readable = kind == "classical" or (kind in {"fixed", "gguf", "llm", "py"} and rest)
        if not readable and spec not in {*known, *objects_by_spec(minds)}:
            raise MindSpecError(f"Cannot read the mind spec {spec!r}. Known forms: {_FORMS}.")


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
    return _recorded_maker(name_of(spec), history, model)


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
    if kind == "gguf" and rest:
        return _model_in_file(spec, rest, model)
    if kind == "py" and rest:
        from sabm_mesa.minds.students import student_maker

        then = {} if model.history is None else model.history.versions
        return student_maker(spec, model, then.get(spec))
    if spec == HUMAN:
        raise MindSpecError(
            "The mind 'human' needs a person at a seat: use sabm play, or a game in the viewer."
        )
    raise MindSpecError(f"Cannot read the mind spec {spec!r}. Known forms: {_FORMS}.")


def _recorded_maker(spec: str, history: History, model: SmartModel) -> MindMaker:
    """Minds that follow a recorded run: paid ones answer from it, free ones decide anew.

    A mind from a file decides anew only to go on with the run: a replay does not need the file.
    """
    from_file = is_file(spec) and spec not in history.minds
    make: MindMaker | None = None
    if history.may_ask or not from_file:
        try:
            make = _live_maker(history.minds.get(spec, spec), model)
        except MindSpecError:
            if from_file:
                raise
            # a mind of the user's own

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


def _model_in_file(spec: str, rest: str, model: SmartModel) -> MindMaker:
    from sabm_mesa.minds.gguf import gguf_mind

    mind = gguf_mind(spec, rest, model)
    return lambda _agent: mind


def files_of(minds: Minds) -> dict[str, str]:
    """Spec → SHA-256 of the file, for the minds of a population that come from files.

    Args:
        minds: one for all, a mapping → count, or a sequence.

    Raises:
        MindSpecError: when a file cannot be read.
    """
    specs = by_spec(minds)
    named = {spec for spec in ([specs] if isinstance(specs, str) else specs) if is_file(spec)}
    if not named:
        return {}
    from sabm_mesa.minds.students.files import digest, read

    return {spec: digest(read(spec)) for spec in sorted(named)}


def is_file(spec: str) -> bool:
    """Whether a spec names a mind in a Python file.

    Args:
        spec: the spec of a mind.
    """
    return spec.startswith(FILE)


def language_model(spec: str) -> str:
    """The name of the language model in a spec, ``""`` when it is none.

    Args:
        spec: the spec of a mind; of a model in a file it is the name.
    """
    kind, _, rest = spec.partition(":")
    if kind == "gguf" and rest:
        return spec
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
