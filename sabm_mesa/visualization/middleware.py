"""HTTP middleware: it refuses requests of other sites, adds headers, and limits the logs.

The viewer and the server of a game's seats use it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, TypeVar

from starlette.responses import Response

from sabm_mesa.visualization.access import is_own_page, open_to_others

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_LOGGED, LOGGED_S = 5, 3600.0
"""Maximum number of log lines of one statement in a period, and the period in seconds."""
TRIED_S = 60.0
"""Seconds for which a wrong secret counts."""
FREE_TRIES, FREE_TRIES_OF_SECRET = 20, 200
"""Number of wrong secrets without a delay: per address, which a class may share, and per secret."""
FIRST_DELAY_S, LONGEST_DELAY_S = 0.5, 10.0
"""Delay of the next try in seconds; it doubles with each further try."""
T = TypeVar("T")
_HOST = re.compile(r"[A-Za-z0-9.\-_]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")


class RequestMiddleware:
    """Middleware of all requests: it refuses requests from other sites and adds headers.

    A server that only this machine can reach sends uncompressed responses.

    Args:
        app: the server behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        headers = _headers_of(scope)
        if not open_to_others():  # on one machine, compression takes longer than sending
            kept = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
            scope = {**scope, "headers": kept}
        added = [
            (b"content-security-policy", policy(headers.get("host", ""), nonce).encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

        async def send_with_headers(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        if is_own_page(headers, socket=scope["type"] == "websocket"):
            await self._app(scope, receive, send_with_headers)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            refused = Response("This address is not one of the viewer.", 403)
            await refused(scope, receive, send_with_headers)


def policy(host: str, nonce: str) -> str:
    """The content security policy of a page.

    Solara's page compiles its templates in the browser, which requires ``'unsafe-eval'``, and its
    components have inline styles.

    Args:
        host: the requested host; older browsers do not count the socket of a page as its origin.
        nonce: the nonce of the scripts of the page.
    """
    sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            f"connect-src 'self'{sockets}",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'self'",
        ]
    )


class SecretLimiter:
    """Limits guessing: each wrong secret lengthens the delay before the next one is tested.

    Every try is tested eventually, so the right secret always works, even from an address or for a
    game that an attacker uses. The connection limit of the server bounds the number of waiting
    tries. Secrets of 128 bits, such as those of seats, need no such limit.

    Args:
        clock: returns the time in seconds.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._wrong: dict[str, list[float]] = {}
        self._waiting: Counter[str] = Counter()

    async def test(self, secret: str, address: str, check: Callable[[], T | None]) -> T | None:
        """Test a secret, at once or after a delay.

        Args:
            secret: a label of the secret that is tried; its tries are counted over all addresses.
            address: the address of the browser; its tries are counted over all secrets.
            check: tests it; returns None when it is wrong.

        Returns:
            The result of `check`.
        """
        limits = {f"at {_network(address)}": FREE_TRIES, f"of {secret}": FREE_TRIES_OF_SECRET}
        if delay := max(self._delay(name, free) for name, free in limits.items()):
            self._waiting.update(limits.keys())
            try:
                await self._sleep(delay)
            finally:
                self._waiting -= Counter(limits.keys())
        result = check()
        if result is None:
            for name in limits:
                self._wrong.setdefault(name, []).append(self._clock())
        return result

    def _delay(self, name: str, free: int) -> float:
        """The delay of the next try in seconds."""
        since = self._clock() - TRIED_S
        self._wrong = {tried: new for tried, times in self._wrong.items()
                       if (new := [at for at in times if at > since])}  # fmt: skip
        too_many = len(self._wrong.get(name, ())) + self._waiting[name] - free
        grown = FIRST_DELAY_S * 2.0 ** min(too_many, 30)
        return 0.0 if too_many < 0 else min(grown, LONGEST_DELAY_S)


def _network(address: str) -> str:
    """The network part of an address, which its owner cannot choose."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)


TRIES = SecretLimiter()
"""The limiter of the server, shared by all secrets that are short enough to guess."""


class LogLimit(logging.Filter):
    """Log filter: a statement that logs very often is silenced for a while.

    Any request from a stranger may be logged with a traceback; the log must not fill the disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str | int, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged."""
        key: tuple[str | int, ...] = (record.pathname, record.lineno)
        if record.exc_info and (trace := record.exc_info[2]) is not None:
            while trace.tb_next is not None:
                trace = trace.tb_next
            key += (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        since, n = self._seen.get(key, (-LOGGED_S, 0))
        if record.created - since >= LOGGED_S:
            since, n = record.created, 0
        self._seen[key] = since, n + 1
        if n + 1 == MOST_LOGGED:
            message = record.getMessage()
            record.msg = (
                f"{message} (more of this kind is not logged for {LOGGED_S / 60:.0f} minutes)"
            )
            record.args = None
        return n < MOST_LOGGED


def limit_logs() -> None:
    """Limit all logs of this process with `LogLimit`."""
    loggers = [logging.getLogger(name) for name in (None, *logging.root.manager.loggerDict)]
    handlers = {handler for logger in loggers for handler in logger.handlers}
    for handler in {*handlers, logging.lastResort}:
        if handler and not any(isinstance(log_filter, LogLimit) for log_filter in handler.filters):
            handler.addFilter(LogLimit())


def _headers_of(scope: Scope) -> dict[str, str]:
    """Name → value of the headers of a request; the first value of a repeated header counts."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return headers
