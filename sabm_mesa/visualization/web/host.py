"""The page of a host: sets a game up, hands out the links to its seats, and watches it.

A page gets the state of the host's games as JSON when something has changed, and ``host.js`` draws
it.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from sabm_mesa.core.phrases import ENGLISH, language_for, table_of
from sabm_mesa.minds.human import Seat
from sabm_mesa.models.registry import find_all, scenario
from sabm_mesa.runs.game import Game
from sabm_mesa.visualization.access import NETWORK, may_host
from sabm_mesa.visualization.game_view import VIEWS
from sabm_mesa.visualization.labels import (
    count,
    counting,
    error_line,
    in_words,
    mind_in_words,
    name_of,
)
from sabm_mesa.visualization.scenario_view import one_sentence
from sabm_mesa.visualization.seat_interface import Refused, read_object
from sabm_mesa.visualization.web import wall
from sabm_mesa.visualization.web.debrief import bundle, report
from sabm_mesa.visualization.web.games import GAMES
from sabm_mesa.visualization.web.page import (
    as_json,
    changed,
    key_page,
    page,
    served,
    session_of,
    with_session,
)
from sabm_mesa.visualization.web.settings import NewGameForm, read_link

if TYPE_CHECKING:
    from starlette.requests import Request

    from sabm_mesa.runs.game import ClassSession

PATH = "/host"
MORE_S = 30.0
MOST_NAMED = 3
"""The most people that the line of missing answers names."""
STATUS = {"open": "Nobody plays yet.", "playing": "It is played.", "over": "The game is over."}
NO_KEY = {"problem": "This page is for the host: load it again, and enter the key."}


def routes() -> list[Route]:
    """The routes of the page of a host."""
    return [
        Route(PATH, _page),
        Route(f"{PATH}/state", _state),
        Route(f"{PATH}/form", _form, methods=["POST"]),
        Route(f"{PATH}/open", _open, methods=["POST"]),
        Route(f"{PATH}/do", _act, methods=["POST"]),
        Route(f"{PATH}/all/{{code}}", _everything),
        Route("/results/{code}", _results),
    ]


def _page(request: Request) -> Response:
    """The page; it asks for its content."""
    if not may_host(request.cookies):
        return key_page(request)
    lessons = [
        {"name": name, "title": scenario(name).title, "query": f"game={name}&{lesson}"}
        for name in find_all().models
        if (lesson := scenario(name).class_game.lesson)
    ]
    html = page(
        "host.html", styles=("wall.css", "host.css"),
        scripts=("elements.js", "drawing.js", "host.js"),
        nonce=request.state.nonce, viewer=request.state.local,
        game=request.query_params.get("game"),
        lessons=lessons, cards=[_card(name) for name in find_all().models],
    )  # fmt: skip
    return with_session(request, served(html))


async def _state(request: Request) -> Response:
    """The state of the host's games, as soon as it differs from what the page shows."""
    if not may_host(request.cookies):
        return Response(status_code=403)
    host, code = session_of(request), request.query_params.get("code", "")
    if not await changed(request, lambda: _version(host, code)):
        return Response(status_code=400)
    return as_json(await asyncio.to_thread(state_of, host, code), ENGLISH)


async def _form(request: Request) -> Response:
    """The form for a new game, with what the host has changed in it."""
    return await _with_form(request, lambda form: {
        "words": form.in_words(), "title": form.model.title,
        "fields": [vars(setting) for setting in form.fields],
    })  # fmt: skip


async def _open(request: Request) -> Response:
    """Open a game; ``problem`` says why not."""
    host = session_of(request)
    return await _with_form(request, lambda form: {"code": form.open(host).code})


async def _with_form(request: Request, action: Callable[[NewGameForm], dict[str, Any]]) -> Response:
    """Answer a request with the settings of a form."""
    given = await _given(request)
    if isinstance(given, Response):
        return given
    linked = read_link(str(given.get("query", "")), find_all().models)
    typed = given.get("typed")
    language = language_for(None, request.headers.get("accept-language"))

    def answer() -> dict[str, Any]:
        game = str(given.get("game", "")) or linked.game or min(find_all().models)
        try:
            form = NewGameForm(linked, typed if isinstance(typed, dict) else {}, language, game)
            return action(form) | {"problem": linked.problem, "game": form.model.scenario_name}
        except Exception as error:  # noqa: BLE001 - any error becomes a line of the page
            return {"problem": error_line(error)}

    return as_json(await asyncio.to_thread(answer), ENGLISH)


