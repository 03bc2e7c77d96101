"""The one-method interface behind which every language model stands."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """One request for a chat completion.

    Attributes:
        model: the name of the model.
        messages: (role, content) of each message.
        temperature: sampling temperature; None leaves it to the server.
        max_tokens: tokens of the answer at the most; None leaves it to the server.
        top_p: nucleus sampling; None leaves it to the server.
        schema: JSON schema of the answer, or None for plain text.
    """

    model: str
    messages: tuple[tuple[str, str], ...]
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    schema: dict[str, Any] | None = None

    def digest(self) -> str:
        """SHA-256 of the exact request, hexadecimal."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back.

    Attributes:
        text: the answer; ``""`` when the server sent none.
        model: the model the server says it used.
        finish_reason: why it stopped: ``"stop"``, ``"length"``, ``"content_filter"``, …
        prompt_tokens: tokens sent.
        completion_tokens: tokens received.
        cached_tokens: tokens sent that the server had in its prompt cache.
        latency_s: seconds from sending to the whole answer.
        cost_usd: dollars; NaN when the price of the model is not known.
        retries: how often the request had to be sent again.
        stopped: whether the run was stopped while the answer was under way.
    """

    text: str
    model: str = ""
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    latency_s: float = 0.0
    cost_usd: float = float("nan")
    retries: int = 0
    stopped: bool = False


class Client(Protocol):
    """Whatever completes a chat."""

    async def complete(self, request: Request) -> Completion:
        """Complete a chat.

        Raises:
            LLMError: when no answer could be had.
            BudgetExceeded: when the request could pass a cap.
        """
