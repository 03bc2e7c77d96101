"""Reading what servers send as a chat completion."""

import math
from typing import Any

import pytest

from sabm_mesa.core.answers import Reply
from sabm_mesa.llm import Request
from sabm_mesa.llm.reading import LONGEST_NAME, read_reply
from tests.llm.support import ask, completion


def read(message: Any, usage: Any = None, **more: Any) -> Reply:
    choice = {"message": message, "finish_reason": "stop"}
    return read_body({"choices": [choice], "usage": usage, **more})


def read_body(body: Any, request: Request | None = None) -> Reply:
    reply = Reply("")
    read_reply(body, request or ask(), reply)
    return reply


def test_all_that_is_reported_is_kept() -> None:
    usage = {
        "prompt_tokens": 30,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 20},
    }
    told = {
        "model": "stub-2026", "id": "chatcmpl-1", "system_fingerprint": "fp_1", "provider": "Azure",
    }  # fmt: skip
    assert read({"content": "42"}, usage, **told) == completion(
        "42",
        "stub-2026",
        prompt_tokens=30,
        completion_tokens=4,
        cached_tokens=20,
        cost_usd=pytest.approx(math.nan, nan_ok=True),
        gateway_cost_usd=pytest.approx(math.nan, nan_ok=True),
        response_id="chatcmpl-1",
        system_fingerprint="fp_1",
        provider="Azure",
    )


@pytest.mark.parametrize(
    ("message", "text", "reason"),
    [
        (None, "", "stop"),
        ({}, "", "stop"),
        ({"content": None}, "", "stop"),
        ({"content": None, "refusal": "No."}, "", "content_filter"),
        ({"content": "42", "refusal": "No."}, "42", "stop"),
        ({"content": [{"type": "text", "text": "4"}, {"text": "2"}, {"type": "x"}]}, "42", "stop"),
        ({"content": "half a pair: \ud83d"}, "half a pair: ?", "stop"),
        ({"content": 42}, "42", "stop"),
        ({"content": 0.5}, "0.5", "stop"),
        ({"content": [{"text": 42}]}, "42", "stop"),
    ],
)
def test_a_text_may_be_missing(message: Any, text: str, reason: str) -> None:
    done = read(message)
    assert (done.answer, done.finish_reason, done.model) == (text, reason, "stub")


@pytest.mark.parametrize(
    ("text", "with_schema", "reason"),
    [
        ('{"answer": 42}' + " \n" * 500, True, "stop"),
        ('<think>Low.</think>{"answer": 42}\n', True, "stop"),
        ('{"answer": 42', True, "length"),
        ("42", True, "length"),
        ("", True, "length"),
        ("[" * 100_000, True, "length"),
        ('{"answer": 42}', False, "length"),
    ],
)
def test_an_object_of_which_only_white_space_was_cut_off_is_whole(
    text: str, with_schema: bool, reason: str
) -> None:
    body = {"choices": [{"message": {"content": text}, "finish_reason": "length"}]}
    request = ask(schema={"type": "object"}) if with_schema else ask()
    done = read_body(body, request)
    assert (done.answer, done.finish_reason) == (text, reason)


def test_names_of_any_length_fit_into_a_recording() -> None:
    long = "x" * 20_000
    choice = {"message": {"content": "42"}, "finish_reason": long}
    done = read_body({"choices": [choice], "model": long, "id": long, "provider": long})
    names = (done.finish_reason, done.model, done.response_id, done.provider)
    assert names == ("x" * LONGEST_NAME,) * 4


def test_there_may_be_no_choice() -> None:
    done = read_body({"choices": []})
    assert (done.answer, done.finish_reason) == ("", "")


@pytest.mark.parametrize("count", [None, "many", -1, math.nan, math.inf, 10**30, [1], True])
def test_a_count_that_is_none_is_zero(count: Any) -> None:
    assert read({"content": "42"}, {"prompt_tokens": count}).prompt_tokens == 0


@pytest.mark.parametrize(
    "said",
    [
        {"prompt_tokens_details": {"cached_tokens": 20}},
        {"prompt_cache_hit_tokens": 20, "prompt_cache_miss_tokens": 10},
        {"cached_tokens": 20},
        {"prompt_cache_hit_tokens": 20, "prompt_tokens_details": {"cached_tokens": 20}},
        {"prompt_cache_hit_tokens": 20, "prompt_tokens_details": None, "cached_tokens": "many"},
    ],
)
def test_cached_tokens_are_read_wherever_they_are_told(said: Any) -> None:
    assert read({"content": "42"}, {"prompt_tokens": 30, **said}).cached_tokens == 20


def test_no_more_tokens_are_cached_than_sent() -> None:
    usage = {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}
    assert read({"content": ""}, usage).cached_tokens == 5


