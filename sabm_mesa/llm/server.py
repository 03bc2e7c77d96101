"""A server that answers requests: an OpenAI-compatible endpoint, asked by the `openai` library."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cache
from typing import Any

import aiohttp
import httpx2
import openai
from openai import AsyncOpenAI, DefaultAioHttpClient

from sabm_mesa.core.answers import BY_FILTER, Reply
from sabm_mesa.core.objects import no_field_twice
from sabm_mesa.errors import KEY_VARIABLE, BadRequest, LLMError
from sabm_mesa.llm.client import FirstAlone, Sender
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.quirks import left_out, recorded
from sabm_mesa.llm.reading import (
    error_in,
    gateway_dollars,
    is_filtered,
    read_reply,
)
from sabm_mesa.llm.request import Request
from sabm_mesa.llm.translation import Refusal, Translator, hide_key

MAX_BYTES = 4_000_000
"""The maximum number of bytes of a response."""
CONNECT_S = 30.0
"""Seconds until a server that does not accept the connection counts as unreachable."""
_TIMEOUT = openai.Timeout(None, connect=CONNECT_S)
"""Only the connection has a time limit here: `Server.send` limits the whole answer."""
_OPTIONS: openai.RequestOptions = {"timeout": _TIMEOUT, "max_retries": 0, "headers": {}}
"""Options of a request; the library copies the default of each that is not given."""
_OF_HTTP = {
    "accept", "accept-encoding", "connection", "content-length", "content-type", "host",
    "user-agent",
}  # fmt: skip
_OF_THIS_COMPUTER = "x-stainless-"
"""Headers in which the library describes system and Python, which no server needs."""
_FAILURES = (
    Refusal,
    openai.APIStatusError,
    openai.APIConnectionError,
    aiohttp.ClientError,
    httpx2.HTTPError,
    TimeoutError,
    ValueError,
    RecursionError,
)
"""Errors of the library, of the connection, and of responses that cannot be read."""


class ResponseTooLarge(ValueError):
    """A response is larger than the limit; its connection is closed."""


class PageOfHTML(ValueError):
    """A page of HTML in place of JSON."""


class Server(Sender):
    """An OpenAI-compatible endpoint.

    The key comes from the environment and is kept nowhere else. A request with a parameter that a
    study depends on is sent alone until the model has accepted one.

    Args:
        endpoint: the endpoint, or its address, such as ``http://127.0.0.1:8000/v1``; None for
            OpenAI's own. With an address or None, the key is in ``OPENAI_API_KEY``.
        timeout_s: seconds until a request fails, also when a part of the answer has arrived; None
            waits as long as there is a connection.
        max_bytes: the maximum number of bytes of a response.
    """

    def __init__(
        self,
        endpoint: Endpoint | str | None = None,
        timeout_s: float | None = 120.0,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__()
        if not isinstance(endpoint, Endpoint):
            endpoint = Endpoint(endpoint, key_env=KEY_VARIABLE)
        self.endpoint, self.where = endpoint, endpoint.where
        self._timeout_s, self._max_bytes = timeout_s, max_bytes
        self._client: AsyncOpenAI | None = None
        self._translate = Translator(endpoint, timeout_s)
        self._first = FirstAlone()
        self._answered = False
        self._limit = "max_completion_tokens" if endpoint.is_openai else "max_tokens"

    @property
    def is_open(self) -> bool:
        """Whether it may hold connections."""
        return self._client is not None

    def turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """Let one request alone find out whether its model takes what the study depends on."""
        if not request.needed:
            return nullcontext()
        return self._first.turn((request.model, request.needed))

    async def send(self, request: Request) -> Reply:
        """Send a request, and once more for each parameter that its model turns out to lack.

        Raises:
            LLMError: translated from the error of the library or the server.
        """
        quirks, asked = self.quirks(request.model), self.asked(request)
        while True:
            version, sent = quirks.version, quirks.apply(asked)
            if missing := left_out(asked, sent, request.needed):
                raise BadRequest(
                    f"The model {request.model!r} at {self.where} does not take {missing}, which "
                    "this study depends on: choose another model, or do not vary it."
                )
            extra = {**self.endpoint.extra_body, **(request.extra_body or {})}
            reply = Reply(
                "", model=request.model, asked_model=request.model, provider=self.where,
                parameters=recorded(self._reported_as(request, asked) | extra, sent | extra),
            )  # fmt: skip
            messages = [{"role": role, "content": content} for role, content in request.messages]
            body = {"model": request.model, "messages": messages, **sent, **extra}
            started = time.perf_counter()
            try:
                content, headers = await self.exchange("/chat/completions", body)
                reply.latency_s = time.perf_counter() - started
                if error := error_in(content):
                    raise Refusal(*error, headers, billed=True)
                reply.gateway_cost_usd = gateway_dollars(headers)
                read_reply(content, request, reply)
            except _FAILURES as error:
                problem = _as_refusal(error)
                if isinstance(problem, Refusal):
                    if is_filtered(problem.body):  # a refused answer, at no cost
                        reply.latency_s = time.perf_counter() - started
                        reply.finish_reason = BY_FILTER
                        return hide_key(reply)
                    if quirks.version != version or quirks.learn(
                        asked, problem.status, problem.body
                    ):
                        continue
                raise self._translated(problem, request.model) from None
            self._answered = True
            return hide_key(reply)

    async def exchange(self, path: str, body: Mapping[str, Any]) -> tuple[Any, Mapping[str, str]]:
        """Post a body; the body of the response, from JSON, and its headers.

        Raises:
            openai.APIStatusError: for the status of an error.
            ValueError: when the body is not JSON, or an object in it has a field twice.
        """
        async with asyncio.timeout(self._timeout_s):
            response = await self._open().post(
                f"{self.endpoint.base_url}{path}", body=body, cast_to=httpx2.Response,
                options=_OPTIONS,
            )  # fmt: skip
        if response.content.lstrip()[:1] == b"<":
            raise PageOfHTML("a page of HTML")
        content = json.loads(response.content, object_pairs_hook=no_field_twice)
        return content, response.headers

    async def count(self, messages: list[dict[str, str]]) -> int:
        """The number of tokens of a chat, as llama.cpp counts them.

        Raises:
            LLMError: translated from the error of the library or the server.
        """
        try:
            chat, _ = await self.exchange("/apply-template", {"messages": messages})
            body = {"content": chat["prompt"], "add_special": True}
            counted, _ = await self.exchange("/tokenize", body)
            return len(counted["tokens"])
        except _FAILURES as error:
            raise self._translated(_as_refusal(error), "", "a number of tokens") from None

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            self._client = AsyncOpenAI(
                api_key="none",  # the key of the moment is set by `_Transport`
                base_url=self.endpoint.base_url,
                default_query=self.endpoint.query,
                max_retries=0,  # `Client` retries
                timeout=_TIMEOUT,
                http_client=_Transport(self.endpoint, self._max_bytes),
            )
        return self._client

    def asked(self, request: Request) -> dict[str, Any]:
        """The parameters of a request as asked for; a schema without its form."""
        optional = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "reasoning_effort": request.reasoning_effort,
            self._limit: request.limit,
            "seed": request.seed,
            "response_format": request.schema,
        }
        return {name: value for name, value in optional.items() if value is not None}

    def _reported_as(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters asked for, with both limits of tokens as the run set them."""
        reported = {**asked}
        if request.max_tokens is not None:
            reported[self._limit] = request.max_tokens
        if request.max_thought_tokens is not None:
            reported["max_thought_tokens"] = request.max_thought_tokens
        return reported

    def _translated(
        self, error: Exception, model: str, wanted: str = "a chat completion"
    ) -> LLMError:
        match error:
            case Refusal():
                refused = self._translate.refusal(error, model)
                refused.billed |= error.billed
                return refused
            case PageOfHTML() if not self._answered:
                return self._translate.page()
            case httpx2.DecodingError():
                return self._translate.no_completion(error, wanted)
            case openai.APIConnectionError() | aiohttp.ClientError() | httpx2.HTTPError():
                return self._translate.no_connection(error)
            case TimeoutError():
                return self._translate.timeout()
            case ResponseTooLarge():
                return self._translate.too_large(self._max_bytes)
            case _:
                return self._translate.no_completion(error, wanted)


