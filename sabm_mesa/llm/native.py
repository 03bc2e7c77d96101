"""Clients for the interfaces of Anthropic and Google, through their own libraries.

They differ from `OpenAIClient` only in the format: a request is converted to the other interface,
and its answer back to a chat completion. So dialects, filters, thoughts, limits, errors and
recordings are the same. The libraries are optional dependencies. They send through the same HTTP
client, so the size of an answer is bounded and no redirect leaves the server. They get the key of
the endpoint and nothing else from the environment.

Sources: platform.claude.com/docs/en/api/messages and docs.claude.com/en/api/errors;
ai.google.dev/api/generate-content and
ai.google.dev/gemini-api/docs/thinking; the types of the
libraries `anthropic` 2.12 and `google-genai` 3.4.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import httpx2
import openai

from sabm_mesa.core.answers import BY_FILTER, CALLED
from sabm_mesa.core.images import Picture, described
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm.budget import longest_answer
from sabm_mesa.llm.client import Request
from sabm_mesa.llm.dialect import Dialect
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.openai_client import CONNECT_S, OpenAIClient, contents
from sabm_mesa.llm.reading import read_count, read_fields
from sabm_mesa.llm.transport import BoundedHTTPClient, ResponseTooLarge

_NO_KEY = "none"
_TIMEOUT = openai.Timeout(None, connect=CONNECT_S)
_UNKNOWN = ("seed",)
"""Parameters that Anthropic does not have."""
_STOPPED = {
    "end_turn": "stop",
    "tool_use": CALLED,
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": BY_FILTER,
}
"""Anthropic's reasons to stop, in the words of a chat completion."""
_FINISHED = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
        BY_FILTER,
    ),
}
"""Google's."""
_VERSION = re.compile(r"/v1(beta)?\Z")
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s\Z")


def native_client(endpoint: Endpoint, timeout_s: float) -> OpenAIClient:
    """The client of an endpoint with another interface than OpenAI's.

    Args:
        endpoint: the endpoint.
        timeout_s: seconds after which a request is given up.

    Raises:
        ParameterError: when the library for it is not installed.
    """
    kinds = {"anthropic": AnthropicClient, "google": GoogleClient}
    client = kinds[endpoint.api](endpoint, timeout_s)
    try:
        import_module(client.library)
    except ImportError:
        raise ParameterError(
            f'The endpoint {endpoint.name!r} has api = "{endpoint.api}", which needs a library: '
            f"pip install 'sabm-mesa[{endpoint.api}]'."
        ) from None
    return client


