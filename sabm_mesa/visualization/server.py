"""The server of the viewer."""

from __future__ import annotations

import asyncio
import os
import platform
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import uvicorn

from sabm_mesa.errors import RunError
from sabm_mesa.visualization.access import LISTENS, host_key, new_ticket

APP = "sabm_mesa.visualization.app"
WIND_UP_S = 3
"""Seconds that open pages have to let go when the server is ended."""
EVERYWHERE = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}
"""Addresses that stand for all of a machine's → one of documentation, for which it has a route."""


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
        ready: called with the address of the page, with the key, when the server listens.

    Raises:
        RunError: when it cannot listen there.
    """
    # Solara reads its settings from the environment when it is first imported.
    os.environ["SOLARA_APP"] = APP
    os.environ[LISTENS] = host
    os.environ.setdefault("SOLARA_MODE", "production")

    from solara.server.starlette import app

    from sabm_mesa.visualization.pages.home import draw_all

    address = f"{address_of(host, port)}{path}?key="

    def listens() -> None:
        ready(address + host_key())
        draw_all()
        if open_browser:  # all users of the machine can see with which address it is started
            opened = address + new_ticket()
            threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()

    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", proxy_headers=False,
        timeout_graceful_shutdown=WIND_UP_S,
    )  # fmt: skip
    try:
        with suppress(KeyboardInterrupt):
            _Server(config, listens).run()
    except SystemExit:
        raise RunError(
            f"The viewer cannot listen at {host}, port {port}: choose another with --port."
        ) from None
    finally:
        _close_all()


def _close_all() -> None:
    from sabm_mesa.visualization.closing import close_all

    close_all()


class _Server(uvicorn.Server):
    """A server that says when it listens: before, the port may still turn out to be taken."""

    def __init__(self, config: uvicorn.Config, listens: Callable[[], object]) -> None:
        super().__init__(config)
        self._listens = listens

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listens()

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        # Here, since the signal that ends the server ends the process as soon as it has run.
        await asyncio.to_thread(_close_all)
        await super().shutdown(sockets)


def address_of(host: str, port: int) -> str:
    """The address by which browsers reach a server.

    Args:
        host: the address at which it listens; for all of the machine's, that in its network.
        port: the port.
    """
    return f"http://{name_of(host)}:{port}"


def name_of(host: str) -> str:
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
