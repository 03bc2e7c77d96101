"""The key of the server, and the rights of hosts.

The server prints a key on its terminal. A browser that has sent the key once is a *host*. Without
the key, a browser can use the link to a seat or to a wall, and join by the code of a class.

If other machines can reach the server, hosts are restricted too: the server's OPENAI_API_KEY is not
sent to an address from a browser, no file named in a browser is run, and only recordings and models
below the server's folder are opened.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabm_mesa.core.toml_io import expand_home
from sabm_mesa.errors import ParameterError, RecordingError, about
from sabm_mesa.llm.endpoints import URL_VARIABLE, endpoint_url

VARIABLE = "SABM_HOST_KEY"
"""Environment variable with a custom key. The server is then treated as reachable by others, as
through a proxy.
"""
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
SHORTEST_KEY = 16
"""Minimum number of characters of a custom key."""
COOKIE = "sabm-host"
"""The name of a host's cookie, before the port: cookies are shared between ports."""


@dataclass
class Network:
    """The sites of this process.

    Attributes:
        address: where other machines reach the web application, such as
            ``"http://192.168.1.5:8765"``; ``""``: they do not.
        web: whether the web application is served; ``solara run`` serves scenarios alone.
    """

    address: str = ""
    web: bool = False


NETWORK = Network()
_drawn = secrets.token_urlsafe(16)
_hosts: set[str] = set()
_tickets: dict[str, str] = {}


def host_key() -> str:
    """The key; a browser that sends it becomes a host.

    Raises:
        ParameterError: when the key in the environment is too short.
    """
    given = os.environ.get(VARIABLE, "")
    if given and len(given) < SHORTEST_KEY:
        raise ParameterError(
            f"{VARIABLE} has {len(given)} characters, of which {SHORTEST_KEY} are needed, so that "
            "nobody guesses it: choose a longer key, or unset it, and one is drawn."
        )
    return given or _drawn


def new_ticket() -> str:
    """Make a key that works once, for an address that is visible in the process table."""
    ticket = secrets.token_urlsafe(16)
    _tickets[ticket] = ""
    return ticket


def admit(given: str) -> str | None:
    """Make a browser a host.

    Args:
        given: the key or a ticket, as the browser has sent it.

    Returns:
        The secret that the browser sends from now on; None when the key was wrong. When a ticket is
        used twice, it becomes invalid, and so does the secret of the first browser: one of the two
        has stolen it.
    """
    secret = secrets.token_urlsafe(16)
    if secrets.compare_digest(given.encode(), host_key().encode()):
        _hosts.add(secret)
        return secret
    if given not in _tickets:
        return None
    if _tickets[given]:
        _hosts.discard(_tickets[given])
        return None
    _tickets[given] = secret
    _hosts.add(secret)
    return secret


def may_host(cookies: Mapping[str, str]) -> bool:
    """Whether a browser is a host.

    Args:
        cookies: those of its connection.
    """
    return any(name.startswith(COOKIE) and value in _hosts for name, value in cookies.items())


def open_to_others() -> bool:
    """Whether other machines can reach the server."""
    return bool(NETWORK.address)


@about("minds")
def check_minds(minds: str | Mapping[str, Any]) -> None:
    """Check the addresses and files in mind specs from a browser.

    Args:
        minds: the minds of a run by their specs.

    Raises:
        ParameterError: for an address with which the server was not started, or a file, which is a
            program, when other machines can reach the server.
    """
    from sabm_mesa.minds.specs import is_file, named_in

    for spec in named_in(minds):
        kind, _, rest = spec.partition(":")
        url = rest.rpartition("@")[2]
        if is_file(spec) and open_to_others():
            raise ParameterError(
                "Others can reach this server, so no file that is named in a browser is run (py:…)."
            )
        in_file = kind in {"gguf", "fitted"}
        if in_file and open_to_others() and not _is_below(expand_home(rest.partition("?")[0])):
            raise ParameterError(
                f"Others can reach this server, so only models below {Path.cwd()} are loaded."
            )
        address = kind == "llm" and "@" in rest and "://" in url
        if address and open_to_others() and endpoint_url(url) != endpoint_url(None):
            raise ParameterError(
                f"Others can reach this server, so its key is sent to no address that is given in "
                f"a browser: start it with sabm view --base-url {url} (or {URL_VARIABLE}={url})."
            )


def check_path(path: Path) -> None:
    """Check that a recording may be opened in a browser.

    Raises:
        RecordingError: when other machines can reach the server and the recording is not below its
            folder.
    """
    if open_to_others() and not _is_below(path):
        raise RecordingError(
            f"Others can reach this server, so only recordings below {Path.cwd()} are opened."
        )


def _is_below(path: Path) -> bool:
    """Whether a path is inside the server's folder."""
    return path.resolve().is_relative_to(Path.cwd().resolve())
