"""What an estimate says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sabm_mesa.cost import ranges
from sabm_mesa.cost.ranges import ZERO, Range


@dataclass(frozen=True, slots=True)
class Cost:
    """What some asks cost.

    Attributes:
        asks: questions.
        requests: what is sent for them: a question that is asked again is one more.
        prompt_tokens: tokens sent.
        completion_tokens: tokens received.
        usd: dollars; NaN when a price is not known.
    """

    asks: Range = ZERO
    requests: Range = ZERO
    prompt_tokens: Range = ZERO
    completion_tokens: Range = ZERO
    usd: Range = ZERO


@dataclass(frozen=True, slots=True)
class Line:
    """What one question to one mind costs in all runs.

    Attributes:
        question: the name of the question.
        mind: the spec of the mind.
        cost: what it costs.
    """

    question: str
    mind: str
    cost: Cost


@dataclass(frozen=True, slots=True)
class Typical:
    """One guess between low and high: answers of a sentence each, all of them usable.

    Attributes:
        asks: questions.
        prompt_tokens: tokens sent.
        completion_tokens: tokens received.
        usd: dollars without any cache; NaN when a price is not known.
    """

    asks: float
    prompt_tokens: float
    completion_tokens: float
    usd: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What runs will cost.

    Attributes:
        scenario: the name of the scenario.
        title: its title.
        runs: the number of runs.
        n_rounds: rounds of a run at the most.
        minds: spec → number of agents.
        lines: by question and mind, those that are paid for alone; none when nothing is.
        notes: what the numbers rest on, and what is not known, in sentences.
        typical: what all runs cost when everybody speaks in sentences; None when nothing is paid
            for, and with a recording, which says more.
    """

    scenario: str
    title: str
    runs: int
    n_rounds: int
    minds: Mapping[str, int]
    lines: Sequence[Line]
    notes: Sequence[str]
    typical: Typical | None = None

    @property
    def total(self) -> Cost:
        """What all runs cost together."""
        costs = [line.cost for line in self.lines]
        names = Cost.__slots__
        return Cost(*(ranges.total(getattr(cost, name) for cost in costs) for name in names))

    def as_dict(self) -> dict[str, Any]:
        """The estimate as plain data."""
        return {**asdict(self), "total": asdict(self.total)}
