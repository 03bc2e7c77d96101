"""The HTTP interface of seats for programs: `GET` the question, `POST` the answer.

The address of a seat contains its token, and a program needs nothing else: ``/api/seats/TOKEN``.
The page of a person and this interface use the same `sabm_mesa.minds.human.Seat`; the first to
connect takes it. Answers are checked as strictly as those of people.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.minds.human import LONGEST

if TYPE_CHECKING:
    from starlette.requests import Request

    from sabm_mesa.minds.human import Question, Seat
    from sabm_mesa.runs.game import Game

PATH = "/api/seats/"
"""The path of a seat, before its token."""
MOST_WAIT_S = 60.0
"""Maximum number of seconds that a `GET` waits for a question, for any ``wait``."""
RETRY_S = 1
"""Seconds after which a program without a question should ask again."""
LONGEST_BODY = 4 * LONGEST + 1000
"""Maximum number of bytes of a request body: an answer of four-byte characters, and the JSON around
it.
"""
_LOOK_S = 0.05
"""Seconds between two checks of a seat while a `GET` waits."""
_HOLDER = secrets.token_urlsafe(16)
"""The secret with which this interface takes seats."""

Find = Callable[[str], "tuple[Game, Seat] | None"]


class Refused(Exception):
    """A refused request: its status, and a line with the reason."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status, self.problem = status, problem


def seat_route(find: Find, on_end: Callable[[Seat], object] = lambda _: None) -> Route:
    """The route of the seats of all games.

    Args:
        find: returns the game and the seat of a token.
        on_end: called when a seat has received the end of the game.
    """

    async def answer(request: Request) -> Response:
        try:
            game, seat = _seated(find(request.path_params["token"]))
            if request.method == "POST":
                return await _take(request, seat)
            await _wait(request, game, seat)
            state = _state(game, seat)
            if state["status"] == "over":
                on_end(seat)
            waits = state["question"] is None and state["status"] != "over"
            return _json(200, state, {"Retry-After": str(RETRY_S)} if waits else {})
        except Refused as refused:
            return _json(refused.status, {"problem": refused.problem})
        except ClientDisconnect:
            return Response(status_code=400)

    return Route(f"{PATH}{{token}}", answer, methods=["GET", "POST"])


def _seated(pair: tuple[Game, Seat] | None) -> tuple[Game, Seat]:
    """Return the game and the seat, and take the seat if it is free."""
    if pair is None:
        raise Refused(404, "There is no game at this address: ask the host of the game.")
    if not pair[1].take(_HOLDER):
        raise Refused(403, "A browser has taken this seat: ask the host for another seat.")
    return pair


async def _wait(request: Request, game: Game, seat: Seat) -> None:
    """Wait for a question or the end of the game, up to the time in the request."""
    try:
        wait = float(request.query_params.get("wait", "0"))
    except ValueError:
        wait = -1.0
    if not wait >= 0:
        raise Refused(400, "wait must be a number of seconds of 0 or more.")
    end = time.monotonic() + min(wait, MOST_WAIT_S)
    # The game runs in another thread, and a seat notifies threads only.
    while seat.question is None and game.status != "over" and time.monotonic() < end:  # noqa: ASYNC110
        await asyncio.sleep(_LOOK_S)


async def _take(request: Request, seat: Seat) -> Response:
    """Take an answer to the question that it names, if that question is open."""
    given = await read_object(request)
    number, answer = given.get("question"), given.get("answer")
    reasoning = given.get("reasoning", "")
    if type(number) is not int or answer is None or not isinstance(reasoning, str):
        raise Refused(400, "Give an object with question (its number), answer and reasoning.")
    question = seat.question
    if question is None or question.number != number:
        raise Refused(409, "This question is closed or already answered: GET the next one.")
    if problem := seat.answer(_HOLDER, number, _text(question, answer), reasoning):
        gone = seat.question is not question
        raise Refused(409 if gone else 422, " ".join(problem.split()))
    return _json(200, {"taken": number})


def _text(question: Question, answer: Any) -> str:
    """An answer as text, as a person would write it; JSON values must be legal for the question."""
    spec = question.ask.spec
    try:
        return answer if isinstance(answer, str) else spec.as_text(spec.check(answer))
    except InvalidAnswer as problem:
        reason = question.ask.book.reason(problem)
    raise Refused(422, " ".join(reason.split()))


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request.

    Raises:
        Refused: for any other body, or one that is too long.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "Send the answer as JSON, with Content-Type: application/json.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_BODY:
            raise Refused(413, f"The answer is too long: the maximum is {LONGEST} characters.")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refused(400, "The body must be one JSON object.")
    return given


def _state(game: Game, seat: Seat) -> dict[str, Any]:
    """The current state that a seat may see."""
    model, question, status = game.model, seat.question, game.status
    state: dict[str, Any] = {
        "scenario": model.scenario_name,
        "agent": seat.agent,
        "status": status,
        "round": model.round,
        "n_rounds": model.n_rounds,
        "answered": len(seat.turns),
        "question": None if question is None else _question(question),
    }
    if status == "over":  # the problem may reveal details of the host's machine
        state["complete"] = not game.problem
        state["own"] = game.own_data(seat).to_dict("records")
        state["all"] = game.model_data().to_dict("records")
    elif game.public:
        state["own"] = game.own_data(seat).to_dict("records")
        state["all"] = game.so_far().to_dict("records")
    return state


def _question(question: Question) -> dict[str, Any]:
    ask = question.ask
    system, asked = question.text
    return {
        "number": question.number,
        "name": ask.name,
        "phase": ask.key.phase,
        "round": ask.key.round,
        "remaining_s": question.remaining_s,
        "system": system,
        "text": asked,
        "facts": facts(ask.facts),
        "form": {"kind": ask.spec.kind, **ask.answer_schema()["properties"]},
    }


def facts(value: Any) -> Any:
    """A value of the facts as JSON: dataclasses and named tuples become objects."""
    if isinstance(value, Facts):
        value = vars(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: facts(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return {name: facts(item) for name, item in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): facts(item) for name, item in value.items()}
    if isinstance(value, Sequence | Set) and not isinstance(value, str | bytes):
        return [facts(item) for item in value]
    return json_roundtrip(value)


def _json(status: int, content: Any, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        json.dumps(json_roundtrip(content), ensure_ascii=False),
        status,
        {"Cache-Control": "no-store", **(headers or {})},
        media_type="application/json",
    )
