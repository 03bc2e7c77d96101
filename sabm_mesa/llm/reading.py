"""Reading a server's responses: leniently where the text may be missing, strictly elsewhere."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeGuard

from sabm_mesa.core.answers import BY_FILTER, BY_LENGTH, replace_surrogates
from sabm_mesa.core.thoughts import join_thoughts, split_thoughts
from sabm_mesa.llm.client import Completion, Request

_MOST_TOKENS = 10**9
"""A larger count is a mistake of the server."""
_MOST_DOLLARS = 10**6
"""A higher cost of one request is a mistake of the server, too."""
_COST_HEADER = "x-litellm-response-cost"
_NUMBERS = int, float
_COUNTED = {
    "prompt_tokens", "completion_tokens", "total_tokens", "reasoning_tokens", "cached_tokens",
    "prompt_cache_hit_tokens", "cache_write_tokens",
}  # fmt: skip
"""Counts in the usage of an answer that are read."""
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


class Origin(NamedTuple):
    """The origin of an answer.

    Attributes:
        provider: the server, if no gateway reports which one answered.
        parameters: those of the request, as `Completion.parameters` has them.
        gateway_cost_usd: as `Completion.gateway_cost_usd`.
    """

    provider: str = ""
    parameters: str = ""
    gateway_cost_usd: float = math.nan


_UNKNOWN = Origin()


class _Answer(NamedTuple):
    """One choice of a server."""

    text: str
    thoughts: str
    reason: str


def read_completion(
    body: Any, request: Request, latency_s: float, origin: Origin = _UNKNOWN
) -> Completion:
    """Read the body of an answer.

    Args:
        body: the body, from JSON.
        request: the request.
        latency_s: seconds from sending to the whole answer.
        origin: its origin.

    Returns:
        The completion; counts that the server does not report, or not as numbers, are 0 (see
        `unreadable_usage`).

    Raises:
        ValueError: when it is not a chat completion.
    """
    body = _table(body)
    choices = _list(body, "choices")
    answer = _answer(_table(choices[0]) if choices else {})
    reason = answer.reason
    if reason == BY_LENGTH and request.schema is not None and _is_whole(answer.text):
        reason = "stop"
    usage = read_fields(body.get("usage"))
    prompt_tokens = read_count(usage.get("prompt_tokens"))
    completion_tokens, thought_tokens = _received(usage, prompt_tokens)
    return Completion(
        answer.text,
        replace_surrogates(str(body.get("model") or request.model)),
        reason,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cached_tokens=min(_cached(usage), prompt_tokens),
        cache_write_tokens=min(_written(usage), prompt_tokens),
        thought_tokens=thought_tokens,
        thoughts=answer.thoughts,
        latency_s=latency_s,
        cost_usd=_dollars(usage),
        asked_model=request.model,
        response_id=_word(body.get("id")),
        system_fingerprint=_word(body.get("system_fingerprint")),
        provider=_word(body.get("provider")) or origin.provider,
        parameters=origin.parameters,
        gateway_cost_usd=origin.gateway_cost_usd,
    )


def error_in(body: Any) -> tuple[int, Any] | None:
    """The error in the body of a response with status 200, as OpenRouter sends it.

    Args:
        body: the body, from JSON.

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
    """Whether the body of an error says that a content filter refused the prompt.

    Args:
        body: the body, from JSON.
    """
    if isinstance(body, str):
        return any(words in body for words in _FILTER_WORDS)
    if isinstance(body, list):
        return any(map(is_filtered, body))
    if not isinstance(body, dict):
        return False
    reported = (body.get(name) for name in ("message", "error", "innererror", "metadata", "raw"))
    return str(body.get("code")) in _FILTER_CODES or any(map(is_filtered, reported))


def read_models(body: Any) -> list[str]:
    """Read the names of the models that an endpoint has.

    Args:
        body: the body of its list, from JSON.

    Raises:
        ValueError: when it is not a list of models.
    """
    identifiers = [_table(model).get("id") for model in _list(_table(body), "data")]
    return [replace_surrogates(name) for name in identifiers if isinstance(name, str)]


def _answer(choice: dict[str, Any]) -> _Answer:
    """The text of a choice, its thoughts, and why it ends."""
    message = _table(choice.get("message"))
    content = message.get("content")
    text = _text(content)
    reported = [message[name] for name in _THOUGHTS if name in message]
    if isinstance(content, list):
        reported += filter(_is_thought, content)
    thoughts = join_thoughts(*map(_thoughts, reported))
    reason = replace_surrogates(str(choice.get("finish_reason") or ""))
    refused = (message.get("refusal") and not text) or reason.casefold() in _BY_FILTER
    return _Answer(text, thoughts, BY_FILTER if refused else reason)


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
    """The dollars that a LiteLLM gateway computed, from the headers of an answer; NaN without any.

    Args:
        headers: the headers.
    """
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
    return replace_surrogates(value) if isinstance(value, str) else ""


def read_count(value: Any) -> int:
    """Read a count; 0 for anything else.

    Args:
        value: the value, from JSON.
    """
    return int(value) if _is_count(value) else 0


def read_fields(value: Any) -> dict[str, Any]:
    """Read an optional object of an answer; an empty one for anything else.

    Args:
        value: the value, from JSON.
    """
    return value if isinstance(value, dict) else {}


def unreadable_usage(body: Any) -> list[str]:
    """The fields of the usage in a body whose values are neither counts nor dollars.

    Args:
        body: the body of an answer, from JSON.
    """
    usage = read_fields(body).get("usage")
    if not isinstance(usage, dict):
        return [] if usage is None else ["usage"]
    unreadable = []
    for name, value in usage.items():
        if value is None:
            continue
        if name.endswith("_details"):
            inner = value.items() if isinstance(value, dict) else [("", value)]
            unreadable += [
                f"{name}.{field}".rstrip(".")
                for field, count in inner
                if not field or (field in _COUNTED and count is not None and not _is_count(count))
            ]
        elif (name in _COUNTED and not _is_count(value)) or (
            name == "cost" and not (is_number(value) and 0 <= value < _MOST_DOLLARS)
        ):
            unreadable.append(name)
    return unreadable


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of JSON is a number.

    Args:
        value: the value.
    """
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def _is_count(value: Any) -> TypeGuard[float]:
    return is_number(value) and 0 <= value < _MOST_TOKENS
