"""The wall of a class: how to join, who is ready, the picture of the game, and the results.

A host sees it by the code of the class, and chooses the group in colour and the slide. Any other
browser sees it by a read-only link, and follows. It shows neither a key nor a link to a seat. A
page gets the state of the class as JSON when something has changed, and ``wall.js`` draws it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pandas as pd
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from sabm_mesa.core.phrases import (
    ENGLISH,
    Lines,
    Phrase,
    known,
    language_for,
    slug,
    table_of,
)
from sabm_mesa.runs.game import ClassSession, Game
from sabm_mesa.visualization.access import NETWORK, may_host
from sabm_mesa.visualization.game_view import VIEWS
from sabm_mesa.visualization.labels import counting, name_of, round_noun, title_of, titles_of
from sabm_mesa.visualization.scenario_view import Shown, rule_of
from sabm_mesa.visualization.seat_interface import Refused, read_object
from sabm_mesa.visualization.web.debrief import slides
from sabm_mesa.visualization.web.games import GAMES
from sabm_mesa.visualization.web.page import as_json, changed, key_page, page, served

if TYPE_CHECKING:
    from starlette.requests import Request

Point = tuple[int, float | None]


@dataclass
class Wall:
    """The shared state of the wall of a class; every projector shows the same.

    Attributes:
        token: the secret of its read-only link.
        group: the index of the highlighted group.
        slide: the number of the current slide, from 1; 0: none.
        language: the language of the class; the address of a wall may set another.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    group: int = 0
    slide: int = 0
    language: str = ENGLISH


_WALLS: WeakKeyDictionary[ClassSession, Wall] = WeakKeyDictionary()
_POINTS: WeakKeyDictionary[Game, tuple[Shown, list[Point]]] = WeakKeyDictionary()


def wall_of(session: ClassSession) -> Wall:
    """The wall of a class."""
    return _WALLS.setdefault(session, Wall())


def session_of_link(token: str) -> ClassSession | None:
    """The class of a read-only link; None if there is none or it was closed."""
    for session, wall in list(_WALLS.items()):
        same = secrets.compare_digest(wall.token.encode(), token.encode())
        if same and GAMES.session(session.code) is session:
            return session
    return None


def group_of(game: Game, number: int) -> dict[str, Any]:
    """The data of a group's tile.

    Args:
        number: the number of the group, from 1.

    Returns:
        The ``name`` of the group, its ``state``, the state in ``words``, and its ``points``.
    """
    seats = list(game.seats.values())
    taken = [seat for seat in seats if seat.taken]
    ready = [seat for seat in taken if seat.question is None]
    away = sum(seat.away for seat in taken)
    status = game.status
    if status == "open":
        state, words = "open", Phrase("wall.joined", joined=len(taken), of=len(seats))
    elif status == "over":
        state, words = "over", Phrase("wall.stopped" if game.problem else "wall.over")
    else:
        state = "ready" if len(ready) == len(taken) else "waiting"
        words = Phrase("wall.ready", ready=len(ready), of=len(taken))
        words = words if taken else Phrase("wall.nobody_joined")
    if away and status != "over":
        words = Phrase("wall.away", what=words, away=away)
    name = Phrase("slides.group", number=number)
    return {"name": name, "state": state, "words": words, "points": points_of(game)}


def points_of(game: Game) -> list[Point]:
    """The course of a group: the mean decision of its agents by round so far.

    If the scenario declares no decision for this, the first model column is used.

    Returns:
        Displayed round numbers, and values; None: no value.
    """
    shown = VIEWS[game].shown
    known = _POINTS.get(game)
    if known is not None and known[0] is shown:
        return known[1]
    declared = game.model.class_game.debrief
    frame = shown.agent_data if declared else shown.model_data
    points: list[Point] = []
    if len(frame):
        column = declared.column if declared else next(iter(game.model.columns()))
        data = game.model.decided_rounds(frame)
        values = pd.to_numeric(data[column], errors="coerce").groupby(data["round"]).mean()
        first = counting(game.model)[1]
        points = [
            (int(str(round_)) + first, None if pd.isna(v) else float(v))
            for round_, v in values.items()
        ]
    _POINTS[game] = shown, points
    return points


def _label(model: Any) -> str:
    """The title of the large chart.

    The values of theory are on the slides alone: here they would be a hint to those who decide.
    """
    declared = model.class_game.debrief
    if declared is None:
        return titles_of(model).localized(next(iter(model.columns())))
    return Phrase("wall.mean", label=declared.label)


def routes() -> list[Route]:
    """The routes of the walls."""
    return [
        Route("/screen/{code}", _page),
        Route("/screen/{code}/state", _state),
        Route("/screen/{code}/show", _show, methods=["POST"]),
        Route("/wall/{token}", _page),
        Route("/wall/{token}/state", _state),
    ]


def _page(request: Request) -> Response:
    """The page; it asks for its content."""
    if not _may_see(request):
        return key_page(request)
    language = _language_of(request, _session_of(request))
    html = page(
        "wall.html", styles=("wall.css",), scripts=("elements.js", "drawing.js", "wall.js"),
        t=table_of(language, "wall"), language=language, nonce=request.state.nonce,
        base=request.url.path,
    )  # fmt: skip
    return served(html)


async def _state(request: Request) -> Response:
    """The state of the class, as soon as it differs from the one that the page shows."""
    if not _may_see(request):
        return Response(status_code=403)
    if not await changed(request, lambda: version_of(_session_of(request))):
        return Response(status_code=400)
    session = _session_of(request)
    language = _language_of(request, session)
    content = await asyncio.to_thread(state_of, session)
    content["of_host"] = "code" in request.path_params
    content |= {"texts": table_of(language, "wall"), "language": language}
    return as_json(content, language)


