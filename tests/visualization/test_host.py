"""Games of the page of a host, without its browser."""

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from sabm_mesa import RepeatedBeautyContest
from sabm_mesa.errors import KEY_VARIABLE, UsageError
from sabm_mesa.llm import close_all
from sabm_mesa.llm.endpoints import ENDPOINTS_VARIABLE
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.runs.game import ClassSession, Game
from sabm_mesa.visualization.access import admit, host_key
from sabm_mesa.visualization.middleware import RequestMiddleware
from sabm_mesa.visualization.web.games import GAMES
from sabm_mesa.visualization.web.host import progress, routes, state_of, tile_of
from sabm_mesa.visualization.web.opening import open_session, take_up
from sabm_mesa.visualization.web.settings import NewGameForm, read_link
from tests.llm_server import LLMServer

KEY = "-".join(["lab", "key", "9876543210"])


def test_language_models_of_a_game_are_at_the_endpoints_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_API_KEY", KEY)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv(ENDPOINTS_VARIABLE, str(tmp_path / "endpoints.toml"))
    with LLMServer(brain=lambda _messages, _body: "33", api_key=KEY) as server:
        Path("endpoints.toml").write_text(
            f'[endpoints.lab]\nbase_url = "{server.url}"\nkey_env = "LAB_API_KEY"\n'
        )
        sizes = {"n_players": 3, "n_rounds": 2, "rng": 1}
        (game,) = open_session(
            "host", scenario("beauty-contest"), sizes, "llm:m@lab", 1, time_limit_s=60, public=True
        ).games
        game.start()
        server.wait_until(lambda s: s.stats.get("status_200") == 2)
        game.stop()
        assert game.join(30)
        path = game.model.recording_path
        assert path is not None

        take_up("host", path, 0)
        (again,) = GAMES.of("host")
        (seat,) = again.seats.values()
        seat.take("me")
        again.start()
        while again.status != "over":
            if question := seat.question:
                seat.answer("me", question.number, "20", "")
            again.join(0.01)
        assert again.problem == ""
        assert server.stats["status_200"] == len(server.requests) == 4
        assert {seen.headers["Authorization"] for seen in server.requests} == {f"Bearer {KEY}"}
        GAMES.close(again)
        close_all()


def test_one_browser_hosts_classes_that_are_over_played_and_open() -> None:
    sizes = {"n_players": 2, "n_rounds": 2, "rng": 1, "recording": False}
    sessions = [
        open_session(
            "teacher", scenario("beauty-contest"), sizes, "classical", 2,
            time_limit_s=limit, public=True, groups=2,
        )
        for limit in (0.01, 0.01, 60, 60, 60, 60)
    ]  # fmt: skip
    for session in sessions[:4]:
        session.start()
    assert all(game.join(30) for session in sessions[:2] for game in session.games)
    shown = state_of("teacher", "")
    first = state_of("teacher", sessions[0].code)["now"]
    sessions[0].games[1].problem = "The run was stopped."
    stopped = state_of("teacher", sessions[0].code)["now"]
    for game in GAMES.of("teacher"):
        GAMES.close(game)
    assert shown["now"]["code"] == sessions[-1].code, "the newest is on the screen"
    states = [game["status"] for game in shown["old"]]
    assert states == ["open", "playing", "playing", "over", "over"]
    assert (first["code"], first["status"]) == (sessions[0].code, "over")
    assert len(first["table"]["rows"]) == 2
    assert first["problems"] == ["The game is over."]
    assert stopped["problems"] == ["The run was stopped."]


def test_a_host_reads_that_a_language_model_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Game(RepeatedBeautyContest, minds="human", n_players=2, n_rounds=1, recording=False)
    session = ClassSession([game])
    monkeypatch.setattr(ClassSession, "status", "playing")
    monkeypatch.setattr(Game, "status", "playing")
    assert progress(session) == "0 of 1 round done."
    monkeypatch.setattr(Game, "plays_language_model", True)
    line = "A language model plays too, and takes its time."
    assert progress(session).endswith(line)


