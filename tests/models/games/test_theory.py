"""Equilibria, checked against the definition, another algorithm, and published numbers."""

from itertools import product

import nashpy
import numpy as np
import pytest

from sabm_mesa.models.games.rules import load_game
from sabm_mesa.models.games.study import equilibria_of
from sabm_mesa.models.games.theory import (
    Node,
    dominant_option,
    expected_payoffs,
    inequity_averse,
    is_symmetric,
    logit_choice,
    mixed_equilibria,
    pure_equilibria,
    subgame_perfect,
    symmetric_equilibria,
)


def drawn(seed: int, *sizes: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(*sizes, len(sizes)))


@pytest.mark.parametrize("seed", range(25))
def test_two_players_have_an_odd_number_of_equilibria_without_a_better_option(seed: int) -> None:
    payoffs = drawn(seed, 2 + seed % 3, 2 + seed % 4)
    found = mixed_equilibria(payoffs)

    assert len(found) % 2 == 1
    for one, two in found:
        of_rows, of_columns = payoffs[..., 0] @ two, one @ payoffs[..., 1]
        assert of_rows.max() == pytest.approx(one @ of_rows)
        assert of_columns.max() == pytest.approx(of_columns @ two)
    pure = [tuple(np.argmax(s) for s in pair) for pair in found if max(pair[0]) == 1]
    assert sorted(pure) == pure_equilibria(payoffs)


@pytest.mark.parametrize("seed", range(25))
def test_the_algorithm_of_lemke_and_howson_finds_no_other_equilibrium(seed: int) -> None:
    payoffs = drawn(seed, 2 + seed % 3, 2 + seed % 4)
    game = nashpy.Game(payoffs[..., 0], payoffs[..., 1])
    found = [np.concatenate(pair) for pair in mixed_equilibria(payoffs)]

    for pair in game.lemke_howson_enumeration():
        assert np.abs(np.array(found) - np.concatenate(pair)).max(axis=1).min() < 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_symmetric_equilibria_are_those_with_the_same_strategy_twice(seed: int) -> None:
    payoff = np.random.default_rng(seed).normal(size=(2 + seed % 4,) * 2)
    payoffs = np.stack([payoff, payoff.T], axis=-1)
    same = [one for one, two in mixed_equilibria(payoffs) if np.allclose(one, two)]

    assert np.allclose(symmetric_equilibria(payoffs), same)


@pytest.mark.parametrize("seed", range(10))
def test_more_players_have_the_equilibria_of_the_definition(seed: int) -> None:
    payoffs = drawn(seed, 2, 3, 2)
    stable = [
        profile
        for profile in product(range(2), range(3), range(2))
        if all(
            payoffs[profile][k] >= payoffs[(*profile[:k], other, *profile[k + 1 :])][k]
            for k in range(3)
            for other in range(payoffs.shape[k])
        )
    ]

    assert pure_equilibria(payoffs) == stable
    for k in range(3):
        certain = [[float(i == j) for j in range(payoffs.shape[m])] for m, i in
                   enumerate((0, 1, 1)) if m != k]  # fmt: skip
        line = [payoffs[(*(0, 1, 1)[:k], i, *(0, 1, 1)[k + 1 :])][k]
                for i in range(payoffs.shape[k])]  # fmt: skip
        assert expected_payoffs(payoffs, k, certain).tolist() == line


def test_dominance() -> None:
    dilemma, hunt = (load_game(name).form.table() for name in ("prisoners_dilemma", "stag_hunt"))

    assert dominant_option(dilemma, 0) == dominant_option(dilemma, 1) == 1
    assert dominant_option(hunt, 0) is None
    assert is_symmetric(dilemma)
    assert not is_symmetric(load_game("inspection").form.table())
    weak = np.array([[[0, 0], [0, 2]], [[1, 0], [0, 0]]])
    assert dominant_option(weak, 0, weakly=True) == 1
    assert dominant_option(weak, 0) is None


