"""The home page: a card for every scenario of the registry."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import cache

import solara
import solara.lab

from sabm_mesa.models.registry import find_all, scenario
from sabm_mesa.visualization.frame import Head
from sabm_mesa.visualization.html import html, inside, picture, problem
from sabm_mesa.visualization.scenario_view import Picture, ScenarioView, one_sentence

_painter = ThreadPoolExecutor(1, thread_name_prefix="sabm-cards")
"""Draws one picture after another, in the order of the cards."""


@solara.component
def Page() -> None:
    """The scenarios to choose from, and the problems of unusable ones."""
    Head()
    found = find_all()
    with inside("main", "sabm-home"):
        html("h1", "Smart agent-based models")
        html(
            "p",
            "Agents that talk and reason: choose a scenario, press Play and watch.",
            "sabm-lead",
        )
        with inside("div", "sabm-cards"):
            for name in found.models:
                Card(name).key(name)
        for line in found.problems:
            problem(line)


@solara.component
def Card(name: str) -> None:
    """A scenario, with a picture that is drawn when it is first wanted.

    Args:
        name: the name of the scenario in the registry.
    """
    model = scenario(name)
    coming = _picture(name)

    def wait() -> Picture | None:
        try:
            return coming.result()
        except CancelledError:  # the server ends (`stop_drawing`)
            return None

    drawn = solara.lab.use_task(wait, dependencies=[name], raise_error=False)
    with solara.Link(f"/scenario/{name}"), inside("article", "sabm-card sabm-teaser"):
        with inside("div", "sabm-teaser-picture"):
            with inside("div", "sabm-teaser-drawn"):  # both stay: a widget keeps its tag
                if drawn.value is not None:
                    picture(drawn.value)
            with inside("div", "sabm-teaser-wait", role="status"):
                if drawn.value is None:
                    failed = "The picture could not be drawn."
                    html("p", failed if drawn.error else "A run is being drawn …", "sabm-empty")
        html("h2", model.title)
        html("p", one_sentence(model))
        html("p", model.source, "sabm-source")


def draw_all() -> None:
    """Have the pictures of all cards drawn, once in the life of the server."""
    for name in find_all().models:
        _picture(name)


def stop_drawing() -> None:
    """Draw no further pictures: the server ends."""
    _painter.shutdown(wait=False, cancel_futures=True)


@cache
def _picture(name: str) -> Future[Picture]:
    return _painter.submit(lambda: ScenarioView(scenario(name)).card())
