"""Protection of the viewer: allowed addresses, access rights, and security headers.

Solara's server is made for many kinds of apps. It proxies scripts from a public CDN under its own
address, takes the root path of all pages from a header of the first request, and has routes for
operators. The viewer needs little of that. `protect` replaces the routes of Solara's server by
those of `_routes`; other addresses are not found. It is called when a page of the viewer is
imported, so it applies to ``sabm view``, to ``solara run sabm_mesa.visualization.app`` and to the
apps of single scenarios.

This module imports Solara's server, which patches ipywidgets: import it in a server only.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ipyvue import VueTemplateWidget, VueWidget  # type: ignore[import-untyped]
from solara.server import kernel_context, settings
from solara.server import server as solara_server
from solara.server import starlette as solara_starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router, WebSocketRoute

from sabm_mesa.core.engine import raise_file_limit
from sabm_mesa.core.languages import ENGLISH, language_for, table_of
from sabm_mesa.visualization import loading
from sabm_mesa.visualization.access import (
    COOKIE,
    KEY_PATH,
    LISTENS,
    WALLS,
    admit,
    host_key,
    may_host,
)
from sabm_mesa.visualization.assets import assets
from sabm_mesa.visualization.connections import KEEP_S, Connections, fire_event
from sabm_mesa.visualization.html import root_path
from sabm_mesa.visualization.middleware import TRIES, RequestMiddleware, limit_logs
from sabm_mesa.visualization.seat_interface import PATH as SEATS
from sabm_mesa.visualization.seat_interface import seat_route

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send
    from starlette.websockets import WebSocket

KEY_STANDS_HERE = "Key of the viewer, for language models, files, recordings and games"
LONGEST_KEY = 1000
"""Maximum number of bytes of the key that are read."""
SESSION_S = 365 * 24 * 3600
"""Seconds that a browser keeps its identity, to which its seats and games belong."""
NOT_FOUND = """<!doctype html><html lang="{language}"><meta charset="utf-8">
<title>{not_found} · sabm</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<body style="font: 1.1rem sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
<main><h1>{not_found}</h1><p>{no_page}</p>
<p><a href="{root}/join" style="color: inherit">{join}</a></p>
<p><a href="{root}/" style="color: inherit">{all_scenarios}</a></p></main>"""
_TAKEN = {
    re.compile(r'<iframe src="https://solara\.dev/[^>]*></iframe>'): "",
    re.compile(r"<html>"): '<html lang="{language}">',
    re.compile(
        r'<v-progress-linear(?= :style="{visibility)'
    ): '<v-progress-linear aria-label="{busy}" aria-live="polite"',
    re.compile(r'width=device-width, initial-scale=1, maximum-scale[^"]*'): "width=device-width",
    re.compile(
        r"<v-progress-circular[^>]*>\s*Server\s+disconnected\.\s*</v-progress-circular>"
    ): '<p role="alert" style="max-width: 34rem; margin: 0 16px; padding: 16px; border-radius: 8px;'
    ' background: #fff; color: #1b1f24">{gone}</p>',
}
"""Parts of Solara's page that are replaced, with texts of the table ``page`` in them: calls home,
a page without a language that forbids zooming, a bar without a name, and words on top of the
page's own."""
_log = logging.getLogger(__name__)
_connections = Connections()


def protect() -> None:
    """Close all routes of Solara's server that the viewer does not need (idempotent)."""
    host_key()  # a key that is too short is refused
    settings.main.root_path = root_path()  # otherwise the first request sets it
    settings.telemetry.mixpanel_enable = False
    settings.theme.force_refresh = True  # a page that was not kept is reloaded
    if "SOLARA_KERNEL_CULL_TIMEOUT" not in os.environ:
        settings.kernel.cull_timeout = f"{KEEP_S}s"
    raise_file_limit()
    limit_logs()
    app = solara_starlette.app
    if not getattr(app.state, "protected", False):
        app.state.protected = True
        app.router.routes[:] = _routes()
        app.exception_handlers[404] = _not_found
        VueWidget._fire_event = fire_event  # noqa: SLF001
        VueTemplateWidget.get_template = _template
        # Figures are drawn in threads, without matplotlib settings per page.
        solara_server.patch.patch_heavy_imports = lambda: None
        # Solara imports its app after the start of the server, which is too late to add a
        # middleware.
        app.middleware_stack = RequestMiddleware(app.build_middleware_stack())
        if LISTENS not in os.environ:  # otherwise sabm view prints it
            _log.warning("%s: %s", KEY_STANDS_HERE, host_key())  # visible in the log


def _template(path: str) -> Any:
    """The widget of a template, one per page."""
    module = import_module("ipyvue.Template")  # the class of this name hides the module
    file, known = os.path.normpath(path), module.template_registry
    if file not in known:
        known[file] = module.Template(template=_source(file))
    return known[file]


@cache
def _source(file: str) -> str:
    # Solara's script of addresses misnames its exports, of which browsers warn.
    text = Path(file).read_text(encoding="utf-8")
    return text.replace("modules.export = {", "module.exports = {")


def _routes() -> list[BaseRoute]:
    """All routes of the viewer."""
    static = solara_starlette.StaticFilesOptionalAuth(directory=solara_server.solara_static)
    return [
        Route(KEY_PATH, _key, methods=["POST"]),
        *(Route(f"{path}{{rest:path}}", _Seats()) for path in ("/join", "/play/", SEATS)),
        Route("/_solara/api/close/{kernel_id}", _close, methods=["POST"]),
        WebSocketRoute("/jupyter/api/kernels/{kernel_id}/channels", _connect),
        Mount("/_solara/cdn", _Scripts()),
        Mount("/jupyter/nbextensions", solara_starlette.StaticNbFiles()),
        Mount("/static/assets", solara_starlette.StaticAssets()),
        Mount("/static", static),
        Route("/{path:path}", _page),
    ]


