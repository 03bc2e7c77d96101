"""The tests' own chat-completions server, seen by the real client and by a raw connection."""

from __future__ import annotations

import asyncio
import json
import math
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import jsonschema
import openai
import pytest
from openai import AsyncOpenAI, DefaultAioHttpClient

from tests.llm_server import Fault, LLMServer, Rates, load_brain, script, stub
from tests.llm_server.wire import CACHED

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "maxLength": 20},
        "pick": {"type": "integer", "minimum": 3, "maximum": 5},
        "share": {"type": "number", "minimum": 0.25, "exclusiveMaximum": 0.5},
        "sure": {"type": "boolean"},
        "exit": {"enum": ["left", "bottom", "right"]},
        "order": {"type": "array", "items": {"$ref": "#/$defs/rank"}, "minItems": 2, "maxItems": 2},
        "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
    },
    "required": ["reason", "pick", "share", "sure", "exit", "order", "note"],
    "additionalProperties": False,
    "$defs": {"rank": {"type": "integer", "minimum": 1, "maximum": 2}},
}


def with_client(
    server: LLMServer, use: Callable[[AsyncOpenAI], Awaitable[Any]], **options: Any
) -> Any:
    """Run `use` on a real client, without its own retries unless asked for."""

    async def main() -> Any:
        settings = {"api_key": "sk-test", "max_retries": 0, "timeout": 30.0} | options
        http_client = DefaultAioHttpClient()
        async with AsyncOpenAI(base_url=server.url, http_client=http_client, **settings) as client:
            return await use(client)

    return asyncio.run(main())


def create(client: AsyncOpenAI, text: str = "Hello", **options: Any) -> Awaitable[Any]:
    """One completion for a single user message."""
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(**({"model": "stub", "messages": messages} | options))


def complete(server: LLMServer, text: str = "Hello", **options: Any) -> Any:
    """One completion by a client of its own."""
    return with_client(server, lambda client: create(client, text, **options))


def answer(text: str, **body: Any) -> str:
    """The first answer of the stub brain."""
    return stub([{"role": "user", "content": text}], body)


async def raw_post(server: LLMServer, body: Any = None) -> tuple[int, Any, bytes]:
    """A completion over a bare connection: status, headers and body."""
    body = body or {"model": "stub", "messages": [{"role": "user", "content": "Hello"}]}
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.post(f"{server.url}/chat/completions", json=body) as response,
    ):
        return response.status, response.headers, await response.read()


def test_stub_answers_a_number_in_the_paper_format() -> None:
    numbers = set()
    for player in range(50):
        text = answer(f"You are player {player}. Choose an integer from 10 to 14.")
        reason, number = text.split("\n")
        assert re.fullmatch(r"[A-Z][a-z ]+\.", reason)
        numbers.add(number)
    assert numbers == {"10", "11", "12", "13", "14"}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Where do you go?\nA: the left exit\nB: the right exit\nAnswer with one letter.", "AB"),
        ("Anna: hello\n\nPick an option.\nQ: stay\nX: north\nZ: south-east\n", "QXZ"),
        ("Your target is one of: left, bottom, or right.", ("left", "bottom", "right")),
        ("Answer with exactly one of these and nothing else: yes, no.", ("yes", "no")),
    ],
)
def test_stub_answers_one_of_the_options(text: str, options: Any) -> None:
    answers = {answer(f"You are {player}.\n{text}") for player in range(40)}
    assert answers == set(options)


def test_stub_fills_a_json_schema() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    picks = set()
    for player in range(30):
        value = json.loads(answer(f"You are {player}.", response_format=form))
        jsonschema.validate(value, SCHEMA)
        picks.add(value["pick"])
    assert picks == {3, 4, 5}
    assert list(value) == list(SCHEMA["properties"])


