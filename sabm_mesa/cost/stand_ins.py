"""Stand-ins: they answer for minds that are paid for, and nothing is paid."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.asks import Ask, Mind
from sabm_mesa.decisions import AnswerSpec, Choice, Number, Text
from sabm_mesa.minds import language_model

if TYPE_CHECKING:
    from sabm_mesa.minds.llm import LLMSettings
    from sabm_mesa.models.base import SmartModel

Length = Callable[[str, str, Text], int]
"""(question, mind, spec) → letters of the text that is said."""

FARTHEST = 1e9
"""Stands for an infinite end of a range when a number is drawn."""


class Manner(Enum):
    """How stand-ins decide; texts are filler in every manner."""

    CLASSICAL = "as the scenario's default classical mind, or at random where there is none"
    AGREED = "all alike: the middle of a range, the first option"
    DRAWN = "at random among the legal answers"
    STILL = "at random, but in the last phase of a round unusably, so that nobody moves"


class StandIn:
    """Stands in for a mind that is paid for.

    Scenarios may read attributes of a mind of their own (such as what it knows): those of the
    default classical mind are found here.

    Args:
        mind: the mind that it stands in for: a spec or an object.
        manner: how it decides.
        length: how long its texts are.
        scenario: the model class.
        notice: what is called with every question that is paid for.

    Attributes:
        costs: whether the answers of the mind are paid for.
        language_model: the name of the language model, ``""`` when it is none.
        settings: how it is asked; None: as the parameters say.
    """

    instant = True
    paid = False

    def __init__(
        self,
        mind: Any,
        manner: Manner,
        length: Length,
        scenario: type[SmartModel],
        notice: Callable[[str, Ask], None],
    ) -> None:
        self.spec: str = mind if isinstance(mind, str) else mind_name(mind)
        self.costs: bool = getattr(mind, "paid", True)
        self.language_model: str = getattr(mind, "model", "") or language_model(self.spec)
        self.settings: LLMSettings | None = getattr(mind, "settings", None)
        self._manner, self._length, self._notice = manner, length, notice
        self._last_phase = scenario.phases[-1].name
        self._make = scenario.classical_minds.get("default")
        self._example = None if self._make is None else self._make("classical")
        self._minds: dict[int, Mind] = {}

    def __getattr__(self, name: str) -> Any:
        """What a scenario reads of a mind beyond the protocol."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._example, name)

    async def answer(self, ask: Ask) -> object:
        """Answer a question.

        Args:
            ask: the question; asked again it is not counted, and answered unusably once more.
        """
        if ask.rejected:
            return ""
        if self.costs:
            self._notice(self.spec, ask)
        if isinstance(ask.spec, Text):
            return "x" * max(1, self._length(ask.name, self.spec, ask.spec))
        if self._manner is Manner.STILL and ask.key.phase == self._last_phase:
            return ""
        if self._manner is Manner.AGREED:
            return _middle(ask.spec)
        if self._manner is Manner.CLASSICAL and self._make is not None:
            agent = ask.key.agent
            if agent not in self._minds:
                self._minds[agent] = self._make("classical")
            return await self._minds[agent].answer(ask)
        return _drawn(ask.spec, ask.rng)


def mind_name(mind: Any) -> str:
    """How a mind object is named in the data."""
    return str(getattr(mind, "spec", type(mind).__name__))


def _middle(spec: AnswerSpec) -> object:
    if isinstance(spec, Choice):
        return spec.options[0]
    assert isinstance(spec, Number)
    low, high = _ends(spec)
    middle = (low + high) / 2
    if spec.integer:
        return math.floor(middle)
    short = float(f"{middle:.2g}")
    return short if low <= short <= high else middle


def _drawn(spec: AnswerSpec, rng: np.random.Generator) -> object:
    if isinstance(spec, Choice):
        return spec.options[int(rng.integers(len(spec.options)))]
    assert isinstance(spec, Number)
    low, high = _ends(spec)
    if spec.integer:
        return int(rng.integers(math.ceil(low), math.floor(high) + 1))
    return float(rng.uniform(low, high))


def _ends(spec: Number) -> tuple[float, float]:
    return max(spec.low, -FARTHEST), min(spec.high, FARTHEST)
