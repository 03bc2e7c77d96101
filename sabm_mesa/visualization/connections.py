"""The connections of browsers: drawing while they last, and pages that wait after they are lost.

A browser can be gone without a word: a phone that sleeps, a laptop that is closed, a network that
is weak. Its page is then drawn no more, but is kept for a while, for it may come back. What that
holds must grow neither with the number of past visitors nor with that of new ones.
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
"""Seconds between two looks at what pages show, unless one is asked for."""
REST_S = 0.01
"""Seconds between two looks at least."""
SOON_S = 0.05
"""Seconds until a look that is asked for soon: a quick round has ended then, and is drawn once."""
KEEP_S = 3600
"""Seconds that the page of a host is kept whose browser is gone: a run may go on in it."""
KEEP_SEAT_S = 600
"""The same for all others: a seat is taken again by its link."""
MOST_GONE = 200
"""Pages of others that are kept at most: the one that has been gone for longest makes room."""
MOST_SOCKETS, MOST_OF_ADDRESS = 400, 120
"""Connections of pages that are open at most, in all and from one address; a host gets in."""
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Watched:
    """A component that is drawn again when what it shows has changed.

    Attributes:
        context: the page that it belongs to.
        look: returns what is looked at.
        seen: its result when the component was last drawn, for whatever reason.
        draw: draws it again.
        drawing: whether that is going on.
    """

    context: VirtualKernelContext
    look: Callable[[], object]
    seen: object
    draw: Callable[[], None]
    drawing: bool = field(default=False)


watched: set[Watched] = set()
"""The components of all pages that are looked at."""
_changed = threading.Condition()
_news = threading.Event()
_looking: list[threading.Thread] = []


def use_poll(look: Callable[[], object]) -> None:
    """Draw the component again when something changes that other threads change.

    Args:
        look: returns what is looked at; it is cheap, and runs on a thread of no page.
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
    """Look at all pages at once, for something on them has changed. Any thread may call it."""
    _news.set()


def look_soon() -> None:
    """Look at all pages in a moment, when what was begun may be done."""
    threading.Timer(SOON_S, look_now).start()


def _look() -> None:
    """Look at all pages in turn; one thread does it for all of them."""
    while True:
        if _news.wait(POLL_S):
            time.sleep(REST_S)  # what changes together is drawn together
            _news.clear()
        for each in list(watched):
            if each.context.closed_event.is_set():
                watched.discard(each)
            elif not each.drawing and is_connected(each.context):
                _look_at(each)


def _look_at(each: Watched) -> None:
    try:
        now = each.look()
        if now == each.seen:
            return
    except Exception:  # noqa: BLE001 - what is wrong with one page stops no other
        _log.exception("A page could not be looked at.")
        watched.discard(each)
        return
    each.seen, each.drawing = now, True
    # Of its own, for the connection of this page may be slow.
    threading.Thread(target=_draw, args=(each,), name="sabm-draw", daemon=True).start()


def _draw(each: Watched) -> None:
    try:
        with each.context:
            each.draw()
    except Exception:  # noqa: BLE001 - the browser may be gone, or the page
        _log.debug("A page could not be drawn.", exc_info=True)
    finally:
        each.drawing = False


class Connections:
    """The connections of all pages, counted, and the pages whose browser is gone."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._gone: dict[str, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[Any]] = set()

    def is_full(self, address: str) -> bool:
        """Whether no more are let in from an address.

        Args:
            address: where a browser is.
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
            host: whether it is that of a host, which is neither counted nor kept short.
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
            # On a thread: it waits for what the page is doing.
            task = asyncio.ensure_future(asyncio.to_thread(context.close, "cull"))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


async def _to_its_end(connection: Awaitable[None], kernel: str) -> None:
    """Wait for the end of a connection.

    When its page is closed in the same moment, Solara looks for what is gone by then: no fault.
    """
    try:
        await connection
    except Exception:
        context = contexts.get(kernel)
        if context is not None and {*context.page_status.values()} != {PageStatus.CLOSED}:
            raise
        _log.debug("A connection ended with its page.", exc_info=True)


def fire_event(widget: Any, event: str, data: Any = None) -> None:
    """Call the handlers of an event; one that comes for a handler that is gone is ignored.

    A browser may click a button in the moment in which the page takes it away.

    Args:
        widget: the widget of the event.
        event: its name.
        data: what comes with it.
    """
    known = widget._event_handlers_map.get(event)  # noqa: SLF001
    for callback in () if known is None else tuple(known.callbacks):
        callback(widget, event, data)
