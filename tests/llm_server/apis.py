"""Other interfaces than OpenAI's: requests and answers, from and to those of a chat.

Those of Anthropic and Google are written from platform.claude.com/docs/en/api/messages and
docs.claude.com/en/api/errors, and from ai.google.dev/api/generate-content,
ai.google.dev/gemini-api/docs/thinking and the errors of google.rpc.Status. Only what a chat of
texts needs is here; an unknown field is refused, as both do.

Azure's dated one is written from learn.microsoft.com/azure/ai-services/openai/reference, from
`AsyncAzureOpenAI` of the library `openai`, and from github.com/SciSharp/BotSharp/issues/386 (401).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

ANTHROPIC_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
    529: "overloaded_error",
}  # fmt: skip
GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
ANTHROPIC_FIELDS = {
    "model", "messages", "system", "max_tokens", "temperature", "top_p", "top_k", "thinking",
    "output_config", "stop_sequences", "metadata", "cache_control", "service_tier", "stream",
    "tools", "tool_choice",
}  # fmt: skip
GOOGLE_FIELDS = {
    "temperature", "topP", "topK", "seed", "maxOutputTokens", "responseMimeType",
    "responseJsonSchema", "thinkingConfig", "candidateCount", "stopSequences",
}  # fmt: skip
STOPPED = {
    "stop": "end_turn", "length": "max_tokens", "content_filter": "refusal",
    "tool_calls": "tool_use",
}  # fmt: skip
FINISHED = {
    "stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "tool_calls": "STOP",
}  # fmt: skip


def _calls(message: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The functions that a reply calls, with their arguments."""
    called = [each["function"] for each in message.get("tool_calls") or ()]
    return [(each["name"], json.loads(each["arguments"])) for each in called]


class Anthropic:
    """The Messages interface."""

    name = "anthropic"

    @staticmethod
    def key(headers: Mapping[str, str]) -> str:
        bearer = headers.get("Authorization", "").removeprefix("Bearer ")
        return headers.get("x-api-key") or bearer

    @staticmethod
    def unknown(body: Mapping[str, Any]) -> str:
        if extra := sorted({*body} - ANTHROPIC_FIELDS):
            return f"{extra[0]}: Extra inputs are not permitted"
        if "max_tokens" not in body:
            return "max_tokens: Field required"
        thinking = body.get("thinking", {})
        if thinking.get("type") == "enabled" and thinking["budget_tokens"] < 1024:
            least = "Input should be greater than or equal to 1024"
            return f"thinking.enabled.budget_tokens: {least}"
        return ""

    @staticmethod
    def chat(body: dict[str, Any], _model: str) -> dict[str, Any]:
        system = [{"role": "system", "content": body["system"]}] if "system" in body else []
        form = body.get("output_config", {}).get("format")
        schema = {"response_format": {"type": "json_schema", "json_schema": form}} if form else {}
        names = ("model", "max_tokens", "temperature", "top_p")
        kept = {name: body[name] for name in names if name in body}
        return {**kept, **schema, "messages": [*system, *body["messages"]]}

    @staticmethod
    def answer(chat: dict[str, Any], thoughts: str) -> dict[str, Any]:
        (choice,) = chat["choices"] or [{"message": {"content": ""}, "finish_reason": "stop"}]
        usage = chat.get("usage")
        content: list[dict[str, Any]] = []
        if thoughts:
            content.append({"type": "thinking", "thinking": thoughts, "signature": "c2ln"})
        if choice["message"]["content"] and chat["choices"]:
            content.append({"type": "text", "text": choice["message"]["content"]})
        for name, given in _calls(choice["message"]):
            content.append({"type": "tool_use", "id": "toolu_1", "name": name, "input": given})
        body = {
            "id": chat["id"].replace("chatcmpl-", "msg_"),
            "type": "message",
            "role": "assistant",
            "model": chat["model"],
            "content": content,
            "stop_reason": "refusal"
            if choice["message"].get("refusal")
            else STOPPED[choice["finish_reason"]],
            "stop_sequence": None,
        }
        if usage is not None:
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            thinking = (len(thoughts) + 3) // 4
            body["usage"] = {
                "input_tokens": usage["prompt_tokens"] - cached,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached,
                "output_tokens": usage["completion_tokens"] + thinking,
                "output_tokens_details": {"thinking_tokens": thinking},
                "service_tier": "standard",
            }
        return body

    @staticmethod
    def error(status: int, message: str, _code: str | None) -> dict[str, Any]:
        kind = ANTHROPIC_KINDS.get(status, "api_error")
        error = {"type": kind, "message": message}
        return {"type": "error", "error": error, "request_id": "req_011"}


