"""Elements of a page that contain text. Text is never interpreted as markup."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

import solara
from solara.server.kernel_context import without_context

from sabm_mesa.analysis import plot_style as style

T = TypeVar("T")


def html(tag: str, text: str = "", classes: str = "", **attributes: str) -> None:
    """An element that contains a text.

    Args:
        classes: its CSS classes.
        attributes: its attributes; an underscore in a name becomes a hyphen.
    """
    solara.v.Html(tag=tag, children=[text], class_=classes, attributes=_named(attributes))


@contextmanager
def inside(tag: str, classes: str = "", **attributes: str) -> Iterator[None]:
    """An element that contains the elements made inside the ``with`` block.

    Args:
        classes: its CSS classes.
        attributes: its attributes; an underscore in a name becomes a hyphen.
    """
    with solara.v.Html(tag=tag, class_=classes, attributes=_named(attributes)):
        yield


@contextmanager
def card(title: str) -> Iterator[None]:
    """A card with a title."""
    with inside("section", "sabm-card"):
        html("h2", title)
        yield


@contextmanager
def unfolds(words: str, *, is_open: bool = False) -> Iterator[None]:
    """A part of a page that unfolds when its heading is clicked."""
    attributes = {"open": True} if is_open else {}
    with solara.v.Html(tag="details", class_="sabm-details", attributes=attributes):
        solara.v.Html(tag="summary", children=[words])
        yield


def choice(
    label: str,
    options: Sequence[T],
    value: T | None,
    on_value: Callable[[T], object],
    words: Callable[[T], str] = str,
) -> None:
    """A choice among several options with the browser's native control."""
    known = list(options)
    _Choice(
        label=label, options=[words(option) for option in known],
        chosen=known.index(value) if value in known else -1,
        event_choose=lambda i: on_value(known[i]),
    )  # fmt: skip


@solara.component_vue("choice.vue")
def _Choice(
    label: str, options: list[str], chosen: int, event_choose: Callable[[int], object]
) -> None: ...


def field(
    label: str,
    value: object,
    on_value: Callable[[Any], object],
    *,
    kind: Literal["text", "whole"] = "text",
    low: float | None = None,
    high: float | None = None,
    hint: str = "",
    wrong: bool = False,
) -> None:
    """A field for a text or a number.

    The browser keeps the text while it is typed, and sends it when the field loses focus or Enter
    is pressed. A Solara input would send each key separately, and its Enter event can arrive before
    the last keys.

    Args:
        value: the current text or number.
        on_value: called with the new text or number; a number field never sends a text.
        kind: a text, or a whole number.
        low: the smallest number.
        high: the largest number.
        hint: a line below it.
        wrong: whether what it holds could not be used.
    """
    _Field(
        label=label, value=value, kind=kind, low=low, high=high, hint=hint, wrong=wrong,
        event_change=on_value,
    )  # fmt: skip


@solara.component_vue("field.vue")
def _Field(
    label: str,
    value: object,
    kind: str,
    low: float | None,
    high: float | None,
    hint: str,
    wrong: bool,
    event_change: Callable[[Any], object],
) -> None: ...


def picture(title: str, png: bytes) -> None:
    """A picture of lines and areas on white; a dark page inverts its lightness."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    html("img", "", "sabm-lines", src=source, alt=title)


@contextmanager
def painting() -> Iterator[None]:
    """A context for making and drawing figures, in one thread at a time and outside of pages.

    Solara can give each page its own matplotlib settings, which disappear with the page. A figure
    drawn in another thread at that moment would find no settings.
    """
    with style.drawing_lock, without_context():
        yield


def problem(text: str) -> None:
    """A line with an error message."""
    html("p", text, "sabm-problem", role="alert")


def _named(attributes: dict[str, str]) -> dict[str, str]:
    return {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