class _NativeClient(OpenAIClient):
    """The common part of both: one answer per request.

    Attributes:
        library: the module of its library.
        unknown: parameters that the interface does not have.
    """

    library = ""
    unknown: Sequence[str] = ()
    _library: Any = None

    @property
    def is_open(self) -> bool:
        """Whether it may hold connections."""
        return self._library is not None

    def dialect(self, model: str) -> Dialect:
        """The known dialect of a model."""
        if model not in self._dialects:
            dialect = super().dialect(model)
            dialect.changes |= dict.fromkeys(self.unknown, None)
        return super().dialect(model)

    async def _send(self, request: Request, parameters: Mapping[str, Any]) -> Any:
        extra = {**self.endpoint.extra_body, **(request.extra_body or {})}
        body = self._native_body(request, parameters)
        return await self._post(request.model, _merged(body, extra))

    def _native_body(self, request: Request, parameters: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    async def _post(self, model: str, body: dict[str, Any]) -> Any:
        raise NotImplementedError

    @property
    def _base_url(self) -> str:
        """The address without the version of the interface, which the library adds."""
        return _VERSION.sub("", self.endpoint.url or "")


class AnthropicClient(_NativeClient):
    """Asks Anthropic's Messages interface through the library `anthropic`."""

    library = "anthropic"
    unknown = _UNKNOWN

    async def close(self) -> None:
        """Close the connections."""
        library, self._library = self._library, None
        if library is not None:
            await library.close()

    def _asked(self, request: Request) -> dict[str, Any]:
        # The interface demands a limit.
        return {self._limit: longest_answer(request)} | super()._asked(request)

    def _native_body(self, request: Request, parameters: Mapping[str, Any]) -> dict[str, Any]:
        names = ("max_tokens", "temperature", "top_p")
        body: dict[str, Any] = {
            "messages": [
                {"role": role, "content": content}
                for role, content in contents(request, parameters, _anthropic_image)
                if role != "system"
            ],
            **{name: parameters[name] for name in names if name in parameters},
        }
        if system := _system(request):
            body["system"] = system
        config: dict[str, Any] = {}
        effort = parameters.get("reasoning_effort")
        if request.max_thought_tokens:
            budget = request.max_thought_tokens
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
        elif effort == "none":
            body["thinking"] = {"type": "disabled"}
        elif effort:
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
        if effort and effort != "none":
            config["effort"] = effort
        if tools := _functions(parameters):
            body["tools"] = [
                {"input_schema": tool.pop("parameters"), **tool} for tool in map(dict, tools)
            ]
            # A model that thinks first may be asked for a call, and not made to call.
            thinks = body.get("thinking", {}).get("type", "disabled") != "disabled"
            must = "tool_choice" in parameters and not thinks
            body["tool_choice"] = {"type": "any" if must else "auto"}
        if schema := _schema(request, parameters):
            from anthropic import transform_schema

            # Limits of numbers and lengths are refused: they become words of the description.
            config["format"] = {"type": "json_schema", "schema": transform_schema(schema)}
        return {**body, "output_config": config} if config else body

    async def _post(self, model: str, body: dict[str, Any]) -> Any:
        whole = {"model": model, **body}
        with _as_of_openai():
            done = await self._opened().post("/v1/messages", cast_to=object, body=whole)
        # The library reads JSON only where the server calls it so.
        return _from_anthropic(json.loads(done) if isinstance(done, str) else done)

    async def _list(self) -> Any:
        with _as_of_openai():
            return await self._opened().get("/v1/models", cast_to=object)

    def _opened(self) -> Any:
        if self._library is None:
            from anthropic import AsyncAnthropic

            self._library = AsyncAnthropic(
                api_key=_NO_KEY,
                base_url=self._base_url,
                max_retries=0,
                timeout=_TIMEOUT,
                http_client=BoundedHTTPClient(self._max_bytes, _TIMEOUT),
                open_telemetry=False,
            )
            # In place of those of ANTHROPIC_CUSTOM_HEADERS, which belong to no endpoint here.
            self._library._custom_headers = self.endpoint.headers  # noqa: SLF001
        self._library.api_key = self.endpoint.key() or _NO_KEY
        return self._library


class GoogleClient(_NativeClient):
    """Asks Google's Gemini interface through the library `google-genai`."""

    library = "google.genai"
    _key = ""

    async def close(self) -> None:
        """Close the connections."""
        library, self._library = self._library, None
        if library is not None:
            await self._http.aclose()

    def _native_body(self, request: Request, parameters: Mapping[str, Any]) -> dict[str, Any]:
        names = {
            "max_tokens": "maxOutputTokens",
            "temperature": "temperature",
            "top_p": "topP",
            "seed": "seed",
        }
        config: dict[str, Any] = {
            new: parameters[name] for name, new in names.items() if name in parameters
        }
        if schema := _schema(request, parameters):
            config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        thinking: dict[str, Any] = {}
        if request.max_thought_tokens:
            thinking["thinkingBudget"] = request.max_thought_tokens
        elif effort := parameters.get("reasoning_effort"):
            thinking["thinkingLevel"] = effort
        if thinking:
            config["thinkingConfig"] = {"includeThoughts": True, **thinking}
        roles = {"assistant": "model"}
        body: dict[str, Any] = {
            "contents": [
                {"role": roles.get(role, role), "parts": _google_parts(content)}
                for role, content in contents(request, parameters, _google_image)
                if role != "system"
            ],
            "generationConfig": config,
        }
        if tools := _functions(parameters):
            declared = [
                {"parametersJsonSchema": tool.pop("parameters"), **tool}
                for tool in map(dict, tools)
            ]
            body["tools"] = [{"functionDeclarations": declared}]
            if "tool_choice" in parameters:
                body["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
        if system := _system(request):
            body["systemInstruction"] = {"parts": [{"text": system}]}
        return body

    async def _post(self, model: str, body: dict[str, Any]) -> Any:
        from google.genai import types

        contents = body.pop("contents")
        options = types.HttpOptions(extra_body=body)
        config = types.GenerateContentConfig(http_options=options, should_return_http_response=True)
        with _as_of_openai():
            done = await self._opened().aio.models.generate_content(
                model=model, contents=contents, config=config
            )
        sent = done.sdk_http_response
        return _from_google(json.loads((sent and sent.body) or ""))

    async def _list(self) -> Any:
        with _as_of_openai():
            there = await self._opened().aio.models.list()
        names = (str(model.name or "").removeprefix("models/") for model in there.page)
        return {"data": [{"id": name} for name in names]}

    def _opened(self) -> Any:
        key = self.endpoint.key() or _NO_KEY
        if self._library is None or key != self._key:
            from google.genai import Client, types

            if self._library is None:
                self._http = BoundedHTTPClient(self._max_bytes, _TIMEOUT)
            self._key = key
            self._library = Client(
                api_key=key,
                vertexai=False,
                http_options=types.HttpOptions(
                    base_url=self._base_url,
                    api_version="v1beta",
                    headers=dict(self.endpoint.headers),
                    httpx_async_client=self._http,
                    retry_options=types.HttpRetryOptions(attempts=1),
                ),
            )
        return self._library


def _system(request: Request) -> str:
    texts = (content for role, content in request.messages if role == "system")
    return described("\n\n".join(texts), request.pictures or ())


def _schema(request: Request, parameters: Mapping[str, Any]) -> Any:
    """The schema of an answer; None for a model that does not support schemas."""
    form = parameters.get("response_format") or {}
    return request.schema if "json_schema" in form else None


def _anthropic_image(picture: Picture) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": picture.base64}
    return {"type": "image", "source": source}


def _google_image(picture: Picture) -> dict[str, Any]:
    return {"inlineData": {"mimeType": "image/png", "data": picture.base64}}


def _google_parts(content: Any) -> list[dict[str, Any]]:
    """The parts of a message: texts without a type, and pictures."""
    parts = [{"text": content}] if isinstance(content, str) else content
    return [{name: value for name, value in part.items() if name != "type"} for part in parts]


def _functions(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The functions that a model may call; none for a model that does not support functions."""
    return [tool["function"] for tool in parameters.get("tools") or ()]


def _merged(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A body with more fields; tables in both are merged."""
    merged = dict(body)
    for name, value in extra.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, Mapping):
            merged[name] = _merged(old, value)
        else:
            merged[name] = value
    return merged


def _from_anthropic(body: Any) -> Any:
    """The body of a message as the body of a chat completion; any other body is unchanged."""
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        return body
    usage = read_fields(reported := body.get("usage"))
    sent, read, written = (
        usage.get(f"{kind}input_tokens") for kind in ("", "cache_read_", "cache_creation_")
    )
    reason = body.get("stop_reason")
    details = read_fields(usage.get("output_tokens_details"))
    return {
        "id": body.get("id"),
        "model": body.get("model"),
        "choices": [
            {
                "message": {
                    "content": body["content"],
                    "tool_calls": _calls(body["content"]),
                },
                "finish_reason": _STOPPED.get(str(reason), reason),
            }
        ],
        "usage": {
            "prompt_tokens": _sum(sent, read, written),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
            "completion_tokens_details": {"reasoning_tokens": details.get("thinking_tokens")},
        }
        if usage
        else reported,
    }


def _sum(*counts: Any) -> Any:
    """The sum of counts, of which some may be missing; a value that is not a number is returned."""
    reported = [count for count in counts if count is not None]
    return next(
        (count for count in reported if read_count(count) != count), sum(map(read_count, reported))
    )


def _from_google(body: Any) -> Any:
    """The body of generated content as the body of a chat completion; any other body is unchanged.

    A blocked prompt has no candidates: it is a refused answer.
    """
    blocked = isinstance(body, dict) and read_fields(body.get("promptFeedback")).get("blockReason")
    if not isinstance(body, dict) or not (blocked or isinstance(body.get("candidates"), list)):
        return body
    usage = read_fields(reported := body.get("usageMetadata"))
    thoughts = usage.get("thoughtsTokenCount")
    refused = [{"finishReason": "SAFETY"}] if blocked else []
    return {
        "id": body.get("responseId"),
        "model": body.get("modelVersion"),
        "choices": [_choice(candidate) for candidate in body.get("candidates") or refused],
        "usage": {
            "prompt_tokens": usage.get("promptTokenCount"),
            "completion_tokens": _sum(usage.get("candidatesTokenCount"), thoughts),
            "prompt_tokens_details": {"cached_tokens": usage.get("cachedContentTokenCount")},
            "completion_tokens_details": {"reasoning_tokens": thoughts},
        }
        if usage
        else reported,
    }


def _calls(parts: Any) -> list[Any]:
    """The function calls among the parts of a message, in the format of chat completions."""
    calls = []
    for part in map(read_fields, parts if isinstance(parts, list) else ()):
        if part.get("type") == "tool_use":  # Anthropic
            calls.append({"name": part.get("name"), "arguments": part.get("input")})
        elif call := read_fields(part.get("functionCall")):  # Google
            calls.append({"name": call.get("name"), "arguments": call.get("args")})
    return [{"function": call} for call in calls]


def _choice(candidate: Any) -> dict[str, Any]:
    candidate = read_fields(candidate)
    reason = candidate.get("finishReason")
    parts = read_fields(candidate.get("content")).get("parts")
    return {
        "message": {"content": parts, "tool_calls": _calls(parts)},
        "finish_reason": _FINISHED.get(str(reason), reason),
    }


@contextmanager
def _as_of_openai() -> Iterator[None]:
    """Raise the errors of the libraries as those of `openai`, which are translated elsewhere.

    All three use `httpx2`, whose responses they keep.
    """
    try:
        yield
    except (ResponseTooLarge, TimeoutError):
        raise
    except Exception as error:
        cause = error.__cause__
        if isinstance(cause, ResponseTooLarge):
            raise cause from None
        response = getattr(error, "response", None)
        if isinstance(response, httpx2.Response):
            raise _refusal(response) from None
        request = getattr(error, "request", None)
        if isinstance(error, httpx2.TransportError):
            raise openai.APIConnectionError(request=error.request) from error
        if isinstance(request, httpx2.Request):
            raise openai.APIConnectionError(request=request) from cause
        raise


def _refusal(response: httpx2.Response) -> openai.APIStatusError:
    """The error of a response; Google says how long to wait in its body."""
    try:
        body = response.json()
    except ValueError:
        body = None
    body = read_fields(body).get("error", body)
    details = read_fields(body).get("details")
    reported = (
        [detail for detail in details if isinstance(detail, dict)]
        if isinstance(details, list)
        else []
    )
    for detail in reported:
        delay = _DELAY.match(str(detail.get("retryDelay", "")))
        if delay and "retry-after" not in response.headers:
            response.headers["retry-after"] = delay[1]
    error = openai.APIStatusError("", response=response, body=body)
    reasons = [detail["reason"] for detail in reported if isinstance(detail.get("reason"), str)]
    if reasons:
        error.code = reasons[0]
    return error
