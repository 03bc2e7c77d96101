"""A request to a language model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
        sent_notes: writes its row before it is sent, or None.
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
