"""The end of the server: answers under way are recorded, and runs and games are stopped."""

from __future__ import annotations

from collections.abc import Callable

from solara.server.kernel_context import get_current_context


def close_all() -> None:
    """Close all models on show and all games at once, and wait for what they still record.

    It starts no thread: it also runs at the exit of the interpreter, which starts none any more.
    """
    from sabm_mesa.visualization import run_controller
    from sabm_mesa.visualization.pages import home
    from sabm_mesa.visualization.pages.play_parts import GAMES

    home.stop_drawing()
    run_controller.stop_all()
    GAMES.close_all()
    run_controller.close_all()


def end_with_the_server() -> Callable[[], None]:
    """Return the action at the end of each browser page: when the server ends it, all is closed."""
    context = get_current_context()

    def end() -> None:
        if getattr(context, "close_reason", "") == "server-shutdown":
            close_all()

    return end