async def _act(request: Request) -> Response:
    """Do with a game what the host has pressed."""
    given = await _given(request)
    if isinstance(given, Response):
        return given
    host, session = session_of(request), GAMES.session(str(given.get("code", "")))
    action = str(given.get("do", ""))
    # Another browser with the key takes part in hosting a class before it can change it.
    if session is not None and (action == "share" or session.games[0] in GAMES.of(host)):
        token = str(given.get("token", ""))
        await asyncio.to_thread(_do, host, session, action, token)
    return as_json({}, ENGLISH)


def _results(request: Request) -> Response:
    """The results of a game on one page."""
    if (session := _of_code(request)) is None:
        return Response(status_code=403)
    return served(report(session, wall.wall_of(session).language))


def _everything(request: Request) -> Response:
    """The results and the recording of a game in one file."""
    if (session := _of_code(request)) is None:
        return Response(status_code=403)
    packed = bundle(session, wall.wall_of(session).language)
    named = {"Content-Disposition": f"attachment; filename={session.code}.zip"}
    return Response(packed, headers=named, media_type="application/zip")


def _of_code(request: Request) -> ClassSession | None:
    """The class whose games are over behind the code of an address, for a host alone."""
    session = GAMES.session(request.path_params["code"]) if may_host(request.cookies) else None
    return session if session is not None and session.status == "over" else None


async def _given(request: Request) -> dict[str, Any] | Response:
    """The JSON object that a host has sent, or the refusal."""
    if not may_host(request.cookies):
        return as_json(NO_KEY, ENGLISH, 403)
    try:
        return await read_object(request)
    except (Refused, ClientDisconnect):
        return as_json({"problem": "The request holds no JSON object."}, ENGLISH, 400)


def _give_time(game: Game) -> None:
    for seat in game.seats.values():
        seat.add_time(MORE_S)


OF_SEAT: Mapping[str, Callable[[Seat], object]] = {"skip": Seat.skip, "free": Seat.free}
OF_GAME: Mapping[str, Callable[[Game], object]] = {
    "pause": lambda game: game.pause(paused=True),
    "go on": lambda game: game.pause(paused=False),
    "more": _give_time,
    "end": Game.stop,
}
"""The actions of a host on one seat, and on each game that is played."""


def _do(host: str, session: ClassSession, action: str, token: str) -> None:
    if action == "start":
        session.start()
    for _, seat in session.seats:
        if seat.token == token and action in OF_SEAT:
            OF_SEAT[action](seat)
    for game in session.games:
        if action in OF_GAME and game.status == "playing":
            OF_GAME[action](game)
        elif action == "close":
            GAMES.close(game)
        elif action == "share":
            GAMES.share(host, game)


def _version(host: str, code: str) -> str:
    """A text that changes with what the page shows."""
    own = GAMES.of(host)
    others = [game.status for game in GAMES.of_others(host)]
    session = _chosen(own, code)
    shown = [
        (game.session and game.session.code, game.status, game.model.round) for game in own
    ]  # fmt: skip
    if session is None:
        return str(zlib.crc32(repr((others, shown)).encode()))
    games = [
        (game.model.spent().asks, len(game.model.spoken), game.paused, VIEWS[game].version,
         [(seat.version, seat.away) for seat in game.seats.values()])
        for game in session.games
    ]  # fmt: skip
    return str(zlib.crc32(repr((others, shown, games, wall.version_of(session))).encode()))


def _sessions(games: list[Game]) -> list[ClassSession]:
    """The classes that play some games, in their order."""
    return [*dict.fromkeys(game.session for game in games if game.session is not None)]


def _chosen(own: list[Game], code: str) -> ClassSession | None:
    """The class on the screen: the chosen one, or the newest."""
    sessions = _sessions(own)
    chosen = (session for session in sessions if session.code == code)
    return next(chosen, sessions[0] if sessions else None)


def state_of(host: str, code: str) -> dict[str, Any]:
    """All that the page of a host shows now, as plain data.

    Args:
        host: the secret of the browser.
        code: the code of the class on the screen; the newest one when there is none.
    """
    version, own = _version(host, code), GAMES.of(host)
    session = _chosen(own, code)
    return {
        "version": version,
        "now": None if session is None else _of_class(session),
        "old": [_line(other) for other in _sessions(own) if other is not session],
        "others": [_line(other) for other in _sessions(GAMES.of_others(host))],
        "texts": table_of(ENGLISH, "wall"),
        "language": ENGLISH,
        "address": NETWORK.address,
    }


def _line(session: ClassSession) -> dict[str, Any]:
    """A class as one of several."""
    game = session.games[0]
    return {
        "code": session.code, "status": session.status, "words": STATUS[session.status],
        "title": game.model.title, "minds": _minds_and_seed(game),
    }  # fmt: skip


