"""The server of the viewer."""

from __future__ import annotations

import os
import threading
import webbrowser
from contextlib import suppress

from sabm_mesa.errors import RunError

APP = "sabm_mesa.visualization.app"
WIND_UP_S = 3
"""Seconds that open pages have to let go when the server is ended."""
KEEP_S = 3600
"""Seconds that the model of a page is kept whose browser has gone without a word."""


def serve(host: str, port: int, path: str = "/", *, open_browser: bool = True) -> None:
    """Serve the viewer until it is interrupted.

    Args:
        host: the address to listen at.
        port: the port.
        path: the page that is opened.
        open_browser: whether a browser is opened.

    Raises:
        RunError: when it cannot listen there.
    """
    # Solara reads its settings from the environment when it is first imported.
    os.environ["SOLARA_APP"] = APP
    os.environ.setdefault("SOLARA_MODE", "production")
    os.environ.setdefault("SOLARA_THEME_SHOW_BANNER", "False")
    os.environ.setdefault("SOLARA_SESSION_SAME_SITE", "lax")
    os.environ.setdefault("SOLARA_TELEMETRY_MIXPANEL_ENABLE", "False")
    os.environ.setdefault("SOLARA_KERNEL_CULL_TIMEOUT", f"{KEEP_S}s")

    import uvicorn
    from solara.server.starlette import app

    from sabm_mesa.visualization import show

    server = uvicorn.Server(
        uvicorn.Config(
            app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=WIND_UP_S
        )
    )
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"
    if open_browser:
        threading.Timer(1.0, webbrowser.open, [address]).start()
    try:
        with suppress(KeyboardInterrupt):
            server.run()
    except SystemExit:
        raise RunError(
            f"The viewer cannot listen at {host}, port {port}: choose another with --port."
        ) from None
    finally:
        show.close_all()
