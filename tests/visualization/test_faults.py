"""A failure behind a page is a line on it, and a run under way is never lost."""

import math
import threading

import pytest
from solara.server.kernel_context import has_current_context

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.analysis import plot_style as style
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import MindSpecError, RecordingError, UsageError
from sabm_mesa.runs.game import Game, Games, with_others
from sabm_mesa.visualization.labels import whole_in
from sabm_mesa.visualization.reading import store
from sabm_mesa.visualization.run_controller import RunController
from sabm_mesa.visualization.scenario_view import ModelView, ScenarioView
from sabm_mesa.visualization.viewer.html import painting
from sabm_mesa.visualization.viewer.page_state import PageState
from tests.visualization.test_run_controller import WAIT_S, Slow, wait_for


def contest(**parameters) -> KeynesianBeautyContest:
    return KeynesianBeautyContest(**{"n_players": 3, "n_rounds": 3, "rng": 1, **parameters})


def a_game(**parameters) -> Game:
    return Game(
        KeynesianBeautyContest, n_players=2, rng=1, recording=False,
        minds={"human": 1, "classical": 1}, **{"n_rounds": 1, **parameters},
    )  # fmt: skip


@pytest.fixture
def present():
    shows = []

    def make(model, scenario_view=None) -> RunController:
        shows.append(RunController(model, scenario_view or ScenarioView(type(model))))
        return shows[-1]

    yield make
    for controller in shows:
        controller.close()
        assert controller.join(WAIT_S)


def test_an_error_of_the_look_is_a_line_and_the_thread_lives(present):
    class Deaf(ScenarioView):
        def said(self, _model):
            raise LookupError("nobody listens")

    controller = present(contest(), Deaf(KeynesianBeautyContest))
    controller.play()
    wait_for(lambda: controller.status == "failed")
    assert controller.problem == "LookupError: nobody listens"


def test_a_show_that_cannot_be_closed_lets_go(caplog):
    class Sticky(KeynesianBeautyContest):
        def close(self, _problem="closed"):
            raise ZeroDivisionError

    then = threading.Event()
    controller = RunController(Sticky(n_players=3, n_rounds=1, rng=1), ScenarioView(Sticky))
    controller.close(then.set)
    assert then.wait(WAIT_S)
    assert controller.join(WAIT_S)
    assert "could not be closed" in caplog.text


def test_nothing_is_logged_of_a_look_whose_page_closes(caplog):
    begun, go = threading.Event(), threading.Event()

    class Late(ScenarioView):
        def charts(self, _model, _model_data, _agent_data):
            begun.set()
            go.wait(WAIT_S)
            raise OSError("the folder is gone")

    controller = RunController(contest(), Late(KeynesianBeautyContest))
    assert begun.wait(WAIT_S)
    controller.close()
    go.set()
    assert controller.join(WAIT_S)
    assert caplog.text == ""


def test_a_step_pressed_while_a_round_ends_is_played(present):
    ending, go = threading.Event(), threading.Event()

    class Late(ScenarioView):
        def said(self, model):
            if model.round >= 0:
                ending.set()
                go.wait(WAIT_S)
            return super().said(model)

    controller = present(contest(), Late(KeynesianBeautyContest))
    controller.play()
    assert ending.wait(WAIT_S)
    controller.pause()
    assert controller.status == "pausing"
    controller.play(1)
    go.set()
    wait_for(lambda: controller.status == "paused" and controller.shown.played == 1)
    assert controller.model.round == 1


def test_an_error_of_a_constructor_is_a_line():
    class Fussy(KeynesianBeautyContest):
        def __init__(self, n_players=24, **settings):
            if n_players == 13:
                raise TypeError("no such luck")
            super().__init__(n_players=n_players, **settings)

    with pytest.raises(UsageError, match="no such luck"):
        PageState(Fussy, {"n_players": 13})  # the page says so instead of the model
    page_state = PageState(Fussy, {})
    try:
        page_state.set("n_players", 13)
        page_state.reset()
        wait_for(lambda: not page_state.busy)
        assert "TypeError: no such luck" in page_state.problem
        page_state.set("n_players", 5)
        page_state.play()
        wait_for(lambda: not page_state.busy)  # the previous model is over, too
        wait_for(lambda: page_state.controller.status == "over")
    finally:
        page_state.close()
        assert page_state.controller.join(WAIT_S)


