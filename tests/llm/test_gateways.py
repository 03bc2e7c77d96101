"""Responses of gateways in their own words: LiteLLM, Portkey, OpenRouter, LM Studio, Ollama."""

import math
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import AccessDenied, BadRequest, LLMError, RateLimited, ServerUnavailable
from sabm_mesa.llm.prices import PriceTable
from tests.llm.support import Chain, ask, complete, outcomes
from tests.llm_server import LLMServer


def litellm(message: str, kind: str | None = None, code: str = "400") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def asked(
    status: int, body: Any, headers: dict[str, str] | None = None, **options: Any
) -> tuple[Any, int]:
    """The outcome of one ask at a gateway that always responds so, and the number of requests."""
    with LLMServer(refuses=lambda _: (status, body, headers)) as server:
        with Chain(server.url, **options) as client:
            (outcome,) = outcomes(client, [ask()])
        return outcome, server.stats["requests"]


def waited(headers: dict[str, str], message: str = "Rate limit reached.") -> float | None:
    error, _ = asked(429, litellm(message, "throttling_error", "429"), headers, max_retries=0)
    assert type(error) is RateLimited
    wait: float | None = error.retry_after
    return wait


TOMORROW = datetime.now(UTC) + timedelta(days=1)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "-3"}, 0),
        ({"llm_provider-retry-after": "60"}, 60),
        ({"llm_provider-retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "2", "llm_provider-retry-after": "60"}, 2),
        ({"retry-after": "6m0s"}, 360),
        ({"retry-after": "2m59.56s"}, 179.56),
        ({"retry-after": "120ms"}, 0.12),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
    ids=str,
)  # fmt: skip
def test_a_server_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert waited(headers) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    "when",
    [
        str(int(TOMORROW.timestamp())),
        str(int(TOMORROW.timestamp() * 1000)),
        TOMORROW.isoformat(),
        format_datetime(TOMORROW),
    ],
    ids=["seconds", "milliseconds", "ISO 8601", "HTTP"],
)
def test_a_server_says_until_when_to_wait(when: str) -> None:
    left = TOMORROW.timestamp() - time.time()
    assert waited({"retry-after": when}) == pytest.approx(left, abs=5)


def test_a_server_says_in_words_how_long_to_wait() -> None:
    said = "Rate limit reached for gpt-4o. Please try again in 1.2s. Visit the account page."
    assert waited({}, said) == pytest.approx(1.2)


@pytest.mark.parametrize(
    "said",
    [
        "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException",
        "OpenAIException - Your request was rejected as a result of our safety system.",
    ],
)
def test_a_prompt_that_is_refused_behind_a_gateway_is_a_refused_answer(said: str) -> None:
    done, requests = asked(400, litellm(said))
    assert (done.answer, done.finish_reason, done.cost_usd, requests) == (
        "",
        "content_filter",
        0,
        1,
    )


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, litellm("litellm.RateLimitError: OpenAIException - You exceeded your current quota, "
                      "please check your plan and billing details.", "throttling_error", "429")),
        (429, litellm("No deployments available - crossed budget: Exceeded budget for deployment "
                      "model_name: m: 20.4 >= 1d", "None", "429")),
        (400, litellm("Budget has been exceeded! Current cost: 2, Max budget: 1",
                      "budget_exceeded")),
        (401, {"detail": "Authentication Error, ExceededTokenBudget: Current spend: 2"}),
        (402, {"error": {"message": "Payment required", "code": 402}}),
        (402, b""),
        (400, {"error": {"message": "Your credit balance is too low to access the API."}}),
        (200, {"error": {"message": "Insufficient credits", "code": 402}}),
    ],
)  # fmt: skip
def test_a_budget_that_is_used_up_ends_the_run_at_once(status: int, body: Any) -> None:
    error, requests = asked(status, body)
    assert type(error) is BadRequest
    assert str(error).endswith("the budget or credit at the provider is used up. Raise it there.")
    assert requests == 1


def test_a_limit_of_a_minute_in_the_same_words_is_waited_for() -> None:
    """Google's free tier."""
    said = "You exceeded your current quota, please check your plan. Please retry in 34.07s."
    error, _ = asked(429, [{"error": {"code": 429, "message": said}}], max_retries=0)
    assert (type(error), error.retry_after) == (RateLimited, pytest.approx(34.07))
    assert said in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "/chat/completions: Invalid model name passed in model=stub. Call `/v1/models` for more.",
        "stub is not a valid model ID",
        'model "stub" not found, try pulling it first',
    ],
)
def test_a_model_that_a_gateway_does_not_have(said: str) -> None:
    error, requests = asked(400, litellm(said))
    assert type(error) is BadRequest
    assert "is the model name 'stub' right, and the address?" in str(error)
    assert requests == 1


KEY_REFUSED = [
    (401, litellm("Authentication Error, Invalid proxy server token passed", "auth_error", "401")),
    (400, litellm("No connected db.", "no_db_connection", "400")),
    (400, {"status": "failure", "message": "Invalid API Key. Error Code: 03"}),
    (400, [{"error": {"code": 400, "message": "API key not valid.", "details": [
        {"reason": "API_KEY_INVALID"}]}}]),
    (403, {"error": {"message": "Forbidden"}}),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), KEY_REFUSED)
def test_a_key_that_was_not_sent_is_said_to_be_missing(status: int, body: Any) -> None:
    error, requests = asked(status, body)
    assert type(error) is AccessDenied
    assert "no key was sent. Set OPENAI_API_KEY in the environment;" in str(error)
    assert requests == 1


