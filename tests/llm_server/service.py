"""The endpoint for chats: who is let in, what is answered, when."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from aiohttp import web

from . import wire
from .brains import Brain, Reply
from .delivery import deliver, spoil, status_response
from .dialects import Dialect
from .faults import SPOILT, STATUS_FAULTS, Fault, PlanSpec, as_fault, as_plan
from .record import Log, Seen
from .stub import stub

DEPLOYMENT = web.RequestKey("deployment", str)
"""The deployment in the address of a request to Azure's dated interface."""

_MAX_BODY = 64 * 2**20
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?\Z")


@dataclass(slots=True, kw_only=True)
class Settings:
    """The arguments of LLMServer, which documents each of them."""

    brain: Brain = stub
    latency: float | Callable[[int, dict[str, Any]], float] = 0.0
    jitter: float = 0.0
    faults: PlanSpec = None
    max_concurrency: int | None = None
    retry_after: float | None = None
    api_key: str | None = None
    models: Mapping[str, str] = field(default_factory=lambda: {"stub": "stub-2026"})
    strict_models: bool = False
    cache: bool = False
    cached_as: str = "openai"
    thoughts_as: str = "openai"
    more: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    held: bool = False
    dialect: Dialect | None = None
    refuses: Callable[[dict[str, Any]], tuple[Any, ...] | None] | None = None


