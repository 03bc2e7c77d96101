"""The pages of people: joining a game by its code, and the seat with its questions.

They are plain pages over HTTP, light enough for a phone and for a class that comes at once. A page
asks for the state of its seat and gets it when something has changed; it is drawn in the browser
(``play.js``). Whoever has a seat is known by the session of the browser.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from sabm_mesa.core.answers import Choice, Number
from sabm_mesa.core.phrases import (
    LANGUAGES,
    Phrase,
    known,
    language_for,
    slug,
    table_of,
)
from sabm_mesa.errors import RecordingError
from sabm_mesa.minds.human import HUMAN, LONGEST, Input, Question, Seat, inputs_of, text_from
from sabm_mesa.models.declarations import ToldRound
from sabm_mesa.runs.game import CODE_LENGTH, LEFT, ClassSession, Game, Status
from sabm_mesa.visualization.access import LOOPBACK, NETWORK
from sabm_mesa.visualization.game_view import VIEWS
from sabm_mesa.visualization.labels import (
    count,
    counting,
    in_words,
    localized,
    name_of,
    noun_of,
    round_of,
    title_of,
)
from sabm_mesa.visualization.middleware import TRIES
from sabm_mesa.visualization.scenario_view import rule_of
from sabm_mesa.visualization.seat_interface import Refused, read_object
from sabm_mesa.visualization.web.debrief import ballot_of, debrief_of, machines_in_words
from sabm_mesa.visualization.web.games import GAMES
from sabm_mesa.visualization.web.page import POLL_S, as_json, page, served, session_of, with_session

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.core.asks import Ask
    from sabm_mesa.models.base import SmartModel

NOBODY = Phrase("seat.nobody")
TOO_LONG = 413
"""The status of a request whose body is too long."""
DIGITS = 12
"""Digits of a version that are read, at most."""
ROUNDS_OF_TALK, MOST_MESSAGES = 2, 20
"""The talk beside a question: its rounds, and its messages at most."""


def routes() -> list[Route]:
    """The routes of the pages of people."""
    return [
        Route("/join", _join, methods=["POST"]),
        Route("/join", _page),
        Route("/join/{code}", _page),
        Route("/join/{code}/qr.svg", _qr),
        Route("/play/{token}", _page),
        Route("/play/{token}/state", _look),
        Route("/play/{token}/take", _take, methods=["POST"]),
        Route("/play/{token}/answer", _with_object(_give_answer), methods=["POST"]),
        Route("/play/{token}/vote", _with_object(_vote), methods=["POST"]),
    ]


def _page(request: Request) -> Response:
    """The page. It is the same for all in one language, and asks for its content."""
    language = _language(request)
    token = request.path_params.get("token", "")
    code = request.path_params.get("code", "").upper()[:CODE_LENGTH]
    content = page(
        "play.html", styles=("play.css",), scripts=("elements.js", "play.js"),
        t=table_of(language, "page"), language=language, languages=LANGUAGES,
        nonce=request.state.nonce, token=token, code=code,
        texts=_script_texts(language),
    )  # fmt: skip
    return with_session(request, served(content))


async def _qr(request: Request) -> Response:
    """The QR code of the address at which people join, as others can reach it."""
    session = await _session(request.path_params["code"], _address(request))
    if session is None:
        return Response(status_code=404)
    import segno

    at, drawn = request.url, io.BytesIO()
    here = f"{at.scheme}://{at.netloc}"
    address = NETWORK.address if NETWORK.address and at.hostname in LOOPBACK else here
    code = segno.make(f"{address}/join/{session.code}", error="m")
    code.save(drawn, kind="svg", scale=8, border=2)
    headers = {"Cache-Control": "no-store"}
    return Response(drawn.getvalue(), media_type="image/svg+xml", headers=headers)


async def _join(request: Request) -> Response:
    """Give a browser a seat by the code, or the seat of another device by its word."""
    try:
        given = await _object_of(request)
        path, again = await _seat_path(given, session_of(request), _address(request))
    except Refused as refused:
        return _response(request, {"problem": refused.problem})
    except ClientDisconnect:
        return Response(status_code=400)
    return _response(request, {"path": path, "again": again})


async def _take(request: Request) -> Response:
    """Take the seat behind a link, if it is free."""
    place, holder = _find(request), session_of(request)
    if place is not None and holder:
        place[1].take(holder)
    return _response(request, {})


async def _vote(request: Request, given: dict[str, Any]) -> Response:
    """Take a vote on who was a machine; ``problem`` says why it was not taken."""
    place, suspect = _find(request), given.get("suspect")
    if place is None:
        return _response(request, {"problem": NOBODY})
    game, seat = place
    if not seat.held_by(session_of(request)):
        return _response(request, {"problem": Phrase("seat.not_yours")})
    asked = suspect if type(suspect) is int else -1
    try:
        problem = await asyncio.to_thread(game.vote, seat, asked)
    except RecordingError:
        problem = Phrase("seat.vote_unwritten")
    return _response(request, {"problem": problem})


async def _give_answer(request: Request, given: dict[str, Any]) -> Response:
    """Take an answer; ``problem`` says why it was not taken."""
    if (place := _find(request)) is None:
        return _response(request, {"problem": NOBODY})
    problem = _answer(place[1], session_of(request), given)
    return _response(request, {"problem": problem})


async def _look(request: Request) -> Response:
    """The state of a seat, as soon as it differs from the one that the browser knows."""
    place, holder = _find(request), session_of(request)
    if place is not None:
        shown = request.query_params.get("after", "")
        version = int(shown) if shown.isdecimal() and len(shown) < DIGITS else -1
        await _wait(request, place[1], holder, version)
        place = _find(request)
    if place is None:
        gone = {"title": Phrase("seat.no_game"), "lines": [NOBODY], "take": True}
        return _response(request, _EMPTY | gone)
    return _response(request, state_of(*place, holder))


def _find(request: Request) -> tuple[Game, Seat] | None:
    return GAMES.find(request.path_params["token"])


async def _session(code: str, address: str) -> ClassSession | None:
    return await TRIES.test("a code", address, lambda: GAMES.session(code))


async def _seat_path(given: Mapping[str, Any], holder: str, address: str) -> tuple[str, bool]:
    """The path of a seat, and whether the browser had it already."""
    if not holder:
        raise Refused(403, Phrase("seat.no_cookies"))
    session, word = await _session(str(given.get("code", "")), address), given.get("word")
    if session is None:
        raise Refused(404, Phrase("seat.no_code"))
    again = any(seat.held_by(holder) for _, seat in session.seats)
    if word is None:
        place = session.join(holder)
        if place is None:
            over = session.status == "over"
            raise Refused(409, Phrase("seat.joined_too_late" if over else "seat.full"))
    else:
        group, own_word = session, str(word)
        place = await TRIES.test(
            f"a word of {group.code}", address, lambda: group.come_back(holder, own_word)
        )
        if place is None:
            raise Refused(404, Phrase("seat.no_word"))
    return f"/play/{place[1].token}", again


def _with_object(
    action: Callable[[Request, dict[str, Any]], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """A route for requests with a JSON object; a refusal is an object with a ``problem``."""

    async def route(request: Request) -> Response:
        try:
            given = await _object_of(request)
        except Refused as refused:
            return _response(request, {"problem": refused.problem}, refused.status)
        except ClientDisconnect:
            return Response(status_code=400)
        return await action(request, given)

    return route


async def _object_of(request: Request) -> dict[str, Any]:
    """The JSON object in a request; a refusal is a line for people."""
    try:
        return await read_object(request)
    except Refused as refused:
        too_long = refused.status == TOO_LONG
        line = Phrase("seat.too_long", most=LONGEST) if too_long else Phrase("seat.unreadable")
        raise Refused(refused.status, line) from None


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


async def _wait(request: Request, seat: Seat, holder: str, version: int) -> None:
    """Wait until something changes at the seat, or the page is gone."""
    own = bool(holder) and seat.held_by(holder)
    if own:
        seat.pages += 1
    changed = asyncio.ensure_future(seat.changed_from(version, POLL_S))
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({changed, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (changed, gone):
            task.cancel()
        if own:
            seat.pages -= 1
            seat.seen = time.monotonic()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _answer(seat: Seat, holder: str, given: Mapping[str, Any]) -> str:
    """Give the answer to a seat; return why it was not taken."""
    question, values = seat.question, given.get("values")
    asked, reasoning = given.get("question"), str(given.get("reasoning", ""))
    named = {str(k): str(v) for k, v in values.items()} if isinstance(values, dict) else {}
    message = json.dumps([holder, asked, named, reasoning])  # sent again, it is the same
    if question is None or question.number != asked:
        return seat.answer(holder, -1, "", message=message)
    text = text_from(question.ask.spec, named)
    return seat.answer(holder, question.number, text, reasoning, message)


_EMPTY: dict[str, Any] = {
    "version": -1, "title": "", "name": "", "who": "", "word": "", "rule": "", "rounds": None,
    "round": None, "score": None,
    "lines": [], "heading": False, "waiting": False, "question": None, "paused": False,
    "told": None, "vote": None, "results": "", "tables": [], "turns": [],
    "debrief": None, "take": False,
}  # fmt: skip


def state_of(game: Game, seat: Seat, holder: str) -> dict[str, Any]:
    """All that a page of a seat shows now, as plain data.

    Args:
        holder: the session of the browser; another than the one at the seat is told nothing.
    """
    state: dict[str, Any] = {**_EMPTY, "version": seat.version, "title": title_of(game.model)}
    if not holder or not seat.held_by(holder):
        line = Phrase("seat.of_another" if seat.taken else "seat.freed")
        return state | {"lines": [line], "take": not seat.taken and not seat.was_taken}
    # The game goes on in its thread: what is read twice could tell of two moments.
    model, status, question = game.model, game.status, seat.question
    over = status == "over"
    tables = _tables(game)
    done = len(tables.game["rows"]) - model.given_rounds
    state |= {
        "name": name_of(model, seat.agent),
        "who": _who(game, seat),
        "word": seat.word,
        "rule": rule_of(model),
        "rounds": {"n": model.n_rounds - model.given_rounds, "done": max(0, done), "over": over},
        "round": None if status == "open" else _round_now(question, model),
        "score": _score(game, seat, over=over),
        "paused": game.paused,
        **_now(game, seat, status, question),
    }
    if over:
        own = tables.own(seat)
        state["told"] = _results_of_last_round(game, seat, tables)
        state["tables"] = [
            {"caption": Phrase("seat.own_by_round"), **own},
            {"caption": Phrase("seat.game_by_round"), **tables.game},
        ]
        state["vote"] = ballot_of(game, seat)
        # The debrief shows all minds, so people vote before they see it.
        if state["vote"] is None:
            state["debrief"] = debrief_of(game, seat)
            state["lines"] = [*state["lines"], *machines_in_words(game, seat)]
    elif game.shows_results and done > 0:
        state["told"] = _results_of_last_round(game, seat, tables)
        state["results"] = Phrase(
            "seat.after", round=round_of(model, done - 1 + model.given_rounds)
        )
        state["tables"] = [
            {"caption": Phrase("seat.own_so_far"), **tables.own(seat)},
            *([{"caption": Phrase("seat.game_so_far"), **tables.so_far}] if game.public else []),
        ]
    state["turns"] = [_turn(game, turn) for turn in reversed(seat.turns)]
    return state


def _now(game: Game, seat: Seat, status: Status, question: Question | None) -> dict[str, Any]:
    model = game.model
    if status == "over":
        # The problem may hold details of the host's machine: only the host reads it.
        ended = [Phrase("seat.ended_early")] if game.problem else []
        return {"lines": [Phrase("seat.over"), *ended], "heading": True}
    lines: list[str] = [Phrase("seat.clock_stopped")] if game.paused else []
    if question is not None:
        return {"lines": lines, "question": _question(question, game)}
    if status == "open":
        return {"lines": [Phrase("seat.seated")], "heading": True}
    if game.has_left(seat):
        return {"lines": [Phrase("seat.in_round", round=_round(model.round, model), what=LEFT)]}
    if seat.turns and seat.turns[-1].answer is None:
        lines.append(Phrase("seat.abstained"))
    lines.append(Phrase("seat.others_decide", round=_round(model.round, model)))
    if game.plays_language_model:
        lines.append(Phrase("seat.model_plays"))
    return {"lines": lines, "waiting": True}


def _question(question: Question, game: Game) -> dict[str, Any]:
    ask, model = question.ask, game.model
    board = _on_scene(board_of(ask, model), game)
    rules, text = (_of_people(part, model) for part in question.text)
    words = model.class_game.questions.get(ask.name, "")
    words = (board or {}).pop("text", words)
    if words:
        rules, text = f"{rules}\n\n{text}", words
    return {
        "number": question.number,
        "rules": rules,
        "text": text,
        "in_english": not words,
        "inputs": [_input(field) for field in inputs_of(ask.spec)],
        "reasoning": ask.spec.reasoning is not None,
        "remaining_s": question.remaining_s,
        "board": board,
        "said": [] if board and board["kind"] == "map" else _said(ask.key.agent, model),
    }


def _on_scene(board: dict[str, Any] | None, game: Game) -> dict[str, Any] | None:
    """A map or a path with the scene of the wall below it; other boards are unchanged."""
    view = VIEWS.get(game)
    if board is None or view is None or board["kind"] not in {"map", "path"}:
        return board
    (scene, *_) = view.scenes(view.shown.played)
    marks = [mark[1:5] for mark in scene.frame()["marks"]]
    return {**board, "ground": scene.ground, "marks": marks}


def _said(agent: int, model: SmartModel) -> list[dict[str, Any]]:
    """The latest messages that an agent sent or heard."""
    messages = model.agent_of_id(agent).conversation(ROUNDS_OF_TALK)[-MOST_MESSAGES:]
    return [
        {
            "who": name_of(model, message.sender),
            "text": str(message.text),
            "own": message.sender == agent,
        }
        for message in messages
    ]


def _input(field: Input) -> dict[str, Any]:
    """An input of the form, with the words for its options."""
    return {**field.as_dict(), "words": [localized(option) for option in field.options]}


def board_of(ask: Ask, model: SmartModel) -> dict[str, Any] | None:
    """Return the board beside the inputs of the form; None where these are all."""
    board_of_game = model.class_game.board
    board = None if board_of_game is None else board_of_game(ask)
    if board is not None:
        return dict(board)
    spec = ask.spec
    if isinstance(spec, Number) and abs(spec.low) < 1e6 and abs(spec.high) < 1e6:
        return {
            "kind": "line",
            "low": spec.low,
            "high": spec.high,
            "step": 1 if spec.integer else 0,
        }
    return None


def _score(game: Game, seat: Seat, *, over: bool) -> dict[str, Any] | None:
    standing = game.standing(seat) if game.shows_results or over else None
    if standing is None:
        return None
    rank = {"rank": standing.rank, "of": standing.of} if game.ranked else {}
    score = game.model.score
    value, label = localized(standing.value), _label(standing.label, over=over)
    if score is not None and score.until:
        label = known(f"scores.{slug(standing.label)}", standing.label)
        if standing.value > len(game.model.decided_rounds(game.model_data())):
            value = game.model.class_game.never[over]
    return {"label": label, "value": value, **rank}


def _label(label: str, *, over: bool) -> str:
    """The label of a person's score, such as ``"Your points so far"`` for a payoff in points."""
    words, _, unit = label.removesuffix(")").partition(" (")
    if unit and words.endswith("in a run"):
        label = unit
    table = "own_score" if over else "own_score_so_far"
    other = Phrase(f"{table}.other", label=f"{label[:1].lower()}{label[1:]}")
    return known(f"{table}.{slug(label)}", other)


