"""The ODD description of a scenario or of runs of it: overview, design concepts, details.

Phases, state variables, facts, data columns, parameters and minds come from the code; the rest is
in ``odd.toml`` (see `sabm_mesa.describe.texts`).

Source: Grimm et al. 2020, "The ODD protocol for describing agent-based and other simulation
models: a second update to improve clarity, replication, and structural realism", Journal of
Artificial Societies and Social Simulation 23(2) 7.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import DEFAULT_FORMAT
from sabm_mesa.core.parameters import SERVICES, parameters_of
from sabm_mesa.core.scheduler import FIXED, SHUFFLED, SIMULTANEOUS, Phase
from sabm_mesa.core.usage import Failures, Usage
from sabm_mesa.describe.docstrings import (
    arguments,
    attributes,
    description,
    paragraphs,
    sheet_sections,
    spec_sheet,
    summary,
)
from sabm_mesa.describe.subject import NOT_GIVEN, Subject
from sabm_mesa.describe.texts import CONCEPTS, filled, in_figures, read_texts
from sabm_mesa.errors import SabmError
from sabm_mesa.minds.base import Mind, assumptions_of, rule_of
from sabm_mesa.minds.specs import by_spec, is_local
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.collector import COLUMNS_OF_ASKS
from sabm_mesa.recording.statistics import in_words
from sabm_mesa.runs.cost import questions_per_round
from sabm_mesa.studies.experiments.schema import experiments_of

Block = str | list[str] | dict[str, str] | list[list[str]]
"""A paragraph; numbered steps; name → meaning; or a table, whose first row is its head."""

_ELEMENTS = {
    "purpose": "1 Purpose and patterns",
    "entities": "2 Entities, state variables, and scales",
    "processes": "3 Process overview and scheduling",
    "initialization": "5 Initialization",
    "input": "6 Input data",
}
_ORDERS = {
    SIMULTANEOUS: "all decide at the same time, on the same state of the world; the decisions take "
    "effect in the order of the agents.",
    SHUFFLED: "one after another, in an order that is drawn anew each time; each agent sees the "
    "effect of the decisions before.",
    FIXED: "one after another, in the order given; each agent sees the effect of the decisions "
    "before.",
}
_REACH = "Agents that cannot affect each other may be asked at the same time, with the same result."
_COLLECTING = (
    "Observation: the data columns of the round are collected and recorded; the run ends after "
    "at most {n_rounds} rounds (`n_rounds`)."
)
_ASKING = (
    "All minds are asked in the same way. The prompt entry of the question shows what the agent "
    "knows, and the answer is read strictly. An answer that cannot be used is asked for "
    "again with the reason, at most {max_attempts} times in all; then the decision is recorded as "
    "invalid, and the rule for unreadable answers applies (element 7)."
)
_CHANCE = (
    "All chance comes from one seed: the model draws from one stream, each agent from a stream of "
    "its own that is derived from the seed and its number. Given the same answers of the minds, "
    "runs are identical to the last bit, however long an answer takes."
)
_LANGUAGE_MODEL = (
    "A language model behind an OpenAI-compatible endpoint. The entry `scenario` is its system "
    "message and the entry of the question its user message; nothing is kept between questions. "
    "{sampling}; answer format `{answer_format}`."
)
_LOCAL_MODEL = "A language model that runs on this machine. " + _LANGUAGE_MODEL.split(". ", 1)[1]
_OWN_MIND = "A mind of the user's own."
_MINDS = {
    "llm": _LANGUAGE_MODEL,
    "human": "A person at a seat, who is shown the same text.",
    "py": "A mind from a file of the user's own.",
}
_SAMPLING = {
    "temperature": "temperature {}",
    "top_p": "top_p {}",
    "max_tokens": "at most {} tokens an answer",
}
_THINKING = {
    "reasoning_effort": "effort of thinking {}",
    "max_thought_tokens": "at most {} thought tokens",
    "extra_body": "further fields {}",
}
_COLUMNS = {
    "run": "number of the run.",
    "round": "the round, from 0.",
    "agent": "number of the agent.",
    "class": "class of the agent; a column that only other classes have is empty.",
    "cost_usd": "dollars; NaN as soon as one answer came from a model without a known price.",
}
_KINDS = {
    str: "text", NoneType: "none", Path: "a path", Mind: "a mind", Mapping: "a mapping",
    dict: "a mapping", Sequence: "a list", list: "a list", tuple: "a list",
}  # fmt: skip
"""Type → its name in words."""
_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")


class Section(NamedTuple):
    """One element, or a part of one, such as ``4.2 Emergence``."""

    number: str
    title: str
    blocks: list[Block]


class Odd:
    """The ODD description of a scenario or of runs of it.

    Args:
        subject: the scenario or runs.

    Attributes:
        missing: the elements and design concepts without text.
        sections: the elements and their parts, in order.

    Raises:
        ParameterError: for texts of the scenario that cannot be used.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject, self._model = subject, subject.model
        self._texts = read_texts(subject.scenario)
        self._sheet = sheet_sections(spec_sheet(subject.scenario))
        self._agents = self._model.agent_classes()
        self.missing: list[str] = []
        self.sections = [
            self._element("purpose", [*self._text("patterns"), *self._experiments()]),
            self._element("entities", [*self._states(), *self._text("scales")]),
            self._element("processes", [self._steps(), *self._questions(), self._filled(_ASKING)]),
            *self._concepts(),
            self._element("initialization", _initial_state(subject)),
            self._element("input", []),
            *self._submodels(),
        ]

    def _element(self, entry: str, generated: Iterable[Block]) -> Section:
        number, _, title = _ELEMENTS[entry].partition(" ")
        return Section(number, title, [*self._written(entry, _ELEMENTS[entry]), *generated])

    def _written(self, entry: str, title: str) -> list[Block]:
        """The text of an entry, which is missing without one; the docstring may be the purpose."""
        text = self._text(entry) or (self._docstring() if entry == "purpose" else [])
        self.missing += [] if text else [title]
        return text

    def _docstring(self) -> list[Block]:
        """The first paragraph that the author wrote about the class, or about its file."""
        scenario = self._subject.scenario
        words = paragraphs(vars(scenario).get("__doc__") or spec_sheet(scenario))
        return [first] if (first := words.partition("\n\n")[0]) else []

    def _text(self, entry: str) -> list[Block]:
        text = self._texts.get(entry, "").strip()
        return [self._filled(text)] if text else []

    def _filled(self, text: str) -> str:
        values = self._texts.get("values", {})
        return filled(paragraphs(text), values, self._model, self._subject.parameters)

    def _experiments(self) -> Iterator[Block]:
        """The published patterns that runs can be compared with."""
        if known := experiments_of(self._model.scenario_name):
            yield (
                "Patterns that were published, and that `sabm reproduce NAME` compares runs with:"
            )
            yield {
                each.name: " ".join(
                    [f"{each.title} ({each.source}).", *(claim.text for claim in each.claims)]
                )
                for each in known
            }

    def _states(self) -> Iterator[Block]:
        counts = Counter(type(agent) for agent in self._model.population)
        base = attributes(SmartAgent)
        for cls in self._agents:
            about = f" {summary(cls)}".rstrip()
            yield f"Agents: {counts[cls]} of `{cls.__name__}`.{about} State variables:"
            yield attributes(cls, SmartAgent) | {name: base[name] for name in ("mind", "persona")}
        yield "State variables of the world:"
        yield attributes(type(self._model), SmartModel) | {"round": attributes(SmartModel)["round"]}

    def _steps(self) -> list[str]:
        """The steps of a round in order, one paragraph each."""
        model = type(self._model)
        steps = []
        if model.begin_round is not SmartModel.begin_round:
            steps.append(f"Beginning of the round: {_continued(summary(model.begin_round))}")
        steps += [self._phase(phase) for phase in self._model.phases]
        if model.update is not SmartModel.update:
            does = summary(model.update) or "the model is updated (`update`)."
            steps.append(f"End of the round: {_continued(does)}")
        return [*steps, self._filled(_COLLECTING)]

    def _questions(self) -> Iterator[Block]:
        """The number of questions in a round; recorded runs tell how many were asked."""
        if self._subject.runs:
            return
        with suppress(SabmError):  # a run of the scenario reports it
            asked = questions_per_round(type(self._model), self._subject.given)
            each = ", ".join(f"`{name}` {in_figures(number)}" for name, number in asked.items())
            total = in_figures(sum(asked.values()))
            yield f"Questions in a round, when all agents follow the rule: {total} ({each})."

    def _phase(self, phase: Phase) -> str:
        methods = (getattr(cls, phase.name, None) for cls in self._agents)
        does = phase.doc or next(filter(None, map(summary, methods)), "")
        sentences = [f"Phase `{phase.name}`" + (f": {_continued(does)}" if does else ".")]
        if when := _rule(phase.when):
            sentences.append(f"It takes place if {when.removeprefix('whether ')}")
        if who := self._participants(phase):
            sentences.append(f"Participants: {who}")
        order = _rule(phase.order) if callable(phase.order) else _ORDERS[phase.order]
        sentences.append(f"Order: {order or 'of its own.'}")
        if phase.turns > 1:
            sentences.append(f"Each agent has {phase.turns} turns.")
        if phase.at_most > 1:
            until = (_rule(phase.until) or "it is done") if phase.until else ""
            stops = f", until {until.removeprefix('whether ').rstrip('.')}" if until else ""
            sentences.append(
                f"An agent acts at most {phase.at_most} times in its turn{stops}; the next "
                "question shows what came of the last action."
            )
        if phase.reach is not None:
            sentences.append(_REACH)
        return " ".join(sentences)

    def _participants(self, phase: Phase) -> str:
        """The participants of a phase, if these are not all agents."""
        if phase.who is not None and not isinstance(phase.who, type):
            return _rule(phase.who)
        kind: Any = phase.who or object
        there = [c for c in self._agents if issubclass(c, kind) and hasattr(c, phase.name)]
        if len(there) == len(self._agents):
            return ""
        return f"the agents of {' and '.join(f'`{cls.__name__}`' for cls in there)}."

    def _concepts(self) -> Iterator[Section]:
        yield Section("4", "Design concepts", [])
        generated: dict[str, Callable[[], Iterable[Block]]] = {
            "sensing": self._facts,
            "stochasticity": lambda: [_CHANCE],
            "observation": lambda: _columns(self._model, self._texts.get("columns", {})),
        }
        for number, (entry, title) in enumerate(CONCEPTS.items(), 1):
            text = self._written(entry, f"4.{number} {title}")
            more = generated[entry]() if entry in generated else []
            if text or more:
                yield Section(f"4.{number}", title, [*text, *more])

    def _facts(self) -> Iterator[Block]:
        yield (
            "All minds decide on the same facts: the prompt of a language model shows them, a "
            "classical mind reads them, a person's page shows them. Each question shows these:"
        )
        book = self._model.book
        always = {name for cls in self._agents for name in book.facts_of(cls.scenario_prompt)}
        yield {
            name: ", ".join(sorted(always.union(book.facts_of(name)))) for name in book.questions
        }
        informed = {
            spec: ", ".join(f"`{fact}`" for fact in facts)
            for cls in self._agents
            for spec, maker in _specs(self._model, cls)
            if (facts := getattr(rule_of(maker), "informed", ()))
        }
        if informed:
            yield (
                "The prompts state all that a mind reads of it. These minds of theory also know "
                "(`informed`):"
            )
            yield informed

    def _submodels(self) -> Iterator[Section]:
        submodels = self._texts.get("submodels", {})
        if not submodels:
            self.missing.append("7 Submodels")
        yield Section("7", "Submodels", [])
        unreadable = self._sheet.get("Unreadable answers")
        parts: dict[str, list[Block]] = {
            **{title: [self._filled(text)] for title, text in submodels.items()},
            "Minds": _minds(self._subject),
            "Unreadable answers": [unreadable] if unreadable else [],
            "Parameters": [_parameters(self._subject)],
            "Calibration and our own choices": self._text("choices"),
            **{name: [t] for name, t in self._sheet.items() if name.startswith("Deviations")},
        }
        written = {title: blocks for title, blocks in parts.items() if blocks}
        for number, (title, blocks) in enumerate(written.items(), 1):
            yield Section(f"7.{number}", title, blocks)


