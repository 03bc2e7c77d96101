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
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from jinja2 import Environment
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from sabm_mesa.core.answers import Number
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.minds.human import Question, Seat, Turn, inputs_of, text_from
from sabm_mesa.models.declarations import ToldRound, load_class_game
from sabm_mesa.runs.game import CODE_LENGTH, LEFT, ClassSession, Game, Games
from sabm_mesa.visualization.access import LOOPBACK, listens_at, name_in_network, open_to_others
from sabm_mesa.visualization.labels import (
    count,
    in_words,
    name_of,
    noun_of,
    number,
    round_of,
)
from sabm_mesa.visualization.middleware import TRIES, SecretLimiter
from sabm_mesa.visualization.pages.debrief import debrief_of
from sabm_mesa.visualization.scenario_view import one_sentence
from sabm_mesa.visualization.seat_interface import Refused, read_object

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.core.asks import Ask
    from sabm_mesa.models.base import SmartModel

POLL_S = 20.0
"""Seconds after which a page hears of its seat, whether something has changed or not."""
NOBODY = "This link leads to no game. The game may have been closed: ask its host."
DIGITS = 12
"""Digits of a version that are read, at most."""
FOLDER = Path(__file__).parent
Identify = Callable[[Request], str]
"""Returns the session of a browser, ``""`` for one without."""
NewSession = Callable[[Request, Response], object]
"""Gives a browser a session that has none."""


class PeoplePages:
    """The pages of people in the games of a server.

    Args:
        games: the games of the server.
        identify: returns the session of a browser.
        new_session: gives a browser a session.
        root: the path below which the server is reached.
        limiter: limits guesses of codes and words.
    """

    def __init__(
        self,
        games: Games,
        identify: Identify,
        new_session: NewSession,
        root: Callable[[], str],
        limiter: SecretLimiter = TRIES,
    ) -> None:
        self.games, self.identify, self.new_session = games, identify, new_session
        self.root, self._limiter = root, limiter

    def routes(self) -> list[Route]:
        """All that people are answered."""
        return [
            Route("/join", self.join, methods=["POST"]),
            Route("/join", self.page),
            Route("/join/{code}", self.page),
            Route("/join/{code}/qr.svg", self.qr),
            Route("/play/{token}", self.page),
            Route("/play/{token}/state", self.look),
            Route("/play/{token}/take", self.take, methods=["POST"]),
            Route("/play/{token}/answer", self.answer, methods=["POST"]),
        ]

    def page(self, request: Request) -> Response:
        """The page, the same for everybody: what it shows, it asks for."""
        token = request.path_params.get("token", "")
        code = request.path_params.get("code", "").upper()[:CODE_LENGTH]
        content = _template().render(
            title="Your seat" if token else "Join the game",
            nonce=request.state.nonce, base=self.root(), token=token, code=code, **_parts(),
        )  # fmt: skip
        response = HTMLResponse(content, headers={"Cache-Control": "no-store"})
        self.new_session(request, response)
        return response

    async def qr(self, request: Request) -> Response:
        """The QR code of the address at which people join, as others can reach it."""
        session = await self._session(request.path_params["code"], _address(request))
        if session is None:
            return Response(status_code=404)
        import segno

        at = request.url
        host = at.netloc
        if at.hostname in LOOPBACK and open_to_others():
            host = name_in_network(listens_at()) + (f":{at.port}" if at.port else "")
        drawn = io.BytesIO()
        address = f"{at.scheme}://{host}{self.root()}/join/{session.code}"
        segno.make(address, error="m").save(drawn, kind="svg", scale=8, border=2)
        headers = {"Cache-Control": "no-store"}
        return Response(drawn.getvalue(), media_type="image/svg+xml", headers=headers)

    async def join(self, request: Request) -> Response:
        """Give a browser a seat by the code, or the seat of another device by its word."""
        try:
            given = await read_object(request)
            path = await self._seat_path(given, self.identify(request), _address(request))
        except Refused as refused:
            return _json(200, {"problem": refused.problem})
        except ClientDisconnect:
            return Response(status_code=400)
        return _json(200, {"path": path})

    async def take(self, request: Request) -> Response:
        """Take the seat behind a link, if it is free."""
        found, holder = self._find(request), self.identify(request)
        if found is not None and holder:
            found[1].take(holder)
        return _json(200, {})

    async def answer(self, request: Request) -> Response:
        """Take an answer; ``problem`` says why it was not taken."""
        try:
            given = await read_object(request)
        except Refused as refused:
            return _json(refused.status, {"problem": refused.problem})
        except ClientDisconnect:
            return Response(status_code=400)
        if (found := self._find(request)) is None:
            return _json(200, {"problem": NOBODY})
        return _json(200, {"problem": _answer(found[1], self.identify(request), given)})

    async def look(self, request: Request) -> Response:
        """The state of a seat, when it is another than the browser knows."""
        found, holder = self._find(request), self.identify(request)
        if found is not None:
            known = request.query_params.get("after", "")
            version = int(known) if known.isdecimal() and len(known) < DIGITS else -1
            await _wait(request, found[1], holder, version)
            found = self._find(request)
        if found is None:
            gone = {"title": "No game here", "lines": [NOBODY], "take": True}
            return _json(200, _EMPTY | gone)
        return _json(200, state_of(*found, holder))

    def _find(self, request: Request) -> tuple[Game, Seat] | None:
        return self.games.find(request.path_params["token"])

    async def _session(self, code: str, address: str) -> ClassSession | None:
        return await self._limiter.test("a code", address, lambda: self.games.session(code))

    async def _seat_path(self, given: Mapping[str, Any], holder: str, address: str) -> str:
        if not holder:
            raise Refused(403, "This browser takes no cookies, by which a seat is kept.")
        session, word = await self._session(str(given.get("code", "")), address), given.get("word")
        if session is None:
            raise Refused(404, "No game has this code: look at the wall again.")
        if word is None:
            found = session.join(holder)
            if found is None:
                over = session.status == "over"
                line = "The game is over: ask the host for the code of the next one."
                raise Refused(409, line if over else "All seats are taken: ask the host.")
        else:
            known, said = session, str(word)
            found = await self._limiter.test(
                f"a word of {known.code}", address, lambda: known.come_back(holder, said)
            )
            if found is None:
                raise Refused(404, "No seat of this game has this word.")
        return f"/play/{found[1].token}"


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
        for each in (changed, gone):
            each.cancel()
        if own:
            seat.pages -= 1
            seat.seen = time.monotonic()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _answer(seat: Seat, holder: str, given: Mapping[str, Any]) -> str:
    """Give the answer to a seat; return why it was not taken."""
    question, values = seat.question, given.get("values")
    asked = given.get("question")
    if question is None or question.number != asked:
        return "This question is over: no answer is taken any more."
    named = {str(k): str(v) for k, v in values.items()} if isinstance(values, dict) else {}
    text = text_from(inputs_of(question.ask.spec), named)
    return seat.answer(holder, question.number, text, str(given.get("reasoning", "")))


