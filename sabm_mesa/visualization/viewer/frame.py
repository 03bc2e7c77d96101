"""Frame of every page: its style, its head and its navigation."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import solara
from solara.server import settings

from sabm_mesa.visualization.access import NETWORK

NAME = "sabm"
PAGES = {"/recording": "Recordings", "/host": "Play with people"}
"""Path → words of the pages that Solara does not draw."""
STYLE = files(__package__).joinpath("style.css").read_text(encoding="utf-8")

settings.telemetry.mixpanel_enable = False
settings.theme.show_banner = False
settings.theme.loader = "plain"


@solara.component
def Head(title: str = "") -> None:
    """The style and the title of a page."""
    solara.Style(STYLE)
    solara.Title(f"{title} · {NAME}" if title else NAME)
    _Document()


@solara.component
def Layout(children: list[Any] | None = None) -> None:
    """The frame of all pages that Solara draws."""
    solara.Style(STYLE)
    _Document()
    with solara.v.Html(tag="div", class_="sabm-app"):
        _navigation()
        solara.v.Html(tag="div", class_="sabm-body", children=children or [])


def _navigation() -> None:
    """The links to other pages, and the button for a dark page."""
    with solara.v.Html(tag="nav", class_="sabm-nav", attributes={"aria-label": "Pages"}):
        with solara.Link("/"):
            solara.v.Html(tag="strong", children=[NAME])
        with solara.Link("/"):
            solara.v.Html(tag="span", children=["Scenarios"])
        for path, words in PAGES.items() if NETWORK.web else ():
            solara.v.Html(tag="a", children=[words], attributes={"href": path})
        solara.v.Spacer()
        _Theme()


@solara.component_vue("document.vue")
def _Document() -> None: ...


@solara.component_vue("theme.vue")
def _Theme() -> None: ...