class _RefusedError(Exception):
    """The request is answered with an error before it is admitted."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.response = web.Response(
            status=status, body=body, content_type="application/json", headers=headers
        )


class Service:
    """Answers requests by its settings and writes down what it saw."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings = settings
        self.log = log
        self._plan = as_plan(settings.faults)
        self._random = random.Random(settings.seed)
        self._prompts: list[str] = []
        self._held = settings.held
        self._gate = asyncio.Event()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/chat/completions", self.chat)
        app.router.add_post("/openai/deployments/{model}/chat/completions", self.azure)
        app.router.add_get("/_stats", self.stats)
        return app

    def open(self) -> None:
        """Get ready for a new event loop, to which the gate then belongs."""
        self._gate = asyncio.Event()
        if not self._held:
            self._gate.set()

    def hold(self) -> None:
        self._held = True
        self._gate.clear()

    def release(self) -> None:
        self._held = False
        self._gate.set()

    def answer_held(self) -> None:
        waiting, self._gate = self._gate, asyncio.Event()
        waiting.set()

    async def stats(self, _request: web.Request) -> web.Response:
        return web.json_response(self.log.stats())

    async def chat(self, request: web.Request) -> web.StreamResponse:
        seen = self.log.arrive("Authorization" in request.headers)
        try:
            raw = await request.read()
            try:
                body = self._admit(request, raw, seen)
            except _RefusedError as refused:
                seen.status = refused.response.status
                return refused.response
            return await self._answer(request, body, seen)
        finally:
            self.log.finish(seen)

    async def azure(self, request: web.Request) -> web.StreamResponse:
        """Azure's dated interface: the address names deployment and version.

        Written from learn.microsoft.com/azure/ai-services/openai/reference, from `AsyncAzureOpenAI`
        of the library `openai`, and from github.com/SciSharp/BotSharp/issues/386 (401).
        """
        request[DEPLOYMENT] = request.match_info["model"]
        if not _DATE.match(request.query.get("api-version", "")):
            return web.json_response(_azure_error(404, "Resource not found", None), status=404)
        response = await self.chat(request)
        if not isinstance(response, web.Response) or response.status < 400:
            return response
        error = json.loads(response.body or b"{}")["error"]
        body = _azure_error(response.status, error["message"], error["code"])
        headers = {k: v for k, v in response.headers.items() if k.lower().startswith("retry")}
        return web.json_response(body, status=response.status, headers=headers)

    def _check_key(self, request: web.Request) -> None:
        key = self.settings.api_key
        given = request.headers.get("Authorization", "")
        if DEPLOYMENT in request:
            given = f"Bearer {request.headers.get('api-key', '')}"
        if key is not None and given != f"Bearer {key}":
            message = "Incorrect API key provided." if given else "You didn't provide an API key."
            raise _RefusedError(
                401, wire.error(message, "invalid_request_error", code="invalid_api_key")
            )

    def _admit(self, request: web.Request, raw: bytes, seen: Seen) -> dict[str, Any]:
        settings = self.settings
        if self.log.keep:
            seen.headers = request.headers
        self._check_key(request)
        body = _parse(raw)
        if DEPLOYMENT in request:
            body["model"] = request[DEPLOYMENT]
        if self.log.keep:
            seen.body = body
        if settings.strict_models and body["model"] not in settings.models:
            message = f"The model `{body['model']}` does not exist."
            raise _RefusedError(
                404, wire.error(message, "invalid_request_error", "model_not_found")
            )
        for refuses in (settings.dialect, settings.refuses):
            if refuses is not None and (said := refuses(body)):
                self.log.counts["refused"] += 1
                status, answer, *headers = said
                sent = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                raise _RefusedError(status, sent, *headers)
        cap = settings.max_concurrency
        if cap is not None and self.log.in_flight >= cap:
            message = f"Rate limit reached: {cap} requests at once."
            fault = Fault("429", retry_after=settings.retry_after)
            raise _RefusedError(
                429, wire.error(message, "requests", "rate_limit_exceeded"), fault.headers
            )
        self.log.admit(seen)
        return body

    async def _answer(
        self, request: web.Request, body: dict[str, Any], seen: Seen
    ) -> web.StreamResponse:
        settings = self.settings
        replies: list[Reply] = []
        try:
            planned = self._plan(seen.number, body)
            fault = None if planned is None else as_fault(planned)
            if fault is None or fault.kind in SPOILT:
                replies, brains_fault = await self._think(body)
                fault = fault or brains_fault
        except Exception as error:  # noqa: BLE001 - reported to the test and to the client
            return self._brain_failed(error, seen)
        seen.fault = fault.kind if fault else None
        await self._wait(seen, self._latency(body, seen.number, fault))
        if fault and fault.kind in STATUS_FAULTS:
            response = status_response(fault, request.headers.get("Authorization", ""))
            seen.status = response.status
            return response
        if fault:
            replies = spoil(fault, replies)
        model = settings.models.get(body["model"], body["model"])
        usage = self._usage(body, replies, fault)
        payload = wire.completion(
            seen.number, model, replies, usage, settings.cached_as, settings.thoughts_as,
            settings.more,
        )  # fmt: skip
        return await deliver(request, payload, fault, seen)

    async def _think(self, body: dict[str, Any]) -> tuple[list[Reply], Fault | None]:
        """Ask the brain."""
        answer: Any = self.settings.brain(body["messages"], body)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Fault):
            return [], answer
        if not isinstance(answer, str | Reply):
            raise TypeError(f"a brain answers text, Reply or Fault, not {answer!r}")
        return [Reply(answer) if isinstance(answer, str) else answer], None

    async def _wait(self, seen: Seen, latency: float) -> None:
        """Wait until a request that was admitted, or released, has been here for its latency.

        What the brain takes of it is no time on top: many requests at once would add that up.
        """
        since = seen.started or 0.0
        if not self._gate.is_set():
            await self._gate.wait()
            since = time.monotonic()
        await asyncio.sleep(since + latency - time.monotonic())

    def _latency(self, body: dict[str, Any], number: int, fault: Fault | None) -> float:
        settings = self.settings
        # Drawn for every request, so that one request's latency never depends on another's fault.
        jitter = settings.jitter * self._random.random() if settings.jitter else 0.0
        if fault and (fault.after is not None or fault.kind in STATUS_FAULTS):
            return fault.after or 0.0
        latency = settings.latency
        return (latency(number, body) if callable(latency) else latency) + jitter

    def _usage(
        self, body: dict[str, Any], replies: Sequence[Reply], fault: Fault | None
    ) -> tuple[int, int] | None:
        text = wire.prompt_text(body["messages"])
        cached = max((_shared(text, earlier) for earlier in self._prompts), default=0) // 4
        if self.settings.cache:
            self._prompts.append(text)
        self.log.counts["prompt_tokens"] += wire.tokens(text)
        self.log.counts["completion_tokens"] += wire.completion_tokens(replies)
        if fault and fault.kind == "no-usage":
            return None
        return wire.tokens(text), cached

    def _brain_failed(self, error: Exception, seen: Seen) -> web.Response:
        self.log.errors.append(error)
        seen.status = 500
        return web.Response(
            status=500,
            body=wire.error(f"the brain raised {error!r}", "server_error", "brain_failed"),
            content_type="application/json",
        )


def _shared(one: str, other: str) -> int:
    """The length of the longest common prefix."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _azure_error(status: int, message: str, code: str | None) -> dict[str, Any]:
    if code == "invalid_api_key":
        code, message = "401", (
            "Access denied due to invalid subscription key or wrong API endpoint. Make sure to "
            "provide a valid key for an active subscription and use a correct regional API "
            "endpoint for your resource."
        )  # fmt: skip
    if code == "model_not_found":
        code, message = "DeploymentNotFound", (
            "The API deployment for this resource does not exist. If you created the deployment "
            "within the last 5 minutes, please wait a moment and try again."
        )  # fmt: skip
    return {"error": {"code": code or str(status), "message": message}}


def _parse(raw: bytes) -> dict[str, Any]:
    body: Any = None
    problem = None
    try:
        body = json.loads(raw)
    except ValueError:
        problem = "The body is not JSON."
    else:
        if not isinstance(body, dict) or not isinstance(body.get("model"), str):
            problem = "You must provide a model."
        elif not isinstance(body.get("messages"), list) or not body["messages"]:
            problem = "You must provide messages."
        elif body.get("stream"):
            problem = "This server does not stream."
    if problem:
        raise _RefusedError(400, wire.error(problem, "invalid_request_error"))
    request: dict[str, Any] = body
    return request
