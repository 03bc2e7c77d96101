"""The command that opens the viewer."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa.cli.view import view
from sabm_mesa.errors import UnknownName
from sabm_mesa.visualization import access, server

ROOT = Path(__file__).parents[2]


@pytest.fixture
def served(monkeypatch):
    calls = []
    monkeypatch.setenv(access.VARIABLE, "")
    monkeypatch.setattr(server, "serve", lambda *args, **options: calls.append((args, options)))
    return calls


def test_it_listens_on_loopback_unless_told_otherwise(served, capsys):
    view()
    assert served == [(("127.0.0.1", 8765, "/"), {"open_browser": True})]
    printed = capsys.readouterr()
    assert "http://127.0.0.1:8765/" in printed.out
    assert printed.err == ""


def test_a_scenario_is_opened_by_name(served, capsys):
    view("kbc", host="0.0.0.0", port=9000, browser=False)
    (((host, port, path), options),) = served
    assert (host, port, options) == ("0.0.0.0", 9000, {"open_browser": False})
    assert path.startswith("/scenario/kbc?key=")
    assert f"http://0.0.0.0:9000{path} " in capsys.readouterr().out
    with pytest.raises(UnknownName, match="chess"):
        view("chess")


def test_a_port_that_is_taken_is_one_line(tmp_path):
    code = "from sabm_mesa.cli.view import view; view(port={}, browser=False)"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-c", code.format(port)],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"cannot listen at 127.0.0.1, port {port}: choose another with --port." in last
