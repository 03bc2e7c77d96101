"""The base class of all agents: a Mesa agent whose decisions come from a mind."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import mesa
import numpy as np

from sabm_mesa.asking import put
from sabm_mesa.asks import Ask, Key, Mind, Observation
from sabm_mesa.decisions import AnswerSpec, Decision

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


class _Ids(WeakKeyDictionary[Any, Iterator[int]]):
    """Model → its next ids, for Mesa 3.3: Mesa's own table keeps every model for ever."""

    def __getitem__(self, model: Any) -> Iterator[int]:
        return self.setdefault(model, count(1))


class SmartAgent(mesa.Agent):
    """An agent whose decisions come from a mind.

    A scenario's agent has one ``async`` method for each phase it takes part in; the method asks
    and returns the decision, and changes nothing but the agent itself. What the decision does to
    the world is the model's business (``after_NAME``).

    Args:
        model: the model.

    Attributes:
        mind: who decides; set when the model is populated.
        persona: the name of the persona, ``"none"`` without one.
        position: the agent's place in the order of the phase under way, from 0.
        attempts: how often its mind was asked in the phase under way.
    """

    model: SmartModel
    mind: Mind
    _ids: Any = _Ids()

    def __init__(self, model: SmartModel) -> None:
        super().__init__(model)
        self.persona = "none"
        self.position = 0
        self.attempts = 0
        self._round, self._phase = -1, ""
        self._asked: tuple[str, ...] = ()  # the phase of each question of this round
        self._rng: np.random.Generator | None = None
        self._random: Random | None = None

    @property
    def rng(self) -> np.random.Generator:
        """The agent's own random stream, derived from the model's seed and the agent's id."""
        if self._rng is None:
            self._rng = np.random.default_rng(
                np.random.SeedSequence(self.model.entropy, spawn_key=(self.unique_id,))
            )
        return self._rng

    @property
    def random(self) -> Random:
        """The agent's own stream of Python's `random`, derived from the seed and the id."""
        if self._random is None:
            self._random = Random(f"{self.model.entropy}/{self.unique_id}")
        return self._random

    def stream(self, key: Key, attempt: int) -> np.random.Generator:
        """A random stream for one attempt at an ask, derived from the seed and its place."""
        place = (*key[:1], zlib.crc32(key.phase.encode()), *key[2:], attempt)
        return np.random.default_rng(np.random.SeedSequence(self.model.entropy, spawn_key=place))

    def begin(self, phase: str, position: int) -> None:
        """Start the agent's part of a phase (the scheduler calls it)."""
        if self._round != self.model.round:
            self._round, self._asked = self.model.round, ()
        self._phase = phase
        self.position, self.attempts = position, 0

    @property
    def paid(self) -> bool:
        """Whether anything that is asked for the agent is paid for."""
        return self.mind.paid

    async def ask(
        self,
        name: str,
        spec: AnswerSpec,
        observation: Observation,
        *,
        mind: Mind | None = None,
        kind: type[Ask] = Ask,
    ) -> Decision:
        """Put a question to the agent's mind, or to another one.

        Args:
            name: the prompt entry that puts the question.
            spec: what a legal answer is.
            observation: what the agent can see.
            mind: who is asked; the agent's own mind when None.
            kind: the class of the question.

        Returns:
            The decision; its value is None when no usable answer came.
        """
        model, mind = self.model, mind or self.mind
        key = Key(self._round, self._phase, self.unique_id, self._asked.count(self._phase))
        self._asked += (self._phase,)
        ask = kind(
            name,
            observation,
            spec,
            key=key,
            book=model.book,
            answer_format=getattr(mind, "answer_format", model.answer_format),
            agent=self,
            paid=mind.paid,
            position=self.position,
        )
        model.in_flight += 1
        try:
            decision = await put(ask, mind, model.recorder, model.tally, model.max_attempts)
        finally:
            model.in_flight -= 1
        self.attempts += decision.attempts
        return decision
