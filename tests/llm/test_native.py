"""The interfaces of Anthropic and Google: the same answers, errors and records as by OpenAI's.

The libraries take more than a second to import, so all of it is in the slow tier. What is read and
written without them: `test_native_forms.py`.
"""

import base64
import json
import math
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Connection, KeynesianBeautyContest, Tools
from sabm_mesa.core import engine
from sabm_mesa.errors import AccessDenied, BadRequest, LLMError, RateLimited, ServerUnavailable
from sabm_mesa.llm import close_all, connect, read_endpoints
from sabm_mesa.llm.client import Request
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.in_flight import FinishInFlightClient
from sabm_mesa.llm.native import native_client
from sabm_mesa.llm.retry import RetryClient
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.rerun import replay
from tests.llm.support import ask, outcomes
from tests.llm.test_pictures import ROOM
from tests.llm.test_tools import walk
from tests.llm_server import Fault, LLMServer, Reply, writer

pytestmark = pytest.mark.slow
KEY, OTHER = "sk-" + "ant-A1b2C3d4E5f6G7h8I9", "sk-" + "of-openai-0123456789"
THOUGHTS = "Half of 84, the number before."
APIS = ("anthropic", "google")
both = pytest.mark.parametrize("api", APIS)


def endpoint(server: LLMServer, api: str, **more: Any) -> Endpoint:
    return Endpoint(server.url.removesuffix("/v1"), "lab", "LAB_API_KEY", api=api, **more)


def answered(
    api: str, *requests: Any, retries: int = 2, timeout_s: float = 30.0, **settings: Any
) -> tuple[list[Any], LLMServer]:
    """The outcomes of requests, one after another, and the server that saw them."""
    with LLMServer(**{"brain": lambda _m, _b: "42", **settings}) as server:
        client = native_client(endpoint(server, api), timeout_s)
        chain = RetryClient(FinishInFlightClient(client), retries, first_wait_s=0.001)
        found = [outcomes(chain, [request])[0] for request in requests or (ask(),)]
        engine.run(client.close())
        assert not client.is_open
    return found, server


@both
def test_an_answer_has_all_that_the_server_tells(api: str) -> None:
    reply = Reply("42", message={"reasoning": THOUGHTS}, completion_tokens=2)
    request = ask("x" * 400, model="m-1")
    (first, second), _ = answered(
        api, request, request, brain=lambda _m, _b: reply, cache=True, models={"m-1": "m-1-0521"}
    )
    assert (first.text, first.thoughts) == ("42", THOUGHTS)
    assert (first.model, first.asked_model, first.finish_reason) == ("m-1-0521", "m-1", "stop")
    assert (first.completion_tokens, first.thought_tokens) == (2 + 8, 8)
    assert first.prompt_tokens == second.prompt_tokens > 100
    assert (first.cached_tokens, second.cached_tokens > 90) == (0, True)
    assert first.response_id
    assert first.provider.startswith("http://127.0.0.1")
    assert math.isnan(first.cost_usd)


def test_what_anthropic_is_sent() -> None:
    messages = (("system", "Be brief."), ("user", "A"), ("assistant", "B"), ("user", "C"))
    price = {"type": "number", "minimum": 1, "maximum": 9}
    common = {"type": "object", "required": ["price"], "additionalProperties": False}
    schema = {**common, "properties": {"price": price}}
    told_in_words = {"type": "number", "description": "{minimum: 1, maximum: 9}"}
    taken = {**common, "properties": {"price": told_in_words}}
    full = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 20, "schema": schema, "seed": 3}
    (first, *_), server = answered(
        "anthropic",
        Request("m", messages, **full),
        ask(),
        ask(max_tokens=10, max_thought_tokens=2000),
        ask(reasoning_effort="low"),
        ask(reasoning_effort="none"),
        ask(extra_body={"cache_control": {"type": "ephemeral"}}),
    )
    bodies = [seen.body for seen in server.requests]
    assert bodies[0] == {
        "model": "m",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "A"},
            {"role": "assistant", "content": "B"},
            {"role": "user", "content": "C"},
        ],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 20,
        # "For 'integer' type, property 'minimum' is not supported": agentjido/req_llm, issue 302.
        "output_config": {"format": {"type": "json_schema", "schema": taken}},
    }
    hello = {"model": "stub", "messages": [{"role": "user", "content": "Hello"}]}
    assert bodies[1] == {**hello, "max_tokens": 4096}
    assert bodies[2]["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert bodies[2]["max_tokens"] == 2010
    assert bodies[3]["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert bodies[3]["output_config"] == {"effort": "low"}
    assert bodies[4]["thinking"] == {"type": "disabled"}
    assert bodies[5]["cache_control"] == {"type": "ephemeral"}
    # A seed is known not to be taken, and costs no request.
    told = json.loads(first.parameters)
    assert told["asked"]["seed"] == 3
    assert "seed" not in told["sent"]


def test_what_google_is_sent() -> None:
    messages = (("system", "Be brief."), ("user", "A"), ("assistant", "B"), ("user", "C"))
    schema = {"type": "object"}
    full = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 20, "schema": schema, "seed": 3}
    more = {"generationConfig": {"topK": 5}, "safetySettings": []}
    _, server = answered(
        "google",
        Request("m", messages, **full),
        ask(),
        ask(max_tokens=10, max_thought_tokens=200),
        ask(reasoning_effort="low", extra_body=more),
    )
    bodies = [seen.body for seen in server.requests]
    assert bodies[0] == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "A"}]},
            {"role": "model", "parts": [{"text": "B"}]},
            {"role": "user", "parts": [{"text": "C"}]},
        ],
        "generationConfig": {
            "temperature": 0.7,
            "topP": 0.9,
            "maxOutputTokens": 20,
            "seed": 3,
            "responseMimeType": "application/json",
            "responseJsonSchema": schema,
        },
    }
    assert bodies[1]["contents"] == [{"role": "user", "parts": [{"text": "Hello"}]}]
    thinking = {"includeThoughts": True, "thinkingBudget": 200}
    assert bodies[2]["generationConfig"] == {"maxOutputTokens": 210, "thinkingConfig": thinking}
    assert bodies[3]["generationConfig"] == {
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"}, "topK": 5,
    }  # fmt: skip
    assert bodies[3]["safetySettings"] == []