def typed_parameters(subject: Subject) -> dict[str, dict[str, Any]]:
    """Parameter → its type, default, value, legal values and meaning.

    Args:
        subject: the scenario or runs.
    """
    meanings = arguments(subject.scenario)
    return {
        name: {
            "type": _type(parameter.annotation),
            "default": parameter.default,
            "value": subject.parameters.get(name, parameter.default),
            "legal": parameter.legal or _in_words(parameter.annotation),
            "range": _range(parameter.number),
            "choices": list(parameter.choices) or None,
            "meaning": meanings.get(name, ""),
        }
        for name, parameter in parameters_of(subject.scenario).items()
        if name not in SERVICES
    }


def _rule(function: Any) -> str:
    """The summary of a function of a phase; ``""`` without a docstring."""
    return _continued(summary(function)) if inspect.isfunction(function) else ""


def _continued(sentence: str) -> str:
    """A sentence as it continues after a colon, with a small first letter."""
    is_word = sentence[1:2].islower() or sentence[:2] == "A "
    return sentence[:1].lower() + sentence[1:] if is_word else sentence


def _columns(model: SmartModel, texts: Mapping[str, str]) -> Iterator[Block]:
    """The data columns of a run with their meanings, those of the model and of the agents."""

    def meanings(
        names: Iterable[str], sources: Mapping[str, str], documented: Mapping[str, str]
    ) -> Block:
        def meaning(name: str) -> str:
            written = (text for pattern, text in texts.items() if fnmatchcase(name, pattern))
            doc = documented.get(sources.get(name, name), "")
            return _COLUMNS.get(name) or doc or next(written, "")

        return [["column", "meaning"], *([name, meaning(name)] for name in names)]

    asks = attributes(Usage)
    of_agents: dict[str, str] = {}
    of_classes: dict[str, str] = {}
    for cls in model.agent_classes():
        of_agents |= attributes(cls)
        of_classes |= model.columns_of(cls)
    of_model = {**dict(model.columns()), **{name: name for name in COLUMNS_OF_ASKS}}
    of_agent = {**of_classes, **{name: name for name in ("mind", *Failures._fields)}}
    yield "Columns of the model data, one row per round and run:"
    yield meanings(model.model_frame().columns, of_model, attributes(type(model)) | asks)
    yield "Columns of the agent data, one row per agent, round and run:"
    yield meanings(model.agent_frame().columns, of_agent, asks | of_agents)


