"""What was sent is awaited when a run is stopped, for a while."""

import asyncio
import logging

import pytest

from sabm_mesa.errors import LLMError, ServerUnavailable
from sabm_mesa.llm.client import Completion, Request
from sabm_mesa.llm.in_flight import GRACE_S, FinishInFlightClient
from tests.llm.support import ask, on_virtual_time


class Slow:
    """Answers or fails after some seconds; knows whether it was cut off."""

    def __init__(self, seconds: float, error: LLMError | None = None) -> None:
        self.seconds, self.error, self.cut_off = seconds, error, False

    async def complete(self, request: Request) -> Completion:
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cut_off = True
            raise
        if self.error:
            raise self.error
        return Completion(request.model)


async def stopped(client: Slow, *at: float) -> tuple[Completion | BaseException, float]:
    """Stop a request at these seconds; how it ends, and when."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(FinishInFlightClient(client).complete(ask()))
    for second in at:
        loop.call_at(second, task.cancel)
    (end,) = await asyncio.gather(task, return_exceptions=True)
    seconds = loop.time()
    await asyncio.sleep(0)
    return end, seconds


@pytest.mark.parametrize("at", [(1,), (1, 2, 2, 3)], ids=["once", "several times"])
def test_an_answer_under_way_is_awaited(at: tuple[float, ...]) -> None:
    end, seconds = on_virtual_time(stopped(Slow(5), *at))
    assert isinstance(end, Completion)
    assert end.stopped
    assert seconds == 5


def test_without_a_stop_nothing_changes() -> None:
    end, _ = on_virtual_time(stopped(Slow(5)))
    assert isinstance(end, Completion)
    assert not end.stopped


@pytest.mark.parametrize(
    ("client", "at", "seconds"),
    [
        (Slow(1000), (1,), 1 + GRACE_S),
        (Slow(1000), (1, 2, 9), 1 + GRACE_S),
        (Slow(5, ServerUnavailable("no")), (1,), 5),
    ],
    ids=["no answer within the grace", "stopped three times", "failed after the stop"],
)
def test_otherwise_it_stops(client: Slow, at: tuple[float, ...], seconds: float) -> None:
    end, ended = on_virtual_time(stopped(client, *at))
    assert isinstance(end, asyncio.CancelledError)
    assert ended == pytest.approx(seconds)
    assert client.cut_off == (client.error is None)


def test_an_error_passes() -> None:
    end, _ = on_virtual_time(stopped(Slow(1, ServerUnavailable("no"))))
    assert isinstance(end, ServerUnavailable)


@pytest.mark.parametrize(("seconds", "lines"), [(5.0, 1), (1.1, 0)], ids=["late", "at once"])
def test_the_log_says_once_for_how_many_answers_a_stop_waits(
    seconds: float, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def stop_all() -> None:
        client = FinishInFlightClient(Slow(seconds))
        tasks = [asyncio.create_task(client.complete(ask())) for _ in range(3)]
        for at in (1, 1.01):
            for task in tasks:
                asyncio.get_running_loop().call_at(at, task.cancel)
        await asyncio.gather(*tasks)

    with caplog.at_level(logging.WARNING):
        on_virtual_time(stop_all())
    assert caplog.messages == ["Waiting up to 10 s for 3 answers that are paid for."] * lines
