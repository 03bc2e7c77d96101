"""Translation of the errors of a server and of the connection to it; here, and only here.

Every message is one line: what happened, where, and what to do next. No message contains a key.
"""

from __future__ import annotations

import errno
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from operator import attrgetter
from typing import Any

import aiohttp
import openai

from sabm_mesa import errors
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
from sabm_mesa.llm.client import Completion
from sabm_mesa.llm.endpoints import WAYS, Endpoint

WAYS_ON = " ".join(WAYS)
OVERLOADED = {503, 529}
TIMED_OUT = {408, 504, 524}
"""Statuses of a gateway that stopped waiting, while the server behind it may continue."""
_UNCONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""After these errors, nothing was sent."""
_KEY_LIKE = re.compile(r"\b(sk|key|pk)-[\w*-]{6,}")
_LONGEST_DETAIL = 300
_QUOTA = "insufficient_quota"
_KEY_REFUSED = "API_KEY_INVALID"
"""Google's reason, which comes with status 400."""


_FROM_SERVER = (
    "text", "thoughts", "model", "finish_reason", "response_id", "system_fingerprint", "provider",
    "parameters",
)  # fmt: skip
"""Fields of a completion whose text may come from a server or an endpoint's entry."""
_said = attrgetter(*_FROM_SERVER)


def hide_key(done: Completion) -> Completion:
    """The completion without the key, which a server may send back."""
    texts = "\0".join(_said(done))
    if errors.without_key(texts) == texts:
        return done
    hidden: dict[str, Any] = {n: errors.without_key(getattr(done, n)) for n in _FROM_SERVER}
    return done._replace(**hidden)


class Translator:
    """Translates the errors of one endpoint.

    Args:
        endpoint: the endpoint.
        timeout_s: seconds after which a request is given up.
    """

    def __init__(self, endpoint: Endpoint, timeout_s: float) -> None:
        self._endpoint, self._where = endpoint, endpoint.where
        self._timeout_s = timeout_s

    def refusal(self, error: openai.APIStatusError, model: str) -> LLMError:
        """For an answer with the status of an error."""
        status = error.status_code
        name = repr(_clean(model))
        problem = f"{self._where} answered {status} ({_clean(_detail(error))})"
        if status in {401, 403} or error.code == _KEY_REFUSED:
            return AccessDenied(f"{problem}: {self._refused_key()}")
        if status == 429 and _QUOTA in {error.code, error.type}:
            return BadRequest(
                f"{problem}: the account's quota is used up; raise it at the provider."
            )
        if status == 429:
            return RateLimited(
                f"{problem}: too many requests. Wait, or lower --max-concurrency.",
                _retry_after(error),
            )
        if status in {408, 409} or status >= 500:
            return ServerUnavailable(
                f"{problem}. Try again later.", _retry_after(error),
                overloaded=status in OVERLOADED, billed=status in TIMED_OUT,
            )  # fmt: skip
        if 300 <= status < 400 and (to := error.response.headers.get("location")):
            to = _clean(str(error.response.url.join(to)).partition("?")[0])
            return BadRequest(
                f"{self._where} answered {status}: it redirects to {to}, and redirects are not "
                "followed: give that address (--base-url) if it is the right one."
            )
        if status == 404:
            return BadRequest(f"{problem}: is the model name {name} right, and the address?")
        return BadRequest(f"{problem} for model {name}: change the request (--set …), run again.")

    def _refused_key(self) -> str:
        variable = self._endpoint.key_env
        if variable and not self._endpoint.name:
            return f"the key was refused. {WAYS_ON}"
        if variable:
            return f"the key was refused: set {variable} in the environment to the right one."
        return (
            "no key was sent, since none is named for this address: give it with --base-url "
            f"({KEY_VARIABLE} is then sent), or name a key in a file (--endpoints)."
        )

    def timeout(self) -> LLMError:
        """For an answer that did not arrive in time."""
        return ServerUnavailable(
            f"No answer from {self._where} within {self._timeout_s:g} s. "
            "Is the server overloaded? Try again, or lower --max-concurrency.",
            overloaded=True,
            billed=True,
        )

    def no_connection(self, error: Exception) -> LLMError:
        """For a connection that could not be made or was lost."""
        cause = error if isinstance(error, aiohttp.ClientError) else error.__cause__ or error
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

    def no_completion(self, error: Exception, wanted: str) -> LLMError:
        """An unreadable answer, and the expected type."""
        return ServerUnavailable(
            f"{self._where} sent something other than {wanted} ({_clean(str(error))}). Is the "
            "address right?",
            billed=True,
        )


def _clean(text: str) -> str:
    """One line without the key, without control codes, and not too long."""
    return _KEY_LIKE.sub(HIDDEN, one_line(errors.without_key(text)))[:_LONGEST_DETAIL]


def _detail(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict):
        message = body.get("message") or body.get("detail")
        if message:
            return str(message)
    return error.response.reason_phrase or "no reason given"


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Seconds to wait: a number, or a date (RFC 9110, section 10.2.3)."""
    headers = error.response.headers
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / scale)
        except (KeyError, ValueError):
            continue
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
