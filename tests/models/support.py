"""Helpers of the tests of several scenarios: data frames, talks, late answers, batches."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from random import Random
from typing import Any

import mesa
import pandas as pd

from sabm_mesa import SmartModel
from sabm_mesa.agents.pairs import Chat
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.messages import Message
from sabm_mesa.minds.base import Mind


class Late:
    """A mind whose answers come after as many turns of the loop as it draws."""

    paid = instant = False

    def __init__(self, mind: Mind, seed: int) -> None:
        self.mind, self.spec = mind, mind.spec
        self._latency = Random(seed)

    async def answer(self, ask: Ask) -> object:
        for _ in range(self._latency.randint(0, 20)):
            await asyncio.sleep(0)
        return await self.mind.answer(ask)


def frames(model: SmartModel) -> tuple[pd.DataFrame, pd.DataFrame]:
    return model.model_frame(), model.agent_frame()


def assert_same(one: Iterable[pd.DataFrame], other: Iterable[pd.DataFrame]) -> None:
    for left, right in zip(one, other, strict=True):
        pd.testing.assert_frame_equal(left, right, check_exact=True)


def batch(
    scenario: type[SmartModel],
    parameters: dict[str, Any],
    seeds: list[int],
    processes: int = 1,
    **options: Any,
) -> pd.DataFrame:
    """The rows of a batch of Mesa's, with the seeds in ``rng``."""
    # Mesa 3.5 passes its own `rng` on to the models; before, it is a parameter like any other.
    if "rng" in inspect.signature(mesa.batch_run).parameters:
        options["rng"] = seeds
    else:
        parameters = {**parameters, "rng": seeds}
    rows = mesa.batch_run(
        scenario, parameters, number_processes=processes, display_progress=False, **options
    )
    return pd.DataFrame(rows)


def chat(round_: int, agents: tuple[int, int], *said: tuple[int, str]) -> Chat:
    """A talk, from (speaker, text) of each turn."""
    first, second = agents
    return Chat(round_, agents, tuple(
        Message(round_, speaker, text, to=(second if speaker == first else first,))
        for speaker, text in said
    ))  # fmt: skip
