"""Requests and answers in the forms of Anthropic's and Google's interfaces, without a library."""

import json
import sys
from typing import Any

import httpx2
import openai
import pytest

from sabm_mesa import Tools
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm.client import Request
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.native import (
    AnthropicClient,
    GoogleClient,
    _as_of_openai,
    _calls,
    _from_anthropic,
    _from_google,
    _refusal,
    native_client,
)
from sabm_mesa.llm.reading import read_completion
from sabm_mesa.llm.transport import ResponseTooLarge
from tests.llm.support import ask, outcomes
from tests.llm.test_pictures import ROOM
from tests.llm.test_tools import walk

TOOLS = Tools(walk=walk).definitions()
WALK = TOOLS[0]["function"]
SENT = httpx2.Request("POST", "http://127.0.0.1:9/v1")


class Told:
    """Keeps the body that the library would send, and returns an answer in its form."""

    async def _post(self, model: str, body: dict[str, Any]) -> Any:
        self.model, self.body = model, body
        return {"choices": [{"message": {"content": "42"}}]}

    @property
    def base(self) -> Any:
        """The address for the library."""
        return self._base_url


class ToldAnthropic(Told, AnthropicClient):
    pass


class ToldGoogle(Told, GoogleClient):
    pass


def sent(
    kind: type[Any], request: Request, refused: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    """The body of a request to a model that does not take the refused parameters."""
    client = kind(Endpoint("http://127.0.0.1:9/v1", **more), 1.0)
    client.dialect(request.model).changes |= dict.fromkeys(refused)
    (done,) = outcomes(client, [request])
    assert (done.text, client.model) == ("42", request.model)
    body: dict[str, Any] = client.body
    return body


HELLO = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4096}
TAKEN = {"name": "walk", "description": "Walk along the street.",
         "input_schema": WALK["parameters"]}  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "more"),
    [
        (ask(), {}),
        (ask(temperature=0.0, top_p=0.5), {"temperature": 0.0, "top_p": 0.5}),
        (ask(max_tokens=20), {"max_tokens": 20}),
        (ask(max_thought_tokens=2000),
         {"max_tokens": 6096, "thinking": {"type": "enabled", "budget_tokens": 2000}}),
        (ask(reasoning_effort="none"), {"thinking": {"type": "disabled"}}),
        (ask(reasoning_effort="low"),
         {"thinking": {"type": "adaptive", "display": "summarized"},
          "output_config": {"effort": "low"}}),
        (ask(reasoning_effort="low", max_tokens=5, max_thought_tokens=9),
         {"max_tokens": 14, "thinking": {"type": "enabled", "budget_tokens": 9},
          "output_config": {"effort": "low"}}),
        (ask(seed=3), {}),
        (ask(tools=TOOLS), {"tools": [TAKEN], "tool_choice": {"type": "any"}}),
        (ask(tools=TOOLS, reasoning_effort="none"),
         {"tools": [TAKEN], "tool_choice": {"type": "any"}, "thinking": {"type": "disabled"}}),
        (ask(tools=TOOLS, max_thought_tokens=9, max_tokens=5),
         {"tools": [TAKEN], "tool_choice": {"type": "auto"}, "max_tokens": 14,
          "thinking": {"type": "enabled", "budget_tokens": 9}}),
    ],
)  # fmt: skip
def test_what_anthropic_is_sent(request_: Request, more: dict[str, Any]) -> None:
    assert sent(ToldAnthropic, request_) == {**HELLO, **more}
    assert WALK["parameters"]  # the study's own description of its functions is unchanged


@pytest.mark.parametrize(
    ("request_", "config"),
    [
        (ask(), {}),
        (ask(temperature=0.0, top_p=0.5, seed=3, max_tokens=20),
         {"temperature": 0.0, "topP": 0.5, "seed": 3, "maxOutputTokens": 20}),
        (ask(max_thought_tokens=200),
         {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 200}}),
        (ask(reasoning_effort="low"),
         {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"}}),
        (ask(reasoning_effort="low", max_thought_tokens=200),
         {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 200}}),
        (ask(schema={"type": "object"}),
         {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}),
    ],
)  # fmt: skip
def test_what_google_is_sent(request_: Request, config: dict[str, Any]) -> None:
    hello = [{"role": "user", "parts": [{"text": "Hello"}]}]
    assert sent(ToldGoogle, request_) == {"contents": hello, "generationConfig": config}


