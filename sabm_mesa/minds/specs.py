"""Mind specs: naming minds, assigning them to agents, and creating them.

================================  ==============================================================
spec                              the mind
================================  ==============================================================
``classical``                     the scenario's behavioural model from the literature
``classical:NAME``                another one of the scenario's behavioural models
``fixed:VALUE``                   the same answer to every question, spoken too; an answer to each
                                  question by its name: ``fixed:act=3,communicate=hello``
``llm:MODEL``                     a language model of the default endpoint
``llm:MODEL@URL``                 a language model of an OpenAI-compatible endpoint
``llm:MODEL@NAME``                one of an endpoint in the file of endpoints (``--endpoints``)
``local``                         the small language model, run on this machine
``local:NAME``                    another one that ``sabm models`` lists
``gguf:PATH``                     a language model in a GGUF file, run on this machine
``py:FILE``                       the one mind in a Python file, see `sabm_mesa.minds.files.mind`
``py:FILE:NAME``                  the mind of that name in a Python file
``fitted:FILE``                   a behavioural model with the estimates of ``sabm fit``, see
                                  `sabm_mesa.minds.fitted`
``human``                         a person: in ``sabm play`` and in the viewer only
================================  ==============================================================

A population is given as one spec for all, as a mapping spec → count, or as a list with one spec per
agent. With several classes of agents, it is a mapping name of the class → population. A mind object
(such as `ScriptedMind`) can replace any spec. Options of a local model follow its spec:
``local?threads=2&slots=4``.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.core.answers import Format
from sabm_mesa.errors import MindSpecError, UnknownName, about
from sabm_mesa.llm import Client, Connection, ScriptedClient, connect
from sabm_mesa.llm.endpoints import NAME
from sabm_mesa.minds.base import Mind, as_mind, name_of
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.llm import LLMMind, LLMSettings
from sabm_mesa.minds.recorded import RecordedMind
from sabm_mesa.minds.scripted import FixedMind
from sabm_mesa.recording.replaying import ReplayRecorder

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.analysis.behaviour import Behaviour

MindSpec = str | Mind
Population = MindSpec | Mapping[MindSpec, int] | Sequence[MindSpec]
Minds = Population | Mapping[str, Population]
MindMaker = Callable[["SmartAgent"], Mind]
"""Gives an agent its mind."""

CLASSICAL = "classical"
"""The default spec of minds."""
FILE = "py:"
"""The prefix of the spec of a mind in a Python file."""
FITTED = "fitted:"
"""The prefix of the spec of a fingerprint."""
_KINDS = {"classical", "fitted", "fixed", "gguf", "llm", "local", "py"}
_LOCAL = re.compile(r"local(:\s*[^?\s][^?]*)?(\?|\Z)|gguf:\s*[^?\s]")
_VERSION = re.compile(r"\d[\w-]*(\.[\w-]+){0,2}\Z")
"""A version after the @ of a model's own name, as in ``claude@20240620``; addresses do not
match."""
_NAME_OF_MODEL = re.compile(r"(?:[\w.-]+/)?[A-Za-z][A-Za-z.-]*\d[\w.-]*\Z")
"""A name such as ``gpt-4o`` or ``openai/gpt-4o``."""
_NAMED_FIXED = re.compile(r"fixed:[A-Za-z_]\w*")
"""A fixed answer that may have been meant as the name of a question."""
_FORMS = (
    "classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL, llm:MODEL@NAME, local, "
    "local:NAME, gguf:PATH, py:FILE, py:FILE:NAME, fitted:FILE"
)


# Reading specs


@about("minds")
def check_forms(minds: Minds, known: Iterable[str]) -> None:
    """Check that specs can be read; `known` are those of custom minds in a recording.

    Raises:
        MindSpecError: for a spec that cannot be read.
    """
    for spec in map(name_of, named_in(minds)):
        if spec not in {*known, *objects_by_spec(minds)}:
            check_form(spec)


def check_form(spec: str) -> None:
    """Check that a spec has all parts of its kind.

    Raises:
        MindSpecError: when its kind is not known, or a part of it is missing.
    """
    if is_local(spec):
        return
    kind, colon, rest = spec.partition(":")
    why = ""
    if not spec.strip():
        why = " (it is empty)"
    elif kind in _KINDS and colon and not rest.strip():
        why = f" (nothing follows {kind}:)"
    elif kind == "llm" and (problem := problem_in(rest)):
        why = f" ({problem})"
    elif kind.lower() == "llm" and kind != "llm":
        why = f" (write llm:{rest or 'MODEL'})"
    elif kind not in _KINDS and not colon and _NAME_OF_MODEL.match(spec):
        why = f" (write llm:{spec.removeprefix('openai/')} for a language model)"
    elif kind not in _KINDS and (near := difflib.get_close_matches(kind, _KINDS, n=1)):
        why = f" (did you mean {near[0]}{colon}{rest}?)"
    if why or kind not in _KINDS or (kind != CLASSICAL and not colon):
        raise MindSpecError(f"Cannot read the mind spec {spec!r}{why}. Known forms: {_FORMS}.")


def problem_in(rest: str) -> str:
    """Return why ``llm:REST`` cannot be asked; ``""`` if it can."""
    model, at, named = rest.rpartition("@")
    if any(map(str.isspace, rest)):
        return "a name holds no space"
    is_endpoint = "://" in named or NAME.match(named)
    if at and not model and is_endpoint:
        return "it names no model"
    if at and not is_endpoint and (not named or (model and not _VERSION.match(named))):
        return f"{named!r} after the @ is neither an address (http://…) nor the name of an endpoint"
    return ""


def is_file(spec: str) -> bool:
    """Whether a spec names a mind in a Python file."""
    return spec.startswith(FILE)


def is_local(spec: str) -> bool:
    """Whether a spec names a language model that runs on this machine."""
    return _LOCAL.match(spec) is not None


def language_model(spec: str) -> str:
    """The name of the language model in a spec, ``""`` when it names none.

    The name of a local model begins with ``gguf:``.
    """
    kind, _, rest = spec.partition(":")
    if is_local(spec):
        from sabm_mesa.minds.local import model_name

        return model_name(spec)
    return model_and_endpoint(rest)[0] if kind == "llm" and not problem_in(rest) else ""


def model_and_endpoint(rest: str) -> tuple[str, str]:
    """The name of a model, and the address or name of its endpoint, ``""`` without one.

    The name may have an @ itself, with a version as in ``claude@20240620``: the name of an endpoint
    begins with a letter.
    """
    model, _, named = rest.rpartition("@")
    return (model, named) if "://" in named or (model and NAME.match(named)) else (rest, "")


def endpoints_in(given: Any) -> set[str]:
    """The endpoints of the models in the parameters of a run; ``""`` for models that name none."""
    if isinstance(given, Mapping):
        return {named for part in given.items() for value in part for named in endpoints_in(value)}
    if isinstance(given, str):
        kind, _, rest = given.partition(":")
        return {model_and_endpoint(rest)[1].rstrip("/")} if kind == "llm" else set()
    if isinstance(given, Sequence):
        return {named for value in given for named in endpoints_in(value)}
    return set()


def files_of(minds: Minds) -> dict[str, str]:
    """Spec → SHA-256 of the file, for the minds of a population from files and fingerprints.

    Raises:
        MindSpecError: when a file cannot be read.
    """
    digests: dict[str, str] = {}
    for spec in sorted(set(map(name_of, named_in(minds)))):
        if is_file(spec):
            from sabm_mesa.minds.files.mind import digest, read

            digests[spec] = digest(read(spec))
        elif spec.startswith(FITTED):
            from sabm_mesa.minds.fitted import read_fingerprint

            digests[spec] = read_fingerprint(spec.removeprefix(FITTED))[1]
    return digests


# Populations


def is_by_class(given: Any) -> bool:
    """Whether minds or personas are given for each class of agents: no count follows a name."""
    return isinstance(given, Mapping) and any(
        isinstance(name, str) and name.isidentifier() and not isinstance(count, int | float | None)
        for name, count in given.items()
    )


def given_for(agents: str, given: Any, default: str) -> Any:
    """The minds or personas of a class of agents."""
    return given.get(agents, default) if is_by_class(given) else given


def named_in(minds: Any) -> list[Any]:
    """All minds that are named: those of each class, and each of several."""
    if is_by_class(minds):
        return [mind for of_class in minds.values() for mind in named_in(of_class)]
    if isinstance(minds, Mapping) or (isinstance(minds, Sequence) and not isinstance(minds, str)):
        return list(minds)
    return [minds]


def map_minds(minds: Any, change: Callable[[Any], Any]) -> Any:
    """The same minds, each of them changed."""
    if is_by_class(minds):
        return {name: map_minds(of_class, change) for name, of_class in minds.items()}
    if isinstance(minds, Mapping):
        counts = Counter[Any]()
        for mind, count in minds.items():
            counts[change(mind)] += count
        return dict(counts)
    if isinstance(minds, Sequence) and not isinstance(minds, str):
        return [change(mind) for mind in minds]
    return change(minds)


@dataclass(frozen=True)
class Shares:
    """The options from which newborn agents draw, with their weights.

    Attributes:
        options: the options.
        weights: their weights, 0 or more; equal weights when all are 0.
    """

    options: Sequence[Any]
    weights: Sequence[int]

    @classmethod
    def of(cls, given: Any, leave_out: Callable[[Any], bool] = lambda _: False) -> Shares:
        """The shares of minds or personas for agents of one class."""
        counts: Any = [(given, 1)]
        if isinstance(given, Mapping):
            counts = list(given.items())
        elif isinstance(given, Sequence) and not isinstance(given, str):
            counts = [(option, 1) for option in given]
        kept = [(option, n) for option, n in counts if not leave_out(option)]
        return cls([option for option, _ in kept], [n for _, n in kept])

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw an option; one number is drawn, however many options there are."""
        total = np.cumsum(self.weights if any(self.weights) else [1] * len(self.options))
        return self.options[int(np.searchsorted(total, rng.random() * total[-1], side="right"))]


