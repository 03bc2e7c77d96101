"""The board of a class: what its tiles say, what its chart shows, and who may see it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pandas as pd
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from sabm_mesa import BertrandCompetition, EmergencyEvacuation, RepeatedBeautyContest
from sabm_mesa.runs.game import ClassSession, Game
from sabm_mesa.visualization.access import admit, host_key
from sabm_mesa.visualization.game_view import VIEWS, GameView
from sabm_mesa.visualization.middleware import RequestMiddleware
from sabm_mesa.visualization.scenario_view import Shown
from sabm_mesa.visualization.web import debrief
from sabm_mesa.visualization.web import wall as board
from sabm_mesa.visualization.web.games import GAMES


def _class(n: int = 2) -> ClassSession:
    games = [
        Game(
            RepeatedBeautyContest, minds="human", n_players=2, n_rounds=3, rng=seed, recording=False
        )
        for seed in range(n)
    ]
    for game in games:
        VIEWS[game] = GameView(game)
    return ClassSession(games)


def _play(game: Game, choices: list[list[float]]) -> None:
    """Put decisions into the view of a game, one list a round."""
    rows = [
        {"run": 0, "round": round_, "agent": agent, "mind": "human", "choice": choice}
        for round_, row in enumerate(choices)
        for agent, choice in enumerate(row, 1)
    ]
    VIEWS[game].shown = Shown(pd.DataFrame(), pd.DataFrame(rows))


def test_points_are_mean_decisions_by_round_as_people_read_it() -> None:
    game = _class(1).games[0]
    assert board.points_of(game) == []
    _play(game, [[20, 40], [10, float("nan")]])
    assert board.points_of(game) == [(1, 30.0), (2, 10.0)]
    assert board.points_of(game) is board.points_of(game)  # computed once


def test_a_given_round_is_no_point() -> None:
    game = Game(BertrandCompetition, minds="human", n_firms=2, n_rounds=3, recording=False)
    VIEWS[game] = GameView(game)
    rows = [{"round": r, "agent": a, "price": 6.0 + r} for r in (0, 1) for a in (1, 2)]
    VIEWS[game].shown = Shown(pd.DataFrame(), pd.DataFrame(rows))
    assert board.points_of(game) == [(1, 7.0)]


def test_a_read_only_link_leads_to_its_class_until_it_is_closed() -> None:
    one, two = _class(1), _class(1)
    for session in (one, two):
        GAMES.add("host", session.games[0])
    token = board.wall_of(one).token
    assert len(token) >= 22  # 128 bits
    assert token != board.wall_of(two).token
    assert board.session_of_link(token) is one
    assert board.session_of_link("") is board.session_of_link(one.code) is None
    GAMES.close(one.games[0])
    assert board.session_of_link(token) is None
    GAMES.close(two.games[0])


def test_slides_have_a_sentence_each_and_the_ranking_where_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = _class(1)
    game = session.games[0]
    _play(game, [[20, 40], [10, 14]])
    frame = VIEWS[game].shown.agent_data.assign(payoff=[0.0, 10.0, 3.0, 0.0])
    monkeypatch.setattr(game, "agent_data", lambda: frame)
    monkeypatch.setattr(game, "model_data", lambda: pd.DataFrame({"round": [0, 1]}))
    score = SimpleNamespace(
        label="Points", lower_is_better=False, until="",
        of_agents=lambda data: data.groupby("agent", as_index=False).agg(
            mind=("mind", "first"), score=("payoff", "sum")
        ),
    )  # fmt: skip
    monkeypatch.setattr(type(game.model), "score", score)
    course, shape, earned, _ = debrief.slides(session)
    assert len(course.words) == len(shape.words) == 1
    assert course.words[0].startswith(
        "The mean of the people fell from 30 to 12, towards the equilibrium 0"
    )
    assert shape.words[0] == (
        "The mean of the people here was 30 in round 1 (nearest in theory: level 1, 33.33), 12 in "
        "round 2 (nearest in theory: level 2, 13.33)."  # two steps from the mean of round 1
    )
    assert "level" not in course.drawing  # no line of the first round through all rounds
    assert earned.words == ["Points: people 6.5 on average, and 10 at best."]
    game.ranked = True
    ranking = debrief.slides(session)[3]
    assert ranking.words == ["Player 2 is first of 2."]
    assert "<li>1. Player 2: 10</li><li>2. Player 1: 3</li>" in ranking.drawing


def test_slides_are_of_people_and_a_mean_between_two_theories_is_near_to_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = _class(2)
    between = (100 / 3 + 200 / 9) / 2  # levels 1 and 2
    rows = [
        {"run": 0, "round": 0, "agent": agent, "mind": mind, "choice": choice, "payoff": 0.0}
        for agent, mind, choice in ((1, "human", between), (2, "classical", 90.0))
    ]
    machines = [{**row, "mind": "classical"} for row in rows]
    for game, frame in zip(session.games, map(pd.DataFrame, (rows, machines)), strict=True):
        monkeypatch.setattr(game, "agent_data", lambda frame=frame: frame)
        monkeypatch.setattr(game, "model_data", lambda: pd.DataFrame({"round": [0]}))
    course, shape = debrief.slides(session)[:2]
    assert "from 27.78 to 27.78" in course.words[0]
    assert "Group 1" in course.drawing
    assert "Group 2" not in course.drawing  # nobody sits there
    (words,) = shape.words
    assert words.endswith(
        "27.78 in round 1 (equally near in theory: level 1 33.33, level 2 22.22)."
    )


def test_slides_call_a_group_by_its_number_in_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _class(3)
    row = {"run": 0, "round": 0, "agent": 1, "mind": "human", "choice": 20.0, "payoff": 0.0}
    frame = pd.DataFrame([row])
    for game in session.games[1:]:
        monkeypatch.setattr(game, "agent_data", lambda: frame)
        monkeypatch.setattr(game, "model_data", lambda: pd.DataFrame({"round": [0]}))
    course = debrief.slides(session)[0]
    assert re.findall(r"Group \d", str(course.drawing)) == ["Group 2", "Group 3"]


def test_who_is_equally_good_shares_the_first_place(monkeypatch: pytest.MonkeyPatch) -> None:
    ranking = debrief.slides(_evacuated(monkeypatch, [0, 0, 1]))[2]
    assert ranking.words == ["Evacuee 1, Evacuee 2 share the first place of 3."]
    assert "<li>1. Evacuee 2" in ranking.drawing
    assert "<li>3. Evacuee 3" in ranking.drawing


def test_a_source_has_one_colour_on_all_slides(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _class(1)
    (game,) = session.games
    rows = [
        {
            "run": 0,
            "round": 0,
            "agent": agent,
            "mind": mind,
            "choice": 10.0 * agent,
            "payoff": agent,
        }
        for agent, mind in ((1, "human"), (2, "fixed:7"))
    ]
    monkeypatch.setattr(game, "agent_data", lambda: pd.DataFrame(rows))
    monkeypatch.setattr(game, "model_data", lambda: pd.DataFrame({"round": [0]}))
    shape, earned = debrief.slides(session)[1:3]
    colour = '<polyline points="[^"]*" fill="none" stroke="(#[0-9a-f]{6})"'
    assert re.findall(colour, shape.drawing)[0] == re.findall(colour, earned.drawing)[0]


def _evacuated(monkeypatch: pytest.MonkeyPatch, escaped: list[int | None]) -> ClassSession:
    """A class in a room for two rounds: the round in which each person is out, None for never."""
    n = len(escaped)
    game = Game(EmergencyEvacuation, minds="human", n_people=n, n_rounds=2, rng=1, recording=False)
    VIEWS[game] = GameView(game)
    rows = [
        {
            "run": 0, "round": round_, "agent": agent, "mind": "human",
            "status": "inside" if out is None or round_ < out else "escaped",
        }
        for round_ in range(2)
        for agent, out in enumerate(escaped, 1)
    ]  # fmt: skip
    rounds = {"round": [0, 1], **{name: [0, 0] for name in game.model.columns()}}
    monkeypatch.setattr(game, "agent_data", lambda: pd.DataFrame(rows))
    monkeypatch.setattr(game, "model_data", lambda: pd.DataFrame(rounds))
    game.ranked = True
    return ClassSession([game])


def test_who_never_got_out_is_counted_and_is_in_no_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, earned, ranking, _ = debrief.slides(_evacuated(monkeypatch, [0, 1, None]))
    assert earned.words == [
        "Rounds until out of the room: people 1.5 on average, and 1 at best.",
        "Did not get out: 1 of 3.",
    ]
    assert ">2<" in earned.drawing
    assert ">3<" not in earned.drawing
    assert "3. Evacuee 3: did not get out" in ranking.drawing


def test_the_course_of_one_group_is_no_mean_and_one_round_is_a_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = _evacuated(monkeypatch, [0, None])
    course = debrief.slides(session)[0]
    label = course.words[0].partition(":")[0]
    assert course.words == [f"{label}: from 0 in the first round to 0 in the last one."]
    assert "<circle" not in course.drawing
    (game,) = session.games
    one = game.model_data().head(1)
    monkeypatch.setattr(game, "model_data", lambda: one)
    assert debrief.slides(session)[0].drawing.count("<circle") == 1


def test_a_room_that_nobody_left_has_no_mean_and_no_chart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, earned, _, _ = debrief.slides(_evacuated(monkeypatch, [None, None]))
    assert (earned.words, earned.drawing) == (["Did not get out: 2 of 2."], "")


def test_the_axis_of_shares_ends_at_whole_percent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawing = debrief.slides(_evacuated(monkeypatch, [0, 0, 1]))[1].drawing
    assert "Share (%)" in drawing
    assert ">80<" in drawing  # two of three


@pytest.fixture
def wall() -> Iterator[tuple[TestClient, ClassSession]]:
    """A host's browser at the wall of a class of two groups."""
    session = _class(2)
    for game in session.games:
        GAMES.add("host", game)
    app = RequestMiddleware(Starlette(routes=board.routes()), local=True)
    cookies = {"sabm-host-1": admit(host_key()) or ""}
    yield TestClient(app, base_url="http://localhost", cookies=cookies), session
    for game in session.games:
        GAMES.close(game)


