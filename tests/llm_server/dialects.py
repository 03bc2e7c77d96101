"""Dialects: what the models of providers refuse of a request, and in which words.

Each is written from reports of the provider's own answers; the sources stand beside them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

#: Says what is refused of a request: (status, body), or None when it is taken.
Dialect = Callable[[Mapping[str, Any]], "tuple[int, Any] | None"]
_LIMITS = ("max_tokens", "max_completion_tokens")


def openai_error(message: str, param: str | None, code: str | None) -> dict[str, Any]:
    kind = "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _unsupported(body: Mapping[str, Any], *names: str) -> tuple[int, Any] | None:
    for name in names:
        if name in body:
            said = f"Unsupported parameter: '{name}' is not supported with this model."
            if name == "max_tokens":
                said += " Use 'max_completion_tokens' instead."
            return 400, openai_error(said, name, "unsupported_parameter")
    return None


def gpt5(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """GPT-5 and the o-series at OpenAI.

    github.com/griptape-ai/ComfyUI-Griptape/issues/312 (max_tokens),
    github.com/owndev/Open-WebUI-Functions/issues/98 (temperature).
    """
    if refused := _unsupported(body, "max_tokens", "top_p"):
        return refused
    if body.get("temperature", 1) != 1:
        said = (
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this "
            "model. Only the default (1) value is supported."
        )
        return 400, openai_error(said, "temperature", "unsupported_value")
    return None


def o3_mini(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """OpenAI's o3-mini: github.com/appatalks/eva-agent/issues/83."""
    return _unsupported(body, "max_tokens", "temperature", "top_p")


