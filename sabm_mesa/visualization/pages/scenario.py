"""The page of a scenario: its controls, the model on show, and what it says and costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import solara

from sabm_mesa.visualization import panels
from sabm_mesa.visualization.forms import Form
from sabm_mesa.visualization.frame import Head
from sabm_mesa.visualization.html import card, html, inside, problem
from sabm_mesa.visualization.looks import one_sentence
from sabm_mesa.visualization.pages.play_parts import use_poll
from sabm_mesa.visualization.stage import Stage

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

PACES = {
    "as fast as it goes": 0.0,
    "a round in ½ s": 0.5,
    "a round in 1 s": 1.0,
    "a round in 3 s": 3.0,
}


@solara.component
def ScenarioPage(scenario: type[SmartModel], **fixed: Any) -> None:
    """A model to watch, with its controls.

    Args:
        scenario: the model class.
        fixed: parameters with which the page starts.
    """
    stage = solara.use_memo(lambda: Stage(scenario, fixed), [scenario])
    solara.use_effect(lambda: stage.close, [stage])
    Head(scenario.title)
    with inside("main", "sabm-scenario"):
        _Live(stage)
        with inside("section", "sabm-card sabm-controls", aria_label="Parameters"):
            html("h2", "Parameters")
            Form(stage.controls, stage.fixed, stage.set)
        html("p", f"Source: {scenario.source}", "sabm-source")


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
            panels.banner(show.model)
        with inside("section", "sabm-card sabm-run", aria_label="Run"):
            transport(stage, at_once)
            if stage.busy:
                html("p", "The model is being set up …", "sabm-progress", role="status")
            else:
                panels.progress(show)
            if stage.problem:
                problem(stage.problem)
        with inside("section", "sabm-main", aria_label="Charts"):
            panels.charts(show.shown)
            panels.beside(show)
        with inside("aside", "sabm-side"):
            with card("Latest round"):
                panels.latest(show.model, show.shown)
            with card("Conversation"):
                panels.Talk(show, sum(map(len, show.said().values())))
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
        ScenarioPage(scenario, **fixed)


def transport(stage: Stage, at_once: Callable[..., Callable[..., None]]) -> None:
    """Play, pause, step, reset, and the pace.

    Args:
        stage: the page's model.
        at_once: makes an action draw the page again.
    """
    status = stage.show.status
    ended, busy = status in {"over", "failed"}, status in {"playing", "pausing"}
    with inside("div", "sabm-transport"):
        if status == "playing":
            solara.Button(
                "Pause", icon_name="mdi-pause", color="primary", on_click=at_once(stage.show.pause)
            )  # fmt: skip
        else:
            solara.Button(
                "Play", icon_name="mdi-play", color="primary", on_click=at_once(stage.play),
                disabled=ended or busy or stage.busy,
            )  # fmt: skip
        solara.Button(
            "Step", icon_name="mdi-skip-next", on_click=at_once(stage.step),
            disabled=ended or busy or stage.busy,
        )  # fmt: skip
        solara.Button(
            "Reset", icon_name="mdi-restart", on_click=at_once(stage.reset), disabled=stage.busy
        )
        pace = next(words for words, s in PACES.items() if s == stage.interval_s)
        choose = at_once(lambda words: stage.pace(PACES[words]))
        solara.Select("Pace", list(PACES), value=pace, on_value=choose)
    if stage.dirty and status != "ready":
        html("p", "Parameters have changed: Reset makes a model with them.", "sabm-hint")