@both
@pytest.mark.parametrize(
    ("fault", "text", "reason"),
    [
        ("empty", "", "stop"),
        ("refusal", "", "content_filter"),
        ("content-filter", "", "content_filter"),
        ("length", "4", "length"),
        ("no-usage", "42", "stop"),
        ("text-plain", "42", "stop"),
        (Fault("slow", pace=0.0001), "42", "stop"),
    ],
    ids=str,
)
def test_an_odd_answer_is_an_answer(api: str, fault: Fault | str, text: str, reason: str) -> None:
    ((done,), server) = answered(api, faults=[fault])
    assert (done.text, done.finish_reason, done.retries) == (text, reason, 0)
    assert server.stats["requests"] == 1


PASSING = ["408", "409", "429", Fault("429", retry_after=0.01), "500", "502", "503", "529", "reset",
           "drop", "bad-json", "html", "error-200", "bad-gzip"]  # fmt: skip


@both
@pytest.mark.parametrize("fault", PASSING, ids=str)
def test_a_passing_fault_is_mended_by_retries_and_a_lasting_one_is_told(
    api: str, fault: Fault | str
) -> None:
    ((done,), server) = answered(api, faults=[fault] * 2)
    assert (done.text, done.retries, server.stats["requests"]) == ("42", 2, 3)
    ((error,), server) = answered(api, faults=[fault] * 9)
    kind = RateLimited if "429" in str(fault) else ServerUnavailable
    assert type(error) is kind
    assert server.stats["requests"] == 3
    assert "\n" not in str(error)
    assert "http://127.0.0.1" in str(error)
    if "529" in str(fault) or "503" in str(fault):
        assert error.overloaded


@both
@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("400", BadRequest, "The request is invalid.) for model 'stub': change the request"),
        ("context", BadRequest, "maximum context length is 4096 tokens"),
        ("403", AccessDenied, "the key was refused: set LAB_API_KEY"),
        ("404", BadRequest, "is the model name 'stub' right, and the address?"),
    ],
)
def test_what_a_retry_cannot_mend_is_sent_once(
    api: str, fault: str, kind: type[LLMError], says: str
) -> None:
    ((error,), server) = answered(api, faults=[fault] * 9)
    assert type(error) is kind
    assert server.stats["requests"] == 1
    assert says in str(error)


@both
def test_googles_time_to_wait_and_that_of_the_header(api: str) -> None:
    client_says = {"anthropic": 7.0, "google": 0.02}[api]
    fault = Fault("429", retry_after=7) if api == "anthropic" else "429"
    ((error,), _) = answered(api, faults=[fault], retries=0)
    assert error.retry_after == client_says


@both
def test_the_whole_answer_has_to_come_in_time(api: str) -> None:
    ((error,), _) = answered(api, faults=["hang"] * 9, retries=1, timeout_s=0.5)
    assert isinstance(error, ServerUnavailable)
    assert "within 0.5 s. Is the server overloaded?" in str(error)
    assert error.billed


@both
def test_a_server_that_is_not_there(api: str) -> None:
    client = native_client(Endpoint("http://127.0.0.1:9", "lab", api=api), 5.0)
    (error,) = outcomes(client, [ask()])
    engine.run(client.close())
    assert isinstance(error, ServerUnavailable)
    assert "Cannot reach http://127.0.0.1:9" in str(error)
    assert not error.billed


@both
@pytest.mark.parametrize("fault", [Fault("endless"), Fault("bomb", size=50_000_000)], ids=str)
def test_no_more_is_read_than_the_limit(api: str, fault: Fault) -> None:
    ((error,), server) = answered(api, faults=[fault])
    assert type(error) is LLMError
    assert "sent more than 4 MB in answer to one request" in str(error)
    assert server.stats["requests"] == 1


