"""What surrounds every page: its style, its head and its navigation."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import solara
import solara.lab

NAME = "sabm"
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
    at_a_seat = solara.use_router().parts[:1] == ["play"]
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
            solara.lab.ThemeToggle()
        solara.v.Html(tag="div", class_="sabm-body", children=children or [])


@solara.component_vue("document.vue")
def _Document() -> None: ...
