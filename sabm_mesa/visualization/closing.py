"""Shutdown of the server: pending answers are recorded, and runs and games are stopped."""

from __future__ import annotations

from collections.abc import Callable

from solara.server.kernel_context import get_current_context


def close_all() -> None:
    """Close all displayed models and all games, and wait until they are recorded.

    It starts no thread, since it also runs at the exit of the interpreter, when threads cannot
    start.
    """
    from sabm_mesa.visualization import run_controller
    from sabm_mesa.visualization.pages import home
    from sabm_mesa.visualization.pages.play_parts import GAMES

    home.stop_drawing()
    run_controller.stop_all()
    GAMES.close_all()
    run_controller.close_all()


def end_with_the_server() -> Callable[[], None]:
    """Return the cleanup of a browser page; it closes everything when the server ends the page."""
    context = get_current_context()

    def end() -> None:
        if getattr(context, "close_reason", "") == "server-shutdown":
            close_all()

    return end
