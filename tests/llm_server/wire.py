"""The bytes of the chat-completions protocol."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .brains import Reply

#: How servers tell the cached tokens of a prompt.
CACHED: dict[str, Callable[[int], dict[str, Any]]] = {
    "openai": lambda cached: {"prompt_tokens_details": {"cached_tokens": cached}},
    "deepseek": lambda cached: {"prompt_cache_hit_tokens": cached},
    "moonshot": lambda cached: {"cached_tokens": cached},
}
#: How servers report the thought tokens: (answered, thought) → the fields of the usage.
THOUGHTS: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "openai": lambda said, thought: {
        "completion_tokens": said + thought,
        "completion_tokens_details": {"reasoning_tokens": thought},
    },
    "total": lambda said, _thought: {"completion_tokens": said},
    "not": lambda said, thought: {"completion_tokens": said + thought},
}
_encode = json.JSONEncoder(separators=(",", ":")).encode


def message_text(message: dict[str, Any]) -> str:
    """The text of one message, whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def prompt_text(messages: Sequence[dict[str, Any]]) -> str:
    """All messages as one text, in the order in which a model would read them."""
    return "\n".join(f"{m.get('role')}\n{message_text(m)}" for m in messages)


def tokens(text: str) -> int:
    """A rough token count: four characters each."""
    return (len(text) + 3) // 4


def completion(
    number: int,
    model: str,
    replies: Sequence[Reply],
    usage: tuple[int, int] | None,
    cached_as: str = "openai",
    thoughts_as: str = "openai",
    more: Mapping[str, Any] | None = None,
) -> bytes:
    """The body of a 200.

    Args:
        number: The request's number, for the answer's id.
        model: The served model's name.
        replies: One a choice; may be empty.
        usage: Prompt tokens and the cached ones among them, or None to leave usage out.
        cached_as: The form in which cached tokens are reported: a key of `CACHED`.
        thoughts_as: The form in which thought tokens are reported: a key of `THOUGHTS`.
        more: More fields of the body.
    """
    payload: dict[str, Any] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        **(more or {}),
        "choices": [
            {
                "index": index,
                "message": {
                    "role": "assistant",
                    "content": reply.content,
                    "refusal": reply.refusal,
                    **reply.message,
                },
                "logprobs": None,
                "finish_reason": reply.finish_reason,
            }
            for index, reply in enumerate(replies)
        ],
    }
    if usage is not None:
        prompt, cached = usage
        answered, thought = completion_tokens(replies), sum(r.thought_tokens for r in replies)
        told = THOUGHTS[thoughts_as](answered, thought) if thought else {}
        payload["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": answered,
            "total_tokens": prompt + answered + thought,
            **told,
            **CACHED[cached_as](cached),
        }
    return _encode(payload).encode()


def completion_tokens(replies: Sequence[Reply]) -> int:
    """Tokens of all choices together."""
    return sum(
        tokens(r.content or r.refusal or "") if r.completion_tokens is None else r.completion_tokens
        for r in replies
    )


def error(message: str, kind: str, code: str | None = None, param: str | None = None) -> bytes:
    """The body of an error, in the shape in which OpenAI sends it."""
    payload = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return _encode(payload).encode()
