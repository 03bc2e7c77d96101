"""The base class of all scenarios: a Mesa model that runs phases of asks round by round.

`SmartModel` manages a run: its parameters, its rounds, and its recording. Other modules contain the
agents and their minds (`sabm_mesa.models.population`), the data collector
(`sabm_mesa.models.collector`), the checks of a scenario's code (`sabm_mesa.models.contract`), and
the declarations for studies and the viewer (`sabm_mesa.models.declarations`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar, overload

import mesa
import pandas as pd
from annotated_types import Ge

from sabm_mesa.agents.base import SmartAgent, check_properties
from sabm_mesa.core import engine
from sabm_mesa.core.answers import DEFAULT_FORMAT, Format, OptionOrder
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.messages import Conversation, Message
from sabm_mesa.core.parameters import bind, checking, parameters_of, whole_signature
from sabm_mesa.core.prompts import NO_PERSONA, PromptBook, beside
from sabm_mesa.core.scheduler import SIMULTANEOUS, Phase, action, run_phase
from sabm_mesa.core.streams import Seed, entropy
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import (
    ParameterError,
    SabmError,
    ScenarioError,
    UnknownName,
    UsageError,
    add_place,
    error_message,
    failure,
)
from sabm_mesa.llm import Connection
from sabm_mesa.minds.base import Mind, RuleMind
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
    MindContext,
    Minds,
    MindSpec,
    by_spec,
    check_specs,
)
from sabm_mesa.models.collector import RoundCollector
from sabm_mesa.models.contract import (
    RESERVED,
    as_columns,
    check_constructed,
    check_no_tables,
    check_super_called,
    check_unchanged,
    playing_a_round,
    reserved_of,
)
from sabm_mesa.models.declarations import Declarations
from sabm_mesa.models.entries import round_rows, run_header
from sabm_mesa.models.population import Population
from sabm_mesa.recording import Recorder
from sabm_mesa.recording.replaying import ReplayRecorder
from sabm_mesa.recording.writing import Where, check_where, is_recorded, open_recorder

Personas = str | Mapping[str, Any] | Sequence[str] | None
A = TypeVar("A", bound=SmartAgent)

OF_PROMPTS = frozenset({"condition", "variant", "prompts", "personas"})
"""Parameters that change the prompts."""
OF_EVERY_SCENARIO = OF_PROMPTS | {
    "answer_format", "max_attempts", "minds", "n_rounds", *SAMPLING,
}  # fmt: skip
"""Parameters that can change during a run of any scenario."""


class SmartModel(Declarations, mesa.Model):
    """A scenario: agents whose decisions come from minds, in rounds of phases.

    A scenario sets the class attributes, makes its agents with `populate`, applies decisions in
    ``after_PHASE(agent, decision)`` and ends a round in `update`. The method
    ``before_PHASE(agent)`` applies rules before a question, and `between_phases` applies rules
    between two phases. Only these methods change the world; they also add agents with `born` and
    remove them with `remove`, in any round. Plain Mesa agents may live in the same model, without
    minds and columns. Given the same answers, a run is bit-identical at any latency: all randomness
    comes from the model's `rng` and the agents' streams.

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
        option_order: options in prompts as ``"given"`` by the scenario, or ``"reversed"``.
        max_attempts: attempts at a question at most.
        temperature: sampling temperature of language models; None leaves it to the server.
        max_tokens: tokens of an answer at most; None leaves it to the server.
        top_p: nucleus sampling of language models; None leaves it to the server.
        reasoning_effort: how much language models are to think, in the words of the server, such
            as ``"low"``; None leaves it to the server.
        max_thought_tokens: thought tokens at most, beyond `max_tokens`; None for as many as
            `sabm_mesa.llm.quirks` allows a model that turns out to think.
        extra_body: name → value of additional fields of each request to a language model.
        connection: how the endpoints of language models are reached.
        recording: a recording, or a path; False for none. None (default) records a run with
            language models into the folder ``sabm_recordings`` and no other. `replay`, `resume`
            and `fork` pass a `ReplayRecorder`: the recorded run to repeat.

    Class attributes:
        scenario_name: the name on the command line and in recordings; by default that of the class:
            ``stag-hunt`` of a class ``StagHunt``.
        prompt_file: the path of its prompts; a relative path is first searched beside the module.
        prompts: the same prompts in the class, in place of a file: entry → template. The names of
            the tables of a file (``conditions``, ``variants``, ``personas`` …) hold such mappings.
        phases: the phases of a round, in their order; by default one, `action`.
        model_columns: column of the model data → attribute of the model, or a tuple of attributes.
        agent_columns: column of the agent data → attribute of the agents of all classes, or a tuple
            of attributes; a class of agents may add `columns`.
        defaults: parameter → its default in this scenario, where it differs from the base class.
        changeable: parameters of the scenario that can change during a run.
        classical_minds: name → behavioural model: a class that is made from its spec, or a function
            of the question. The spec ``classical`` is the one named ``"default"``, or the only one.

    Class attributes for studies and the viewer are in `sabm_mesa.models.declarations.Declarations`.

    Attributes:
        round: the current or last round, from 0; −1 before the first.
        playing: whether a round is being played.
        current_turn: the turn in the phase of the decision that is being applied, from 0.
        in_flight: the number of questions that wait for an answer.
        spoken: all messages of the run (see `say` and `conversation`).
        entropy: the seed as a tuple of integers.
        book: the prompts of the run.
        usage: the cost of the asks of the current round.
        total: the cost of all rounds so far.
        began_with: the number of agents at the start of the run; 0 before.
        end_reason: why the run ended, as given to `end`; ``""`` without it.
        population: all agents in the order of their ids, including those that have left the model.
        critical_path_asks: the length of the longest chain of dependent attempts.
        tags: name → text that is recorded with the run; set them before it begins.
        replaying: the recorded run that is being repeated, or None.

    Raises:
        UsageError: for a parameter, mind, condition or prompts that cannot be used.
    """

    prompt_file: ClassVar[str | Path | Mapping[str, Any]]
    """Of a class with `prompts`, these."""
    phases: ClassVar[tuple[Phase, ...]] = (action(),)
    model_columns: ClassVar[Any] = {}
    agent_columns: ClassVar[Any] = {}
    """Of a finished class, `model_columns` and `agent_columns` are mappings."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    changeable: ClassVar[frozenset[str]] = frozenset()
    classical_minds: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    parameters: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap the constructor of a scenario: check its arguments and its result."""
        super().__init_subclass__(**options)
        if isinstance(own_file := vars(cls).get("prompt_file"), str | Path):
            cls.prompt_file = beside(own_file, cls)
        if "phases" in vars(cls):
            cls.phases = _as_phases(cls.__name__, vars(cls)["phases"])
        if {"prompts", "prompt_file"} <= vars(cls).keys():
            raise UsageError(f"{cls.__name__} has prompts and a prompt_file: give one of them.")
        if "prompts" in vars(cls):
            cls.prompt_file = vars(cls)["prompts"]
        check_no_tables(cls)
        for kind in ("model_columns", "agent_columns"):
            if kind in vars(cls):
                setattr(cls, kind, as_columns(vars(cls)[kind]))
        if "__init__" in vars(cls):
            checked = checking(vars(cls)["__init__"], lambda made: made.check_made())
            setattr(checked, "__signature__", whole_signature(checked, cls))  # noqa: B010 - for mypy
            setattr(cls, "__init__", checked)  # noqa: B010 - for mypy
        check_properties(cls, RESERVED | {"said", *inspect.signature(SmartModel).parameters})
        if "step" in vars(cls):
            setattr(cls, "step", playing_a_round(vars(cls)["step"]))  # noqa: B010 - for mypy

    def __new__(cls, *args: Any, **given: Any) -> SmartModel:
        """Store the parameters of the run, with their defaults, before the model is built."""
        if args:
            raise TypeError(f"{cls.__name__} takes its parameters by name.")
        model: SmartModel = super().__new__(cls)
        model.parameters = bind(cls, given)
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
        option_order: OptionOrder = "given",
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
        super().__init__(rng=self.entropy[0] if len(self.entropy) == 1 else list(self.entropy))
        self.n_rounds = n_rounds
        self.condition, self.variant, self.connection = condition, variant, connection
        check_where(recording)
        self.recording = recording
        self.replaying = recording if isinstance(recording, ReplayRecorder) else None
        self.tags: Mapping[str, str] = {}
        self.book: PromptBook = (
            self.replaying.book(condition, variant, option_order)
            if self.replaying and not self.replaying.from_files
            else PromptBook(self.prompt_file, condition, variant, prompts, option_order)
        )
        self.answer_format: Format = answer_format or DEFAULT_FORMAT
        self.max_attempts = max_attempts
        self.llm_settings = LLMSettings(
            temperature, max_tokens, top_p, reasoning_effort, max_thought_tokens, extra_body
        )
        self.round, self.playing, self.in_flight = -1, False, 0
        self.usage, self.total, self.critical_path_asks = Usage(), Usage(), 0
        self.recorder = Recorder()
        self.population = Population(self, minds, NO_PERSONA if personas is None else personas)
        self.end_reason = ""
        self._begun, self.began_with, self._scope = False, 0, engine.Scope()
        self.spoken, self._stage, self.current_turn = Conversation(), 0, 0
        self._under_way: Phase | None = None
        self.datacollector = RoundCollector(self.columns(), self.agent_columns)
        self._made = dict.fromkeys(RESERVED) | vars(self)

    def begin_round(self) -> None:
        """Change the world before any agent is asked. A scenario may override it."""

    def between_phases(self, done: str, coming: str) -> None:
        """Change the world between two phases of a round. A scenario may override it.

        Args:
            done: the name of the previous phase, even if it was skipped.
            coming: the name of the next phase.
        """

    def update(self) -> None:
        """Compute the consequences of the decisions after each round. A scenario overrides it."""

    def end(self, reason: str) -> None:
        """End the run after the current round; usually called in `update`.

        Args:
            reason: why, in a few words, such as ``"the bank failed"``. It is recorded, printed by
                ``sabm run``, and written to ``summary.json``.

        Raises:
            ScenarioError: for an empty reason.
        """
        if not str(reason or "").strip():
            raise ScenarioError(f"end(reason): the reason is a text, not {reason!r}.")
        self.running, self.end_reason = False, str(reason)

    def step(self) -> None:
        """Play one round; do nothing if the run has ended.

        Raises:
            RunError: when a mind, a language model or the recording fails. The run has then ended,
                with all answers so far in the recording.
        """
        if not self.running:
            return
        self.begin()
        try:
            engine.run(self._play(), self._scope)
        finally:
            self._release()

    async def _play(self) -> None:
        try:
            self.round += 1
            self.playing = True
            self.usage = Usage()
            self._stage = self.current_turn = 0
            reserved = reserved_of(self)
            self.begin_round()
            for stage, phase in enumerate(self.phases):
                if stage:
                    self.between_phases(self.phases[stage - 1].name, phase.name)
                self._stage, self._under_way = stage, phase
                self.critical_path_asks += await run_phase(self, phase)
                self._under_way = None
                check_unchanged(self, reserved)
            self._stage, self.current_turn = len(self.phases), 0
            self.update()
            check_unchanged(self, reserved)
            self._end_round()
            self.datacollector.collect(self)
            self.recorder.collect(self.round, partial(round_rows, self))
            self._apply_due_forks()
            if self.round + 1 >= self.n_rounds:
                self.running = False
            if not self.running:
                await self.recorder.finish(end_reason=self.end_reason, measures=self.end_measures)
        except BaseException as error:
            self.running = False
            if self.playing:
                self._end_round()
            await self.recorder.finish(error_message(error))
            if isinstance(error, SabmError) or not isinstance(error, Exception):
                add_place(error)
                raise
            raise failure(f"{self.scenario_name}, round {self.round}", error) from error

    def _end_round(self) -> None:
        self.playing = False
        self.total.add(self.usage)

    def register_agent(self, agent: Any) -> None:
        """Add an agent to the model and give it the next free id (called by Mesa).

        Mesa before 3.5 numbers agents in a table outside the model, which would keep every model in
        memory, and a pickled copy would start at 1 again.
        """
        if (ids := getattr(mesa.Agent, "_ids", None)) is not None:
            ids.pop(self, None)
            agent.unique_id = self.agent_id_counter
            self.agent_id_counter += 1
        super().register_agent(agent)  # type: ignore[no-untyped-call]  # Mesa does not annotate it

    def agents_here(self) -> list[Any]:
        """The agents in the model, in the order of their ids; Mesa's set can be reordered."""
        return sorted(self.agents, key=attrgetter("unique_id"))

    @overload
    def populate(self, agents: type[A], n: int, *args: Any) -> list[A]: ...

    @overload
    def populate(self, agents: Mapping[type[SmartAgent], int], n: None = None) -> list[Any]: ...

    def populate(self, agents: Any, n: int | None = None, *args: Any) -> list[Any]:
        """Make agents and give each its mind and persona.

        Personas given as counts are assigned in random order, independently of the minds.

        Args:
            agents: the class of the agents; or a mapping class → number of agents, 0 for a class
                whose agents are born later.
            n: the number of agents, for a single class.
            args: further arguments of their constructor, after the model.

        Returns:
            The agents in the order of their ids; for a mapping, one such list per class.

        Raises:
            ParameterError: when the number of agents is missing or not a whole number.
            MindSpecError: when the counts of minds or personas do not sum to this number.
            UnknownName: for a classical mind or persona that does not exist.
        """
        check_super_called(self)
        return self.population.populate(agents, n, *args)

    def born(self, agent_class: type[A], *args: Any, of: SmartAgent | None = None) -> A:
        """Make an agent during the run, with the next free id; its first phase is the next one.

        Agents cannot be born in a phase with a reach, where ids would depend on the order of
        answers.

        The agent inherits the mind and the persona of its parent. Without a parent, they are drawn
        with the counts of minds and personas as weights. A child of a person does not get a seat:
        its mind is drawn from the other minds of its class.

        Args:
            agent_class: its class, one of those of `populate`.
            args: arguments of its constructor in addition to the model.

        Returns:
            The agent.

        Raises:
            UsageError: for a class that was not passed to `populate`, or a mind that agents of this
                class cannot have.
            ScenarioError: in a sequential phase with a reach.
        """
        phase = self._under_way
        if phase is not None and phase.reach is not None and phase.order != SIMULTANEOUS:
            raise ScenarioError(
                f"A {agent_class.__name__} is born in the phase {phase.name!r}, whose agents are "
                "asked at the same time within their reach, so that its id would depend on which "
                "answer comes first: call born in update, or leave the reach out."
            )
        made: A = self.population.born(agent_class, *args, of=of)
        return made

    def make_mind(self, agent: SmartAgent, mind: MindSpec) -> Mind:
        """Make a mind for an agent, without assigning it.

        Raises:
            MindSpecError: for a spec that cannot be read.
            UnknownName: for a classical mind that the scenario does not have.
            LLMError: for a language model that cannot be set up.
        """
        return self.population.maker(type(agent), mind)(agent)

    def __getstate__(self) -> dict[str, Any]:
        """The state, without attributes that only the constructor needs."""
        return {**vars(self), "_made": {}}

    def agent_classes(self) -> list[type[SmartAgent]]:
        """The classes of agents with minds, in the order of `populate`."""
        return list(self.population.shares)

    def agent_of_id(self, unique_id: int) -> SmartAgent:
        """Return an agent with a mind, even if it has left the model.

        Raises:
            KeyError: when there is no such agent.
        """
        return self.population.of_id(unique_id)

    def classical_of(self, agent_class: type[SmartAgent]) -> Mapping[str, Callable[[str], Mind]]:
        """The classical minds of agents of a class: name → behavioural model."""
        rules = {**self.classical_minds, **agent_class.classical_minds}
        return {n: partial(RuleMind, r) if inspect.isfunction(r) else r for n, r in rules.items()}

    def columns_of(self, agent_class: type[SmartAgent]) -> Mapping[str, str]:
        """The columns of agents of a class: column → attribute."""
        return {**self.agent_columns, **as_columns(agent_class.columns)}

    def say(
        self, sender: SmartAgent, text: str | None, to: SmartAgent | Iterable[Any] | None = None
    ) -> Message | None:
        """Send a message to agents; usually called in ``after_PHASE``.

        The conversation of the agents, the recorded messages, the judge and the viewer are based on
        it.

        Args:
            sender: the agent that sends the message, shown with its attribute `name`, or as
                ``Voter 3``.
            text: the text, such as ``decision.value``. None (an invalid answer) or a blank text
                sends nothing.
            to: the hearers: agents, their ids, or a single agent; None: all agents in the model.
                The sender always knows its message.

        Returns:
            The message; None if nothing was sent.

        Raises:
            ScenarioError: for a sender or hearer that is no agent, or a text that is not a string.
        """
        if not isinstance(sender, SmartAgent):
            raise ScenarioError(f"say(sender, text): the sender is an agent, not {sender!r}.")
        if not (text is None or isinstance(text, str)):
            raise ScenarioError(
                f"say(sender, text): the words are a text, such as decision.value, not {text!r}."
            )
        hearers: tuple[int, ...] | None = None
        if to is not None:
            given = to if isinstance(to, Iterable) else [to]
            ids = {hearer if type(hearer) is int else _id_of_hearer(hearer) for hearer in given}
            ids.discard(sender.unique_id)
            hearers = tuple(sorted(ids))
            if hearers and (hearers[0] < 1 or hearers[-1] >= self.agent_id_counter):
                unknown = hearers[0] if hearers[0] < 1 else hearers[-1]
                raise ScenarioError(f"say(…, to=…): no agent has the id {unknown}.")
        if text is None or not text.strip():
            return None
        name = str(getattr(sender, "name", f"{type(sender).__name__} {sender.unique_id}"))
        position = self.current_turn, self._stage
        message = Message(self.round, sender.unique_id, text, hearers, name, *position)
        self.spoken.add(message)
        return message

    def conversation(self, rounds: int | None = 1) -> list[Message]:
        """All messages, including private ones, in the order of the turns.

        `SmartAgent.conversation` has the messages that an agent sent or heard.

        Args:
            rounds: number of rounds, including the current or last one; None: all rounds.
        """
        first = 0 if rounds is None else self.round + 1 - rounds
        return self.spoken.since(first)

    @property
    def said(self) -> list[Message]:
        """The messages of the current or last round."""
        return self.conversation()

    def columns(self) -> Mapping[str, str]:
        """The scenario's model columns: the columns of the class, and those that parameters add."""
        columns: Mapping[str, str] = self.model_columns
        return columns

    def end_measures(self) -> dict[str, Any]:
        """The measures of the whole run, for the summary. A scenario may override it."""
        return {column: attrgetter(name)(self) for column, name in self.model_columns.items()}

    def begin(self) -> None:
        """Start the recording of the run, unless the first `step` should do it.

        Raises:
            RunError: when the recording cannot be opened or written; the run has then ended.
        """
        if self._begun:
            return
        try:
            paid = any(agent.paid for agent in self.population)
            if is_recorded(self.recording, paid=paid):
                check_specs(self.population.minds)
            self.recorder = open_recorder(self.recording, partial(run_header, self), paid=paid)
        except SabmError:
            self.running = False
            raise
        self._begun, self.began_with = True, len(self.population)
        self._apply_due_forks()

    def check_made(self) -> None:
        """Check that the constructor of a scenario has set up the model; called after it.

        Raises:
            UsageError: when it set an attribute that the base class needs, made an agent without
                `populate`, or a phase lacks a method.
        """
        check_constructed(self, SmartModel)

    def _release(self) -> None:
        if not self.running:
            self.recorder.close()
            for agent in self.population:
                agent.mind.close()

    def stop(self) -> None:
        """Stop the current round from another thread; its `step` then raises `RunError`."""
        self._scope.stop()

    def close(self, problem: str = "closed") -> None:
        """End the run early and write its record to disk; do nothing if it has ended.

        Args:
            problem: the reason, which is recorded.
        """
        close_models([self], problem)

    def model_frame(self, run: int = 0) -> pd.DataFrame:
        """The model data: one row per round, with the number `run`."""
        return self.datacollector.model_frame(run)

    def agent_frame(self, run: int = 0) -> pd.DataFrame:
        """The agent data: one row per agent and round, with the number `run`."""
        return self.datacollector.agent_frame(run)

    @property
    def recording_path(self) -> Path | None:
        """The file of the recording; None before the run begins, or without a recording."""
        return self.recorder.path

    def spent(self) -> Usage:
        """The cost of the asks so far, including the current round."""
        spent = Usage()
        spent.add(self.total)
        if self.playing:
            spent.add(self.usage)
        return spent

    def minds_in_use(self) -> dict[str, int]:
        """Mind spec → number of agents at the start of the run."""
        first = self.population[: self.began_with] if self._begun else self.population
        return dict(Counter(agent.mind.spec for agent in first))

    def mind_versions(self) -> dict[str, str]:
        """Spec → SHA-256 of the file, for minds from files."""
        minds = {agent.mind.spec: agent.mind for agent in self.population}
        return {spec: mind.version for spec, mind in minds.items() if mind.version is not None}

    @property
    def mind_context(self) -> MindContext:
        """The data for making the minds of the run, in addition to their specs."""
        limit = self.parameters.get("max_tokens")
        return MindContext(
            scenario=self.scenario_name,
            module=type(self).__module__,
            classical=self.classical_minds,
            behaviour=self.study.behaviour,
            settings=self.llm_settings,
            answer_format=self.parameters.get("answer_format"),
            default_limit=limit == parameters_of(type(self))["max_tokens"].default,
            connection=self.connection,
            replaying=self.replaying,
        )

    @classmethod
    def decided_rounds(cls, data: pd.DataFrame) -> pd.DataFrame:
        """The rows of rounds with decisions, from which measures are computed.

        Args:
            data: model or agent data, with ``round``.

        Returns:
            All rows except those of `given_rounds`.
        """
        return data[data["round"] >= cls.given_rounds] if cls.given_rounds else data

    @classmethod
    def identity(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters of a run as JSON values, to identify it among recorded runs.

        A scenario overrides it if a parameter names a recording, since its content counts rather
        than its path.

        Args:
            given: the parameters that differ from their defaults, without the seed.

        Raises:
            UnknownName: for a parameter that does not exist.
        """
        bound = bind(cls, given)
        bound.pop("rng", None)
        parameters: dict[str, Any] = json_roundtrip({**bound, "minds": by_spec(bound["minds"])})
        return parameters

    @classmethod
    def check_changeable(cls, names: Iterable[str]) -> None:
        """Check that parameters can change during a run.

        Args:
            names: the parameters.

        Raises:
            ParameterError: for a parameter that cannot change.
            UnknownName: for one that the scenario does not have.
        """
        can_change = OF_EVERY_SCENARIO | cls.changeable
        for name in names:
            if name in parameters_of(cls) and name not in can_change:
                raise ParameterError(
                    f"{name} of {cls.scenario_name} cannot change during a run. These can: "
                    f"{', '.join(sorted(can_change))}. A scenario names its own in `changeable`.",
                    parameter=name,
                )
            if name not in can_change:
                raise UnknownName(
                    f"parameter of {cls.scenario_name} that can change during a run",
                    name,
                    can_change,
                    parameter=name,
                )

    def clone_with(self, new: Mapping[str, Any], replaying: ReplayRecorder) -> Self:
        """Return the same model before its first round, with changed parameters.

        Args:
            new: the changed parameters.
            replaying: the recorded run to repeat.

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
        """Apply changed parameters between two rounds.

        A scenario overrides it if a parameter in `changeable` has no attribute of the same name.

        Args:
            clone: the same model before its first round, with the changed parameters.
            changed: their names.
        """
        same = (
            "n_rounds", "condition", "variant", "answer_format", "max_attempts",
            "llm_settings",
        )  # fmt: skip
        for name in same:
            setattr(self, name, getattr(clone, name))
        if changed & OF_PROMPTS:
            self.book = clone.book
        self.population.take_over(clone.population, personas="personas" in changed)
        for name in changed & self.changeable:
            setattr(self, name, getattr(clone, name))

    def _apply_due_forks(self) -> None:
        """Apply the changes of forks that are due in the next round."""
        if self.replaying is None:
            return
        for applied, fork in enumerate(self.replaying.recorded.forks, 1):
            if fork["at"] == self.round + 1:
                new = fork["set"]
                clone = self.clone_with(new, self.replaying.after(applied))
                self.parameters = self.parameters | dict(new)
                self.apply_fork(clone, frozenset(new))


def close_models(models: Iterable[SmartModel], problem: str = "closed") -> None:
    """End runs early and write their records to disk in one commit; ended runs are unchanged.

    Args:
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


def _id_of_hearer(hearer: Any) -> int:
    if not isinstance(hearer, mesa.Agent):
        raise ScenarioError(f"say(…, to=…): the hearers are agents or ids, not {hearer!r}.")
    return int(hearer.unique_id)


def _as_phases(scenario: str, phases: Any) -> tuple[Phase, ...]:
    """The phases of a scenario as a tuple, also a single one."""
    given = (phases,) if isinstance(phases, Phase) else tuple(phases)
    for phase in given:
        if not isinstance(phase, Phase):
            raise UsageError(f"{scenario}.phases has {phase!r}: write Phase({phase!r}).")
    return given
