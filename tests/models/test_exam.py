"""Preliminary tests: what is asked, which answers are right, and who passes."""

from __future__ import annotations

from typing import Any

import pytest

from sabm_mesa import ScriptedMind
from sabm_mesa.llm import Connection
from sabm_mesa.models.bertrand.model import BertrandCompetition
from sabm_mesa.models.bertrand.study import band
from sabm_mesa.models.commons.study import SKILLS, SkillTest, is_right, solution
from sabm_mesa.models.evacuation.study import EXITS, STARTS, is_shortest
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.runs.try_model import sit_exam

ROUTES = {
    "(1, 3)": "(2, 2), (3, 1), (4, 0), (5, 0)",
    "(2, 6)": "(3, 7), (4, 8), (5, 9), (6, 8), (7, 8), (8, 9)",
}


def sit(name: str, minds: Any, **given: Any) -> tuple[bool, dict[str, float]]:
    """Whether a mind passes the test of a scenario, and its share of right answers by kind."""
    exam = scenario(name).study.exam
    assert exam is not None
    marks = sit_exam(exam, scenario(name), minds, Connection(), **given)
    shares = {kind: sum(right) / len(right) for kind, right in marks.items()}
    return exam.passes(marks), shares


def solve(ask: Any) -> str:
    """The right answer to a problem, found with its own checker."""
    right = next(n for n in range(101) if ask._agent.problem.is_right(n))  # noqa: SLF001
    return f"I computed it.\nAnswer: {right}"


def walk(ask: Any) -> str:
    return ROUTES[ask.facts.start]


@pytest.mark.parametrize(
    ("name", "mind", "wrong"),
    [
        ("kbc", "fixed:67", "fixed:68"),
        ("bertrand", "fixed:6", "fixed:4"),
        ("evacuation", ScriptedMind(walk), "fixed:(5, 0)"),
        *((name, ScriptedMind(solve), "fixed:2") for name in ("fishery", "pasture", "pollution")),
    ],
    ids=lambda given: given if given in SCENARIOS else "",
)
def test_who_answers_right_passes_and_who_does_not_fails(name: str, mind: Any, wrong: str) -> None:
    passes, shares = sit(name, mind, times=3)
    assert (passes, set(shares.values())) == (True, {1.0})
    passes, shares = sit(name, wrong, times=3)
    assert not passes
    assert 0 <= min(shares.values()) < 0.9


def test_each_paper_with_a_preliminary_test_has_one() -> None:
    named = {name for name in SCENARIOS if scenario(name).study.exam is not None}

    assert named == {"kbc", "bertrand", "evacuation", "fishery", "pasture", "pollution"}


def test_an_unreadable_answer_is_wrong() -> None:
    nothing = ScriptedMind(lambda _: "I do not know.")

    assert sit("kbc", nothing)[1] == {"picks": 0.0}
    assert set(sit("fishery", nothing, times=1)[1].values()) == {0.0}
    assert sit("bertrand", nothing)[1] == {"usable prices": 0.0, "prices from 5 to 8": 0.0}


def test_all_problems_of_a_kind_but_one_in_ten_must_be_right() -> None:
    exam = scenario("kbc").study.exam

    assert exam is not None
    assert exam.passes({"a": [True] * 9 + [False], "b": [True]})
    assert not exam.passes({"a": [True] * 8 + [False], "b": [True]})
    assert not exam.passes({"a": [True], "b": [False]})


def test_the_number_of_problems_and_the_settings_are_given() -> None:
    asked = []

    def answer(ask: Any) -> str:
        asked.append(ask.messages()[-1]["content"])
        return "30"

    sit("kbc", ScriptedMind(answer), times=5)
    assert len(asked) == 5
    assert not any("JSON" in question for question in asked)
    sit("evacuation", ScriptedMind(answer), times=4, settings={"answer_format": "json"})
    assert len(asked) == 5 + 2 * 4
    assert all("JSON" in question for question in asked[5:])


# The ways out of a room.


@pytest.mark.parametrize(
    ("route", "right"),
    [
        ("(2, 2), (3, 1), (4, 0), (5, 0)", True),
        ("(2,2)(3,1)\n(4,0) -> (5,0).", True),
        ("(1, 3), (2, 2), (3, 1), (4, 0), (5, 0)", True),  # the start itself is no move
        ("(2, 2), (3, 1), (4, 0), (5, 0), (77, 77)", True),  # out is out
        ("(2, 3), (3, 3), (4, 2), (5, 1), (5, 0)", False),  # one move more
        ("(2, 2), (3, 1)", False),
        ("(2, 2), (4, 0), (5, 0)", False),
        ("(0, 3), (-1, 3)", False),
        ("(2, 2), (2, 2)", False),  # to stay is no move
        ("Down, then left.", False),
        ("", False),
    ],
)
def test_routes_from_1_3(route: str, right: bool) -> None:
    assert is_shortest((1, 3), route) is right


def test_from_2_6_two_exits_are_equally_near() -> None:
    assert is_shortest((2, 6), ROUTES["(2, 6)"])
    assert is_shortest((2, 6), "(3, 5), (4, 4), (5, 3), (5, 2), (5, 1), (5, 0)")
    assert (STARTS, EXITS) == (((1, 3), (2, 6)), ((5, 0), (9, 4), (8, 9)))


# The skills of a commons.


@pytest.mark.parametrize(
    ("stock", "amount", "after", "person"),
    [(100, 10, 100, 10), (80, 10, 60, 8), (57, 9, 24, 5), (40, 8, 0, 4), (30, 20, 0, 3),
     (10, 0, 20, 1), (100, 0, 100, 10)],
)  # fmt: skip
def test_the_solutions(stock: int, amount: int, after: int, person: int) -> None:
    assert solution("dynamics", stock, amount) == after
    assert {solution(skill, stock, amount) for skill in SKILLS[1:]} == {person}


def test_any_sustainable_amount_is_right_as_an_action() -> None:
    assert [is_right("action", 2, x) for x in range(4)] == [False, True, True, False]
    assert [is_right("action", 0, x) for x in range(2)] == [True, False]
    assert [is_right("same", 2, x) for x in range(4)] == [False, False, True, False]


@pytest.mark.parametrize("wording", ["fishery", "pasture", "pollution"])
def test_a_problem_tells_the_rules_and_the_numbers_and_nothing_of_the_purpose(wording: str) -> None:
    asked = []

    def answer(ask: Any) -> str:
        system, question = (message["content"] for message in ask.messages())
        stock = ask.facts.stock
        assert 10 <= stock <= 100
        assert "{" not in system + question
        assert f"begins with {stock} " in question
        assert ("talk" in system, "John" in system) == (False, True)
        asked.append(ask.name)
        return "x\nAnswer: 0"

    SkillTest(wording=wording, n_problems=3, minds=ScriptedMind(answer), rng=3).run_model()
    assert asked == [f"screen_{skill}" for skill in SKILLS for _ in range(3)]


def test_the_band_of_prices_is_between_the_best_responses_to_the_extreme_prices() -> None:
    assert band(BertrandCompetition(rng=1)) == (5.0, 8.0)
