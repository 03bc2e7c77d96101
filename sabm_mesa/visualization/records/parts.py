"""Components of the pages of recordings. Text of models is never interpreted as markup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import reacton
import solara
import solara.lab

from sabm_mesa.visualization.html import html, inside, problem, root_path
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.records import charts
from sabm_mesa.visualization.records.rounds import rows

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.visualization.labels import Titles
    from sabm_mesa.visualization.records.store import RunData

STYLE = files(__package__).joinpath("records.css").read_text(encoding="utf-8")
T = TypeVar("T")


def use_read(read: Callable[[], T], dependencies: list[Any]) -> tuple[T | None, str, bool]:
    """Read data outside the page's thread, again whenever a dependency changes.

    Args:
        read: the function that reads it.
        dependencies: the values it depends on.

    Returns:
        The data, the error message, and whether the read is in progress.
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


@solara.component
def Guarded(draw: Callable[[], object]) -> None:
    """The drawing of a function, or the message of the error that it raises.

    Args:
        draw: the function.
    """
    error, _ = reacton.use_exception()
    if error is None:
        draw()
    elif isinstance(error, Exception):
        problem(error_line(error))
    else:
        raise error


def waiting(text: str) -> None:
    """A line about work in progress.

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
    titles: Titles | None = None,
) -> None:
    """A table of data.

    Args:
        caption: a description of its content.
        frame: the data.
        pick: the index of the column whose cells are buttons.
        chosen: the chosen cell of that column.
        choose: called with a clicked cell of that column.
        titles: the titles of the columns; None: the column names.
    """
    names = [str(name) for name in frame.columns]
    Table(
        caption=caption, columns=names if titles is None else [titles[name] for name in names],
        rows=rows(frame),
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
    """A table of texts; the cells of one column may be buttons."""


@solara.component_vue("asks.vue")
def Asks(
    asks: Sequence[dict[str, Any]],
    chosen: int = -1,
    event_choose: Callable[[list[Any]], None] | None = None,
) -> None:
    """The asks of a round. A click sends the ask's key, since the list may change meanwhile."""


@solara.component_vue("exchange.vue")
def Exchange(attempts: Sequence[dict[str, Any]]) -> None:
    """Show the request and the answer of each attempt."""


@solara.component_vue("said.vue")
def Said(messages: Sequence[Sequence[Any]], chosen: str = "") -> None:
    """Show messages with their rounds, speakers and hearers; one may be marked.

    Args:
        messages: round, speaker, hearers, words and address of each.
        chosen: the address of the marked message.
    """


@solara.component_vue("address.vue")
def Address(url: str, what: str) -> None:
    """An address as a button that copies it.

    Args:
        url: the address on this server.
        what: a description of the target, such as "this round".
    """


@solara.component_vue("diff.vue")
def Diff(messages: Sequence[Any]) -> None:
    """Show the words in which two requests differ, as by `rounds.differences`."""


@solara.component_vue("hits.vue")
def Hits(hits: Sequence[dict[str, Any]], event_choose: Callable[[str], None] | None = None) -> None:
    """The hits of a search, each a link into the run."""


def address(
    run: RunData, place: Sequence[Any], message: int | None = None, number: int | None = None
) -> str:
    """The address of a round, an ask or a message on this server; it survives a restart.

    Args:
        run: the run.
        place: the round, or round, phase, agent and call of an ask.
        message: the number of the message in the round, from 0.
        number: another run of the same recording.
    """
    path = run.recorded.path
    with suppress(ValueError):  # absolute if it is not below the folder
        path = path.relative_to(Path.cwd())
    _, first = charts.counting_of(run)
    number = run.recorded.run if number is None else number
    query = {"file": str(path), "run": number, "round": place[0] + first}
    if len(place) > 1:
        query |= {"phase": place[1], "agent": place[2], "question": place[3] + 1}
    if message is not None:
        query |= {"message": message + 1}
    return f"{root_path()}/recording?{urlencode(query)}"


@solara.component_vue("recordings.vue")
def Recordings(
    recordings: Sequence[dict[str, Any]], event_choose: Callable[[str], None] | None = None
) -> None:
    """The list of recordings."""
