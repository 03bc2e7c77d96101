"""The transport: connections, size limits of responses, and redirects."""

from __future__ import annotations

import os
import ssl
from functools import cache
from io import BytesIO
from typing import Any

import aiohttp
import httpx2
from aiohttp import hdrs
from multidict import CIMultiDict
from openai import DefaultAioHttpClient
from yarl import URL

MAX_BYTES = 4_000_000
"""The maximum number of bytes of a response."""
MAX_REDIRECTS = 5
_SAME_AGAIN = {"GET": {301, 302, 303, 307, 308}}
_SAME_BODY_AGAIN = {307, 308}
"""Statuses that ask for the same request at another address."""
_OF_THE_WIRE = {"content-encoding", "content-length", "transfer-encoding"}
"""Headers of the transfer, which no longer apply to a body that has been read."""
_BY_AIOHTTP = {"connection", "content-length", "host", "transfer-encoding"}
_OF_THIS_COMPUTER = "x-stainless-"
"""Headers in which the libraries describe system and Python, which no server needs."""
_NAMED = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_ENCODINGS = "gzip, deflate"
_LARGE = 2**20
"""The size of a body from which aiohttp wants a file, in bytes."""


class ResponseTooLarge(Exception):
    """A response is larger than the limit; its connection is closed."""


_Way = tuple[aiohttp.ClientSession, dict[str, Any]]


class BoundedHTTPClient(DefaultAioHttpClient):
    """The HTTP client under the libraries, for servers that this process did not start.

    Requests go to aiohttp directly, since the layers of httpx2 cost several times as much. httpx2
    only provides the proxies and certificates of the environment, and the types of the libraries.

    A body is read up to a limit, whatever its status; the size counts after unpacking. A redirect
    is followed only within one origin: otherwise prompt and key would go to a server that nobody
    has named.

    Args:
        max_bytes: the maximum number of bytes of a body.
        timeout: the time limits of a request, of which only that of the connection is used.
    """

    def __init__(self, max_bytes: int, timeout: httpx2.Timeout) -> None:
        super().__init__(timeout=timeout, verify=_certificates(*map(os.environ.get, _NAMED)))
        self._max_bytes = max_bytes
        self._timeouts = aiohttp.ClientTimeout(sock_connect=timeout.connect)
        self._ways: dict[URL, _Way] = {}

    async def send(self, request: httpx2.Request, **_options: Any) -> httpx2.Response:
        """Send a request of a library and read its response.

        Args:
            request: the request.
            _options: the options of httpx2, which are ignored: every response is read here, and
                redirects are handled here.

        Raises:
            ResponseTooLarge: when the body is larger than the limit.
            aiohttp.ClientError: when there is no connection, or it is lost.
        """
        headers = CIMultiDict(
            (name, value)
            for name, value in request.headers.multi_items()
            if name.lower() not in _BY_AIOHTTP and not name.lower().startswith(_OF_THIS_COMPUTER)
        )
        headers[hdrs.ACCEPT_ENCODING] = _ENCODINGS
        url, body = URL(str(request.url), encoded=True), await request.aread()
        response = await self._exchange(request, url, headers, body)
        for _ in range(MAX_REDIRECTS):
            again = response.status_code in _SAME_AGAIN.get(request.method, _SAME_BODY_AGAIN)
            if not again or not (to := response.headers.get(hdrs.LOCATION)):
                break
            if (following := url.join(URL(to))).origin() != url.origin():
                break
            url = following
            response = await self._exchange(request, url, headers, body)
        return response

    async def _exchange(
        self, request: httpx2.Request, url: URL, headers: CIMultiDict[str], body: bytes
    ) -> httpx2.Response:
        session, proxy = self._way(url.origin())
        async with session.request(
            request.method,
            url,
            headers=headers,
            data=(body if len(body) < _LARGE else BytesIO(body)) or None,
            allow_redirects=False,
            timeout=self._timeouts,
            **proxy,
        ) as received:
            return httpx2.Response(
                received.status,
                headers=[
                    (name, value)
                    for name, value in received.headers.items()
                    if name.lower() not in _OF_THE_WIRE
                ],
                content=await self._read(received.content),
                # Libraries note in the headers of a request how they read its response.
                request=httpx2.Request(request.method, str(url), headers=request.headers),
                extensions={"reason_phrase": (received.reason or "").encode()},
            )

    def _way(self, origin: URL) -> _Way:
        """The session and the proxy for a server: httpx2 chooses both by the environment."""
        if origin not in self._ways:
            transport: Any = self._transport_for_url(httpx2.URL(str(origin)))
            if not isinstance(transport.client, aiohttp.ClientSession):
                transport.client = transport.get_client()
            self._ways[origin] = transport.client, _proxy(transport.proxy)
        return self._ways[origin]

    async def _read(self, content: aiohttp.StreamReader) -> bytes:
        """The body of a response; one that is not read to its end ends the connection.

        aiohttp unpacks a body in pieces as it is read, so a small one cannot fill the memory.
        """
        parts, size = [], 0
        while part := await content.readany():
            size += len(part)
            if size > self._max_bytes:
                raise ResponseTooLarge
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


@cache
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The certificates that the environment names; it takes a tenth of a second to read them."""
    return httpx2.create_ssl_context()


def _proxy(proxy: httpx2.Proxy | None) -> dict[str, Any]:
    """A proxy in the form of aiohttp: user and password in its address."""
    if proxy is None:
        return {}
    url = URL(str(proxy.url))
    if proxy.auth is not None:
        user, password = proxy.auth
        url = url.with_user(user).with_password(password)
    return {"proxy": url, "proxy_headers": dict(proxy.headers)}
