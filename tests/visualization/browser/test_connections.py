"""Browsers that are gone without a word, and strangers who come in numbers."""

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from playwright.sync_api import Browser
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.visualization.browser.conftest import VIEW, WAIT_MS, Server

SEATS = 40
WAIT_S = WAIT_MS / 1000
COUNTED = f"""
import resource, signal
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
from solara.server.kernel_context import contexts
from sabm_mesa.visualization import connections
connections.KEEP_SEAT_S, connections.MOST_OF_ADDRESS = 3, {2 * SEATS}
signal.signal(signal.SIGUSR1, lambda *_: print("PAGES", len(contexts), flush=True))
{VIEW}
"""
"""The viewer with a short memory, which says at a signal how many pages it keeps."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A viewer of its own; nothing that strangers do may fill its log."""
    started = Server(tmp_path_factory.mktemp("connections"), COUNTED)
    try:
        yield started
    finally:
        started.close()
    assert "Traceback" not in started.log(), started.log()
    assert "Too many open files" not in started.log()


def open_page(server: Server, stack: ExitStack, path: str = "/recording") -> ClientConnection:
    """Open a page as a browser does, and wait until it is drawn."""
    session = uuid4().hex
    url = server.url.replace("http", "ws")
    opening = connect(
        f"{url}/jupyter/api/kernels/{uuid4()}/channels?session_id={session}",
        additional_headers={"cookie": f"solara-session-id={session}"},
        open_timeout=WAIT_S, close_timeout=1, max_size=None,
    )  # fmt: skip
    socket = stack.enter_context(opening)

    run = {"method": "run", "args": {"path": path, "dark": False}}
    opened = {"comm_id": "control", "target_name": "solara.control", "data": {}}
    socket.send(message("comm_open", session, **opened))
    socket.send(message("comm_msg", session, comm_id="control", data=run))
    drawn = b""
    while b"This page is for the host" not in drawn:
        said = socket.recv(timeout=WAIT_S)
        drawn = said.encode() if isinstance(said, str) else said
    return socket


def message(kind: str, session: str, **content: object) -> str:
    """A message of a page."""
    header = {"msg_id": uuid4().hex, "msg_type": kind, "session": session, "username": "",
              "version": "5.3", "date": "2026-01-01T00:00:00Z"}  # fmt: skip
    return json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content,
                       "buffers": [], "channel": "shell"})  # fmt: skip


def lose(socket: ClientConnection) -> None:
    """Lose a connection: nobody says that the page is closed."""
    socket.socket.close()


def wait_for(value: Callable[[], int], most: int) -> None:
    """Wait until a number has come down."""
    deadline = time.monotonic() + WAIT_S
    while value() > most:
        assert time.monotonic() < deadline, (value(), most)
        time.sleep(0.1)


def pages(server: Server) -> int:
    """How many pages the server keeps now."""
    told = server.log().count("PAGES")
    server.signal(signal.SIGUSR1)
    deadline = time.monotonic() + WAIT_S
    while len(found := re.findall(r"PAGES (\d+)\n", server.log())) <= told:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return int(found[-1])


def test_pages_that_were_lost_keep_neither_threads_nor_files(server: Server) -> None:
    process = psutil.Process(server.pid)
    held: list[tuple[int, int]] = []
    for _ in range(3):
        with ExitStack() as stack:
            sockets = [open_page(server, stack) for _ in range(SEATS)]
            assert pages(server) == SEATS
            for socket in sockets:
                lose(socket)
            wait_for(lambda: pages(server), 0)
            held.append((process.num_fds(), process.num_threads()))
    # The first time, libraries come in, and threads and files that wait for the next to come.
    assert held[2][0] <= held[1][0] + 3, held
    assert held[2][1] <= held[1][1] + 3, held


def test_a_stranger_who_comes_in_numbers_shuts_nobody_out(
    server: Server, chromium: Browser
) -> None:
    before = len(server.log())
    with ExitStack() as stack:
        for _ in range(2 * SEATS - 1):
            open_page(server, stack)
        with ThreadPoolExecutor(20) as at_once:
            others = [at_once.submit(open_page, server, stack) for _ in range(20)]
        assert [each.exception() for each in others].count(None) == 1
        for _ in range(80):
            with pytest.raises((InvalidStatus, ConnectionClosed), match="403"):
                open_page(server, stack)
        with chromium.new_context() as context:
            page = server.admit(context).new_page()
            page.goto(f"{server.url}/host")
            page.get_by_role("button", name="Open the game").wait_for(timeout=WAIT_MS)
    assert len(server.log()) - before < 1000
    wait_for(lambda: pages(server), 1)


def test_a_server_that_ends_while_pages_are_busy_ends_in_silence(tmp_path: Path) -> None:
    server = Server(tmp_path, VIEW)
    asked = message("comm_msg", "a", comm_id="control", data={"method": "app-status"})
    with ExitStack() as stack:
        pages = [open_page(server, stack) for _ in range(3)]
        for page in pages:
            for _ in range(5000):
                page.send(asked)
        server.close()
    assert "Traceback" not in server.log(), server.log()[:5000]


def test_a_player_whose_connection_was_lost_goes_on(server: Server, chromium: Browser) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{server.url}/play/nobody")
        page.get_by_text("This link leads to no game").wait_for(timeout=WAIT_MS)
        context.set_offline(True)
        page.get_by_text("The server does not answer").wait_for(timeout=WAIT_MS)
        context.set_offline(False)
        page.get_by_text("The server does not answer").wait_for(state="detached", timeout=WAIT_MS)
        page.get_by_text("This link leads to no game").wait_for(timeout=WAIT_MS)
