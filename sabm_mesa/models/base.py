"""The base class of all scenarios: a Mesa model that runs phases of asks round by round.

`SmartModel` holds the life of a run: populating, playing rounds, recording, forking.
`RoundCollector` collects its data. `Score` says how the agents of a scenario are ranked.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial, wraps
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, overload

import mesa
import numpy as np
import pandas as pd
from annotated_types import Ge

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.analysis.pictures import ModelPicture
from sabm_mesa.core import engine
from sabm_mesa.core.answers import DEFAULT_FORMAT, Format, OptionOrder, Rung
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.messages import Conversation, Message
from sabm_mesa.core.parameters import bind, check_int, checking, whole_signature
from sabm_mesa.core.prompts import NO_PERSONA, PersonaFormat, PromptBook, SpeakerOrder, book_of_run
from sabm_mesa.core.scheduler import SIMULTANEOUS, Phase, run_phase
from sabm_mesa.core.streams import Seed, birth_rng, entropy
from sabm_mesa.core.usage import NO_FAILURES, Failures, Usage
from sabm_mesa.errors import (
    RunError,
    SabmError,
    UnknownName,
    UsageError,
    about,
    error_message,
    format_user_error,
)
from sabm_mesa.llm import Connection
from sabm_mesa.minds.base import Mind, name_of
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.llm import (
    SAMPLING,
    Effort,
    ExtraBody,
    LLMSettings,
    MaxTokens,
    Temperature,
    TopP,
)
from sabm_mesa.minds.specs import (
    CLASSICAL,
    MindContext,
    MindMaker,
    Minds,
    MindSpec,
    Shares,
    assign,
    by_spec,
    check_specs,
    given_for,
    is_by_class,
    language_model,
    mind_maker,
)
from sabm_mesa.models.declarations import Announcement, BuildsOn, MessageMeasure
from sabm_mesa.recording import NoRecording, Recorder, RunHeader
from sabm_mesa.recording.replaying import ReplayRecorder
from sabm_mesa.recording.store import versions
from sabm_mesa.recording.writing import RoundRows, Where, check_where, is_recorded, open_recorder

Personas = str | Mapping[str, Any] | Sequence[str] | None
A = TypeVar("A", bound=SmartAgent)

OF_PROMPTS = frozenset({"condition", "variant", "prompts", "personas"})
"""Parameters that change the prompts."""
OF_EVERY_SCENARIO = OF_PROMPTS | {
    "answer_format", "max_attempts", "minds", "n_rounds", "reading", *SAMPLING,
}  # fmt: skip
"""Parameters that can change during a run of any scenario."""
COLUMNS_OF_ASKS = (
    "asks", *Failures._fields, "prompt_tokens", "completion_tokens", "cost_usd",
)  # fmt: skip
"""Model columns of every scenario, after its own."""
_ITS_OWN = frozenset({
    "book", "critical_path_asks", "current_turn", "datacollector", "entropy", "in_flight",
    "llm_settings", "playing", "population", "recorder", "rng", "round", "spoken", "total", "usage",
})  # fmt: skip
"""Attributes of a model that its run needs, and that no scenario sets."""
NO_SOURCE = "none given"
"""The source of a scenario that names none."""
_NUMBER = "the number of agents"
_IMMUTABLE = frozenset({bool, float, int, str, type(None)})
"""Types whose values are collected as they are; others are copied, as they may change later."""


class SmartModel(mesa.Model):
    """A scenario: agents whose decisions come from minds, in rounds of phases.

    A scenario sets the class attributes, makes its agents with `populate`, applies decisions in
    ``after_PHASE(agent, decision)`` and ends a round in `update`. A rule that comes before a
    question is the method ``before_PHASE(agent)``, and one between two phases is `between_phases`.
    Only these change the world. Agents come with `born` and leave with their method `remove` there,
    in any round. Plain agents of Mesa may live in the same model: they have neither minds nor
    columns. Given the same answers a run is bit-identical at any latency: all randomness comes from
    the model's `rng` and from the agents' own streams.

    Args:
        n_rounds: rounds of a run at most.
        condition: the condition: a named setting of the prompts.
        personas: one persona for all; a mapping persona → number of agents, spread in random
            order; or a sequence with one an agent. With several classes of agents also a mapping
            name of the class → any of these.
        minds: one mind spec for all; a mapping spec → number of agents, in the order of their
            ids; or a sequence with one an agent. With several classes of agents also a mapping
            name of the class → any of these; a class that is not named has ``"classical"``.
        rng: the seed. A run without one draws a seed and keeps it in `entropy`.
        variant: the wording of the prompts.
        prompts: a user's own prompt file, or None.
        answer_format: ``"labelled"`` (plain text with the answer on a labelled last line),
            ``"paper"`` (plain text, as published) or ``"json"`` (for servers with JSON schemas);
            None (default) for ``"json"`` of local models and ``"labelled"`` of all others.
        persona_format: the personas as ``"second_person"`` sentences, ``"first_person"`` sentences
            or a ``"list"`` of traits.
        option_order: options in prompts as ``"given"`` by the scenario, or ``"reversed"``.
        speaker_order: the speakers of a round are quoted as they have ``"spoken"``, or
            ``"reversed"``, the last one first.
        reading: ``"unambiguous"`` (an answer in words that give exactly one value counts),
            ``"exact"`` (only what was asked for, and nothing else, does) or ``"extract"`` (a
            language model is also asked which value its unread answer gave).
        max_attempts: attempts at a question at most.
        temperature: sampling temperature of language models; None leaves it to the server.
        max_tokens: tokens of an answer at most; None leaves it to the server.
        top_p: nucleus sampling of language models; None leaves it to the server.
        reasoning_effort: how much language models are to think, in the words of the server, such
            as ``"low"``; None leaves it to the server.
        max_thought_tokens: tokens of thoughts at most, beyond `max_tokens`; None for as many as
            `sabm_mesa.llm.thinking` allows a model that turns out to think.
        extra_body: name → value of more fields of each request to a language model.
        connection: how the endpoints of language models are reached.
        scenario: under Mesa 4, a ``mesa.experimental.scenarios.Scenario`` with parameters of the
            model; its state of the random stream is the seed, instead of `rng`.
        recording: a recording, or a path; False for none. None (default) records a run with
            language models into the folder ``sabm_recordings`` and no other. `replay`, `resume`
            and `fork` give a `ReplayRecorder`: the recorded run that is repeated.

    Class attributes:
        scenario_name: the name on the command line and in recordings.
        title: the name in words; `scenario_name` by default.
        source: the publications that it follows; `NO_SOURCE` by default.
        prompt_file: the path of its prompts.
        phases: the phases of a round, in their order.
        given_rounds: the number of first rounds whose state is given and not decided. Their rows
            are in the data, and in no measure.
        model_columns: column of the model data → attribute of the model.
        column_bounds: column of the model or agent data → the least and the greatest value that
            it can have, where the rules set them: tests of a mean need them.
        agent_columns: column of the agent data → attribute of the agents, of all classes; a class
            of agents may have `columns` of its own.
        changeable: parameters of its own that can change during a run.
        plots: the module with its plots, or ``""``.
        pictures: its pictures as it is now, in space or on a network, for the viewer and the end
            of each run.
        page: the module with its `ScenarioPage` as ``PAGE``, or ``""``.
        class_game: the module with its `ClassGame` as ``GAME``, or ``""``.
        classical_minds: name → behavioural model, made from its spec; ``"default"`` is one of them.
        score: the score by which a tournament ranks minds, or None.
        theory_marks: name → predictions of theory for plots of experiments: label → model column,
            or a number.
        message_words: the path of the words that its subject adds to the coder of messages (see
            `sabm_mesa.analysis.messages.read_words`), or ``""``.
        message_measures: name → measure of the messages of a run, beside their codes.
        level_column: the agent column with the step of a decision (level-k), or ``""``.
        announcement: what its agents announce, beside what they then do; or None.
        builds_on: how a run builds on an earlier run of another scenario, or None.
        draw_game: draws the table of a new game, from ``CLASS:SEED``; None for no such games.
        screener: ``module:Class`` that judges the tests of its ``screening.toml``, or ``""``.
        behaviour: the module with its `Behaviour` as ``BEHAVIOUR``: the behavioural models that
            apply to its decisions; or ``""``.
        dry_run_with: parameters with which only the minds of the population are paid for.

    Attributes:
        round: the round that is played or was played last, from 0; −1 before the first.
        playing: whether a round is under way.
        current_turn: the turn of the phase whose decision is applied, from 0.
        in_flight: the number of questions that wait for an answer now.
        spoken: all messages of the run (see `say` and `conversation`).
        entropy: the seed as a tuple of integers.
        book: the prompts of the run.
        usage: the cost of the asks of the current round.
        total: the cost of all rounds so far.
        began_with: the number of agents when the run began; 0 before.
        population: all agents in the order of their ids, also those that have left the model.
        critical_path_asks: the longest chain of attempts that had to wait for one another.
        tags: name → text that is recorded with the run; may be set before it begins.
        replaying: the recorded run that is repeated, or None.

    Raises:
        UsageError: for a parameter, mind, condition or prompt file that cannot be used.
    """

    scenario_name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str] = NO_SOURCE
    prompt_file: ClassVar[str | Path]
    phases: ClassVar[tuple[Phase, ...]]
    given_rounds: ClassVar[int] = 0
    model_columns: ClassVar[Mapping[str, str]] = {}
    agent_columns: ClassVar[Mapping[str, str]] = {}
    column_bounds: ClassVar[Mapping[str, tuple[float, float]]] = {}
    changeable: ClassVar[frozenset[str]] = frozenset()
    plots: ClassVar[str] = ""
    pictures: ClassVar[Sequence[ModelPicture]] = ()
    page: ClassVar[str] = ""
    class_game: ClassVar[str] = ""
    classical_minds: ClassVar[Mapping[str, Callable[[str], Mind]]] = {}
    score: ClassVar[Score | None] = None
    theory_marks: ClassVar[Mapping[str, Mapping[str, str | float]]] = {}
    message_words: ClassVar[str | Path] = ""
    message_measures: ClassVar[Mapping[str, MessageMeasure]] = {}
    level_column: ClassVar[str] = ""
    announcement: ClassVar[Announcement | None] = None
    builds_on: ClassVar[BuildsOn | None] = None
    draw_game: ClassVar[staticmethod[[str], dict[str, Any]] | None] = None
    screener: ClassVar[str] = ""
    behaviour: ClassVar[str] = ""
    dry_run_with: ClassVar[Mapping[str, Any]] = {}
    parameters: dict[str, Any]
    _mesa_scenario: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Let the constructor of a scenario check its arguments, and what it made of them."""
        super().__init_subclass__(**options)
        if "scenario_name" in vars(cls) and not hasattr(cls, "title"):
            cls.title = cls.scenario_name
        if "__init__" in vars(cls):
            own = checking(
                vars(cls)["__init__"],
                given_as=_spelled_out,
                in_the_end=lambda made: made.check_made(),
            )
            setattr(own, "__signature__", whole_signature(own, cls))  # noqa: B010 - for mypy
            setattr(cls, "__init__", own)  # noqa: B010 - for mypy
        if "step" in vars(cls):
            setattr(cls, "step", _playing_a_round(vars(cls)["step"]))  # noqa: B010 - for mypy

    def __new__(cls, *args: Any, **given: Any) -> SmartModel:
        """Keep the parameters of the run, with their defaults, before the model is built."""
        if args:
            raise TypeError(f"{cls.__name__} takes its parameters by name.")
        model: SmartModel = super().__new__(cls)
        model.parameters = bind(cls, _spelled_out(given))
        model._mesa_scenario = given.get("scenario")
        return model

    @checking
    def __init__(
        self,
        n_rounds: Annotated[int, Ge(1)] = 1,
        condition: str = "baseline",
        personas: Personas = NO_PERSONA,
        minds: Minds = "classical",
        rng: Seed = None,
        variant: str = "default",
        prompts: str | Path | None = None,
        answer_format: Format | None = None,
        persona_format: PersonaFormat = "second_person",
        option_order: OptionOrder = "given",
        speaker_order: SpeakerOrder = "spoken",
        reading: Rung = "unambiguous",
        max_attempts: Annotated[int, Ge(1)] = 3,
        temperature: Temperature = None,
        max_tokens: MaxTokens = None,
        top_p: TopP = None,
        reasoning_effort: Effort = None,
        max_thought_tokens: MaxTokens = None,
        extra_body: ExtraBody = None,
        connection: Connection | None = None,
        recording: Where = None,
    ) -> None:
        self.entropy = entropy(rng)
        self.agent_id_counter = 1
        seed = self.entropy[0] if len(self.entropy) == 1 else list(self.entropy)
        super().__init__(rng=seed)
        # Mesa before 3.5 has such a table; the set that later ones have can be put in any order.
        self._present: dict[Any, None] = vars(self).get("_agents", {})
        self._seed_streams(seed)
        if self._mesa_scenario is not None:
            self.scenario = self._mesa_scenario
        self.n_rounds = n_rounds
        self.condition, self.variant, self.connection = condition, variant, connection
        check_where(recording)
        self.recording = recording
        self.replaying = recording if isinstance(recording, ReplayRecorder) else None
        self.tags: Mapping[str, str] = {}
        shown: dict[str, Any] = {
            "persona_format": persona_format, "option_order": option_order,
            "speaker_order": speaker_order,
        }  # fmt: skip
        self.book: PromptBook = (
            self.replaying.book(condition, variant, **shown)
            if self.replaying and not self.replaying.from_files
            else book_of_run(self.prompt_file, condition, variant, prompts, **shown)
        )
        self.answer_format: Format = answer_format or DEFAULT_FORMAT
        self.reading: Rung = reading
        self.max_attempts = max_attempts
        self.llm_settings = LLMSettings(
            temperature, max_tokens, top_p, reasoning_effort, max_thought_tokens, extra_body
        )
        self.round, self.playing, self.in_flight = -1, False, 0
        self.usage, self.total, self.critical_path_asks = Usage(), Usage(), 0
        self.recorder: Recorder = NoRecording()
        self.population: list[SmartAgent] = []
        self._minds, self._personas = minds, NO_PERSONA if personas is None else personas
        self._shares: dict[type[SmartAgent], tuple[Shares, Shares]] = {}
        self._makers: dict[tuple[type[SmartAgent], Any], MindMaker] = {}
        self._begun, self.began_with, self._scope = False, 0, engine.Scope()
        self.spoken, self._stage, self.current_turn = Conversation(), 0, 0
        self._under_way: Phase | None = None
        self.datacollector = RoundCollector(self.columns(), self.agent_columns)
        self._made = dict.fromkeys(_ITS_OWN) | vars(self)

    def _seed_streams(self, seed: int | list[int]) -> None:
        """Seed `rng` and `random` as Mesa 3 does, also under Mesa 4, so that runs are the same."""
        self.rng = np.random.default_rng(seed)
        if not isinstance(seed, int):
            seed = int(self.rng.integers(np.iinfo(np.int32).max))
        self.random.seed(seed)

    def register_agent(self, agent: Any) -> None:
        """Enter an agent into the model and give it the next free id (Mesa calls it).

        Mesa before 3.5 numbers agents in a table outside the model: it would keep every model for
        ever, and a copy through pickle would begin at 1 again.
        """
        if (ids := getattr(mesa.Agent, "_ids", None)) is not None:
            ids.pop(self, None)
            agent.unique_id = self.agent_id_counter
            self.agent_id_counter += 1
        super().register_agent(agent)  # type: ignore[no-untyped-call]  # Mesa does not annotate it
        self._present[agent] = None

    def deregister_agent(self, agent: Any) -> None:
        """Take an agent out of the model (Mesa calls it)."""
        super().deregister_agent(agent)  # type: ignore[no-untyped-call]  # Mesa does not annotate it
        self._present.pop(agent, None)

    def has(self, agent: Any) -> bool:
        """Whether an agent is in the model; Mesa's own set of agents is slow to tell.

        Args:
            agent: an agent of Mesa.
        """
        return agent in self._present

    def agents_here(self) -> Collection[Any]:
        """The agents that are in the model, in the order of their ids; sooner than Mesa's set."""
        return self._present.keys()

    @overload
    def populate(self, agents: type[A], n: int, *args: Any) -> list[A]: ...

    @overload
    def populate(self, agents: Mapping[type[SmartAgent], int], n: None = None) -> list[Any]: ...

    def populate(self, agents: Any, n: int | None = None, *args: Any) -> list[Any]:
        """Make agents and give each its mind and persona.

        Personas that are given by their counts are spread in random order, so that they do not
        coincide with the minds.

        Args:
            agents: the class of the agents; or a mapping class → number of agents, 0 for one whose
                agents are only born later.
            n: the number of agents of the one class.
            args: arguments of their constructor in addition to the model.

        Returns:
            The agents in the order of their ids; of a mapping one such list for each class.

        Raises:
            ParameterError: for a number of agents that is no whole number, or none at all.
            MindSpecError: when the counts of minds or personas do not add up to it.
            UnknownName: for a classical mind or persona that does not exist.
        """
        if "_made" not in vars(self):
            raise UsageError(
                f"{type(self).__name__}.__init__ has to call super().__init__(**settings) first."
            )
        several = isinstance(agents, Mapping)
        numbers: dict[type[SmartAgent], int] = dict(agents if several else {agents: n})
        for each, number in numbers.items():
            what = f"the number of agents of the class {each.__name__}" if several else _NUMBER
            numbers[each] = check_int(what, number, 0 if several else 1)
        total = check_int(_NUMBER, sum(numbers.values()), 1)
        engine.check_memory(total)
        for each in numbers:
            self._declare(each)
        minds = self._spread("minds", self._minds, numbers, CLASSICAL)
        personas = self._spread("personas", self._personas, numbers, NO_PERSONA)
        for persona in set(personas):
            self.book.persona(persona)
        kinds = [each for each, number in numbers.items() for _ in range(number)]
        makers = [self._maker(each, mind) for each, mind in zip(kinds, minds, strict=True)]
        made = []
        with engine.relaxed_gc(total):
            # Each is complete before the next is made: CPython keeps the attributes of many objects
            # without a dictionary an object only where the first of them has all.
            for each, *given in zip(kinds, minds, makers, personas, strict=True):
                agent = each(self, *args)
                self._join(agent, *given)
                made.append(agent)
        if not several:
            return made
        return [[agent for agent in made if type(agent) is each] for each in numbers]

    def born(self, agent_class: type[A], *args: Any, of: SmartAgent | None = None) -> A:
        """Make an agent during the run, with the next free id; its first phase is the next one.

        None is born in a phase with a reach, where ids would depend on which answer comes first.

        It has the mind and the persona of its parent. Without a parent it draws them: the counts of
        minds and personas are the shares. People have no children at seats: a child of a person
        draws its mind too, from those of its class that are no people.

        Args:
            agent_class: its class, one of those of `populate`.
            args: arguments of its constructor in addition to the model.
            of: its parent.

        Returns:
            The agent.

        Raises:
            UsageError: for a class that `populate` does not name, or a mind that agents of this
                class cannot have.
            RunError: in a sequential phase with a reach.
        """
        phase = self._under_way
        if phase is not None and phase.reach is not None and phase.order != SIMULTANEOUS:
            raise RunError(
                f"A {agent_class.__name__} is born in the phase {phase.name!r}, whose agents are "
                "asked at the same time within their reach, so that its id would depend on which "
                "answer comes first: call born in update, or leave the reach out."
            )
        if agent_class not in self._shares:
            raise UsageError(
                f"A {agent_class.__name__} is born, and populate does not name the class: give the "
                f"number there, as in self.populate({{{agent_class.__name__}: 0, …}})."
            )
        agent = agent_class(self, *args)
        agent.parent = of
        parent = None if of is None else (of.given_mind, of.persona)
        mind, persona = self._of_newborn(agent, parent)
        self._join(agent, mind, self._maker(agent_class, mind), persona)
        return agent

    def _declare(self, agent_class: type[SmartAgent]) -> None:
        """Add a class of agents: its columns, and what its newborns draw from."""
        if agent_class in self._shares:
            return
        minds = given_for(agent_class.__name__, self._minds, CLASSICAL)
        personas = given_for(agent_class.__name__, self._personas, NO_PERSONA)
        no_people = Shares.of(minds, leave_out=lambda mind: name_of(mind) == HUMAN)
        self._shares[agent_class] = no_people, Shares.of(personas)
        self.datacollector.add_class(agent_class)

    def _spread(
        self, what: str, given: Any, numbers: Mapping[type[SmartAgent], int], default: str
    ) -> list[Any]:
        """Spread minds or personas over new agents, in the order of their ids."""
        if not is_by_class(given):
            return self._spread_over(what, what, given, sum(numbers.values()))
        spread = []
        for each, n in numbers.items():
            if n:
                own = given_for(each.__name__, given, default)
                spread += self._spread_over(what, f"{what} of {each.__name__}", own, n)
        return spread

    def _spread_over(self, what: str, words: str, given: Any, n: int) -> list[Any]:
        with about(what):
            spread = assign(words, given, n)
        if what == "personas" and isinstance(given, Mapping):
            return [spread[i] for i in self.rng.permutation(n)]
        return spread

    def _join(self, agent: SmartAgent, mind: MindSpec, maker: MindMaker, persona: str) -> None:
        agent.given_mind, agent.persona = mind, persona
        agent.mind = maker(agent)
        self.population.append(agent)

    def _of_newborn(
        self, agent: SmartAgent, parent: tuple[MindSpec, str] | None
    ) -> tuple[MindSpec, str]:
        """The mind and persona of an agent that is born: as of its parent, or drawn."""
        minds, personas = self._shares[type(agent)]
        rng = birth_rng(self.entropy, agent.unique_id)
        mind, persona = parent or (HUMAN, personas.draw(rng))
        if name_of(mind) != HUMAN:
            return mind, persona
        return (minds.draw(rng) if minds.options else CLASSICAL), persona

    def _maker(self, agent_class: type[SmartAgent], mind: MindSpec) -> MindMaker:
        """The function that gives agents of a class a mind, made once."""
        # A mind object need not be hashable, so its identity stands for it.
        place = agent_class, mind if isinstance(mind, str) else id(mind)
        if place not in self._makers:
            name = agent_class.__name__ if len(self._shares) > 1 else ""
            classical = self.classical_of(agent_class)
            context = replace(self.mind_context, classical=classical, agents=name)
            self._makers[place] = mind_maker(mind, context)
        return self._makers[place]

    def make_mind(self, agent: SmartAgent, mind: MindSpec) -> Mind:
        """Make a mind for an agent, which keeps the one that it has.

        Args:
            agent: the agent.
            mind: the spec of the mind.

        Raises:
            MindSpecError: for a spec that cannot be read.
            UnknownName: for a classical mind that the scenario does not have.
            LLMError: for a language model that cannot be set up.
        """
        return self._maker(type(agent), mind)(agent)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the functions that make minds: a copy makes its own."""
        return {**vars(self), "_makers": {}, "_made": {}}

    def agent_classes(self) -> list[type[SmartAgent]]:
        """The classes of agents with minds, in the order of `populate`."""
        return list(self._shares)

    def agent_of_id(self, unique_id: int) -> SmartAgent:
        """An agent with a mind, also one that has left the model.

        Args:
            unique_id: its id.

        Raises:
            KeyError: when there is none.
        """
        place = bisect_left(self.population, unique_id, key=attrgetter("unique_id"))
        found = self.population[place : place + 1]
        if not found or found[0].unique_id != unique_id:
            raise KeyError(unique_id)
        return found[0]

    def classical_of(self, agent_class: type[SmartAgent]) -> Mapping[str, Callable[[str], Mind]]:
        """The classical minds of agents of a class: name → behavioural model.

        Args:
            agent_class: the class.
        """
        return {**self.classical_minds, **agent_class.classical_minds}

    def columns_of(self, agent_class: type[SmartAgent]) -> Mapping[str, str]:
        """The columns of agents of a class: column → attribute.

        Args:
            agent_class: the class.
        """
        return {**self.agent_columns, **agent_class.columns}

    def begin_round(self) -> None:
        """Change the world before any agent is asked. A scenario may override it."""

    def between_phases(self, done: str, coming: str) -> None:
        """Change the world between two phases of a round. A scenario may override it.

        Args:
            done: the name of the phase that has just ended, whether it took place or not.
            coming: the name of the phase that follows.
        """

    def update(self) -> None:
        """Compute the consequences of the decisions, last in a round. A scenario overrides it."""

    def say(
        self, sender: SmartAgent, text: str | None, *, to: SmartAgent | Iterable[Any] | None = None
    ) -> Message | None:
        """Let agents hear a message; usually called in ``after_PHASE``.

        The conversation of the agents, the messages of the recording, the judge and the viewer all
        follow from it.

        Args:
            sender: the agent that says it. Its attribute `name`, if it has one, is shown with it.
            text: the words, such as ``decision.value``. None, as of an invalid answer, and a blank
                text say nothing.
            to: the agents that hear it or their ids, or the only agent; None: all that are in the
                model. The sender knows its own words, whether it is among them or not.

        Returns:
            The message; None when nothing was said.

        Raises:
            RunError: for a sender or hearer that is no agent, or words that are no text.
        """
        if not isinstance(sender, SmartAgent):
            raise RunError(f"say(sender, text): the sender is an agent, not {sender!r}.")
        if not (text is None or isinstance(text, str)):
            raise RunError(
                f"say(sender, text): the words are a text, such as decision.value, not {text!r}."
            )
        hearers: tuple[int, ...] | None = None
        if to is not None:
            given = [to] if isinstance(to, mesa.Agent) else to
            ids = {each if type(each) is int else _id_of_hearer(each) for each in given}
            ids.discard(sender.unique_id)
            hearers = tuple(sorted(ids))
            if hearers and (hearers[0] < 1 or hearers[-1] >= self.agent_id_counter):
                unknown = hearers[0] if hearers[0] < 1 else hearers[-1]
                raise RunError(f"say(…, to=…): no agent has the id {unknown}.")
        if text is None or not text.strip():
            return None
        name = str(getattr(sender, "name", ""))
        place = self.current_turn, self._stage
        message = Message(self.round, sender.unique_id, text, hearers, name, *place)
        self.spoken.add(message)
        return message

    def conversation(self, rounds: int | None = 1) -> list[Message]:
        """All messages, also private ones, in the order of the turns.

        `SmartAgent.conversation` has those that an agent said or heard.

        Args:
            rounds: of this many rounds, the one under way or played last included; None: of all.
        """
        first = 0 if rounds is None else self.round + 1 - rounds
        return self.spoken.since(first)

    @property
    def said(self) -> list[Message]:
        """The messages of the round that is under way or was played last."""
        return self.conversation()

    def columns(self) -> Mapping[str, str]:
        """The scenario's model columns: those of the class, unless a parameter makes more."""
        return self.model_columns

    def plot_options(self) -> dict[str, Any]:
        """Options of the scenario's plots in addition to the data. A scenario may override it."""
        return {}

    def end_measures(self) -> dict[str, Any]:
        """The measures of the whole run, for the summary. A scenario may override it."""
        return {column: attrgetter(name)(self) for column, name in self.model_columns.items()}

    def step(self) -> None:
        """Play one round; when the run has ended, do nothing.

        Raises:
            RunError: when a mind, a language model or the recording fails. The answers so far are
                in the recording, and the run has ended.
        """
        if not self.running:
            return
        self.begin()
        try:
            with engine.relaxed_gc(len(self.population)):
                engine.run(self._play(), self._scope)
        finally:
            self._release()

    def begin(self) -> None:
        """Enter the run into its recording; the first `step` does it otherwise.

        Raises:
            RunError: when the recording cannot be opened or written; the run has ended then.
        """
        if self._begun:
            return
        try:
            paid = any(agent.paid for agent in self.population)
            if is_recorded(self.recording, paid=paid):
                check_specs(self._minds)
            self.recorder = open_recorder(self.recording, self._header, paid=paid)
        except SabmError:
            self.running = False
            raise
        self._begun, self.began_with = True, len(self.population)
        self._apply_due_forks()

    def check_made(self) -> None:
        """Check that the constructor did what that of a scenario has to do; it is called after it.

        Raises:
            UsageError: when it set an attribute that the base class needs, made an agent without
                `populate`, or a phase lacks a method.
        """
        name = type(self).__name__
        if "_made" not in vars(self):
            raise UsageError(f"{name}.__init__ has to call super().__init__(**settings) first.")
        taken = [
            each
            for each, value in vars(self).items()
            if (each in _ITS_OWN and value is not self._made[each])
            or (each not in self._made and callable(getattr(SmartModel, each, None)))
        ]
        if taken:
            raise UsageError(
                f"{name}.__init__ sets self.{taken[0]}, which SmartModel needs: choose another "
                "name."
            )
        if not self.population:
            raise UsageError(f"{name} has no agents: make them with self.populate(…).")
        known = [each.__name__ for each in self._shares]
        all_given: dict[str, Any] = {"minds": self._minds, "personas": self._personas}
        for what, given in all_given.items():
            for each in given if is_by_class(given) else ():
                if each not in known:
                    raise UnknownName(f"class of agents of {name}", each, known, parameter=what)
        if alone := [
            a for a in self.agents if isinstance(a, SmartAgent) and not hasattr(a, "mind")
        ]:
            raise UsageError(
                f"An agent of the class {type(alone[0]).__name__} has no mind: make it with "
                "self.populate(…)."
            )
        for agent in self.population:
            own = agent.turn or agent.attempts or not hasattr(agent.mind, "answer")
            if own:
                raise UsageError(
                    f"{name}.__init__ sets the mind, turn or attempts of a "
                    f"{type(agent).__name__}, which SmartAgent needs: choose another name."
                )
        self._check_phases()

    def _check_phases(self) -> None:
        name, kinds = type(self).__name__, set(self._shares)
        for phase in self.phases:
            if not callable(getattr(self, f"after_{phase.name}", None)):
                raise UsageError(
                    f"{name} needs the method after_{phase.name}(self, agent, decision), which "
                    f"applies the decisions of the phase {phase.name!r}."
                )
            if not any(hasattr(kind, phase.name) for kind in kinds):
                raise UsageError(
                    f"No agent of {name} has a part in the phase {phase.name!r}: it is the method "
                    f"async def {phase.name}(self)."
                )

    async def _play(self) -> None:
        try:
            self.round += 1
            self.playing = True
            self.usage = Usage()
            self._stage = self.current_turn = 0
            self.begin_round()
            for stage, phase in enumerate(self.phases):
                if stage:
                    self.between_phases(self.phases[stage - 1].name, phase.name)
                self._stage, self._under_way = stage, phase
                self.critical_path_asks += await run_phase(self, phase)
                self._under_way = None
            self._stage, self.current_turn = len(self.phases), 0
            self.update()
            self._end_round()
            self.datacollector.collect(self)
            self.recorder.collect(self.round, self._rows)
            self._apply_due_forks()
            if self.round + 1 >= self.n_rounds:
                self.running = False
            if not self.running:
                await self.recorder.finish(measures=self.end_measures)
        except BaseException as error:
            self.running = False
            if self.playing:
                self._end_round()
            await self.recorder.finish(error_message(error))
            if isinstance(error, SabmError) or not isinstance(error, Exception):
                raise
            where = f"{self.scenario_name}, round {self.round}"
            raise RunError(f"{where}: {format_user_error(error)}") from error

    def _rows(self) -> RoundRows:
        """The data of the round as they are recorded."""
        names = [*(phase.name for phase in self.phases), ""]
        messages = [
            [each.sender, each.name, names[each.stage], each.position, each.to, each.text]
            for each in self.said
        ]
        return *self.datacollector.last_rows(), messages

    def _end_round(self) -> None:
        self.playing = False
        self.total.add(self.usage)

    def _release(self) -> None:
        if not self.running:
            self.recorder.close()
            for agent in self.population:
                agent.mind.close()

    def stop(self) -> None:
        """Stop the round under way, from another thread: its `step` then raises `RunError`."""
        self._scope.stop()

    def close(self, problem: str = "closed") -> None:
        """End the run before its time, with its record on disk; when it has ended, do nothing.

        Args:
            problem: the reason, which is recorded.
        """
        close_models([self], problem)

    def model_frame(self, run: int = 0) -> pd.DataFrame:
        """The model data: one row a round, with the number `run`."""
        return self.datacollector.model_frame(run)

    def agent_frame(self, run: int = 0) -> pd.DataFrame:
        """The agent data: one row an agent and round, with the number `run`."""
        return self.datacollector.agent_frame(run)

    @property
    def recording_path(self) -> Path | None:
        """The file of the recording; None before the run begins, or without a recording."""
        return self.recorder.path

    def spent(self) -> Usage:
        """The cost of the asks so far, including the round under way."""
        spent = Usage()
        spent.add(self.total)
        if self.playing:
            spent.add(self.usage)
        return spent

    def minds_in_use(self) -> dict[str, int]:
        """Mind spec → number of the agents that the run began with."""
        first = self.population[: self.began_with] if self._begun else self.population
        return dict(Counter(agent.mind.spec for agent in first))

    def mind_versions(self) -> dict[str, str]:
        """Spec → SHA-256 of the file, of the minds that come from files."""
        minds = {agent.mind.spec: agent.mind for agent in self.population}
        return {spec: mind.version for spec, mind in minds.items() if mind.version is not None}

    @property
    def mind_context(self) -> MindContext:
        """Data from which the minds of the run are made, in addition to their specs."""
        return MindContext(
            scenario=self.scenario_name,
            module=type(self).__module__,
            classical=self.classical_minds,
            behaviour=self.behaviour,
            settings=self.llm_settings,
            answer_format=self.parameters.get("answer_format"),
            connection=self.connection,
            together=[phase.name for phase in self.phases if phase.order == SIMULTANEOUS],
            replaying=self.replaying,
        )

    def _header(self) -> RunHeader:
        """The header of the run in a recording."""
        prompts = self.book.with_hashes({agent.persona for agent in self.population})
        return RunHeader(
            scenario=self.scenario_name,
            model=f"{type(self).__module__}:{type(self).__name__}",
            parameters={
                name: by_spec(value) if name == "minds" else value
                for name, value in self.parameters.items()
                if name != "rng"
            },
            seed=self.entropy,
            minds=self.minds_in_use(),
            prompts={entry: digest for entry, (digest, _) in prompts.items()},
            texts=dict(prompts.values()),
            versions=versions() | self.mind_versions(),
            connection=self._recorded_connection(),
            model_columns=list(self.datacollector.model_reporters),
            agent_columns=["agent", *self.datacollector.agent_reporters],
            tags=self.tags,
        )

    def _recorded_connection(self) -> dict[str, Any]:
        """How language models are reached, also when no connection was given."""
        if self.connection is not None:
            return self.connection.as_recorded()
        asks_models = any(language_model(spec) for spec in self.minds_in_use())
        return Connection().as_recorded() if asks_models else {}

    @classmethod
    def decided_rounds(cls, data: pd.DataFrame) -> pd.DataFrame:
        """The rows of rounds in which agents decided, which measures are computed from.

        Args:
            data: model or agent data, with ``round``.

        Returns:
            All rows but those of `given_rounds`.
        """
        return data[data["round"] >= cls.given_rounds] if cls.given_rounds else data

    @classmethod
    def identity(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters of a run as JSON values, for finding it among the recorded ones.

        A scenario overrides it when a parameter names a recording: its content counts, and not
        the place where it is.

        Args:
            given: the parameters that differ from their defaults, without the seed.

        Raises:
            UnknownName: for a parameter that does not exist.
        """
        bound = bind(cls, given)
        bound.pop("rng", None)
        found: dict[str, Any] = json_roundtrip({**bound, "minds": by_spec(bound["minds"])})
        return found

    @classmethod
    def check_changeable(cls, names: Iterable[str]) -> None:
        """Check that parameters can change during a run.

        Args:
            names: the parameters.

        Raises:
            UnknownName: for one that cannot.
        """
        can_change = OF_EVERY_SCENARIO | cls.changeable
        for name in names:
            if name not in can_change:
                raise UnknownName(
                    f"parameter of {cls.scenario_name} that can change during a run",
                    name,
                    can_change,
                    parameter=name,
                )

    def clone_with(self, new: Mapping[str, Any], replaying: ReplayRecorder) -> Self:
        """The same model at its beginning, with other parameters.

        Args:
            new: the parameters that are other.
            replaying: the recorded run that it repeats.

        Raises:
            UsageError: for a parameter that cannot be used.
        """
        parameters = {name: value for name, value in self.parameters.items() if name != "rng"}
        return type(self)(
            **parameters | dict(new),
            rng=list(self.entropy),
            connection=self.connection,
            recording=replaying,
        )

    def apply_fork(self, clone: Self, changed: frozenset[str]) -> None:
        """Take over, between two rounds, what changed parameters determine.

        A scenario overrides it when a parameter in `changeable` is no attribute of that name.

        Args:
            clone: the same model, at its beginning, with the changed parameters.
            changed: their names.
        """
        same = (
            "n_rounds", "condition", "variant", "answer_format", "reading", "max_attempts",
            "llm_settings",
        )  # fmt: skip
        for name in same:
            setattr(self, name, getattr(clone, name))
        if changed & OF_PROMPTS:
            self.book = clone.book
        at_first = {agent.unique_id: agent for agent in clone.population}
        after: dict[SmartAgent, tuple[MindSpec, str]] = {}
        for agent in self.population:
            if other := at_first.get(agent.unique_id):
                mind, persona, made = other.given_mind, other.persona, other.mind
            else:  # it was born: it has what it would have been born with
                parent = None if agent.parent is None else after[agent.parent]
                mind, persona = clone._of_newborn(agent, parent)
                made = clone._maker(type(agent), mind)(agent)
            after[agent] = mind, persona
            agent.given_mind = mind
            if "personas" in changed:
                agent.persona = persona
            # A free mind that stays may have learned; a paid one is the same but for its settings.
            if made.paid or agent.mind.spec != made.spec:
                agent.mind = made
        self._minds, self._personas = clone._minds, clone._personas
        self._shares, self._makers = clone._shares, clone._makers
        for name in changed & self.changeable:
            setattr(self, name, getattr(clone, name))

    def _apply_due_forks(self) -> None:
        """Make the changes of forks that are due when the next round begins."""
        if self.replaying is None:
            return
        for applied, fork in enumerate(self.replaying.recorded.forks, 1):
            if fork["at"] == self.round + 1:
                new = fork["set"]
                clone = self.clone_with(new, self.replaying.after(applied))
                self.parameters = self.parameters | dict(new)
                self.apply_fork(clone, frozenset(new))


def close_models(models: Iterable[SmartModel], problem: str = "closed") -> None:
    """End runs before their time, with their records on disk by one commit; ended ones stay so.

    Args:
        models: the models.
        problem: the reason, which is recorded.
    """
    going_on = [model for model in models if model.running]

    async def finish() -> list[BaseException | None]:
        ends = (model.recorder.finish(problem) for model in going_on)
        return await asyncio.gather(*ends, return_exceptions=True)

    for model in going_on:
        model.running = False
    failed = engine.run(finish()) if going_on else []
    for model in going_on:
        model._release()  # noqa: SLF001 - its own module
    for error in failed:
        if error is not None:
            raise error


def _playing_a_round(step: Callable[..., None]) -> Callable[..., None]:
    """The method `step` of a scenario, which has to play a round: a run would never end otherwise.

    Args:
        step: the method as the scenario wrote it.
    """

    @wraps(step)
    def checked(self: SmartModel, *args: Any, **given: Any) -> None:
        before, name = self.round, type(self).__name__
        playing = self.running
        try:
            step(self, *args, **given)
        except SabmError:
            raise
        except Exception as error:
            self.running = False
            raise RunError(f"{name}.step: {format_user_error(error)}") from error
        if playing and self.running and self.round == before:
            self.running = False
            raise RunError(
                f"{name}.step() plays no round: call super().step() in it, or leave it out. What "
                "agents decide goes into their phases, and rules go into after_PHASE and update()."
            )

    return checked


def _id_of_hearer(hearer: Any) -> int:
    if not isinstance(hearer, mesa.Agent):
        raise RunError(f"say(…, to=…): those that hear it are agents or ids, not {hearer!r}.")
    return int(hearer.unique_id)


def _spelled_out(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a constructor, with the parameters of a scenario of Mesa 4 in its place.

    Raises:
        UsageError: for a scenario of another kind, or one beside a seed.
    """
    others = dict(given)
    scenario = others.pop("scenario", None)
    if scenario is None:
        return others
    state = getattr(scenario, "initial_rng_state", None)
    if state is None:
        raise UsageError(
            "scenario has to be a mesa.experimental.scenarios.Scenario of Mesa 4 "
            f"(got {scenario!r} with Mesa {mesa.__version__})."
        )
    if "rng" in others:
        raise UsageError("Give rng or scenario: the seed of a scenario is its own rng.")
    inner = state["state"]["state"]
    return {**dict(scenario), **others, "rng": getattr(inner, "tolist", lambda: inner)()}


class RoundCollector(mesa.DataCollector):
    """Collects the columns of a scenario once a round.

    Mesa before 3.5 keys agent records by steps from 1 but looks them up by steps from 0 in
    `batch_run`, so that agent rows would be those of the round before; here both are keyed alike.

    Besides the columns of the scenario there are those of every model (`COLUMNS_OF_ASKS`) and of
    every agent (its mind, and `Failures`); with several classes of agents also ``class``, the name
    of the agent's. A column of another class is empty. Agents have rows as long as they are in the
    model; the failures of an agent that left it during a round are in the model's row of that
    round. Plain agents of Mesa have no rows.

    Args:
        model_columns: column → attribute of the model.
        agent_columns: column → attribute of the agents.

    Raises:
        UsageError: for a column that is not given by the name of an attribute.

    Attributes:
        without_row: agent → its failures in rounds in which it left the model.
    """

    def __init__(self, model_columns: Mapping[str, str], agent_columns: Mapping[str, str]) -> None:
        _check_columns("model", model_columns)
        _check_columns("agent", agent_columns)
        reporters = {**model_columns, **{name: f"usage.{name}" for name in COLUMNS_OF_ASKS}}
        super().__init__(  # type: ignore[no-untyped-call]  # Mesa does not annotate it
            model_reporters=reporters
        )
        self.without_row: dict[int, Failures] = {}
        self._of_model: Callable[[Any], tuple[Any, ...]] = attrgetter(*reporters.values())
        self._of_all = agent_columns
        self._values: dict[type[SmartAgent], Callable[[Any], tuple[Any, ...]]] = {}
        self._set_agent_reporters()

    def add_class(self, agent_class: type[SmartAgent]) -> None:
        """Add the columns of a class of agents.

        Args:
            agent_class: the class.
        """
        _check_columns("agent", agent_class.columns)
        self._values[agent_class] = attrgetter("unique_id")
        self._set_agent_reporters()

    def _set_agent_reporters(self) -> None:
        of_class = {each: {**self._of_all, **each.columns} for each in self._values}
        base = {"mind": "decider"}
        if len(of_class) > 1:
            base = {"class": "class_name", **base}
        names = dict.fromkeys([*self._of_all, *(name for own in of_class.values() for name in own)])
        for each, own in of_class.items():
            attributes = [*base.values(), *(own.get(name, "no_value") for name in names)]
            self._values[each] = attrgetter("unique_id", *attributes)
        columns = [*base, *names]
        own_values = {name: partial(self._value, i) for i, name in enumerate(columns, 1)}
        failed = {name: partial(_of_failures, i) for i, name in enumerate(Failures._fields)}
        self.agent_reporters = {**own_values, **failed}

    def _value(self, place: int, agent: SmartAgent) -> Any:
        return self._values[type(agent)](agent)[place]

    def collect(self, model: Any) -> None:
        """Collect the data of the round that has just been played.

        Args:
            model: the model.
        """
        try:
            values = self._of_model(model)
            records = list(self._record_agents(model))
        except AttributeError as error:
            raise _no_column(model) or error from error
        for column, value in zip(self.model_vars.values(), values, strict=True):
            column.append(value if type(value) in _IMMUTABLE else deepcopy(value))
        steps: list[Any] | None = getattr(self, "_collection_steps", None)  # since Mesa 3.5
        if steps is None:
            self._agent_records[model.round] = records
        else:
            steps.append(model.time)
            self._agent_records[model.time] = records
        if model.usage.by_agent:
            here = {record[1] for record in self._last_records()}
            for agent in sorted(model.usage.by_agent.keys() - here):
                known = self.without_row.get(agent, NO_FAILURES)
                self.without_row[agent] = known.plus(model.usage.by_agent[agent])

    def _record_agents(self, model: Any) -> Iterator[tuple[Any, ...]]:
        """Return the records of Mesa's own method, without a call for each agent and column."""
        step, failures, values = model.round + 1, model.usage.by_agent, self._values
        for agent in model.agents_here():
            if isinstance(agent, SmartAgent):
                own = values[type(agent)](agent)
                yield (step, *own, *failures.get(own[0], NO_FAILURES))

    def last_rows(self) -> tuple[list[Any], list[tuple[Any, ...]]]:
        """The last round: the values of the model columns; id and agent columns of each agent."""
        of_model = [values[-1] for values in self.model_vars.values()]
        return of_model, [record[1:] for record in self._last_records()]

    def _last_records(self) -> list[Any]:
        last: list[Any] = next(reversed(self._agent_records.values()))
        return last

    def model_frame(self, run: int = 0) -> pd.DataFrame:
        """One row a round: ``run``, ``round`` and the model columns.

        Args:
            run: the number of the run.
        """
        frame = pd.DataFrame(self.model_vars)
        frame.insert(0, "round", range(len(frame)))
        frame.insert(0, "run", run)
        return frame

    def agent_frame(self, run: int = 0) -> pd.DataFrame:
        """One row an agent and round: ``run``, ``round``, ``agent`` and the agent columns.

        Args:
            run: the number of the run.
        """
        rows = [
            (run, round_, *record[1:])
            for round_, records in enumerate(self._agent_records.values())
            for record in records
        ]
        return pd.DataFrame(rows, columns=["run", "round", "agent", *self.agent_reporters])


def _check_columns(kind: str, columns: Mapping[str, Any]) -> None:
    """Check that columns are attributes.

    Raises:
        UsageError: for a function, with its arguments or without, as Mesa's collector takes.
    """
    for column, name in columns.items():
        if not isinstance(name, str):
            raise UsageError(
                f"The {kind} column {column!r} is given by the name of an attribute, not by "
                f"{name!r}: make the function a property of the {kind}, and give its name."
            )


def _no_column(model: SmartModel) -> RunError | None:
    """The error for the first column whose attribute a model or an agent lacks, if there is one."""
    holders = [
        *((model, "model", *each) for each in model.columns().items()),
        *(
            (agent, "agent", *each)
            for agent in model.agents
            if isinstance(agent, SmartAgent)
            for each in model.columns_of(type(agent)).items()
        ),
    ]
    for holder, kind, column, name in holders:
        try:
            attrgetter(name)(holder)
        except AttributeError:
            return RunError(
                f"The {kind} column {column!r} is the attribute {name!r}, which "
                f"{type(holder).__name__} does not have."
            )
    return None


def _of_failures(place: int, agent: Any) -> int:
    failures: Failures = agent.model.usage.by_agent.get(agent.unique_id, NO_FAILURES)
    return failures[place]


@dataclass(frozen=True)
class Score:
    """The score of one agent in one run, from the agent data.

    Attributes:
        label: its name with its unit, as on the axis of a plot.
        size: the parameter that is the number of agents.
        column: the agent column that it is computed from.
        over: ``"run"``: the sum of the column over the rounds of the run; ``"round"``: its mean
            over the rounds, for runs of different lengths.
        until: a value of the column: then the score is the number of rounds until the column has
            it, that one included; one more than the run has when it never does.
        pairs: whether agents meet in pairs; else all play in one population.
        lower_is_better: whether a lower score is the better one.
        of: the class of agents whose minds are ranked, where there are several; the others decide
            with their classical minds.
    """

    label: str
    size: str
    column: str = "payoff"
    over: Literal["run", "round"] = "run"
    pairs: bool = False
    lower_is_better: bool = False
    until: str = ""
    of: str = ""

    def of_agents(self, data: pd.DataFrame) -> pd.DataFrame:
        """The score of each agent in each run.

        Args:
            data: the agent data: one row an agent, run and round.

        Returns:
            ``run``, ``agent``, ``mind`` and ``score``; a round without a value counts as 0.
        """
        if self.of:
            data = data[data["class"] == self.of]
        column = data[self.column]
        if self.until:
            values = (column != self.until).astype(float)
        else:
            values = column.astype(float).fillna(0.0)
        table = data[["run", "round", "agent", "mind"]].assign(score=values)
        scores = table.groupby(["run", "agent"], as_index=False, sort=True).agg(
            mind=("mind", "first"), score=("score", "sum")
        )
        if self.until:
            scores["score"] += 1.0
        elif self.over == "round":
            scores["score"] /= scores["run"].map(table.groupby("run")["round"].nunique())
        return scores
