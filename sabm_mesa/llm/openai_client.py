"""The client for every OpenAI-compatible endpoint; here, and only here, errors are translated."""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import Any

import openai
from openai import AsyncOpenAI, DefaultAioHttpClient

from sabm_mesa.errors import (
    AccessDenied,
    BadRequest,
    LLMError,
    MissingKey,
    RateLimited,
    ServerUnavailable,
)
from sabm_mesa.llm.client import Completion, Request

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
_NO_KEY = "none"
_LONGEST_DETAIL = 300
_KEY_LIKE = re.compile(r"\b(sk|key|pk)-[\w*-]{6,}")
_WAYS_ON = (
    f"Set {KEY_VARIABLE} in the environment; or name a server that needs no key "
    "(--base-url http://127.0.0.1:8000/v1); or run without a language model (--minds classical)."
)


class OpenAIClient:
    """Asks one OpenAI-compatible endpoint through the `openai` library over aiohttp.

    The key comes from the environment and is kept nowhere else. The library's own retries are
    off: `Retrying` does them.

    Args:
        base_url: the endpoint, such as ``http://127.0.0.1:8000/v1``; None for OpenAI's own, or
            what the environment variable OPENAI_BASE_URL says.
        timeout_s: seconds after which a request is given up.

    Raises:
        MissingKey: when OpenAI's own endpoint is asked without a key.
    """

    def __init__(self, base_url: str | None = None, timeout_s: float = 120.0) -> None:
        self._url = base_url or os.environ.get(URL_VARIABLE) or None
        self._timeout_s = timeout_s
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()
        if self._url is None and not _key():
            raise MissingKey(f"There is no API key. {_WAYS_ON}")

    async def complete(self, request: Request) -> Completion:
        """Complete a chat.

        Args:
            request: what is asked.

        Raises:
            LLMError: translated from what the library or the server says.
        """
        client = await self._open()
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await client.chat.completions.with_raw_response.create(
                    **self._body(request)
                )
            body = response.http_response.json()
        except openai.APIStatusError as error:
            raise self._refused(error, request) from None
        except (TimeoutError, openai.APITimeoutError):
            raise ServerUnavailable(
                f"No answer from {self._where} within {self._timeout_s:g} s. "
                "Is the server overloaded? Try again, or lower --max-concurrency."
            ) from None
        except openai.APIConnectionError as error:
            raise ServerUnavailable(
                f"Cannot reach {self._where} ({_clean(str(error.__cause__ or error))}). "
                "Is the server running, and is the address right?"
            ) from None
        except (ValueError, openai.APIError) as error:
            raise ServerUnavailable(
                f"{self._where} sent something that is no chat completion ({_clean(str(error))})."
            ) from None
        return _completion(body, request, time.perf_counter() - started, self._where)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    @property
    def _where(self) -> str:
        return self._url or "the OpenAI API"

    async def _open(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                self._client = AsyncOpenAI(
                    api_key=_key() or _NO_KEY,
                    base_url=self._url,
                    max_retries=0,
                    timeout=self._timeout_s,
                    http_client=DefaultAioHttpClient(timeout=self._timeout_s),
                )
            return self._client

    def _body(self, request: Request) -> dict[str, Any]:
        limit = "max_completion_tokens" if self._url is None else "max_tokens"
        optional = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            limit: request.max_tokens,
        }
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
            **{name: value for name, value in optional.items() if value is not None},
        }
        if request.schema is not None:
            schema = {"name": "answer", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _refused(self, error: openai.APIStatusError, request: Request) -> LLMError:
        status, detail = error.status_code, _clean(_detail(error))
        wait = _retry_after(error)
        said = f"{self._where} answered {status} ({detail})"
        if status in {401, 403}:
            return AccessDenied(f"{said}: the key was refused. {_WAYS_ON}")
        if status == 429:
            return RateLimited(
                f"{said}: too many requests. Wait, or lower --max-concurrency.", wait
            )
        if status in {408, 409} or status >= 500:
            return ServerUnavailable(f"{said}. Try again later.", wait)
        if status == 404:
            return BadRequest(
                f"{said}: is the model name {request.model!r} right, and the address?"
            )
        return BadRequest(
            f"{said} for model {request.model!r}: change the request (--set …) and run again."
        )


def _key() -> str:
    return os.environ.get(KEY_VARIABLE, "").strip()


def _clean(text: str) -> str:
    """One line without the key, without control codes, and not too long."""
    if key := _key():
        text = text.replace(key, "[key]")
    text = _KEY_LIKE.sub("[key]", "".join(c if c.isprintable() else " " for c in text))
    return " ".join(text.split())[:_LONGEST_DETAIL]


def _detail(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict):
        message = body.get("message") or body.get("detail")
        if message:
            return str(message)
    return error.response.reason_phrase or "no reason given"


def _retry_after(error: openai.APIStatusError) -> float | None:
    headers = error.response.headers
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / scale)
        except (KeyError, ValueError):
            continue
    return None


def _completion(body: Any, request: Request, latency_s: float, where: str) -> Completion:
    """Read a response leniently where the text may be missing, strictly where it is no response."""
    if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
        raise ServerUnavailable(f"{where} sent something that is no chat completion.")
    choice = body["choices"][0] if body["choices"] else {}
    message = choice.get("message") or {}
    usage = body.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    refused = message.get("refusal") and not message.get("content")
    return Completion(
        text=str(message.get("content") or ""),
        model=str(body.get("model") or request.model),
        finish_reason="content_filter" if refused else str(choice.get("finish_reason") or ""),
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        cached_tokens=int(details.get("cached_tokens") or 0),
        latency_s=latency_s,
    )