def _of_class(session: ClassSession) -> dict[str, Any]:
    """A class on the screen: what its wall shows, and what is the host's alone."""
    games, on_wall = session.games, wall.state_of(session)
    over = on_wall["status"] == "over"
    chosen = min(wall.wall_of(session).group, len(games) - 1)
    game = games[chosen]
    paths = [path for path in dict.fromkeys(g.model.recording_path for g in games) if path]
    problems = dict.fromkeys(g.problem for g in games if over and g.problem)
    columns, rows = in_words(game.model, game.model_data())
    said = VIEWS[game].said()
    first = counting(game.model)[1]
    return on_wall | {
        "title": game.model.title,
        "progress": progress(session),
        "paused": any(g.paused for g in games if g.status == "playing"),
        "group": chosen + 1 if len(games) > 1 else 0,
        "seats": [tile_of(game, seat) for seat in game.seats.values()],
        "links": [[_in_group(games, g, seat), f"/play/{seat.token}"] for g, seat in session.seats],
        "minds": _minds_and_seed(games[0]),
        "wall": f"/wall/{wall.wall_of(session).token}",
        "problems": [*problems] or ["The game is over."] * over,
        "recordings": [str(path) for path in paths],
        "table": {"columns": columns, "rows": rows},
        "talk": [
            {"round": round_ + first, "who": one.speaker, "to": one.hearers, "text": one.text}
            for round_ in sorted(said, reverse=True)
            for one in said[round_]
        ],
    }  # fmt: skip


def tile_of(game: Game, seat: Seat) -> dict[str, Any]:
    """A seat as the host sees it."""
    question = seat.question
    if not seat.taken:
        state = "free"
    elif game.status == "playing" and game.has_left(seat):
        state = "out"
    elif seat.away:
        state = "away"
    elif question is not None:
        state = "thinking"
    else:
        state = "answered" if game.status == "playing" and seat.turns else "joined"
    since = None if question is None or state != "thinking" else round(question.open_s)
    return {
        "name": name_of(game.model, seat.agent), "token": seat.token, "state": state,
        "since": since, "asked": question is not None, "taken": seat.taken,
    }  # fmt: skip


def progress(session: ClassSession) -> str:
    """How far the games are, and who is waited for."""
    games = session.games
    if session.status == "open":
        if not (empty := sum(not seat.taken for _, seat in session.seats)):
            return "All seats are taken."
        plays = "; an empty seat abstains"
        if stand_in := games[0].stand_in:
            plays = f". Who plays until somebody comes: {mind_in_words(stand_in)}"
        return f"Seats still empty: {empty}{plays}."
    model = games[0].model
    done = [len(model.decided_rounds(game.model_data())) for game in games]
    low, high = min(done), max(done)
    played = str(low) if low == high else f"{low} to {high}"
    rounds = count(model.n_rounds - model.given_rounds, counting(model)[0])
    line = f"{played} of {rounds} done."
    asked = [
        _in_group(games, game, seat)
        for game in games
        for seat in game.seats.values()
        if game.status == "playing" and seat.question
    ]
    if session.status != "playing":
        return line
    if not asked:
        slow = any(game.plays_language_model for game in games if game.status == "playing")
        return f"{line} A language model plays too, and takes its time." if slow else line
    more = len(asked) - MOST_NAMED
    others = f" and {more} more" if more > 0 else ""
    return f"{line} Waiting for {', '.join(asked[:MOST_NAMED])}{others}."


def _in_group(games: tuple[Game, ...], game: Game, seat: Seat) -> str:
    """The name at a seat, with its group where there are several."""
    name = name_of(game.model, seat.agent)
    return name if len(games) == 1 else f"{name} of group {games.index(game) + 1}"


def _minds_and_seed(game: Game) -> str:
    minds = game.model.minds_in_use().items()
    parts = [f"{n} × {mind_in_words(spec)}" for spec, n in minds]
    return f"{', '.join(parts)}, seed {game.model.entropy[0]}"


@cache
def _card(name: str) -> dict[str, str]:
    """A scenario as it is offered to a host."""
    model = scenario(name)
    declared = model.class_game
    parts = []
    if declared.people is not None:
        low, high = declared.people
        parts.append(f"{low}–{high} people in a group")
    if declared.minutes:
        parts.append(f"{declared.minutes} minutes")
    about = declared.rule or one_sentence(model)
    return {"name": name, "title": model.title, "about": about, "size": ", ".join(parts)}
