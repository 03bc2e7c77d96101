"""A process that is stopped (SIGSTOP, Ctrl-Z) and a clock that jumps: nothing is lost for it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sabm_mesa.core import engine
from sabm_mesa.core.deadline import LATE_S, SETTLE_S, Deadline
from sabm_mesa.errors import RateLimited
from sabm_mesa.llm.client import Completion, Request
from sabm_mesa.llm.in_flight import FinishInFlightClient
from sabm_mesa.llm.limit import Limiter
from sabm_mesa.llm.retry import LONGEST_WAIT_S, RetryClient
from tests.llm.support import ROOT, Chain, VirtualLoop, ask, on_virtual_time, outcomes, rows, turn
from tests.llm_server import LLMServer

HOUR_S = 3600.0


def jump(seconds: float = HOUR_S) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.selector.jumped += seconds


def test_a_deadline_ends_what_takes_too_long() -> None:
    async def work() -> float:
        with pytest.raises(TimeoutError):
            async with Deadline(5.0):
                await asyncio.sleep(HOUR_S)
        return asyncio.get_running_loop().time()

    assert on_virtual_time(work()) == pytest.approx(5.0)


def test_what_came_while_the_clock_jumped_is_read() -> None:
    async def work() -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(HOUR_S, answer.set_result, "42")
        async with Deadline(30.0):
            await turn()
            jump()
            return await answer

    assert on_virtual_time(work()) == "42"


def test_a_jump_extends_a_deadline_by_seconds_and_no_more_than_once_each() -> None:
    async def asks(limit_s: float) -> None:
        async with Deadline(limit_s):
            await turn()
            jump()
            await asyncio.get_running_loop().create_future()

    async def work(limit_s: float) -> float:
        with pytest.raises(TimeoutError):
            await asks(limit_s)
        return asyncio.get_running_loop().time() - HOUR_S

    assert on_virtual_time(work(120.0)) == pytest.approx(SETTLE_S)
    assert on_virtual_time(work(2.0)) == pytest.approx(2.0)


def test_an_answer_that_a_stopped_run_awaits_survives_a_jump() -> None:
    class Slow:
        async def complete(self, _request: Request) -> Completion:
            await asyncio.sleep(HOUR_S)
            await turn(10)
            return Completion("yes")

    async def work() -> Completion:
        running = asyncio.ensure_future(FinishInFlightClient(Slow(), 10.0).complete(ask()))
        await turn()
        running.cancel()
        await turn()
        jump()
        return await running

    done = on_virtual_time(work())
    assert (done.text, done.stopped) == ("yes", True)


def test_a_jump_during_back_off_sends_no_request_twice() -> None:
    class Refusing:
        sent = 0

        async def complete(self, _request: Request) -> Completion:
            self.sent += 1
            if self.sent == 1:
                raise RateLimited("too many", 1e9)
            return Completion("yes")

    async def work() -> tuple[int, str, float]:
        endpoint, limiter = Refusing(), Limiter()
        limiter.refused(0.0, 1e9)
        waiting = [asyncio.ensure_future(limiter.acquire()) for _ in range(3)]
        asking = asyncio.ensure_future(RetryClient(endpoint).complete(ask()))
        await turn()
        before = endpoint.sent
        jump()
        await asyncio.gather(*waiting)
        done = await asking
        assert before == 1
        return endpoint.sent, done.text, asyncio.get_running_loop().time() - HOUR_S

    sent, text, late = on_virtual_time(work())
    assert (sent, text) == (2, "yes")
    assert late < LONGEST_WAIT_S


@pytest.mark.slow
def test_an_answer_that_came_while_the_loop_stood_still_is_not_paid_for_again() -> None:
    with LLMServer(brain=lambda _m, _b: "42") as server:
        server.hold()

        def stall() -> None:
            server.wait_until(lambda s: s.in_flight == 1)
            loop = engine._engine().loop  # noqa: SLF001
            loop.call_soon_threadsafe(time.sleep, 0.4 + LATE_S + 0.1)
            server.release()

        thread = threading.Thread(target=stall)
        thread.start()
        with Chain(server.url, timeout_s=0.4) as client:
            (done,) = outcomes(client, [ask()])
        thread.join()
        assert (done.text, server.stats["requests"]) == ("42", 1)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_run_that_is_stopped_beyond_its_deadlines_pays_nothing_twice(tmp_path: Path) -> None:
    out, timeout_s = tmp_path / "out", 2.0
    with LLMServer() as server:
        server.hold()
        command = subprocess.Popen(
            [sys.executable, "-m", "sabm_mesa", "run", "kbc", "--minds", f"llm:stub@{server.url}",
             "--rounds", "1", "--set", "n_players=6", "--timeout", str(timeout_s), "--seed", "1",
             "--out", str(out)],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        server.wait_until(lambda s: s.in_flight == 6)
        os.kill(command.pid, signal.SIGSTOP)
        server.release()
        time.sleep(timeout_s + LATE_S + 0.5)
        os.kill(command.pid, signal.SIGCONT)
        command.communicate(timeout=60)
        answered = server.stats["status_200"]
    asks, left = "SELECT count(*) FROM asks", "SELECT count(*) FROM sent"
    assert command.returncode == 0
    assert rows(out / "recording.sqlite", asks) == [(answered,)]
    assert rows(out / "recording.sqlite", left) == [(0,)]