def openrouter(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """OpenRouter, which hands on what the provider said as a text in the metadata.

    github.com/OpenRouterTeam/ai-sdk-provider/issues/50
    """
    refused = _unsupported(body, "temperature", "top_p")
    if refused is None:
        return None
    raw = json.dumps(refused[1], indent=2)
    metadata = {"raw": raw, "provider_name": "OpenAI"}
    error = {"message": "Provider returned error", "code": 400, "metadata": metadata}
    return 400, {"error": error, "user_id": "user_2vSf"}


def gateway(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """A gateway that says no more: github.com/lobehub/lobehub/issues/17831."""
    for name in ("temperature", "top_p", *_LIMITS):
        if name in body:
            return 400, {"detail": f"Unsupported parameter: {name}"}
    return None


def claude(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Claude 4.1 and later: github.com/Vali-98/ChatterUI/issues/564."""
    if {"temperature", "top_p"} <= {*body}:
        said = (
            "`temperature` and `top_p` cannot both be specified for this model. "
            "Please use only one."
        )
        return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
    return None


def claude_at_litellm(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """The same behind LiteLLM: github.com/SalesforceAIResearch/MCP-Universe/issues/49."""
    refused = claude(body)
    if refused is None:
        return None
    inner = json.dumps({"message": refused[1]["error"]["message"]})
    said = f"{inner}. \nReceived Model Group=claude-opus\nAvailable Model Group Fallbacks=None"
    return 400, {"error": {"message": said, "type": "None", "param": "None", "code": "400"}}


def opus(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Claude Opus 4.7 and later: github.com/Mixpeal/anthropic-sdk/issues/11."""
    for name in ("temperature", "top_p"):
        if name in body:
            said = f"`{name}` is deprecated for this model."
            error = {"type": "invalid_request_error", "message": said}
            return 400, {"type": "error", "error": error, "request_id": "req_011"}
    return None


def gemini(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Gemini's OpenAI-compatible address, which sends a list.

    github.com/MinLL/SkyrimNet-GamePlugin/issues/77
    """
    unknown = [name for name in ("seed", "top_p") if name in body]
    if not unknown:
        return None
    said = [
        f'Invalid JSON payload received. Unknown name "{n}": Cannot find field.' for n in unknown
    ]
    details = [{"fieldViolations": [{"description": each} for each in said]}]
    error = {"code": 400, "message": "\n".join(said), "status": "INVALID_ARGUMENT"}
    return 400, [{"error": {**error, "details": details}}]


def _forbidden(body: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    return [
        {
            "type": "extra_forbidden",
            "loc": ["body", name],
            "msg": "Extra inputs are not permitted",
            "input": body[name],
        }
        for name in names
        if name in body
    ]


def mistral(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Mistral: github.com/editor-code-assistant/eca/issues/231."""
    found = _forbidden(body, "max_completion_tokens", "seed")
    if not found:
        return None
    return 422, {
        "object": "error", "message": {"detail": found}, "type": "invalid_request_error",
        "param": None, "code": None,
    }  # fmt: skip


def mistral_proxy(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Mistral in 2024: github.com/mistralai/platform-docs-public/issues/7."""
    found = _forbidden(body, "top_p")
    if not found:
        return None
    inner = json.dumps({"detail": found})
    return 422, {"object": "error", "message": inner, "type": "internal_error_proxy"}


def azure_2024(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Azure before max_completion_tokens: github.com/openai/openai-python/issues/1724."""
    if "max_completion_tokens" not in body:
        return None
    said = "Unrecognized request argument supplied: max_completion_tokens"
    return 400, openai_error(said, None, None)


def deepseek(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """DeepSeek takes no schema: github.com/UKGovernmentBEIS/inspect_ai/issues/4916."""
    form = body.get("response_format")
    if form in (None, {"type": "json_object"}):
        return None
    said = "This response_format type is unavailable now"
    return 400, openai_error(said, None, "invalid_request_error")


def llama_cpp_python(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """llama-cpp-python takes the older form alone, and says so with status 500."""
    if body.get("response_format", {}).get("type") != "json_schema":
        return None
    said = "body, response_format, type: Input should be 'text' or 'json_object'"
    return 500, {"error": {"message": said, "type": "internal_server_error"}}


def no_json(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """A server without structured output in any form, as older builds of vLLM have it."""
    if "response_format" not in body:
        return None
    said = "response_format is not supported"
    return 400, {"object": "error", "message": said, "type": "BadRequestError", "code": 400}


def grok(body: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Grok at xAI, in its own case: github.com/yym68686/uni-api/issues/105."""
    for name, said in (("top_p", "topP"), ("seed", "seed")):
        if name in body:
            message = f"Argument not supported on this model: {said}"
            return 400, {"code": "Client specified an invalid argument", "error": message}
    return None


DIALECTS: dict[str, Dialect] = {
    each.__name__: each
    for each in (
        gpt5, o3_mini, openrouter, gateway, claude, claude_at_litellm, opus, gemini, mistral,
        mistral_proxy, azure_2024, deepseek, llama_cpp_python, no_json, grok,
    )
}  # fmt: skip

#: A prompt that a filter refuses: (status, body).
FILTERED: dict[str, tuple[int, Any]] = {
    # github.com/compl-ai/compl-ai/issues/20
    "azure": (
        400,
        {
            "error": {
                "message": (
                    "The response was filtered due to the prompt triggering Azure OpenAI's content "
                    "management policy. Please modify your prompt and retry. To learn more about "
                    "our content filtering policies please read our documentation: "
                    "https://go.microsoft.com/fwlink/?linkid=2198766"
                ),
                "type": None,
                "param": "prompt",
                "code": "content_filter",
                "status": 400,
                "innererror": {
                    "code": "ResponsibleAIPolicyViolation",
                    "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
                },
            }
        },
    ),
    # api-docs.deepseek.com, reported in many threads as "Content Exists Risk"
    "deepseek": (400, openai_error("Content Exists Risk", None, "invalid_request_error")),
    # help.aliyun.com, error codes of Model Studio
    "alibaba": (
        400,
        openai_error(
            "Input data may contain inappropriate content.", None, "data_inspection_failed"
        ),
    ),
}
