"""Bounded retries: how often, and after which waits."""

import asyncio

import pytest

from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import LLMError, RateLimited, ServerUnavailable
from sabm_mesa.llm import Request, ScriptedClient
from sabm_mesa.llm.client import LONGEST_WAIT_S, MAX_RETRIES, Client, Sender
from sabm_mesa.llm.limit import Limiter
from tests.llm.support import VirtualLoop, ask, completion, on_virtual_time, turn

HOUR_S = 3600.0


class Timed(Sender):
    """Notes when it is asked; fails with the same error until it is asked for the last time."""

    def __init__(self, error: LLMError, failures: int) -> None:
        super().__init__()
        self.script = iter([error] * failures)
        self.times: list[float] = []

    async def send(self, _request: Request) -> Reply:
        self.times.append(asyncio.get_running_loop().time())
        for error in self.script:
            raise error
        return completion("yes")

    @property
    def waits(self) -> list[float]:
        return [
            round(after - before, 9)
            for before, after in zip(self.times, self.times[1:], strict=False)
        ]


@pytest.mark.parametrize("kind", [RateLimited, ServerUnavailable])
def test_waits_double_with_a_random_share(kind: type[RateLimited]) -> None:
    server = Timed(kind("no"), MAX_RETRIES)
    done = on_virtual_time(Client(server).complete(ask()))
    assert done.answer == "yes"
    assert done.retries == MAX_RETRIES
    for retry, wait in enumerate(server.waits):
        assert 0.25 * 2**retry <= wait <= 0.5 * 2**retry


@pytest.mark.parametrize(("asked", "low", "high"), [(7.0, 7.125, 7.25), (3600.0, 60, 60)])
def test_the_wait_that_the_server_asks_for_is_kept(asked: float, low: float, high: float) -> None:
    server = Timed(RateLimited("no", asked), 1)
    on_virtual_time(Client(server).complete(ask()))
    (wait,) = server.waits
    assert low <= wait <= high <= max(LONGEST_WAIT_S, asked)


def test_the_wait_has_an_end() -> None:
    server = Timed(ServerUnavailable("no"), 9)
    on_virtual_time(Client(server, max_retries=9).complete(ask()))
    assert server.waits[-1] == LONGEST_WAIT_S


@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_it_gives_up_after_the_last_retry(max_retries: int) -> None:
    server = Timed(ServerUnavailable("no"), 10)
    with pytest.raises(ServerUnavailable):
        on_virtual_time(Client(server, max_retries=max_retries).complete(ask()))
    assert len(server.times) == max_retries + 1


def test_an_address_where_nothing_ever_answered_is_told_soon() -> None:
    nothing = ServerUnavailable("no", reached=False)
    server = Timed(nothing, MAX_RETRIES)
    with pytest.raises(ServerUnavailable):
        on_virtual_time(Client(server).complete(ask()))
    assert server.times[-1] <= 1.5

    script = ["yes", *[nothing] * MAX_RETRIES, "yes again"]  # it is restarted
    retried = ScriptedClient(script, max_retries=MAX_RETRIES)
    assert [on_virtual_time(retried.complete(ask())).answer for _ in range(2)] == [
        "yes",
        "yes again",
    ]


def test_it_can_be_stopped_while_it_waits() -> None:
    async def work() -> None:
        task = asyncio.create_task(Client(Timed(RateLimited("no", 50), 9)).complete(ask()))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.get_running_loop().time() == 1

    on_virtual_time(work())


def test_a_clock_that_jumps_during_back_off_sends_no_request_twice() -> None:
    class Refusing(Sender):
        sent = 0

        async def send(self, _request: Request) -> Reply:
            self.sent += 1
            if self.sent == 1:
                raise RateLimited("too many", 1e9)
            return completion("yes")

    async def work() -> tuple[int, str, float]:
        loop, endpoint, limiter = asyncio.get_running_loop(), Refusing(), Limiter()
        assert isinstance(loop, VirtualLoop)
        limiter.refused(0.0, 1e9)
        waiting = [asyncio.ensure_future(limiter.acquire()) for _ in range(3)]
        asking = asyncio.ensure_future(Client(endpoint).complete(ask()))
        await turn()
        before = endpoint.sent
        loop.selector.jumped += HOUR_S
        await asyncio.gather(*waiting)
        done = await asking
        assert before == 1
        return endpoint.sent, done.answer, loop.time() - HOUR_S

    sent, text, late = on_virtual_time(work())
    assert (sent, text) == (2, "yes")
    assert late < LONGEST_WAIT_S
