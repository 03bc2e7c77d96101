"""The key of the viewer, and the rights of visitors.

The server prints a key on its terminal. A browser that has sent the key once is a *host*. Without
the key, a browser on the same computer can run scenarios with classical minds, and a player of a
class game can use the link to a seat. Language models, files, recordings and games with people are
for hosts only.

If other machines can reach the server, hosts are restricted too: the server's OPENAI_API_KEY is not
sent to an address from a browser, no file named in a browser is run, and only recordings and models
below the server's folder are opened.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sabm_mesa.core.toml_io import expand_home
from sabm_mesa.errors import ParameterError, RecordingError, about
from sabm_mesa.llm.endpoints import URL_VARIABLE, endpoint_url
from sabm_mesa.minds.base import name_of

if TYPE_CHECKING:
    from sabm_mesa.minds.specs import Minds

VARIABLE = "SABM_HOST_KEY"
"""Environment variable with a custom key. The server is then treated as reachable by others, as
through a proxy.
"""
LISTENS = "SABM_LISTENS_AT"
"""Environment variable with the address at which ``sabm view`` listens; ``solara run`` has another
one.
"""
EVERYWHERE = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}
"""Wildcard address → an address from the documentation range, to find the network route."""
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
SHORTEST_KEY = 16
"""Minimum number of characters of a custom key."""
KEY_PATH = "/_sabm/key"
"""The path to which a page sends the key that a visitor has entered."""
COOKIE = "sabm-host"
"""The name of a host's cookie, before the port: cookies are shared between ports."""
WALLS = {"screen", "wall"}
"""First parts of the paths of walls: they have no navigation, and the language of their class."""
PLAYED_BY_ALL = {"classical", "fixed"}
"""Kinds of minds that do not require a host."""
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


def is_own_page(headers: Mapping[str, str], *, socket: bool = False) -> bool:
    """Whether a request can come from a page of the viewer rather than from another site.

    Args:
        headers: the headers of the request, with names in lower case.
        socket: whether it opens a socket. Other requests from the viewer's pages may have the
            origin ``null``, since these pages send no referrer.
    """
    host, origin = headers.get("host", ""), headers.get("origin", "")
    try:
        name = urlsplit(f"//{host}").hostname
        foreign = urlsplit(origin).netloc != host and (socket or origin != "null")
    except ValueError:
        return False
    if origin and foreign:
        return False
    # On loopback, a foreign host name that resolves to this machine is refused.
    return open_to_others() or name in LOOPBACK


def open_to_others() -> bool:
    """Whether other machines can reach the server."""
    return bool(os.environ.get(VARIABLE)) or listens_at() not in LOOPBACK


def listens_at() -> str:
    """The address at which the server listens."""
    return os.environ.get(LISTENS) or os.environ.get("SERVER_NAME") or "localhost"


@about("base_url")
def check_address(url: str | None) -> None:
    """Check that the server's key may be sent to an address from a browser.

    Args:
        url: the address; None: the server's configured address.

    Raises:
        ParameterError: when other machines can reach the server and it was not started with the
            address.
    """
    if not url or not open_to_others() or endpoint_url(url) == endpoint_url(None):
        return
    raise ParameterError(
        f"Others can reach this server, so its key is sent to no address that is given in a "
        f"browser: start it with sabm view --base-url {url} (or {URL_VARIABLE}={url})."
    )


@about("minds")
def check_kinds(minds: Minds) -> None:
    """Check that minds may be used by a browser that is not a host.

    Args:
        minds: as the model takes them; mind objects come from the app's author and are allowed.

    Raises:
        ParameterError: for a mind that can use the server's key or runs a file.
    """
    from sabm_mesa.minds.specs import named_in, objects_by_spec

    for spec in map(name_of, named_in(minds)):
        if spec.partition(":")[0] not in PLAYED_BY_ALL and spec not in objects_by_spec(minds):
            raise ParameterError(
                f"{spec} takes the key of this viewer, which stands on its terminal; classical "
                f"minds and fixed:VALUE play without it."
            )


@about("minds")
def check_minds(minds: str | Mapping[str, Any]) -> None:
    """Check the addresses and files in mind specs from a browser.

    Args:
        minds: the minds of a run by their specs.

    Raises:
        ParameterError: as `check_address`; for a file when other machines can reach the server,
            since a file is a program.
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
        if kind == "llm" and "@" in rest and "://" in url:
            check_address(url)


def check_path(path: Path) -> None:
    """Check that a recording may be opened in a browser.

    Args:
        path: the recording.

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


def name_in_network(host: str) -> str:
    """Return the host name that page addresses use for a listening address.

    Args:
        host: the address.
    """
    if host in EVERYWHERE:
        host = _in_the_network(EVERYWHERE[host])
    return f"[{host}]" if ":" in host else host


@cache
def _in_the_network(elsewhere: str) -> str:
    """The machine's address on the route to another one; its host name when there is no route."""

    async def look() -> str:
        # Connecting a datagram socket sends nothing.
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            asyncio.DatagramProtocol, remote_addr=(elsewhere, 9)
        )
        address: str = transport.get_extra_info("sockname")[0]
        transport.close()
        return address

    try:
        return asyncio.run(look())
    except OSError:
        return platform.node()