def assign(what: str, given: Any, n: int) -> list[Any]:
    """Assign a population to `n` agents, in the order of their ids.

    Args:
        given: one for all, a mapping → count, or a sequence with one per agent.

    Raises:
        MindSpecError: when the counts are not whole numbers that add up to `n`.
    """
    each_of: Iterable[tuple[Any, int]]
    if isinstance(given, Mapping):
        for option, count in given.items():
            if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                raise MindSpecError(
                    f"{what}: the count of {name_of(option)} must be a whole number, "
                    f"not {count!r}.",
                    parameter=what,
                )
        total, each_of = sum(given.values()), given.items()
    elif isinstance(given, Sequence) and not isinstance(given, str):
        total, each_of = len(given), [(option, 1) for option in given]
    else:
        return [given] * n
    if total != n:  # before as many are made
        named = any(_NAMED_FIXED.fullmatch(name_of(option)) for option, _ in each_of)
        raise MindSpecError(
            f"{what}: {total} are given for {n} agents; the counts must add up to {n}."
            + " (fixed:act=3 means 3 agents that answer 'act'. For answers to questions, write "
            "fixed:3 for all, or fixed:act=3,talk=hi for each.)" * named,
            parameter=what,
        )
    return [option for option, count in each_of for _ in range(count)]


