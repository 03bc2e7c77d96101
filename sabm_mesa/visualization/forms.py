"""The form of a scenario's page.

Solara puts the value that it knows back into every input whenever anything on the page is drawn
again, which is often while a model plays. So an input for texts keeps in the browser what somebody
is typing, and makes it known when it is left or Enter is pressed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import solara

from sabm_mesa.visualization.controls import SLIDER_MAX, Control
from sabm_mesa.visualization.html import html, inside

Set = Callable[[str, Any], None]
LANGUAGE_MODELS = (
    Control("base_url", "Endpoint base URL", "text", "", help="such as http://127.0.0.1:8000/v1"),
    Control("max_asks", "Most requests", "text", "", help="the run stops before more are sent"),
    Control("budget_usd", "Most dollars", "text", "", help="the run stops before more are spent"),
)
"""How language models are reached: no parameters of the run."""


@solara.component
def Form(controls: Sequence[Control], fixed: Mapping[str, Any], on_set: Set) -> None:
    """The controls, and how language models are reached.

    Args:
        controls: the controls.
        fixed: parameters that the page itself sets, without a control.
        on_set: called with a name and its new value.
    """
    shown = [control for control in controls if control.name not in fixed]
    for control in shown:
        if control.main:
            Input(control, on_set).key(control.name)
    with inside("details", "sabm-details"):
        html("summary", "Language models")
        for control in LANGUAGE_MODELS:
            Input(control, on_set).key(control.name)
        html("p", "The key is read from OPENAI_API_KEY of the server.", "sabm-hint")
    with inside("details", "sabm-details"):
        html("summary", "Further parameters")
        for control in shown:
            if not control.main:
                Input(control, on_set).key(control.name)


@solara.component
def Input(control: Control, on_set: Set) -> None:
    """The input for one parameter.

    Args:
        control: what is set.
        on_set: called with the parameter and its new value.
    """
    value, set_value = solara.use_state(control.default)

    def changed(new: Any) -> None:
        set_value("" if new is None else new)
        on_set(control.name, "" if new is None else new)

    with inside("div", "sabm-input", title=control.help):
        if control.kind == "checkbox":
            solara.Checkbox(label=control.label, value=value, on_value=changed)
        elif control.kind == "slider":
            most = max(SLIDER_MAX, 2 * control.default)
            solara.SliderInt(f"{control.label}: {value}", value, 1, most, on_value=changed)
        elif control.kind == "select":
            solara.Select(control.label, list(control.options), value, on_value=changed)
        elif control.kind == "suggest":
            solara.v.Combobox(
                label=control.label, items=list(control.options), v_model=value,
                on_v_model=changed, hint=control.help, persistent_hint=True,
            )  # fmt: skip
        else:
            _TextInput(
                label=control.label, hint=_short(control.help), value=value, event_change=changed
            )  # fmt: skip


@solara.component_vue("text_input.vue")
def _TextInput(
    label: str, hint: str, value: str, event_change: Callable[[str], None] | None = None
) -> None: ...


def _short(text: str) -> str:
    return text.partition("; None")[0].partition(". ")[0]
