"""The limit of guesses, and whose address a try is counted for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sabm_mesa.visualization.middleware import (
    FREE_TRIES,
    FREE_TRIES_OF_SECRET,
    LONGEST_DELAY_S,
    TRIED_S,
    SecretLimiter,
)
from sabm_mesa.visualization.server import PROXIES, _config

pytestmark = pytest.mark.check_once


class Door:
    """A limited door with a clock that is moved by hand, where waits end when the test says so."""

    def __init__(self) -> None:
        self.now, self.waits, self.tested = 0.0, [], 0
        self.go_on = asyncio.Event()
        self.limiter = SecretLimiter(lambda: self.now, self._wait)

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        await self.go_on.wait()

    async def knock(self, given: str, address: str = "192.0.2.1", secret: str = "a code") -> bool:
        def check() -> bool | None:
            self.tested += 1
            return given == "right" or None

        return await self.limiter.test(secret, address, check) is not None


def test_tries_at_once_are_no_way_around_the_limit() -> None:
    async def scene() -> None:
        door = Door()
        guesses = [asyncio.create_task(door.knock("wrong")) for _ in range(400)]
        honest = asyncio.create_task(door.knock("right"))
        await asyncio.sleep(0)

        assert door.tested == FREE_TRIES
        assert door.waits.count(LONGEST_DELAY_S) == 400 - FREE_TRIES - 5 + 1
        door.go_on.set()
        assert not any(await asyncio.gather(*guesses))
        assert await honest

    asyncio.run(scene())


def test_a_class_that_joins_at_once_does_not_wait() -> None:
    async def scene() -> None:
        door = Door()
        assert all(await asyncio.gather(*(door.knock("right") for _ in range(200))))
        assert not door.waits

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("192.0.2.1", "::ffff:192.0.2.1"), ("2001:db8::1", "2001:db8::ffff:2"), ("", "")],
)
def test_an_address_that_its_owner_can_vary_counts_once(ours: str, theirs: str) -> None:
    async def scene() -> None:
        door = Door()
        for _ in range(FREE_TRIES):
            await door.knock("wrong", ours)
        door.go_on.set()
        assert await door.knock("right", theirs)
        assert door.waits == [0.5]
        assert await door.knock("right", "198.51.100.1")
        assert door.waits == [0.5]
        door.now = TRIED_S + 1
        assert await door.knock("right", ours)
        assert door.waits == [0.5]

    asyncio.run(scene())


def test_many_addresses_that_try_one_secret_wait_too() -> None:
    async def scene() -> None:
        door = Door()
        door.go_on.set()
        for place in range(FREE_TRIES_OF_SECRET):
            await door.knock("wrong", f"198.51.{place // 100}.{place % 100}")
        assert not door.waits
        await door.knock("wrong", "192.0.2.9")
        assert door.waits == [0.5]
        await door.knock("wrong", "192.0.2.9", "another code")
        assert door.waits == [0.5]

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("proxies", "found"),
    [("", "192.0.2.1"), ("198.51.100.1", "192.0.2.1"), ("192.0.2.0/24", "203.0.113.5")],
)
def test_only_a_named_proxy_says_whose_request_it_is(
    proxies: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROXIES, proxies)
    seen: list[Any] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope["client"][0])

    config = _config(app, "none")
    config.load()
    headers = [(b"x-forwarded-for", b"8.8.8.8, 203.0.113.5")]
    scope = {"type": "http", "headers": headers, "client": ("192.0.2.1", 1), "scheme": "http"}
    asyncio.run(config.loaded_app(scope, None, None))

    assert seen == [found]
