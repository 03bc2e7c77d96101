"""Browser connections: pages are redrawn while connected, and kept for a while afterwards.

A browser can disappear without closing its page: a sleeping phone, a closed laptop, a weak network.
Its page is then no longer drawn, but it is kept for a while in case the browser returns. The memory
for such pages is bounded.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import solara
from solara.server.kernel_context import (
    PageStatus,
    VirtualKernelContext,
    contexts,
    get_current_context,
)

POLL_S = 0.2
"""Seconds between two checks of what pages show, unless a check is requested."""
REST_S = 0.01
"""Minimum number of seconds between two checks."""
SOON_S = 0.05
"""Seconds until a check requested by `look_soon`: a fast round has ended by then, and is drawn
once.
"""
KEEP_S = 3600
"""Seconds for which the page of a disconnected host is kept: a run may continue in it."""
KEEP_SEAT_S = 600
"""The same for other browsers: a player takes the seat again through its link."""
MOST_GONE = 200
"""Maximum number of kept pages of other browsers; the oldest is dropped first."""
MOST_SOCKETS, MOST_OF_ADDRESS = 400, 120
"""Maximum number of open page connections, in total and per address; hosts are not counted."""
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Watched:
    """A component that is redrawn when its data change.

    Attributes:
        context: the page that it belongs to.
        look: returns the value to compare.
        seen: its result when the component was last drawn.
        draw: redraws it.
        drawing: whether it is being redrawn.
    """

    context: VirtualKernelContext
    look: Callable[[], object]
    seen: object
    draw: Callable[[], None]
    drawing: bool = field(default=False)


watched: set[Watched] = set()
"""The watched components of all pages."""
_changed = threading.Condition()
_news = threading.Event()
_looking: list[threading.Thread] = []


def use_poll(look: Callable[[], object]) -> None:
    """Redraw the component when a value that other threads change has changed.

    Args:
        look: returns the value to compare; it is cheap and runs outside the threads of pages.
    """
    now = look()
    _, set_times = solara.use_state(0)

    def watch() -> Watched:
        return Watched(get_current_context(), look, now, lambda: set_times(lambda n: n + 1))

    mine = solara.use_memo(watch, [])
    mine.look, mine.seen = look, now

    def start() -> Callable[[], None]:
        _watch(mine)
        return lambda: watched.discard(mine)

    solara.use_effect(start, [])


def is_connected(context: VirtualKernelContext) -> bool:
    """Whether a browser is connected to a page."""
    return PageStatus.CONNECTED in list(context.page_status.values())


def _watch(mine: Watched) -> None:
    with _changed:
        watched.add(mine)
        if not _looking:
            _looking.append(threading.Thread(target=_look, name="sabm-look", daemon=True))
            _looking[0].start()


def look_now() -> None:
    """Check all pages now, since something on them has changed. Any thread may call it."""
    _news.set()


def look_soon() -> None:
    """Check all pages after a short delay, when work that has just begun may be done."""
    threading.Timer(SOON_S, look_now).start()


def _look() -> None:
    """Check all pages in turn, in a single thread."""
    while True:
        if _news.wait(POLL_S):
            time.sleep(REST_S)  # changes at the same time are drawn together
            _news.clear()
        for page in list(watched):
            if page.context.closed_event.is_set():
                watched.discard(page)
            elif not page.drawing and is_connected(page.context):
                _look_at(page)


def _look_at(page: Watched) -> None:
    try:
        now = page.look()
        if now == page.seen:
            return
    except Exception:  # noqa: BLE001 - what is wrong with one page stops no other
        _log.exception("A page could not be looked at.")
        watched.discard(page)
        return
    page.seen, page.drawing = now, True
    # In a separate thread, since the connection of this page may be slow.
    threading.Thread(target=_draw, args=(page,), name="sabm-draw", daemon=True).start()


def _draw(page: Watched) -> None:
    try:
        with page.context:
            page.draw()
    except Exception:  # noqa: BLE001 - the browser may be gone, or the page
        _log.debug("A page could not be drawn.", exc_info=True)
    finally:
        page.drawing = False


class Connections:
    """Counts the connections of all pages, and keeps the pages of disconnected browsers."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._gone: dict[str, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[Any]] = set()

    def is_full(self, address: str) -> bool:
        """Whether no more connections are accepted from an address.

        Args:
            address: the address of the browser.
        """
        return self._open.total() >= MOST_SOCKETS or self._open[address] >= MOST_OF_ADDRESS

    async def hold(
        self, connection: Awaitable[None], kernel: str, address: str, *, host: bool
    ) -> None:
        """Wait for the end of a connection, and keep its page for a while.

        Args:
            connection: the connection.
            kernel: the id of its page.
            address: where the browser is.
            host: whether the browser is a host: it is not counted, and its page is kept longer.
        """
        if timer := self._gone.pop(kernel, None):
            timer.cancel()
        if host:
            await _to_its_end(connection, kernel)
            return
        self._open[address] += 1
        try:
            await _to_its_end(connection, kernel)
        finally:
            self._open[address] -= 1
            self._open += Counter()  # forgets addresses without a connection
            self._keep(kernel)

    def _keep(self, kernel: str) -> None:
        if (context := contexts.get(kernel)) is None or is_connected(context):
            return
        loop = asyncio.get_running_loop()
        if timer := self._gone.pop(kernel, None):
            timer.cancel()
        self._gone[kernel] = loop.call_later(KEEP_SEAT_S, self._let_go, kernel, context)
        if len(self._gone) > MOST_GONE:
            oldest = next(iter(self._gone))
            self._let_go(oldest, contexts.get(oldest))

    def _let_go(self, kernel: str, context: VirtualKernelContext | None) -> None:
        if timer := self._gone.pop(kernel, None):
            timer.cancel()
        if context is not None and not is_connected(context):
            # In a thread, since it waits for the page.
            task = asyncio.ensure_future(asyncio.to_thread(context.close, "cull"))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


async def _to_its_end(connection: Awaitable[None], kernel: str) -> None:
    """Wait for the end of a connection.

    If the page is closed at the same moment, Solara raises an error that can be ignored.
    """
    try:
        await connection
    except Exception:
        context = contexts.get(kernel)
        if context is not None and {*context.page_status.values()} != {PageStatus.CLOSED}:
            raise
        _log.debug("A connection ended with its page.", exc_info=True)


def fire_event(widget: Any, event: str, data: Any = None) -> None:
    """Call the handlers of an event; an event for a removed handler is ignored.

    A user may click a button at the moment in which the page removes it.

    Args:
        widget: the widget of the event.
        event: its name.
        data: its data.
    """
    known = widget._event_handlers_map.get(event)  # noqa: SLF001
    for callback in () if known is None else tuple(known.callbacks):
        callback(widget, event, data)
