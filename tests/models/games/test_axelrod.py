"""Strategies of the Axelrod library, beside the matches of that library itself."""

from __future__ import annotations

import warnings

import pytest

from sabm_mesa.errors import RunError
from sabm_mesa.models.games.axelrod import AxelrodMind
from sabm_mesa.models.games.model import FiniteGame

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of Python, on the texts of the library
    import axelrod

pytestmark = pytest.mark.slow

ROUNDS = 8
PAIRS = [
    (axelrod.TitForTat, axelrod.Alternator),
    (axelrod.Grudger, axelrod.Cycler),
    (axelrod.WinStayLoseShift, axelrod.Defector),
    (axelrod.APavlov2006, axelrod.TitFor2Tats),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_two_strategies_play_as_in_a_match_of_their_library(pair) -> None:
    first, second = (kind() for kind in pair)
    model = FiniteGame(
        game="prisoners_dilemma",
        n_rounds=ROUNDS,
        minds=[AxelrodMind(first), AxelrodMind(second)],
        rng=1,
    )
    model.run_model()
    data = model.agent_frame()
    chosen = [list(data[data["agent"] == agent]["choice"]) for agent in (1, 2)]
    match = axelrod.Match((first, second), turns=ROUNDS).play()

    for played, side in zip(chosen, zip(*match, strict=True), strict=True):
        assert [str(each)[0] for each in played] == [
            {"C": "c", "D": "d"}[str(action)] for action in side
        ]
    assert data["mind"].iloc[0] == f"axelrod:{first.name}"


def test_a_strategy_that_draws_is_repeated_with_the_seed_of_the_run() -> None:
    def run(seed: int) -> list[object]:
        minds = [AxelrodMind(axelrod.Random(0.5)), "classical:tit_for_tat"]
        model = FiniteGame(game="prisoners_dilemma", n_rounds=ROUNDS, minds=minds, rng=seed)
        model.run_model()
        return list(model.agent_frame()["choice"])

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_another_game_is_refused_in_one_line() -> None:
    model = FiniteGame(game="stag_hunt", n_rounds=1, minds=AxelrodMind(axelrod.TitForTat()), rng=1)
    model.run_model()
    wrong = FiniteGame(game="ultimatum", minds=AxelrodMind(axelrod.TitForTat()), rng=1)

    with pytest.raises(RunError, match="two players with two options"):
        wrong.run_model()
