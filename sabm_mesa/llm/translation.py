"""Translation of the errors of a server and of the connection to it; here, and only here.

Every message is one line: what happened, where, and what to do next. No message contains a key.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from operator import attrgetter
from typing import Any
from urllib.parse import urljoin

import aiohttp

from sabm_mesa import errors
from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import (
    HIDDEN,
    KEY_VARIABLE,
    AccessDenied,
    BadRequest,
    LLMError,
    RateLimited,
    ServerUnavailable,
    one_line,
)
from sabm_mesa.llm.endpoints import WAYS, Endpoint
from sabm_mesa.llm.reading import texts_in

WAYS_ON = " ".join(WAYS)
OVERLOADED = {503, 529}
TIMED_OUT = {408, 504, 524}
"""Statuses of a gateway that stopped waiting, while the server behind it may continue."""
_UNCONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""After these errors, nothing was sent."""
_KEY_LIKE = re.compile(r"\b(sk|key|pk)-[\w*-]{6,}")
_LONGEST_DETAIL = 300
_USED_UP = re.compile(
    r"insufficient[_ ](?:quota|credit|balance|fund)|budget_exceeded|crossed budget|over budget"
    r"|budget has been exceeded|exceeded\w*[_ ]?budget|(?:credit|balance)\w* (?:is )?too low"
    r"|out of credits|spending limit",
    re.IGNORECASE,
)
"""Words of an account without money: OpenAI, DeepSeek, OpenRouter, LiteLLM, Anthropic, Mistral."""
_QUOTA = re.compile(r"exceeded your current quota", re.IGNORECASE)
"""OpenAI's words behind a gateway; Google has them for limits of a minute, too, with a wait."""
_OF_KEY = re.compile(r"api[_ -]?key|authentication|unauthorized|no connected db", re.IGNORECASE)
"""Words of a refused key with status 400: Google, and LiteLLM without a database."""
_NO_MODEL = re.compile(
    r"(?:invalid|unknown|no such) model|model_not_found|not a valid model"
    r"|\bmodel\b.{0,80}(?:not found|does not exist)",
    re.IGNORECASE,
)
_NO_ROUTE = re.compile(r"unexpected endpoint", re.IGNORECASE)
"""LM Studio, which says so with status 200."""
_CONTEXT = re.compile(
    r"context[_ -](?:length|window|size)|maximum context|prompt is too long", re.IGNORECASE
)
_PASSED_ON = "llm_provider-"
"""Begins the name of a provider's header that LiteLLM passes on."""
_TRY_AGAIN = re.compile(r"(?:try again|retry) in (\d[\d.hms]*[hms])\b", re.IGNORECASE)
"""OpenAI's and Google's words: Please try again in 1.2s."""
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d*\.?\d+)s)?(?:(\d*\.?\d+)ms)?")
_VERSION = re.compile(r"/v\d")
_EPOCH = 1e9
"""A larger number of seconds is a point in time."""


_FROM_SERVER = (
    "answer", "thoughts", "model", "finish_reason", "response_id", "system_fingerprint", "provider",
    "parameters",
)  # fmt: skip
"""Fields of a reply whose text may come from a server or an endpoint's entry."""
_said = attrgetter(*_FROM_SERVER)


def hide_key(reply: Reply) -> Reply:
    """The reply without the key, which a server may send back."""
    texts = "\0".join(_said(reply))
    if errors.without_key(texts) != texts:
        for name in _FROM_SERVER:
            setattr(reply, name, errors.without_key(getattr(reply, name)))
    return reply


