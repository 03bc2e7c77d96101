"""Pages of other sites, pages that are gone, and the end of the server."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.llm_server import LLMServer
from tests.visualization.browser.conftest import WAIT_MS, Server
from tests.visualization.browser.test_play import (
    INTEGER,
    WORDS,
    answer,
    asked,
    open_game,
    says,
    start,
)

# Opens a kernel of the viewer as a browser does, types a mind into its page and presses Play.
DRIVE = """
([address, mind]) => new Promise((done) => {
  const id = () => String(Math.random()).slice(2), session = id(), models = {};
  const ws = new WebSocket(`${address}/jupyter/api/kernels/${id()}/channels?session_id=${session}`);
  const send = (msg_type, content) => ws.send(JSON.stringify({
    header: {msg_id: id(), msg_type, session, username: "", version: "5.3",
             date: new Date().toISOString()},
    parent_header: {}, metadata: {}, content, buffers: [], channel: "shell"}));
  let typed = false, pressed = false;
  setTimeout(() => done("nothing"), 120000);
  ws.onclose = () => done("refused");
  ws.onopen = () => {
    send("comm_open", {comm_id: "ctl", target_name: "solara.control", data: {}});
    send("comm_msg", {comm_id: "ctl",
         data: {method: "run", args: {path: "/scenario/kbc", dark: false}}});
  };
  ws.onmessage = async (message) => {
    let text = message.data;
    if (typeof text !== "string") {
      const bytes = await (text.arrayBuffer ? text.arrayBuffer() : text);
      const view = new DataView(bytes);
      const part = new Uint8Array(bytes).slice(view.getUint32(4), view.getUint32(8));
      text = new TextDecoder().decode(part);
    }
    const {header, content} = JSON.parse(text);
    if (header.msg_type !== "comm_open") return;
    const state = content.data.state || {};
    models[content.comm_id] = state;
    if (state.label === "Minds: who decides" && !typed) {
      typed = true;
      send("comm_msg", {comm_id: content.comm_id,
           data: {method: "update", state: {v_model: mind}, buffer_paths: []}});
    }
    for (const [comm, known] of Object.entries(models)) {
      if (typed && !pressed && known.paces) {  // the row with Play
        pressed = true;
        setTimeout(() => {
          send("comm_msg", {comm_id: comm,
               data: {method: "custom", content: {event: "press", data: "play"}}});
          done("driven");
        }, 1500);
      }
    }
  };
})
"""


class Nothing(BaseHTTPRequestHandler):
    """A page of another site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>Elsewhere</title>")

    def log_message(self, *_args: object) -> None: ...


@pytest.fixture
def elsewhere() -> Iterator[str]:
    site = ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    yield f"http://localhost:{site.server_port}/"
    site.shutdown()
    thread.join()
    site.server_close()


def test_a_page_of_another_site_drives_nothing(server, chromium, elsewhere):
    with LLMServer(brain=lambda _messages, _body: "33") as llm:
        drive = [server.url.replace("http", "ws"), f"llm:x@{llm.url}"]
        page = server.admit(chromium.new_context(reduced_motion="reduce")).new_page()
        page.goto(elsewhere)
        assert page.evaluate(DRIVE, drive) == "refused"
        assert llm.requests == []

        page.goto(server.url)  # the same from a page of the viewer does work
        assert page.evaluate(DRIVE, drive) == "driven"
        llm.wait_until(lambda llm: len(llm.requests) > 0)
        page.context.close()


def test_the_end_of_the_server_ends_games_and_keeps_answers(tmp_path, chromium):
    server = Server(tmp_path)
    try:
        pages = [chromium.new_context().new_page() for _ in range(2)]
        for page in pages:
            page.set_default_timeout(WAIT_MS)
        host, me = pages
        server.admit(host.context)
        host.goto(f"{server.url}/host")
        (link,) = open_game(host, Number_of_players=3, Number_of_rounds=2)
        me.goto(link)
        says(me, "You have your seat.")
        start(host)
        asked(me, INTEGER)
        answer(me, INTEGER, "30")
        asked(me, WORDS)
        expect(host.get_by_text("1 of 2 rounds done")).to_be_visible()
    finally:
        server.close()
        for page in pages:
            page.context.close()
    (path,) = (tmp_path / "sabm_recordings").glob("*.sqlite")
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT status FROM runs").fetchall() == [("failed",)]
        rows = file.execute("SELECT raw FROM asks WHERE mind = 'human'").fetchall()
    assert rows == [("30",)]
