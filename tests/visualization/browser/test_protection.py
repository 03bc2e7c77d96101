"""Strangers: other sites, other users of the computer and of the network."""

import http.client
import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from sabm_mesa.visualization.server import LONGEST_MESSAGE
from tests.llm_server import LLMServer
from tests.visualization.browser.conftest import ROOT, START_S, VIEW, WAIT_MS, Server

SOLARA_RUN = f"""
import sys
from solara.__main__ import main
sys.argv = ["solara", "run", "{ROOT}/examples/viewer.py", "--host", "127.0.0.1",
            "--port", "{{port}}", "--no-open", "--no-check-version", "--production"]
main()
"""
EVIL = "evil.example"
SENT_BY_PROXIES = {
    "script-name": f"//{EVIL}",
    "x-script-name": f"//{EVIL}",
    "x-forwarded-prefix": f"//{EVIL}",
    "x-forwarded-host": EVIL,
    "x-forwarded-proto": "https",
    "x-forwarded-for": "192.0.2.7",
    "forwarded": f"host={EVIL};proto=https",
}
VUETIFY = "@widgetti/solara-vuetify-app@10.1.1"
SCRIPT = f"/_solara/cdn/{VUETIFY}/dist/solara-vuetify-app8.min.js"


class PackageHost(BaseHTTPRequestHandler):
    """A content delivery network that has any package, with a page of a stranger in it."""

    asked: list[str]

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<script>alert('from a stranger')</script>")

    def log_message(self, *_args: object) -> None: ...


@dataclass
class Answer:
    """One answer of the server."""

    status: int
    headers: http.client.HTTPMessage
    body: str


@dataclass
class Viewer:
    """A viewer whose first request came from a stranger."""

    server: Server
    cache: Path
    fetched: list[str]
    command: str = ""

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> Answer:
        """Send one request, exactly as it is written."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode(errors="replace"))
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        """Get a path."""
        return self.ask("GET", path, **headers)


def shipped() -> Path:
    """The folder of the scripts that solara-assets has installed."""
    one = next(file for file in files("solara-assets") or () if "cdn" in file.parts)
    path = Path(str(one.locate())).resolve()
    return next(parent for parent in path.parents if parent.name == "cdn")


@pytest.fixture(scope="module", params=["sabm view", "solara run"])
def viewer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Viewer]:
    """The viewer, in both ways to start it, with a cache and a package host of its own."""
    folder = tmp_path_factory.mktemp("stranger")
    cache = folder / "cdn"
    for package in (VUETIFY, "requirejs@2.3.6", "font-awesome@4.5.0"):
        shutil.copytree(shipped() / package, cache / package)
    handler = type("OwnPackageHost", (PackageHost,), {"asked": []})
    site = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=site.serve_forever, daemon=True)
    thread.start()
    server = Server(
        folder,
        VIEW if request.param == "sabm view" else SOLARA_RUN,
        SOLARA_ASSETS_CDN=f"http://127.0.0.1:{site.server_port}/",
        SOLARA_ASSETS_PROXY_CACHE_DIR=str(cache),
    )
    started = Viewer(server, cache, handler.asked, request.param)
    try:
        started.get("/", **SENT_BY_PROXIES)
        yield started
    finally:
        server.close()
        site.shutdown()
        thread.join()
        site.server_close()
    assert "Traceback" not in server.log(), server.log()


@pytest.mark.parametrize(
    "path",
    ["evil@1.0.0/index.html", "evil@1.0.0", "..%2f..%2f..%2fetc/passwd", "../evil@1.0.0/x.js"],
)
def test_only_shipped_scripts_are_served_and_none_is_fetched(viewer: Viewer, path: str) -> None:
    answer = viewer.get(f"/_solara/cdn/{path}")

    assert answer.status == 404
    assert "from a stranger" not in answer.body
    assert viewer.fetched == []
    assert not (viewer.cache / "evil@1.0.0").exists()


def test_a_page_that_stands_in_the_cache_is_not_served(viewer: Viewer) -> None:
    """Neither one that somebody put there nor the test pages of the shipped packages."""
    put = viewer.cache / "evil@2.0.0" / "index.html"
    put.parent.mkdir()
    put.write_text("<script>alert('from a stranger')</script>")
    pages = [
        name.as_posix().partition("/cdn/")[2]
        for name in files("solara-assets") or ()
        if name.suffix in {".html", ".svg", ".xml"}
    ]

    assert len(pages) > 10
    for page in ["evil@2.0.0/index.html", *pages]:
        assert viewer.get(f"/_solara/cdn/{page}").status == 404


def test_a_folder_that_is_asked_for_is_not_removed(viewer: Viewer) -> None:
    for folder in (VUETIFY, f"{VUETIFY}/dist", "requirejs@2.3.6"):
        for path in (folder, f"{folder}/", folder.replace("/", "%2f")):
            assert viewer.get(f"/_solara/cdn/{path}").status == 404
        assert (viewer.cache / folder).is_dir()
    script = viewer.get(SCRIPT)
    assert script.status == 200
    assert "javascript" in script.headers["content-type"]
    assert len(script.body) > 1_000_000


def test_the_first_visitor_changes_no_later_page(viewer: Viewer) -> None:
    for path in ("/", "/scenario/kbc", "/host"):
        page = viewer.get(path)
        assert page.status == 200
        assert EVIL not in page.body
        assert 'data-base-url="/jupyter/"' in page.body
    for path in ("/join", "/play/nobody"):
        page = viewer.get(path)
        assert EVIL not in page.body
        assert 'data-base=""' in page.body


OPEN = {
    "/": 200,
    "/scenario/kbc": 200,
    "/recording": 200,
    "/host": 200,
    "/play/nobody": 200,
    "/play/nobody/state": 200,
    "/join": 200,
    "/join/ABCDEF": 200,
    "/join/ABCDEF/qr.svg": 404,
    "/screen/ABCDEF": 200,
    "/wall/nobody": 200,
    SCRIPT: 200,
    "/static/main-vuetify.js": 200,
    "/static/assets/theme-light.css": 200,
    "/jupyter/nbextensions/jupyter-vue/nodeps.js": 200,
}
"""All that answers a stranger, with the status: pages ask for the key by themselves."""
CLOSED = (
    "/readyz",
    "/resourcez",
    "/resourcez?verbose",
    "/jupyter/api/kernels/any",
    "/jupyter/api/kernels/any/channels",
    "/jupyter/api/kernels/any/other",
    "/_solara/api/evict/any",
    "/_solara/api/close",
    "/_solara/auth/login",
    "/_solara/cdn",
    "/static",
    "/static/public/app.py",
    "/static/assets",
    "/jupyter/nbextensions",
    "/jupyter/nbextensions/jupyter-vue",
)
"""Addresses of Solara's server that the viewer does not need, and folders."""


