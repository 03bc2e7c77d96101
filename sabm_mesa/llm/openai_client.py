"""The client for every OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import aiohttp
import openai
from openai import AsyncOpenAI, HttpxBinaryResponseContent

from sabm_mesa import errors
from sabm_mesa.core.answers import BY_FILTER
from sabm_mesa.core.objects import no_field_twice
from sabm_mesa.errors import KEY_VARIABLE, BadRequest, LLMError
from sabm_mesa.llm.client import Completion, Request
from sabm_mesa.llm.dialect import Dialect, dropped, recorded
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.reading import (
    Origin,
    error_in,
    gateway_dollars,
    is_filtered,
    read_completion,
    read_models,
    unreadable_usage,
)
from sabm_mesa.llm.translation import Refusal, Translator, hide_key
from sabm_mesa.llm.transport import MAX_BYTES, BoundedHTTPClient, ResponseTooLarge

T = TypeVar("T")
_log = logging.getLogger(__name__)

CONNECT_S = 30.0
"""Seconds until a server that does not accept the connection counts as unreachable."""
_TIMEOUT = openai.Timeout(None, connect=CONNECT_S)
"""Only the connection has a time limit here: `complete` limits the whole answer."""
_NO_KEY = "none"
_CHAT, _MODELS = "a chat completion", "a list of models"
_FAILURES = (
    Refusal,
    openai.APIStatusError,
    openai.APIConnectionError,
    aiohttp.ClientError,
    TimeoutError,
    ResponseTooLarge,
    ValueError,
    RecursionError,
)
"""Errors of the library, of the connection, and of responses that cannot be read."""


class _PageOfHTML(ValueError):
    """A page of HTML in place of JSON."""


class OpenAIClient:
    """Asks one OpenAI-compatible endpoint over aiohttp, with the `openai` library.

    The key comes from the environment and is kept nowhere else. The library's own retries are
    off: `RetryClient` does them.

    Unsupported parameters are changed as the server's message says (`sabm_mesa.llm.dialect`). A
    request with a parameter that a study depends on is sent alone until the model has accepted one.

    Args:
        endpoint: the endpoint, or its address, such as ``http://127.0.0.1:8000/v1``; None for
            OpenAI's own. With an address or None, the key is in ``OPENAI_API_KEY``.
        timeout_s: seconds until a request fails, also when a part of the answer has arrived; None
            waits as long as there is a connection.
        max_bytes: the maximum number of bytes of a response.

    Attributes:
        endpoint: the endpoint.
    """

    def __init__(
        self,
        endpoint: Endpoint | str | None = None,
        timeout_s: float | None = 120.0,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        if not isinstance(endpoint, Endpoint):
            endpoint = Endpoint(endpoint, key_env=KEY_VARIABLE)
        self.endpoint = endpoint
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._client: AsyncOpenAI | None = None
        self._translate = Translator(endpoint, timeout_s)
        self._dialects: dict[str, Dialect] = {}
        self._first: dict[tuple[str, frozenset[str]], asyncio.Lock] = {}
        self._taken: set[tuple[str, frozenset[str]]] = set()
        self._reported: set[str] = set()
        self._answered = False
        self._limit = "max_completion_tokens" if endpoint.is_openai else "max_tokens"

    @property
    def is_open(self) -> bool:
        """Whether it may hold connections."""
        return self._client is not None

    async def complete(self, request: Request) -> Completion:
        """Complete a chat.

        Args:
            request: the request.

        Raises:
            LLMError: translated from the error of the library or the server.
        """
        needed = request.model, request.needed
        if not request.needed or needed in self._taken:
            return await self._complete(request)
        async with self._first.setdefault(needed, asyncio.Lock()):
            done = await self._complete(request)
            self._taken.add(needed)
            return done

    def dialect(self, model: str) -> Dialect:
        """The known dialect of a model.

        Args:
            model: its name.
        """
        if model not in self._dialects:
            self._dialects[model] = Dialect(self.endpoint.where, model)
        return self._dialects[model]

    async def _complete(self, request: Request) -> Completion:
        dialect, asked = self.dialect(request.model), self._asked(request)
        version, params = dialect.version, self._params(request, dialect, asked)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._post("/chat/completions", self._body(request, params))
            latency_s = time.perf_counter() - started
            body = _from_json(response)
            if error_body := error_in(body):
                raise Refusal(*error_body, response.response.headers, billed=True)
            origin = self._origin(request, asked, params, response.response.headers)
            done = read_completion(body, request, latency_s, origin)
            self._answered = True
            self._report(body, request.model)
            return hide_key(done)
        except _FAILURES as error:
            problem = _as_refusal(error)
            if isinstance(problem, Refusal):
                if is_filtered(problem.body):
                    origin = self._origin(request, asked, params)
                    return hide_key(_refused(request, time.perf_counter() - started, origin))
                if dialect.version != version or dialect.learn(asked, problem.status, problem.body):
                    return await self._complete(request)
            raise self._translated(problem, request.model, _CHAT) from None

    async def exchange(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post a body, and return the body of the answer, from JSON.

        Args:
            path: the path below the address of the endpoint.
            body: the body.

        Raises:
            openai.APIStatusError: for the status of an error.
        """
        return _from_json(await self._post(path, body))

    async def _post(self, path: str, body: Mapping[str, Any]) -> HttpxBinaryResponseContent:
        return await self._open().post(
            path,
            body=body,
            cast_to=HttpxBinaryResponseContent,
            options={"security": {"bearer_auth": True}},
        )

    def _report(self, body: Any, model: str) -> None:
        """Log once for each model that the server's counts of tokens or dollars are unreadable."""
        if model not in self._reported and (fields := unreadable_usage(body)):
            self._reported.add(model)
            _log.warning(
                "%s reports the usage of %r in an unreadable way (%s): the usage counts as "
                "unknown, and budgets count the highest possible one.",
                self.endpoint.where, model, errors.without_key(", ".join(fields)),
            )  # fmt: skip

    def _params(
        self, request: Request, dialect: Dialect, asked: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The parameters of a request as they are sent to its model."""
        params = dialect.mend(asked)
        if missing := dropped(asked, params, request.needed):
            raise BadRequest(
                f"The model {request.model!r} at {self.endpoint.where} does not take {missing}, "
                "which this study depends on: choose another model, or do not vary it."
            )
        return params

    async def models(self) -> list[str]:
        """The names of the models that the endpoint lists.

        Raises:
            LLMError: translated from the error of the library or the server.
        """

        async def names() -> list[str]:
            response = await self._open().get(
                "/models",
                cast_to=HttpxBinaryResponseContent,
                options={"security": {"bearer_auth": True}},
            )
            return [errors.without_key(name) for name in read_models(response.json())]

        return await self.reach(names, _MODELS)

    async def reach(self, call: Callable[[], Awaitable[T]], wanted: str) -> T:
        """Call another interface of the endpoint.

        Args:
            call: the call.
            wanted: the name of its result, for errors.

        Raises:
            LLMError: translated from the error of the library or the server.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await call()
        except _FAILURES as error:
            raise self._translated(_as_refusal(error), "", wanted) from None

    def _translated(self, error: Exception, model: str, wanted: str) -> LLMError:
        match error:
            case Refusal():
                refused = self._translate.refusal(error, model)
                refused.billed |= error.billed
                return refused
            case _PageOfHTML() if not self._answered:
                return self._translate.page()
            case openai.APIConnectionError() | aiohttp.ClientError():
                return self._translate.no_connection(error)
            case TimeoutError():
                return self._translate.timeout()
            case ResponseTooLarge():
                return self._translate.too_large(self._max_bytes)
            case _:
                return self._translate.no_completion(error, wanted)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            kind = KeyInHeader if self.endpoint.key_header else AsyncOpenAI
            self._client = kind(
                api_key=_NO_KEY,
                base_url=self.endpoint.base_url,
                default_query=self.endpoint.query,
                default_headers=self.endpoint.headers,
                max_retries=0,
                timeout=_TIMEOUT,
                http_client=BoundedHTTPClient(self._max_bytes, _TIMEOUT),
            )
            if isinstance(self._client, KeyInHeader):
                self._client.key_header = self.endpoint.key_header
            if self.endpoint.key_env != KEY_VARIABLE:
                # OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS go where the key goes.
                self._client.organization = self._client.project = None
                self._client._custom_headers = self.endpoint.headers  # noqa: SLF001
        self._client.api_key = self.endpoint.key() or _NO_KEY
        return self._client

    def _asked(self, request: Request) -> dict[str, Any]:
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

    def _body(self, request: Request, parameters: Mapping[str, Any]) -> dict[str, Any]:
        messages = [{"role": role, "content": content} for role, content in request.messages]
        extra = {**self.endpoint.extra_body, **(request.extra_body or {})}
        return {"model": request.model, "messages": messages, **parameters, **extra}

    def _origin(
        self,
        request: Request,
        asked: Mapping[str, Any],
        parameters: Mapping[str, Any],
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Origin:
        """The origin of an answer: the endpoint, the parameters of its request, and its cost."""
        extra = {**self.endpoint.extra_body, **(request.extra_body or {})}
        reported = {**asked}
        if request.max_tokens is not None:
            reported[self._limit] = request.max_tokens
        if request.max_thought_tokens is not None:
            reported["max_thought_tokens"] = request.max_thought_tokens
        parameters_as_json = recorded(reported | extra, {**parameters, **extra})
        return Origin(self.endpoint.where, parameters_as_json, gateway_dollars(headers))


def _from_json(response: HttpxBinaryResponseContent) -> Any:
    """The body of a response.

    Raises:
        ValueError: when it is not JSON, or an object in it has a field twice.
    """
    content = response.content
    if content.lstrip()[:1] == b"<":
        raise _PageOfHTML("a page of HTML")
    return json.loads(content, object_pairs_hook=no_field_twice)


def _as_refusal(error: Exception) -> Exception:
    """An error of the library for a status as a refusal; any other error unchanged."""
    if not isinstance(error, openai.APIStatusError):
        return error
    response = error.response
    return Refusal(error.status_code, error.body, response.headers, str(response.url))


class KeyInHeader(AsyncOpenAI):
    """Sends the key in its own header, as the library's client for Azure does.

    That client also puts the model into the address and reads more environment variables.

    Attributes:
        key_header: the name of the header.
    """

    key_header = ""

    async def _prepare_options(self, options: Any) -> Any:
        options = await super()._prepare_options(options)
        given = options.headers if isinstance(options.headers, Mapping) else {}
        auth = {"Authorization": openai.Omit(), self.key_header: self.api_key}
        return options.model_copy(update={"headers": {**given, **auth}})


def _refused(request: Request, latency_s: float, origin: Origin) -> Completion:
    """A prompt that a content filter refused counts as a refused answer without cost."""
    return Completion(
        "", request.model, BY_FILTER,
        latency_s=latency_s, cost_usd=0.0, asked_model=request.model, **origin._asdict(),
    )  # fmt: skip
