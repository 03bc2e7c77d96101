"""A real server of the viewer and a real Chromium.

They live as long as the tests of this folder: starting them, and loading the libraries that the
first pages need, takes longer than most tests.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as NoAnswer

ROOT = Path(__file__).parents[3]
ARTEFACTS = ROOT / "test-artefacts"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WAIT_MS, PICTURE_MS = 120_000, 20_000
"""Machines of tests are slow at times; what passes waits no longer for it."""
expect.set_options(timeout=WAIT_MS)
START_S = 300
"""Cold caches and a busy machine: libraries are read from a slow disk."""
END_S = 60
FIRST_PORT, PORTS = 20_000, 1_000
"""Below the ports that systems give out by themselves; each xdist worker has this many."""
KEY = re.compile(r"\?key=(\S+)")
WARM = {"/": ".sabm-home img", "/host": "text=Open the game", "/recording": "h1"}
"""Page → what is there when it is drawn. The first opening of each loads libraries."""
VIEW = "from sabm_mesa.cli import main; main(['view', '--no-browser', '--port', '{port}'])"
NETWORK = VIEW.replace("'--port'", "'--host', '0.0.0.0', '--port'")
"""A viewer that others can reach, as in a class."""


def chromium_path() -> str:
    """The path of Chromium: from the variable CHROMIUM, or on the path."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert found, "The tests of the viewer need the package chromium, or its path in CHROMIUM."
    return found


def free_port() -> int:
    """A free port among those of this xdist worker: no other test process looks there."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = FIRST_PORT + PORTS * (worker % 10)
    for offset in range(PORTS):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port := first + (os.getpid() + offset) % PORTS))
            except OSError:
                continue
            return port
    raise AssertionError("No port is free.")


class Server:
    """The viewer in its own folder, on a free port unless one is given."""

    def __init__(
        self, folder: Path, code: str = VIEW, *, port: int | None = None, **variables: str
    ) -> None:
        self.folder = folder
        self.port = port = port or free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._log = folder / "server.log"
        inherited = {name: text for name, text in os.environ.items() if name != "OPENAI_API_KEY"}
        with self._log.open("w") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code.format(port=port)],
                cwd=folder, env={**inherited, "PYTHONPATH": str(ROOT), **variables},
                stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while not self._ready() or self._process.poll() is not None:  # else it is another's
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise AssertionError(self.log())
            time.sleep(0.1)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def log(self) -> str:
        """The server's output so far."""
        return self._log.read_text(errors="replace")

    def _ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True

    @property
    def key(self) -> str:
        """The key of the viewer, as its terminal shows it."""
        deadline = time.monotonic() + START_S
        while (found := KEY.search(self.log())) is None:
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)
        return found[1]

    def admit(self, context: BrowserContext) -> BrowserContext:
        """Make a browser a host, as somebody does who opens the address on the terminal."""
        assert context.request.get(f"{self.url}/?key={self.key}").ok
        return context

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("viewer"))
    try:
        warm(started, chromium)
        yield started
    finally:
        started.close()
    assert "Traceback" not in started.log(), started.log()


def warm(server: Server, chromium: Browser) -> None:
    """Open each kind of page once, and play a round, so that no test waits for libraries."""
    with chromium.new_context(reduced_motion="reduce") as context:
        context.set_default_timeout(WAIT_MS)
        page = server.admit(context).new_page()
        for path, drawn in WARM.items():
            page.goto(server.url + path)
            page.locator(drawn).first.wait_for()
        page.goto(f"{server.url}/scenario/kbc")
        page.get_by_role("button", name="Step", exact=True).click()
        page.locator('.sabm-charts[data-round="0"]').wait_for()


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def browse(
    server: Server, chromium: Browser, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Page]]:
    """Opens a path in a browser of its own; at the end no page may have logged an error.

    With reduced motion, no run starts by itself. The browser is a host, but for one that comes by
    a whole address, such as a link to a seat.
    """
    errors, contexts = [], []

    def open_(path: str, **options: object) -> Page:
        usual = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"}
        context = chromium.new_context(**{**usual, **options})
        context.set_default_timeout(WAIT_MS)
        contexts.append(context)
        if not path.startswith("http"):
            server.admit(context)
        page = context.new_page()
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path if path.startswith("http") else server.url + path)
        return page

    yield open_
    ARTEFACTS.mkdir(exist_ok=True)
    name = request.node.name.removeprefix("test_").replace("/", "-")
    for number, context in enumerate(contexts):
        if context.pages:
            keep_picture(context.pages[0], ARTEFACTS / f"{name}-{number}.png")
        context.close()
    assert errors == []


def keep_picture(page: Page, path: Path) -> None:
    """Write a picture of a whole page, to be looked at.

    Chromium at times never answers the request for one: that is no fault of the page.
    """
    with contextlib.suppress(NoAnswer):
        page.screenshot(path=path, full_page=True, timeout=PICTURE_MS)