_EMPTY: dict[str, Any] = {
    "version": -1, "title": "", "who": "", "word": "", "rule": "", "rounds": None, "score": None,
    "lines": [], "heading": False, "waiting": False, "question": None, "paused": False,
    "told": None, "results": "", "tables": [], "turns": [], "debrief": None, "take": False,
}  # fmt: skip


def state_of(game: Game, seat: Seat, holder: str) -> dict[str, Any]:
    """All that a page of a seat shows now, as plain data.

    Args:
        game: the game.
        seat: the seat.
        holder: the session of the browser; another than the one at the seat is told nothing.
    """
    state: dict[str, Any] = {**_EMPTY, "version": seat.version, "title": game.model.title}
    if not holder or not seat.held_by(holder):
        line = (
            "This seat is taken by another browser. Ask the host for a link of your own."
            if seat.taken
            else "The host has freed this seat. Load the page again to take it."
        )
        return state | {"lines": [line], "take": not seat.taken and not seat.was_taken}
    model, declared = game.model, load_class_game(game.model.class_game)
    over = game.status == "over"
    tables = _tables(game)
    done = len(tables.game["rows"]) - model.given_rounds
    state |= {
        "who": _who(game, seat),
        "word": seat.word,
        "rule": declared.rule or one_sentence(type(model)),
        "rounds": {"n": model.n_rounds - model.given_rounds, "done": max(0, done), "over": over},
        "score": _score(game, seat),
        "paused": game.paused,
        **_now(game, seat),
    }
    if over:
        own = tables.own(seat)
        state["told"] = _told(game, seat, tables)
        state["tables"] = [
            {"caption": "Your results by round", **own},
            {"caption": "The game by round", **tables.game},
        ]
        state["debrief"] = debrief_of(game, seat)
    elif game.public and done > 0:
        state["told"] = _told(game, seat, tables)
        state["results"] = f"After {round_of(model, done - 1 + model.given_rounds)}"
        state["tables"] = [
            {"caption": "Your results so far", **tables.own(seat)},
            {"caption": "The game so far", **tables.so_far},
        ]
    state["turns"] = [_turn(game, turn) for turn in reversed(seat.turns)]
    return state


def _now(game: Game, seat: Seat) -> dict[str, Any]:
    question, model = seat.question, game.model
    if game.status == "over":
        # Its problem may tell of the host's machine, so only the host is told.
        lines = ["The game is over", *(["It ended before its time."] if game.problem else [])]
        return {"lines": lines, "heading": True}
    lines = ["The host has stopped the clock."] if game.paused else []
    if question is not None:
        asked = _question(question, model)
        lines = [_round(question.ask.key.round, model), *lines]
        return {"lines": lines, "heading": True, "question": asked}
    if game.status == "open":
        return {"lines": ["You have your seat. The game begins when the host starts it."]}
    if game.has_left(seat):
        return {"lines": [f"{_round(model.round, model)}: {LEFT}"]}
    if seat.turns and seat.turns[-1].answer is None:
        lines.append("Time was up: you abstained.")
    lines.append(f"{_round(model.round, model)}: others are deciding …")
    return {"lines": lines, "waiting": True}


