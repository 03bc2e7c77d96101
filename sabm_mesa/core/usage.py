"""Cost and failures of the asks of a run: by round, by agent and in total."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from sabm_mesa.core.answers import BY_FILTER, BY_LENGTH, BrokenRule, Decision, Reply

DECIMALS = 12
"""A sum of dollars below a thousand has no rounding error to this number of decimals."""


class Failures(NamedTuple):
    """Failures of the asks of one agent in one round; see `Usage` for the counts."""

    invalid: int = 0
    reasks: int = 0
    retries: int = 0
    refused: int = 0
    truncated: int = 0

    def plus(self, more: Failures) -> Failures:
        """The sum of both, count by count."""
        return Failures(*(a + b for a, b in zip(self, more, strict=True)))


NO_FAILURES = Failures()
"""The failures of an agent without failures."""


@dataclass(slots=True)
class Usage:
    """Sums over asks.

    Attributes:
        asks: questions that minds were asked (a question that is asked again counts once).
        invalid: questions that got no usable answer within the allowed attempts.
        reasks: times a question was asked again because its answer could not be used.
        retries: times a request was sent again because the server did not answer it.
        refused: answers that the server marked as declined or as ended by a content filter.
            A refusal in plain words is an invalid answer.
        truncated: answers that ended at the limit of tokens, whether or not they could be used.
        with_digits: texts that were used although they have digits where none are allowed.
        too_long: texts that were cut, since they were longer than allowed.
        prompt_tokens: tokens sent.
        cached_tokens: tokens sent that the server had in its prompt cache.
        completion_tokens: tokens received, those of thoughts included.
        thought_tokens: thought tokens, as far as servers report them.
        cost_usd: dollars, to `DECIMALS` decimals, so that the order of the answers does not matter;
            NaN as soon as one came from a model without a known price.
        by_agent: agent → the failures of its asks; agents without failures are left out, and so are
            sums.
    """

    asks: int = 0
    invalid: int = 0
    reasks: int = 0
    retries: int = 0
    refused: int = 0
    truncated: int = 0
    with_digits: int = 0
    too_long: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    thought_tokens: int = 0
    cost_usd: float = 0.0
    by_agent: dict[int, Failures] = field(default_factory=dict, repr=False, compare=False)

    def add_reply(self, reply: Reply, agent: int) -> None:
        """Count the cost of one answer to an agent's question."""
        if reply.retries or reply.finish_reason:
            refused, truncated = reply.finish_reason == BY_FILTER, reply.finish_reason == BY_LENGTH
            if reply.retries or refused or truncated:
                self._fail(agent, Failures(0, 0, reply.retries, int(refused), int(truncated)))
        if reply.prompt_tokens or reply.completion_tokens:
            self.prompt_tokens += reply.prompt_tokens
            self.cached_tokens += reply.cached_tokens
            self.completion_tokens += reply.completion_tokens
            self.thought_tokens += reply.thought_tokens
        if reply.cost_usd:
            self.cost_usd = _sum(self.cost_usd, round(reply.cost_usd, DECIMALS))

    def add_decision(self, decision: Decision, agent: int) -> None:
        """Count one question of an agent that was decided."""
        self.asks += 1
        if decision.reason or decision.attempts > 1:
            self._fail(agent, Failures(int(not decision.valid), decision.attempts - 1))

    def add_broken_rules(self, rules: Iterable[BrokenRule]) -> None:
        """Count the rules of form that an answer breaks which is used nevertheless."""
        for rule in rules:
            setattr(self, rule, getattr(self, rule) + 1)

    def _fail(self, agent: int, new: Failures) -> None:
        for name, count in new._asdict().items():
            setattr(self, name, getattr(self, name) + count)
        self.by_agent[agent] = self.by_agent.get(agent, NO_FAILURES).plus(new)

    def add(self, other: Usage) -> None:
        """Add the counts of another one."""
        for name in _SUMMED:
            if value := getattr(other, name):
                setattr(self, name, _sum(getattr(self, name), value))

    def subtract(self, other: Usage) -> None:
        """Subtract another sum from this one."""
        for name, value in other:
            setattr(self, name, _sum(getattr(self, name), -value))

    @property
    def tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """Yield names and sums, so that ``dict(usage)`` is a row of data."""
        return ((name, getattr(self, name)) for name in _SUMMED)


_SUMMED = [counter.name for counter in fields(Usage) if counter.name != "by_agent"]


def _sum(a: float, b: float) -> float:
    return round(a + b, DECIMALS)