class Refusal(Exception):
    """An error of a server: a response with the status of an error, or an error in its body.

    Args:
        status: the status, or the one that stands in the body.
        billed: whether the request may be billed: the response had the status 200.
    """

    def __init__(
        self,
        status: int,
        body: Any,
        headers: Mapping[str, str] | None = None,
        url: str = "",
        *,
        billed: bool = False,
    ) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers or {}
        self.url, self.billed = url, billed

    @property
    def text(self) -> str:
        """All texts in the body: messages, kinds and codes."""
        return one_line(texts_in(self.body))

    @property
    def is_page(self) -> bool:
        """Whether the body is a page of HTML."""
        return isinstance(self.body, str) and self.body.lstrip()[:1] == "<"

    @property
    def message(self) -> str:
        """The message of the server; ``""`` when it sent none, or a page of HTML."""
        return "" if self.is_page else _message(self.body)


class Translator:
    """Translates the errors of one endpoint."""

    def __init__(self, endpoint: Endpoint, timeout_s: float | None) -> None:
        self._endpoint, self._where = endpoint, endpoint.where
        self._timeout_s = timeout_s

    def refusal(self, refusal: Refusal, model: str) -> LLMError:
        """For an error of the server."""
        status, text = refusal.status, refusal.text
        name = repr(_clean(model))
        said = _clean(refusal.message) or _phrase(status)
        problem = f"{self._where} answered {status} ({said})"
        wait_s = _stated_wait(refusal)
        if 300 <= status < 400 and (to := refusal.headers.get("location")):
            to = _clean(urljoin(refusal.url, to).partition("?")[0])
            return BadRequest(
                f"{self._where} answered {status}: it redirects to {to}, and redirects are not "
                "followed: give that address (--base-url) if it is the right one."
            )
        if status == 402 or _USED_UP.search(text) or (_QUOTA.search(text) and wait_s is None):
            return BadRequest(
                f"{problem}: the budget or credit at the provider is used up. Raise it there.",
            )
        if _NO_ROUTE.search(text):
            return BadRequest(f"{problem}: is the address right?{self._with_v1()}")
        if status in {401, 403} or (status == 400 and _OF_KEY.search(text)):
            return AccessDenied(f"{problem}: {self._refused_key()}")
        if status == 429:
            return RateLimited(
                f"{problem}: too many requests. Wait, or lower --max-concurrency.", wait_s
            )
        if status in {408, 409} or status >= 500:
            return ServerUnavailable(
                f"{problem}. Try again later.", wait_s,
                overloaded=status in OVERLOADED, billed=status in TIMED_OUT,
            )  # fmt: skip
        if refusal.is_page or status == 405:
            advice = f"is the address right?{self._with_v1()}"
        elif status == 404 or _NO_MODEL.search(text):
            advice = f"is the model name {name} right, and the address?{self._with_v1()}"
        elif _CONTEXT.search(text):
            advice = (
                f"the request does not fit into the context of the model {name}. Use shorter "
                "prompts (--set …), or a longer context."
            )
        else:
            advice = "change the request (--set …), run again."
            problem = f"{problem} for model {name}"
        return BadRequest(f"{problem}: {advice}")

    def _with_v1(self) -> str:
        """The address with the usual ending, if it names no version."""
        if self._endpoint.url is None or _VERSION.search(self._endpoint.base_url):
            return ""
        return f" Most addresses end in /v1: add /v1 ({self._endpoint.base_url}/v1)."

    def _refused_key(self) -> str:
        variable = self._endpoint.key_env
        if variable and not self._endpoint.key():
            return f"no key was sent. {WAYS_ON}"
        if variable:
            behind = "" if self._endpoint.is_openai else ", here or behind the gateway"
            return (
                f"the key in {variable} was refused{behind}: set {variable} in the environment to "
                "the right one."
            )
        return (
            "no key was sent, since none is named for this address: give it with --base-url "
            f"({KEY_VARIABLE} is then sent), or name a key in a file (--endpoints)."
        )

    def timeout(self) -> LLMError:
        """For an answer that did not arrive in time."""
        return ServerUnavailable(
            f"No answer from {self._where} within {self._timeout_s:g} s. Is the server "
            "overloaded? Allow more time (--timeout), or lower --max-concurrency.",
            overloaded=True,
            billed=True,
        )

    def no_connection(self, error: Exception) -> LLMError:
        """For a connection that could not be made or was lost."""
        cause: BaseException = error
        while cause.__cause__ is not None and not isinstance(cause, aiohttp.ClientError):
            cause = cause.__cause__
        reached = not isinstance(cause, _UNCONNECTED)
        if isinstance(cause, OSError) and cause.errno in {errno.EMFILE, errno.ENFILE}:
            return ServerUnavailable(
                f"Cannot reach {self._where}: no more files can be opened here. Raise the limit "
                "(ulimit -n), or lower --max-concurrency.",
                overloaded=True,
                reached=False,
            )
        return ServerUnavailable(
            f"Cannot reach {self._where} ({_clean(str(cause) or type(cause).__name__)}). "
            "Is the server running, and is the address right?",
            billed=reached,
            reached=reached,
        )

    def too_large(self, max_bytes: int) -> LLMError:
        """For an answer that is larger than the limit; a retry would be billed again."""
        return LLMError(
            f"{self._where} sent more than {max_bytes / 1e6:g} MB in answer to one request, and "
            "the connection was closed: is the address right? A limit of tokens "
            "(--set max_tokens=N) keeps answers short.",
            billed=True,
        )

    def page(self) -> LLMError:
        """For a page of HTML in place of an answer, from an address that never answered."""
        return BadRequest(
            f"{self._where} sent a page of HTML: is the address that of an OpenAI-compatible "
            f"interface?{self._with_v1()}"
        )

    def no_completion(self, error: Exception, wanted: str) -> LLMError:
        """An unreadable answer, and the expected type."""
        return ServerUnavailable(
            f"{self._where} sent something other than {wanted} ({_clean(str(error))}). Is the "
            f"address right?{self._with_v1()}",
            billed=True,
        )