class _Seats:
    """The pages of players and the seats of programs, once they are loaded."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await loading.loaded()
        await self._routes()(scope, receive, send)

    @staticmethod
    @cache
    def _routes() -> Router:
        from sabm_mesa.visualization.pages.play import PeoplePages
        from sabm_mesa.visualization.pages.play_parts import GAMES

        people = PeoplePages(GAMES, _session, _new_session, root_path)
        return Router([seat_route(GAMES.find), *people.routes()])


class _Scripts(solara_starlette.StaticFilesOptionalAuth):
    """The installed files (`assets`), read-only."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        file = assets().get(Path(path).as_posix())
        return (str(file), file.stat()) if file is not None and file.is_file() else ("", None)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response: Response = await super().get_response(path, scope)
        # The address contains the version, so the files can be cached.
        response.headers["Cache-Control"] = solara_starlette.immutable_cache_control()
        return response


async def _page(request: Request) -> Response:
    """A page of the app, with a new session for a browser without one.

    A request with the key in its address is redirected to the address without it, so that neither a
    projector nor the browser history shows the key.
    """
    if "key" in request.query_params:
        without = request.url.remove_query_params("key")
        path = without.path.lstrip("/\\")  # two slashes would start the name of another site
        there = RedirectResponse(f"{root_path()}/{path}?{without.query}".rstrip("?"), 303)
        await _admit(request, there, request.query_params["key"])
        return there
    content = solara_server.read_root(request.url.path, root_path())
    if content is None:
        raise HTTPException(404)
    texts = _texts(_language(request))
    for taken, put in _TAKEN.items():
        content = taken.sub(put.format_map(texts), content)
    response = HTMLResponse(content.replace("<script", f'<script nonce="{request.state.nonce}"'))
    _new_session(request, response)
    return response


def _language(request: Request) -> str:
    """The language of a page of the app: only walls have another than English."""
    if request.path_params["path"].partition("/")[0] not in WALLS:
        return ENGLISH
    return _asked_language(request)


def _asked_language(request: Request) -> str:
    asked, accepted = request.query_params.get("lang"), request.headers.get("accept-language")
    return language_for(asked, accepted)


def _texts(language: str) -> dict[str, Any]:
    return {**table_of(language, "page"), "language": language, "root": root_path()}


def _session(request: Request) -> str:
    """The session of a browser, or ``""``."""
    return solara_server.get_session_id_cookie(request.cookies) or ""


def _new_session(request: Request, response: Response) -> None:
    """Create a session for a browser without one."""
    if not _session(request):
        # Not strict: requests from links on other sites, such as a link to a seat, must send the
        # cookie.
        response.set_cookie(
            solara_server.COOKIE_KEY_SESSION_ID, str(uuid4()), max_age=SESSION_S, httponly=True,
            samesite="lax", secure=request.url.scheme == "https",
        )  # fmt: skip


async def _key(request: Request) -> Response:
    """Receive a key that was typed on a page; 204 if it is right."""
    given = b""
    try:
        async for part in request.stream():
            given += part
            if len(given) > LONGEST_KEY:
                return Response(status_code=413)
    except ClientDisconnect:
        return Response(status_code=400)
    answer = Response(status_code=204)
    right = await _admit(request, answer, given.decode(errors="replace"))
    return answer if right else Response("", 403)


async def _admit(request: Request, response: Response, given: str) -> bool:
    """Make the browser a host if the key is right, and return whether it is."""
    address = request.client.host if request.client else ""
    secret = await TRIES.test("the key", address, lambda: admit(given.strip()))
    if secret is not None:
        response.set_cookie(
            f"{COOKIE}-{request.url.port or request.url.scheme}", secret, httponly=True,
            samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip
    return secret is not None


def _close(request: Request) -> Response:
    """Close a page that its browser has left; only the browser that opened it can do so."""
    context = kernel_context.contexts.get(request.path_params["kernel_id"])
    page = request.query_params.get("session_id", "")
    session = solara_server.get_session_id_cookie(request.cookies)
    if context is not None and session == context.session_id and page in context.page_status:
        with suppress(KeyError):  # Solara may close it at the same moment from another thread
            context.page_close(page)
    return Response()


async def _connect(socket: WebSocket) -> None:
    """The socket of a page; a browser that has not loaded a page has no session."""
    if not (
        solara_server.get_session_id_cookie(socket.cookies)
        and socket.query_params.get("session_id")
    ):
        await socket.close(1008)
        return
    await loading.loaded()  # not between the count and the check
    host = may_host(socket.cookies)
    address = socket.client.host if socket.client else ""
    if not host and _connections.is_full(address):
        await socket.close(1013)
        return
    connection = solara_starlette.kernel_connection(socket)
    # The end of the server cancels the connections of busy pages, which is not an error.
    with suppress(asyncio.CancelledError):
        await _connections.hold(connection, socket.path_params["kernel_id"], address, host=host)


def _not_found(request: Request, _error: Exception) -> Response:
    """An address without a page: people of a class may have mistyped theirs."""
    texts = _texts(_asked_language(request))
    return HTMLResponse(NOT_FOUND.format_map(texts), 404)