def _question(question: Question, model: SmartModel) -> dict[str, Any]:
    ask, board = question.ask, board_of(question.ask, model)
    rules, text = (_of_people(part, model) for part in question.text)
    if board is not None and (instead := board.pop("text", "")):
        rules, text = f"{rules}\n\n{text}", instead
    return {
        "number": question.number,
        "rules": rules,
        "text": text,
        "inputs": [each.as_dict() for each in inputs_of(ask.spec)],
        "reasoning": ask.spec.reasoning is not None,
        "remaining_s": question.remaining_s,
        "board": board,
    }


def board_of(ask: Ask, model: SmartModel) -> dict[str, Any] | None:
    """Return the board beside the inputs of the form; None where these are all.

    Args:
        ask: the question.
        model: the model.
    """
    board = load_class_game(model.class_game).board
    found = None if board is None else board(ask)
    if found is not None:
        return dict(json_roundtrip(dict(found)))
    spec = ask.spec
    if isinstance(spec, Number) and abs(spec.low) < 1e6 and abs(spec.high) < 1e6:
        return {
            "kind": "line",
            "low": spec.low,
            "high": spec.high,
            "step": 1 if spec.integer else 0,
        }
    return None


def _score(game: Game, seat: Seat) -> dict[str, Any] | None:
    standing = game.standing(seat) if game.public or game.status == "over" else None
    if standing is None:
        return None
    rank = {"rank": standing.rank, "of": standing.of} if game.ranked else {}
    over, score = game.status == "over", game.model.score
    value, label = number(standing.value), _label(standing.label, over=over)
    if score is not None and score.until:
        label = standing.label
        if standing.value > len(game.model.decided_rounds(game.model_data())):
            value = load_class_game(game.model.class_game).never[over]
    return {"label": label, "value": value, **rank}


def _label(label: str, *, over: bool) -> str:
    """The label of the own score, such as ``"Your points so far"`` for a payoff in points."""
    words, _, unit = label.removesuffix(")").partition(" (")
    if unit and words.endswith("in a run"):
        label = unit
    return f"Your {label[:1].lower()}{label[1:]}{'' if over else ' so far'}"


def _told(game: Game, seat: Seat, tables: _Tables) -> dict[str, Any] | None:
    """The sentences on the last round, which a person reads before any table."""
    told, data = load_class_game(game.model.class_game).told, game.model_data()
    decided = game.model.decided_rounds(data)
    if told is None or decided.empty:
        return None
    round_, frame = int(decided["round"].iloc[-1]), tables.frame
    played = ToldRound(
        game.model, seat.agent, dict(decided.iloc[-1]), frame[frame["round"] == round_],
        lambda agent: name_of(game.model, agent),
    )  # fmt: skip
    lines = list(told(played))
    return {"title": round_of(game.model, round_).capitalize(), "lines": lines} if lines else None


def _turn(game: Game, turn: Turn) -> dict[str, str]:
    system, asked = (_of_people(part, game.model) for part in turn.text)
    answer = "(no answer in time)" if turn.answer is None else turn.answer
    title = f"{round_of(game.model, turn.ask.key.round).capitalize()}: {answer}"
    return {"title": title, "rules": system, "asked": asked, "answer": answer}


def _of_people(text: str, model: SmartModel) -> str:
    """A text of a prompt with the name for a given round that people read."""
    if not model.given_rounds:
        return text
    return re.sub(r"(?m)^Round 0:", f"{round_of(model, 0).capitalize()}:", text)


class _Tables:
    """The tables of a game after a round: made once for all of its seats.

    Args:
        game: the game.

    Attributes:
        frame: the agent data that they are made of.
        game: the model data.
        so_far: the part of it that players see during the game.
    """

    def __init__(self, game: Game) -> None:
        self.frame, self._model = game.agent_data(), game.model
        self.game, self.so_far = self._of(game.model_data()), self._of(game.so_far())
        self._agents: dict[type[SmartAgent], dict[int, dict[str, Any]]] = {}

    def own(self, seat: Seat) -> dict[str, Any]:
        """The columns and rows of the agent of a seat.

        Args:
            seat: the seat.
        """
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
        return f"You play {name} of {n}."
    return f"You play {name}, one of {count(n, noun)}."


def _round(round_: int, model: SmartModel) -> str:
    shown = round_of(model, max(round_, model.given_rounds)).capitalize()
    n = model.n_rounds - model.given_rounds
    return f"{shown} of {n}" if n > 1 else shown


def _json(status: int, content: Any) -> Response:
    text = json.dumps(json_roundtrip(content), ensure_ascii=False)
    return Response(text, status, {"Cache-Control": "no-store"}, media_type="application/json")


@cache
def _template() -> Any:
    source = (FOLDER / "play.html").read_text(encoding="utf-8")
    return Environment(autoescape=True).from_string(source)


@cache
def _parts() -> dict[str, Any]:
    from markupsafe import Markup

    style = (FOLDER.parent / "style.css").read_text(encoding="utf-8")
    style += (FOLDER / "play.css").read_text(encoding="utf-8")
    script = (FOLDER / "play.js").read_text(encoding="utf-8")
    return {"style": Markup(style), "script": Markup(script)}
