"""Bounded retries: how often, and after which waits."""

import asyncio

import pytest

from sabm_mesa.errors import LLMError, RateLimited, ServerUnavailable
from sabm_mesa.llm import Completion, Request, ScriptedClient
from sabm_mesa.llm.limit import Limiter
from sabm_mesa.llm.retry import LONGEST_WAIT_S, MAX_RETRIES, RetryClient
from tests.llm.support import VirtualLoop, ask, on_virtual_time, turn

HOUR_S = 3600.0


class Timed:
    """Notes when it is asked; fails with the same error until it is asked for the last time."""

    def __init__(self, error: LLMError, failures: int) -> None:
        self.script = ScriptedClient([error] * failures + ["yes"])
        self.times: list[float] = []

    async def complete(self, request: Request) -> Completion:
        self.times.append(asyncio.get_running_loop().time())
        return await self.script.complete(request)

    @property
    def waits(self) -> list[float]:
        return [
            round(after - before, 9)
            for before, after in zip(self.times, self.times[1:], strict=False)
        ]


@pytest.mark.parametrize("kind", [RateLimited, ServerUnavailable])
def test_waits_double_with_a_random_share(kind: type[RateLimited]) -> None:
    client = Timed(kind("no"), MAX_RETRIES)
    done = on_virtual_time(RetryClient(client).complete(ask()))
    assert done.text == "yes"
    assert done.retries == MAX_RETRIES
    for retry, wait in enumerate(client.waits):
        assert 0.25 * 2**retry <= wait <= 0.5 * 2**retry


@pytest.mark.parametrize(("asked", "low", "high"), [(7.0, 7.125, 7.25), (3600.0, 60, 60)])
def test_the_wait_that_the_server_asks_for_is_kept(asked: float, low: float, high: float) -> None:
    client = Timed(RateLimited("no", asked), 1)
    on_virtual_time(RetryClient(client).complete(ask()))
    (wait,) = client.waits
    assert low <= wait <= high <= max(LONGEST_WAIT_S, asked)


def test_the_wait_has_an_end() -> None:
    client = Timed(ServerUnavailable("no"), 9)
    on_virtual_time(RetryClient(client, 9).complete(ask()))
    assert client.waits[-1] == LONGEST_WAIT_S


@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_it_gives_up_after_the_last_retry(max_retries: int) -> None:
    client = Timed(ServerUnavailable("no"), 10)
    with pytest.raises(ServerUnavailable):
        on_virtual_time(RetryClient(client, max_retries).complete(ask()))
    assert len(client.times) == max_retries + 1


def test_an_address_where_nothing_ever_answered_is_told_soon() -> None:
    nothing = ServerUnavailable("no", reached=False)
    client = Timed(nothing, MAX_RETRIES)
    with pytest.raises(ServerUnavailable):
        on_virtual_time(RetryClient(client).complete(ask()))
    assert client.times[-1] <= 1.5

    later = ScriptedClient(["yes", *[nothing] * MAX_RETRIES, "yes again"])  # it is restarted
    retried = RetryClient(later)
    assert [on_virtual_time(retried.complete(ask())).text for _ in range(2)] == ["yes", "yes again"]


def test_it_can_be_stopped_while_it_waits() -> None:
    async def work() -> None:
        task = asyncio.create_task(RetryClient(Timed(RateLimited("no", 50), 9)).complete(ask()))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.get_running_loop().time() == 1

    on_virtual_time(work())


def test_a_clock_that_jumps_during_back_off_sends_no_request_twice() -> None:
    class Refusing:
        sent = 0

        async def complete(self, _request: Request) -> Completion:
            self.sent += 1
            if self.sent == 1:
                raise RateLimited("too many", 1e9)
            return Completion("yes")

    async def work() -> tuple[int, str, float]:
        loop, endpoint, limiter = asyncio.get_running_loop(), Refusing(), Limiter()
        assert isinstance(loop, VirtualLoop)
        limiter.refused(0.0, 1e9)
        waiting = [asyncio.ensure_future(limiter.acquire()) for _ in range(3)]
        asking = asyncio.ensure_future(RetryClient(endpoint).complete(ask()))
        await turn()
        before = endpoint.sent
        loop.selector.jumped += HOUR_S
        await asyncio.gather(*waiting)
        done = await asking
        assert before == 1
        return endpoint.sent, done.text, loop.time() - HOUR_S

    sent, text, late = on_virtual_time(work())
    assert (sent, text) == (2, "yes")
    assert late < LONGEST_WAIT_S
