"""Frame of every page: its style, its head and its navigation."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any

import solara
import solara.lab
from solara.lab.utils.cookies import cookies
from solara.lab.utils.headers import headers

from sabm_mesa.visualization.access import KEY_PATH, WALLS, may_host, open_to_others

NAME, HOST = "sabm", "/host"
WATCHED = {"", "scenario"}
"""First parts of the paths of pages that need no host on the viewer's computer."""
READ_ONLY = "wall"
"""First part of the path of a wall that takes no host: its link has a secret of its own."""
PAGES = {"/": "Scenarios", "/recording": "Recordings", HOST: "Play with people"}
"""Path → words of the navigation."""
CLOSED = (
    "This page is for the host: open the address with the key that stands on the terminal of the "
    "viewer, or enter the key here."
)
WATCHING = "Classical minds play without a key. For language models and files enter it here."
STYLE = files(__package__).joinpath("style.css").read_text(encoding="utf-8")


def protect_server() -> None:
    """Protect the Solara server of this process, if there is one; a notebook has none."""
    if "solara.server.starlette" in sys.modules:
        from sabm_mesa.visualization.protection import protect

        protect()


protect_server()
solara.lab.on_kernel_start(protect_server)  # if the server is imported after the pages


@solara.component
def Head(title: str = "") -> None:
    """The style and the title of a page.

    Args:
        title: the title of the page.
    """
    solara.Style(STYLE)
    solara.Title(f"{title} · {NAME}" if title else NAME)
    _Document()


@solara.component
def Layout(children: list[Any] | None = None) -> None:
    """The frame of all pages except the plain pages of players (`pages.play`).

    Args:
        children: the page.
    """
    router = solara.use_router()
    solara.Style(STYLE)
    _Document()
    with solara.v.Html(tag="div", class_="sabm-app"):
        first = router.parts[0]
        if first not in WALLS:
            _navigation()
        drawn = first == READ_ONLY or may_see_page(of_host=first not in WATCHED)
        solara.v.Html(tag="div", class_="sabm-body", children=(children or []) if drawn else [])


def _navigation() -> None:
    """The links to other pages, and the button for a dark page."""
    with solara.v.Html(tag="nav", class_="sabm-nav", attributes={"aria-label": "Pages"}):
        with solara.Link("/"):
            solara.v.Html(tag="strong", children=[NAME])
        for path, words in PAGES.items():
            with solara.Link(path):
                solara.v.Html(tag="span", children=[words])
        solara.v.Spacer()
        _Theme()


def may_see_page(*, of_host: bool = False) -> bool:
    """Ask for the key where it is needed, in place of the page or above it.

    Args:
        of_host: whether all of the page is for hosts only.

    Returns:
        Whether to draw the page.
    """
    if is_host():
        return True
    if of_host or open_to_others():
        with solara.v.Html(tag="main", class_="sabm-home"):
            solara.v.Html(tag="p", children=[CLOSED])
            _Key(path=KEY_PATH)
        return False
    with solara.v.Html(tag="details", class_="sabm-ask"):
        solara.v.Html(tag="summary", children=[WATCHING])
        _Key(path=KEY_PATH)
    return True


def is_host() -> bool:
    """Whether the current browser may use the pages of the host."""
    return may_host(cookies.value or {})


def accepted_languages() -> str:
    """The header ``Accept-Language`` of the current browser."""
    return ", ".join((headers.value or {}).get("accept-language", []))


@solara.component_vue("key.vue")
def _Key(path: str) -> None: ...


@solara.component_vue("document.vue")
def _Document() -> None: ...


@solara.component_vue("theme.vue")
def _Theme() -> None: ...
