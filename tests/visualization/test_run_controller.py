"""The model on show, without a browser."""

import asyncio
import threading
import time

import pandas as pd
import pytest

from sabm_mesa import FiniteGame, KeynesianBeautyContest, llm
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.visualization.run_controller import RunController, close_all
from sabm_mesa.visualization.scenario_view import ScenarioView, one_sentence
from sabm_mesa.visualization.viewer.home import card_of
from sabm_mesa.visualization.viewer.page_state import PageState
from sabm_mesa.visualization.viewer.panels import expected_answers
from tests.gguf import KEYS, gguf, unstarted

WAIT_S = 120.0


class Slow:
    """A mind that waits until it is let go."""

    spec, instant, paid = "slow", False, False

    def __init__(self) -> None:
        self.go = threading.Event()

    async def answer(self, _ask):
        await asyncio.to_thread(self.go.wait, WAIT_S)
        return 10


class Broken:
    """A mind that fails."""

    spec, instant, paid = "broken", True, False

    async def answer(self, _ask):
        raise ValueError("no idea")


def wait_for(condition) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def present():
    shows = []

    def make(**parameters) -> RunController:
        model = KeynesianBeautyContest(**{"rng": 1, "n_players": 6, **parameters})
        shows.append(RunController(model, ScenarioView(type(model))))
        return shows[-1]

    yield make
    close_all()
    assert not any(controller._thread.is_alive() for controller in shows)  # noqa: SLF001 - none may be left


def test_a_show_plays_to_the_end_as_the_model_alone_does(present):
    controller = present()
    assert controller.status == "ready"
    controller.play()
    wait_for(lambda: controller.status == "over" and controller.shown.played == 3)

    alone = KeynesianBeautyContest(rng=1, n_players=6)
    alone.run_model()
    pd.testing.assert_frame_equal(controller.shown.model_data, alone.model_frame())
    assert controller.model_csv() == alone.model_frame().to_csv(index=False)
    names = ["picks", "first_picks", "depth", "variance"]
    assert [chart.name for chart in controller.shown.charts] == names
    means = controller.shown.charts[0].series[1]
    assert means.points == list(enumerate(alone.model_frame()["mean"]))
    said = controller.said()
    assert list(said) == [1, 2, 3]
    assert [s.text for s in said[2]] == [s.text for s in alone.conversation(None) if s.round == 2]
    assert said[1][0].speaker.startswith("Player ")


def test_a_step_is_one_round(present):
    controller = present()
    controller.play(1)
    wait_for(lambda: controller.status == "paused")
    assert controller.model.round == 0


def test_a_pause_lets_the_round_end(present):
    slow = Slow()
    controller = present(minds=slow)
    controller.play()
    wait_for(lambda: controller.model.in_flight == 6)
    assert controller.status == "playing"
    controller.pause()
    assert controller.status == "pausing"
    slow.go.set()
    wait_for(lambda: controller.status == "paused")
    assert (controller.model.round, controller.model.in_flight) == (0, 0)


def test_a_show_can_be_closed_in_the_middle_of_a_round(present):
    slow, then = Slow(), threading.Event()
    controller = present(minds=slow)
    controller.play()
    wait_for(lambda: controller.model.in_flight == 6)
    controller.close(then.set)
    slow.go.set()
    assert controller.join(WAIT_S)
    assert then.is_set()
    assert not controller.model.running


def test_a_failing_mind_is_a_problem_of_the_run(present):
    controller = present(minds=Broken())
    controller.play()
    wait_for(lambda: controller.status == "failed")
    assert "no idea" in controller.problem
    assert controller.in_code


def test_a_chart_that_fails_does_not_end_the_run(present, monkeypatch, caplog):
    def fail(*_args, **_options):
        raise ValueError("cannot draw")

    monkeypatch.setattr(ScenarioView, "charts", fail)
    controller = present()
    controller.play()
    wait_for(lambda: controller.status == "over")
    assert controller.shown.model_data["round"].tolist() == [0, 1, 2, 3]
    assert "cannot draw" in controller.shown.problem
    assert "cannot draw" in caplog.text


def test_a_pace_makes_rounds_last(present):
    controller = present()
    controller.interval_s = 30.0
    controller.play()
    wait_for(lambda: controller.model.round == 0 and controller.shown.played == 0)
    assert controller.status == "playing"
    controller.pause()
    wait_for(lambda: controller.status == "paused")


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_has_a_card(name):
    title, png = card_of(scenario(name))
    assert png.startswith(b"\x89PNG")
    assert title.startswith(scenario(name).title)
    assert one_sentence(scenario(name)).endswith(".")


def test_a_scenario_without_a_page_gets_line_charts():
    class Bare(KeynesianBeautyContest):
        scenario_name, page = "bare", ScenarioPage()

    model: SmartModel = Bare(n_players=4, rng=1)
    scenario_view = ScenarioView(Bare)
    charts = scenario_view.charts(model, model.model_frame(), model.agent_frame())
    assert not any(each.points for chart in charts for each in chart.series)
    model.run_model()
    charts = scenario_view.charts(model, model.model_frame(), model.agent_frame())
    assert [chart.title for chart in charts][:2] == ["Mean by round", "Target by round"]
    assert scenario_view.table(model, model.model_frame()) is None


