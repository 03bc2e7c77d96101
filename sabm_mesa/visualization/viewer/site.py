"""Solara's pages behind the key, with those of the web application beside them.

Nothing of Solara is changed: it listens on loopback, and only browsers of hosts reach it.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from solara.server.starlette import app as solara_app
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Router

from sabm_mesa.visualization.access import may_host
from sabm_mesa.visualization.middleware import RequestMiddleware
from sabm_mesa.visualization.web.app import routes
from sabm_mesa.visualization.web.page import key_page

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'none'"
"""The content security policy of Solara's pages, which compile their templates in the browser."""


def viewer_app() -> RequestMiddleware:
    """The application that listens on loopback."""

    def lifespan(_app: Any) -> AbstractAsyncContextManager[Any]:
        return solara_app.router.lifespan_context(solara_app)

    return RequestMiddleware(Router(routes(), default=_solara, lifespan=lifespan), local=True)


async def _solara(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a host with Solara's page, and others with the page that asks for the key."""

    async def send_with_policy(message: Message) -> None:
        if message["type"] == "http.response.start":
            policy = (b"content-security-policy", POLICY.encode())
            message["headers"] = [*message.get("headers", ()), policy]
        await send(message)

    if may_host(HTTPConnection(scope).cookies):
        await solara_app(scope, receive, send_with_policy)
    elif scope["type"] == "http":
        await key_page(Request(scope))(scope, receive, send)
    else:
        await Response(status_code=403)(scope, receive, send)
