"""Adaptive concurrency, on virtual time: which request goes when is exact."""

import asyncio
import random
import resource
from pathlib import Path

import pytest

from sabm_mesa.core.answers import Reply
from sabm_mesa.core.engine import RESERVED_FILES
from sabm_mesa.errors import RateLimited, ServerUnavailable
from sabm_mesa.llm.client import Client, Sender
from sabm_mesa.llm.limit import (
    CEILING,
    CUT,
    FEWEST,
    LONGEST_PAUSE_S,
    START,
    Limiter,
)
from sabm_mesa.llm.request import Request
from tests.llm.support import ask, completion, on_virtual_time


def test_no_more_requests_than_files_can_be_opened(caplog: pytest.LogCaptureFixture) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (len([*Path("/dev/fd").iterdir()]) + RESERVED_FILES + 4, hard)
        )
        few = Limiter(START)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert few.places in {3, 4}
    few.in_flight = 3
    for _ in range(100):
        few.answered()
    assert few.places in {3, 4}
    assert "because few files can be opened" in caplog.text
    assert Limiter(START).places == START


class Endpoint(Sender):
    """Answers a second after it was asked, up to a capacity; notes when each request came."""

    def __init__(self, capacity: int = 10**6, retry_after: float | None = None) -> None:
        super().__init__()
        self.capacity, self.retry_after = capacity, retry_after
        self.in_flight = self.most = self.refusals = 0
        self.sent: list[tuple[float, str]] = []

    async def send(self, request: Request) -> Reply:
        self.sent.append((asyncio.get_running_loop().time(), request.messages[0][1]))
        if self.in_flight >= self.capacity:
            self.refusals += 1
            await asyncio.sleep(0)
            raise RateLimited("too many", self.retry_after)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(1)
        finally:
            self.in_flight -= 1
        return completion("yes")

    def at(self, second: float) -> int:
        return sum(sent == pytest.approx(second) for sent, _ in self.sent)


def within(limiter: Limiter, server: Sender, ceiling: int = CEILING) -> Client:
    """A client that is stopped at once and sends nothing again."""
    return Client(server, limiter=limiter, ceiling=ceiling, max_retries=0, grace_s=0)


async def all_of(client: Client, n: int) -> list[object]:
    asks = (client.complete(ask(str(i))) for i in range(n))
    return await asyncio.gather(*asks, return_exceptions=True)


async def flood(limiter: Limiter, n: int) -> float:
    """Send n requests at once; when the last of them may go is when they were sent."""
    sent = [await limiter.acquire() for _ in range(n)]
    return sent[-1]


def test_slow_start_doubles_each_round_trip_and_answers_in_order() -> None:
    endpoint, limiter = Endpoint(), Limiter(start=2)
    on_virtual_time(all_of(within(limiter, endpoint), 14))
    assert [endpoint.at(second) for second in range(4)] == [2, 4, 8, 0]
    assert [text for _, text in endpoint.sent] == [str(i) for i in range(14)]
    assert limiter.in_flight == 0


def test_the_limit_is_cut_once_for_a_burst() -> None:
    async def work() -> None:
        limiter = Limiter(start=10)
        sent = await flood(limiter, 10)
        for _ in range(10):
            limiter.refused(sent, None)
            limiter.release()
            await asyncio.sleep(0.01)
        assert limiter.limit == 10 * CUT
        limiter.refused(await flood(limiter, 5), None)
        assert limiter.limit == 5 * CUT

    on_virtual_time(work())


def test_a_request_that_was_alone_is_no_sign_of_too_many() -> None:
    async def work() -> None:
        limiter = Limiter(start=10)
        limiter.refused(await limiter.acquire(), 3.0)
        assert limiter.limit == 10
        assert await limiter.acquire() == 3.0

    on_virtual_time(work())


def test_the_limit_is_never_below_one() -> None:
    async def work() -> None:
        limiter = Limiter(start=2)
        sent = await flood(limiter, 2)
        limiter.limit = 1
        limiter.refused(sent, None)
        assert limiter.limit == limiter.places == 1

    on_virtual_time(work())


