"""Faults: what a server can do wrong, and the plans that say at which request it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Answered at once, as an error with this status: name → (status, type, code, message).
STATUS_FAULTS: dict[str, tuple[int, str, str | None, str]] = {
    "400": (400, "invalid_request_error", None, "The request is invalid."),
    "context": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        (
            "This model's maximum context length is 4096 tokens. However, your messages resulted "
            "in 5000 tokens. Please reduce the length of the messages."
        ),
    ),
    "schema": (
        500,
        "internal_server_error",
        None,
        "body, response_format, type: Input should be 'text' or 'json_object'",
    ),
    "401": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: {key}."),
    "403": (403, "permission_error", "unsupported_country", "Access is not allowed."),
    "404": (404, "invalid_request_error", "model_not_found", "The model does not exist."),
    "408": (408, "timeout", None, "The request timed out."),
    "409": (409, "conflict", None, "The resource was locked."),
    "429": (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    "quota": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "500": (500, "server_error", None, "The server had an error."),
    "502": (502, "server_error", None, "Bad gateway."),
    "503": (503, "server_error", None, "The engine is currently overloaded."),
    "529": (529, "overloaded_error", None, "Overloaded"),
}
#: The brain's answer is sent, but spoilt.
SPOILT = {
    "length": "half of the answer, finish_reason 'length'",
    "no-usage": "the answer without usage",
    "text-plain": "the answer as text/plain",
    "slow": "the answer a byte at a time, `pace` seconds apart",
}
#: A whole, well-formed answer, but not the brain's.
REPLACED = {
    "garbage": "unusable prose",
    "empty": "an empty text",
    "null": "null content",
    "refusal": "null content and a refusal",
    "content-filter": "null content, finish_reason 'content_filter'",
    "no-choices": "an empty list of choices",
    "huge": "`size` bytes of text",
}
#: Not a completion, with status 200 unless the fault says otherwise.
BROKEN = {
    "bad-json": "a body cut off in the middle",
    "twice": "a body with two different lists of choices",
    "html": "a web page as text/html",
    "error-200": "an error body with status 200",
    "error-choice": "status 200, finish_reason 'error' and an error in the choice",
    "bad-utf8": "bytes that are not UTF-8",
    "bad-gzip": "a body that claims to be gzip and is not",
    "endless": "text without end, with `status`, until the client goes",
    "bomb": "`size` bytes of text as gzip, a thousandth of that on the wire",
    "redirect": "`status` and the address `to`, without a body",
}
#: The connection misbehaves.
TRANSPORT = {
    "reset": "connection reset in the middle of the answer",
    "drop": "connection closed before the first byte of the answer",
    "hang": "no answer, ever",
    "stall": "half of the answer, and then nothing, ever",
}
KINDS = frozenset({*STATUS_FAULTS, *SPOILT, *REPLACED, *BROKEN, *TRANSPORT})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong.

    The brain is asked (and a script moves on) only for a kind in `SPOILT`: those send its answer.

    Attributes:
        kind: A key of `STATUS_FAULTS`, `SPOILT`, `REPLACED`, `BROKEN` or `TRANSPORT`.
        retry_after: Value of a Retry-After header: seconds, or an HTTP date as text.
        retry_after_ms: Value of a retry-after-ms header: milliseconds, may be fractional.
        after: Seconds until the fault; default: none for a status, else the server's latency.
        pace: Seconds between two bytes of `slow`.
        size: Length of the text of `huge`, in bytes.
        echo_key: The 401's message repeats the whole key it got, as careless gateways do.
        status: The status of `endless` and `redirect`.
        to: The address that `redirect` names.
    """

    kind: str
    retry_after: float | str | None = None
    retry_after_ms: float | None = None
    after: float | None = None
    pace: float = 0.05
    size: int = 10_000_000
    echo_key: bool = False
    status: int = 200
    to: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown fault {self.kind!r}: use one of {', '.join(sorted(KINDS))}")

    @property
    def headers(self) -> dict[str, str]:
        """The headers that ask the client to wait."""
        headers = {}
        if self.retry_after is not None:
            after = self.retry_after
            headers["Retry-After"] = after if isinstance(after, str) else f"{after:g}"
        if self.retry_after_ms is not None:
            headers["retry-after-ms"] = f"{self.retry_after_ms:g}"
        return headers


#: Says what goes wrong with request `number` (from 0, in order of arrival), if anything.
Plan = Callable[[int, dict[str, Any]], "Fault | str | None"]
PlanSpec = Plan | Mapping[int, "Fault | str"] | Sequence["Fault | str | None"] | None


def as_fault(fault: Fault | str) -> Fault:
    """A fault of a kind, or itself."""
    return Fault(fault) if isinstance(fault, str) else fault


def as_plan(spec: PlanSpec) -> Plan:
    """A plan from any of its forms: callable, number → fault, list by number, or None."""
    if spec is None:
        return lambda _number, _body: None
    if callable(spec):
        return spec
    if isinstance(spec, str):
        raise TypeError(f"faults is a list, a mapping or a callable, not the text {spec!r}")
    items = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
    listed = {number: as_fault(fault) for number, fault in items if fault is not None}
    return lambda number, _body: listed.get(number)