def _initial_state(subject: Subject) -> Iterator[Block]:
    """Minds, personas, condition and seeds at the start, and what changes during the run."""
    personas = Counter(agent.persona for agent in subject.model.population)
    seed = {"seed": "drawn, and recorded with the run, unless one is given"}
    yield {
        "minds": ", or ".join(map(_counts, subject.minds)),
        "personas": _counts(personas),
        "condition": str(subject.parameters["condition"]),
        **(subject.runs or seed),
    }
    if subject.changes:
        yield "Changes during the runs:"
        yield {
            f"from round {change['at']} on": ", ".join(
                f"`{name}` = {_value(name, value)}" for name, value in change["set"].items()
            )
            for change in subject.changes
        }


def _minds(subject: Subject) -> list[Block]:
    """Each kind of mind; unused classical minds are described for a scenario, not for runs."""
    used = dict.fromkeys(spec for population in subject.minds for spec in population)
    classical = _classical_minds(subject.model)
    rules = {}
    for spec in used:
        kind, _, rest = spec.partition(":")
        if kind == "classical":
            rules[spec] = classical.get(spec, "")
        elif kind == "fixed":
            rules[spec] = f"Always answers {rest}."
        elif spec != NOT_GIVEN:
            local = is_local(spec)
            text = _LOCAL_MODEL if local else _MINDS.get(kind, _OWN_MIND)
            rules[spec] = _sampled(text, subject, "json" if local else DEFAULT_FORMAT)
            if mended := subject.mended.get(spec):
                asked, sent = (in_words(mended[kind], "`") for kind in ("asked", "sent"))
                rules[spec] += (
                    f" Its requests were asked with {asked}, and sent with {sent}, which the "
                    "model supports."
                )
    if not subject.runs:
        llm = {"llm:MODEL": _sampled(_LANGUAGE_MODEL, subject, DEFAULT_FORMAT)}
        rules = rules | {s: rule for s, rule in (classical | llm).items() if s not in rules}
    known = {spec: rule for spec, rule in rules.items() if rule}
    return [known] if known else []