def _results_of_last_round(game: Game, seat: Seat, tables: _Tables) -> dict[str, Any] | None:
    """The sentences on the last round, which a person reads before any table."""
    if seat.agent not in tables.last_rounds:
        tables.last_rounds[seat.agent] = _last_round(game, seat, tables)
    return tables.last_rounds[seat.agent]


def _last_round(game: Game, seat: Seat, tables: _Tables) -> dict[str, Any] | None:
    sentences, data = game.model.class_game.told, game.model_data()
    decided = game.model.decided_rounds(data)
    if sentences is None or decided.empty:
        return None
    round_ = int(decided["round"].iloc[-1])
    frame = tables.frame[tables.frame["round"] == round_]
    if (frame.loc[frame["agent"] == seat.agent, "mind"] != HUMAN).any():
        return None  # a stand-in decided before the person came
    played = ToldRound(
        game.model, seat.agent, dict(decided.iloc[-1]), frame,
        lambda agent: name_of(game.model, agent),
    )  # fmt: skip
    if not (lines := list(sentences(played))):
        return None
    picture = game.model.class_game.picture(played)
    return {
        "title": round_of(game.model, round_).capitalize(),
        "lines": lines,
        "picture": _on_scene(None if picture is None else dict(picture), game),
    }


def _turn(game: Game, turn: Question) -> dict[str, Any]:
    system, asked = (_of_people(part, game.model) for part in turn.text)
    answer = answer_in_words(turn, game.model)
    round_ = round_of(game.model, turn.ask.key.round).capitalize()
    title = Phrase("seat.in_round", round=round_, what=answer)
    return {
        "title": title, "round": round_, "missed": turn.answer is None, "rules": system,
        "asked": asked, "answer": answer,
    }  # fmt: skip


