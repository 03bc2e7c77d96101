"""Helpers of the tests of several scenarios: data frames, talks, late answers, plots."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from random import Random

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sabm_mesa import SmartModel
from sabm_mesa.analysis.charts import Chart, Series
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.messages import Message
from sabm_mesa.minds.base import Mind
from sabm_mesa.models.pairs.agents import Chat


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


def chat(round_: int, agents: tuple[int, int], *said: tuple[int, str]) -> Chat:
    """A talk, from (speaker, text) of each turn."""
    first, second = agents
    return Chat(round_, agents, tuple(
        Message(round_, speaker, text, to=(second if speaker == first else first,))
        for speaker, text in said
    ))  # fmt: skip


def labelled(ax: Axes, label: str) -> Line2D:
    """The line of a plot with this label."""
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line


def charts_of(
    model: SmartModel, data: pd.DataFrame | None = None, agents: pd.DataFrame | None = None
) -> dict[str, Chart]:
    """The charts of a run by name, by default with its own data."""
    draw = type(model).page.charts
    assert draw is not None
    data = model.model_frame() if data is None else data
    agents = model.agent_frame() if agents is None else agents
    return {chart.name: chart for chart in draw(model, data, agents)}


def series_of(chart: Chart) -> dict[str, Series]:
    """The series of a chart by label."""
    return {series.label: series for series in chart.series}


def values_of(chart: Chart, label: str) -> list[float]:
    """The values of a series of a chart."""
    return [y for _, y in series_of(chart)[label].points]
