"""The gate of the viewer: which addresses are answered, for whom, and with which headers.

Solara's server is made for many kinds of apps. It fetches any package of a public network for
scripts and serves its pages as its own, takes the root path of all pages from a header of the
first request, and has addresses for its operators. The viewer needs little of that. `protect`
replaces the routes of Solara's server by those of `_routes`; an address not listed there is not
found. It is called when a page of the viewer is imported, so it holds for ``sabm view``, for
``solara run sabm_mesa.visualization.app`` and for the apps of single scenarios alike.

This module imports Solara's server, which changes ipywidgets: import it in a server only.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
from contextlib import suppress
from functools import cache
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from solara.server import kernel_context, settings
from solara.server import server as solara_server
from solara.server import starlette as solara_starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from sabm_mesa.visualization.access import (
    COOKIE,
    KEY_PATH,
    LISTENS,
    admit,
    host_key,
    is_own_page,
    may_host,
)
from sabm_mesa.visualization.connections import KEEP_S, Connections, raise_file_limit

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket

SCRIPTS = "solara-assets"
"""The package that holds the scripts, styles and fonts of all pages."""
SERVED = {".js", ".mjs", ".css", ".map", ".json", ".woff", ".woff2", ".ttf", ".eot", ".png"}
"""Endings of its files that are served. Pages and drawings, which can hold scripts, are not."""
KEY_STANDS_HERE = "Key of the viewer, for language models, files, recordings and games"
LONGEST_KEY = 1000
"""Bytes of it that are read."""
SESSION_S = 365 * 24 * 3600
"""Seconds that a browser keeps its identity, to which its seats and games belong."""
MOST_LOGGED, LOGGED_S = 5, 3600.0
"""Lines that one place of the code logs at most in so many seconds."""
NOT_FOUND = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Not found · sabm</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<body style="font: 1.1rem sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
<h1>Not found</h1><p>There is no page at this address.</p><p><a href="/">All scenarios</a></p>"""
_CALL_HOME = re.compile(r'<iframe src="https://solara\.dev/[^>]*></iframe>')
_log = logging.getLogger(__name__)
_connections = Connections()
_HOST = re.compile(r"[A-Za-z0-9.\-_]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")


def protect() -> None:
    """Close all routes of Solara's server that the viewer does not need. Once is enough."""
    settings.main.root_path = root_path()  # else the first request names it
    settings.telemetry.mixpanel_enable = False
    settings.theme.force_refresh = True  # a page that was not kept is loaded again
    if "SOLARA_KERNEL_CULL_TIMEOUT" not in os.environ:
        settings.kernel.cull_timeout = f"{KEEP_S}s"
    raise_file_limit()
    limit_logs()
    app = solara_starlette.app
    if not getattr(app.state, "protected", False):
        app.state.protected = True
        app.router.routes[:] = _routes()
        app.exception_handlers[404] = _not_found
        # Solara imports its app when the server has started: too late to add a middleware.
        app.middleware_stack = Gate(app.build_middleware_stack())
        if LISTENS not in os.environ:  # else sabm view says it
            _log.warning("%s: %s", KEY_STANDS_HERE, host_key())  # shown wherever logs are shown


