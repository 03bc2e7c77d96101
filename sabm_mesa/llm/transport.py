"""The limits of what comes over the wire: the size of a body, and redirects to other servers."""

from __future__ import annotations

from typing import Any

import httpx2
from openai import DefaultAioHttpClient

MAX_BYTES = 4_000_000
"""Bytes of a response that are read at most."""
MAX_REDIRECTS = 5
_OF_THE_WIRE = {b"content-encoding", b"content-length", b"transfer-encoding"}
"""Headers that say how a body was sent, which do not hold once it is read."""


class ResponseTooLarge(Exception):
    """A response is larger than the limit; its connection is closed."""


class BoundedHTTPClient(DefaultAioHttpClient):
    """The HTTP client under the `openai` library, for servers that nobody here knows.

    A body is read up to a limit, whatever its status, and measured as it is unpacked. A redirect is
    followed within one origin only: elsewhere prompt and key would go to a server that nobody has
    named.

    Args:
        max_bytes: bytes of a body at most.
        timeout: the time limits of a request.
    """

    def __init__(self, max_bytes: int, timeout: httpx2.Timeout) -> None:
        super().__init__(timeout=timeout)
        self._max_bytes = max_bytes

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and read its response.

        Args:
            request: the request.
            options: as httpx2 takes them; all responses are read here, and redirects as well.

        Raises:
            ResponseTooLarge: when the body is larger than the limit.
        """
        options |= {"stream": True, "follow_redirects": False}
        response = await self._read(await super().send(request, **options))
        for _ in range(MAX_REDIRECTS):
            following = response.next_request
            if following is None or _origin(following.url) != _origin(request.url):
                break
            response = await self._read(await super().send(following, **options))
        return response

    async def _read(self, response: httpx2.Response) -> httpx2.Response:
        """The response with its body; closing one that is not read to its end ends the connection.

        httpx2 unpacks a body in pieces of at most 1 MiB, so a small one cannot fill the memory.
        """
        parts, size = [], 0
        try:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > self._max_bytes:
                    raise ResponseTooLarge
                parts.append(part)
        finally:
            await response.aclose()
        read = httpx2.Response(
            response.status_code,
            headers=[each for each in response.headers.raw if each[0].lower() not in _OF_THE_WIRE],
            content=b"".join(parts),
            request=response.request,
            extensions=response.extensions,
        )
        read.next_request = response.next_request
        return read


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    """Scheme, host and port of an address; httpx2 leaves out the port that a scheme has anyway."""
    return url.scheme, url.host, url.port