def test_after_a_cut_the_limit_probes_slowly() -> None:
    async def work() -> None:
        limiter = Limiter(start=25)
        limiter.refused(await flood(limiter, 25), None)
        assert limiter.limit == 20
        for _ in range(20):
            limiter.answered()
        assert limiter.limit == pytest.approx(21, abs=0.03)
        small = Limiter(start=2)
        small.refused(await flood(small, 2), None)
        for _ in range(FEWEST):
            small.answered()
        assert small.limit == pytest.approx(1.6 + 1)

    on_virtual_time(work())


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    endpoint, limiter = Endpoint(), Limiter(start=4)

    async def work() -> None:
        for _ in range(20):
            await all_of(within(limiter, endpoint), 2)

    on_virtual_time(work())
    assert limiter.limit == 4


def test_the_limit_has_an_end() -> None:
    async def work() -> None:
        limiter = Limiter(start=CEILING)
        await flood(limiter, CEILING)
        limiter.answered()
        assert limiter.limit == limiter.places == CEILING

    on_virtual_time(work())


def test_retry_after_pauses_all_and_can_be_made_longer() -> None:
    async def work() -> list[float]:
        loop, limiter = asyncio.get_running_loop(), Limiter()
        sent = await limiter.acquire()
        limiter.refused(sent, 2.0)
        asks = [asyncio.create_task(limiter.acquire()) for _ in range(2)]
        await asyncio.sleep(1)
        limiter.refused(sent, 3.0)
        limiter.refused(sent, 0.5)
        assert await asyncio.gather(*asks) == [4.0, 4.0]
        for _ in range(3):
            limiter.release()
        limiter.refused(sent, 3600.0)
        return [await limiter.acquire() - 4.0, loop.time() - 4.0]

    assert on_virtual_time(work()) == [LONGEST_PAUSE_S] * 2


@pytest.mark.parametrize("capacity", [1, 4, 30])
@pytest.mark.parametrize("retry_after", [None, 0.5])
def test_it_settles_at_what_the_endpoint_bears(capacity: int, retry_after: float | None) -> None:
    endpoint, limiter = Endpoint(capacity, retry_after), Limiter()
    client, n = within(limiter, endpoint), 300

    async def insist(i: int) -> None:
        while True:
            try:
                await client.complete(ask(str(i)))
            except RateLimited:
                await asyncio.sleep(random.Random(i).random())
            else:
                return

    async def work() -> float:
        await asyncio.gather(*(insist(i) for i in range(n)))
        return asyncio.get_running_loop().time()

    seconds = on_virtual_time(work())
    assert endpoint.most == capacity
    assert seconds < 2 * n / capacity + 20
    assert limiter.limit < 2 * capacity + 2
    assert limiter.in_flight == 0


def test_the_lowest_ceiling_of_those_that_ask_holds_for_all() -> None:
    endpoint, limiter = Endpoint(), Limiter()
    narrow, wide = (within(limiter, endpoint, ceiling) for ceiling in (2, 5))

    async def work() -> None:
        await asyncio.gather(all_of(narrow, 4), all_of(wide, 12))

    on_virtual_time(work())
    assert [endpoint.at(second) for second in range(5)] == [2, 2, 5, 5, 2]


def test_no_wake_up_is_lost_whatever_is_cancelled() -> None:
    async def one(client: Client, patience: float, seed: int) -> str:
        try:
            async with asyncio.timeout(patience):
                await client.complete(ask(str(seed)))
        except TimeoutError:
            return "gave up"
        except RateLimited:
            return "refused"
        return "answered"

    async def work(seed: int) -> list[str]:
        draw = random.Random(seed)
        limiter = Limiter(start=3)
        endpoint = Endpoint(draw.choice([1, 5]), retry_after=draw.choice([None, 0.5]))
        clients = [within(limiter, endpoint, ceiling) for ceiling in (2, 4, CEILING)]
        ends = await asyncio.gather(
            *(one(draw.choice(clients), draw.uniform(0, 30), i) for i in range(60))
        )
        assert limiter.in_flight == 0
        assert limiter.places == int(limiter.limit)
        assert endpoint.in_flight == 0
        return ends

    ends = [end for seed in range(40) for end in on_virtual_time(work(seed))]
    assert {*ends} == {"answered", "refused", "gave up"}


def test_other_errors_leave_the_limit_alone() -> None:
    class Broken(Sender):
        async def send(self, request: Request) -> Reply:
            raise ServerUnavailable(str(request.model))

    limiter = Limiter()
    (error,) = on_virtual_time(all_of(within(limiter, Broken()), 1))
    assert isinstance(error, ServerUnavailable)
    assert limiter.limit == START
    assert limiter.in_flight == 0
