"""Parts of the pages of a game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import solara

from sabm_mesa.runs.game import Games

GAMES = Games()
"""The games of this server: every browser is served by the one process that plays them."""


def card() -> Any:
    """A card, to be filled in a ``with`` block."""
    return solara.v.Html(tag="section", class_="sabm-card")


@solara.component
def Line(text: str, tag: str = "p") -> None:
    """A line of the page itself.

    Args:
        text: the text.
        tag: ``"p"``, or that of a heading.
    """
    style = "margin: 8px 0; overflow-wrap: anywhere"
    solara.v.Html(tag=tag, children=[text], style_=style).key(tag)  # a widget keeps its tag


def table(caption: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table of data.

    Args:
        caption: a description of its content.
        columns: the titles of its columns.
        rows: its rows.
    """
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


@solara.component_vue("seats.vue")
def SeatTiles(
    seats: list[dict[str, Any]],
    event_skip: Callable[[str], object],
    event_free: Callable[[str], object],
) -> None:
    """The seats of a game as tiles.

    Args:
        seats: name, token, state, seconds in it, and whether the seat is asked and taken, of each.
        event_skip: called with the token of a seat whose question is to be given up.
        event_free: called with the token of a seat that is to be freed.
    """


@solara.component_vue("game_cards.vue")
def GameCards(
    games: list[dict[str, str]], chosen: str, label: str, event_choose: Callable[[str], object]
) -> None:
    """The games that a host chooses from.

    Args:
        games: name, title, subject and size of each.
        chosen: the name of the chosen one.
        label: the name of their group.
        event_choose: called with the name of one.
    """


@solara.component_vue("data_table.vue")
def _DataTable(caption: str, columns: list[str], rows: list[list[str]]) -> None: ...
