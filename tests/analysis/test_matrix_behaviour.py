"""Behavioural models of finite games, against numbers from other methods."""

import numpy as np
import pytest
from scipy.optimize import brentq

from sabm_mesa.analysis.behaviour import Decider, Panel, Row
from sabm_mesa.analysis.estimation import fit
from sabm_mesa.analysis.matrix_behaviour import (
    LAST,
    PAYOFFS,
    HierarchyOfPlay,
    NoisyReply,
    QuantalResponse,
    expected,
    level_k_of_play,
    levels,
    quantal_response,
)

PENNIES = np.array([[[9.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
STAG = np.array([[[4.0, 4.0], [0.0, 3.0]], [[3.0, 0.0], [3.0, 3.0]]])


@pytest.mark.parametrize("precision", [0.5, 3.0, 20.0])
def test_quantal_response_solves_the_equations_of_asymmetric_pennies(precision: float) -> None:
    scaled = precision / 9

    def other(p: float) -> float:
        return 1 / (1 + np.exp(-scaled * (1 - 2 * p)))

    p = brentq(lambda p: p - 1 / (1 + np.exp(-scaled * (10 * other(p) - 1))), 0, 1, xtol=1e-13)
    first, second = quantal_response(PENNIES, precision)

    assert first[0] == pytest.approx(p, abs=1e-9)
    assert second[0] == pytest.approx(other(p), abs=1e-9)


GAMBIT = {
    "pennies": (
        PENNIES,
        {1.0: ([0.6077333915168708], [0.494015097438405]),
         5.0: ([0.845035998022487], [0.405313548943944]),
         12.0: ([0.893367723433904], [0.259420902430098])},
    ),
    "stag hunt": (
        STAG,
        {1.0: ([0.417675029581097], [0.417675029581097]),
         5.0: ([0.026096311246418], [0.026096311246418]),
         12.0: ([0.000123577674879], [0.000123577674879])},
    ),
    "rock, paper, scissors": (
        np.array([[[0.0, 0.0], [-1.0, 1.0], [2.0, -2.0]],
                  [[1.0, -1.0], [0.0, 0.0], [-1.0, 1.0]],
                  [[-2.0, 2.0], [1.0, -1.0], [0.0, 0.0]]]),
        {1.0: ([0.357364838824886, 0.338550135288241], [0.357364838824886, 0.338550135288241]),
         5.0: ([0.365072231977161, 0.406353334865086], [0.365072231977161, 0.406353334865086]),
         12.0: ([0.314352720810369, 0.468985249938837], [0.314352720810369, 0.468985249938837])},
    ),
    "three options against two": (
        np.array([[[3.0, 2.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 5.0]], [[0.0, 1.0], [4.0, 3.0]]]),
        {1.0: ([0.341013234814879, 0.279198022549252], [0.410255108840365]),
         5.0: ([0.099907498477739, 0.036753914707353], [0.140572965273438]),
         12.0: ([0.000839476084351, 0.000076155552208], [0.008207186199208])},
    ),
}  # fmt: skip
"""Games, and the options but the last, as `logit_solve_lambda` of pygambit 17.0.0b2 solves them.

Its lambda is ours divided by the spread of the payoffs.
"""


@pytest.mark.parametrize("game", GAMBIT)
def test_quantal_response_is_that_of_gambit(game: str) -> None:
    payoffs, solved = GAMBIT[game]
    for precision, strategies in solved.items():
        for found, expected_ in zip(quantal_response(payoffs, precision), strategies, strict=True):
            assert found[:-1] == pytest.approx(expected_, abs=1e-8)


@pytest.mark.parametrize("shape", [(4, 3, 2), (2, 3, 2, 3)])
def test_quantal_response_is_a_fixed_point_from_chance_to_an_equilibrium(shape: tuple) -> None:
    game = np.random.default_rng(1).normal(size=shape)
    for precision in (0.01, 1.0, 10.0, 100.0):
        found = quantal_response(game, precision)
        for player, own in enumerate(found):
            others = [each for i, each in enumerate(found) if i != player]
            weights = np.exp(precision * expected(game, player, others))
            assert own == pytest.approx(weights / weights.sum(), abs=1e-8)
    assert quantal_response(game, 0.01)[0] == pytest.approx(1 / shape[0], abs=0.01)


def test_the_branch_from_chance_ends_in_the_risk_dominant_equilibrium() -> None:
    assert quantal_response(STAG, 100.0)[0][1] > 0.99


def test_levels_of_a_dominance_solvable_game_climb_to_its_equilibrium() -> None:
    game = np.array(
        [[[1, 1], [5, 0], [0, 0]], [[0, 5], [4, 4], [6, 2]], [[0, 0], [2, 6], [5, 5]]], dtype=float
    )
    strategies = [each[0].tolist() for each in levels(game, 3)]

    assert strategies[0] == pytest.approx([1 / 3] * 3)
    assert strategies[1] == [0, 1, 0]
    assert strategies[2] == strategies[3] == [1, 0, 0]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("model", "truth"),
    [
        (QuantalResponse(), {"lambda": 4.0}),
        (NoisyReply(), {"epsilon": 0.3}),
        (HierarchyOfPlay(), {"tau": 1.5, "epsilon": 0.1}),
        (
            level_k_of_play(2),
            {"share_level_0": 0.2, "share_level_1": 0.5, "share_level_2": 0.3, "epsilon": 0.1},
        ),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_parameters_are_found_again_in_games_of_several_sizes(model, truth) -> None:
    rng = np.random.default_rng(5)
    games = [rng.integers(0, 101, (*size, 2)).astype(float) for size in [(3, 3), (2, 4), (4, 2)]]
    rows = [
        Row(Decider(0, i, "x"), t, 0.0, {PAYOFFS: game, LAST: [float(i % 2) if t else np.nan]})
        for i in range(300)
        for t, game in enumerate(games)
    ]
    drawn = model.simulate(model.check(truth), Panel.of(rows), rng)

    assert fit(model, drawn).by_name == pytest.approx(truth, abs=0.09, rel=0.15)


def test_the_hierarchy_gives_each_option_the_share_of_its_steps() -> None:
    rows = [Row(Decider(0, i, "x"), 0, float(i), {PAYOFFS: STAG, LAST: [np.nan]}) for i in (0, 1)]
    found = np.exp(HierarchyOfPlay().log_likelihood(np.array([1.5, 0.0]), Panel.of(rows)))

    by_chance = np.exp(-1.5) / sum(np.exp(-1.5) * 1.5**k / f for k, f in enumerate(FACTORIALS))
    assert found == pytest.approx([by_chance / 2, 1 - by_chance / 2])


FACTORIALS = [1, 1, 2, 6, 24, 120, 720, 5040, 40320]
