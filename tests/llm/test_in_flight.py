"""Requests are noted before they leave, and awaited for a while when a run is stopped."""

import asyncio
import logging
import math
import threading
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Budget, Connection, PublicGoods, resume
from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import BudgetExceeded, LLMError, RunError, ServerUnavailable
from sabm_mesa.llm.budget import most_of
from sabm_mesa.llm.client import GRACE_S, Client, Sender
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.llm.request import Request
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.rerun import lost_before
from tests.llm.support import ask, completion, contest, first_question, on_virtual_time, rows
from tests.llm_server import LLMServer, stub


class Slow(Sender):
    """Answers or fails after some seconds; knows whether it was cut off."""

    def __init__(self, seconds: float, error: LLMError | None = None) -> None:
        super().__init__()
        self.seconds, self.error, self.cut_off = seconds, error, False

    async def send(self, request: Request) -> Reply:
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cut_off = True
            raise
        if self.error:
            raise self.error
        return completion(request.model)


async def stopped(server: Slow, *at: float) -> tuple[Reply | BaseException, float]:
    """Stop a request at these seconds; how it ends, and when."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(Client(server, max_retries=0).complete(ask()))
    for second in at:
        loop.call_at(second, task.cancel)
    (end,) = await asyncio.gather(task, return_exceptions=True)
    seconds = loop.time()
    await asyncio.sleep(0)
    return end, seconds


@pytest.mark.parametrize("at", [(1,), (1, 2, 2, 3)], ids=["once", "several times"])
def test_an_answer_under_way_is_awaited(at: tuple[float, ...]) -> None:
    end, seconds = on_virtual_time(stopped(Slow(5), *at))
    assert isinstance(end, Reply)
    assert end.stopped
    assert seconds == 5


@pytest.mark.parametrize(
    ("server", "at", "seconds"),
    [
        (Slow(1000), (1,), 1 + GRACE_S),
        (Slow(1000), (1, 2, 9), 1 + GRACE_S),
        (Slow(5, ServerUnavailable("no")), (1,), 5),
    ],
    ids=["no answer within the grace", "stopped three times", "failed after the stop"],
)
def test_otherwise_it_stops(server: Slow, at: tuple[float, ...], seconds: float) -> None:
    end, ended = on_virtual_time(stopped(server, *at))
    assert isinstance(end, asyncio.CancelledError)
    assert ended == pytest.approx(seconds)
    assert server.cut_off == (server.error is None)


@pytest.mark.parametrize(("seconds", "lines"), [(5.0, 1), (1.1, 0)], ids=["late", "at once"])
def test_the_log_says_once_for_how_many_answers_a_stop_waits(
    seconds: float, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def stop_all() -> None:
        client = Client(Slow(seconds))
        tasks = [asyncio.create_task(client.complete(ask())) for _ in range(3)]
        for at in (1, 1.01):
            for task in tasks:
                asyncio.get_running_loop().call_at(at, task.cancel)
        await asyncio.gather(*tasks)

    with caplog.at_level(logging.WARNING):
        on_virtual_time(stop_all())
    assert caplog.messages == ["Waiting up to 10 s for 3 answers that are paid for."] * lines


# Notes of what was sent


def test_every_request_is_on_disk_before_it_leaves_and_until_its_answer_is(tmp_path: Path) -> None:
    path, seen = tmp_path / "r.sqlite", []

    def brain(messages: Any, body: dict[str, Any]) -> str:
        ((known,),) = rows(path, "SELECT count(*) FROM asks")
        seen.append((known, len(seen) + 1))
        return stub(messages, body)

    with LLMServer(brain=brain) as server:
        PublicGoods(
            n_players=6, n_rounds=2, minds=f"llm:stub@{server.url}", rng=1, recording=path,
        ).run_model()  # fmt: skip
    assert len(seen) == 12
    assert [(known, sent) for known, sent in seen if known < sent] == []
    assert rows(path, "SELECT count(*) FROM asks WHERE raw IS NULL") == [(0,)]


@pytest.mark.parametrize(("fault", "noted"), [("429", 0), ("bad-json", 2)])
def test_what_may_be_billed_without_an_answer_stays_noted(
    tmp_path: Path, fault: str, noted: int
) -> None:
    """A request that fails is sent twice here, where that helps; the others are answered."""
    path = tmp_path / "r.sqlite"
    failing: set[str] = set()
    answered: list[str] = []

    def faults(_number: int, body: dict[str, Any]) -> str | None:
        text = str(body["messages"])
        if not failing:
            failing.add(text)
        if text in failing:
            return fault
        answered.append(text)
        return None

    with LLMServer(faults=faults) as server, pytest.raises(LLMError):
        contest(server, recording=path, connection=Connection(max_retries=1)).run_model()
    assert rows(path, "SELECT count(*) FROM asks WHERE raw IS NULL") == [(noted,)]
    assert rows(path, "SELECT count(*) FROM answers") == [(len(answered),)]


def given_up(server: LLMServer, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is stopped while 6 answers are under way, which do not come in time."""
    monkeypatch.setattr("sabm_mesa.llm.client.GRACE_S", 0.05)
    server.hold()
    model = contest(server, minds=f"llm:gpt-4o-mini@{server.url}", n_rounds=1, recording=path)
    thread = threading.Thread(target=pytest.raises, args=(RunError, model.run_model))
    thread.start()
    server.wait_until(lambda s: s.in_flight == 6)
    assert lost_before(load_runs(path), None).asks == 0  # they are under way
    model.stop()
    thread.join()
    server.release()


def test_answers_that_were_lost_count_for_caps_as_the_most_that_they_can_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=first_question) as server:
        given_up(server, path, monkeypatch)
        lost = lost_before(load_runs(path), None)
        price = PriceTable().of("gpt-4o-mini")
        most = [
            most_of([m["content"] for m in seen.messages], 256, price) for seen in server.requests
        ]
        assert lost.asks == 6
        assert lost.tokens == sum(each.tokens for each in most)
        assert lost.cost_usd == pytest.approx(math.fsum(each.cost_usd for each in most))
        with pytest.raises(BudgetExceeded, match="10 asks is used up: 10 spent"):
            resume(path, connection=Connection(budget=Budget(max_asks=10)))
        assert rows(path, "SELECT count(*) FROM answers") == [(4,)]
        resume(path, connection=Connection(budget=Budget(max_asks=12)))
    assert rows(path, "SELECT count(*) FROM asks WHERE raw IS NULL") == [(6,)]
