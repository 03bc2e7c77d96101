"""Reading what a server sent: leniently where the text may be missing, strictly elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from sabm_mesa.core.answers import replace_surrogates
from sabm_mesa.llm.client import Completion, Request

_MOST_TOKENS = 10**9
"""A larger count is a mistake of the server."""
_LARGEST = 1e38
"""A 32-bit float holds no number that is much larger."""


def read_completion(body: Any, request: Request, latency_s: float) -> Completion:
    """Read the body of an answer.

    Args:
        body: the body, from JSON.
        request: the request.
        latency_s: seconds from sending to the whole answer.

    Returns:
        The completion; counts that the server does not report are 0. Of a request for several
        answers it has the first, the tokens of all, and in `parts` each that came.

    Raises:
        ValueError: when it is no chat completion.
    """
    body = _table(body)
    found = [_table(choice) for choice in _list(body, "choices")[: request.n]]
    found.sort(key=lambda choice: _count(choice.get("index")))
    answers = [_answer(choice) for choice in found or [{}]]
    usage = _table(body.get("usage"))
    prompt_tokens = _count(usage.get("prompt_tokens"))
    text, reason = answers[0]
    whole = Completion(
        text,
        replace_surrogates(str(body.get("model") or request.model)),
        reason,
        prompt_tokens=prompt_tokens,
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=min(_cached(usage), prompt_tokens),
        latency_s=latency_s,
    )
    return whole if request.n == 1 else replace(whole, parts=_parts(whole, answers))


def read_models(body: Any) -> list[str]:
    """Read the names of the models that an endpoint has.

    Args:
        body: the body of its list, from JSON.

    Raises:
        ValueError: when it is no list of models.
    """
    found = [_table(each).get("id") for each in _list(_table(body), "data")]
    return [replace_surrogates(name) for name in found if isinstance(name, str)]


def _answer(choice: dict[str, Any]) -> tuple[str, str]:
    """The text of a choice, and why it ends."""
    message = _table(choice.get("message"))
    text = _text(message.get("content"))
    if message.get("refusal") and not text:
        return text, "content_filter"
    return text, replace_surrogates(str(choice.get("finish_reason") or ""))


def _cached(usage: dict[str, Any]) -> int:
    """The cached tokens, wherever they are told.

    OpenAI, vLLM and most others tell them among the details of the prompt, DeepSeek as
    ``prompt_cache_hit_tokens``, Moonshot as ``cached_tokens``.
    """
    details = _table(usage.get("prompt_tokens_details"))
    told = details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens")
    return max(map(_count, (*told, usage.get("cached_tokens"))))


def _parts(whole: Completion, answers: Sequence[tuple[str, str]]) -> tuple[Completion, ...]:
    """The answers of one request, each with its share of the tokens; together they are all.

    A server counts the tokens of a request in all. Those that were sent are shared evenly, the
    first answers having one more where they cannot be; those that came in proportion to the
    characters of the answers, each with one more for its end.
    """
    n = len(answers)
    ends = list(accumulate(len(text) + 1 for text, _ in answers))
    received = [0, *(whole.completion_tokens * end // ends[-1] for end in ends)]
    return tuple(
        replace(
            whole,
            text=text,
            finish_reason=reason,
            prompt_tokens=_even(whole.prompt_tokens, n, i),
            cached_tokens=_even(whole.cached_tokens, n, i),
            completion_tokens=received[i + 1] - received[i],
        )
        for i, (text, reason) in enumerate(answers)
    )


def _even(count: int, n: int, i: int) -> int:
    """Share number `i` of `n` of a count."""
    return count // n + (i < count % n)


def read_embeddings(body: Any, request: Request, latency_s: float) -> Completion:
    """Read the body of an answer with embeddings.

    Args:
        body: the body, from JSON.
        request: the request.
        latency_s: seconds from sending to the whole answer.

    Returns:
        A completion whose text has a line for each vector that was sent, in the order of the
        texts; whether they are usable is for others to say.

    Raises:
        ValueError: when it holds no embeddings.
    """
    body = _table(body)
    found = [_table(each) for each in _list(body, "data")]
    in_order = sorted(found, key=lambda each: _count(each.get("index")))
    return Completion(
        text="\n".join(_vector(each.get("embedding")) for each in in_order),
        model=replace_surrogates(str(body.get("model") or request.model)),
        prompt_tokens=_count(_table(body.get("usage")).get("prompt_tokens")),
        latency_s=latency_s,
    )


def _vector(numbers: Any) -> str:
    """A vector in one word: 32-bit floats, little-endian, in base64; ``""`` for what is none."""
    if not isinstance(numbers, list) or not all(_is_number(number) for number in numbers):
        return ""
    return base64.b64encode(np.array(numbers, dtype="<f4").tobytes()).decode()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= _LARGEST


def _list(body: dict[str, Any], name: str) -> list[Any]:
    """A list that the body has to have."""
    found = body.get(name)
    if not isinstance(found, list):
        problem = _table(body.get("error")).get("message")
        raise ValueError(str(problem or f"it has no {name}"))  # noqa: TRY004
    return found


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
    return replace_surrogates(content)


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < _MOST_TOKENS else 0
