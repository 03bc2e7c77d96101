"""What the asks of a run cost: counted by round and in total."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sabm_mesa.asks import Reply
    from sabm_mesa.decisions import Decision


DECIMALS = 12
"""A sum of dollars below a thousand has no rounding error to so many decimals."""


def _sum(a: float, b: float) -> float:
    return round(a + b, DECIMALS)


@dataclass(slots=True)
class Tally:
    """Sums over asks.

    Attributes:
        asks: questions put to minds (a question that is asked again counts once).
        invalid: questions that got no usable answer within the allowed attempts.
        reasks: times a question was asked again because its answer could not be used.
        retries: times a request was sent again because the server did not answer it.
        prompt_tokens: tokens sent.
        cached_tokens: tokens sent that the server had in its prompt cache.
        completion_tokens: tokens received.
        cost_usd: dollars, to `DECIMALS` decimals, so that the order of the answers makes no
            difference; NaN as soon as one came from a model without a known price.
    """

    asks: int = 0
    invalid: int = 0
    reasks: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0

    def add_reply(self, reply: Reply) -> None:
        """Count what one answer cost."""
        self.retries += reply.retries
        self.prompt_tokens += reply.prompt_tokens
        self.cached_tokens += reply.cached_tokens
        self.completion_tokens += reply.completion_tokens
        self.cost_usd = _sum(self.cost_usd, round(reply.cost_usd, DECIMALS))

    def add_decision(self, decision: Decision) -> None:
        """Count one question that is done with."""
        self.asks += 1
        self.invalid += not decision.valid
        self.reasks += decision.attempts - 1

    def add(self, other: Tally) -> None:
        """Add another tally to this one."""
        for name, value in other:
            setattr(self, name, _sum(getattr(self, name), value))

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """Yield the names and sums, so that ``dict(tally)`` is a row of data."""
        return ((field.name, getattr(self, field.name)) for field in fields(self))
