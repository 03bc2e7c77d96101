"""What surrounds every page: its style, its head and its navigation."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import solara
from solara.lab.utils.headers import headers

from sabm_mesa.visualization.access import may_host

NAME = "sabm"
CLOSED = "This page is for the host: open the address with the key that sabm view has printed."
PAGES = {"/": "Scenarios", "/recording": "Recordings", "/host": "Play with people"}
"""Path → words of the navigation."""
STYLE = files(__package__).joinpath("style.css").read_text(encoding="utf-8")


@solara.component
def Head(title: str = "") -> None:
    """The style and the title of a page.

    Args:
        title: what the page shows.
    """
    solara.Style(STYLE)
    solara.Title(f"{title} · {NAME}" if title else NAME)
    _Document()


@solara.component
def Layout(children: list[Any] | None = None) -> None:
    """The frame of all pages; on those of players nothing leads away from the game.

    Args:
        children: the page.
    """
    router = solara.use_router()
    at_a_seat = router.parts[:1] == ["play"]
    solara.Style(STYLE)
    _Document()
    with solara.v.Html(tag="div", class_="sabm-app"):
        with solara.v.Html(tag="nav", class_="sabm-nav", attributes={"aria-label": "Pages"}):
            if at_a_seat:
                solara.v.Html(tag="strong", children=[NAME])
            else:
                with solara.Link("/"):
                    solara.v.Html(tag="strong", children=[NAME])
                for path, words in PAGES.items():
                    with solara.Link(path):
                        solara.v.Html(tag="span", children=[words])
            solara.v.Spacer()
            _Theme()
        body = children or []
        if not (at_a_seat or is_host()):
            body = [solara.v.Html(tag="main", class_="sabm-home", children=[CLOSED])]
        solara.v.Html(tag="div", class_="sabm-body", children=body)


def is_host() -> bool:
    """Whether the browser that is drawn for may use the pages of the host."""
    return may_host(solara.get_session_id(), solara.use_router().search, headers.value or {})


@solara.component_vue("document.vue")
def _Document() -> None: ...


@solara.component_vue("theme.vue")
def _Theme() -> None: ...