def test_script_file_is_consumed_in_order_and_runs_out_loudly(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text('["one", {"content": "two", "finish_reason": "length"}, {"fault": "503"}]')

    async def use(client: AsyncOpenAI) -> None:
        first, second = await create(client), await create(client)
        assert first.choices[0].message.content == "one"
        assert second.choices[0].message.content == "two"
        assert second.choices[0].finish_reason == "length"
        with pytest.raises(openai.InternalServerError, match="overloaded"):
            await create(client)
        with pytest.raises(openai.InternalServerError, match="run out after 3 answers"):
            await create(client)

    with LLMServer(brain=load_brain(f"script:{path}")) as server:
        with_client(server, use)
        assert [seen.status for seen in server.requests] == [200, 200, 503, 500]


def test_usage_and_served_model() -> None:
    with LLMServer(brain=lambda _messages, _body: "x" * 40) as server:
        completion = complete(server, "y" * 395)
        assert completion.model == "stub-2026"
        assert completion.usage.prompt_tokens == 100
        assert completion.usage.completion_tokens == 10
        assert completion.usage.total_tokens == 110
        assert completion.usage.prompt_tokens_details.cached_tokens == 0
        assert complete(server, model="other").model == "other"
        stats = server.stats
    assert stats["prompt_tokens"] == 100 + 3
    assert stats["completion_tokens"] == 20


def test_cached_tokens_are_the_longest_shared_prefix() -> None:
    prompts = ["a" * 75 + "b" * 20, "c" * 95, "a" * 95, "a" * 75 + "b" * 20]
    with LLMServer(cache=True) as server:
        usages = [complete(server, prompt).usage for prompt in prompts]
    assert [u.prompt_tokens_details.cached_tokens for u in usages] == [0, 1, 20, 25]


@pytest.mark.parametrize("told_as", CACHED)
def test_cached_tokens_are_told_as_providers_do(told_as: str) -> None:
    with LLMServer(cache=True, cached_as=told_as) as server:
        usages = [complete(server, "a" * 95).usage.model_dump() for _ in range(2)]
    ((name, told),) = CACHED[told_as](25).items()
    found = usages[1][name]
    assert (found["cached_tokens"] if told_as == "openai" else found) == 25
    assert told in (25, {"cached_tokens": 25})


def test_api_key() -> None:
    with LLMServer(api_key="sk-right") as server:
        with pytest.raises(openai.AuthenticationError):
            with_client(server, create, api_key="sk-wrong")
        with pytest.raises(openai.AuthenticationError):
            with_client(server, lambda client: client.models.list(), api_key="sk-wrong")
        with_client(server, create, api_key="sk-right")
        assert asyncio.run(raw_post(server))[0] == 401
        assert [s.status for s in server.requests] == [401, 200, 401]
        assert [s.authorized for s in server.requests] == [True, True, False]
        assert "sk-right" not in repr(server.requests)


STATUSES = ["400", "401", "403", "404", "408", "409", "429", "500", "502", "503"]


@pytest.mark.parametrize("kind", [*STATUSES, "context", "quota", "reset", "drop"])
def test_faults_that_the_client_raises(kind: str) -> None:
    async def use(client: AsyncOpenAI) -> Any:
        with pytest.raises(openai.APIError) as caught:
            await create(client)
        await create(client)
        return caught.value

    with LLMServer(faults=[kind]) as server:
        raised = with_client(server, use)
        assert [seen.fault for seen in server.requests] == [kind, None]
        assert server.requests[0].status == getattr(raised, "status_code", None)
        assert server.stats[f"fault_{kind}"] == 1
    if kind in STATUSES:
        assert raised.status_code == int(kind)
    codes = {"context": "context_length_exceeded", "quota": "insufficient_quota"}
    assert kind not in codes or raised.code == codes[kind]


def test_retry_after_headers() -> None:
    faults = [
        Fault("429", retry_after=2),
        "503:retry-after-ms=12.5",
        Fault("429", retry_after="Wed, 21 Oct 2026 07:28:00 GMT"),
        "429",
    ]
    with LLMServer(faults=faults) as server:
        headers = [asyncio.run(raw_post(server))[1] for _ in faults]
    assert headers[0]["Retry-After"] == "2"
    assert headers[1]["retry-after-ms"] == "12.5"
    assert headers[2]["Retry-After"].startswith("Wed, 21 Oct")
    assert not any(name.lower().startswith("retry") for name in headers[3])


def test_faults_that_change_the_answer() -> None:
    kinds = ["length", "empty", "null", "refusal", "content-filter", "garbage", "no-choices"]

    async def use(client: AsyncOpenAI) -> list[Any]:
        return [await create(client) for _ in [*kinds, "no-usage", None]]

    with LLMServer(brain=script(["12345678", "b", "c"]), faults=[*kinds, "no-usage"]) as server:
        completions = dict(zip([*kinds, "no-usage", None], with_client(server, use), strict=True))
    choices = {kind: c.choices[0] for kind, c in completions.items() if c.choices}
    assert choices["length"].message.content == "1234"
    assert choices["length"].finish_reason == "length"
    assert choices["empty"].message.content == ""
    assert choices["null"].message.content is None
    assert choices["refusal"].message.content is None
    assert choices["refusal"].message.refusal.startswith("I'm sorry")
    assert choices["content-filter"].finish_reason == "content_filter"
    assert not re.search(r"\d", choices["garbage"].message.content)
    assert completions["no-choices"].choices == []
    assert completions["no-usage"].usage is None
    assert choices["no-usage"].message.content == "b"
    assert choices[None].message.content == "c"


def test_faults_of_the_body() -> None:
    async def bodies() -> list[tuple[int, Any, bytes]]:
        return [await raw_post(server) for _ in faults]

    faults = ["bad-json", "html", "text-plain", "error-200", "bad-utf8", "bad-gzip"]
    with LLMServer(faults=faults) as server:
        answers = dict(zip(faults, asyncio.run(bodies()), strict=True))
    assert {status for status, _, _ in answers.values()} == {200}
    with pytest.raises(json.JSONDecodeError):
        json.loads(answers["bad-json"][2])
    assert answers["html"][1]["Content-Type"] == "text/html"
    assert answers["text-plain"][1]["Content-Type"] == "text/plain"
    assert json.loads(answers["text-plain"][2])["choices"]
    assert "error" in json.loads(answers["error-200"][2])
    with pytest.raises(UnicodeDecodeError):
        answers["bad-utf8"][2].decode()
    assert answers["bad-gzip"][1]["Content-Encoding"] == "gzip"
    assert answers["bad-gzip"][2].startswith(b"{")


def test_hang_ends_with_the_client() -> None:
    with LLMServer(faults=["hang"]) as server:
        with pytest.raises(openai.APITimeoutError):
            with_client(server, create, timeout=1.0)
        server.wait_until(lambda s: s.stats.get("unanswered") == 1)
        assert server.stats["in_flight"] == 0


def test_faults_by_number_by_callable_and_by_the_brain() -> None:
    def statuses(**settings: Any) -> list[int | None]:
        async def use(client: AsyncOpenAI) -> None:
            for k in range(3):
                await asyncio.gather(create(client, str(k)), return_exceptions=True)

        with LLMServer(**settings) as server:
            with_client(server, use)
            return [seen.status for seen in server.requests]

    assert statuses(faults={1: "500"}) == [200, 500, 200]
    assert statuses(faults=lambda number, _body: "429" if number == 2 else None) == [200, 200, 429]
    assert statuses(brain=lambda m, _: Fault("503") if m[0]["content"] == "0" else "x")[0] == 503


def test_rates_are_seeded_and_hold() -> None:
    def draws(seed: int) -> list[str]:
        rates = Rates({"429": 0.1, "500": 0.05, "garbage": 0.05}, seed)
        faults = (rates(number, {}) for number in range(4000))
        return [fault.kind if fault else "" for fault in faults]

    first = draws(1)
    assert first == draws(1)
    assert first != draws(2)
    for kind, rate in (("429", 0.1), ("500", 0.05), ("garbage", 0.05)):
        assert math.isclose(first.count(kind) / 4000, rate, abs_tol=0.02)


def test_held_requests_are_in_flight_together() -> None:
    async def use(client: AsyncOpenAI) -> None:
        asks = asyncio.gather(*(create(client, str(k)) for k in range(300)))
        await asyncio.to_thread(server.wait_until, lambda s: s.in_flight == 300)
        assert not asks.done()
        server.release()
        await asks
        server.hold()
        last = asyncio.ensure_future(create(client))
        await asyncio.to_thread(server.wait_until, lambda s: s.in_flight == 1)
        server.release()
        await last

    with LLMServer(held=True) as server:
        with_client(server, use)
        assert server.max_in_flight == 300
        assert server.in_flight == 0


def test_the_cap_answers_429_above_it() -> None:
    async def use(client: AsyncOpenAI) -> None:
        first = [asyncio.ensure_future(create(client, str(k))) for k in range(5)]
        await asyncio.to_thread(server.wait_until, lambda s: s.in_flight == 5)
        with pytest.raises(openai.RateLimitError) as caught:
            await create(client)
        assert caught.value.response.headers["retry-after"] == "3"
        server.release()
        await asyncio.gather(*first)
        await create(client)

    with LLMServer(max_concurrency=5, retry_after=3, held=True) as server:
        with_client(server, use)
        assert server.max_in_flight == 5
        assert server.stats["status_429"] == 1


def test_it_stops_with_requests_in_flight_and_leaks_no_thread() -> None:
    before = set(threading.enumerate())

    async def use(client: AsyncOpenAI) -> None:
        asks = [asyncio.ensure_future(create(client, str(k))) for k in range(20)]
        await asyncio.to_thread(server.wait_until, lambda s: s.in_flight == 20)
        await asyncio.to_thread(server.stop)
        for outcome in await asyncio.gather(*asks, return_exceptions=True):
            assert isinstance(outcome, openai.APIConnectionError)
        with pytest.raises(openai.APIConnectionError):
            await create(client)

    with LLMServer(faults=["hang", "slow:pace=3600"], latency=3600) as server:
        with_client(server, use)
    assert server.in_flight == 0
    assert set(threading.enumerate()) <= before


def test_as_a_process() -> None:
    options = ["--brain", "nonsense", "--model", "m=m-1", "--fault", "1=429:retry-after=0.25"]
    command = [sys.executable, "-m", "tests.llm_server", "--port", "0", *options]
    with subprocess.Popen(
        [*command, "--rate", "503=0.0"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            server = LLMServer(port=json.loads(process.stdout.readline())["port"])
            completion = complete(server, model="m")
            assert completion.model == "m-1"
            with pytest.raises(openai.RateLimitError) as caught:
                complete(server)
            assert caught.value.response.headers["retry-after"] == "0.25"
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