def _sampled(text: str, subject: Subject, default: str) -> str:
    """The description of a mind with the sampling parameters of the run."""
    given = subject.parameters
    settings = [
        template.format(in_figures(given[name]))
        for name, template in _SAMPLING.items()
        if given.get(name) is not None
    ]
    sampling = f"Sampling: {', '.join(settings)}" if settings else "Sampling is left to the server"
    if 0 < len(settings) < len(_SAMPLING):
        sampling += " (the rest is left to the server)"
    more = [template.format(given[name]) for name, template in _THINKING.items() if given.get(name)]
    sampling = "; ".join([sampling, *more])
    return text.format(sampling=sampling, answer_format=given.get("answer_format") or default)


def _specs(model: SmartModel, cls: type[SmartAgent]) -> Iterator[tuple[str, Any]]:
    """The specs of the classical minds of a class of agents, with the entries that make them."""
    for name, maker in model.classical_of(cls).items():
        yield "classical" if name == "default" else f"classical:{name}", maker


def _classical_minds(model: SmartModel) -> dict[str, str]:
    """Spec → rule, for each class of agents if these differ."""
    rules: dict[str, dict[str, str]] = {}
    for cls in model.agent_classes():
        names: dict[Any, str] = {}
        for spec, maker in _specs(model, cls):
            same = names.setdefault(maker, spec)
            rule = _rule_in_words(maker) if same == spec else f"The same as `{same}`."
            rules.setdefault(spec, {})[cls.__name__] = rule
    n = len(model.agent_classes())
    return {
        spec: next(iter(by_class.values()))
        if len(by_class) == n and len(set(by_class.values())) == 1
        else " ".join(f"`{cls}`: {rule}" for cls, rule in by_class.items())
        for spec, by_class in rules.items()
    }


