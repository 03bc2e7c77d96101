"""Chips for kinds of minds, and the check of a language model before a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import solara
import solara.lab

from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.minds.model_check import MOST_ASKS
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.page_state import PageState

Line = tuple[str, str, str]
"""State (``ok``, ``warning`` or ``problem``), subject and text of a finding."""


@solara.component
def MindChips(page_state: PageState, value: str, change: Callable[[str], None]) -> None:
    """The chips above the field of the minds; they fill in the field.

    Args:
        page_state: the page's model.
        value: the value of the field.
        change: called with the new value.
    """
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
) -> None:
    """Rules, a language model, or both; and the findings of the check of the model."""
