"""The start of the viewer: it answers requests before everything is loaded.

Mesa, the pages and the scenarios take longer to import than the server itself. They are imported
while a browser loads the scripts of the first page. Pages are drawn afterwards: Reacton checks
whether pandas is imported, and would use a half-imported module.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

_threads: list[threading.Thread] = []


def begin(load: Callable[[], object]) -> None:
    """Load in a thread.

    Args:
        load: imports all that the pages need.
    """
    _threads.append(threading.Thread(target=load, name="sabm-load", daemon=True))
    _threads[-1].start()


def wait() -> None:
    """Wait until everything is loaded. The app of a single scenario does not wait."""
    for thread in _threads:
        thread.join()


async def loaded() -> None:
    """Wait until everything is loaded, while the server answers other requests."""
    if any(thread.is_alive() for thread in _threads):
        await asyncio.to_thread(wait)
