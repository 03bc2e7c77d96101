"""Seats over plain HTTP: a real server, and a program that plays by `GET` and `POST`."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, Field

from sabm_mesa import KeynesianBeautyContest, SmartModel
from sabm_mesa.errors import RunError
from sabm_mesa.minds.human import LONGEST
from sabm_mesa.runs.game import Game
from sabm_mesa.visualization import server
from sabm_mesa.visualization.seat_interface import LONGEST_BODY
from sabm_mesa.visualization.server import serve_seats
from tests.core.support import Cell, Tiny
from tests.runs.sweeps import until


class Program:
    """A program at a seat."""

    def __init__(self, address: str) -> None:
        self.url = urlsplit(address)
        self.headers: dict[str, str] = {}

    def request(self, method: str, body: Any = None, query: str = "", **headers: str) -> Any:
        connection = HTTPConnection(self.url.netloc, timeout=30)
        kind = {"Content-Type": "application/json"} if body is not None else {}
        sent = body if isinstance(body, str | None) else json.dumps(body)
        connection.request(method, self.url.path + query, sent, {**kind, **headers})
        response = connection.getresponse()
        self.headers = dict(response.getheaders())
        read = response.read()
        connection.close()
        is_json = self.headers.get("content-type") == "application/json"
        return response.status, json.loads(read) if is_json else read

    def get(self, wait: float = 20) -> Any:
        status, state = self.request("GET", query=f"?wait={wait}")
        assert status == 200
        return state

    def post(self, question: int, answer: Any, reasoning: str = "") -> tuple[int, Any]:
        given = {"question": question, "answer": answer, "reasoning": reasoning}
        return self.request("POST", given)


class Table:
    """A game with a server of its own, on a thread."""

    def __init__(self, scenario: type[SmartModel], **parameters: Any) -> None:
        self.game = Game(scenario, recording=False, rng=1, **parameters)
        self.programs: list[Program] = []
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        assert self._listens.wait(10)

    def _serve(self) -> None:
        def ready(addresses: Any) -> None:
            self.programs = [Program(each) for each in addresses.values()]
            self._listens.set()

        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with suppress(RunError):  # when the test ends the game
            serve_seats(self.game, "127.0.0.1", port, ready=ready)

    def end(self) -> None:
        """End the game unless it is over, and wait for the end of the server."""
        self.game.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    tables: list[Table] = []

    def seat(scenario: type[SmartModel] = KeynesianBeautyContest, **parameters: Any) -> Table:
        if scenario is KeynesianBeautyContest:
            given = {"n_players": 2, "n_rounds": 2, "minds": {"human": 1, "fixed:40": 1}}
            parameters = {**given, **parameters}
        tables.append(Table(scenario, **parameters))
        return tables[-1]

    yield seat
    monkeypatch.setattr(server, "TELLING_S", 0)  # from here on nobody listens
    for each in tables:
        each.end()


def test_a_program_plays_a_game_to_its_end(table: Any) -> None:
    game = table()
    (program,) = game.programs
    picks = []
    while (state := program.get())["status"] != "over":
        question = state["question"]
        assert question["text"]
        answer: Any = "Take 20."
        if question["name"] == "act":
            answer = 20 + state["round"]
            picks.append(answer)
            assert question["form"]["answer"] == {"type": "integer", "minimum": 0, "maximum": 100}
            facts = question["facts"]
            assert (facts["n_others"], facts["memory"]) == (1, [])
            said = {message["text"] for message in facts["said"]}
            assert said == ({"Take 20.", "40"} if state["round"] else set())
        assert program.post(question["number"], answer) == (200, {"taken": question["number"]})

    assert [row["choice"] for row in state["own"]] == picks == [20, 21]
    assert (state["complete"], len(state["all"])) == (True, 2)
    game.end()


def test_what_is_wrong_is_said_in_one_line_and_the_question_waits_on(table: Any) -> None:
    (program,) = table(n_rounds=1).programs
    number = program.get()["question"]["number"]
    said = {
        422: program.post(number, "101"),
        409: program.post(number + 1, 5),
        413: program.request("POST", "x" * (LONGEST_BODY + 1)),
        415: program.request("POST", '{"question":0}', **{"Content-Type": "text/plain"}),
        400: program.request("POST", {"answer": 5}),
    }

    for status, (found, problem) in said.items():
        assert found == status
        assert list(problem) == ["problem"]
        assert "\n" not in problem["problem"]
    assert said[422][1]["problem"] == '"101" is outside the range from 0 to 100.'
    assert program.post(number, "5" * (LONGEST + 1))[0] == 422
    assert program.request("GET", query="?wait=soon")[0] == 400
    assert program.get()["question"]["number"] == number
    assert program.post(number, 5)[0] == 200
    assert program.post(number, 6)[0] == 409
    assert program.get()["status"] == "over"


class Order(BaseModel):
    """An answer of two parts."""

    good: Literal["bread", "tea"]
    amount: int = Field(ge=0, le=5)


class Trader(Cell):
    """Gives an answer of several fields."""

    async def act(self) -> Any:
        return await self.ask("act", Order, me=self.unique_id, seen="")


class Market(Tiny):
    def __init__(self, **settings: Any) -> None:
        SmartModel.__init__(self, **settings)
        self.cells = self.populate(Trader, 1)

    def after_act(self, cell: Any, pick: Any) -> None:
        cell.value = pick.value.model_dump()

    def update(self) -> None:
        self.sum = 0


def test_an_answer_of_several_fields_is_an_object(table: Any) -> None:
    game = table(Market, minds="human")
    (program,) = game.programs
    form = program.get()["question"]["form"]["answer"]

    assert (form["type"], list(form["properties"])) == ("object", ["good", "amount"])
    assert program.post(0, {"good": "tea", "amount": 7})[0] == 422
    assert program.post(0, {"good": "tea", "amount": 2})[0] == 200
    assert program.get()["status"] == "over"
    assert game.game.model.cells[0].value == {"good": "tea", "amount": 2}


def test_who_has_no_question_is_told_when_to_ask_again(table: Any) -> None:
    first, second = table(n_rounds=1, minds="human").programs
    assert second.get()["agent"] == 2
    number = first.get()["question"]["number"]
    first.post(number, 7)
    until(lambda: first.get(wait=0)["answered"] == 1)
    state = first.get(wait=0)

    assert (state["question"], state["status"]) == (None, "playing")
    assert first.headers["retry-after"] == "1"
    assert "own" not in state


def test_a_seat_opens_to_its_token_alone_and_to_no_page_of_another_site(table: Any) -> None:
    game = table(n_rounds=1)
    (program,) = game.programs
    stranger = Program(f"http://{program.url.netloc}/api/seats/{'A' * 22}")
    host = program.url.netloc

    assert stranger.request("GET")[0] == 404
    assert program.request("GET", Origin="http://evil.example")[0] == 403
    assert program.request("GET", Host="evil.example")[0] == 403
    assert program.request("GET", Origin=f"http://{host}")[0] == 200
    assert program.headers["cache-control"] == "no-store"
    assert program.headers["x-content-type-options"] == "nosniff"


def test_a_seat_that_a_browser_has_is_not_taken_from_it(table: Any) -> None:
    game = table(n_rounds=1)
    game.game.seats[1].take("a browser")

    assert game.programs[0].request("GET")[0] == 403
