"""The addresses of endpoints."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlsplit

from sabm_mesa.errors import ParameterError, about

URL_VARIABLE = "OPENAI_BASE_URL"
REACHABLE_S = 5.0
"""Seconds after which an address at which nobody answers counts as wrong."""


def endpoint_url(url: str | None) -> str | None:
    """The endpoint that is meant: as given, or that of the environment, or None for OpenAI's own.

    Args:
        url: an address, or None.

    Raises:
        ParameterError: when it is no address, or holds a password.
    """
    url = url or os.environ.get(URL_VARIABLE)
    return check_url(url) if url else None


@about("base_url")
def check_url(url: str) -> str:
    """Check an address and leave out the slash at its end.

    Raises:
        ParameterError: when it is no address, or holds a password: that would be recorded.
    """
    try:
        parts = urlsplit(url)
        legal = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        legal = False
    if not legal:
        raise ParameterError(
            "The address of a server has to look like http://127.0.0.1:8000/v1 "
            f"(got {url.rpartition('@')[2]!r})."
        )
    if "@" in parts.netloc:
        raise ParameterError(
            "The address of a server must not hold a password, since addresses are recorded: "
            "set OPENAI_API_KEY in the environment."
        )
    return url.rstrip("/")


def check_listener(address: str, what: str) -> None:
    """Check that somebody listens at an address.

    Args:
        address: ``HOST:PORT``.
        what: the thing that should be there, for the error.

    Raises:
        ParameterError: when it is no address, or nobody answers there.
    """
    try:
        parts = urlsplit(f"//{address}")
        place = parts.hostname or "", parts.port or 0
        socket.create_connection(place, REACHABLE_S).close()
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise ParameterError(
            f"There is no {what} at {address!r} ({said}): it has to be HOST:PORT."
        ) from None
