"""Likelihoods of learning and of strategies of repeated games, by hand."""

import math

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row
from sabm_mesa.analysis.estimation import fit
from sabm_mesa.models.games.repeated_behaviour import (
    COOPERATION,
    LAST,
    PAYOFFS,
    STRATEGIES,
    attractions,
    cooperates,
    cooperative_options,
    learning_models,
    strategy_mixture,
)

EWA, REINFORCEMENT, FICTITIOUS_PLAY = learning_models()
NAN = math.nan
DILEMMA = np.array([[[3, 3], [0, 5]], [[5, 0], [1, 1]]], dtype=float)
"""Cooperate 0, defect 1; own payoffs, as shares of their spread of 5: 0.6, 0, 1, 0.2."""


def playing(own: list[int], others: list[int | None], agent: int = 1) -> list[Row]:
    """The rows of a player that plays against others; None: the game did not count."""
    last = [NAN, *(NAN if each is None else each for each in others)][: len(own)]
    facts = {"low": 0, "high": 1, "step": 1, PAYOFFS: DILEMMA[..., 0], COOPERATION: [0, 0]}
    return [
        Row(Decider(0, agent, "x"), t, float(c), facts | {LAST: [seen]})
        for t, (c, seen) in enumerate(zip(own, last, strict=True))
    ]


def test_two_games_of_experience_weighted_attraction_by_hand() -> None:
    panel = Panel.of(playing([0, 1, 1], [1, 0]))
    found = attractions(panel, phi=0.9, delta=0.5, kappa=0.5, n0=1.0)
    # First the means of 0.6, 0 and of 1, 0.2. Game 1 (cooperates, the other defects): forgone 0.2.
    # N = 0.45 + 1; A = (0.9 * 0.3 + 0) / N and (0.9 * 0.6 + 0.5 * 0.2) / N.
    first = [0.27 / 1.45, 0.64 / 1.45]
    # Game 2 (defects, the other cooperates): N' = 0.45 * 1.45 + 1, payoffs 0.5 * 0.6 and 1.
    again = 0.45 * 1.45 + 1
    second = [(0.9 * 1.45 * first[0] + 0.3) / again, (0.9 * 1.45 * first[1] + 1) / again]

    assert found == pytest.approx(np.array([[0.3, 0.6], first, second]))
    shares = EWA.probabilities(np.array([0.9, 0.5, 0.5, 4.0, 1.0]), panel)
    assert shares[2, 0] == pytest.approx(1 / (1 + math.exp(4 * (second[1] - second[0]))))


def test_a_game_that_does_not_count_teaches_nothing() -> None:
    panel = Panel.of(playing([0, 1, 1, 0], [1, None, 0]))
    found = attractions(panel, phi=0.9, delta=0.5, kappa=0.5, n0=1.0)

    assert found[2] == pytest.approx(found[1])
    assert found[3] != pytest.approx(found[2])


@pytest.mark.parametrize(
    ("special", "own", "full"),
    [
        (REINFORCEMENT, [0.8, 4], [0.8, 0, 1, 4, 1]),
        (FICTITIOUS_PLAY, [4], [1, 1, 0, 4, 1]),
    ],
    ids=lambda each: getattr(each, "name", ""),
)  # fmt: skip
def test_special_cases_are_the_full_model_with_fixed_parameters(special, own, full) -> None:
    rng = np.random.default_rng(0)
    panel = Panel.of(playing(rng.integers(2, size=9).tolist(), rng.integers(2, size=8).tolist()))

    assert special.log_likelihood(np.array(own, float), panel) == pytest.approx(
        EWA.log_likelihood(np.array(full, float), panel)
    )


def test_fictitious_play_replies_to_the_frequencies_of_the_past() -> None:
    panel = Panel.of(playing([0, 0, 0, 0], [1, 1, 0]))
    found = attractions(panel, phi=1.0, delta=1.0, kappa=0.0, n0=1.0)
    cooperation = (0.5 + 1) / 4  # one game of even chances, and one of three

    assert found[3] == pytest.approx([0.6 * cooperation, cooperation + 0.2 * (1 - cooperation)])


def test_strategies_follow_the_past_by_their_rules() -> None:
    own = [0, 0, 0, 1, 0, 0, 0]
    others = [0, 1, 0, 0, 0, 0]
    panel = Panel.of([*playing(own, others), *playing([1, 1], [1], agent=2)])

    plans = {name: cooperates(panel, name)[:7].astype(int).tolist() for name in STRATEGIES}
    assert plans == {
        "AD": [0, 0, 0, 0, 0, 0, 0],
        "AC": [1, 1, 1, 1, 1, 1, 1],
        "Grim": [1, 1, 0, 0, 0, 0, 0],
        "TFT": [1, 1, 0, 1, 1, 1, 1],
        "WSLS": [1, 1, 0, 1, 0, 1, 1],
    }
    assert cooperates(panel, "WSLS")[7:].tolist() == [True, True]  # both defected


def test_the_shares_of_strategies_are_those_of_the_em_algorithm() -> None:
    rng, mixture = np.random.default_rng(1), strategy_mixture()
    others = rng.integers(2, size=(44, 9))
    blank = Panel.of(
        row for i in range(44) for row in playing([0] * 10, others[i].tolist(), agent=i)
    )
    true = np.array([0.6, 0.0, 0.0, 0.4, 0.0, 0.08])
    panel = mixture.simulate(true, blank, rng)
    found = fit(mixture, panel)

    matches = np.array(
        [panel.totals(1.0 * (cooperates(panel, k) == (panel.decisions == 0))) for k in STRATEGIES]
    ).T
    shares, error = np.full(5, 1 / 5), 0.2
    for _ in range(3000):
        weights = shares * (1 - error) ** matches * error ** (10 - matches)
        weights /= weights.sum(axis=1, keepdims=True)
        shares, error = weights.mean(axis=0), float((weights * (10 - matches)).sum()) / len(panel)

    assert found.parameters == pytest.approx([*shares, error], abs=2e-3)
    assert found.by_name["share_AD"] == pytest.approx(0.6, abs=0.2)


def test_a_dilemma_has_two_options_and_cooperation_is_not_the_safe_one() -> None:
    same_interest = np.array([[[2, 2], [0, 0]], [[0, 0], [1, 1]]], dtype=float)

    assert cooperative_options(DILEMMA) == [0, 0]
    assert cooperative_options(same_interest) is None
    assert cooperative_options(np.zeros((3, 2, 2))) is None