def test_a_wall_is_for_hosts_and_for_its_read_only_link(
    wall: tuple[TestClient, ClassSession],
) -> None:
    browser, session = wall
    screen, link = f"/screen/{session.code}", f"/wall/{board.wall_of(session).token}"
    assert browser.get(f"{screen}/state").json()["of_host"] is True
    assert browser.post(f"{screen}/show", json={"group": 1, "slide": 2}).status_code == 204
    assert (board.wall_of(session).group, board.wall_of(session).slide) == (1, 2)
    for given in ({"group": 7}, {"slide": -1}, {"group": "1"}, {}):
        browser.post(f"{screen}/show", json=given)
    assert (board.wall_of(session).group, board.wall_of(session).slide) == (1, 2)
    assert browser.post(f"{screen}/show", content=b"[").status_code == 400

    browser.cookies.clear()
    assert "This page is for the host" in browser.get(screen).text
    assert browser.get(f"{screen}/state").status_code == 403
    assert browser.post(f"{screen}/show", json={"group": 0}).status_code == 403
    assert browser.post(f"{link}/show", json={"group": 0}).status_code == 404
    assert browser.get(link).status_code == 200
    state = browser.get(f"{link}/state").json()
    assert (state["of_host"], state["code"], state["words"]) == (
        False, session.code, "0 of 4 joined",
    )  # fmt: skip
    assert all(seat.token not in str(state) for _, seat in session.seats)