def test_the_functions_for_google_and_that_it_has_to_call_one_where_it_can() -> None:
    declared = {**WALK, "parametersJsonSchema": WALK["parameters"]}
    del declared["parameters"]
    body = sent(ToldGoogle, ask(tools=TOOLS))
    assert body["tools"] == [{"functionDeclarations": [declared]}]
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}

    free = sent(ToldGoogle, ask(tools=TOOLS), ("tool_choice",))
    assert free["tools"] == body["tools"]
    assert "toolConfig" not in free
    assert sent(ToldAnthropic, ask(tools=TOOLS), ("tool_choice",))["tool_choice"] == {
        "type": "auto"
    }


@pytest.mark.parametrize("kind", [ToldAnthropic, ToldGoogle])
def test_a_model_without_forms_or_functions_is_sent_none(kind: type[Any]) -> None:
    request = ask(schema={"type": "object"}, tools=TOOLS)
    plain = sent(kind, ask())

    assert sent(kind, request, ("response_format", "tools", "tool_choice")) == plain


def test_more_fields_of_the_endpoint_and_of_the_request_are_merged_into_the_body() -> None:
    more = {"generationConfig": {"topK": 5, "topP": 0.1}, "safetySettings": []}
    request = ask(top_p=0.9, seed=3, extra_body=more)
    body = sent(ToldGoogle, request, extra_body={"labels": {"of": "x"}, "safetySettings": [1]})

    assert body["generationConfig"] == {"topP": 0.1, "seed": 3, "topK": 5}
    assert (body["safetySettings"], body["labels"]) == ([], {"of": "x"})


SEE = (("system", f"A {ROOM.mark}."), ("system", "Be brief."), ("user", f"See {ROOM.mark} now."),
       ("assistant", "I do."), ("user", "And?"))  # fmt: skip
IN_WORDS = [ROOM.described(text) for _, text in SEE]


def test_roles_and_pictures_in_the_form_of_anthropic() -> None:
    request = Request("m", SEE, pictures=(ROOM,))
    source = {"type": "base64", "media_type": "image/png", "data": ROOM.base64}
    seen = [
        {"type": "text", "text": "See "},
        {"type": "image", "source": source},
        {"type": "text", "text": " now."},
    ]
    others = [{"role": "assistant", "content": "I do."}, {"role": "user", "content": "And?"}]
    body = sent(ToldAnthropic, request)

    assert body["system"] == "\n\n".join(IN_WORDS[:2])
    assert body["messages"] == [{"role": "user", "content": seen}, *others]
    blind = sent(ToldAnthropic, request, ("pictures",))
    assert blind["messages"] == [{"role": "user", "content": IN_WORDS[2]}, *others]


def test_roles_and_pictures_in_the_form_of_google() -> None:
    request = Request("m", SEE, pictures=(ROOM,))
    seen = [
        {"text": "See "},
        {"inlineData": {"mimeType": "image/png", "data": ROOM.base64}},
        {"text": " now."},
    ]
    others = [
        {"role": "model", "parts": [{"text": "I do."}]},
        {"role": "user", "parts": [{"text": "And?"}]},
    ]
    body = sent(ToldGoogle, request)

    assert body["systemInstruction"] == {"parts": [{"text": "\n\n".join(IN_WORDS[:2])}]}
    assert body["contents"] == [{"role": "user", "parts": seen}, *others]
    blind = sent(ToldGoogle, request, ("pictures",))
    assert blind["contents"] == [{"role": "user", "parts": [{"text": IN_WORDS[2]}]}, *others]


# Answers.


def test_an_answer_of_anthropic_with_all_that_it_reports() -> None:
    body = {
        "id": "msg_1",
        "model": "m-0521",
        "content": [
            {"type": "thinking", "thinking": "Half."},
            {"type": "text", "text": "42"},
        ],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 5,
            "output_tokens": 8,
            "output_tokens_details": {"thinking_tokens": 6},
        },
    }
    done = read_completion(_from_anthropic(body), ask(), 0.1)

    assert (done.text, done.thoughts, done.model, done.response_id) == (
        "42", "Half.", "m-0521", "msg_1",
    )  # fmt: skip
    assert (done.prompt_tokens, done.cached_tokens, done.cache_write_tokens) == (35, 20, 5)
    assert (done.completion_tokens, done.thought_tokens) == (8, 6)
    assert done.finish_reason == "stop"


def test_an_answer_of_google_with_all_that_it_reports() -> None:
    body = {
        "responseId": "r1",
        "modelVersion": "m-0521",
        "candidates": [
            {
                "content": {"parts": [{"text": "Half.", "thought": True}, {"text": "42"}]},
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 30,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 6,
            "cachedContentTokenCount": 20,
        },
    }
    done = read_completion(_from_google(body), ask(), 0.1)

    assert (done.text, done.thoughts, done.model, done.response_id) == (
        "42", "Half.", "m-0521", "r1",
    )  # fmt: skip
    assert (done.prompt_tokens, done.cached_tokens) == (30, 20)
    assert (done.completion_tokens, done.thought_tokens) == (2 + 6, 6)
    assert done.finish_reason == "stop"


@pytest.mark.parametrize(
    ("reason", "means"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "pause_turn"),
        (None, None),
    ],
)
def test_why_anthropic_stopped(reason: Any, means: Any) -> None:
    read = _from_anthropic({"content": [], "stop_reason": reason})

    assert read["choices"][0]["finish_reason"] == means


