"""Whole runs with a language model behind a real connection."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Connection, KeynesianBeautyContest, Recording
from sabm_mesa.core.engine import WIND_UP_S
from sabm_mesa.errors import BadRequest, RunError, ServerUnavailable
from sabm_mesa.llm.client import GRACE_S
from sabm_mesa.runs.run import run_models
from tests.llm.support import ROOT, contest, rows
from tests.llm_server import Fault, LLMServer, Reply
from tests.llm_server.wire import CACHED

SCRIPT = """
import sys
from sabm_mesa import Connection, KeynesianBeautyContest

model = KeynesianBeautyContest(
    n_players=5, n_rounds=3, rng=1, minds=f"llm:stub@{sys.argv[1]}", recording=sys.argv[2]
)
try:
    model.run_model()
except KeyboardInterrupt:
    sys.exit(130)
"""


BOUNDS = """
from sabm_mesa.core import engine
from sabm_mesa.llm import client

engine.WIND_UP_S = {wind_up_s}
client.GRACE_S = {grace_s}
"""


FOR_EVER = 10**6
LONG_S = 100


@pytest.mark.parametrize("cached_as", CACHED)
def test_tokens_and_dollars_are_those_the_server_counted(cached_as: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"stub-2026" = { input = 2, output = 8, cached = 0.5 }\n')
    with LLMServer(cache=True, cached_as=cached_as) as server:
        model = contest(
            server, connection=Connection(prices=prices), recording=tmp_path / "run.sqlite"
        )
        model.run_model()
        total, stats = model.total, server.stats
    assert total.prompt_tokens == stats["prompt_tokens"]
    assert total.completion_tokens == stats["completion_tokens"]
    assert 0 < total.cached_tokens < total.prompt_tokens
    fresh = total.prompt_tokens - total.cached_tokens
    dollars = (fresh * 2 + total.cached_tokens * 0.5 + total.completion_tokens * 8) / 1e6
    assert total.cost_usd == pytest.approx(dollars)
    frame = model.model_frame()
    assert frame["cost_usd"].sum() == pytest.approx(dollars)
    assert frame["prompt_tokens"].sum() == total.prompt_tokens
    ((tokens, cost, served),) = rows(
        tmp_path / "run.sqlite",
        "SELECT sum(prompt_tokens), sum(cost_usd), min(served_model) FROM asks",
    )
    assert (tokens, served) == (total.prompt_tokens, "stub-2026")
    assert cost == pytest.approx(dollars)


def test_a_server_that_dies_leaves_all_that_it_answered(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"

    def plan(number: int, _body: dict[str, Any]) -> Fault | None:
        return Fault("hang") if number >= 9 else None

    with LLMServer(faults=plan) as server:
        model = contest(server, n_players=12, recording=path, connection=Connection(max_retries=1))
        problems: list[Exception] = []
        thread = threading.Thread(target=_fails, args=(model, problems))
        thread.start()
        server.wait_until(lambda s: s.stats.get("status_200") == 9 and s.in_flight == 3)
        _wait_for(lambda: _answers(path) == 9)
        server.stop()
        thread.join()
        (problem,) = problems
        assert isinstance(problem, ServerUnavailable)
        assert f"Cannot reach {server.url}" in str(problem)
        assert "\n" not in str(problem)
    assert _answers(path) == 9
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", str(problem))]
    assert model.total.prompt_tokens > 0
    assert not model.running


def test_when_one_ask_fails_the_answers_under_way_are_awaited(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    arrived = asyncio.Event()

    async def brain(_messages: Any, body: dict[str, Any]) -> Reply | Fault:
        if "You are Player #4" in body["messages"][0]["content"]:
            await asyncio.sleep(0)
            return Fault("400")
        await arrived.wait()
        return Reply("Because.\n42")

    with LLMServer(brain=brain) as server:
        model = contest(server, recording=path)
        problems: list[Exception] = []
        thread = threading.Thread(target=_fails, args=(model, problems))
        thread.start()
        server.wait_until(lambda s: s.stats.get("status_400") == 1 and s.in_flight == 5)
        # Time for the failure to be seen, so that the others are being stopped when they answer.
        _wait_for(lambda: bool(problems), timeout=0.3, strict=False)
        assert not problems
        server._loop.call_soon_threadsafe(arrived.set)  # noqa: SLF001
        thread.join()
    assert isinstance(problems[0], BadRequest)
    assert rows(path, "SELECT agent, value FROM asks ORDER BY agent") == [
        (agent, "42") for agent in (1, 2, 3, 5, 6)
    ]
    ((status, _),) = rows(path, "SELECT status, problem FROM runs")
    assert status == "failed"
    assert model.total.completion_tokens == server.stats["completion_tokens"]


def test_a_stop_of_runs_that_are_ending_already_loses_nothing(tmp_path: Path) -> None:
    """One request of each run is refused; the end of the first run stops the second one again."""
    arrived = asyncio.Event()

    async def brain(_messages: Any, body: dict[str, Any]) -> Reply | Fault:
        if "You are Player #1" in body["messages"][0]["content"]:
            return Fault("400")
        if body["model"] == "late":
            await arrived.wait()
        return Reply("Because.\n42")

    path = tmp_path / "run.sqlite"
    problems: list[Exception] = []
    with LLMServer(brain=brain) as server, Recording(path) as recording:
        models = [
            contest(server, minds=f"llm:{name}@{server.url}", recording=recording)
            for name in ("early", "late")
        ]
        thread = threading.Thread(target=_runs_fail, args=(models, problems))
        thread.start()
        _wait_for(lambda: not models[0].running and models[1]._scope.stopped)  # noqa: SLF001
        server.wait_until(lambda s: s.in_flight == 5)
        server._loop.call_soon_threadsafe(arrived.set)  # noqa: SLF001
        thread.join()
    assert isinstance(problems[0], BadRequest)
    assert rows(path, "SELECT run, count(*) FROM asks GROUP BY run") == [(0, 5), (1, 5)]


def _runs_fail(models: list[KeynesianBeautyContest], problems: list[Exception]) -> None:
    try:
        run_models(models)
    except RunError as error:
        problems.append(error)


def _fails(model: KeynesianBeautyContest, problems: list[Exception]) -> None:
    try:
        model.run_model()
    except RunError as error:
        problems.append(error)


def _answers(path: Path) -> int:
    ((count,),) = rows(path, "SELECT count(*) FROM answers")
    return int(count)


def _wait_for(condition: Any, timeout: float = LONG_S, strict: bool = True) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            assert not strict, "it did not happen in time"
            return
        time.sleep(0.005)


@contextmanager
def started(server: LLMServer, path: Path, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process that plays a contest; it is ended with the block, however that ends."""
    with subprocess.Popen(
        [sys.executable, "-c", before + SCRIPT, server.url, str(path)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            server.wait_until(lambda s: s.in_flight == 5)
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_an_interrupt_awaits_and_records_what_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer() as server:
        server.hold()
        with started(server, path) as process:
            process.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            server.release()
            _, errors = process.communicate(timeout=LONG_S)
        assert process.returncode == 130
        assert errors == "Waiting up to 10 s for 5 answers that are paid for.\n"
        assert server.stats["requests"] == server.stats["status_200"] == 5
    assert _answers(path) == 5
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", "stopped")]


@pytest.mark.slow
def test_an_interrupt_ends_although_no_answer_comes(tmp_path: Path) -> None:
    assert GRACE_S < WIND_UP_S
    path = tmp_path / "run.sqlite"
    with LLMServer() as server:
        server.hold()
        with started(server, path, BOUNDS.format(grace_s=0.1, wind_up_s=FOR_EVER)) as process:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=LONG_S)
        assert (process.returncode, errors) == (130, "")
    assert _answers(path) == 0


@pytest.mark.slow
def test_further_interrupts_of_a_command_wait_for_what_was_sent_too(tmp_path: Path) -> None:
    path = tmp_path / "recording.sqlite"
    with LLMServer() as server:
        server.hold()
        contests = ("--runs", "2", "--rounds", "1", "--set", "n_players=5")
        with subprocess.Popen(
            [sys.executable, "-m", "sabm_mesa", "run", "kbc", *contests,
             "--minds", f"llm:stub@{server.url}", "--out", str(tmp_path)],
            stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            try:
                server.wait_until(lambda s: s.in_flight == 10)
                process.send_signal(signal.SIGINT)
                said = process.stderr.readline()
                assert said == "Waiting up to 10 s for 10 answers that are paid for.\n"
                for number in (signal.SIGINT, signal.SIGTERM):
                    process.send_signal(number)
                    with pytest.raises(subprocess.TimeoutExpired):
                        process.wait(0.2)
                server.release()
                _, errors = process.communicate(timeout=LONG_S)
            finally:
                process.kill()
        assert server.stats["requests"] == server.stats["status_200"] == 10
    assert process.returncode == 1
    assert errors == (
        f"sabm: Stopped. 10 answers are in {path}; continue with: sabm resume {path}\n"
    )
    assert _answers(path) == 10
