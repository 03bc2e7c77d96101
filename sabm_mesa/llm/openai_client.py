"""The client for every OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import openai
from openai import AsyncOpenAI, HttpxBinaryResponseContent

from sabm_mesa import errors
from sabm_mesa.errors import KEY_VARIABLE, LLMError
from sabm_mesa.llm.client import Completion, EmbeddingRequest, Request
from sabm_mesa.llm.endpoints import OPENAI_URL, Endpoint
from sabm_mesa.llm.reading import read_completion, read_embeddings, read_models
from sabm_mesa.llm.translation import Translator, without_key
from sabm_mesa.llm.transport import MAX_BYTES, BoundedHTTPClient, ResponseTooLarge

CONNECT_S = 30.0
"""Seconds after which a server that does not even take the connection is given up."""
_NO_KEY = "none"
_FORM = "response_format"
_CHAT, _EMBEDDINGS, _MODELS = "chat completion", "embedding", "list of models"
_FAILURES = (
    openai.APIStatusError,
    openai.APIConnectionError,
    aiohttp.ClientError,
    TimeoutError,
    ResponseTooLarge,
    ValueError,
    RecursionError,
)
"""Errors of the library, of the connection, and of responses that cannot be read."""


class OpenAIClient:
    """Asks one OpenAI-compatible endpoint through the `openai` library over aiohttp.

    The key comes from the environment and is kept nowhere else. The library's own retries are
    off: `RetryClient` does them. Its typed method for chat completions is passed by, since it costs
    more than the rest of a request together: it walks through the body once more for its types.

    A JSON schema is sent as OpenAI takes it (``json_schema``); a server that refuses this form is
    sent the older one from then on (``json_object`` with a schema, as llama-cpp-python takes it).

    Args:
        endpoint: the endpoint, or the address of one with the key ``OPENAI_API_KEY``, such as
            ``http://127.0.0.1:8000/v1``; None for OpenAI's own.
        timeout_s: seconds after which a request is given up, whatever has come until then.
        max_bytes: bytes of a response that are read at most.

    Attributes:
        endpoint: the endpoint.
    """

    def __init__(
        self,
        endpoint: Endpoint | str | None = None,
        timeout_s: float = 120.0,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        if not isinstance(endpoint, Endpoint):
            endpoint = Endpoint(endpoint, key_env=KEY_VARIABLE)
        self.endpoint = endpoint
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._client: AsyncOpenAI | None = None
        self._translate = Translator(endpoint, timeout_s)
        self._older_form = False
        self._limit = "max_completion_tokens" if endpoint.is_openai else "max_tokens"

    @property
    def is_open(self) -> bool:
        """Whether it may hold connections."""
        return self._client is not None

    async def complete(self, request: Request) -> Completion:
        """Complete a chat, or embed texts.

        Args:
            request: the request.

        Raises:
            LLMError: translated from what the library or the server says.
        """
        client = self._open()
        older_form = self._older_form
        embeds = isinstance(request, EmbeddingRequest)
        read = read_embeddings if embeds else read_completion
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await client.post(
                    "/embeddings" if embeds else "/chat/completions",
                    cast_to=HttpxBinaryResponseContent,
                    body=_texts(request) if embeds else self._body(request, older_form=older_form),
                    options={"security": {"bearer_auth": True}},
                )
            return without_key(read(response.json(), request, time.perf_counter() - started))
        except _FAILURES as error:
            form = isinstance(error, openai.APIStatusError) and _FORM in str(error.body)
            if form and request.schema is not None and not older_form:
                self._older_form = True
                return await self.complete(request)
            wanted = _EMBEDDINGS if embeds else _CHAT
            raise self._translated(error, request.model, wanted) from None

    async def models(self) -> list[str]:
        """The names of the models that the endpoint says it has.

        Raises:
            LLMError: translated from what the library or the server says.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._open().get(
                    "/models",
                    cast_to=HttpxBinaryResponseContent,
                    options={"security": {"bearer_auth": True}},
                )
            return [errors.without_key(name) for name in read_models(response.json())]
        except _FAILURES as error:
            raise self._translated(error, "", _MODELS) from None

    def _translated(self, error: Exception, model: str, wanted: str) -> LLMError:
        match error:
            case openai.APIStatusError():
                return self._translate.refusal(error, model)
            case TimeoutError():
                return self._translate.timeout()
            case ResponseTooLarge():
                return self._translate.too_large(self._max_bytes)
            case openai.APIConnectionError() | aiohttp.ClientError():
                return self._translate.no_connection(error)
            case _:
                return self._translate.no_completion(error, wanted)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            # Only the connection has a time limit here: that of the whole answer is `complete`'s.
            timeout = openai.Timeout(None, connect=CONNECT_S)
            self._client = AsyncOpenAI(
                api_key=_NO_KEY,
                base_url=self.endpoint.url or OPENAI_URL,
                default_headers=self.endpoint.headers,
                max_retries=0,
                timeout=timeout,
                http_client=BoundedHTTPClient(self._max_bytes, timeout),
            )
            if self.endpoint.key_env != KEY_VARIABLE:
                # OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS go where the key goes.
                self._client.organization = self._client.project = None
                self._client._custom_headers = self.endpoint.headers  # noqa: SLF001
        self._client.api_key = self.endpoint.key() or _NO_KEY
        return self._client

    def _body(self, request: Request, *, older_form: bool = False) -> dict[str, Any]:
        optional = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            self._limit: request.max_tokens,
            "n": request.n if request.n > 1 else None,
            "seed": request.seed,
        }
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
            **{name: value for name, value in optional.items() if value is not None},
            **self.endpoint.extra_body,
        }
        if request.schema is not None:
            schema = {"name": "answer", "strict": True, "schema": request.schema}
            body[_FORM] = (
                {"type": "json_object", "schema": request.schema}
                if older_form
                else {"type": "json_schema", "json_schema": schema}
            )
        return body


def _texts(request: Request) -> dict[str, Any]:
    """The body of a request for embeddings: the texts, and nothing that a server may not know."""
    return {"model": request.model, "input": [content for _, content in request.messages]}
