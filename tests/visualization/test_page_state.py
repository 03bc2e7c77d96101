"""The state of a scenario's page: what is selected, asked and said."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.errors import MindSpecError
from sabm_mesa.llm import close_all
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.visualization.scenario_view import ScenarioView
from sabm_mesa.visualization.viewer.controls import controls_of, parameters_from
from sabm_mesa.visualization.viewer.page_state import PageState
from tests.llm_server import LLMServer

pytestmark = pytest.mark.check_once
WAIT_S = 60.0


@pytest.fixture
def opened() -> Iterator[Callable[..., PageState]]:
    states = []

    def make(**fixed: Any) -> PageState:
        states.append(PageState(KeynesianBeautyContest, {"n_players": 3, "n_rounds": 3, **fixed}))
        return states[-1]

    yield make
    for state in states:
        state.close()
        assert state.controller.join(WAIT_S)
    close_all()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_selected_round_is_one_that_was_played(opened: Callable[..., PageState]) -> None:
    state = opened()
    assert (state.controller.shown.played, state.looked_at, state.controller.status) == (
        -1,
        -1,
        "ready",
    )
    state.play(2)
    until(lambda: state.controller.shown.played == 1)
    until(lambda: state.controller.status != "playing")

    looked = []
    for round_ in (0, 1, -1, 5):
        state.go(round_)
        looked.append((state.at, state.looked_at))
    assert looked == [(0, 0), (None, 1), (None, 1), (None, 1)]  # the latest one follows the run


def test_one_agent_has_its_story_shown(opened: Callable[..., PageState]) -> None:
    state = opened()
    shown = []
    for chosen in (2, "3", 3, 1, None):
        state.choose(chosen)
        shown.append(state.agent)
    state.choose(1)
    state.leave()
    assert shown == [2, 3, None, 1, None]
    assert state.agent is None


def test_it_says_who_will_decide_and_what_may_cost(opened: Callable[..., PageState]) -> None:
    state = opened()
    assert not state.costs
    assert state.kept_path is None
    free = state.upcoming()
    state.values = {**state.values, "minds": "llm:gpt-4o-mini"}
    paid = state.upcoming()
    state.values = {**state.values, "minds": "no such mind"}

    assert "gpt-4o-mini" in paid[0]
    assert paid[1] != free[1] == state.upcoming()[1]
    assert opened(minds="fixed:3").upcoming()[1] == free[1]


@pytest.mark.parametrize(
    ("answer", "of_form", "advice"),
    [("33", ("ok", 4), "ok"), ("Many.", ("warning", 2), "ok"), ("", ("problem", 0), "problem")],
    ids=["usable", "only as a message", "unusable"],
)
def test_a_model_is_checked_with_the_questions_of_the_scenario(
    opened: Callable[..., PageState], answer: str, of_form: tuple[str, int], advice: str
) -> None:
    with LLMServer(brain=lambda *_: answer) as server:
        state = opened()
        state.values = {**state.values, "base_url": server.url}
        lines = {subject: (how, words) for how, subject, words in state.check_model("llm:m")}

    for form in ("labelled", "paper", "json"):
        how, words = lines[form]
        assert (how, words.partition(" answers")[0]) == (of_form[0], f"{of_form[1]} of 4")
    assert lines["advice"][0] == advice


def test_what_is_no_language_model_is_not_checked(opened: Callable[..., PageState]) -> None:
    with pytest.raises(MindSpecError):
        opened().check_model("classical:no_such_rule")


def test_a_model_that_does_not_answer_is_not_given_the_questions(
    opened: Callable[..., PageState],
) -> None:
    state = opened()
    state.values = {**state.values, "base_url": "http://127.0.0.1:9"}
    lines = state.check_model("llm:m")

    assert "problem" in {how for how, *_ in lines}
    assert "advice" not in {subject for _, subject, _ in lines}


def test_the_first_run_plays_by_itself_until_the_page_is_touched(
    opened: Callable[..., PageState],
) -> None:
    state = opened(n_rounds=400)
    state.press("open")
    until(lambda: state.controller.shown.played >= 0)
    state.press("touch")
    until(lambda: state.controller.status == "paused")

    state.set("condition", "cooperative")
    assert state.fresh  # Play makes a model with them, as before the first round
    state.press("play")
    until(lambda: state.controller.model.condition == "cooperative" and not state.busy)
    state.press("touch")  # this run was started by hand
    assert state.controller.status == "playing"


def test_a_run_that_may_cost_money_never_plays_by_itself(opened: Callable[..., PageState]) -> None:
    with LLMServer() as server:
        state = opened(minds={"classical": 2, f"llm:m@{server.url}": 1})
        state.press("open")
        assert state.controller.status == "ready"


def test_a_question_sets_up_its_experiment_and_plays_it(opened: Callable[..., PageState]) -> None:
    state = PageState(KeynesianBeautyContest, {})
    try:
        state.set("n_rounds", 2)
        state.play_question(0)
        until(lambda: not state.busy and state.controller.shown.played >= 0)
        assert state.controller.model.minds_in_use() == {"classical": 23, "fixed:100": 1}
        assert state.controller.model.n_rounds == 4  # a question begins from the usual settings
    finally:
        state.close()
        assert state.controller.join(WAIT_S)
    assert opened().questions == []  # this page sets parameters itself


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_question_of_a_scenario_can_be_played_for_nothing(name: str) -> None:
    page = ScenarioView(scenario(name))
    controls = controls_of(scenario(name))
    assert len(page.questions) == 3
    for settings in page.questions.values():
        assert settings.keys() <= {control.name for control in controls}
        parameters = parameters_from(controls, {**page.start, **settings})
        model = scenario(name)(**parameters, recording=False)
        model.step()
        assert not any(agent.mind.paid for agent in model.population)
