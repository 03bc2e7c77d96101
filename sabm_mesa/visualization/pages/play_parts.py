"""Parts of the pages of a game."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import solara

from sabm_mesa.minds.human import Question, Seat, inputs_of, text_from
from sabm_mesa.runs.game import Games
from sabm_mesa.visualization.labels import Titles, number

if TYPE_CHECKING:
    import pandas as pd

GAMES = Games()
"""The games of this server: every browser is served by the one process that plays them."""
COLUMN = "display: grid; gap: 12px; max-width: 760px; margin: 0 auto; padding: 16px"


def column() -> Any:
    """The one column of a page, to be filled in a ``with`` block."""
    return solara.v.Html(tag="main", style_=COLUMN)


def card() -> Any:
    """A card, to be filled in a ``with`` block."""
    return solara.v.Html(tag="section", class_="sabm-card")


@solara.component
def Prose(text: str) -> None:
    """A text with its line breaks, as text: nothing in it is taken for markup.

    Args:
        text: the text.
    """
    style = "white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.5"
    solara.v.Html(tag="div", children=[text], style_=style)


@solara.component
def Line(text: str, tag: str = "p") -> None:
    """A line of the page itself.

    Args:
        text: the text.
        tag: ``"p"``, or that of a heading.
    """
    style = "margin: 8px 0; overflow-wrap: anywhere"
    solara.v.Html(tag=tag, children=[text], style_=style).key(tag)  # a widget keeps its tag


@solara.component
def Answer(seat: Seat, holder: str, question: Question) -> None:
    """The input for one question. It is given the question's number as its key.

    Args:
        seat: the seat.
        holder: the secret with which it was taken.
        question: the question.
    """
    refusals, set_refusals = solara.use_state((0, ""))
    remaining = solara.use_memo(lambda: question.remaining_s, [question.number])

    inputs = inputs_of(question.ask.spec)

    def give(given: dict[str, Any]) -> None:
        values = given.get("values")
        values = values if isinstance(values, dict) else {}
        named = {str(path): str(value) for path, value in values.items()}
        answer, reasoning = text_from(inputs, named), str(given.get("reasoning", ""))
        refused = seat.answer(holder, question.number, answer, reasoning)
        if refused:
            set_refusals(lambda last: (last[0] + 1, refused))

    _AnswerForm(
        inputs=[each.as_dict() for each in inputs],
        reasoning=question.ask.spec.reasoning is not None,
        question=question.number,
        remaining_s=remaining,
        refusal=refusals[1],
        refusals=refusals[0],
        event_give=give,
    )


def table(caption: str, frame: pd.DataFrame, titles: Titles | None = None) -> None:
    """A table of data.

    Args:
        caption: a description of its content.
        frame: the data.
        titles: the titles of its columns.
    """
    called = titles or Titles()
    rows = [[number(value) for value in row] for row in frame.itertuples(index=False)]
    columns = [called[str(column)] for column in frame.columns]
    _DataTable(caption=caption, columns=columns, rows=rows)


@solara.component_vue("seat_link.vue")
def SeatLink(path: str, label: str) -> None:
    """A link as text that can be copied, with the address at which this page was opened.

    Args:
        path: the path of the link.
        label: the target in words.
    """


@solara.component_vue("all_links.vue")
def AllLinks(links: list[list[str]], open_: bool, machine: str) -> None:
    """Copies all links at once, and says when they lead nowhere on other machines.

    Args:
        links: label and path of each.
        open_: whether others can reach the server.
        machine: the address of the machine in its network.
    """


@solara.component_vue("answer_form.vue")
def _AnswerForm(
    inputs: list[dict[str, Any]],
    reasoning: bool = False,
    question: int = 0,
    remaining_s: float | None = None,
    refusal: str = "",
    refusals: int = 0,
    event_give: Callable[[dict[str, Any]], None] | None = None,
) -> None: ...


@solara.component_vue("data_table.vue")
def _DataTable(caption: str, columns: list[str], rows: list[list[str]]) -> None: ...
