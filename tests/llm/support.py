"""Helpers of the tests of language-model access."""

import asyncio
import copy
import json
import math
import selectors
import sqlite3
from collections.abc import Coroutine, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.core import engine
from sabm_mesa.core.answers import Reply
from sabm_mesa.llm import Client, Request
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.server import MAX_BYTES, Server
from tests.llm_server import LLMServer, writer

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
AGAIN = "\n\nYour answer was:"
"""Begins what follows a question when its answer was empty."""


class _NoWaiting(selectors.DefaultSelector):
    """Lets the time of its loop jump to the next thing that is due, instead of waiting for it."""

    jumped = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits for something that will never happen"
            self.jumped += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on which seconds cost nothing; that all tasks wait for ever is an error."""

    def __init__(self) -> None:
        self.selector = _NoWaiting()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.jumped


def on_virtual_time(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


async def turn(times: int = 5) -> None:
    """Let whatever can go on now go on."""
    for _ in range(times):
        await asyncio.sleep(0)


def ask(text: str = "Hello", model: str = "stub", **options: Any) -> Request:
    return Request(model, (("user", text),), **options)


def completion(text: str, model: str = "", **more: Any) -> Reply:
    """A reply as a server sends it; nobody has computed its cost yet."""
    return Reply(text, **{"model": model, "finish_reason": "stop", "cost_usd": math.nan, **more})


def complete(client: Client, *requests: Request) -> list[Reply]:
    """Complete all at once on the engine's loop; the first error is raised."""

    async def work() -> list[Reply]:
        return await asyncio.gather(*(client.complete(request) for request in requests))

    return engine.run(work())


def outcomes(client: Client, requests: Iterable[Request]) -> list[Any]:
    """Replies, or the errors in their place."""

    async def work() -> list[Any]:
        parts = (client.complete(request) for request in requests)
        return await asyncio.gather(*parts, return_exceptions=True)

    return engine.run(work())


class Chain:
    """A client of a real server, with retries that hardly wait."""

    def __init__(
        self,
        url: Endpoint | str | None,
        max_retries: int = 2,
        timeout_s: float = 30.0,
        max_bytes: int = MAX_BYTES,
        **options: Any,
    ) -> None:
        self.server = Server(url, timeout_s, max_bytes)
        options = {"max_retries": max_retries, "first_wait_s": 0.001, **options}
        self.client = Client(self.server, **options)

    def __enter__(self) -> Client:
        return self.client

    def __exit__(self, *_: object) -> None:
        engine.run(self.server.close())


def first_question(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """A brain that answers a question that is asked again as it did the first time."""
    system, question = messages[:2]
    first = question["content"].partition(AGAIN)[0]
    if 'field "reasoning"' in first and "response_format" in body:
        body = copy.deepcopy(body)  # asked again, the reasoning is not wanted
        schema = body["response_format"]["json_schema"]["schema"]
        schema["properties"] = {"reasoning": {"type": "string"}} | schema["properties"]
    if "JSON" in first or "response_format" not in body:
        return writer([system, {**question, "content": first}], body)
    # The last attempt asks for JSON, also where the first one did not.
    plain = {name: value for name, value in body.items() if name != "response_format"}
    last = writer([system, {**question, "content": first}], plain).splitlines()[-1]
    return json.dumps({"answer": float(last)})


def contest(server: LLMServer, **parameters: Any) -> KeynesianBeautyContest:
    settings = {"n_players": 6, "n_rounds": 2, "rng": 1, "recording": False} | parameters
    return KeynesianBeautyContest(**{"minds": f"llm:stub@{server.url}"} | settings)


def rows(recording: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(recording)) as connection:
        return connection.execute(query).fetchall()
