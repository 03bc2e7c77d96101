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
"""Maximum number of lines that one statement logs in a period, and the period in seconds."""
TRIED_S = 60.0
"""Seconds for which a wrong secret counts."""
FREE_TRIES, FREE_TRIES_OF_SECRET = 20, 200
"""Wrong secrets without a delay: from one address, which a class may share, and of one secret."""
FIRST_DELAY_S, LONGEST_DELAY_S = 0.5, 10.0
"""Seconds that the next try waits; the time doubles with each further one."""
T = TypeVar("T")
_HOST = re.compile(r"[A-Za-z0-9.\-_]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")


class RequestMiddleware:
    """Middleware of all requests: it refuses those of other sites and adds headers.

    A server that only this machine reaches compresses nothing.

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
        if not open_to_others():  # within a machine compressing takes longer than sending
            kept = [each for each in scope["headers"] if each[0] != b"accept-encoding"]
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

    Solara's page compiles its templates in the browser, which takes ``'unsafe-eval'``, and its
    parts bring styles of their own.

    Args:
        host: the host that the browser has asked for; older browsers do not count the socket of a
            page as its own origin.
        nonce: the mark of the scripts of the page.
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
    """Limits guesses: whoever tries many wrong secrets waits ever longer before the next is tested.

    Each try is tested in the end, so that the right secret always works, also for those who share
    an address or a game with somebody who guesses. How many tries wait at once is limited by the
    connections of the server. Secrets of 128 bits, as those of seats, need no such limit.

    Args:
        clock: tells the time in seconds.
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
            secret: the secret that is tried, in words; tries of it count from all addresses.
            address: where the browser is; tries count for all secrets.
            check: tests it; returns None when it is wrong.

        Returns:
            What `check` has returned.
        """
        limits = {f"at {_network(address)}": FREE_TRIES, f"of {secret}": FREE_TRIES_OF_SECRET}
        if delay := max(self._delay(name, free) for name, free in limits.items()):
            self._waiting.update(limits.keys())
            try:
                await self._sleep(delay)
            finally:
                self._waiting -= Counter(limits.keys())
        found = check()
        if found is None:
            for name in limits:
                self._wrong.setdefault(name, []).append(self._clock())
        return found

    def _delay(self, name: str, free: int) -> float:
        """Seconds that the next try has to wait."""
        since = self._clock() - TRIED_S
        self._wrong = {each: new for each, times in self._wrong.items()
                       if (new := [at for at in times if at > since])}  # fmt: skip
        too_many = len(self._wrong.get(name, ())) + self._waiting[name] - free
        grown = FIRST_DELAY_S * 2.0 ** min(too_many, 30)
        return 0.0 if too_many < 0 else min(grown, LONGEST_DELAY_S)


def _network(address: str) -> str:
    """The part of an address that its owner cannot choose."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((int(found) >> 64 << 64, 64)))
    return str(found)


TRIES = SecretLimiter()
"""That of the server: one for all secrets that are short enough to be guessed."""


class LogLimit(logging.Filter):
    """Filter of a log: a place of the code that reports again and again is silent for a while.

    Whatever a stranger sends may be reported, with a traceback, and the log is not to fill a disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str | int, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged."""
        place: tuple[str | int, ...] = (record.pathname, record.lineno)
        if record.exc_info and (trace := record.exc_info[2]) is not None:
            while trace.tb_next is not None:
                trace = trace.tb_next
            place += (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        since, n = self._seen.get(place, (-LOGGED_S, 0))
        if record.created - since >= LOGGED_S:
            since, n = record.created, 0
        self._seen[place] = since, n + 1
        if n + 1 == MOST_LOGGED:
            said = record.getMessage()
            record.msg = f"{said} (more of this kind is not logged for {LOGGED_S / 60:.0f} minutes)"
            record.args = None
        return n < MOST_LOGGED


def limit_logs() -> None:
    """Limit all logs of this process by `LogLimit`, wherever they go."""
    loggers = [logging.getLogger(name) for name in (None, *logging.root.manager.loggerDict)]
    handlers = {handler for logger in loggers for handler in logger.handlers}
    for handler in {*handlers, logging.lastResort}:
        if handler and not any(isinstance(each, LogLimit) for each in handler.filters):
            handler.addFilter(LogLimit())


def _headers_of(scope: Scope) -> dict[str, str]:
    """Name → value of the headers of a request; of one that is sent twice the first counts."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return found
