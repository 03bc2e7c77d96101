"""The page of a scenario: its controls, the displayed model, its messages and its cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import solara

from sabm_mesa.visualization import panels
from sabm_mesa.visualization.connections import use_poll
from sabm_mesa.visualization.controls import Form
from sabm_mesa.visualization.frame import Head, is_host, may_see_page
from sabm_mesa.visualization.html import card, html, inside, problem
from sabm_mesa.visualization.labels import counting, error_line
from sabm_mesa.visualization.mind_chips import MindChips
from sabm_mesa.visualization.page_state import PageState
from sabm_mesa.visualization.panels import run_card
from sabm_mesa.visualization.records.parts import STYLE as RECORDS_STYLE
from sabm_mesa.visualization.scenario_view import one_sentence

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


@solara.component
def ScenarioPage(scenario: type[SmartModel], **fixed: Any) -> None:
    """A model with its controls.

    Args:
        scenario: the model class.
        fixed: parameters with which the page starts.
    """
    host = is_host()
    page_state = solara.use_memo(lambda: _page_state(scenario, fixed, host), [scenario, host])
    solara.use_effect(
        lambda: page_state.close if isinstance(page_state, PageState) else None, [page_state]
    )
    Head(scenario.title)
    solara.Style(RECORDS_STYLE)
    if isinstance(page_state, str):
        with inside("main", "sabm-home"):
            html("h1", scenario.title)
            problem(f"The model could not be made: {page_state}")
        return
    with inside("main", "sabm-scenario"):
        _Live(page_state)
        with inside("section", "sabm-card sabm-controls", aria_label="Parameters"):
            html("h2", "Parameters")
            Form(
                page_state.controls, page_state.fixed, page_state.set, lambda: page_state.wrong,
                lambda value, change: MindChips(page_state, value, change),
                page_state.scenario_view.start,
            )  # fmt: skip
        html("p", f"Source: {scenario.source}", "sabm-source")


def _page_state(scenario: type[SmartModel], fixed: dict[str, Any], host: bool) -> PageState | str:
    """Return the state of the page, or a message why its first model cannot be made."""
    try:
        return PageState(scenario, fixed, host=host)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
        return error_line(error)


@solara.component
def _Live(page_state: PageState) -> None:
    """Everything that changes while a model plays; the form is drawn separately."""
    use_poll(page_state.state)
    _, redraw = solara.use_state(0)

    at_once = solara.use_memo(lambda: _at_once(redraw), [])
    controller, of_model = page_state.controller, page_state.scenario_view.names_models
    with inside("div", "sabm-live"):
        with inside("header", "sabm-top"):
            html("h1", page_state.scenario_view.heading(controller.model))
            html("p", one_sentence(page_state.scenario), "sabm-lead")
            panels.banner(page_state)
        with inside("section", "sabm-card sabm-run", aria_label="Run"):
            run_card(page_state, at_once)
        with inside("section", "sabm-main", aria_label="The world and the charts"):
            panels.stage(page_state, at_once)
            panels.charts(page_state, at_once)
            if not of_model:
                panels.beside(controller)
            with card("Agents"):
                panels.agents(page_state, at_once)
            panels.figures(controller)
        with inside("aside", "sabm-side"):
            with card("Conversation"):
                panels.Talk(controller, controller.said(), page_state.looked_at)
            if of_model:  # the table describes the model, not its run
                panels.beside(controller)
            with card(f"This {counting(controller.model)[0]}"):
                panels.latest(controller.model, controller.shown, page_state.at)
            with card("Usage"):
                panels.usage(controller.model)
            with card("Downloads"):
                panels.downloads(controller)
        panels.story(page_state, at_once)


def _at_once(redraw: Callable[..., None]) -> Callable[..., Callable[..., None]]:
    """Make actions that redraw the page without waiting for the next check.

    The same action always gives the same function, so unchanged parts are not redrawn.
    """

    @lru_cache(maxsize=32)
    def at_once(action: Callable[..., None]) -> Callable[..., None]:
        def act(*given: Any) -> None:
            action(*given)
            redraw(lambda times: times + 1)

        return act

    return at_once


@solara.component
def View(scenario: type[SmartModel], **fixed: Any) -> None:
    """A page for one model, as a separate app.

    Args:
        scenario: the model class.
        fixed: parameters that the page sets, without a control.
    """
    with inside("div", "sabm-app"):
        if may_see_page():
            with inside("div", "sabm-body"):
                ScenarioPage(scenario, **fixed)