@both
def test_a_redirect_to_another_server_is_not_followed(api: str) -> None:
    with LLMServer() as elsewhere:
        fault = Fault("redirect", status=307, to=f"{elsewhere.url}/messages")
        ((error,), _) = answered(api, faults=[fault])
        assert isinstance(error, BadRequest)
        assert "redirects are not followed" in str(error)
        assert not elsewhere.requests


@both
def test_the_key_goes_to_its_endpoint_and_nothing_else_of_the_environment_does(
    api: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY",
                 "GEMINI_API_KEY"):  # fmt: skip
        monkeypatch.setenv(name, OTHER)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Mine: {OTHER}")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LAB_API_KEY", KEY)
    with LLMServer(brain=writer, api_key=KEY) as server:
        file = tmp_path / "endpoints.toml"
        file.write_text(
            f'[endpoints.lab]\napi = "{api}"\nbase_url = "{server.url}"\n'
            'key_env = "LAB_API_KEY"\nheaders = { X-Title = "a study" }\n'
        )
        how = Connection(endpoints=read_endpoints(file), max_retries=0)
        model = KeynesianBeautyContest(
            n_players=3, n_rounds=2, rng=1, minds="llm:m@lab", connection=how,
            recording=tmp_path / "run.sqlite",
        )  # fmt: skip
        model.run_model()
        assert server.stats["status_200"] == server.stats["requests"] == 9
        for seen in server.requests:
            told = json.dumps([dict(seen.headers), seen.body])
            assert OTHER not in told
            assert seen.headers["X-Title"] == "a study"
        monkeypatch.setenv("LAB_API_KEY", KEY[::-1])
        (error,) = outcomes(connect("lab", how), [ask()])
        close_all()
    assert isinstance(error, AccessDenied)
    assert "the key was refused: set LAB_API_KEY in the environment to the right one" in str(error)
    file.unlink()
    for written in [*(path.read_bytes() for path in tmp_path.iterdir()), caplog.text.encode()]:
        assert KEY.encode() not in written
    (run,) = load_runs(tmp_path / "run.sqlite")
    assert len(run.asks) == 9
    replay(tmp_path / "run.sqlite")  # which compares, and fails where anything differs


@both
def test_a_dialect_is_learned_and_a_filter_is_a_refused_answer(api: str) -> None:
    def refuses(body: dict[str, Any]) -> tuple[int, Any] | None:
        config = body.get("generationConfig", body)
        if "temperature" in config:
            name = "temperature"
            said = f"`{name}` is deprecated for this model."
            return 400, {"error": {"message": said, "code": None}}
        return None

    (first, second), server = answered(
        api, ask(temperature=0.7), ask(temperature=0.7), dialect=refuses
    )
    assert (first.text, second.text) == ("42", "42")
    assert server.stats["requests"] == 3
    assert json.loads(second.parameters)["asked"] == {**json.loads(second.parameters)["sent"],
                                                      "temperature": 0.7}  # fmt: skip


@both
def test_functions_are_called_in_the_form_of_the_interface(api: str) -> None:
    arguments = {"direction": "left", "steps": 2}
    function = {"name": "walk", "arguments": json.dumps(arguments)}
    reply = Reply(None, "tool_calls", message={"tool_calls": [{"function": function}]})
    tools = Tools(walk=walk)
    request = ask(tools=tools.definitions(), schema=tools.answer_schema())
    (done,), server = answered(api, request, brain=lambda _m, _b: reply)
    body = server.requests[0].body
    described = {"name": "walk", "description": "Walk along the street."}
    schema = tools.definitions()[0]["function"]["parameters"]

    assert done.finish_reason == "tool_calls"
    assert json.loads(done.text)["calls"] == [{"name": "walk", "arguments": arguments}]
    if api == "anthropic":
        assert body["tools"] == [{**described, "input_schema": schema}]
        assert body["tool_choice"] == {"type": "any"}
        assert "output_config" not in body
    else:
        declared = [{**described, "parametersJsonSchema": schema}]
        assert body["tools"] == [{"functionDeclarations": declared}]
        assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
        assert "responseJsonSchema" not in body["generationConfig"]


@both
def test_pictures_are_sent_in_the_form_of_the_interface(api: str) -> None:
    request = Request("m", (("user", f"See {ROOM.mark} and say."),), pictures=(ROOM,))
    _, server = answered(api, request)
    body = server.requests[0].body

    if api == "anthropic":
        source = {"type": "base64", "media_type": "image/png", "data": ROOM.base64}
        assert body["messages"][0]["content"] == [
            {"type": "text", "text": "See "},
            {"type": "image", "source": source},
            {"type": "text", "text": " and say."},
        ]
    else:
        before, image, after = body["contents"][0]["parts"]
        assert (before, after) == ({"text": "See "}, {"text": " and say."})
        # The library writes both names and base64 in the other form that the interface takes.
        assert image["inlineData"]["mime_type"] == "image/png"
        assert base64.urlsafe_b64decode(image["inlineData"]["data"]) == ROOM.png