@pytest.mark.parametrize(
    ("message", "text", "thoughts"),
    [
        ({"content": "42", "reasoning_content": "Low."}, "42", "Low."),
        ({"content": "42", "reasoning": "Low."}, "42", "Low."),
        ({"content": "42", "reasoning": "Low.", "reasoning_content": "Low."}, "42", "Low."),
        ({"content": None, "reasoning_content": "Low."}, "", "Low."),
        ({"content": "42", "reasoning_content": None}, "42", ""),
        ({"content": "42", "reasoning": {"effort": "low"}}, "42", ""),
        ({"content": "42", "reasoning_details": [{"type": "x", "summary": "Low."}]}, "42", "Low."),
        ({"content": [{"type": "thinking", "thinking": "Low."}, {"text": "42"}]}, "42", "Low."),
        (
            {"content": [{"type": "thinking", "thinking": [{"text": "Low."}]}, {"text": "42"}]},
            "42",
            "Low.",
        ),
        ({"content": [{"text": "Low.", "thought": True}, {"text": "42"}]}, "42", "Low."),
        ({"content": [{"type": "redacted_thinking", "data": "x"}, {"text": "42"}]}, "42", ""),
        ({"content": "42", "reasoning": "half a pair: \ud83d"}, "42", "half a pair: ?"),
    ],
)
def test_thoughts_are_kept_apart(message: Any, text: str, thoughts: str) -> None:
    done = read(message)
    assert (done.answer, done.thoughts) == (text, thoughts)


@pytest.mark.parametrize(
    ("usage", "received", "thought"),
    [
        # OpenAI, DeepSeek: thoughts are among the tokens of the completion.
        ({"total_tokens": 40, "completion_tokens_details": {"reasoning_tokens": 8}}, 10, 8),
        ({"completion_tokens_details": {"reasoning_tokens": 8}}, 10, 8),
        ({"completion_tokens_details": {"reasoning_tokens": 80}}, 10, 10),
        ({"completion_tokens_details": None}, 10, 0),
        ({"total_tokens": 40, "reasoning_tokens": 8}, 10, 8),  # Perplexity
        # Gemini, xAI: they are in the total alone.
        ({"total_tokens": 90}, 60, 50),
        ({"total_tokens": 90, "completion_tokens_details": {"reasoning_tokens": 50}}, 60, 50),
        ({"total_tokens": 3}, 10, 0),
    ],
)
def test_tokens_of_thoughts_are_counted_wherever_they_are_told(
    usage: Any, received: int, thought: int
) -> None:
    done = read({"content": "42"}, {"prompt_tokens": 30, "completion_tokens": 10, **usage})
    assert (done.completion_tokens, done.thought_tokens) == (received, thought)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (None, "it has no choices"),
        ([], "list in place of an object"),
        ("text", "str in place of an object"),
        ({"choices": None}, "it has no choices"),
        ({"choices": {}}, "it has no choices"),
        ({"choices": ["42"]}, "str in place of an object"),
        ({"choices": [{"message": "42"}]}, "str in place of an object"),
        ({"choices": [{"message": {"content": True}}]}, "bool in place of a text"),
        ({"choices": [{"message": {"content": {}}}]}, "dict in place of a text"),
    ],
)
def test_what_is_no_completion_is_no_answer(body: Any, problem: str) -> None:
    with pytest.raises(ValueError, match="^" + problem):
        read_body(body)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        # openrouter.ai/docs/use-cases/usage-accounting
        ({"cost": 0.95, "cost_details": {"upstream_inference_cost": 19}}, 0.95),
        ({"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.9}}, 0.95),
        ({"cost": 0.05, "is_byok": True, "cost_details": None}, 0.05),
        ({"cost": 0}, 0.0),
        ({"cost": None}, math.nan),
        ({"cost": "0.1"}, math.nan),
        ({"cost": -0.1}, math.nan),
        ({"cost": 1e9}, math.nan),
        (
            {"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": "?"}},
            math.nan,
        ),
        ({}, math.nan),
    ],
)
def test_what_the_server_says_it_cost(usage: dict[str, Any], dollars: float) -> None:
    told = {"prompt_tokens": 194, "completion_tokens": 2, **usage}
    assert read({"content": "42"}, told).cost_usd == pytest.approx(dollars, nan_ok=True)


def test_tokens_put_into_a_cache_are_told() -> None:
    usage = {"prompt_tokens": 194, "prompt_tokens_details": {"cache_write_tokens": 100}}
    assert read({"content": "42"}, usage).cache_write_tokens == 100
    usage["prompt_tokens"] = 90
    assert read({"content": "42"}, usage).cache_write_tokens == 90
