"""The key of the viewer, and the rights of visitors.

A server has a key, which stands on its terminal. A browser shows it once and is a *host* from then
on. Without it, a browser on the same computer watches scenarios and plays them with classical
minds; a player of a class game comes by the link to a seat. Language models, files, recordings
and games with people take a host.

On a server that others can reach, a host is still a browser: the server's OPENAI_API_KEY goes to
no address that is typed in, no file that is named runs, and only recordings and models below the
server's folder are opened.
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
"""Holds a key of one's own. Others are then taken to reach the server, as through a proxy."""
LISTENS = "SABM_LISTENS_AT"
"""Holds the address at which ``sabm view`` listens; ``solara run`` has a variable of its own."""
EVERYWHERE = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}
"""Addresses that stand for all of a machine's → one of documentation, for which it has a route."""
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
SHORTEST_KEY = 16
"""Characters of a key of one's own at least."""
KEY_PATH = "/_sabm/key"
"""The address at which a page shows the key that somebody has entered."""
COOKIE = "sabm-host"
"""The name of a host's cookie; the port follows, for cookies know no ports."""
PLAYED_BY_ALL = {"classical", "fixed"}
"""Kinds of minds that take no host."""
_drawn = secrets.token_urlsafe(16)
_hosts: set[str] = set()
_tickets: dict[str, str] = {}


def host_key() -> str:
    """The key, which makes any browser that shows it a host.

    Raises:
        ParameterError: when the one in the environment is so short that it can be guessed.
    """
    given = os.environ.get(VARIABLE, "")
    if given and len(given) < SHORTEST_KEY:
        raise ParameterError(
            f"{VARIABLE} has {len(given)} characters, of which {SHORTEST_KEY} are needed, so that "
            "nobody guesses it: choose a longer key, or unset it, and one is drawn."
        )
    return given or _drawn


def new_ticket() -> str:
    """Make a key that works once, for an address that the process table shows to all."""
    ticket = secrets.token_urlsafe(16)
    _tickets[ticket] = ""
    return ticket


def admit(given: str) -> str | None:
    """Make a browser a host.

    Args:
        given: the key or a ticket, as the browser has shown it.

    Returns:
        The secret that the browser is to bring from now on; None when it was not the key. A ticket
        that is shown a second time is worth nothing any more, and nor is the secret of the browser
        that came first: one of the two has taken it from the other.
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
    """Whether a request can come from a page of the viewer, and not from one of another site.

    Args:
        headers: those of the request, with names in lower case.
        socket: whether it asks for a connection. Other requests of the viewer's own pages may
            have the origin ``null``, since their policy is to send no referrer.
    """
    host, origin = headers.get("host", ""), headers.get("origin", "")
    try:
        name = urlsplit(f"//{host}").hostname
        foreign = urlsplit(origin).netloc != host and (socket or origin != "null")
    except ValueError:
        return False
    if origin and foreign:
        return False
    # On loopback a name that was made to lead to this machine is none of its own.
    return open_to_others() or name in LOOPBACK


def open_to_others() -> bool:
    """Whether others than this machine can reach the server."""
    return bool(os.environ.get(VARIABLE)) or listens_at() not in LOOPBACK


def listens_at() -> str:
    """The address at which the server listens."""
    return os.environ.get(LISTENS) or os.environ.get("SERVER_NAME") or "localhost"


@about("base_url")
def check_address(url: str | None) -> None:
    """Check that the server's key may be sent to an address that was given in a browser.

    Args:
        url: the address; None for that of the server.

    Raises:
        ParameterError: when others can reach the server, and it was not started with the address.
    """
    if not url or not open_to_others() or endpoint_url(url) == endpoint_url(None):
        return
    raise ParameterError(
        f"Others can reach this server, so its key is sent to no address that is given in a "
        f"browser: start it with sabm view --base-url {url} (or {URL_VARIABLE}={url})."
    )


@about("minds")
def check_kinds(minds: Minds) -> None:
    """Check that minds may decide on a page of a browser that is no host.

    Args:
        minds: as the model takes them; objects are those of the app's author.

    Raises:
        ParameterError: for a mind that may use the server's key, or that runs a file.
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
    """Check the addresses and files in the specs of minds that were given in a browser.

    Args:
        minds: the minds of a run by their specs.

    Raises:
        ParameterError: as `check_address`; for a file when others can reach the server: it is a
            program.
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
        RecordingError: when others can reach the server, and it is not below its folder.
    """
    if open_to_others() and not _is_below(path):
        raise RecordingError(
            f"Others can reach this server, so only recordings below {Path.cwd()} are opened."
        )


def _is_below(path: Path) -> bool:
    """Whether a path leads into the server's folder."""
    return path.resolve().is_relative_to(Path.cwd().resolve())


def name_in_network(host: str) -> str:
    """Return the host that stands for a listening address in the addresses of pages.

    Args:
        host: the address.
    """
    if host in EVERYWHERE:
        host = _in_the_network(EVERYWHERE[host])
    return f"[{host}]" if ":" in host else host


@cache
def _in_the_network(elsewhere: str) -> str:
    """The machine's own address on the way to another one; its name when there is no way."""

    async def look() -> str:
        # A datagram socket that is told where it leads to sends nothing until something is said.
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            asyncio.DatagramProtocol, remote_addr=(elsewhere, 9)
        )
        own: str = transport.get_extra_info("sockname")[0]
        transport.close()
        return own

    try:
        return asyncio.run(look())
    except OSError:
        return platform.node()
