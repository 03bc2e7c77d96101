"""Games of the page of a host, without its browser."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
import reacton
from solara.server.kernel import Kernel
from solara.server.kernel_context import VirtualKernelContext

from sabm_mesa import RepeatedBeautyContest
from sabm_mesa.errors import KEY_VARIABLE
from sabm_mesa.llm import close_all
from sabm_mesa.llm.endpoints import ENDPOINTS_VARIABLE
from sabm_mesa.models.declarations import load_class_game
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.runs.game import ClassSession, Game
from sabm_mesa.visualization.pages.host import Page, open_session, progress, take_up, tile_of
from sabm_mesa.visualization.pages.play_parts import GAMES
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
    with (
        closing(asyncio.new_event_loop()) as loop,
        VirtualKernelContext(id="page", kernel=Kernel(), session_id="teacher", event_loop=loop),
    ):
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
        _, page = reacton.render(Page(), handle_error=False)
        page.close()
        states = [session.status for session in sessions]
        for game in GAMES.of("teacher"):
            GAMES.close(game)
    assert states == ["over", "over", "playing", "playing", "open", "open"]


def test_a_host_reads_that_a_language_model_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Game(RepeatedBeautyContest, minds="human", n_players=2, n_rounds=1, recording=False)
    session = ClassSession([game])
    monkeypatch.setattr(ClassSession, "status", "playing")
    monkeypatch.setattr(Game, "status", "playing")
    assert progress(session) == "0 of 1 round done, 0 answers."
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


def test_the_settings_of_a_lesson_are_those_of_its_page() -> None:
    lessons = Path(__file__).parents[2] / "docs" / "lessons"
    texts = [page.read_text(encoding="utf-8") for page in lessons.glob("*.md")]
    settings = {name: load_class_game(scenario(name).class_game).lesson for name in SCENARIOS}
    linked = {name: lesson for name, lesson in settings.items() if lesson}

    assert len(linked) == len(texts)
    for name, lesson in linked.items():
        assert any(f"`localhost:8765/host?game={name}&{lesson}`" in text for text in texts), name