def answer_in_words(turn: Question, model: SmartModel) -> str:
    """Return the answer to a past question, an option as it stood on its button."""
    if turn.answer is None:
        return Phrase("seat.no_answer")
    if not isinstance(turn.ask.spec, Choice):
        return turn.answer
    options = (board_of(turn.ask, model) or {}).get("options", ())
    words = {option["option"]: option.get("words") for option in options}
    return words.get(turn.answer) or localized(turn.answer)


def _of_people(text: str, model: SmartModel) -> str:
    """A text of a prompt with the name for a given round that people read."""
    if not model.given_rounds:
        return text
    return re.sub(r"(?m)^Round 0:", f"{round_of(model, 0).capitalize()}:", text)


class _Tables:
    """The tables of a game after a round, made once for all of its seats.

    Attributes:
        frame: the agent data that they are made of.
        game: the model data.
        so_far: the part of it that players see during the game.
        last_rounds: agent → the sentences on its last round.
    """

    def __init__(self, game: Game) -> None:
        self.last_rounds: dict[int, dict[str, Any] | None] = {}
        self.frame, self._model = game.agent_data(), game.model
        self.game, self.so_far = self._of(game.model_data()), self._of(game.so_far())
        self._agents: dict[type[SmartAgent], dict[int, dict[str, Any]]] = {}

    def own(self, seat: Seat) -> dict[str, Any]:
        """The columns and rows of the agent of a seat."""
        kind = type(self._model.agent_of_id(seat.agent))
        if kind not in self._agents:
            columns, rows = in_words(
                self._model, self.frame[["round", *self._model.columns_of(kind)]]
            )
            own = self._agents[kind] = {}
            for agent, row in zip(self.frame["agent"].tolist(), rows, strict=True):
                own.setdefault(agent, {"columns": columns, "rows": []})["rows"].append(row)
        return self._agents[kind].get(seat.agent, {"columns": [], "rows": []})

    def _of(self, frame: pd.DataFrame) -> dict[str, Any]:
        columns, rows = in_words(self._model, frame)
        return {"columns": columns, "rows": rows}


