"""The one-method interface behind which every language model stands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from sabm_mesa.core.asks import SentNotes, canonical_json

_SENDING = {"needed", "sent_notes", "room"}
"""Fields of a request that determine how it is sent, not its content."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request for a chat completion.

    Attributes:
        model: the name of the model.
        messages: (role, content) of each message.
        temperature: sampling temperature; None leaves it to the server.
        max_tokens: the maximum number of tokens of the answer; None leaves it to the server.
        top_p: nucleus sampling; None leaves it to the server.
        schema: JSON schema of the answer, or None for plain text.
        seed: seed of the sampling; None leaves it to the server.
        needed: parameters that the study depends on: it fails when the model does not support them.
        sent_notes: notes it before it is sent, or None.
        reasoning_effort: the effort of a thinking model, in the words of the server, such as
            ``"low"``; None leaves it to the server.
        max_thought_tokens: the maximum number of thought tokens, in addition to those of the
            answer. None chooses it from the model's answers.
        extra_body: name → value of more fields of the request.
        room: the tokens that a thinking model gets for thoughts, in addition to those of the
            answer, when `max_thought_tokens` is None.
    """

    model: str
    messages: tuple[tuple[str, str], ...]
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    schema: dict[str, Any] | None = None
    seed: int | None = None
    needed: frozenset[str] = frozenset()
    sent_notes: SentNotes | None = field(default=None, repr=False, compare=False)
    reasoning_effort: str | None = None
    max_thought_tokens: int | None = None
    extra_body: Mapping[str, Any] | None = None
    room: int = 0

    @property
    def limit(self) -> int | None:
        """The limit sent for the tokens of the answer and its thoughts; None when none is sent."""
        if self.max_tokens is None:
            return None
        return self.max_tokens + (self.max_thought_tokens or self.room)

    @property
    def texts(self) -> list[str]:
        """All that the model reads: the content of each message."""
        return [content for _, content in self.messages]

    def digest(self) -> str:
        """SHA-256 of the exact request, hexadecimal."""
        parts = {name: getattr(self, name) for name in _CONTENT}
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


_CONTENT = tuple(name for name in Request.__slots__ if name not in _SENDING)


class Completion(NamedTuple):
    """Response of a server to a request.

    Attributes:
        text: the answer; ``""`` when the server sent none. A server that does not split thoughts
            from answers leaves them in it, for `sabm_mesa.core.thoughts` to split off.
        thoughts: the thoughts that the server keeps apart from the text.
        model: the model the server says it used.
        finish_reason: why it stopped: ``"stop"``, ``"length"``, ``"content_filter"``, …
        prompt_tokens: tokens sent.
        completion_tokens: tokens received, those of thoughts included.
        cached_tokens: tokens sent that the server had in its prompt cache.
        cache_write_tokens: tokens sent that it wrote to that cache, if it charges for that.
        thought_tokens: thought tokens, as far as the server reports them.
        latency_s: seconds from sending to the whole answer.
        cost_usd: dollars, as reported by the server or from the price table; NaN when unknown.
        gateway_cost_usd: dollars by the price table of a gateway, which count for a model without
            a price of its own; NaN when unknown.
        retries: how often the request had to be sent again.
        stopped: whether the run was stopped while the answer was under way.
        note: the note of its request among the sent ones, or None.
        asked_model: the requested model.
        response_id: the id that the server gave the response.
        system_fingerprint: the configuration of the server, as far as it reports it.
        provider: the provider that answered, as a gateway reports it; else the endpoint.
        parameters: the parameters of the request ``sent``, and those ``asked`` for where they
            differ, as JSON; ``""`` when nothing was sent.
    """

    text: str
    model: str = ""
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    thought_tokens: int = 0
    thoughts: str = ""
    latency_s: float = 0.0
    cost_usd: float = float("nan")
    gateway_cost_usd: float = float("nan")
    retries: int = 0
    stopped: bool = False
    note: int | None = None
    asked_model: str = ""
    response_id: str = ""
    system_fingerprint: str = ""
    provider: str = ""
    parameters: str = ""


class Client(Protocol):
    """Interface of a client that completes a chat."""

    async def complete(self, request: Request) -> Completion:
        """Complete a chat.

        Raises:
            LLMError: when there is no answer.
            BudgetExceeded: when the request could pass a cap.
        """