def test_only_a_seat_with_a_question_can_be_skipped() -> None:
    game = Game(RepeatedBeautyContest, minds="human", n_players=2, n_rounds=1, recording=False)
    seat, other = game.seats.values()
    seat.take("ann")
    assert not tile_of(game, seat)["asked"]
    game.start()
    while seat.question is None:
        seat.wait(seat.version)
    assert tile_of(game, seat)["asked"]
    game.stop()
    assert game.join(30)
    for each in (seat, other):
        assert not tile_of(game, each)["asked"]


def form(link: str = "", game: str = "kbc", **typed: object) -> NewGameForm:
    return NewGameForm(read_link(link, SCENARIOS), typed, game=game)


def test_a_form_is_filled_in_by_a_link_and_then_by_the_host() -> None:
    link = "game=bertrand&people=2&groups=8&rounds=4&seconds=45&vote=on"
    words = "2 seats for people in each of 8 groups; 4 rounds; 45 seconds for an answer"
    assert form(link).in_words() == f"Bertrand competition: {words}; a vote at the end."
    changed = form(link, groups="3", vote=False).in_words()
    assert changed == f"Bertrand competition: {words.replace('8 groups', '3 groups')}."
    values = {field.label: field.value for field in form(people="30").fields}
    assert values["Number of players"] == 30, "as many players as seats"
    with_machines = form("game=public-goods&people=3&machines=2").fields
    assert {field.name: field.value for field in with_machines}["n_players"] == 5


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ({"groups": "21"}, "Groups: give a whole number from 1 to 20."),
        ({"people": "many"}, "Seats for people: give a whole number of 1 or more."),
        ({"seconds": "nan"}, "Seconds for an answer: give a number of 0.001 or more."),
        ({"seed": "one"}, "Seed: give a whole number of 0 or more, or nothing."),
        ({"n_rounds": "0"}, "Number of rounds: give a whole number of 1 or more."),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(typed: dict[str, str], problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        form(**typed).open("host")
    assert str(refused.value) == problem


def test_the_settings_of_a_lesson_are_those_of_its_page() -> None:
    lessons = Path(__file__).parents[2] / "docs" / "lessons"
    texts = [page.read_text(encoding="utf-8") for page in lessons.glob("*.md")]
    settings = {name: scenario(name).class_game.lesson for name in SCENARIOS}
    linked = {name: lesson for name, lesson in settings.items() if lesson}

    assert len(linked) == len(texts)
    for name, lesson in linked.items():
        assert any(f"`localhost:8765/host?game={name}&{lesson}`" in text for text in texts), name


def a_browser(**cookies: str) -> TestClient:
    app = RequestMiddleware(Starlette(routes=routes()), local=True)
    return TestClient(app, base_url="http://localhost", cookies=cookies)


REQUESTS = [
    ("GET", "/host"), ("GET", "/host/state"), ("POST", "/host/form"), ("POST", "/host/open"),
    ("POST", "/host/do"), ("GET", "/host/all/ABCDEF"), ("GET", "/results/ABCDEF"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_browser_without_the_key_gets_nothing_of_a_host(method: str, path: str) -> None:
    assert a_browser().request(method, path, json={}).status_code == 403


@pytest.mark.parametrize("path", ["/host/form", "/host/open", "/host/do"])
@pytest.mark.parametrize("body", ["[]", "{", '"text"', ""])
def test_a_request_of_a_host_that_holds_no_object_does_nothing(path: str, body: str) -> None:
    browser = a_browser(**{"sabm-host-1": admit(host_key()) or ""})
    before = len(GAMES.of("host"))
    answer = browser.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json() == {"problem": "The request holds no JSON object."}
    assert len(GAMES.of("host")) == before


def test_another_browser_of_a_host_ends_nothing_before_it_shares_the_class() -> None:
    given = {"n_players": 2, "n_rounds": 1, "recording": False}
    session = open_session(
        "one", RepeatedBeautyContest, given, "fixed:50", 1, time_limit_s=None, public=True
    )
    (game,) = session.games
    session.start()
    cookies = {"sabm-host-1": admit(host_key()) or "", "sabm-session": "another"}
    browser = a_browser(**cookies)
    for action in ("end", "close"):
        browser.post("/host/do", json={"code": session.code, "do": action})
        assert game.status == "playing"

    browser.post("/host/do", json={"code": session.code, "do": "share"})
    browser.post("/host/do", json={"code": session.code, "do": "end"})
    assert game.join(60)
    GAMES.close(game)