_KEPT: WeakKeyDictionary[Game, _Tables] = WeakKeyDictionary()


def _tables(game: Game) -> _Tables:
    if (kept := _KEPT.get(game)) is None or kept.frame is not game.agent_data():
        kept = _KEPT[game] = _Tables(game)
    return kept


def _who(game: Game, seat: Seat) -> str:
    name, n = name_of(game.model, seat.agent), len(game.model.population)
    noun = noun_of(game.model)
    if name.casefold() == f"{noun} {seat.agent}":
        return Phrase("seat.you_play", name=name, of=n)
    among = known(f"agents.count_{slug(noun)}", count(n, noun), n=n)
    return Phrase("seat.you_play_among", name=name, among=among)


def _round(round_: int, model: SmartModel) -> str:
    shown = round_of(model, max(round_, model.given_rounds)).capitalize()
    n = model.n_rounds - model.given_rounds
    return Phrase("seat.round_of", round=shown, of=n) if n > 1 else shown


def _round_now(question: Question | None, model: SmartModel) -> dict[str, Any]:
    """The current round at a seat: in words, its number, and the number of rounds."""
    round_ = max(model.round if question is None else question.ask.key.round, model.given_rounds)
    return {
        "label": _round(round_, model),
        "number": round_ + counting(model)[1],
        "n": model.n_rounds - model.given_rounds,
    }


def _language(request: Request) -> str:
    """The language that the address asks for, else that of the browser."""
    return language_for(request.query_params.get("lang"), request.headers.get("accept-language"))


def _script_texts(language: str) -> Any:
    """The texts of the script as JSON that no markup can end."""
    from markupsafe import Markup

    content = json.dumps(table_of(language, "play"), ensure_ascii=False)
    return Markup(content.replace("<", "\\u003c"))


def _response(request: Request, content: Any, status: int = 200) -> Response:
    return as_json(content, _language(request), status)