def _rule_in_words(maker: Any) -> str:
    settings = maker.keywords if isinstance(maker, partial) else {}
    return " ".join(
        [
            description(rule_of(maker)),
            *(f"With `{name}` = {in_figures(value)}." for name, value in settings.items()),
            *(f"Built in: {assumption}." for assumption in assumptions_of(maker).values()),
        ]
    )


def _parameters(subject: Subject) -> list[list[str]]:
    """Parameter, value, legal values and meaning, in rows below their head."""
    rows = [["parameter", "value", "legal values", "meaning"]]
    for name, parameter in typed_parameters(subject).items():
        if name == "rng":
            continue
        if name in subject.varied:
            several = dict.fromkeys(_value(name, value) for value in subject.varied[name])
            shown = f"varied between runs: {', '.join(several)}"
        else:
            shown, usual = _value(name, parameter["value"]), _value(name, parameter["default"])
            shown += "" if shown == usual else f" (default {usual})"
        rows.append([name, shown, parameter["legal"], parameter["meaning"]])
    return rows


def _value(name: str, value: Any) -> str:
    return in_figures(by_spec(value) if name == "minds" else value)


def _counts(several: Mapping[str, int]) -> str:
    return ", ".join(f"{n} × {name}" for name, n in sorted(several.items()))


def _range(schema: Mapping[str, Any]) -> list[float | None] | None:
    """The smallest and the largest legal number; None without any limit."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    return None if low is high is None else [low, high]


def _in_words(annotation: Any) -> str:
    """A type in words, without the types of its parts."""
    several = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else [annotation]
    kinds = dict.fromkeys(get_origin(kind) or kind for kind in several)
    return ", or ".join(_KINDS[kind] if kind in _KINDS else _type(kind) for kind in kinds)


def _type(annotation: Any) -> str:
    """An annotation as text, without limits and modules."""
    if annotation is inspect.Parameter.empty:
        return "any"
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is Annotated:
        return _type(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return " | ".join(map(_type, get_args(annotation)))
    if annotation is NoneType:
        return "None"
    return _MODULES.sub("", inspect.formatannotation(annotation))
