"""The end of the server: what is being paid for is recorded, and runs and games are stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable

from solara.server.kernel_context import get_current_context

from sabm_mesa.visualization import show
from sabm_mesa.visualization.pages.play_parts import GAMES


def close_all() -> None:
    """Close all models on show and all games at once, and wait for what they still record."""
    both = [threading.Thread(target=each) for each in (show.close_all, GAMES.close_all)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def end_with_the_server() -> Callable[[], None]:
    """What is done at the end of each browser page: when the server ends it, all is closed."""
    context = get_current_context()

    def end() -> None:
        if getattr(context, "close_reason", "") == "server-shutdown":
            close_all()

    return end
