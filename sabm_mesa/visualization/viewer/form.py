"""The settings of a scenario's page: the kinds of minds, and the fields of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import solara
import solara.lab

from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.runs.try_model import MOST_ASKS
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.viewer.controls import LANGUAGE_MODELS, Control
from sabm_mesa.visualization.viewer.html import choice, field, html, inside, unfolds
from sabm_mesa.visualization.viewer.page_state import PageState
from sabm_mesa.visualization.viewer.polling import use_poll

AT_ONCE, FEW = ("game", "minds", "condition"), 3
"""Parameters that are shown at once, with this many of the scenario's own and the seed."""
Line = tuple[str, str, str]
"""State (``ok``, ``warning`` or ``problem``), subject and text of a finding."""


@solara.component
def Form(page_state: PageState) -> None:
    """The controls, and the settings for access to language models."""
    use_poll(lambda: (page_state.wrong, page_state.values))
    controls = [control for control in page_state.controls if control.name not in page_state.fixed]
    apart = {*AT_ONCE, "personas"}
    own = [control.name for control in controls if control.main and control.name not in apart]
    names = {*AT_ONCE, "rng", *own[:FEW]}
    for control in controls:
        if control.name in names:
            _input(page_state, control)
    with unfolds("Language models"):
        for control in LANGUAGE_MODELS:
            _input(page_state, control)
        html("p", "Keys are read from the environment of the server.", "sabm-hint")
    with unfolds("Further parameters"):
        for control in sorted(controls, key=lambda each: not each.main):
            if control.name not in names:
                _input(page_state, control)


def _input(page_state: PageState, control: Control) -> None:
    value = page_state.values.get(control.name, control.default)
    Input(page_state, control, value, control.name == page_state.wrong).key(control.name)


@solara.component
def Input(page_state: PageState, control: Control, value: Any, wrong: bool) -> None:
    """The input for one parameter."""

    def changed(new: Any) -> None:
        page_state.set(control.name, "" if new is None else new)

    legal = f" Legal: {control.legal}." if control.legal else ""
    with inside("div", "sabm-input" + (" sabm-wrong" if wrong else ""), title=control.help + legal):
        if control.name == "minds":
            MindChips(page_state, str(value), changed)
        if control.kind == "checkbox":
            solara.Checkbox(label=control.label, value=value, on_value=changed)
        elif control.kind == "select":
            choice(control.label, control.options, value, changed)
        elif control.kind == "suggest":
            solara.v.Combobox(
                label=control.label, items=list(control.options), v_model=value,
                on_v_model=changed, error=wrong, hide_details=True,
            )  # fmt: skip
        elif control.kind == "number":
            field(control.label, value, changed, kind="whole", low=control.low, high=control.high)
        else:
            hint = "" if control.main else _hint(control)
            field(control.label, value, changed, hint=hint, wrong=wrong)


def _hint(control: Control) -> str:
    """A short help text with the legal numbers and the default."""
    short = control.help.partition("; None")[0].partition(". ")[0].removesuffix(".")
    default = f"default {control.default}" if control.default else ""
    more = "; ".join(filter(None, [control.legal, default]))
    return f"{short} ({more})" if more else short


@solara.component
def MindChips(page_state: PageState, value: str, change: Callable[[str], None]) -> None:
    """The kinds of minds above their field, which they fill in, and the check of a model."""
    asked, ask = solara.use_state("")

    def work() -> tuple[str, list[Line]]:
        if not asked:
            return "", []
        try:
            return asked, page_state.check_model(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            return asked, [("problem", "model", error_line(error))]

    task = solara.lab.use_task(work, dependencies=[asked])
    spec, checked = task.value if task.value is not None else ("", [])
    lines = checked if spec == asked and spec and spec in value else []
    _Chips(
        value=value, rules=str(parameters_of(page_state.scenario)["minds"].default),
        people=len(page_state.controller.model.population), lines=lines, asks=MOST_ASKS,
        checking=bool(asked) and spec != asked, event_change=change, event_check=ask,
    )  # fmt: skip


@solara.component_vue("mind_chips.vue")
def _Chips(
    value: str,
    rules: str,
    people: int,
    lines: Sequence[Line],
    asks: int,
    checking: bool,
    event_change: Callable[[str], None] | None = None,
    event_check: Callable[[str], Any] | None = None,
) -> None: ...
