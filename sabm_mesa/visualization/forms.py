"""The form of a scenario's page.

Solara puts the value that it knows back into every input whenever anything on the page is drawn
again, which is often while a model plays. So an input for texts keeps in the browser what somebody
is typing, and makes it known when it is left or Enter is pressed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import solara

from sabm_mesa.visualization.access import open_to_others
from sabm_mesa.visualization.controls import LANGUAGE_MODELS, SLIDER_MAX, Control
from sabm_mesa.visualization.html import html, inside
from sabm_mesa.visualization.pages.play_parts import use_poll

Set = Callable[[str, Any], None]
OTHERS = (
    "Others can reach this server, so its key is sent to no address that is given here: the server "
    "is started with its own, sabm view --base-url URL."
)


@solara.component
def Form(
    controls: Sequence[Control], fixed: Mapping[str, Any], on_set: Set, wrong: Callable[[], str]
) -> None:
    """The controls, and how language models are reached.

    Args:
        controls: the controls.
        fixed: parameters that the page itself sets, without a control.
        on_set: called with a name and its new value.
        wrong: the name of what could not be used, or ``""``.
    """
    use_poll(wrong)
    marked = wrong()
    shown = [control for control in controls if control.name not in fixed]
    for control in shown:
        if control.main:
            Input(control, on_set, control.name == marked).key(control.name)
    with inside("details", "sabm-details"):
        html("summary", "Language models")
        for control in LANGUAGE_MODELS:
            Input(control, on_set, control.name == marked).key(control.name)
        html("p", "The key is read from OPENAI_API_KEY of the server.", "sabm-hint")
        if open_to_others():
            html("p", OTHERS, "sabm-hint")
    with inside("details", "sabm-details"):
        html("summary", "Further parameters")
        for control in shown:
            if not control.main:
                Input(control, on_set, control.name == marked).key(control.name)


@solara.component
def Input(control: Control, on_set: Set, wrong: bool = False) -> None:
    """The input for one parameter.

    Args:
        control: what is set.
        on_set: called with the parameter and its new value.
        wrong: whether what it holds could not be used.
    """
    value, set_value = solara.use_state(control.default)

    def changed(new: Any) -> None:
        set_value("" if new is None else new)
        on_set(control.name, "" if new is None else new)

    with inside("div", "sabm-input" + (" sabm-wrong" if wrong else ""), title=control.help):
        if control.kind == "checkbox":
            solara.Checkbox(label=control.label, value=value, on_value=changed)
        elif control.kind == "slider":
            most = max(SLIDER_MAX, 2 * control.default, value)
            with inside("div", "sabm-slider"):
                with solara.v.Html(tag="div").key(str(most)):  # a slider cuts what is beyond it off
                    solara.SliderInt(f"{control.label}:", value, 1, most, on_value=changed)
                _NumberInput(label=control.label, value=value, event_change=changed)
        elif control.kind == "select":
            solara.Select(control.label, list(control.options), value, on_value=changed)
        elif control.kind == "suggest":
            solara.v.Combobox(
                label=control.label, items=list(control.options), v_model=value,
                on_v_model=changed, hint=control.help, persistent_hint=True, error=wrong,
            )  # fmt: skip
        else:
            _TextInput(
                label=control.label, hint=_hint(control), value=value, wrong=wrong,
                event_change=changed,
            )  # fmt: skip


@solara.component_vue("text_input.vue")
def _TextInput(
    label: str,
    hint: str,
    value: str,
    wrong: bool = False,
    event_change: Callable[[str], None] | None = None,
) -> None: ...


@solara.component_vue("number_input.vue")
def _NumberInput(
    label: str, value: int, event_change: Callable[[int], None] | None = None
) -> None: ...


def _hint(control: Control) -> str:
    """What it means, in short, with the default: it is in the field too, until it is changed."""
    short = control.help.partition("; None")[0].partition(". ")[0]
    return short + (f" (default {control.default})" if control.default else "")
