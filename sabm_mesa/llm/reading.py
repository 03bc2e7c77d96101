"""Reading a server's responses: leniently where the text may be missing, strictly elsewhere."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from sabm_mesa.core.answers import BY_FILTER, BY_LENGTH, Reply, replace_surrogates
from sabm_mesa.core.thoughts import join_thoughts, split_thoughts
from sabm_mesa.llm.request import Request

_MOST_TOKENS = 10**9
"""A larger count is a mistake of the server."""
_MOST_DOLLARS = 10**6
"""A higher cost of one request is a mistake of the server, too."""
LONGEST_NAME = 1_000
"""Characters of a name, an id or a reason that are kept; a longer one is a mistake, too."""
_COST_HEADER = "x-litellm-response-cost"
_NUMBERS = int, float
_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
"""Fields of a message that hold thoughts: DeepSeek, vLLM, SGLang and llama.cpp send the first,
OpenRouter, newer vLLM, Groq and Ollama the second, and OpenRouter the last; Anthropic and Mistral
have parts with the third.
"""
_BY_FILTER = {"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "sensitive"}
"""Reasons to finish of an answer that was declined: OpenAI, Anthropic, Google, Zhipu."""
_FILTER_CODES = {
    "content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation",
    "data_inspection_failed", "DataInspectionFailed", "1301",
}  # fmt: skip
"""Codes of a prompt that was refused: Azure, OpenAI, Azure's inner error, Alibaba, Zhipu."""
_FILTER_WORDS = (
    "content management policy", "Content Exists Risk", "ContentPolicyViolationError",
    "rejected as a result of our safety system",
)  # fmt: skip
"""Azure, also behind a gateway; DeepSeek; LiteLLM; OpenAI behind a gateway."""
_PARTS_OF_THOUGHT = {"thinking", "redacted_thinking", "reasoning", "thought"}


def read_reply(body: Any, request: Request, reply: Reply) -> None:
    """Read the body of an answer into a reply.

    Counts that the server does not report, or not as numbers, are 0.

    Raises:
        ValueError: when it is not a chat completion.
    """
    body = _table(body)
    choices = _list(body, "choices")
    choice = _table(choices[0]) if choices else {}
    message = _table(choice.get("message"))
    content = message.get("content")
    text = _text(content)
    reported = [message[name] for name in _THOUGHTS if name in message]
    if isinstance(content, list):
        reported += filter(_is_thought, content)
    reason = _word(choice.get("finish_reason"))
    if (message.get("refusal") and not text) or reason.casefold() in _BY_FILTER:
        reason = BY_FILTER
    if reason == BY_LENGTH and request.schema is not None and _is_whole(text):
        reason = "stop"
    usage = read_fields(body.get("usage"))
    reply.answer, reply.finish_reason = text, reason
    reply.thoughts = join_thoughts(*map(_thoughts, reported))
    reply.model = _word(body.get("model")) or request.model
    reply.prompt_tokens = read_count(usage.get("prompt_tokens"))
    reply.completion_tokens, reply.thought_tokens = _received(usage, reply.prompt_tokens)
    reply.cached_tokens = min(_cached(usage), reply.prompt_tokens)
    reply.cache_write_tokens = min(_written(usage), reply.prompt_tokens)
    reply.cost_usd = _dollars(usage)
    reply.response_id = _word(body.get("id"))
    reply.system_fingerprint = _word(body.get("system_fingerprint"))
    reply.provider = _word(body.get("provider")) or reply.provider


def error_in(body: Any) -> tuple[int, Any] | None:
    """The error in the body of a response with status 200, as OpenRouter sends it.

    Returns:
        The status that the error states, by default 500, and the error; None without one.
    """
    body = read_fields(body)
    choices = body.get("choices")
    choice = read_fields(choices[0]) if isinstance(choices, list) and choices else {}
    error = body.get("error") or choice.get("error")
    if not error and choice.get("finish_reason") != "error":
        return None
    code = str(read_fields(error).get("code") or "")
    status = int(code) if re.fullmatch("[45][0-9][0-9]", code) else 500
    return status, error or "the answer ended by an error"


def is_filtered(body: Any) -> bool:
    """Whether the body of an error says that a content filter refused the prompt."""
    if isinstance(body, str):
        return any(words in body for words in _FILTER_WORDS)
    if isinstance(body, list):
        return any(map(is_filtered, body))
    if not isinstance(body, dict):
        return False
    reported = (body.get(name) for name in ("message", "error", "innererror", "metadata", "raw"))
    return str(body.get("code")) in _FILTER_CODES or any(map(is_filtered, reported))


def texts_in(body: Any) -> str:
    """All texts in the body of an error, at any depth; JSON in a text is read as well."""
    if isinstance(body, str):
        if body.lstrip()[:1] in {"{", "["}:
            try:
                return texts_in(json.loads(body))
            except (ValueError, RecursionError):
                return body
        return body
    if isinstance(body, Mapping):
        reported = (
            v for k, v in body.items() if k not in {"input", "url", "request_id", "user_id"}
        )
        return " ".join(filter(None, map(texts_in, reported)))
    if isinstance(body, list | tuple):
        return " ".join(filter(None, map(texts_in, body)))
    return ""


