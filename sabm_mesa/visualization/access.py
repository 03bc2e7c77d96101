"""Who may use the pages of the host: all, on loopback; else browsers that have shown the key.

On a server that others can reach, everybody could run models, spend money with the host's key and
read files. There the pages other than those of the seats open only for a browser that came by the
address with the key, which ``sabm view`` prints.
"""

from __future__ import annotations

import os
import secrets
from urllib.parse import parse_qs

VARIABLE = "SABM_HOST_KEY"
"""Holds the key of the host; a server without it lets everybody in."""
_known: set[str] = set()


def new_key() -> str:
    """Make a key, and let nobody in without it from now on."""
    os.environ[VARIABLE] = secrets.token_urlsafe(16)
    return os.environ[VARIABLE]


def may_host(browser: str, search: str | None) -> bool:
    """Whether a browser may use the pages of the host.

    Args:
        browser: the id of its session.
        search: the query of the address it came by, such as ``key=…``.
    """
    key = os.environ.get(VARIABLE)
    if not key or browser in _known:
        return True
    given = parse_qs((search or "").removeprefix("?")).get("key", [""])[0]
    if secrets.compare_digest(given.encode(), key.encode()):
        _known.add(browser)
        return True
    return False
