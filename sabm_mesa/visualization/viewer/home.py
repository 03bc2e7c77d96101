"""The home page: three links, and a card for every registered scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

import solara
import solara.lab

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import thumbnail
from sabm_mesa.models.registry import find_all, scenario
from sabm_mesa.visualization.access import NETWORK
from sabm_mesa.visualization.scenario_view import ScenarioView, one_sentence
from sabm_mesa.visualization.viewer.frame import Head
from sabm_mesa.visualization.viewer.html import html, inside, painting, picture, problem

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

LIST = "scenarios"
DOORS = (
    {
        "title": "Watch", "path": "/", "here": LIST,
        "words": "Choose a scenario, press Play, and click an agent for its story.",
    },
    {
        "title": "Play with people", "path": "/host",
        "words": "Open a game: people join by a code, on their own devices.",
    },
    {
        "title": "Read a recording", "path": "/recording",
        "words": "Every prompt, thought and answer of a run, round by round.",
    },
)  # fmt: skip
"""The main links of the viewer; ``here`` is the id of the list on this page."""

_painter = ThreadPoolExecutor(1, thread_name_prefix="sabm-cards")
"""Draws the pictures one at a time, in the order of the cards."""


@solara.component
def Page() -> None:
    """The list of scenarios, and the problems of unusable ones."""
    Head()
    scenarios = find_all()
    with inside("main", "sabm-home"):
        html("h1", "Smart agent-based models")
        html(
            "p",
            "Agents that talk and reason; rules, language models and people decide for them.",
            "sabm-lead",
        )
        Doors(doors=DOORS if NETWORK.web else DOORS[:1])
        html("h2", "Scenarios", "sabm-list", id=LIST, tabindex="-1")
        with inside("div", "sabm-cards"):
            for name in scenarios.models:
                Card(name).key(name)
        for line in scenarios.problems:
            problem(line)


@solara.component_vue("doors.vue")
def Doors(doors: Sequence[Mapping[str, str]]) -> None:
    """The main links of the viewer."""


@solara.component
def Card(name: str) -> None:
    """A scenario, with a picture that is drawn on first use."""
    model = scenario(name)
    drawn = solara.lab.use_task(lambda: _drawn(name), dependencies=[name], raise_error=False)
    with solara.Link(f"/scenario/{name}"), inside("article", "sabm-card sabm-teaser"):
        with inside("div", "sabm-teaser-picture"):
            with inside("div", "sabm-teaser-drawn"):  # a widget cannot change its tag
                if drawn.value is not None:
                    picture(*drawn.value)
            with inside("div", "sabm-teaser-wait", role="status"):
                if drawn.value is None:
                    failed = "The picture could not be drawn."
                    html("p", failed if drawn.error else "A run is being drawn …", "sabm-empty")
        html("h2", model.title)
        html("p", one_sentence(model))
        html("p", model.source, "sabm-source")


def stop_drawing() -> None:
    """Stop drawing pictures, since the server ends."""
    _painter.shutdown(wait=False, cancel_futures=True)


def card_of(model: type[SmartModel]) -> tuple[str, bytes]:
    """The title and the picture of a scenario's card."""
    chart = ScenarioView(model).card()
    with painting():
        return f"{model.title}: {chart.title}", style.to_png(thumbnail(chart))


@cache
def _picture(name: str) -> Future[tuple[str, bytes]]:
    """The queued picture of a card; cancelled after `stop_drawing`."""
    try:
        return _painter.submit(card_of, scenario(name))
    except RuntimeError:  # the executor was shut down
        cancelled: Future[tuple[str, bytes]] = Future()
        cancelled.cancel()
        return cancelled


def _drawn(name: str) -> tuple[str, bytes] | None:
    """Wait for the picture outside the page's thread; None when the server ends."""
    try:
        return _picture(name).result()
    except CancelledError:  # `stop_drawing`
        return None
