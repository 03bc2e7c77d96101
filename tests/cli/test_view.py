"""The command that opens the viewer."""

import os
import socket
import subprocess
import sys
import threading
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from starlette.testclient import TestClient

from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.visualization import access, server
from sabm_mesa.visualization.web.app import network_app
from tests.cli.support import one_line

ROOT = Path(__file__).parents[2]


@pytest.fixture
def served(monkeypatch):
    """The arguments of the server; it says at once that it listens."""
    calls = []

    def serve(*args, ready, **options):
        calls.append((args, options))
        ready(f"http://localhost:{args[1]}{args[2]}?key=secret")

    monkeypatch.setenv(URL_VARIABLE, "")
    monkeypatch.setattr(server, "serve", serve)
    return calls


def test_it_listens_on_loopback_unless_told_otherwise(served, sabm):
    printed = sabm("view")
    assert served == [(("127.0.0.1", 8765, "/"), {"open_browser": True})]
    assert printed.out == (
        "The viewer is at http://localhost:8765/?key=secret (end it with Ctrl-C).\n"
    )
    assert printed.err == "Starting the viewer …\n"


def test_an_endpoint_can_be_named(served, sabm):
    sabm("view", "--base-url", "http://127.0.0.1:8000/v1/")
    assert served
    assert os.environ[URL_VARIABLE] == "http://127.0.0.1:8000/v1"
    assert "must look like" in one_line(sabm("view", "--base-url", "nowhere"))


def test_both_addresses_are_printed(served, sabm, monkeypatch):
    monkeypatch.setattr(access, "NETWORK", access.Network("http://192.0.2.7:9000"))
    printed = sabm("view", "kbc", "--host", "0.0.0.0", "--port", 9000, "--no-browser").out
    assert served == [(("0.0.0.0", 9000, "/scenario/kbc"), {"open_browser": False})]
    assert f"Hosts open http://192.0.2.7:9000/host?key={access.host_key()}" in printed
    assert "People join at http://192.0.2.7:9000/join" in printed


def test_a_recording_is_opened_at_its_page(served, sabm, tmp_path):
    sabm("run", "kbc", "--rounds", 1, "--set", "n_players=2", "--out", tmp_path / "a b")
    path = tmp_path / "a b" / "recording.sqlite"
    sabm("view", path, "--no-browser")
    (((*_, page), _),) = served
    client = TestClient(network_app())
    assert "Keynesian beauty contest" in client.get(f"{page}&key={access.host_key()}").text
    assert one_line(sabm("view", "none.sqlite")) == "There is no recording none.sqlite."
    assert "sabm view" in one_line(sabm("play", path))


@patch.dict(os.environ)  # the server sets variables, which no other test shall see
@pytest.mark.parametrize(
    ("host", "key", "viewer_port", "network", "path"),
    [
        ("127.0.0.1", "", 9000, "", "/scenario/kbc?"),
        ("192.0.2.7", "", 9001, "http://192.0.2.7:9000", "/recording?file=a&"),
        ("127.0.0.1", "a key of a proxied server", 9001, "http://127.0.0.1:9000", "/?"),
    ],
)
def test_where_others_come_the_viewer_has_a_port_of_its_own(
    monkeypatch, host, key, viewer_port, network, path
):
    opened, done, said, listened = [], threading.Event(), [], []
    os.environ[access.VARIABLE] = key
    monkeypatch.setattr(server, "NETWORK", access.Network())
    monkeypatch.setattr(webbrowser, "open", lambda address: (opened.append(address), done.set()))
    monkeypatch.setattr(server, "_listen", lambda *place: listened.append(place))
    monkeypatch.setattr(server, "_run", lambda *_: None)
    viewer = SimpleNamespace(viewer_app=lambda: None)
    monkeypatch.setitem(sys.modules, "sabm_mesa.visualization.viewer.site", viewer)
    server.serve(host, 9000, path[:-1], ready=said.append)
    assert done.wait(10)
    start = f"http://localhost:{viewer_port}{path}key="
    assert said == [start + access.host_key()]
    assert opened[0].startswith(start)
    assert access.host_key() not in opened[0]
    assert access.Network(network, web=True) == server.NETWORK
    assert listened == [(host, 9000), ("127.0.0.1", 9001)][: 2 if network else 1]


@pytest.mark.slow
def test_a_port_that_is_taken_is_one_line(tmp_path):
    code = "from sabm_mesa.cli import main; main(['view', '--no-browser', '--port', '{}'])"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-c", code.format(port)],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "The viewer is at" not in done.stdout
    last = done.stderr.splitlines()[-1]
    assert f"cannot listen at 127.0.0.1, port {port}: choose another with --port." in last
