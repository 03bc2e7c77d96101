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
FILLER = "xxxxxx; "
"""A long word; a scenario that takes a text apart finds as many parts as it looks for."""
ACTION = "act"


class Manner(Enum):
    """How stand-ins decide; their texts are filler, after the words of a classical mind if any."""

    CLASSICAL = "as the scenario's default classical mind, or at random where there is none"
    AGREED = "all alike: the middle of a range, the first option"
    LAST = "all alike: the high end of a range, the last option"
    DRAWN = "at random among the legal answers"
    STILL = "at random, but unusably in the phase of action, so that nobody moves or takes anything"


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
        self._action = _phase_of_action(scenario)
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
            said = await self._classical(ask) if self._manner is Manner.CLASSICAL else None
            text = filled(said, self._length(ask.name, self.spec, ask.spec))
            return ask.spec.with_end(text, said) if isinstance(said, str) else text
        if self._manner is Manner.STILL and ask.key.phase == self._action:
            return ""
        if self._manner is Manner.AGREED:
            return _middle(ask.spec)
        if self._manner is Manner.LAST:
            return _last(ask.spec)
        if self._manner is Manner.CLASSICAL and self._make is not None:
            return await self._classical(ask)
        return drawn(ask.spec, ask.rng)

    async def _classical(self, ask: Ask) -> object:
        """What the agent's own copy of the default classical mind answers; None without one."""
        if self._make is None:
            return None
        agent = ask.key.agent
        if agent not in self._minds:
            self._minds[agent] = self._make("classical")
        return await self._minds[agent].answer(ask)


def filled(said: object, length: int) -> str:
    """A text of this length: what was said, and filler after it.

    Args:
        said: the words of a classical mind; what is no text is left out.
        length: letters (at least 1).
    """
    words = f"{said} " if isinstance(said, str) and said else ""
    return (words + FILLER * (length // len(FILLER) + 1))[: max(1, length)]


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


def _last(spec: AnswerSpec) -> object:
    if isinstance(spec, Choice):
        return spec.options[-1]
    assert isinstance(spec, Number)
    high = _ends(spec)[1]
    return math.floor(high) if spec.integer else high


def drawn(spec: AnswerSpec, rng: np.random.Generator) -> object:
    """A legal answer at random; infinite ends of a range stand at a thousand million.

    Args:
        spec: a number or a choice.
        rng: where it is drawn from.
    """
    if isinstance(spec, Choice):
        return spec.options[int(rng.integers(len(spec.options)))]
    assert isinstance(spec, Number)
    low, high = _ends(spec)
    if spec.integer:
        return int(rng.integers(math.ceil(low), math.floor(high) + 1))
    return float(rng.uniform(low, high))


def _ends(spec: Number) -> tuple[float, float]:
    return max(spec.low, -FARTHEST), min(spec.high, FARTHEST)


def _phase_of_action(scenario: type[SmartModel]) -> str:
    """The phase in which agents change the world: the one of that name, or the last."""
    names = [phase.name for phase in scenario.phases]
    return ACTION if ACTION in names else names[-1]
