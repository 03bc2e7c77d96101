"""The base class of all agents: a Mesa agent whose decisions come from a mind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping
from random import Random
from typing import Any, ClassVar

import mesa
import numpy as np

from sabm_mesa.core.answers import Decision
from sabm_mesa.core.asks import SCENARIO, SUMMARISE, Ask, Key
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.messages import Conversation, Message
from sabm_mesa.core.scheduler import await_all
from sabm_mesa.core.streams import agent_random, agent_rng, attempt_rng
from sabm_mesa.core.structured import as_spec
from sabm_mesa.errors import UsageError
from sabm_mesa.minds.base import ClassicalMind, Mind, ask_until_valid

ITS_OWN = frozenset({
    "attempts", "given_mind", "history", "memory", "mind", "model", "parent", "persona", "turn",
    "unique_id",
})  # fmt: skip
"""Attributes of an agent that the run sets."""


def check_properties(cls: type, taken: Collection[str]) -> None:
    """Check that no property of a class has a name that its base class needs.

    Args:
        cls: the class.
        taken: the names that the base class needs.

    Raises:
        UsageError: when a property has such a name.
    """
    for name, value in vars(cls).items():
        if name in taken and isinstance(value, property):
            raise UsageError(
                f"{cls.__name__}.{name} is a property, and {cls.__mro__[1].__name__} needs that "
                "name: choose another, and give it as the column's attribute."
            )


class SmartAgent(mesa.Agent):
    """An agent whose decisions come from a mind.

    An agent class of a scenario has one ``async`` method for each phase in which it takes part. The
    method asks, returns the decision, and changes only the agent itself. The model applies the
    decision to the world (``after_NAME``).

    Args:
        model: the model, a `SmartModel`. An agent class of a scenario declares its type: ``model:
            MyModel``.

    Class attributes:
        columns: column of the agent data → attribute, or a tuple of attributes; the model's
            `agent_columns` come first. The column is empty for agents of other classes.
        classical_minds: name → behavioural model, as of the model, whose names are also available.
        scenario_prompt: the prompt entry that precedes every question.

    Attributes:
        mind: its mind, set when the model is populated or the agent is born.
        given_mind: the spec of its mind, or the object that was passed as its mind.
        persona: the name of the persona, ``"none"`` without one.
        parent: its parent agent, or None.
        turn: the agent's position in the order of the current phase, from 0.
        attempts: number of times that its mind was asked in the current phase.
        memory: its memory. A class declares the kind, such as ``Remembers(last=5)``; each agent
            then has one (``empty()``), and ``{{ memory }}`` in its prompts shows what it recalls
            (``recall()``, oldest first).
        history: its earlier questions and answers, sent as turns of the chat. A class declares it,
            as in ``history = last(6)``; each agent then has one.
    """

    model: Any
    mind: Mind
    given_mind: str | Mind
    memory: Any = None
    history: Any = None
    columns: ClassVar[Any] = {}
    classical_minds: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    scenario_prompt: ClassVar[str] = SCENARIO
    no_value: ClassVar[None] = None
    """The value of a column that only agents of other classes have."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the names of the properties of a class of agents."""
        super().__init_subclass__(**options)
        check_properties(cls, ITS_OWN)

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        # Set all attributes here: attributes that are added later take three times the memory.
        self.persona = "none"
        self.parent: SmartAgent | None = None
        self.turn = 0
        self.attempts = 0
        spoken: Conversation | None = getattr(model, "spoken", None)
        self._joined = 0 if spoken is None else len(spoken)  # earlier messages are not heard
        self._round, self._phase = -1, ""
        self._asked: tuple[str, ...] = ()  # the phase of each question of this round
        self._by: str | None = None  # the mind that decided instead of the agent's, this round
        if type(self).memory is not None:
            self.memory = type(self).memory.empty()
        if type(self).history is not None:
            self.history = type(self).history.empty()
        self._rng: np.random.Generator | None = None
        self._random: Random | None = None

    @property
    def rng(self) -> np.random.Generator:
        """The random stream of the agent, derived from the model's seed and the agent's id."""
        if self._rng is None:
            self._rng = agent_rng(self.model.entropy, self.unique_id)
        return self._rng

    @property
    def random(self) -> Random:
        """The agent's stream of Python's `random`, derived from the seed and the id."""
        if self._random is None:
            self._random = agent_random(self.model.entropy, self.unique_id)
        return self._random

    def stream(self, key: Key, attempt: int) -> np.random.Generator:
        """A random stream for an attempt, from the seed and the position of the ask."""
        return attempt_rng(self.model.entropy, key, attempt)

    def begin(self, phase: str, turn: int) -> None:
        """Start the agent's part of a phase (the scheduler calls it)."""
        round_ = self.model.round
        if self._round != round_:
            self._round, self._asked, self._by = round_, (), None
        self._phase = phase
        self.turn = turn
        self.attempts = 0

    @property
    def class_name(self) -> str:
        """The name of its class."""
        return type(self).__name__

    @property
    def decider(self) -> str:
        """The spec of the mind that decided in the latest round with a question.

        This is the agent's mind, unless another mind answered all questions instead of a person.
        """
        return self._by or self.mind.spec

    @property
    def instant(self) -> bool:
        """Whether its mind decides without waiting."""
        return self.mind.instant

    @property
    def paid(self) -> bool:
        """Whether any request for the agent costs money."""
        return self.mind.paid

    def conversation(self, rounds: int | None = 1) -> tuple[Message, ...]:
        """The messages that the agent sent or heard, in the order of the turns (`SmartModel.say`).

        Args:
            rounds: number of rounds, including the current one; None: the whole run.
        """
        first = 0 if rounds is None else self.model.round + 1 - rounds
        heard: tuple[Message, ...] = self.model.spoken.of(self.unique_id, first, self._joined)
        return heard

    def ask(self, name: str, spec: Any, /, **facts: Any) -> Coroutine[Any, Any, Decision]:
        """Ask a question of the agent's mind, and await the decision.

        Args:
            name: the prompt entry with the question.
            spec: what a legal answer is: `Number`, `Choice`, `Text`, a pydantic model, or a union
                of pydantic models.
            facts: what the agent knows: numbers, texts, messages, and lists and dicts of these. The
                facts ``persona`` and ``memory`` are added: its persona, and what its memory
                recalls.

        Returns:
            The decision; its value is None when no usable answer came.

        Raises:
            ScenarioError: for a fact of another type.
            PromptError: for a prompt that shows an unknown name.
            RunError: when the mind fails or a cap is reached; when the mind costs money and the run
                is neither recorded nor started with permission for that.
        """
        is_told = not isinstance(self.mind, ClassicalMind)
        if type(self).memory is not None and not facts.get("memory"):
            if is_told and name != SUMMARISE and getattr(self.memory, "due", False):
                return self._ask_summarised(name, spec, facts)
            facts["memory"] = self.memory.recall()
        known = Facts({"persona": self.persona, "memory": (), **facts})
        model, phase, asked = self.model, self._phase, self._asked
        if paid := self.mind.paid:
            model.recorder.check_paid(self.mind.spec)
        call = asked.count(phase) if asked else 0
        key = Key(self._round, phase, self.unique_id, call)
        self._asked = (*asked, phase)
        answer_format = self.mind.answer_format or model.answer_format
        ask = Ask(
            name, known, as_spec(spec), key, model.book, answer_format, self,
            paid, self.turn, self.scenario_prompt,
        )  # fmt: skip
        ask.enforced = self.mind.enforces_json
        if name not in model.book.rendered:  # also of rules, which do not read their prompts
            model.book.rendered.add(name)
            ask.messages()
        if self.history is not None and is_told:
            return self._ask_with_history(ask)
        return ask_until_valid(ask, self.mind, self)

    async def ask_together(self, *questions: Coroutine[Any, Any, Decision]) -> list[Decision]:
        """Await questions that do not depend on one another; they are asked at the same time.

        Args:
            questions: what `ask` returned, one for each question.

        Returns:
            The decisions, in the order of the questions.
        """
        before = self.attempts
        decisions = await await_all(questions)
        self.attempts = before + max((decision.attempts for decision in decisions), default=0)
        return decisions

    async def _ask_summarised(self, name: str, spec: Any, facts: dict[str, Any]) -> Decision:
        """Ask the mind to summarise the memory, and then ask the question."""
        memory = self.memory
        memory.take(await self.ask(SUMMARISE, memory.spec, **facts))
        return await self.ask(name, spec, **facts)

    async def _ask_with_history(self, ask: Ask) -> Decision:
        """Ask with the earlier questions and answers before the question."""
        if ask.name == SUMMARISE:
            return await ask_until_valid(ask, self.mind, self)
        ask.history = self.history.chat()
        decision = await ask_until_valid(ask, self.mind, self)
        if decision.valid:
            self.history.add(ask, decision)
        return decision

    def decided(self, decision: Decision) -> None:
        """Count a decision of its mind (called after each ask)."""
        self.attempts += decision.attempts
        self._by = decision.by if self._by is None else self._by and decision.by