async def _show(request: Request) -> Response:
    """Show a slide, or a group in colour, on all walls of the class."""
    session = _session_of(request)
    if session is None or not may_host(request.cookies):
        return Response(status_code=403)
    try:
        given = await read_object(request)
    except (Refused, ClientDisconnect):
        return Response(status_code=400)
    wall = wall_of(session)
    if type(group := given.get("group")) is int and 0 <= group < len(session.games):
        wall.group = group
    if type(slide := given.get("slide")) is int and slide >= 0:
        wall.slide = slide
    return Response(status_code=204)


def _may_see(request: Request) -> bool:
    return "token" in request.path_params or may_host(request.cookies)


def _session_of(request: Request) -> ClassSession | None:
    if "token" in request.path_params:
        return session_of_link(request.path_params["token"])
    return GAMES.session(request.path_params["code"])


def _language_of(request: Request, session: ClassSession | None) -> str:
    """The language that the address asks for, else that of the class or of the browser."""
    if asked := request.query_params.get("lang"):
        return language_for(asked)
    if session is not None:
        return wall_of(session).language
    return language_for(None, request.headers.get("accept-language"))


def version_of(session: ClassSession | None) -> str:
    """A text that changes with what the wall shows.

    Args:
        session: the class; None: there is none.
    """
    if session is None:
        return "none"
    views = [VIEWS[game].version for game in session.games]
    votes = [len(game.votes) for game in session.games]
    wall, left = wall_of(session), _left(session)
    end = None if left is None else round(time.monotonic() + left)
    paused = [game.paused for game in session.games]
    away = [sum(seat.away for seat in game.seats.values()) for game in session.games]
    shown = [session.status, views, votes, _counts(session), _words(session), end, paused, away,
             wall.group, wall.slide]  # fmt: skip
    return str(zlib.crc32(repr(shown).encode()))


def state_of(session: ClassSession | None) -> dict[str, Any]:
    """All that the wall shows now, as plain data.

    Args:
        session: the class; None: there is none.
    """
    if session is None:
        return {"version": "none", "status": "none"}
    version, model, wall = version_of(session), session.games[0].model, wall_of(session)
    status, (asked, answered) = session.status, _counts(session)
    taken = [seat.agent for _, seat in session.seats if seat.taken]
    view = VIEWS[session.games[min(wall.group, len(session.games) - 1)]]
    pictured = status != "open" and view.scenario_view.public_scene
    scenes = view.scenes(view.shown.played) if pictured else ()
    state: dict[str, Any] = {
        "version": version, "status": status, "title": title_of(model),
        "code": session.code, "address": NETWORK.address, "asked": asked, "answered": answered,
        "words": _words(session), "left": _left(session),
        "steps": [Phrase("wall.open"), Phrase("wall.seat"), rule_of(model)],
        "names": [name_of(model, agent) for agent in taken] if len(session.games) == 1 else [],
        "rule": rule_of(model),
        "scenes": [
            {**scene.stage(), **scene.frame(), "title": _of_group(session, scene.title)}
            for scene in scenes
        ],
        "board": None,
        "slide": None,
    }  # fmt: skip
    if len(session.games) > 1 or any(map(points_of, session.games)):
        groups = [group_of(game, number) for number, game in enumerate(session.games, 1)]
        state["board"] = {
            "label": _label(model), "noun": round_noun(model), "groups": groups,
            "last": model.n_rounds - model.given_rounds, "chosen": wall.group,
        }  # fmt: skip
    if status == "over":
        shown = slides(session, wall.group)
        state["slides"] = len(shown)
        if slide := wall.slide or int(session.games[0].voting):  # the count of the votes at once
            at = min(slide, len(shown))
            title, words, drawing = shown[at - 1]
            named = Phrase("wall.slide", slide=at, of=len(shown))
            state["slide"] = {
                "at": at, "named": named, "title": title, "words": words, "drawing": drawing,
            }  # fmt: skip
    return state


def _of_group(session: ClassSession, title: str) -> str:
    """The title of a picture, which shows one of several groups."""
    if len(session.games) == 1:
        return title
    group = Phrase("slides.group", number=1 + wall_of(session).group)
    return Phrase("slides.in_group", group=group, what=title)


def _counts(session: ClassSession) -> tuple[int, int]:
    """How many people are asked in this phase, and how many of them have answered."""
    taken = [seat for game, seat in session.seats if seat.taken and game.status == "playing"]
    return len(taken), sum(seat.question is None for seat in taken)


def _left(session: ClassSession) -> float | None:
    """The seconds until the last open question is given up; None while no clock runs."""
    asked = [seat.question for game, seat in session.seats if seat.taken and not game.paused]
    left = [question.remaining_s for question in asked if question is not None]
    return max((seconds for seconds in left if seconds is not None), default=None)


def _words(session: ClassSession) -> str:
    seats = [seat for _, seat in session.seats]
    joined = sum(seat.taken for seat in seats)
    if session.status == "open":
        return Phrase("wall.joined", joined=joined, of=len(seats))
    if session.status == "over":
        return Phrase("seat.over")
    asked, answered = _counts(session)
    noun, first = counting(session.games[0].model)
    rounds = sorted({min(len(g.model_data()), g.model.n_rounds - 1) + first for g in session.games})
    numbers = ", ".join(map(str, rounds))
    now = known(f"rounds.{slug(noun)}", f"{noun} {numbers}", n=numbers).capitalize()
    paused = session.games[0].paused
    key = "wall.people_ready_paused" if paused else "wall.people_ready"
    words = Phrase(key, round=now, ready=answered, n=asked)
    if answered < asked or not any(game.plays_language_model for game in session.games):
        return words
    return Lines([words, Phrase("seat.model_plays")])
