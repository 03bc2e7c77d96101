"""Parts of the pages of recordings. Text of models is always text, never markup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

import solara
import solara.lab

from sabm_mesa.visualization.html import html, inside
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.records.rounds import rows

if TYPE_CHECKING:
    import pandas as pd

STYLE = files(__package__).joinpath("records.css").read_text(encoding="utf-8")
T = TypeVar("T")


def use_read(read: Callable[[], T], dependencies: list[Any]) -> tuple[T | None, str, bool]:
    """Read something off the page's thread, again whenever a dependency changes.

    Args:
        read: the function that reads it.
        dependencies: the values it depends on.

    Returns:
        The content, the problem, and whether it is still being read.
    """

    def careful() -> tuple[list[Any], T | None, str]:
        try:
            return dependencies, read(), ""
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            return dependencies, None, error_line(error)

    task = solara.lab.use_task(careful, dependencies=dependencies)
    if task.value is None or task.value[0] != dependencies:
        return None, "", True
    return task.value[1], task.value[2], False


def waiting(text: str) -> None:
    """A line on work in progress.

    Args:
        text: the line.
    """
    with inside("div", role="status"):
        html("p", text, "sabm-empty")
        label = {"aria-label": text}
        solara.v.ProgressLinear(indeterminate=True, color="primary", height=4, attributes=label)


def table(
    caption: str,
    frame: pd.DataFrame,
    pick: int | None = None,
    chosen: str = "",
    choose: Callable[[str], None] | None = None,
) -> None:
    """A table of data.

    Args:
        caption: a description of its content.
        frame: the data.
        pick: the column whose cells are buttons.
        chosen: the cell of it that is chosen.
        choose: called with a cell of it.
    """
    Table(
        caption=caption, columns=[str(name) for name in frame.columns], rows=rows(frame),
        pick=pick, chosen=chosen, event_choose=choose or (lambda _cell: None),
    )  # fmt: skip


@solara.component_vue("table.vue")
def Table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    pick: int | None = None,
    chosen: str = "",
    event_choose: Callable[[str], None] | None = None,
) -> None:
    """A table whose cells are texts; those of one column may be buttons."""


@solara.component_vue("asks.vue")
def Asks(
    asks: Sequence[dict[str, Any]],
    chosen: int = -1,
    event_choose: Callable[[list[Any]], None] | None = None,
) -> None:
    """The asks of a round; one is chosen by its place, since the list may change under a click."""


@solara.component_vue("exchange.vue")
def Exchange(attempts: Sequence[dict[str, Any]]) -> None:
    """Show the request and the answer of each attempt."""


@solara.component_vue("said.vue")
def Said(messages: Sequence[Sequence[Any]]) -> None:
    """Show the messages with their rounds, speakers and hearers."""


@solara.component_vue("recordings.vue")
def Recordings(
    recordings: Sequence[dict[str, Any]], event_choose: Callable[[str], None] | None = None
) -> None:
    """Recordings to choose from."""