def test_reset_stops_the_round_before_it_makes_the_next_model():
    slow, was = Slow(), []

    class Watched(KeynesianBeautyContest):
        def __init__(self, n_players=6, **settings):
            if settings.get("recording") is not False and made:
                was.append(made[0]._scope.stopped)  # noqa: SLF001 - there is no other sign of it
            super().__init__(n_players=n_players, **settings)

    made: list[KeynesianBeautyContest] = []
    page_state = PageState(Watched, {"minds": slow})
    try:
        page_state.play()
        wait_for(lambda: page_state.controller.model.in_flight == 6)
        made.append(page_state.controller.model)
        page_state.reset()
        wait_for(lambda: not page_state.busy)
        assert was == [True]
    finally:
        slow.go.set()
        page_state.close()
        assert page_state.controller.join(WAIT_S)


def test_a_page_at_rest_is_not_drawn_again_for_an_unknown_price(monkeypatch):
    page_state = PageState(KeynesianBeautyContest, {})
    try:
        wait_for(lambda: page_state.controller.version >= 1)
        monkeypatch.setattr(page_state.controller.model, "spent", lambda: Usage(cost_usd=math.nan))
        assert page_state.state() == page_state.state()
    finally:
        page_state.close()
        assert page_state.controller.join(WAIT_S)


def test_between_the_end_of_a_round_and_the_moment_it_is_kept_no_message_is_missing():
    model = contest()
    model.run_model()
    view = ModelView(model, ScenarioView(type(model)))
    during = view.said()

    assert [each.text for each in during[model.round]] == [s.text for s in model.said]
    view.keep_said()
    assert view.said() == during


def test_an_answer_in_the_moment_of_the_limit_is_shown_as_it_counts():
    game = a_game(time_limit_s=0.2)
    (seat,) = game.seats.values()
    seat.take("me")
    changed_from, refusals = seat.changed_from, []

    async def late(version, timeout_s):
        await changed_from(version, timeout_s)
        if seat.question is not None and seat.question.remaining_s == 0:  # between limit and end
            refusals.append(seat.answer("me", 0, "40"))

    seat.changed_from = late
    game.start()
    game.join()
    assert refusals == [""]
    assert seat.turns[0].answer == "40"
    assert game.own_data(seat).iloc[0].astype(str).str.contains("40").any()


def test_games_that_are_played_end_with_the_server():
    games, game = Games(), a_game()
    games.add("host", game)
    (seat,) = game.seats.values()
    game.start()
    wait_for(lambda: seat.question)
    games.close(game)  # also one whose links lead nowhere any more
    games.close_all()
    assert game.status == "over"
    assert game.problem


def test_an_error_that_is_none_of_the_packages_ends_a_game_with_a_line():
    game = a_game(n_rounds=2)
    game.watch = lambda: 1 // 0
    (seat,) = game.seats.values()
    seat.take("me")
    game.start()
    wait_for(lambda: seat.question)
    seat.answer("me", seat.question.number, "40")
    wait_for(lambda: game.status == "over")
    assert "ZeroDivisionError" in game.problem


def test_people_are_not_among_the_others():
    for others in ("human", {"human": 1, "classical": 1}):
        with pytest.raises(MindSpecError, match="cannot be people"):
            with_others(KeynesianBeautyContest, {"n_players": 3}, others)


def test_names_that_are_none_are_told_in_a_line():
    for name in ("~nosuchuser/x.sqlite", "\0", "a" * 300):
        place = store.place_of(name)
        store.stamp(place)
        with pytest.raises(RecordingError):
            store.runs_of(place)
        with pytest.raises(RecordingError):
            store.run_data(place, 0)


@pytest.mark.parametrize(
    ("typed", "number"), [("7", 7), (" 12 ", 12), ("x", None), ("", None), ("9" * 5000, None)]
)
def test_a_number_that_is_typed_has_a_size(typed, number):
    assert whole_in(typed) == number


def test_what_people_write_is_no_formula():
    figure = style.new_figure(r"Prices $\bar$", r"baseline · fixed:$\foo$ · seed 1", height=2)
    assert style.to_png(figure).startswith(b"\x89PNG")


def test_what_is_painted_belongs_to_no_page():
    seen = []
    with painting():
        seen.append(has_current_context())
        other = threading.Thread(
            target=lambda: seen.append(style.drawing_lock.acquire(blocking=False))
        )
        other.start()
        other.join()
    assert seen == [False, False]
