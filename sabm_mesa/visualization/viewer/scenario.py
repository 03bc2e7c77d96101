"""The page of a scenario: one screen, and what is below it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import solara

from sabm_mesa.describe.docstrings import spec_sheet
from sabm_mesa.visualization.labels import counting, error_line
from sabm_mesa.visualization.scenario_view import one_sentence
from sabm_mesa.visualization.viewer import panels
from sabm_mesa.visualization.viewer.form import Form
from sabm_mesa.visualization.viewer.frame import Head
from sabm_mesa.visualization.viewer.html import card, html, inside, problem, unfolds
from sabm_mesa.visualization.viewer.page_state import PageState
from sabm_mesa.visualization.viewer.polling import use_poll

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


@solara.component
def ScenarioPage(scenario: type[SmartModel], **fixed: Any) -> None:
    """A model with its controls."""
    page_state = solara.use_memo(lambda: _page_state(scenario, fixed), [scenario])
    solara.use_effect(
        lambda: page_state.close if isinstance(page_state, PageState) else None, [page_state]
    )
    Head(scenario.title)
    if isinstance(page_state, str):
        with inside("main", "sabm-home"):
            html("h1", scenario.title)
            problem(f"The model could not be made: {page_state}")
        return
    with inside("main", "sabm-screen"):
        _Screen(page_state)
        with inside("section", "sabm-card sabm-controls", aria_label="Settings"):
            _Fold()
            with inside("div", "sabm-form"):
                Form(page_state)


def _page_state(scenario: type[SmartModel], fixed: dict[str, Any]) -> PageState | str:
    """Return the state of the page, or a message why its first model cannot be made."""
    try:
        return PageState(scenario, fixed)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
        return error_line(error)


@solara.component_vue("fold.vue")
def _Fold() -> None:
    """Folds the column of the settings."""


@solara.component_vue("questions.vue")
def _Questions(words: list[str], busy: bool, event_choose: Callable[[int], None]) -> None:
    """The questions of a scenario; a click plays with the settings that answer one."""


@solara.component
def _Screen(page_state: PageState) -> None:
    """Everything on the page that changes while a model plays."""
    at_once = _use_page(page_state)
    controller, view = page_state.controller, page_state.scenario_view
    with inside("div", "sabm-live"):
        with inside("header", "sabm-top"):
            html("h1", view.heading(controller.model))
            panels.transport(page_state, at_once)
            _rules(page_state.scenario)
        _Questions(
            words=page_state.questions, busy=page_state.busy,
            event_choose=at_once(page_state.play_question),
        )  # fmt: skip
        with inside("section", "sabm-run", aria_label="Run"):
            panels.status(page_state)
        with inside("section", "sabm-main", aria_label="The picture and the charts"):
            panels.pictures(page_state, at_once)
        with inside("aside", "sabm-side"):
            panels.talk(controller, page_state.looked_at if controller.begun else None)
            with inside("div"):
                if controller.shown.table is not None and view.has_world:
                    with (
                        inside("section", "sabm-card"),
                        unfolds("Table", is_open=view.names_models),
                    ):
                        panels.table(*controller.shown.table)
            with card(f"This {counting(controller.model)[0]}"):
                panels.numbers(controller.model, controller.shown, page_state.at)
                panels.agents(page_state, at_once)
            with (
                inside("section", "sabm-card"),
                unfolds("Usage and files", is_open=page_state.costs),
            ):
                panels.usage(page_state)
                panels.downloads(controller)
        panels.story(page_state, at_once)


def _use_page(page_state: PageState) -> Callable[..., Callable[..., None]]:
    """Draw the component again when the page changes, and make actions that do so at once.

    The same action always gives the same function, so unchanged parts are not redrawn.
    """
    use_poll(page_state.state)
    _, redraw = solara.use_state(0)

    def make() -> Callable[..., Callable[..., None]]:
        @lru_cache(maxsize=32)
        def at_once(action: Callable[..., None]) -> Callable[..., None]:
            def act(*given: Any) -> None:
                action(*given)
                redraw(lambda times: times + 1)

            return act

        return at_once

    return solara.use_memo(make, [])


def _rules(scenario: type[SmartModel]) -> None:
    """The rules of a scenario and its source, which unfold over the page."""
    with inside("details", "sabm-rules"):
        html("summary", "Rules")
        with inside("div", "sabm-card"):
            html("p", one_sentence(scenario))
            html("p", _unwrapped(spec_sheet(scenario).partition("\n")[2].strip()), "sabm-sheet")
            html("p", f"Source: {scenario.source}", "sabm-hint")


def _unwrapped(text: str) -> str:
    """A text of a docstring without the line breaks inside its paragraphs, and without marks."""
    lines = [""]
    for line in text.replace("`", "").splitlines():
        indents = [len(each) - len(each.lstrip()) for each in (lines[-1], line)]
        if line and lines[-1] and indents[0] == indents[1]:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines[1:])


@solara.component
def View(scenario: type[SmartModel], **fixed: Any) -> None:
    """A page for one model, as a separate app.

    Args:
        scenario: the model class.
        fixed: parameters that the page sets, without a control.
    """
    with inside("div", "sabm-app"), inside("div", "sabm-body"):
        ScenarioPage(scenario, **fixed)
