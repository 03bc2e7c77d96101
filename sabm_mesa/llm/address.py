"""The addresses of endpoints."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from sabm_mesa.errors import ParameterError

URL_VARIABLE = "OPENAI_BASE_URL"


def endpoint_url(url: str | None) -> str | None:
    """The endpoint that is meant: as given, or that of the environment, or None for OpenAI's own.

    Args:
        url: an address, or None.

    Raises:
        ParameterError: when it is no address, or holds a password.
    """
    url = url or os.environ.get(URL_VARIABLE)
    return check_url(url) if url else None


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
