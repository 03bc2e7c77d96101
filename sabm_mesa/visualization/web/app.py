"""The web application: phones, hosts, walls, results, seats of programs, and recordings.

All of it is plain pages and JSON. It alone listens on the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from sabm_mesa.core.phrases import language_for, table_of
from sabm_mesa.visualization.middleware import RequestMiddleware
from sabm_mesa.visualization.seat_interface import seat_route
from sabm_mesa.visualization.web import host, play, recordings, wall
from sabm_mesa.visualization.web.games import GAMES

if TYPE_CHECKING:
    from starlette.requests import Request


def routes() -> list[BaseRoute]:
    """The routes of all pages."""
    pages = (play, host, wall, recordings)
    return [seat_route(GAMES.find), *(route for module in pages for route in module.routes())]


def network_app() -> RequestMiddleware:
    """The application that listens on the network."""
    start = Route("/", lambda _: RedirectResponse("/join", 303))
    return RequestMiddleware(
        Starlette(routes=[start, *routes()], exception_handlers={404: _not_found}), local=False
    )


def _not_found(request: Request, _error: Exception) -> Response:
    language = language_for(None, request.headers.get("accept-language"))
    return PlainTextResponse(table_of(language, "page")["no_page"], 404)
