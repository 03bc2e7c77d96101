"""The page of a scenario: its controls, the model on show, and what it says and costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import solara

from sabm_mesa.visualization import panels
from sabm_mesa.visualization.forms import Form
from sabm_mesa.visualization.frame import CLOSED, Head, is_host
from sabm_mesa.visualization.html import card, html, inside, problem
from sabm_mesa.visualization.looks import one_sentence
from sabm_mesa.visualization.pages.play_parts import use_poll
from sabm_mesa.visualization.run_card import run_card
from sabm_mesa.visualization.stage import Stage
from sabm_mesa.visualization.words import counting, told

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


@solara.component
def ScenarioPage(scenario: type[SmartModel], **fixed: Any) -> None:
    """A model to watch, with its controls.

    Args:
        scenario: the model class.
        fixed: parameters with which the page starts.
    """
    stage = solara.use_memo(lambda: _stage(scenario, fixed), [scenario])
    solara.use_effect(lambda: stage.close if isinstance(stage, Stage) else None, [stage])
    Head(scenario.title)
    if isinstance(stage, str):
        with inside("main", "sabm-home"):
            html("h1", scenario.title)
            problem(f"The model could not be made: {stage}")
        return
    with inside("main", "sabm-scenario"):
        _Live(stage)
        with inside("section", "sabm-card sabm-controls", aria_label="Parameters"):
            html("h2", "Parameters")
            Form(stage.controls, stage.fixed, stage.set, lambda: stage.wrong)
        html("p", f"Source: {scenario.source}", "sabm-source")


def _stage(scenario: type[SmartModel], fixed: dict[str, Any]) -> Stage | str:
    """What is behind the page; or why its first model cannot be made."""
    try:
        return Stage(scenario, fixed)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
        return told(error)


@solara.component
def _Live(stage: Stage) -> None:
    """All that changes while a model plays; the form stands beside it and is left in peace."""
    use_poll(stage.state)
    _, redraw = solara.use_state(0)

    def at_once(action: Callable[..., None]) -> Callable[..., None]:
        """The action, after which the page is drawn again without waiting for the next look."""

        def act(*given: Any) -> None:
            action(*given)
            redraw(lambda times: times + 1)

        return act

    show = stage.show
    with inside("div", "sabm-live"):
        with inside("header", "sabm-top"):
            html("h1", stage.scenario.title)
            html("p", one_sentence(stage.scenario), "sabm-lead")
            panels.banner(stage)
        with inside("section", "sabm-card sabm-run", aria_label="Run"):
            run_card(stage, at_once)
        with inside("section", "sabm-main", aria_label="Charts"):
            panels.charts(show.model, show.shown)
            panels.beside(show)
        with inside("aside", "sabm-side"):
            with card("Conversation"):
                panels.Talk(show, show.said())
            with card(f"Latest {counting(show.model)[0]}"):
                panels.latest(show.model, show.shown)
            with card("Usage"):
                panels.usage(show.model)
            with card("Downloads"):
                panels.downloads(show)


@solara.component
def View(scenario: type[SmartModel], **fixed: Any) -> None:
    """A page for one model, as an app of its own.

    Args:
        scenario: the model class.
        fixed: parameters that the page sets itself, without a control.
    """
    with inside("div", "sabm-app"), inside("div", "sabm-body"):
        if is_host():
            ScenarioPage(scenario, **fixed)
        else:
            html("main", CLOSED, "sabm-home")