def test_lots_in_known_games() -> None:
    (mixed,) = mixed_equilibria(load_game("inspection").form.table())
    # 3q + 2(1 − q) = 4q, so q = 2/3 comply; 2 = 5(1 − p), so p = 3/5 inspect.
    assert mixed == (pytest.approx((0.6, 0.4)), pytest.approx((2 / 3, 1 / 3)))
    third = pytest.approx((1 / 3,) * 3)
    assert mixed_equilibria(load_game("rock_paper_scissors").form.table()) == [(third, third)]
    hawks = symmetric_equilibria(load_game("chicken").form.table())
    assert hawks == [pytest.approx((2 / 3, 1 / 3))]  # a prize of 4 over a cost of 6


def test_all_subgame_perfect_courses_are_found() -> None:
    """One of two is offered 0, 1 or 2, and accepts or not: 0 and 1 can be offered."""
    replies = [Node(1, (0, 1), ((2 - offer, offer), (0, 0))) for offer in range(3)]
    found = subgame_perfect(Node(0, (0, 1, 2), replies))

    assert {(course.path[:2], course.payoffs) for course in found} == {
        ((0, 0), (2, 0)), ((1, 0), (1, 1)),
    }  # fmt: skip


def test_utilities_and_rules_by_hand() -> None:
    payoffs = np.array([[10.0, 0.0], [4.0, 6.0]])
    assert inequity_averse(payoffs, 0, 0.5, 0.25).tolist() == [7.5, 3.0]
    three = np.array([6.0, 9.0, 0.0])
    assert inequity_averse(three, 0, 1.0, 0.5) == 6 - 3 / 2 - 0.5 * 6 / 2
    assert logit_choice([0.0, 1.0], np.log(3), 1.0) == pytest.approx([0.25, 0.75])
    assert logit_choice([2.0, 2.0], 5.0, 0.0).tolist() == [0.5, 0.5]


def test_equilibria_of_games_in_the_library_have_their_payoffs() -> None:
    (only,) = equilibria_of(load_game("prisoners_dilemma").form)
    assert only.payoffs == (1.0, 1.0)
    (only,) = equilibria_of(load_game("three_player_dilemma").form)
    assert only.payoffs == (2.0, 2.0, 2.0)


def test_the_money_request_game_has_its_published_equilibrium() -> None:
    """Arad and Rubinstein 2012, table 1: 25, 25, 20, 15, 10 and 5 per cent from 15 to 20."""
    (only,) = equilibria_of(load_game("eleven_twenty").form)
    shares = {15: 0.25, 16: 0.25, 17: 0.2, 18: 0.15, 19: 0.1, 20: 0.05}

    assert only.choices == (pytest.approx(shares), pytest.approx(shares))


@pytest.mark.slow
def test_quantities_and_claims_in_equilibrium() -> None:
    found = [each.choices for each in equilibria_of(load_game("cournot").form)]
    # Quantities are whole numbers, so 11 and 13 are best replies to each other as well.
    assert [tuple(next(iter(c)) for c in each) for each in found] == [(11, 13), (12, 12), (13, 11)]
    (only,) = equilibria_of(load_game("travelers_dilemma").form)
    assert only.payoffs == (2.0, 2.0)
    effort = equilibria_of(load_game("minimum_effort").form)
    assert [each.payoffs[0] for each in effort] == [70, 80, 90, 100, 110, 120, 130]
    assert len(equilibria_of(load_game("volunteers_dilemma").form)) == 4


def test_courses_of_games_in_turns() -> None:
    found = {
        name: [each.payoffs for each in equilibria_of(load_game(name).form)]
        for name in ("ultimatum", "dictator", "trust", "centipede")
    }
    assert found == {
        "ultimatum": [(10, 0), (9, 1)], "dictator": [(10, 0)], "trust": [(10, 0)],
        "centipede": [(40, 10)],
    }  # fmt: skip
