"""The start of the viewer: it answers before it has loaded all.

Mesa, the pages and the scenarios take longer to import than all that the server needs to answer.
They are imported while a browser reads the scripts of the first page. No page is drawn before:
Reacton looks for pandas among the modules, and would find half of it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

_threads: list[threading.Thread] = []


def begin(load: Callable[[], object]) -> None:
    """Load on a thread.

    Args:
        load: imports all that the pages need.
    """
    _threads.append(threading.Thread(target=load, name="sabm-load", daemon=True))
    _threads[-1].start()


def wait() -> None:
    """Wait until all is loaded; an app of a single scenario has imported what it needs."""
    for thread in _threads:
        thread.join()


async def loaded() -> None:
    """Wait until all is loaded, while the server answers others."""
    if any(thread.is_alive() for thread in _threads):
        await asyncio.to_thread(wait)
