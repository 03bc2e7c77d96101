"""Plain pages: a template with its styles and scripts in it, and a state as JSON.

A browser is known by its session, a random cookie, to which its seats and games belong.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, Template
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.phrases import translated
from sabm_mesa.visualization.reading.pages import render

if TYPE_CHECKING:
    from starlette.requests import Request

SESSION = "sabm-session"
"""The name of the cookie with the session of a browser."""
SESSION_S = 365 * 24 * 3600
"""Seconds that a browser keeps its session."""
POLL_S, LOOK_S = 20.0, 0.1
"""Seconds after which a page gets the state even without a change, and between two checks."""


def page(
    name: str, *, styles: Sequence[str] = (), scripts: Sequence[str] = (), **content: Any
) -> str:
    """Render a page of this folder.

    Args:
        name: the file of its template.
        styles: the files of its styles, as `style` in the template.
        scripts: the files of its scripts, as `script`.
        content: what else its template shows; texts are escaped.
    """
    joined = {"style": _joined(*styles), "script": _joined(*scripts)}
    return _template(name).render(**joined, **content)


def as_json(content: Any, language: str, status: int = 200) -> Response:
    """Answer with plain data whose phrases are in a language; no browser stores it."""
    text = json.dumps(json_roundtrip(translated(content, language)), ensure_ascii=False)
    return Response(text, status, {"Cache-Control": "no-store"}, media_type="application/json")


async def changed(request: Request, version: Callable[[], str]) -> bool:
    """Wait until the state differs from the one that a page shows, at most `POLL_S`.

    Args:
        request: the request of the page; ``after`` in its address is the version that it shows.
        version: returns a text that changes with the state.

    Returns:
        Whether the page is still there.
    """
    until = time.monotonic() + POLL_S
    while version() == request.query_params.get("after") and time.monotonic() < until:
        if await request.is_disconnected():
            return False
        await asyncio.sleep(LOOK_S)
    return True


def served(html: str, status: int = 200) -> Response:
    """Answer with a page; no browser stores it."""
    return HTMLResponse(html, status, {"Cache-Control": "no-store"})


def rendered(request: Request, template: str, status: int = 200, /, **content: Any) -> Response:
    """Answer with a page of the templates of recordings."""
    site = {"nonce": request.state.nonce, "viewer": request.state.local}
    return served(render(template, {"served": site, **content}), status)


def key_page(request: Request, problem: str = "") -> Response:
    """The page that asks for the key of the server.

    Args:
        problem: what is wrong with the key that was given.
    """
    asked = [pair for pair in request.query_params.multi_items() if pair[0] != "key"]
    return rendered(request, "key.html", 403, asked=asked, problem=problem)


def session_of(request: Request) -> str:
    """The session of a browser, ``""`` for one without."""
    return request.cookies.get(SESSION, "")


def with_session(request: Request, response: Response) -> Response:
    """Give a browser a session if it has none."""
    if not session_of(request):
        # Not strict: requests from links on other sites, such as a link to a seat, send it too.
        response.set_cookie(
            SESSION, secrets.token_urlsafe(16), max_age=SESSION_S, httponly=True, samesite="lax",
            secure=request.url.scheme == "https",
        )  # fmt: skip
    return response


@cache
def _template(name: str) -> Template:
    return Environment(autoescape=True, trim_blocks=True).from_string(_text(name))


@cache
def _joined(*names: str) -> Markup:
    return Markup("\n".join(map(_text, names)))


def _text(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
