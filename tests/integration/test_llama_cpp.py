"""Scenarios and the doctor against a real llama.cpp server, in both answer formats."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Connection, KeynesianBeautyContest
from sabm_mesa.llm import close_all
from sabm_mesa.minds.model_check import EQUAL, probe_minds
from sabm_mesa.models.registry import SCENARIOS
from tests.runs.reruns import play

from .tiny_gguf import write_tiny_model

STARTING_S = 120


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("llama")
    model = folder / "tiny.gguf"
    write_tiny_model(model)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "16384", "--seed", "1"]
    log = (folder / "server.log").open("w")
    with log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            url = f"http://127.0.0.1:{port}/v1"
            wait_for(url, server, folder / "server.log")
            yield url
        finally:
            close_all()
            server.terminate()


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers; fail with its log when it ends or does not start."""
    until = time.monotonic() + STARTING_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"llama.cpp did not start:\n{log.read_text()[-3000:]}")


def contest(endpoint: str, recording: Path, **settings: object) -> KeynesianBeautyContest:
    given: dict[str, Any] = {"n_players": 3, "max_tokens": 60} | settings
    model = KeynesianBeautyContest(
        n_rounds=2,
        minds="llm:tiny",
        rng=1,
        max_thought_tokens=1,
        connection=Connection(base_url=endpoint),
        recording=recording,
        **given,
    )
    model.run_model()
    return model


def test_under_a_schema_noise_is_a_valid_pick(endpoint: str, tmp_path: Path) -> None:
    # Many questions: noise is often cut off before it ends.
    model = contest(
        endpoint, tmp_path / "r.sqlite", answer_format="json", n_players=8, max_tokens=100
    )
    picks = model.agent_frame()["choice"].dropna()
    assert ((picks >= 0) & (picks <= 100)).all()
    assert picks.size > 0
    assert model.total.prompt_tokens > 0
    with sqlite3.connect(tmp_path / "r.sqlite") as recording:
        rows = recording.execute("SELECT raw, value FROM asks WHERE valid AND phase = 'act'")
        answers = rows.fetchall()
    recording.close()
    assert len(answers) == picks.size
    assert all(
        json.loads(raw, strict=False)["answer"] == json.loads(value) for raw, value in answers
    )


def test_noise_as_plain_text_is_counted_and_never_a_number(endpoint: str, tmp_path: Path) -> None:
    model = contest(endpoint, tmp_path / "r.sqlite", max_attempts=2)
    frame = model.model_frame()
    assert len(frame) == 2
    agents = model.agent_frame()
    assert model.total.invalid >= agents["choice"].isna().sum() > 0
    with sqlite3.connect(tmp_path / "r.sqlite") as recording:
        (attempts,) = recording.execute("SELECT count(*) FROM asks").fetchone()
        (unread,) = recording.execute("SELECT count(*) FROM asks WHERE NOT valid").fetchone()
        (invented,) = recording.execute(
            "SELECT count(*) FROM asks WHERE NOT valid AND value IS NOT NULL"
        ).fetchone()
    recording.close()
    assert attempts == model.total.asks + model.total.reasks
    assert unread >= model.total.invalid
    assert invented == 0


@pytest.mark.parametrize("answer_format", ["json", "paper"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_ends_and_holds_no_answer_that_is_not_legal(
    name: str, answer_format: str, endpoint: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    runs = play(
        name, path, "llm:tiny", connection=Connection(base_url=endpoint), n_rounds=2,
        answer_format=answer_format, max_tokens=24, max_thought_tokens=1, max_attempts=1,
    )  # fmt: skip
    total = runs.total()
    with sqlite3.connect(path) as recording:
        (attempts, invented) = recording.execute(
            "SELECT count(*), count(*) FILTER (WHERE NOT valid AND value IS NOT NULL) FROM asks"
        ).fetchone()
    recording.close()
    assert attempts == total.asks > 0
    assert invented == 0


def test_the_doctor_tells_its_dialect(endpoint: str) -> None:
    (found,) = probe_minds([f"llm:tiny@{endpoint}"], Connection())
    assert found.fine
    assert found.facts["dialect"] == {"response_format": "json_object with a schema"}
    assert (found.facts["schema"], found.facts["different_answers"]) == ("enforced", 1)
    assert found.facts["thoughts"] is None
    assert found.facts["requests"] >= EQUAL + 2
    assert f'base_url = "{endpoint}"' in found.entry()
