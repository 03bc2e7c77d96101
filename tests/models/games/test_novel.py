"""New games: each is of its class, and the same seed gives the same game."""

import numpy as np
import pytest

from sabm_mesa import FiniteGame
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.models.games.novel import CLASSES
from sabm_mesa.models.games.rules import load_game
from sabm_mesa.models.games.theory import (
    dominant_option,
    is_symmetric,
    mixed_equilibria,
    pure_equilibria,
)

SEEDS = range(5)


def tables(name: str) -> list[np.ndarray]:
    return [load_game(f"novel:{name}:{seed}").form.table() for seed in SEEDS]


@pytest.mark.parametrize("name", CLASSES)
def test_payoffs_are_drawn_by_the_seed(name: str) -> None:
    found = tables(name)

    assert all(np.array_equal(one, two) for one, two in zip(found, tables(name), strict=True))
    assert len({table.tobytes() for table in found}) == len(SEEDS)
    assert all(table.min() >= 101 and table.max() <= 997 for table in found)


def test_two_options_have_the_order_of_their_class() -> None:
    for table in tables("dilemma"):
        (r, s), (t, p) = table[..., 0]
        assert t > r > p > s
        assert 2 * r > t + s
        assert dominant_option(table, 0) == dominant_option(table, 1) == 1
    for table in tables("stag_hunt"):
        (r, s), (t, p) = table[..., 0]
        assert r > t > p > s
    for table in tables("chicken"):
        (r, s), (t, p) = table[..., 0]
        assert t > r > s > p
    for name in ("dilemma", "stag_hunt", "chicken"):
        assert all(map(is_symmetric, tables(name)))
    assert [pure_equilibria(table) for table in tables("stag_hunt")] == [[(0, 0), (1, 1)]] * len(
        SEEDS
    )
    assert [pure_equilibria(table) for table in tables("chicken")] == [[(0, 1), (1, 0)]] * len(
        SEEDS
    )
    for table in tables("battle"):
        assert pure_equilibria(table) == [(0, 0), (1, 1)]
        assert table[0, 0, 0] > table[1, 1, 0]
        assert table[0, 0, 1] < table[1, 1, 1]
    for table in tables("matching"):
        ((first, second),) = mixed_equilibria(table)
        assert max(first) < 1
        assert max(second) < 1


def test_three_options_have_the_equilibria_of_their_class() -> None:
    for table in tables("dominance"):
        assert len(mixed_equilibria(table)) == len(pure_equilibria(table)) == 1
        assert dominant_option(table, 0) is None or dominant_option(table, 1) is None
    for table in tables("lots"):
        ((first, second),) = mixed_equilibria(table)
        assert min(*first, *second) > 0.05


def test_a_new_game_is_played_and_its_prompt_has_the_drawn_payoffs() -> None:
    model = FiniteGame(game="novel:dilemma:7", minds="classical:tit_for_tat", n_rounds=3, rng=1)
    model.run_model()
    reward = model.rules.form.table()[0, 0, 0]

    assert model.payoff == reward
    assert f"you earn {reward:g}" in model.book.render("rules", model.players[0].facts())
    assert model.parameters["game"] == "novel:dilemma:7"


@pytest.mark.parametrize(
    ("game", "problem"),
    [
        ("novel:dilema:1", "Unknown class of new games 'dilema'. Did you mean 'dilemma'"),
        ("novel:dilemma", "novel:CLASS:SEED with a whole number as its seed"),
        ("novel:dilemma:-1", "such as novel:dilemma:1"),
    ],
)
def test_a_new_game_that_cannot_be_drawn(game: str, problem: str) -> None:
    with pytest.raises((ParameterError, UnknownName), match=problem):
        load_game(game)