@pytest.mark.parametrize(
    ("reason", "means"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        *((name, "content_filter") for name in ("SAFETY", "RECITATION", "BLOCKLIST", "SPII",
                                                "PROHIBITED_CONTENT", "MODEL_ARMOR")),
        ("OTHER", "OTHER"),
        (None, None),
    ],
)  # fmt: skip
def test_why_google_stopped(reason: Any, means: Any) -> None:
    read = _from_google({"candidates": [{"finishReason": reason}]})

    assert [choice["finish_reason"] for choice in read["choices"]] == [means]


def test_a_prompt_that_google_blocks_is_a_refused_answer() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    for body in (blocked, {**blocked, "candidates": []}):
        done = read_completion(_from_google(body), ask(), 0.1)
        assert (done.text, done.finish_reason) == ("", "content_filter")
    answered = {**blocked, "candidates": [{"finishReason": "STOP"}]}
    assert _from_google(answered)["choices"][0]["finish_reason"] == "stop"
    assert _from_google({"promptFeedback": {}, "candidates": []})["choices"] == []


OTHER_BODIES: list[Any] = [
    None, "text", [1], {}, {"content": "42"}, {"candidates": {}}, {"embeddings": "x"},
    {"promptFeedback": {"blockReason": ""}}, {"promptFeedback": "SAFETY"},
]  # fmt: skip


@pytest.mark.parametrize("body", OTHER_BODIES, ids=json.dumps)
def test_any_other_body_is_unchanged(body: Any) -> None:
    for read in (_from_anthropic, _from_google):
        assert read(body) is body


@pytest.mark.parametrize("usage", [None, {}, "12", [3]], ids=str)
def test_usage_that_is_none_is_passed_on(usage: Any) -> None:
    assert _from_anthropic({"content": [], "usage": usage})["usage"] == usage
    assert _from_google({"candidates": [], "usageMetadata": usage})["usage"] == usage


@pytest.mark.parametrize("count", ["12", [3], -1, 1e300], ids=str)
def test_a_count_that_is_none_is_not_told(count: Any) -> None:
    usage = {"input_tokens": count, "cache_read_input_tokens": 20, "output_tokens": count}
    message = {"content": [{"type": "text", "text": "42"}], "usage": usage}
    told = {
        "usageMetadata": {"candidatesTokenCount": count, "thoughtsTokenCount": 8},
        "candidates": [{"content": {"parts": [{"text": "42"}]}}],
    }
    by_anthropic, by_google = (
        read_completion(body, ask(), 0.1) for body in (_from_anthropic(message), _from_google(told))
    )
    assert (by_anthropic.text, by_anthropic.prompt_tokens) == ("42", 0)  # unknown
    assert (by_google.text, by_google.completion_tokens) == ("42", 0)


def test_the_calls_among_the_parts_of_an_answer() -> None:
    of_anthropic = [
        {"type": "text", "text": "I walk."},
        {"type": "tool_use", "name": "walk", "input": {"steps": 2}},
        {"type": "tool_use", "name": "rest", "input": {}},
    ]
    of_google = [
        {"text": "I walk."},
        {"functionCall": {"name": "walk", "args": {"steps": 2}}},
        {"functionCall": {"name": "rest", "args": {}}},
        {"functionCall": {}},
        "odd",
    ]
    calls = [
        {"function": {"name": "walk", "arguments": {"steps": 2}}},
        {"function": {"name": "rest", "arguments": {}}},
    ]
    assert _calls(of_anthropic) == _calls(of_google) == calls
    assert _calls("odd") == _calls(None) == _calls([]) == []
    message = _from_anthropic({"content": of_anthropic})["choices"][0]["message"]
    assert message == {"content": of_anthropic, "tool_calls": calls}
    message = _from_google({"candidates": [{"content": {"parts": of_google}}]})["choices"][0]
    assert message["message"] == {"content": of_google, "tool_calls": calls}