def test_the_list_of_what_answers_without_a_key(viewer: Viewer) -> None:
    for path, status in OPEN.items():
        assert viewer.get(path).status == status, path
    for path in CLOSED:
        assert viewer.get(path).status == 404, path
        assert viewer.ask("POST", path).status in {404, 405}, path
    assert viewer.ask("POST", "/_solara/api/close/any?session_id=any").body == ""
    for path in ("/nowhere", "/docs", "/.env", "/static/..%2fserver.py"):
        assert viewer.get(path).status == 404
    assert "no page at this address" in viewer.get("/nowhere").body


@pytest.mark.parametrize(
    ("method", "path"),
    [*(("GET", path) for path in OPEN), ("GET", "/nowhere"), ("POST", "/"), ("PUT", SCRIPT)],
)
def test_each_answer_has_the_headers(viewer: Viewer, method: str, path: str) -> None:
    headers = viewer.ask(method, path).headers
    policy = dict(part.split(maxsplit=1) for part in headers["content-security-policy"].split("; "))

    assert policy["frame-ancestors"] == "'self'"
    assert policy["default-src"] == "'none'"
    assert "'unsafe-inline'" not in policy["script-src"]
    assert not [source for sources in policy.values() for source in sources.split()
                if source.startswith("http") or source == "*"]  # fmt: skip
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_the_session_is_read_by_no_script_and_sent_by_no_other_site(viewer: Viewer) -> None:
    for host in (f"localhost:{viewer.server.port}", f"127.0.0.1:{viewer.server.port}"):
        (cookie,) = viewer.get("/", host=host, **SENT_BY_PROXIES).headers.get_all("set-cookie")
        assert cookie.startswith("solara-session-id=")
        assert "HttpOnly" in cookie
        assert "samesite=lax" in cookie.casefold()