def test_the_published_table_is_that_of_the_published_room():
    for parameters, shown in (({}, True), ({"obstacles": True}, False), ({"width": 20}, False)):
        model = scenario("evacuation")(n_people=5, n_rounds=1, rng=1, **parameters)
        model.run_model()
        assert (ScenarioView(type(model)).table(model, model.model_frame()) is not None) == shown


def test_a_finite_game_has_its_name_and_its_payoffs_before_the_first_round():
    view, model = ScenarioView(FiniteGame), FiniteGame(game="chicken", recording=False)
    assert view.heading(model) == f"Finite games: {model.rules.title}"
    caption, payoffs = view.table(model, model.model_frame())
    assert caption.startswith(model.rules.title)
    assert len(payoffs) == 2


@pytest.mark.parametrize(
    ("name", "value", "label"),
    [
        ("rng", "abc", "Seed"),
        ("minds", "chess", "Minds: who decides"),
        ("minds", "fixed:10=1", "Minds: who decides"),
        ("max_asks", "many", "Most requests"),
        ("budget_usd", "-1", "Most dollars"),
        ("base_url", "example.org", "Endpoint base URL"),
        ("condition", "hasty", "Condition"),
        ("max_attempts", "0", "Max attempts"),
        ("temperature", "-1", "Temperature"),
        ("personas", "{", "Personas"),
    ],
)
def test_an_error_names_the_label_of_its_control(name, value, label):
    page_state = PageState(KeynesianBeautyContest, {})
    try:
        page_state.set(name, value)
        page_state.reset()
        wait_for(lambda: not page_state.busy)
        assert page_state.wrong == name
        assert f"“{label}”" in page_state.problem
    finally:
        page_state.close()
        assert page_state.controller.join(WAIT_S)


@pytest.mark.slow
def test_reset_gives_the_server_of_a_local_model_the_new_options(tmp_path, monkeypatch):
    servers, path = unstarted(monkeypatch), tmp_path / "small.gguf"
    path.write_bytes(gguf(KEYS))
    page_state = PageState(KeynesianBeautyContest, {})
    other = None
    try:
        for slots in (1, 2):
            page_state.set("minds", f"gguf:{path}?threads=1&slots={slots}")
            page_state._check(page_state.values)  # noqa: SLF001 - no sign that the thread is done
            assert page_state.problem == ""
            page_state.reset()
            wait_for(lambda: not page_state.busy)
            assert page_state.problem == ""
            assert [server.slots for server in servers] == [slots]

        other = KeynesianBeautyContest(minds=f"gguf:{path}?threads=1&slots=2", recording=False)
        page_state.set("minds", f"gguf:{path}?threads=1&slots=1")
        page_state._check(page_state.values)  # noqa: SLF001 - no sign that the thread is done
        assert page_state.problem == ""
        page_state.reset()
        wait_for(lambda: not page_state.busy)
        assert page_state.wrong == "minds"
        assert "runs already with other options" in page_state.problem
        assert page_state.controller.status == "over"
        assert [server.slots for server in servers] == [2]
    finally:
        del other
        page_state.close()
        assert page_state.controller.join(WAIT_S)
        llm.close_all()


def test_the_answers_of_a_round_are_known_before_where_all_take_part():
    contest = KeynesianBeautyContest(n_players=5, n_rounds=2, rng=1)
    contest.round = 0
    assert expected_answers(contest) == 5
    contest.round = 1
    assert expected_answers(contest) == 10
    contest.usage.asks = 11
    assert expected_answers(contest) is None
    assert expected_answers(scenario("evacuation")(n_people=5, rng=1)) is None


def test_players_see_no_more_than_the_scenario_makes_public():
    firms = scenario("bertrand")(rng=1)
    assert ScenarioView(type(firms)).public_columns(firms) == ["price_1", "price_2"]
    people = scenario("evacuation")(n_people=5, rng=1)
    assert set(ScenarioView(type(people)).public_columns(people)) <= set(people.columns())
    contest = KeynesianBeautyContest(rng=1)
    assert ScenarioView(type(contest)).public_columns(contest) == list(contest.columns())


def test_a_stage_makes_models_from_its_controls():
    page_state = PageState(KeynesianBeautyContest, {"n_rounds": 2})
    try:
        page_state.set("n_players", 5)
        page_state.set("rng", "3")
        page_state.set("minds", "fixed:10=2,classical=3")
        assert page_state.dirty
        page_state.play()
        wait_for(lambda: not page_state.busy)  # the previous model is over, too
        wait_for(lambda: page_state.controller.status == "over")
        model = page_state.controller.model
        assert model.minds_in_use() == {"fixed:10": 2, "classical": 3}
        assert (model.n_players, model.n_rounds, model.entropy) == (5, 2, (3,))
        assert model.recording_path is not None
        assert not page_state.dirty

        page_state.set("minds", "fixed:10=1")
        page_state.reset()
        wait_for(lambda: not page_state.busy)
        assert "minds" in page_state.problem
        assert page_state.controller.model is model
        page_state.set("max_asks", "many")
        page_state.reset()
        wait_for(lambda: not page_state.busy)
        assert "number" in page_state.problem
    finally:
        page_state.close()
        assert page_state.controller.join(WAIT_S)
    assert not model.recording_path.exists()
