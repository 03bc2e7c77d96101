"""Brains: what the server answers. Any callable `(messages, body)` will do."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .faults import Fault
from .wire import prompt_text

# No digit, no one-letter word and no common option name: nothing in here parses as an answer.
NONSENSE = (
    "Purple kettles hum beneath nostalgic umbrellas whenever Tuesday forgets itself.",
    "Marmalade negotiates quietly with seven-legged furniture about velvet thunder.",
    "Honestly, penguins iron their melodies before breakfast becomes transparent.",
    "Whispering staircases prefer cinnamon over geography during elastic weather.",
)


@dataclass(frozen=True, slots=True)
class Reply:
    """One choice of an answer, where the text alone does not say enough.

    Attributes:
        content: The answer's text, or None.
        finish_reason: As the API reports it: `stop`, `length`, `content_filter`.
        refusal: The text of a refusal, beside `content=None`.
        completion_tokens: Reported instead of an estimate from the text.
        message: More fields of the message, such as `reasoning`.
        thought_tokens: Tokens of thoughts, in addition to those of the text.
    """

    content: str | None
    finish_reason: str = "stop"
    refusal: str | None = None
    completion_tokens: int | None = None
    message: Mapping[str, Any] = field(default_factory=dict)
    thought_tokens: int = 0


Answer = str | Reply | Fault
#: Returns an answer; may be `async`.
Brain = Callable[[list[dict[str, Any]], dict[str, Any]], Answer | Awaitable[Answer]]


def nonsense(messages: list[dict[str, Any]], _body: dict[str, Any]) -> str:
    """Answer with prose that no answer format can read, the same for the same request."""
    digest = hashlib.sha256(prompt_text(messages).encode("utf-8", "surrogatepass")).digest()
    return NONSENSE[digest[0] % len(NONSENSE)]
