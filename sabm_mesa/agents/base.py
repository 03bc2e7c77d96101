"""The base class of all agents: a Mesa agent whose decisions come from a mind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any, ClassVar, Protocol

import mesa
import numpy as np

from sabm_mesa.core.answers import AnswerSpec, Decision, Format, ParserStep
from sabm_mesa.core.asks import SCENARIO, SUMMARISE, Ask, Key, Observation
from sabm_mesa.core.messages import Conversation, Message
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.core.streams import Entropy, agent_random, agent_rng, attempt_rng
from sabm_mesa.errors import RunError, UsageError
from sabm_mesa.minds.base import ClassicalMind, Mind, SupportsAsks, ask_until_valid

_ITS_OWN = frozenset({
    "attempts", "given_mind", "history", "memory", "mind", "model", "parent", "persona", "turn",
    "unique_id",
})  # fmt: skip
"""Attributes of an agent that its run sets."""


def check_properties(own: type, taken: Collection[str]) -> None:
    """Check that a class has no property of a name that its base class sets.

    Args:
        own: the class.
        taken: the names.

    Raises:
        UsageError: when it has one.
    """
    for name, value in vars(own).items():
        if name in taken and isinstance(value, property):
            raise UsageError(
                f"{own.__name__}.{name} is a property, and {own.__mro__[1].__name__} needs that "
                "name: choose another, and give it as the column's attribute."
            )


class AskingModel(SupportsAsks, Protocol):
    """Interface of a model that an agent needs to ask; `SmartModel` has it.

    Attributes:
        entropy: the seed as integers.
        round: the round that is played, from 0.
        book: the prompts of the run.
        answer_format: the format of the answers.
        reading: how answers are read.
    """

    entropy: Entropy
    round: int
    book: PromptBook
    answer_format: Format
    reading: ParserStep


class Remembering(Protocol):
    """Interface of what an agent remembers; `sabm_mesa.agents.memory` has the kinds."""

    def empty(self) -> Any:
        """A memory of the same kind with nothing in it."""

    def recall(self) -> tuple[Any, ...]:
        """The content of ``{memory}``, oldest first."""


class SmartAgent(mesa.Agent):
    """An agent whose decisions come from a mind.

    A scenario's agent has one ``async`` method for each phase it takes part in; the method asks
    and returns the decision, and changes nothing but the agent itself. What the decision does to
    the world is the model's business (``after_NAME``).

    Args:
        model: the model, a `SmartModel`. A scenario's agent class says which: ``model: MyModel``.

    Class attributes:
        columns: column of the agent data → attribute; the model's `agent_columns` come first. In
            the rows of agents of other classes it is empty.
        classical_minds: name → behavioural model, made from its spec; those of the model hold too.
        scenario_prompt: the prompt entry that stands before every question.

    Attributes:
        mind: its mind; set when the model is populated, or when the agent is born.
        given_mind: the spec from which its mind was made, or the object that was given as its mind.
        persona: the name of the persona, ``"none"`` without one.
        parent: the agent that it was born of, or None.
        turn: the agent's place in the order of the phase under way, from 0.
        attempts: how often its mind was asked in the phase under way.
        memory: what it remembers. A class declares the kind, such as ``Remembers(last=5)``; each
            agent then has its own, and ``{memory}`` in its prompts shows what is recalled.
        history: its questions and answers that are sent as turns of the chat; each agent has its
            own where a class declares it, as in ``history = last(6)``.
    """

    model: Any
    mind: Mind
    given_mind: str | Mind
    memory: Any = None
    history: Any = None
    columns: ClassVar[Mapping[str, str]] = {}
    classical_minds: ClassVar[Mapping[str, Callable[[str], Mind]]] = {}
    scenario_prompt: ClassVar[str] = SCENARIO
    no_value: ClassVar[None] = None
    """The value of a column that only agents of other classes have."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the names of the properties of a class of agents."""
        super().__init_subclass__(**options)
        check_properties(cls, _ITS_OWN)

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        # All that it will ever have: attributes that are new later take three times the memory.
        self.persona = "none"
        self.parent: SmartAgent | None = None
        self.turn = 0
        self.attempts = 0
        spoken: Conversation | None = getattr(model, "spoken", None)
        self._joined = 0 if spoken is None else spoken.n_to_all  # it did not hear them
        self._round, self._phase = -1, ""
        self._asked: tuple[str, ...] = ()  # the phase of each question of this round
        self._by: str | None = None  # the mind that decided instead of its own, this round
        kind: Remembering | None = type(self).memory
        if kind is not None:
            self.memory = kind.empty()
        if type(self).history is not None:
            self.history = type(self).history.empty()
        self._rng: np.random.Generator | None = None
        self._random: Random | None = None

    @property
    def rng(self) -> np.random.Generator:
        """The agent's own random stream, derived from the model's seed and the agent's id."""
        if self._rng is None:
            self._rng = agent_rng(self.model.entropy, self.unique_id)
        return self._rng

    @property
    def random(self) -> Random:
        """The agent's own stream of Python's `random`, derived from the seed and the id."""
        if self._random is None:
            self._random = agent_random(self.model.entropy, self.unique_id)
        return self._random

    def stream(self, key: Key, attempt: int) -> np.random.Generator:
        """A random stream for one attempt at an ask, derived from the seed and its place."""
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

        That is its own mind, but where another answered all questions instead of a person.
        """
        return self._by or self.mind.spec

    @property
    def instant(self) -> bool:
        """Whether its mind decides without ever waiting."""
        return self.mind.instant

    @property
    def paid(self) -> bool:
        """Whether anything that is asked for the agent is paid for."""
        return self.mind.paid

    def conversation(self, rounds: int | None = 1) -> tuple[Message, ...]:
        """The messages that it said or heard, in the order of the turns (`SmartModel.say`).

        Args:
            rounds: of this many rounds, the one under way included; None: of the whole run.
        """
        first = 0 if rounds is None else self.model.round + 1 - rounds
        return tuple(self.model.spoken.of(self.unique_id, first, self._joined))

    def ask(
        self,
        name: str,
        spec: AnswerSpec,
        observation: Observation,
        *,
        mind: Mind | None = None,
        kind: type[Ask] = Ask,
    ) -> Coroutine[Any, Any, Decision]:
        """Ask the agent's mind, or another one, a question, and await the decision.

        Args:
            name: the prompt entry with the question.
            spec: the definition of a legal answer.
            observation: the information that the agent has. Where its class declares a memory,
                what is recalled is added, unless the observation brings memories of its own.
            mind: the mind that is asked; the agent's own when None.
            kind: the class of the question.

        Returns:
            The decision; its value is None when no usable answer came.

        Raises:
            RunError: for an observation of another type; when the mind fails or a cap is reached;
                when it is paid for in a run that is not recorded and did not say so.
        """
        if not isinstance(observation, Observation):
            raise RunError(
                f"{type(self).__name__}.{self._phase}: what an agent sees is given as an "
                f"Observation (a frozen dataclass derived from it), not as a "
                f"{type(observation).__name__}."
            )
        model: AskingModel = self.model
        mind, phase, asked = mind or self.mind, self._phase, self._asked
        is_told = kind is Ask and not isinstance(mind, ClassicalMind)
        if type(self).memory is not None and not observation.memory:
            if is_told and getattr(self.memory, "due", False):
                return self._ask_summarised(name, spec, observation, mind)
            observation = replace(observation, memory=self.memory.recall())
        if paid := mind.paid:
            model.recorder.check_paid(mind.spec)
        call = asked.count(phase) if asked else 0
        key = Key(self._round, phase, self.unique_id, call)
        self._asked = _with(asked, phase)
        answer_format = mind.answer_format or model.answer_format
        ask = kind(
            name, observation, spec, key, model.book, answer_format, self,
            paid, self.turn, model.reading, self.scenario_prompt,
        )  # fmt: skip
        ask.enforced = mind.enforces_json
        if self.history is not None and is_told:
            return self._ask_with_history(ask, mind)
        return ask_until_valid(ask, mind, self)

    async def _ask_summarised(
        self, name: str, spec: AnswerSpec, observation: Observation, mind: Mind
    ) -> Decision:
        """Let the mind summarise the memory, and then ask."""
        memory = self.memory
        seen = replace(observation, memory=memory.recall())
        memory.take(await self.ask(SUMMARISE, memory.spec, seen, mind=mind))
        return await self.ask(name, spec, observation, mind=mind)

    async def _ask_with_history(self, ask: Ask, mind: Mind) -> Decision:
        """Ask with the earlier questions and answers before the question."""
        if ask.name == SUMMARISE:
            return await ask_until_valid(ask, mind, self)
        ask.history = self.history.chat()
        decision = await ask_until_valid(ask, mind, self)
        if decision.valid:
            self.history.add(ask, decision)
        return decision

    def decided(self, decision: Decision) -> None:
        """Count a decision of its mind (the asking calls it)."""
        self.attempts += decision.attempts
        self._by = decision.by if self._by is None else self._by and decision.by


@lru_cache
def _with(asked: tuple[str, ...], phase: str) -> tuple[str, ...]:
    """The phases of the questions of a round, with one more: many agents share them."""
    return (*asked, phase)