class LogLimit(logging.Filter):
    """Filter of a log: a place of the code that reports again and again is silent for a while.

    Whatever a stranger sends may be reported, with a traceback, and the log is not to fill a disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str | int, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged."""
        place: tuple[str | int, ...] = (record.pathname, record.lineno)
        if record.exc_info and (trace := record.exc_info[2]) is not None:
            while trace.tb_next is not None:
                trace = trace.tb_next
            place += (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        since, n = self._seen.get(place, (-LOGGED_S, 0))
        if record.created - since >= LOGGED_S:
            since, n = record.created, 0
        self._seen[place] = since, n + 1
        if n + 1 == MOST_LOGGED:
            said = record.getMessage()
            record.msg = f"{said} (more of this kind is not logged for {LOGGED_S / 60:.0f} minutes)"
            record.args = None
        return n < MOST_LOGGED


def limit_logs() -> None:
    """Limit all logs of this process by `LogLimit`, wherever they go."""
    loggers = [logging.getLogger(name) for name in (None, *logging.root.manager.loggerDict)]
    handlers = {handler for logger in loggers for handler in logger.handlers}
    for handler in {*handlers, logging.lastResort}:
        if handler and not any(isinstance(each, LogLimit) for each in handler.filters):
            handler.addFilter(LogLimit())


class Gate:
    """Gate that each request passes first: it refuses those of other sites and adds the headers.

    Args:
        app: the server behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        headers = _headers_of(scope)
        added = [
            (b"content-security-policy", policy(headers.get("host", ""), nonce).encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

        async def send_with_headers(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        if is_own_page(headers, socket=scope["type"] == "websocket"):
            await self._app(scope, receive, send_with_headers)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            refused = Response("This address is not one of the viewer.", 403)
            await refused(scope, receive, send_with_headers)


def policy(host: str, nonce: str) -> str:
    """The content security policy of a page.

    Solara's page compiles its templates in the browser, which takes ``'unsafe-eval'``, and its
    parts bring styles of their own.

    Args:
        host: the host that the browser has asked for; older browsers do not count the socket of a
            page as its own origin.
        nonce: the mark of the scripts of the page.
    """
    sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            f"connect-src 'self'{sockets}",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'self'",
        ]
    )


def _routes() -> list[BaseRoute]:
    """All that the viewer answers."""
    static = solara_starlette.StaticFilesOptionalAuth(directory=solara_server.solara_static)
    return [
        Route(KEY_PATH, _key, methods=["POST"]),
        Route("/_solara/api/close/{kernel_id}", _close, methods=["POST"]),
        WebSocketRoute("/jupyter/api/kernels/{kernel_id}/channels", _connect),
        Mount("/_solara/cdn", _Scripts()),
        Mount("/jupyter/nbextensions", solara_starlette.StaticNbFiles()),
        Mount("/static/assets", solara_starlette.StaticAssets()),
        Mount("/static", static),
        Route("/{path:path}", _page),
    ]


class _Scripts(solara_starlette.StaticFilesOptionalAuth):
    """The installed files of `SCRIPTS`; nothing is fetched, written or removed."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        file = _scripts().get(Path(path).as_posix())
        return (str(file), file.stat()) if file is not None and file.is_file() else ("", None)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response: Response = await super().get_response(path, scope)
        # The version is part of the address.
        response.headers["Cache-Control"] = solara_starlette.immutable_cache_control()
        return response


@cache
def _scripts() -> dict[str, Path]:
    """The path in an address → the file. A file that was put beside them is not among them."""
    found = {}
    for file in files(SCRIPTS) or ():
        _, _, name = file.as_posix().partition("share/solara/cdn/")
        if name and file.suffix in SERVED:
            found[name] = Path(str(file.locate()))
    return found


async def _page(request: Request) -> Response:
    """A page of the app, with a session for a browser that has none.

    A browser that comes with the key is sent on to the address without it: a page on the wall of
    a class is not to show it, and the history of the browser not to hold it.
    """
    if "key" in request.query_params:
        without = request.url.remove_query_params("key")
        path = without.path.lstrip("/\\")  # two of them would begin the name of another site
        there = RedirectResponse(f"{root_path()}/{path}?{without.query}".rstrip("?"), 303)
        _admit(request, there, request.query_params["key"])
        return there
    content = solara_server.read_root(request.url.path, root_path())
    if content is None:
        raise HTTPException(404)
    content = _CALL_HOME.sub("", content)
    response = HTMLResponse(content.replace("<script", f'<script nonce="{request.state.nonce}"'))
    if solara_server.get_session_id_cookie(request.cookies) is None:
        # A link from elsewhere, such as that to a seat, brings it along: hence not strict.
        response.set_cookie(
            solara_server.COOKIE_KEY_SESSION_ID, str(uuid4()), max_age=SESSION_S, httponly=True,
            samesite="lax", secure=request.url.scheme == "https",
        )  # fmt: skip
    return response


async def _key(request: Request) -> Response:
    """Take the key that somebody has typed on a page: 204 when it was right."""
    given = b""
    try:
        async for part in request.stream():
            given += part
            if len(given) > LONGEST_KEY:
                return Response(status_code=413)
    except ClientDisconnect:
        return Response(status_code=400)
    answer = Response(status_code=204)
    return answer if _admit(request, answer, given.decode(errors="replace")) else Response("", 403)


def _admit(request: Request, response: Response, given: str) -> bool:
    """Make the browser a host when it was the key; whether it was."""
    secret = admit(given.strip())
    if secret is not None:
        response.set_cookie(
            f"{COOKIE}-{request.url.port or request.url.scheme}", secret, httponly=True,
            samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip
    return secret is not None


def _close(request: Request) -> Response:
    """Close a page that its browser has left: only the browser that opened it can."""
    context = kernel_context.contexts.get(request.path_params["kernel_id"])
    page = request.query_params.get("session_id", "")
    session = solara_server.get_session_id_cookie(request.cookies)
    if context is not None and session == context.session_id and page in context.page_status:
        context.page_close(page)
    return Response()


async def _connect(socket: WebSocket) -> None:
    """The connection of a page; a browser that has loaded no page has no session for it."""
    if not (
        solara_server.get_session_id_cookie(socket.cookies)
        and socket.query_params.get("session_id")
    ):
        await socket.close(1008)
        return
    host = may_host(socket.cookies)
    address = socket.client.host if socket.client else ""
    if not host and _connections.is_full(address):
        await socket.close(1013)
        return
    connection = solara_starlette.kernel_connection(socket)
    # The end of the server cancels connections of pages that are busy: that is no fault to report.
    with suppress(asyncio.CancelledError):
        await _connections.hold(connection, socket.path_params["kernel_id"], address, host=host)


def _not_found(_request: Request, _error: Exception) -> Response:
    return HTMLResponse(NOT_FOUND, 404)


def root_path() -> str:
    """The path below which the server is reached, as its owner has set it; no slash at its end."""
    return (settings.main.root_path or "").rstrip("/")


def _headers_of(scope: Scope) -> dict[str, str]:
    """Name → value of the headers of a request; of one that is sent twice the first counts."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return found
