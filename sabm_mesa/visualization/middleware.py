"""HTTP middleware: it refuses requests of other sites, takes the key, and adds headers.

It stands before all applications of the package that are served over HTTP.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from sabm_mesa.visualization.access import COOKIE, LOOPBACK, admit, may_host
from sabm_mesa.visualization.web.page import key_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TRIED_S = 60.0
"""Seconds for which a wrong secret counts."""
FREE_TRIES, FREE_TRIES_OF_SECRET = 20, 200
"""Number of wrong secrets without a delay: per address, which a class may share, and per secret."""
FIRST_DELAY_S, LONGEST_DELAY_S = 0.5, 10.0
"""Delay of the next try in seconds; it doubles with each further try."""
HEADERS = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'nonce-{nonce}'",
        "style-src 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
"""The content security policy of plain pages; the pages of Solara have their own."""
T = TypeVar("T")


class RequestMiddleware:
    """Middleware of all requests.

    It refuses requests from other sites, makes a browser with the key in its address a host, and
    adds headers.

    Args:
        app: the application behind it.
        local: whether only this machine reaches it. Then another name of the host is refused, since
            it is that of a site which resolves to this machine.
    """

    def __init__(self, app: ASGIApp, *, local: bool) -> None:
        self._app, self._local = app, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {}).update(nonce=nonce, local=self._local)
        added = {**HEADERS, "content-security-policy": POLICY.format(nonce=nonce)}
        if self._local or scope["scheme"] in {"https", "wss"}:
            added["cross-origin-opener-policy"] = "same-origin"  # elsewhere, browsers refuse it

        async def send_with_headers(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                sent = message["headers"] = [*message.get("headers", ())]
                names = {name for name, _ in sent}
                pairs = [(name.encode(), value.encode()) for name, value in added.items()]
                sent += [pair for pair in pairs if pair[0] not in names]
            await send(message)

        app = self._app
        if not self._is_own(HTTPConnection(scope)):
            app = Response("This address is not one of the viewer.", 403)
        elif scope["type"] == "http" and "key" in (request := Request(scope)).query_params:
            app = await _with_key(request)
        await app(scope, receive, send_with_headers)

    def _is_own(self, connection: HTTPConnection) -> bool:
        """Whether a request can come from a page of this server rather than from another site."""
        host, origin = connection.headers.get("host", ""), connection.headers.get("origin", "")
        try:
            name = urlsplit(f"//{host}").hostname
            foreign = urlsplit(origin).netloc != host
        except ValueError:
            return False
        # Pages that send no referrer have the origin null, but never for a socket.
        if origin and foreign and (origin != "null" or connection.scope["type"] == "websocket"):
            return False
        return name in LOOPBACK or not self._local


async def _with_key(request: Request) -> Response:
    """Make a browser with the right key in its address a host.

    It is redirected to the address without the key, so neither a projector nor the history of the
    browser shows it.
    """
    address = request.client.host if request.client else ""
    given = request.query_params["key"].strip()
    secret = await TRIES.test("the key", address, lambda: admit(given))
    if secret is None and not may_host(request.cookies):
        return key_page(request, "This is not the key.")
    without = request.url.remove_query_params("key")
    path = without.path.lstrip("/\\")  # two slashes would start the name of another site
    there = RedirectResponse(f"/{path}?{without.query}".rstrip("?"), 303)
    if secret is not None:
        there.set_cookie(
            f"{COOKIE}-{request.url.port or request.url.scheme}", secret, httponly=True,
            samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip
    return there


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