@pytest.mark.parametrize(
    "headers",
    [
        {"host": EVIL},
        {"host": f"127.0.0.1.{EVIL}"},
        {"origin": f"http://{EVIL}"},
        {"origin": "null"},
        {"origin": "http://[", "host": "["},
    ],
)
def test_a_request_of_another_site_is_refused(viewer: Viewer, headers: dict[str, str]) -> None:
    if headers != {"origin": "null"}:  # which the viewer's own pages send, but not for a socket
        for path in ("/", "/host", SCRIPT):
            assert viewer.get(path, **headers).status == 403
    socket = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    key = {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "cookie": "solara-session-id=a"}
    path = "/jupyter/api/kernels/one/channels?session_id=page"
    assert viewer.get(path, **{**socket, **key, **headers}).status == 403


def test_the_key_leaves_the_address_and_stays_in_a_cookie(viewer: Viewer) -> None:
    key = viewer.server.key
    shown = viewer.get(f"/scenario/kbc?key={key}&a=1")
    assert (shown.status, shown.headers["location"]) == (303, "/scenario/kbc?a=1")
    (cookie,) = shown.headers.get_all("set-cookie")
    assert re.fullmatch(
        rf"sabm-host-{viewer.server.port}=[\w-]{{20,}}; HttpOnly; Path=/; SameSite=strict", cookie
    )
    assert key not in cookie

    guessed = viewer.get("/?key=guessed")
    assert (guessed.status, guessed.headers["location"]) == (303, "/")
    assert guessed.headers.get_all("set-cookie") is None
    outwards = viewer.get(f"//{EVIL}/?key={key}")
    assert (outwards.status, outwards.headers["location"]) == (303, f"/{EVIL}/")


def test_the_key_is_taken_from_a_page(viewer: Viewer) -> None:
    shown = viewer.ask("POST", "/_sabm/key", viewer.server.key)
    assert shown.status == 204
    assert len(shown.headers.get_all("set-cookie")) == 1
    for given, status in (("guessed", 403), ("", 403), ("a" * 1001, 413)):
        refused = viewer.ask("POST", "/_sabm/key", given)
        assert refused.status == status
        assert refused.headers.get_all("set-cookie") is None


def test_without_the_key_a_browser_watches_and_plays_classical_minds(
    viewer: Viewer, chromium: Browser
) -> None:
    errors: list[str] = []
    with chromium.new_context() as context, LLMServer(brain=lambda _m, _b: "33") as llm:
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        url = viewer.server.url
        for path in ("/recording", "/recording?file=/etc/hosts", "/host"):
            page.goto(url + path)
            page.get_by_text("This page is for the host").wait_for()
            assert page.get_by_role("button").all_inner_texts() == ["", "Unlock"]

        page.goto(f"{url}/scenario/kbc")
        page.get_by_role("button", name="Step", exact=True).click()
        expect(page.locator(".sabm-progress")).to_contain_text("1 of 4 rounds are played")
        _choose_mind(page, f"llm:x@{llm.url}")
        page.get_by_role("button", name="Reset").click()
        expect(page.get_by_role("alert")).to_contain_text("takes the key of this viewer")
        assert llm.requests == []

        page.get_by_text("enter it here").click()
        page.get_by_label("Key of this viewer").fill("guessed")
        page.get_by_role("button", name="Unlock").click()
        page.get_by_text("This is not the key").wait_for()
        assert [error for error in errors if "403" not in error] == []
        errors.clear()
        page.get_by_label("Key of this viewer").fill(viewer.server.key)
        with page.expect_navigation():
            page.get_by_role("button", name="Unlock").click()
        _choose_mind(page, f"llm:x@{llm.url}")
        page.get_by_role("button", name="Step", exact=True).click()
        llm.wait_until(lambda llm: len(llm.requests) > 0)
        page.get_by_role("button", name="Reset").click()

        page.goto(f"{url}/host")
        page.get_by_role("button", name="Open the game").wait_for()
        assert viewer.server.key not in page.content()
        assert page.evaluate("document.cookie") == ""
    assert errors == []


