"""The pages of people over HTTP: what a code gives, and what a stranger gets."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import pytest
import segno
from starlette.applications import Starlette

from sabm_mesa import BertrandCompetition, EmergencyEvacuation, ScriptedMind, SmartModel
from sabm_mesa.core.phrases import translated
from sabm_mesa.minds.human import Question
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.runs.game import ClassSession, Game
from sabm_mesa.visualization.access import NETWORK
from sabm_mesa.visualization.middleware import (
    FREE_TRIES,
    LONGEST_DELAY_S,
    RequestMiddleware,
    SecretLimiter,
)
from sabm_mesa.visualization.web import play
from sabm_mesa.visualization.web.games import GAMES
from sabm_mesa.visualization.web.page import SESSION
from sabm_mesa.visualization.web.play import answer_in_words, board_of, routes, state_of
from tests.core.support import Tiny

pytestmark = pytest.mark.check_once


class Room:
    """A class of two seats, and browsers that come to its server."""

    def __init__(self, scenario: type[SmartModel] = Tiny, **settings: Any) -> None:
        given = {"minds": "human", "n": 2, "n_rounds": 1, "rng": 1, "recording": False, **settings}
        self.game = Game(scenario, **{name: v for name, v in given.items() if v is not None})
        self.session = ClassSession([self.game])
        GAMES.add("host", self.game)
        self.waits: list[float] = []
        self.limiter = SecretLimiter(lambda: 0.0, self._wait)
        self.app = RequestMiddleware(Starlette(routes=routes()), local=True)

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def browser(self, holder: str, address: str = "192.0.2.1") -> Any:
        from starlette.testclient import TestClient  # of some versions it needs what others do not

        return TestClient(
            self.app, "http://localhost", cookies={SESSION: holder}, client=(address, 50_000)
        )

    def join(self, holder: str, code: str = "", **given: str) -> Any:
        content = {"code": code or self.session.code, **given}
        return self.browser(holder).post("/join", json=content).json()


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    made = Room()
    monkeypatch.setattr(play, "TRIES", made.limiter)
    yield made
    made.game.stop()
    GAMES.close(made.game)


def test_a_code_gives_a_seat_and_a_stranger_neither_takes_nor_reads_it(room: Room) -> None:
    path = room.join("ann")["path"]
    room.session.start()
    seat = room.game.seats[1]
    version = -1
    while seat.question is None:
        version = seat.wait(version)
    stranger = room.browser("ben")

    stranger.post(f"{path}/take", json={})
    told = stranger.get(f"{path}/state").json()
    assert told["question"] is None
    assert "taken by another browser" in told["lines"][0]
    assert seat.word not in str(told)
    given = {"question": 0, "values": {"": "5"}}
    assert "not yours" in stranger.post(f"{path}/answer", json=given).json()["problem"]
    own = room.browser("ann")
    assert own.get(f"{path}/state").json()["word"] == seat.word
    for _ in range(2):  # the response to the first was lost
        assert own.post(f"{path}/answer", json=given).json() == {"problem": ""}
    other = {"question": 0, "values": {"": "6"}}
    assert "is over" in own.post(f"{path}/answer", json=other).json()["problem"]
    assert "not yours" in stranger.post(f"{path}/answer", json=given).json()["problem"]
    room.join("carl")
    assert room.join("dora")["problem"] == "All seats are taken: ask the host."
    room.game.stop()
    room.game.join()
    assert "The game is over" in room.join("dora")["problem"]


def test_the_qr_code_holds_the_address_that_others_reach(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = io.BytesIO()
    address = f"http://192.0.2.7/join/{room.session.code}"
    segno.make(address, error="m").save(drawn, kind="svg", scale=8, border=2)
    ben = room.browser("ben")
    path = f"/join/{room.session.code}/qr.svg"

    monkeypatch.setattr(NETWORK, "address", "http://192.0.2.7")
    assert ben.get(path).content == drawn.getvalue()  # by localhost, which leads others nowhere
    assert ben.get("/join/AAAAAA/qr.svg").status_code == 404


def test_a_word_moves_a_seat(room: Room) -> None:
    path = room.join("ann")["path"]
    assert room.join("phone", word=room.game.seats[1].word)["path"] == path
    assert "taken by another" in room.browser("ann").get(f"{path}/state").json()["lines"][0]


@pytest.mark.parametrize("by", ["code", "picture", "word"])
def test_guesses_take_ever_longer_and_the_right_code_always_works(room: Room, by: str) -> None:
    eve = room.browser("eve")

    def guess() -> None:
        if by == "picture":
            assert eve.get("/join/AAAAAA/qr.svg").status_code == 404
        elif by == "code":
            assert "No game has this code" in room.join("eve", "AAAAAA")["problem"]
        else:
            assert "No seat of this game" in room.join("eve", word="no such word")["problem"]

    for _ in range(FREE_TRIES):
        guess()
    assert not room.waits
    for _ in range(8):
        guess()
    growing = list(dict.fromkeys(room.waits))
    assert growing == [0.5, 1.0, 2.0, 4.0, 8.0, LONGEST_DELAY_S]

    assert room.join("ann")["path"]  # from the same address, after the longest wait
    room.waits.clear()
    elsewhere = room.browser("ben", "192.0.2.2")
    assert elsewhere.post("/join", json={"code": room.session.code}).json()["path"]
    assert not room.waits


def test_texts_of_a_language_model_are_not_shown_to_people() -> None:
    game = Game(
        BertrandCompetition, minds="human", n_rounds=2, rng=1, recording=False,
        communication=False,
    )  # fmt: skip
    seats = game.seats.values()
    for seat in seats:
        seat.take("me")
    game.start()
    texts = []
    while game.status != "over":
        for seat in seats:
            if (question := seat.question) is not None:
                state = state_of(game, seat, "me")
                texts.append(state["question"]["rules"])
                kinds = [each["kind"] for each in state["question"]["inputs"]]
                seat.answer("me", question.number, "7" if kinds == ["number"] else "words")
        game.join(0.01)

    assert game.problem == ""
    assert len(texts) == 2
    for text in texts:
        assert not re.search(r"only the number|without a unit|Answer with|Answer in", text), text


def test_a_page_tells_of_one_moment_when_the_game_ends_while_it_is_read(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = room.game.seats.values()
    for seat in (first, other):
        seat.take("me")
    room.game.start()

    def end() -> Any:
        while (game := room.game).status != "over":
            for seat in (first, other):
                if (question := seat.question) is not None:
                    seat.answer("me", question.number, "7")
            game.join(0.01)
        return Game.agent_data(room.game)

    monkeypatch.setattr(room.game, "agent_data", end)
    during = state_of(room.game, first, "me")
    assert (room.game.status, room.game.problem) == ("over", "")
    assert during["rounds"]["over"] is during["heading"] is False
    monkeypatch.undo()
    after = state_of(room.game, first, "me")
    assert after["version"] > during["version"]
    assert after["rounds"]["over"] is after["heading"] is True
    assert [len(table["rows"]) for table in after["tables"]] == [1, 1]


def test_a_past_turn_says_what_stood_on_its_button() -> None:
    asks: dict[str, Any] = {}

    def answer(ask: Any) -> str:
        asks[ask.name] = ask
        return {"choose": "left", "act": "A"}.get(ask.name, "Fine.")

    model = EmergencyEvacuation(
        n_people=2, n_rounds=1, width=15, height=15, minds=ScriptedMind(answer), rng=1
    )
    model.step()
    said = {
        name: translated(answer_in_words(Question(0, asks[name], answer=given), model), "de")
        for name, given in {"choose": "left", "act": "A"}.items()
    }

    (x, y), step = board_of(asks["act"], model)["me"], board_of(asks["act"], model)["options"][0]
    across, down = {"↖": (-1, -1), "↑": (0, -1), "↗": (1, -1), "←": (-1, 0), "•": (0, 0),
                    "→": (1, 0), "↙": (-1, 1), "↓": (0, 1), "↘": (1, 1)}[said["act"]]  # fmt: skip
    assert said["choose"] == "left (links)"
    assert (step["option"], step["at"]) == ("A", [x + across, y + down])
    assert answer_in_words(Question(0, asks["act"]), model) == "(no answer in time)"


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_each_scenario_declares_for_a_class_can_be_used(name: str) -> None:
    declared = scenario(name).class_game
    model = scenario(name)(recording=False)

    assert all(options() for options in declared.choices.values())
    if (debrief := declared.debrief) is not None:
        assert debrief.column in model.columns_of(type(model.population[0]))
        assert debrief.low(model) < debrief.high(model)
        assert all(isinstance(value, float | int) for value in debrief.theory(model, None).values())