def by_spec(minds: Minds) -> Any:
    """The recorded form of minds: mind objects are replaced by their specs."""
    return map_minds(minds, name_of)


@about("minds")
def check_specs(minds: Minds) -> None:
    """Check that a recording can distinguish the minds of a run by their specs.

    Raises:
        MindSpecError: when two different mind objects, or one and a spec, have the same spec.
    """
    known: dict[str, Any] = {}
    for mind in named_in(minds):
        other = known.setdefault(name_of(mind), mind)
        if other is not mind and other != mind:
            raise MindSpecError(
                f"Two different minds have the spec {name_of(mind)!r}, so a recording could not "
                "distinguish them: give each its own attribute `spec`, or record nothing."
            )


def objects_by_spec(minds: Minds) -> dict[str, Mind]:
    """The mind objects among the minds of a run by their specs."""
    return {name_of(mind): mind for mind in named_in(minds) if not isinstance(mind, str)}


def describe_minds(minds: Any) -> str:
    """Minds in a few words: as given, or spec → number of agents."""
    if isinstance(minds, str):
        return minds
    if is_by_class(minds):
        return "; ".join(f"{name}: {describe_minds(of_class)}" for name, of_class in minds.items())
    counts = minds if isinstance(minds, Mapping) else Counter(minds)
    if len(counts) == 1:
        return str(next(iter(counts)))
    return ", ".join(f"{count} × {spec}" for spec, count in counts.items())