class _Transport(DefaultAioHttpClient):
    """The aiohttp transport of the library: our headers, no redirects, and responses up to a limit.

    The size of a response counts after unpacking, whatever its status.
    """

    def __init__(self, endpoint: Endpoint, max_bytes: int) -> None:
        certificates = _certificates(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))
        super().__init__(timeout=_TIMEOUT, verify=certificates)
        self._endpoint, self._max_bytes = endpoint, max_bytes

    async def send(self, request: httpx2.Request, **_options: Any) -> httpx2.Response:
        """Send a request of the library and read its response.

        Raises:
            ResponseTooLarge: when the body is larger than the limit.
        """
        request.headers = self._headers_for(request.headers)
        received = await super().send(request, stream=True, follow_redirects=False)
        try:
            content = bytearray()
            async for part in received.aiter_bytes():
                content += part
                if len(content) > self._max_bytes:
                    raise ResponseTooLarge
        finally:
            await received.aclose()
        headers = received.headers
        if "content-encoding" in headers:
            headers = headers.copy()
            del headers["content-encoding"]
        return httpx2.Response(
            received.status_code,
            headers=headers,
            content=bytes(content),
            request=request,
            extensions=received.extensions,
        )

    def _headers_for(self, given: httpx2.Headers) -> httpx2.Headers:
        """The headers of a request: those of HTTP, of the endpoint, and the key of the moment."""
        endpoint = self._endpoint
        # OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS go where the key goes.
        all_ = endpoint.key_env == KEY_VARIABLE
        headers = [
            (name, value)
            for name, value in given.multi_items()
            if name in _OF_HTTP
            or (all_ and name != "authorization" and not name.startswith(_OF_THIS_COMPUTER))
        ]
        key = endpoint.key()
        if endpoint.key_header:
            headers.append((endpoint.key_header, key))
        else:
            headers.append(("authorization", f"Bearer {key or 'none'}"))
        return httpx2.Headers(headers)


@cache
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The certificates that the environment names; it takes a tenth of a second to read them."""
    return httpx2.create_ssl_context()


def _as_refusal(error: Exception) -> Exception:
    """An error of the library for a status as a refusal; any other error unchanged."""
    if not isinstance(error, openai.APIStatusError):
        return error
    response = error.response
    return Refusal(error.status_code, error.body, response.headers, str(response.url))
