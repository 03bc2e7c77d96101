"""Parts of the pages of a game."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import solara

from sabm_mesa.core.answers import AnswerSpec, Choice, Number, Text
from sabm_mesa.minds.human import Question, Seat
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

    def give(given: dict[str, str]) -> None:
        answer, reasoning = given.get("answer", ""), given.get("reasoning", "")
        refused = seat.answer(holder, question.number, str(answer), str(reasoning))
        if refused:
            set_refusals(lambda last: (last[0] + 1, refused))

    _AnswerForm(
        **_form(question.ask.spec),
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
    kind: str = "text",
    label: str = "",
    low: float | None = None,
    high: float | None = None,
    step: int | str = "any",
    options: list[str] | None = None,
    max_words: int = 0,
    reasoning: bool = False,
    question: int = 0,
    remaining_s: float | None = None,
    refusal: str = "",
    refusals: int = 0,
    event_give: Callable[[dict[str, str]], None] | None = None,
) -> None: ...


@solara.component_vue("data_table.vue")
def _DataTable(caption: str, columns: list[str], rows: list[list[str]]) -> None: ...


def _form(spec: AnswerSpec) -> dict[str, Any]:
    form: dict[str, Any] = {"reasoning": spec.reasoning is not None}
    if isinstance(spec, Number):
        kind = "Integer" if spec.integer else "Number"
        step: int | str = 1 if spec.integer else "any"
        form |= {"kind": "number", "label": kind, "step": step}
        if spec.told:
            label = f"{kind} from {spec.low:.15g} to {spec.high:.15g}"
            form |= {"label": label, "low": spec.low, "high": spec.high}
    elif isinstance(spec, Choice):
        form |= {"kind": "choice", "label": "Your choice", "options": list(spec.options)}
    elif isinstance(spec, Text):
        label = "Your words" if spec.numbers else "Your words, without digits"
        form |= {"kind": "text", "label": label, "max_words": spec.max_words}
    return form