def _clean(text: str) -> str:
    """One line without the key, without control codes, and not too long."""
    text = _KEY_LIKE.sub(HIDDEN, one_line(errors.without_key(text)))
    return text if len(text) <= _LONGEST_DETAIL else f"{text[: _LONGEST_DETAIL - 1].rstrip()}…"


def _message(body: Any) -> str:
    """The message in the body of an error, or else all its texts."""
    if isinstance(body, list) and body:
        return _message(body[0])
    if isinstance(body, Mapping):
        stated = filter(None, (body.get(name) for name in ("message", "detail", "error")))
        return next(filter(None, map(_message, stated)), "") or texts_in(body)
    return texts_in(body)


def _phrase(status: int) -> str:
    """The name of a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no reason given"


def _stated_wait(refusal: Refusal) -> float | None:
    """Seconds that the server asks to wait, in ``Retry-After`` or in words."""
    for gateway in ("", _PASSED_ON):
        for name, unit in ((f"{gateway}retry-after-ms", 0.001), (f"{gateway}retry-after", 1.0)):
            wait = _seconds(refusal.headers.get(name, ""), unit)
            if wait is not None:
                return wait
    in_words = _TRY_AGAIN.search(refusal.text)
    return _seconds(in_words[1]) if in_words else None


def _seconds(text: str, unit: float = 1.0) -> float | None:
    """Seconds from now: a number, a duration such as ``6m0s``, or a point in time."""
    text = text.strip()
    with suppress(ValueError):
        number = float(text) * unit
        now = datetime.now(UTC).timestamp()
        if number > _EPOCH:
            number = (number / 1000 if number > 1000 * _EPOCH else number) - now
        return max(0.0, number)
    parts = _DURATION.fullmatch(text)
    if text and parts:
        units = zip(parts.groups(), (3600, 60, 1, 0.001), strict=True)
        return sum(float(part) * scale for part, scale in units if part)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError):
            date = read(text)
            date = date.replace(tzinfo=date.tzinfo or UTC)
            return max(0.0, (date - datetime.now(UTC)).total_seconds())
    return None