class Google:
    """The Gemini interface: generateContent."""

    name = "google"

    @staticmethod
    def key(headers: Mapping[str, str]) -> str:
        return headers.get("x-goog-api-key", "")

    @staticmethod
    def unknown(body: Mapping[str, Any]) -> str:
        known = {
            "contents", "systemInstruction", "generationConfig", "safetySettings", "tools",
            "toolConfig",
        }  # fmt: skip
        extra = [*({*body} - known), *({*body.get("generationConfig", {})} - GOOGLE_FIELDS)]
        if extra:
            return f'Invalid JSON payload received. Unknown name "{extra[0]}": Cannot find field.'
        return ""

    @staticmethod
    def chat(body: dict[str, Any], model: str) -> dict[str, Any]:
        def text(content: dict[str, Any]) -> str:
            return "".join(part.get("text", "") for part in content["parts"])

        system = body.get("systemInstruction")
        messages = [{"role": "system", "content": text(system)}] if system else []
        roles = {"model": "assistant"}
        messages += [
            {"role": roles.get(each["role"], each["role"]), "content": text(each)}
            for each in body["contents"]
        ]
        config = body.get("generationConfig", {})
        names = {"maxOutputTokens": "max_tokens", "temperature": "temperature", "topP": "top_p"}
        kept = {new: config[name] for name, new in names.items() if name in config}
        if schema := config.get("responseJsonSchema"):
            form = {"type": "json_schema", "json_schema": {"schema": schema}}
            kept["response_format"] = form
        return {"model": model, "messages": messages, **kept}

    @staticmethod
    def answer(chat: dict[str, Any], thoughts: str) -> dict[str, Any]:
        choices = chat["choices"]
        body: dict[str, Any] = {"modelVersion": chat["model"], "responseId": chat["id"]}
        if choices and choices[0]["message"].get("refusal"):
            body["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
            choices = []
        else:
            body["candidates"] = []
        for choice in choices:
            parts = [{"text": thoughts, "thought": True}] if thoughts else []
            content = choice["message"]["content"]
            candidate: dict[str, Any] = {
                "index": 0,
                "finishReason": FINISHED[choice["finish_reason"]],
            }
            if content is not None:
                parts.append({"text": content})
            calls = [{"functionCall": {"name": n, "args": a}} for n, a in _calls(choice["message"])]
            if parts := [*parts, *calls]:
                candidate["content"] = {"role": "model", "parts": parts}
            body["candidates"].append(candidate)
        if (usage := chat.get("usage")) is not None:
            thinking = (len(thoughts) + 3) // 4
            body["usageMetadata"] = {
                "promptTokenCount": usage["prompt_tokens"],
                "candidatesTokenCount": usage["completion_tokens"],
                "totalTokenCount": usage["total_tokens"] + thinking,
                "cachedContentTokenCount": usage["prompt_tokens_details"]["cached_tokens"],
            }
            if thinking:
                body["usageMetadata"]["thoughtsTokenCount"] = thinking
        return body

    @staticmethod
    def error(status: int, message: str, code: str | None) -> dict[str, Any]:
        details: list[dict[str, Any]] = []
        if code == "invalid_api_key":  # ai.google.dev/gemini-api/docs/troubleshooting
            status, message = 400, "API key not valid. Please pass a valid API key."
            details.append({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            })  # fmt: skip
        if status == 429:
            details.append({
                "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.02s",
            })  # fmt: skip
        name = GOOGLE_STATUSES.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": message, "status": name, "details": details}}


class Azure:
    """The dated interface: the address names deployment and version, and a header has the key."""

    name = "azure"

    @staticmethod
    def key(headers: Mapping[str, str]) -> str:
        return headers.get("api-key", "")

    @staticmethod
    def unknown(_body: Mapping[str, Any]) -> str:
        return ""

    @staticmethod
    def chat(body: dict[str, Any], model: str) -> dict[str, Any]:
        return {**body, "model": model}

    @staticmethod
    def answer(chat: dict[str, Any], _thoughts: str) -> dict[str, Any]:
        return chat

    @staticmethod
    def error(status: int, message: str, code: str | None) -> dict[str, Any]:
        if code == "invalid_api_key":
            code, message = "401", (
                "Access denied due to invalid subscription key or wrong API endpoint. Make sure to "
                "provide a valid key for an active subscription and use a correct regional API "
                "endpoint for your resource."
            )  # fmt: skip
        if code == "model_not_found":
            code, message = "DeploymentNotFound", (
                "The API deployment for this resource does not exist. If you created the "
                "deployment within the last 5 minutes, please wait a moment and try again."
            )  # fmt: skip
        return {"error": {"code": code or str(status), "message": message}}


Api = type[Anthropic] | type[Google] | type[Azure]
