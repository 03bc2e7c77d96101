"""The server of the viewer."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, Literal

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sabm_mesa.errors import ParameterError, RunError
from sabm_mesa.visualization.access import LISTENS, LOOPBACK, host_key, name_in_network, new_ticket

if TYPE_CHECKING:
    from sabm_mesa.minds.human import Seat
    from sabm_mesa.runs.game import Game

PROXIES = "FORWARDED_ALLOW_IPS"
"""Environment variable with the addresses of trusted proxies, separated by commas, as in uvicorn.
"""
APP = "sabm_mesa.visualization.app"
TELLING_S = 10.0
"""Seconds for which programs at the seats can still read that the game is over."""
WIND_UP_S = 3
"""Seconds that open pages have to close when the server ends."""
DRAW_AFTER_S = 6.0
"""Seconds after which the home page is prepared if nobody has opened it: the first page has
priority.
"""
REQUEST_S = 20
"""Maximum number of seconds until a request is complete."""
MOST_OPEN, MOST_OPEN_OF_ADDRESS = 1200, 400
"""Maximum number of open connections, in total and per address. A browser opens up to seven while
it loads a page, and a class can share one address.
"""
LONGEST_MESSAGE = 2**20
"""Maximum number of bytes of a message from a page; typing and clicks need a few hundred."""


def serve(
    host: str,
    port: int,
    path: str = "/",
    *,
    open_browser: bool = True,
    ready: Callable[[str], object] = lambda _address: None,
) -> None:
    """Serve the viewer until it is interrupted.

    Args:
        host: the address to listen at.
        port: the port.
        path: the page that is opened.
        open_browser: whether a browser is opened.
        ready: called with the address of the page, including the key, when the server listens.

    Raises:
        RunError: when it cannot listen there.
    """
    host_key()  # a key that is too short is refused
    # Solara reads its settings from the environment when it is first imported.
    os.environ["SOLARA_APP"] = APP
    os.environ[LISTENS] = host
    os.environ.setdefault("SOLARA_MODE", "production")
    os.environ.setdefault("SOLARA_CHECK_HOOKS", "off")  # the tests check them; it is slow
    os.environ.setdefault("SOLARA_GC_FREEZE", "false")  # the app does it when everything is loaded
    os.environ.setdefault("REACTON_FAST", "1")  # skip unchanged parts of a page

    from solara.server.starlette import app

    from sabm_mesa.visualization import loading
    from sabm_mesa.visualization.middleware import limit_logs

    local = f"{local_address_of(host, port)}{path}?key="
    address = local if host in LOOPBACK else f"{address_of(host, port)}{path}?key="

    def draw() -> None:
        loading.wait()
        from sabm_mesa.visualization.pages.home import draw_all

        draw_all()

    def listens() -> None:
        ready(address + host_key())
        drawing = threading.Timer(DRAW_AFTER_S, draw)
        drawing.daemon = True
        drawing.start()
        if open_browser:  # all users of the machine can see with which address it is started
            opened = local + new_ticket()
            threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()

    limit_logs()
    _run(_Server(_config(app, host, port), listens, _close_all))


def serve_seats(
    game: Game, host: str, port: int, *, ready: Callable[[Mapping[int, str]], object]
) -> None:
    """Serve the seats of one game to programs, play the game, and stop when it is over.

    Args:
        game: the game, not started yet.
        host: the address to listen at.
        port: the port.
        ready: called with a mapping agent → address of its seat when the server listens, before the
            game starts.

    Raises:
        RunError: when it cannot listen there, or the game fails or is interrupted.
    """
    os.environ[LISTENS] = host

    from starlette.applications import Starlette

    from sabm_mesa.runs.game import Games
    from sabm_mesa.visualization.middleware import RequestMiddleware, limit_logs
    from sabm_mesa.visualization.seat_interface import PATH, seat_route

    games = Games()
    informed: set[Seat] = set()
    games.add("", game)

    def listens() -> None:
        where = address_of(host, port)
        ready({agent: f"{where}{PATH}{seat.token}" for agent, seat in game.seats.items()})
        game.start()
        threading.Thread(target=end, daemon=True).start()

    def end() -> None:
        game.join()
        last = time.monotonic() + TELLING_S
        taken = [seat for seat in game.seats.values() if seat.taken]
        while not informed.issuperset(taken) and time.monotonic() < last:
            time.sleep(0.05)
        server.should_exit = True

    app = RequestMiddleware(Starlette(routes=[seat_route(games.find, informed.add)]))
    limit_logs()
    server = _Server(_config(app, host, port, "none"), listens, games.close_all)
    _run(server)
    if game.problem or game.status != "over":
        raise RunError(game.problem or "The game was stopped before its end.")


def named_proxies() -> list[str]:
    """The addresses of the proxies whose ``X-Forwarded-For`` is trusted; none by default.

    Raises:
        ParameterError: when one is not an address of a machine or a network.
    """
    named = [part.strip() for part in os.environ.get(PROXIES, "").split(",") if part.strip()]
    for proxy in named:
        try:
            ip_network(proxy)
        except ValueError:
            raise ParameterError(
                f"{PROXIES} holds {proxy!r}: name the addresses of your proxies, such as 127.0.0.1."
            ) from None
    return named


def _config(app: Any, host: str, port: int, ws: Literal["auto", "none"] = "auto") -> uvicorn.Config:
    proxies = named_proxies()
    return uvicorn.Config(
        app, host=host, port=port, ws=ws, log_level="warning",
        proxy_headers=bool(proxies), forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=WIND_UP_S, http=BoundedProtocol, ws_max_size=LONGEST_MESSAGE,
    )  # fmt: skip


def _run(server: _Server) -> None:
    try:
        with suppress(KeyboardInterrupt):
            server.run()
    except SystemExit:
        host, port = server.config.host, server.config.port
        raise RunError(
            f"The server cannot listen at {host}, port {port}: choose another with --port."
        ) from None
    finally:
        server.close()


def _close_all() -> None:
    from sabm_mesa.visualization import loading
    from sabm_mesa.visualization.closing import close_all

    loading.wait()
    close_all()


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
    """A server that reports when it listens; until then, the port may turn out to be in use."""

    def __init__(
        self,
        config: uvicorn.Config,
        listens: Callable[[], object],
        close: Callable[[], object],
    ) -> None:
        super().__init__(config)
        self._listens, self.close = listens, close

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listens()

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        # Here, since the signal that ends the server ends the process right afterwards.
        await asyncio.to_thread(self.close)
        await super().shutdown(sockets)


def address_of(host: str, port: int) -> str:
    """The address at which browsers reach a server.

    Args:
        host: the address at which it listens; a wildcard becomes the machine's network address.
        port: the port.
    """
    return f"http://{name_in_network(host)}:{port}"


def local_address_of(host: str, port: int) -> str:
    """The address by which a browser of this machine reaches a server.

    A browser sends its key only to the name by which it was opened, and printed links to
    settings say ``localhost``.

    Args:
        host: the address at which it listens.
        port: the port.
    """
    by_name = host in {"127.0.0.1", "localhost", "0.0.0.0", "::"}
    return f"http://localhost:{port}" if by_name else address_of(host, port)