def describe_deciders(minds: Mapping[str, int], forks: Sequence[Mapping[str, Any]]) -> str:
    """The minds of a run in a few words, also after forks with other minds."""
    words = describe_minds(minds)
    for fork in forks:
        if "minds" in fork["set"]:
            new = describe_minds(fork["set"]["minds"])
            words = f"{words} up to round {fork['at'] - 1}, then {new}"
    return words


# Making minds


@dataclass(frozen=True)
class MindContext:
    """Data from which the minds of a run are created, in addition to their specs.

    Attributes:
        scenario: the name of the scenario.
        module: the module of its model class.
        agents: the name of the class of the agents.
        classical: name → function that creates a classical mind of these agents from its spec.
        behaviour: the behavioural models of the scenario, or None.
        settings: the settings of requests to language models.
        answer_format: the chosen answer format; None for the default of each mind.
        default_limit: whether the `max_tokens` of the settings are the default of the scenario.
        connection: how the endpoints of language models are reached; the defaults when None.
        replaying: the recorded run that is repeated, or None.
    """

    scenario: str = ""
    module: str = ""
    agents: str = ""
    classical: Mapping[str, Callable[[str], Mind]] = field(default_factory=dict)
    behaviour: Behaviour | None = None
    settings: LLMSettings = field(default_factory=LLMSettings)
    answer_format: Format | None = None
    default_limit: bool = False
    connection: Connection | None = None
    replaying: ReplayRecorder | None = None

    @property
    def versions(self) -> Mapping[str, str]:
        """Spec → SHA-256 of its file, in a recorded run that is repeated."""
        return {} if self.replaying is None else self.replaying.versions

    @property
    def whose(self) -> str:
        """The class of the agents, in an error."""
        return f" for a {self.agents}" if self.agents else ""


@about("minds")
def mind_maker(spec: MindSpec, context: MindContext) -> MindMaker:
    """The function that gives an agent its mind; agents share resources if possible.

    Raises:
        MindSpecError: for a spec that cannot be read.
        UnknownName: for a classical mind that the scenario does not have.
        LLMError: for a language model that cannot be set up.
    """
    if context.replaying is None:
        return _live_maker(spec, context)
    return _recorded_maker(name_of(spec), context.replaying, context)


