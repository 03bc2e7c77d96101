"""Components that are drawn again when data change on other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import solara

POLL_S = 0.1
"""Seconds between two checks of what a page shows."""

LEAVE_S = 1.0
"""Seconds that a page which closes waits for its check; the check may wait for the page itself."""


def use_poll(look: Callable[[], object]) -> None:
    """Redraw the component when a value that other threads change has changed.

    Args:
        look: returns the value to compare; it is cheap and runs on a thread of its own.
    """
    _, redraw = solara.use_state(0)
    now = look()
    latest, seen = solara.use_ref(look), solara.use_ref(now)
    latest.current, seen.current = look, now

    def watch() -> Callable[[], None]:
        gone = threading.Event()

        def poll() -> None:
            while not gone.wait(POLL_S):
                if latest.current() != seen.current:
                    redraw(lambda times: times + 1)

        polling = threading.Thread(target=poll, name="sabm-look", daemon=True)
        polling.start()

        def leave() -> None:
            # A page that closes walks over its threads, so none of them may end meanwhile.
            gone.set()
            if threading.current_thread() is not polling:
                polling.join(LEAVE_S)

        return leave

    solara.use_effect(watch, [])
