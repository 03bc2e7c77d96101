"""The theory of the guessing game against hand calculations and published tables."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.beauty_contest.guessing import (
    cognitive_hierarchy_choices,
    level_k_choice,
    level_k_marks,
    nagel_level,
    poisson_frequencies,
    reward_per_winner,
    winners,
)

RULES = ("independent", "amplified", "exclusive", "shared")
integer_picks = st.lists(st.one_of(st.none(), st.integers(0, 100)), max_size=30)


def test_level_k_choices_are_those_of_the_paper() -> None:
    marks = level_k_marks()

    assert list(marks) == [0, 1, 2, 3]
    assert list(marks.values()) == pytest.approx([50, 33.333, 22.222, 14.815], abs=1e-3)
    assert level_k_choice(2, reference=36, p=0.5) == 9


# For tau: shares of steps 0-4, picks of steps 1-4, mean, winning number.
HIERARCHY = [
    (1.0, [0.368, 0.368, 0.184, 0.061, 0.015], [33.33, 27.78, 25.93, 25.39], 37.84, 25.2),
    (1.5, [0.223, 0.335, 0.251, 0.126, 0.047], [33.33, 26.67, 23.91, 22.84], 33.50, 22.3),
    (2.0, [0.135, 0.271, 0.271, 0.180, 0.090], [33.33, 25.93, 22.47, 20.89], 29.81, 19.9),
]


@pytest.mark.parametrize(("tau", "shares", "choices", "mean", "target"), HIERARCHY)
def test_the_cognitive_hierarchy_gives_the_known_table(
    tau: float, shares: list[float], choices: list[float], mean: float, target: float
) -> None:
    assert poisson_frequencies(tau, 4).round(3).tolist() == shares
    assert cognitive_hierarchy_choices(tau, 4)[1:].round(2).tolist() == choices
    found = float(poisson_frequencies(tau, 60) @ cognitive_hierarchy_choices(tau, 60))
    assert round(found, 2) == mean
    assert round(2 / 3 * found, 1) == target


# Class limits for r = 50, p = 2/3: 50 | 40.82 | 27.22 | 18.14 | 12.10.
LEVELS = [
    *[(100, -1), (51, -1), (50.001, -1)],
    *[(50, 0), (41, 0), (40.83, 0)],
    *[(40.82, 1), (33, 1), (27.22, 1)],
    *[(27.21, 2), (22, 2), (19, 2), (18.15, 2)],
    *[(18.14, 3), (15, 3), (12.1, 3)],
    *[(12.09, 4), (1, 4), (0, 4)],
]


@pytest.mark.parametrize(("choice", "level"), LEVELS)
def test_nagel_classes_from_the_mid_point(choice: float, level: int) -> None:
    assert nagel_level(choice) == level


def test_a_pick_on_a_limit_belongs_to_the_deeper_step() -> None:
    # p = 1/4 has the limits 50/2 = 25 and 50/8 = 6.25 exactly.
    assert [nagel_level(x, p=0.25) for x in (25.001, 25, 6.25)] == [0, 1, 2]


def test_after_a_round_of_zeros_zero_is_in_the_top_class() -> None:
    assert nagel_level(0, reference=0) == 4
    assert nagel_level(1, reference=0) == -1


def test_the_closest_to_two_thirds_of_the_mean_wins() -> None:
    # mean 30, target 20
    assert winners([0, 20, 40, 60]) == (False, True, False, False)
    assert winners([7]) == (True,)


def test_abstentions_neither_win_nor_count_in_the_mean() -> None:
    # mean of 30 and 60 is 45, target 30
    assert winners([None, 30, float("nan"), 60]) == (False, True, False, False)
    assert winners([None, float("nan")]) == (False, False)
    assert winners([]) == ()


def test_ties_are_exact() -> None:
    # target 2/3 * 11/6 = 11/9: the ones are 2/9 away
    assert winners([1, 1, 1, 2, 3, 3]) == (True, True, True, False, False, False)
    # target 2/3 * 3/4 = 1/2: 0 and 1 are equally far
    assert winners([0, 1, 1, 1]) == (True, True, True, True)
    # target 0.7 * 5 = 3.5: 3 and 4 are equally far
    assert winners([3, 4, 8], p=0.7) == (True, True, False)
    # target 3/4 * 4/15 = 1/5: 1/10 and 3/10 are equally far
    tenths = [Fraction(1, 10), Fraction(3, 10), Fraction(4, 10)]
    assert winners(tenths, p=Fraction(3, 4)) == (True, True, False)


@given(integer_picks)
def test_winners_agree_with_whole_number_arithmetic(picks: list[int | None]) -> None:
    valid = [x for x in picks if x is not None]
    gaps = [None if x is None else abs(3 * len(valid) * x - 2 * sum(valid)) for x in picks]
    smallest = min((gap for gap in gaps if gap is not None), default=None)

    assert winners(picks) == tuple(gap is not None and gap == smallest for gap in gaps)


@given(integer_picks, st.randoms())
def test_winners_do_not_depend_on_the_order_or_number_type(picks, random) -> None:
    order = list(range(len(picks)))
    random.shuffle(order)
    as_floats = [None if picks[i] is None else np.float64(picks[i]) for i in order]
    as_integers = [None if picks[i] is None else np.int64(picks[i]) for i in order]
    as_short = [None if picks[i] is None else np.float32(picks[i]) for i in order]

    expected = tuple(winners(picks)[i] for i in order)
    assert winners(as_floats) == winners(as_integers) == winners(as_short) == expected


def test_reward_rules() -> None:
    paid = {rule: [reward_per_winner(m, rule) for m in (0, 1, 2, 4)] for rule in RULES}

    assert paid == {
        "independent": [0, 100, 100, 100],
        "amplified": [0, 100, 200, 400],
        "exclusive": [0, 100, 0, 0],
        "shared": [0, 100, 50, 25],
    }


@pytest.mark.parametrize("rule", ["shared", "exclusive"])
@pytest.mark.parametrize(("n", "stable"), [(2, [0]), (3, [0]), (4, [0, 1]), (24, [0, 1])])
def test_common_integer_picks_that_nobody_gains_by_leaving(rule, n: int, stable: list[int]) -> None:
    """If a sole winner earns more than one of several: 0, and with at least 4 players also 1."""

    def reward(own: int, others: int) -> float:
        won = winners([own, *[others] * (n - 1)], Fraction(2, 3))
        return reward_per_winner(sum(won), rule) if won[0] else 0.0

    picks = range(13)
    assert stable == [x for x in picks if all(reward(y, x) <= reward(x, x) for y in picks)]


BAD_CALLS = [
    (lambda: level_k_choice(-1), "k must be"),
    (lambda: level_k_choice(1, p=0), "p must be positive"),
    (lambda: nagel_level(float("nan")), "abstention"),
    (lambda: nagel_level(-1), "choice >= 0"),
    (lambda: nagel_level(1, p=1), "p != 1"),
    (lambda: nagel_level(1, reference=float("nan")), "reference >= 0"),
    (lambda: poisson_frequencies(-1, 3), "tau"),
    (lambda: poisson_frequencies(float("nan"), 3), "tau"),
    (lambda: cognitive_hierarchy_choices(1, -1), "k_max"),
    (lambda: cognitive_hierarchy_choices(1, 2, p=-1), "p must be positive"),
    (lambda: winners([1, float("inf")]), "finite"),
    (lambda: reward_per_winner(1, "generous"), "unknown reward rule 'generous'"),
    (lambda: reward_per_winner(-1, "shared"), "n_winners"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=range(len(BAD_CALLS)))
def test_wrong_arguments_are_refused_in_one_line(call, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        call()

    assert "\n" not in str(error.value)
