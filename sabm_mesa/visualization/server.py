"""The server of the viewer and of the web application."""

from __future__ import annotations

import asyncio
import os
import platform
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sabm_mesa.core.engine import raise_file_limit
from sabm_mesa.errors import RunError
from sabm_mesa.visualization.access import LOOPBACK, NETWORK, VARIABLE, host_key, new_ticket

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from sabm_mesa.minds.human import Seat
    from sabm_mesa.runs.game import Game

PROXIES = "FORWARDED_ALLOW_IPS"
"""Environment variable with the addresses of trusted proxies, separated by commas, as in uvicorn.
"""
EVERYWHERE = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}
"""Wildcard address → an address from the documentation range, to find the network route."""
SETTINGS = {
    "SOLARA_APP": "sabm_mesa.visualization.viewer.app",
    "SOLARA_MODE": "production",
    "SOLARA_CHECK_HOOKS": "off",  # the tests check them; it is slow
    "SOLARA_KERNEL_CULL_TIMEOUT": "1h",
    "SOLARA_THEME_FORCE_REFRESH": "true",  # a page that was not kept is reloaded
    "REACTON_FAST": "1",  # skip unchanged parts of a page
}
"""Environment variables of Solara, which it reads when it is first imported."""
TELLING_S = 10.0
"""Seconds for which programs at the seats can still read that the game is over."""
WIND_UP_S = 3
"""Seconds that open pages have to close when the server ends."""
REQUEST_S = 20
"""Maximum number of seconds until a request is complete."""
MOST_OPEN, MOST_OPEN_OF_ADDRESS = 1200, 400
"""Maximum number of open connections, in total and per address. A browser opens up to seven while
it loads a page, and a class can share one address.
"""


def serve(
    host: str,
    port: int,
    path: str = "/",
    *,
    open_browser: bool = True,
    ready: Callable[[str], object] = lambda _address: None,
) -> None:
    """Serve the viewer and the web application until they are interrupted.

    On loopback, both have the same address. If other machines can reach `host`, or a key is in the
    environment, only the web application listens there. The viewer, with the same pages beside it,
    listens on loopback at the next port.

    Args:
        host: the address to listen at.
        path: the page of the viewer that is opened.
        open_browser: whether a browser is opened.
        ready: called with the address of the viewer, including the key, when the server listens;
            the address of the web application is in `NETWORK` then.

    Raises:
        RunError: when it cannot listen there.
    """
    key = host_key()  # a key that is too short is refused
    is_open = host not in LOOPBACK or bool(os.environ.get(VARIABLE))
    NETWORK.web, NETWORK.address = True, address_of(host, port) if is_open else ""
    places = [(host, port), ("127.0.0.1", port + 1)] if is_open else [(host, port)]
    os.environ.update({name: os.environ.get(name, value) for name, value in SETTINGS.items()})

    from sabm_mesa.visualization.viewer.app import close_all
    from sabm_mesa.visualization.viewer.site import viewer_app
    from sabm_mesa.visualization.web.app import network_app

    viewer, network, at_viewer = viewer_app(), network_app(), places[-1][1]

    async def sites(scope: Scope, receive: Receive, send: Send) -> None:
        local = scope["type"] == "lifespan" or scope["server"][1] == at_viewer
        await (viewer if local else network)(scope, receive, send)

    raise_file_limit()
    mark = "&" if "?" in path else "?"
    address = f"http://localhost:{at_viewer}{path}{mark}key="
    sockets = [_listen(*place) for place in places]
    ready(address + key)
    if open_browser:  # all users of the machine can see with which address it is started
        opened = address + new_ticket()
        threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()
    _run(_Server(_config(sites), close_all), sockets)


def serve_seats(
    game: Game, host: str, port: int, *, ready: Callable[[Mapping[int, str]], object]
) -> None:
    """Serve the seats of one game to programs, play the game, and stop when it is over.

    Args:
        game: the game, not started yet.
        host: the address to listen at.
        ready: called with a mapping agent → address of its seat when the server listens, before the
            game starts.

    Raises:
        RunError: when it cannot listen there, or the game fails or is interrupted.
    """
    from starlette.applications import Starlette

    from sabm_mesa.runs.game import Games
    from sabm_mesa.visualization.middleware import RequestMiddleware
    from sabm_mesa.visualization.seat_interface import PATH, seat_route

    games = Games()
    informed: set[Seat] = set()
    games.add("", game)

    def end() -> None:
        game.join()
        last = time.monotonic() + TELLING_S
        taken = [seat for seat in game.seats.values() if seat.taken]
        while not informed.issuperset(taken) and time.monotonic() < last:
            time.sleep(0.05)
        server.should_exit = True

    routes = [seat_route(games.find, informed.add)]
    app = RequestMiddleware(Starlette(routes=routes), local=host in LOOPBACK)
    server = _Server(_config(app, "none"), games.close_all)
    sockets = [_listen(host, port)]
    where = address_of(host, port)
    ready({agent: f"{where}{PATH}{seat.token}" for agent, seat in game.seats.items()})
    game.start()
    threading.Thread(target=end, daemon=True).start()
    _run(server, sockets)
    if game.problem or game.status != "over":
        raise RunError(game.problem or "The game was stopped before its end.")


def _listen(host: str, port: int) -> Any:
    """A socket that listens at an address.

    Raises:
        RunError: when it is not possible.
    """
    try:
        bound = uvicorn.Config(None, host, port, log_config=None).bind_socket()  # type: ignore[arg-type]
    except (SystemExit, OverflowError):
        raise RunError(
            f"The server cannot listen at {host}, port {port}: choose another with --port."
        ) from None
    bound.listen()
    return bound


def _config(app: Any, ws: Literal["auto", "none"] = "auto") -> uvicorn.Config:
    proxies = os.environ.get(PROXIES, "")
    return uvicorn.Config(
        app, ws=ws, log_level="error", proxy_headers=bool(proxies), forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=WIND_UP_S, http=BoundedProtocol,
    )  # fmt: skip


def _run(server: _Server, sockets: list[Any]) -> None:
    try:
        with suppress(KeyboardInterrupt):
            server.run(sockets)
    finally:
        server.close()


class BoundedProtocol(H11Protocol):
    """HTTP with limits: idle and slow connections are closed.

    All open connections count, including the sockets of pages. Connections from this machine are
    accepted even when others use all connections.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or close it when there are too many."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        clients = [getattr(connection, "client", None) for connection in self.connections]
        of_address = sum(client is not None and client[0] == address for client in clients)
        full = len(self.connections) > MOST_OPEN and address not in LOOPBACK
        if full or of_address > MOST_OPEN_OF_ADDRESS:
            transport.abort()
        else:
            self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """Read more data; partial data do not extend the time limit of a request."""
        super().data_received(data)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait_for_request(self) -> None:
        upgraded = self not in self.connections
        if upgraded or self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._stop_waiting()
        elif self._late is None:
            self._late = self.loop.call_later(REQUEST_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """A server that ends runs and games before its connections."""

    def __init__(self, config: uvicorn.Config, close: Callable[[], object]) -> None:
        super().__init__(config)
        self.close = close

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        # Here, since the signal that ends the server ends the process right afterwards.
        await asyncio.to_thread(self.close)
        await super().shutdown(sockets)


def address_of(host: str, port: int) -> str:
    """The address at which browsers reach a server.

    Args:
        host: the address at which it listens; a wildcard becomes the machine's network address.
    """
    return f"http://{_name_in_network(host)}:{port}"


def _name_in_network(host: str) -> str:
    """The host name that page addresses use for a listening address."""
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