def _choose_mind(page: Page, spec: str) -> None:
    field = page.get_by_label("Minds: who decides")
    field.fill(spec)
    field.press("Enter")
    field.blur()
    expect(page.locator(".sabm-next")).to_contain_text("Parameters have changed")


def test_a_host_is_known_again_by_the_address_on_the_terminal(
    viewer: Viewer, chromium: Browser
) -> None:
    with chromium.new_context() as context:
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.goto(f"{viewer.server.url}/host?key={viewer.server.key}")
        page.get_by_role("button", name="Open the game").wait_for()
        assert page.url == f"{viewer.server.url}/host"


@pytest.mark.parametrize("code", [VIEW, SOLARA_RUN], ids=["sabm view", "solara run"])
def test_a_stranger_fills_no_log(code: str, tmp_path: Path) -> None:
    server = Server(tmp_path, code)
    control = {"comm_id": "control", "target_name": "solara.control", "data": {}}
    wrong = ["{", "[]", message("comm_msg", {}), message("comm_open", control), message("none", {})]
    try:
        for n in range(100):
            with socket.create_connection(("127.0.0.1", server.port)) as raw:
                raw.sendall(b"no request\r\n\r\n" if n % 2 else
                            b"POST /_sabm/key HTTP/1.1\r\nhost: localhost\r\n"
                            b"content-length: 9\r\n\r\na")  # fmt: skip
                with suppress(ConnectionResetError):  # the server may have closed it already
                    raw.shutdown(socket.SHUT_WR)
                    raw.recv(1000)
            url = f"{server.url.replace('http', 'ws')}/jupyter/api/kernels/{n}/channels"
            with (
                connect(f"{url}?session_id=a", additional_headers=SESSION,
                        open_timeout=WAIT_MS / 1000) as page,
                suppress(ConnectionClosed, TimeoutError),
            ):  # fmt: skip
                page.send(wrong[n % len(wrong)])
                page.send(message("comm_msg", {"comm_id": "control", "data": {}}))
                while True:
                    page.recv(timeout=1)
        assert "more of this kind is not logged for 60 minutes" in server.log()
        assert len(server.log()) < 100_000
    finally:
        server.close()


def heard_all(page: ClientConnection) -> None:
    """Hear what a server says until it closes the connection."""
    while True:
        page.recv(timeout=WAIT_MS / 1000)


SESSION = {"cookie": "solara-session-id=any"}


def message(kind: str, content: dict[str, object]) -> str:
    """A message of a page."""
    header = {"msg_id": "1", "msg_type": kind, "session": "a", "username": "", "version": "5.3",
              "date": "2026-01-01T00:00:00Z"}  # fmt: skip
    return json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content,
                       "buffers": [], "channel": "shell"})  # fmt: skip


def test_a_message_of_a_page_has_a_limit(viewer: Viewer) -> None:
    url = f"ws://127.0.0.1:{viewer.server.port}/jupyter/api/kernels/any/channels?session_id=a"
    most = LONGEST_MESSAGE if viewer.command == "sabm view" else 2**24

    def padded(length: int) -> str:
        least = len(message("comm_msg", {"comm_id": "none", "data": ""}))
        return message("comm_msg", {"comm_id": "none", "data": "x" * (length - least)})

    with connect(url, additional_headers=SESSION) as page:
        page.send(padded(most))
        assert page.ping().wait(WAIT_MS / 1000)
        page.send(padded(most + 1))
        with pytest.raises(ConnectionClosed, match="1009"):
            heard_all(page)


def test_the_browser_is_opened_with_a_key_that_works_once(tmp_path: Path) -> None:
    """All users of a computer can see how a browser was started."""
    opened = tmp_path / "opened"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
    script.chmod(0o755)
    server = Server(tmp_path, VIEW.replace(", browser=False", ""), BROWSER=f"{script} %s")
    try:
        deadline = time.monotonic() + START_S
        while not (opened.exists() and "key=" in opened.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        viewer = Viewer(server, tmp_path, [])
        parts = urlsplit(opened.read_text().strip())
        assert parts.hostname == "localhost"
        address = f"{parts.path}?{parts.query}"
        assert server.key not in address
        assert len(viewer.get(address).headers.get_all("set-cookie")) == 1
        assert viewer.get(address).headers.get_all("set-cookie") is None
    finally:
        server.close()
