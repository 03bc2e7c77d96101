"""Reading a chat completion: leniently where the text may be missing, strictly elsewhere."""

from __future__ import annotations

from typing import Any

from sabm_mesa.answers import sound
from sabm_mesa.llm.client import Completion, Request

_MOST_TOKENS = 10**9
"""A larger count is a mistake of the server."""


def read_completion(body: Any, request: Request, latency_s: float) -> Completion:
    """Read the body of an answer.

    Args:
        body: the body, from JSON.
        request: what was asked.
        latency_s: seconds from sending to the whole answer.

    Returns:
        The completion; counts that the server does not report are 0.

    Raises:
        ValueError: when it is no chat completion.
    """
    body = _table(body)
    choices = body.get("choices")
    if not isinstance(choices, list):
        problem = _table(body.get("error")).get("message")
        raise ValueError(str(problem or "it has no choices"))  # noqa: TRY004
    choice = _table(choices[0]) if choices else {}
    message = _table(choice.get("message"))
    text = _text(message.get("content"))
    refused = message.get("refusal") and not text
    usage = _table(body.get("usage"))
    prompt_tokens = _count(usage.get("prompt_tokens"))
    cached_tokens = _count(_table(usage.get("prompt_tokens_details")).get("cached_tokens"))
    return Completion(
        text=text,
        model=sound(str(body.get("model") or request.model)),
        finish_reason="content_filter"
        if refused
        else sound(str(choice.get("finish_reason") or "")),
        prompt_tokens=prompt_tokens,
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=min(cached_tokens, prompt_tokens),
        latency_s=latency_s,
    )


def _table(value: Any) -> dict[str, Any]:
    """The object itself; an empty one in place of a null."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{type(value).__name__} in place of an object")  # noqa: TRY004
    return value


def _text(content: Any) -> str:
    """The text of a message, which some servers send in parts."""
    if isinstance(content, list):
        return "".join(_text(_table(part).get("text")) for part in content)
    if content is None:
        return ""
    if not isinstance(content, str):
        raise ValueError(f"{type(content).__name__} in place of a text")  # noqa: TRY004
    return sound(content)


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < _MOST_TOKENS else 0