def test_a_wall_says_that_a_language_model_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _class(1)
    monkeypatch.setattr(ClassSession, "status", "playing")
    words = "Round 1: 0 of 0 people ready"
    assert board.state_of(session)["words"] == words
    monkeypatch.setattr(Game, "plays_language_model", True)
    lines = board.state_of(session)["words"].split("\n")
    assert lines == [words, "A language model plays too, and takes its time."]


def test_a_picture_of_the_wall_says_which_group_it_shows() -> None:
    for groups, title in ((1, "Picks of the players"), (2, "Group 2. Picks of the players")):
        session = _class(groups)
        session.start()
        board.wall_of(session).group = groups - 1
        (picture,) = board.state_of(session)["scenes"]
        assert picture["title"] == title
        for game in session.games:
            game.stop()
            assert game.join(30)


def test_a_wall_is_told_at_once_what_has_changed(wall: tuple[TestClient, ClassSession]) -> None:
    browser, session = wall
    page = f"/screen/{session.code}/state"
    first = browser.get(page).json()
    session.join("ann")
    then = browser.get(page, params={"after": first["version"], "lang": "de"}).json()
    assert then["words"] == "1 von 4 dabei"
    assert then["version"] != first["version"]
    assert "1 weg" in str(then)
    for change in (  # of a seat, and of the second game
        lambda: setattr(session.seats[0][1], "seen", time.monotonic()),
        lambda: session.games[1].pause(paused=True),
    ):
        change()
        before, then = then, browser.get(page).json()
        assert then["version"] != before["version"]


def test_a_wall_without_a_game_says_so(wall: tuple[TestClient, ClassSession]) -> None:
    browser, _ = wall
    for page in ("/screen/WXYZ", "/wall/nobody"):
        assert browser.get(page).status_code == 200
        state = browser.get(f"{page}/state", headers={"Accept-Language": "de"}).json()
        assert (state["status"], state["texts"]["no_game"]) == ("none", "Hier ist kein Spiel")


def test_the_board_gives_those_who_decide_no_hint(
    wall: tuple[TestClient, ClassSession],
) -> None:
    browser, session = wall
    state = browser.get(f"/screen/{session.code}/state").json()
    assert state["board"]["label"] == "Pick: mean"
    assert "equilibrium" not in str(state["board"])