def _live_maker(spec: MindSpec, context: MindContext) -> MindMaker:
    if not isinstance(spec, str):
        return _shared(as_mind(spec))
    if spec == HUMAN:
        raise MindSpecError(
            "The mind 'human' needs a person at a seat: use sabm play, or a game in the viewer."
        )
    if spec in context.classical and spec not in _KINDS:
        raise MindSpecError(f"Cannot read the mind spec {spec!r}. Did you mean classical:{spec}?")
    check_form(spec)
    kind, _, rest = spec.partition(":")
    if kind == "classical":
        return _classical(rest or "default", context)
    if kind == "fixed":
        return _shared(FixedMind(rest))
    if kind == "llm":
        return _shared(_language_model(spec, rest, context))
    if is_local(spec):
        from sabm_mesa.minds.local import local_mind

        before, thought = _known_before(spec, context)
        given = context.settings, context.connection, context.replaying, before
        mind = local_mind(
            spec, *given, thought=thought,
            answer_format=context.answer_format, default_limit=context.default_limit,
        )  # fmt: skip
        return _shared(mind)
    then = context.versions.get(spec)
    if kind == "py":
        from sabm_mesa.minds.files.mind import file_mind_maker

        return file_mind_maker(spec, context.module, then)
    from sabm_mesa.minds.fitted import fitted_mind_maker

    return fitted_mind_maker(spec, rest, context.scenario, context.behaviour, then)


def _recorded_maker(spec: str, replaying: ReplayRecorder, context: MindContext) -> MindMaker:
    """Minds that repeat a recorded run: paid minds answer from it, free minds decide again.

    A mind from a file decides again only when the run is resumed: a replay does not need the file.
    """
    from_file = spec.startswith((FILE, FITTED)) and spec not in replaying.minds
    make: MindMaker | None = None
    if replaying.may_ask or not from_file:
        try:
            make = _live_maker(replaying.minds.get(spec, spec), context)
        except MindSpecError:
            if from_file or (replaying.may_ask and spec.partition(":")[0] == CLASSICAL):
                raise
            # a user's own mind

    def maker(agent: SmartAgent) -> Mind:
        mind = None if make is None else make(agent)
        if mind is not None and not mind.paid:
            return mind
        return RecordedMind(spec, replaying.recorded, mind, live=replaying.may_ask)

    return maker


def _shared(mind: Mind) -> MindMaker:
    return lambda _agent: mind


def _classical(name: str, context: MindContext) -> MindMaker:
    rules, scenario = context.classical, f"The scenario {context.scenario}"
    if not rules:
        raise MindSpecError(
            f"{scenario} has no classical mind{context.whose} (class attribute `classical_minds`): "
            "name other minds, such as --minds llm:MODEL or fixed:VALUE."
        )
    if name not in rules and name == "default":
        if len(rules) > 1:
            known = ", ".join(f"classical:{other}" for other in rules)
            raise MindSpecError(
                f"{scenario} has no default mind{context.whose}: name one of {known}, or another, "
                "such as llm:MODEL."
            )
        (name,) = rules
    if name not in rules:
        raise UnknownName(f"classical mind of {context.scenario}{context.whose}", name, rules)
    spec = "classical" if name == "default" else f"classical:{name}"
    return lambda _agent: as_mind(rules[name](spec))


def _language_model(spec: str, rest: str, context: MindContext) -> LLMMind:
    name, named = model_and_endpoint(rest)
    client: Client = ScriptedClient(())
    if context.replaying is None or context.replaying.may_ask:
        before, thought = _known_before(spec, context)
        client = connect(named or None, context.connection, name, before, thought=thought)
    needed = context.connection.needed if context.connection else frozenset[str]()
    return LLMMind(name, client, context.settings, spec, needed)


def _known_before(spec: str, context: MindContext) -> tuple[list[str], bool]:
    """The provenances of recorded answers that were not sent as asked; whether any has thoughts."""
    if context.replaying is None:
        return [], False
    recorded = context.replaying.recorded
    rows = [row for row in recorded.asks.values() if row.mind == spec]
    provenances = dict.fromkeys(recorded.provenance(row) for row in rows)
    return [provenance for provenance in provenances if '"asked"' in provenance], any(
        row.thoughts for row in rows
    )
