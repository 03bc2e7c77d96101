"""The model on show, without a browser."""

import asyncio
import threading
import time

import pandas as pd
import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.models.base import SmartModel
from sabm_mesa.registry import SCENARIOS, scenario
from sabm_mesa.visualization.looks import Look, one_sentence
from sabm_mesa.visualization.run_card import expected_answers
from sabm_mesa.visualization.show import Show, close_all
from sabm_mesa.visualization.stage import Stage

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

    def make(**parameters) -> Show:
        model = KeynesianBeautyContest(**{"rng": 1, "n_players": 6, **parameters})
        shows.append(Show(model, Look(type(model))))
        return shows[-1]

    yield make
    close_all()
    assert not any(show._thread.is_alive() for show in shows)  # noqa: SLF001 - none may be left


def test_a_show_plays_to_the_end_as_the_model_alone_does(present):
    show = present()
    assert show.status == "ready"
    show.play()
    wait_for(lambda: show.status == "over" and show.shown.painted == 3)

    alone = KeynesianBeautyContest(rng=1, n_players=6)
    alone.run_model()
    pd.testing.assert_frame_equal(show.shown.model_data, alone.model_frame())
    assert show.shown.model_csv() == alone.model_frame().to_csv(index=False)
    assert [picture.name for picture in show.shown.pictures] == ["variance", "picks", "depth"]
    said = show.said()
    assert list(said) == [1, 2, 3]
    assert [s.text for s in said[2]] == [s.text for s in alone.said if s.round == 2]
    assert said[1][0].speaker.startswith("Player ")


def test_a_step_is_one_round(present):
    show = present()
    show.play(1)
    wait_for(lambda: show.status == "paused")
    assert show.model.round == 0


def test_a_pause_lets_the_round_end(present):
    slow = Slow()
    show = present(minds=slow)
    show.play()
    wait_for(lambda: show.model.in_flight == 6)
    assert show.status == "playing"
    show.pause()
    assert show.status == "pausing"
    slow.go.set()
    wait_for(lambda: show.status == "paused")
    assert (show.model.round, show.model.in_flight) == (0, 0)


def test_a_show_can_be_closed_in_the_middle_of_a_round(present):
    slow, then = Slow(), threading.Event()
    show = present(minds=slow)
    show.play()
    wait_for(lambda: show.model.in_flight == 6)
    show.close(then.set)
    slow.go.set()
    assert show.join(WAIT_S)
    assert then.is_set()
    assert not show.model.running


def test_a_failing_mind_is_a_problem_of_the_run(present):
    show = present(minds=Broken())
    show.play()
    wait_for(lambda: show.status == "failed")
    assert "no idea" in show.problem


def test_a_chart_that_fails_does_not_end_the_run(present, monkeypatch, caplog):
    def fail(*_args, **_options):
        raise ValueError("cannot draw")

    monkeypatch.setattr(Look, "paint", fail)
    show = present()
    show.play()
    wait_for(lambda: show.status == "over")
    assert show.shown.model_data["round"].tolist() == [0, 1, 2, 3]
    assert "cannot draw" in show.shown.problem
    assert "cannot draw" in caplog.text


def test_a_pace_makes_rounds_last(present):
    show = present()
    show.interval_s = 30.0
    show.play()
    wait_for(lambda: show.model.round == 0 and show.shown.painted == 0)
    assert show.status == "playing"
    show.pause()
    wait_for(lambda: show.status == "paused")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_has_a_card(name):
    picture = Look(scenario(name)).card()
    assert picture.png.startswith(b"\x89PNG")
    assert picture.title.startswith(scenario(name).title)
    assert one_sentence(scenario(name)).endswith(".")


def test_a_scenario_without_plots_and_page_gets_line_charts():
    class Bare(KeynesianBeautyContest):
        scenario_name, plots = "bare", ""

    model: SmartModel = Bare(n_players=4, rng=1)
    look = Look(Bare)
    assert look.paint(model) == []
    model.run_model()
    titles = [picture.title for picture in look.paint(model)]
    assert titles[:2] == ["Mean by round", "Target by round"]
    assert look.table(model, model.model_frame()) is None


def test_the_published_table_is_that_of_the_published_room():
    for parameters, shown in (({}, True), ({"obstacles": True}, False), ({"width": 20}, False)):
        model = scenario("evacuation")(n_people=5, n_rounds=1, rng=1, **parameters)
        model.run_model()
        assert (Look(type(model)).table(model, model.model_frame()) is not None) == shown


@pytest.mark.parametrize(
    ("name", "value", "label"),
    [
        ("rng", "abc", "Seed"),
        ("minds", "chess", "Minds: who decides"),
        ("minds", "fixed:10=1", "Minds: who decides"),
        ("max_asks", "many", "Most requests"),
        ("max_attempts", "0", "Max attempts"),
        ("temperature", "-1", "Temperature"),
        ("personas", "{", "Personas"),
    ],
)
def test_an_error_names_the_label_of_its_control(name, value, label):
    stage = Stage(KeynesianBeautyContest, {})
    try:
        stage.set(name, value)
        stage.reset()
        wait_for(lambda: not stage.busy)
        assert stage.wrong == name
        assert f"“{label}”" in stage.problem
    finally:
        stage.close()
        assert stage.show.join(WAIT_S)


def test_the_answers_of_a_round_are_known_before_where_all_take_part():
    contest = KeynesianBeautyContest(n_players=5, n_rounds=2, rng=1)
    contest.round = 0
    assert expected_answers(contest) == 5
    contest.round = 1
    assert expected_answers(contest) == 10
    contest.tally.asks = 11
    assert expected_answers(contest) is None
    assert expected_answers(scenario("evacuation")(n_people=5, rng=1)) is None


def test_players_see_no_more_than_the_scenario_makes_public():
    firms = scenario("bertrand")(rng=1)
    assert Look(type(firms)).public_columns(firms) == ["price_1", "price_2"]
    people = scenario("evacuation")(n_people=5, rng=1)
    assert set(Look(type(people)).public_columns(people)) <= set(people.columns())
    contest = KeynesianBeautyContest(rng=1)
    assert Look(type(contest)).public_columns(contest) == list(contest.columns())


def test_a_stage_makes_models_from_its_controls():
    stage = Stage(KeynesianBeautyContest, {"n_rounds": 2})
    try:
        stage.set("n_players", 5)
        stage.set("rng", "3")
        stage.set("minds", "fixed:10=2,classical=3")
        assert stage.dirty
        stage.play()
        wait_for(lambda: stage.show.status == "over")
        model = stage.show.model
        assert model.minds_in_use() == {"fixed:10": 2, "classical": 3}
        assert (model.n_players, model.n_rounds, model.entropy) == (5, 2, (3,))
        assert model.recording_path is not None
        assert not stage.dirty

        stage.set("minds", "fixed:10=1")
        stage.reset()
        wait_for(lambda: not stage.busy)
        assert "minds" in stage.problem
        assert stage.show.model is model
        stage.set("max_asks", "many")
        stage.reset()
        wait_for(lambda: not stage.busy)
        assert "number" in stage.problem
    finally:
        stage.close()
        assert stage.show.join(WAIT_S)
    assert not model.recording_path.exists()
