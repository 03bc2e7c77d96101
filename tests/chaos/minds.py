"""Minds whose answers depend on the place in the run alone, and are now and then unusable."""

from __future__ import annotations

import asyncio
from random import Random

from sabm_mesa.core.answers import Choice, Number, Reply
from sabm_mesa.core.asks import Ask
from tests.chaos.bill import PAID, Bill
from tests.chaos.points import ANSWERED, SENDING, Fate


class Billed:
    """A paid mind that writes a bill, and can die before and after it answers."""

    spec, instant, paid = "billed", False, True

    def __init__(self, bill: Bill, fate: Fate) -> None:
        self._bill, self._fate = bill, fate

    async def answer(self, ask: Ask) -> Reply:
        self._fate.reach(SENDING)
        place = f"{ask.rng.integers(2**63):016x}"  # each attempt has a random stream of its own
        draw = Random(place)
        for _ in range(draw.randint(0, 4)):
            await asyncio.sleep(0)
        self._bill.note(PAID, place)
        self._fate.reach(ANSWERED)
        return Reply(
            _drawn(ask, draw), prompt_tokens=draw.randint(10, 99), completion_tokens=7,
            cost_usd=draw.random(), latency_s=0.5, model=place, finish_reason="stop",
        )  # fmt: skip


class Free:
    """A free mind that waits and draws from the agent's stream, which continues from ask to ask."""

    spec, instant, paid = "free", False, False

    async def answer(self, ask: Ask) -> Reply:
        draw = Random(int(ask.rng.integers(2**63)))
        for _ in range(draw.randint(0, 4)):
            await asyncio.sleep(0)
        return Reply(_drawn(ask, draw))


def _drawn(ask: Ask, draw: Random) -> object:
    if draw.random() < 0.2:
        return "no\nidea"
    match ask.spec:
        case Number(low=low, high=high, integer=True):
            return draw.randint(int(low), int(high))
        case Number(low=low, high=high):
            return draw.uniform(low, high)
        case Choice(options=options):
            return draw.choice(options)
    return "I say " + "ha " * draw.randint(1, 9)
