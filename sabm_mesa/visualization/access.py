"""Who may use the pages of the host, and what they may do on a server that others can reach.

On loopback everybody may do everything. On a server that others can reach, everybody could run
models, spend money with the host's key and read files. There the pages other than those of the
seats open only for a browser that came by the address with the key, which ``sabm view`` prints;
the server's OPENAI_API_KEY goes to no address that is typed in a browser; and only recordings and
models below the server's folder are opened.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm.address import URL_VARIABLE, endpoint_url
from sabm_mesa.minds import is_file
from sabm_mesa.own_files import at_home

VARIABLE = "SABM_HOST_KEY"
"""Holds the key of the host; a server without it lets in who calls it by an address of loopback."""
LISTENS = "SABM_LISTENS_AT"
"""Holds the address at which ``sabm view`` listens; ``solara run`` has a variable of its own."""
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_known: set[str] = set()


def new_key() -> str:
    """Make a key, and let nobody in without it from now on."""
    os.environ[VARIABLE] = secrets.token_urlsafe(16)
    return os.environ[VARIABLE]


def may_host(browser: str, search: str | None, headers: Mapping[str, list[str]]) -> bool:
    """Whether a browser may use the pages of the host.

    Args:
        browser: the id of its session.
        search: the query of the address it came by, such as ``key=…``.
        headers: those of its connection: a page of another site that opened it may not.
    """
    host, origin = (headers.get(name, [""])[0] for name in ("host", "origin"))
    if origin and urlsplit(origin).netloc != host:
        return False
    key = os.environ.get(VARIABLE)
    if not key:  # a name that was made to lead to this machine is none of its own
        return urlsplit(f"//{host}").hostname in LOOPBACK
    if browser in _known:
        return True
    given = parse_qs((search or "").removeprefix("?")).get("key", [""])[0]
    if secrets.compare_digest(given.encode(), key.encode()):
        _known.add(browser)
        return True
    return False


def open_to_others() -> bool:
    """Whether others than this machine can reach the server."""
    return bool(os.environ.get(VARIABLE)) or listens_at() not in LOOPBACK


def listens_at() -> str:
    """The address at which the server listens."""
    return os.environ.get(LISTENS) or os.environ.get("SERVER_NAME") or "localhost"


def hosts_share() -> bool:
    """Whether every browser that opens the pages of the host is the host's own."""
    return bool(os.environ.get(VARIABLE)) or not open_to_others()


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


def check_minds(minds: str | Mapping[str, int]) -> None:
    """Check the addresses and files in the specs of minds that were given in a browser.

    Args:
        minds: one for all, or a mapping → count.

    Raises:
        ParameterError: as `check_address`; for a file when others can reach the server: it is a
            program.
    """
    for spec in [minds] if isinstance(minds, str) else minds:
        kind, _, rest = spec.partition(":")
        url = rest.rpartition("@")[2]
        if is_file(spec) and open_to_others():
            raise ParameterError(
                "Others can reach this server, so no file that is named in a browser is run (py:…)."
            )
        if kind == "gguf" and open_to_others() and not _is_below(at_home(rest)):
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
