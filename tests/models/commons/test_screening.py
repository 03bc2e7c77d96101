"""The four tests of a mind before it is used in a commons."""

import pytest

from sabm_mesa import ScriptedMind
from sabm_mesa.errors import UnknownName
from sabm_mesa.models.commons.screening import SKILLS, CommonsScreening, is_right, solution
from sabm_mesa.runs.rerun import replay
from tests.core.support import Priced


def screened(answer=None, **given):
    minds = "classical" if answer is None else ScriptedMind(answer)
    model = CommonsScreening(**{"n_problems": 40, "minds": minds, "rng": 3} | given)
    model.run_model()
    return model


@pytest.mark.parametrize(
    ("stock", "amount", "after", "person"),
    [(100, 10, 100, 10), (80, 10, 60, 8), (57, 9, 24, 5), (40, 8, 0, 4), (30, 20, 0, 3),
     (10, 0, 20, 1), (100, 0, 100, 10)],
)  # fmt: skip
def test_the_solutions(stock, amount, after, person) -> None:
    assert solution("dynamics", stock, amount) == after
    assert {solution(skill, stock, amount) for skill in SKILLS[1:]} == {person}


def test_any_sustainable_amount_passes_the_test_of_the_action() -> None:
    assert [is_right("action", x, 2) for x in range(4)] == [False, True, True, False]
    assert [is_right("action", x, 0) for x in range(2)] == [True, False]
    assert [is_right("same", x, 2) for x in range(4)] == [False, False, True, False]


def test_who_solves_everything_passes_everything() -> None:
    model = screened()
    frame = model.agent_frame()
    assert model.end_measures() == dict.fromkeys(SKILLS, 1.0)
    assert len(frame) == 4 * 40
    assert frame["stock"].between(10, 100).all()
    assert frame["amount"].between(0, 20).all()
    assert model.total.asks == 160


def test_a_number_that_is_always_the_same() -> None:
    """2 is sustainable for any stock of 20 or more, and the threshold for stocks of 20 to 29."""
    model = screened(answer=lambda _: "Because.\n2")
    frame = model.agent_frame()
    action, same = (frame[frame["skill"] == skill] for skill in ("action", "same"))
    assert list(action["passed"]) == list(action["stock"] >= 20)
    assert list(same["passed"]) == list(same["stock"].between(20, 29))


def test_what_cannot_be_read_is_not_passed_and_counted() -> None:
    model = screened(answer=lambda _: "many")
    assert model.end_measures() == dict.fromkeys(SKILLS, 0.0)
    assert model.total.invalid == 160


@pytest.mark.parametrize("wording", ["fishery", "pasture", "pollution"])
def test_a_problem_tells_the_rules_and_the_numbers_and_nothing_of_the_purpose(wording) -> None:
    asked = []

    def answer(ask):
        system, question = (message["content"] for message in ask.messages())
        seen = ask.observation
        assert "{" not in system + question
        assert f"begins with {seen.stock} " in question
        assert ("talk" in system, "John" in system) == (False, True)
        asked.append(ask.name)
        return "x\n0"

    screened(answer=answer, n_problems=3, wording=wording)
    assert asked == [f"screen_{skill}" for skill in SKILLS for _ in range(3)]


def test_a_wording_that_does_not_exist() -> None:
    with pytest.raises(UnknownName, match="Unknown wording 'forest'"):
        screened(wording="forest")


def test_a_screening_is_recorded_and_replayed(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    mind = Priced(lambda _: "Because.\n2")
    model = CommonsScreening(n_problems=3, minds=mind, rng=1, recording=path)
    model.run_model()
    again = replay(path)
    assert again.agent_frame()["choice"].tolist() == model.agent_frame()["choice"].tolist()