# Clients and errors.


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://api.test/v1", "https://api.test"),
        ("https://api.test/v1beta", "https://api.test"),
        ("https://api.test", "https://api.test"),
        ("https://api.test/v1/more", "https://api.test/v1/more"),
        ("https://api.test/v2", "https://api.test/v2"),
    ],
)
def test_the_library_adds_the_version_to_the_address(url: str, base: str) -> None:
    client = ToldAnthropic(Endpoint(url), 1.0)

    assert client.base == base
    assert not client.is_open


def test_parameters_that_an_interface_does_not_have_are_known() -> None:
    for kind, unknown in ((AnthropicClient, {"seed"}), (GoogleClient, set[str]())):
        client = kind(Endpoint("http://127.0.0.1:9"), 1.0)
        dialect = client.dialect("m")
        assert dialect.changes == dict.fromkeys(unknown)
        dialect.changes["top_p"] = None  # learned from the server
        assert client.dialect("m") is dialect
        assert "top_p" in client.dialect("m").changes
        assert client.dialect("other").changes == dict.fromkeys(unknown)


@pytest.mark.parametrize(
    ("api", "library"), [("anthropic", "anthropic"), ("google", "google.genai")]
)
def test_a_library_that_is_not_installed_is_named(
    api: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ParameterError) as refused:
        native_client(Endpoint("http://127.0.0.1:9", "lab", api=api), 1.0)

    assert "'lab'" in str(refused.value)
    assert f"pip install 'sabm-mesa[{api}]'" in str(refused.value)


def response(status: int, body: Any, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.Response(status, content=content, headers=headers, request=SENT)


RETRY = {"@type": "RetryInfo", "retryDelay": "7.5s"}
INFO = {"@type": "ErrorInfo", "reason": "API_KEY_INVALID"}


@pytest.mark.parametrize(
    ("details", "wait", "code"),
    [
        ([RETRY], "7.5", None),
        ([{"retryDelay": "30s"}, "odd", INFO], "30", "API_KEY_INVALID"),
        ([{"retryDelay": "3s"}, {"retryDelay": "9s"}], "3", None),
        ([{"retryDelay": "soon"}, {"retryDelay": "5 s"}, {"retryDelay": "1s more"}], None, None),
        ([INFO, {"reason": "OTHER"}], None, "API_KEY_INVALID"),
        ([{"reason": 3}], None, None),
        ({"retryDelay": "3s"}, None, None),
        (None, None, None),
    ],
    ids=json.dumps,
)
def test_google_says_in_the_body_how_long_to_wait_and_why(
    details: Any, wait: str | None, code: str | None
) -> None:
    error = _refusal(response(429, {"error": {"message": "Slowly.", "details": details}}))

    assert error.response.headers.get("retry-after") == wait
    assert (error.code, error.status_code) == (code, 429)
    assert error.body == {"message": "Slowly.", "details": details}


def test_the_header_says_how_long_to_wait_before_the_body_does() -> None:
    error = _refusal(response(429, {"error": {"details": [RETRY]}}, **{"retry-after": "2"}))

    assert error.response.headers["retry-after"] == "2"


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b"<html>", None),
        ({"message": "No."}, {"message": "No."}),
        ({"error": "No."}, "No."),
        ([1], [1]),
    ],
    ids=str,
)
def test_a_refusal_in_any_form_is_one(body: Any, read: Any) -> None:
    error = _refusal(response(500, body))

    assert (error.status_code, error.body) == (500, read)


class OfLibrary(Exception):
    """An error of a library, which keeps what it sent and received."""

    def __init__(self, request: Any = None, response: Any = None) -> None:
        self.request, self.response = request, response


def told(error: Exception, cause: Exception | None = None) -> BaseException:
    with pytest.raises(Exception) as caught, _as_of_openai():  # noqa: PT011 - any
        raise error from cause
    return caught.value


def test_the_errors_of_the_libraries_are_those_of_openai() -> None:
    refused = told(OfLibrary(SENT, response(403, {"error": {"message": "No."}})))
    assert isinstance(refused, openai.APIStatusError)
    assert (refused.status_code, refused.body) == (403, {"message": "No."})

    cause = OSError("reset")
    for lost in (OfLibrary(SENT), OfLibrary(SENT, "no response")):
        error = told(lost, cause)
        assert isinstance(error, openai.APIConnectionError)
        assert error.request is SENT
        assert error.__cause__ is cause
    transport = httpx2.ConnectError("refused", request=SENT)
    error = told(transport)
    assert isinstance(error, openai.APIConnectionError)
    assert error.request is SENT
    assert error.__cause__ is transport


def test_other_errors_stay_what_they_are() -> None:
    large = ResponseTooLarge()
    others = [large, TimeoutError(), ValueError("odd"), OfLibrary("no request")]
    assert [told(error) for error in others] == others
    assert told(OfLibrary(SENT), large) is large
    with _as_of_openai():
        pass