def _is_whole(text: str) -> bool:
    """Whether a text is a whole JSON object, of which only white space was cut off."""
    try:
        return isinstance(json.loads(split_thoughts(text).answer), dict)
    except (ValueError, RecursionError):
        return False


def _received(usage: dict[str, Any], prompt_tokens: int) -> tuple[int, int]:
    """The tokens received, and the thought tokens among them.

    OpenAI, DeepSeek and most others count thoughts among the tokens of the completion. Gemini and
    xAI count them only in the total.
    """
    reported = read_count(usage.get("completion_tokens"))
    details = read_fields(usage.get("completion_tokens_details"))
    thoughts = max(
        read_count(details.get("reasoning_tokens")), read_count(usage.get("reasoning_tokens"))
    )
    beyond = max(0, read_count(usage.get("total_tokens")) - prompt_tokens - reported)
    if beyond and _is_count(usage.get("completion_tokens")):
        return reported + beyond, max(thoughts, beyond)
    return reported, min(thoughts, reported)


def _is_thought(part: Any) -> bool:
    """Whether a part of a content is a thought: by its type, or by Google's mark."""
    return isinstance(part, dict) and (
        part.get("type") in _PARTS_OF_THOUGHT or part.get("thought") is True
    )


def _thoughts(value: Any) -> str:
    """The text of thoughts, which servers send as a text, an object, or a list of either."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return "".join(map(_thoughts, value))
    if isinstance(value, dict):
        reported = (
            value.get(name) for name in ("thinking", "text", "summary", "reasoning", "content")
        )
        return next((text for text in map(_thoughts, reported) if text), "")
    return ""


def _cached(usage: dict[str, Any]) -> int:
    """The cached tokens, wherever the server reports them.

    OpenAI, vLLM and most others report them among the details of the prompt, DeepSeek as
    ``prompt_cache_hit_tokens``, Moonshot as ``cached_tokens``.
    """
    details = read_fields(usage.get("prompt_tokens_details"))
    reported = details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens")
    return max(map(read_count, (*reported, usage.get("cached_tokens"))))


def _written(usage: dict[str, Any]) -> int:
    """The tokens put into a cache, as OpenRouter reports them."""
    return read_count(read_fields(usage.get("prompt_tokens_details")).get("cache_write_tokens"))


def _dollars(usage: dict[str, Any]) -> float:
    """The dollars that the server reports, as OpenRouter does; NaN without any.

    With the user's own key at a provider the cost is only OpenRouter's fee, and the provider bills
    separately. Source: openrouter.ai/docs/use-cases/usage-accounting.
    """
    reported = [usage.get("cost")]
    if usage.get("is_byok") is True:
        reported.append(
            read_fields(usage.get("cost_details")).get("upstream_inference_cost") or 0.0
        )
    dollars = [amount for amount in reported if is_number(amount) and 0 <= amount < _MOST_DOLLARS]
    return math.fsum(dollars) if len(dollars) == len(reported) else math.nan


def gateway_dollars(headers: Mapping[str, str]) -> float:
    """The dollars that a LiteLLM gateway computed, from the headers; NaN without any."""
    try:
        dollars = float(headers.get(_COST_HEADER, ""))
    except ValueError:
        return math.nan
    return dollars if 0 <= dollars < _MOST_DOLLARS else math.nan


def _list(body: dict[str, Any], name: str) -> list[Any]:
    """A required list of the body."""
    items = body.get(name)
    if not isinstance(items, list):
        raise ValueError(f"it has no {name}")  # noqa: TRY004
    return items


def _table(value: Any) -> dict[str, Any]:
    """The object itself; an empty one in place of a null."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{type(value).__name__} in place of an object")  # noqa: TRY004
    return value


def _text(content: Any) -> str:
    """The text of a message, which some servers send in parts, with thoughts among them."""
    if isinstance(content, list):
        answer_parts = (part for part in content if not _is_thought(part))
        return "".join(_text(_table(part).get("text")) for part in answer_parts)
    if content is None:
        return ""
    if is_number(content):
        return str(content)
    if not isinstance(content, str):
        raise ValueError(f"{type(content).__name__} in place of a text")  # noqa: TRY004
    return replace_surrogates(content)


def _word(value: Any) -> str:
    """A name as a server states it, at most as long as a recording may hold; "" if it is none."""
    return replace_surrogates(value)[:LONGEST_NAME] if isinstance(value, str) else ""


def read_count(value: Any) -> int:
    """Read a count; 0 for anything else."""
    return int(value) if _is_count(value) else 0


def read_fields(value: Any) -> dict[str, Any]:
    """Read an optional object of an answer; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of JSON is a number."""
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def _is_count(value: Any) -> TypeGuard[float]:
    return is_number(value) and 0 <= value < _MOST_TOKENS