LONG = "word " * 100


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"error": "it broke"}, "answered 400 (it broke)"),
        ({"message": "it broke"}, "answered 400 (it broke)"),
        ({"error": {"message": {"detail": "it broke"}}}, "answered 400 (it broke)"),
        ({"reason": "it broke", "fix": ["nothing"]}, "answered 400 (it broke nothing)"),
        ([{"error": {"message": "it broke"}}], "answered 400 (it broke)"),
        (b"it broke\nhere", "answered 400 (it broke here)"),
        (b"<html>it broke</html>", "answered 400 (Bad Request)"),
        (b"", "answered 400 (Bad Request)"),
        ({"error": {"message": None}}, "answered 400 (Bad Request)"),
        ({"detail": "it broke"}, "answered 400 (it broke)"),
        ({"error": LONG}, f"answered 400 ({LONG[:299].rstrip()}…)"),
    ],
)
def test_the_text_of_a_server_is_said_in_any_form(body: Any, says: str) -> None:
    error, _ = asked(400, body)
    assert says in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "litellm.ContextWindowExceededError: This model's maximum context length is 4096 tokens.",
        "prompt is too long: 5000 tokens > 4096 maximum",
        "the request exceeds the available context size, try increasing it",
    ],
)
def test_a_context_that_is_exceeded_is_said(said: str) -> None:
    error, requests = asked(400, litellm(said))
    assert type(error) is BadRequest
    assert "Use shorter prompts (--set …), or a longer context." in str(error)
    assert requests == 1


@pytest.mark.parametrize(
    ("error", "kind", "requests"),
    [
        ({"code": 502, "message": "Provider returned error"}, ServerUnavailable, 3),
        ({"code": 429, "message": "Rate limited upstream"}, RateLimited, 3),
        ({"code": "server_error", "message": "Provider returned error"}, ServerUnavailable, 3),
        ({"code": 400, "message": "Provider returned error"}, BadRequest, 1),
        ({"code": 401, "message": "Provider returned error"}, AccessDenied, 1),
        (None, ServerUnavailable, 3),
    ],
)
@pytest.mark.parametrize("in_choice", [True, False])
def test_an_error_in_an_answer_is_treated_by_its_code(
    error: dict[str, Any] | None, kind: type[LLMError], requests: int, in_choice: bool
) -> None:
    choice = {"message": {"role": "assistant", "content": ""}, "finish_reason": "error"}
    body = {"choices": [choice | ({"error": error} if error else {})]}
    outcome, seen = asked(200, body if in_choice or error is None else {"error": error})
    assert (type(outcome), seen) == (kind, requests)
    assert outcome.billed
    assert error is None or error["message"] in str(outcome)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<!DOCTYPE html><title>Open WebUI</title>"),
        (404, b"404 page not found"),
        (404, {"detail": "Not Found"}),
        (405, b"<html>Method Not Allowed</html>"),
        (200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
    ],
)
def test_an_address_without_v1_is_said_after_one_request(status: int, body: Any) -> None:
    seen = []

    def refuses(request: dict[str, Any]) -> tuple[int, Any]:
        seen.append(request)
        return status, body

    with LLMServer(refuses=refuses) as server:
        root = server.url.removesuffix("/v1")
        with Chain(root, 6) as client:
            (error,) = outcomes(client, [ask()])
    assert type(error) is BadRequest
    assert str(error).endswith(f"Most addresses end in /v1: add /v1 ({root}/v1).")
    assert len(seen) == 1


def test_a_page_of_html_after_an_answer_is_a_passing_fault() -> None:
    server = LLMServer(brain=lambda _m, _b: "42", faults=[None, "html", "html"])
    with server, Chain(server.url) as client:
        complete(client, ask())
        (done,) = complete(client, ask())
    assert (done.answer, done.retries) == ("42", 2)


def priced(cost: str, price: PriceTable, reported: float | None = None) -> Reply:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    if reported is not None:
        usage["cost"] = reported  # type: ignore[assignment]
    choice = {"message": {"content": "42"}, "finish_reason": "stop"}
    body = {"choices": [choice], "usage": usage, "model": "lab-model"}
    server = LLMServer(refuses=lambda _: (200, body, {"x-litellm-response-cost": cost}))
    with server, Chain(server.url, prices=price) as client:
        return complete(client, ask(model="lab-model"))[0]


@pytest.mark.parametrize(
    ("cost", "dollars"),
    [("0.0123", 0.0123), ("1.5e-05", 1.5e-05), ("0.0", 0.0), ("None", math.nan), ("-1", math.nan),
     ("nan", math.nan), ("inf", math.nan), ("", math.nan)],
)  # fmt: skip
def test_the_cost_of_litellm_counts_where_the_price_is_unknown(cost: str, dollars: float) -> None:
    assert priced(cost, PriceTable()).cost_usd == pytest.approx(dollars, nan_ok=True)


def test_an_own_price_and_a_reported_cost_come_before_that_of_litellm(tmp_path: Any) -> None:
    file = tmp_path / "prices.toml"
    file.write_text("[models]\nlab-model = { input = 1.0, output = 1.0 }\n")
    assert priced("0.5", PriceTable(file)).cost_usd == pytest.approx(12e-6)
    assert priced("0.5", PriceTable(), 0.25).cost_usd == 0.25
