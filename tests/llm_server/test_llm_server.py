"""The tests' own chat-completions server, seen by the real client and by a raw connection."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jsonschema
import openai
import pytest
from openai import AsyncOpenAI, DefaultAioHttpClient

from tests.llm_server import Fault, LLMServer, stub

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


def test_stub_fills_a_json_schema() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    picks = set()
    for player in range(30):
        value = json.loads(answer(f"You are {player}.", response_format=form))
        jsonschema.validate(value, SCHEMA)
        picks.add(value["pick"])
    assert picks == {3, 4, 5}
    assert list(value) == list(SCHEMA["properties"])


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

    with LLMServer(faults=["hang", Fault("slow", pace=3600)], latency=3600) as server:
        with_client(server, use)
    assert server.in_flight == 0
    assert set(threading.enumerate()) <= before


def test_as_a_process() -> None:
    command = [sys.executable, "-m", "tests.llm_server", "--latency", "0.01"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            server = LLMServer(port=json.loads(process.stdout.readline())["port"])
            assert complete(server, model="m").model == "m"
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
