"""The command that opens the viewer."""

import asyncio
import os
import platform
import re
import socket
import subprocess
import sys
import threading
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from sabm_mesa.cli.view import view
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.visualization import access, server

ROOT = Path(__file__).parents[2]


@pytest.fixture
def served(monkeypatch):
    """The arguments of the server; it says at once that it listens."""
    calls = []

    def serve(*args, ready, **options):
        calls.append((args, options))
        ready(f"{server.address_of(*args[:2])}{args[2]}")

    monkeypatch.setenv(URL_VARIABLE, "")
    monkeypatch.setattr(server, "serve", serve)
    return calls


def test_it_listens_on_loopback_unless_told_otherwise(served, capsys):
    view()
    assert served == [(("127.0.0.1", 8765, "/"), {"open_browser": True})]
    printed = capsys.readouterr()
    assert "http://127.0.0.1:8765/" in printed.out
    assert printed.err == ""


def test_a_scenario_is_opened_by_name(served, capsys):
    view(name="kbc", host="0.0.0.0", port=9000, browser=False)
    (((host, port, path), options),) = served
    assert (host, port, options) == ("0.0.0.0", 9000, {"open_browser": False})
    assert path == "/scenario/kbc"
    assert f":9000{path} " in capsys.readouterr().out
    with pytest.raises(UnknownName, match="chess"):
        view(name="chess")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_the_address_that_is_printed_is_one_in_the_network(served, capsys, host):
    view(host=host, port=9000)
    assert served
    places = re.findall(r"http://(\S+):9000/", capsys.readouterr().out)
    assert places[0] not in {"0.0.0.0", "[::]", "::", "localhost"}
    assert places[1] == "localhost"  # as in the printed links to settings


def test_a_machine_without_a_network_is_called_by_its_name(monkeypatch):
    async def no_way(*_args, **_options):
        raise OSError("no route")

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_datagram_endpoint", no_way)
    access._in_the_network.cache_clear()  # noqa: SLF001 - the network of the test is another one
    try:
        assert server.address_of("0.0.0.0", 80) == f"http://{platform.node()}:80"
    finally:
        access._in_the_network.cache_clear()  # noqa: SLF001
    assert server.address_of("::1", 80) == "http://[::1]:80"


@patch.dict(os.environ)  # the server sets variables, which no other test shall see
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_browser_is_opened_by_the_name_in_printed_links(monkeypatch, host):
    opened, done, said = [], threading.Event(), []
    monkeypatch.setattr(webbrowser, "open", lambda address: (opened.append(address), done.set()))
    monkeypatch.setitem(sys.modules, "solara.server.starlette", SimpleNamespace(app=None))
    monkeypatch.setattr(server, "_config", lambda *_: None)
    monkeypatch.setattr(server, "_Server", lambda _, listens, __: listens)
    monkeypatch.setattr(server, "_run", lambda listens: listens())
    monkeypatch.setattr(server, "DRAW_AFTER_S", 1e6)
    server.serve(host, 9000, "/host", ready=said.append)
    assert done.wait(10)
    assert opened[0].startswith("http://localhost:9000/host?key=")
    assert said[0].startswith("http://localhost:9000/") == (host == "127.0.0.1")


def test_an_endpoint_can_be_named(served):
    view(base_url="http://127.0.0.1:8000/v1/")
    assert served
    assert os.environ[URL_VARIABLE] == "http://127.0.0.1:8000/v1"
    with pytest.raises(ParameterError, match="must look like"):
        view(base_url="nowhere")


@pytest.mark.slow
def test_a_port_that_is_taken_is_one_line(tmp_path):
    code = "from sabm_mesa.cli.view import view; view(port={}, browser=False)"
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
