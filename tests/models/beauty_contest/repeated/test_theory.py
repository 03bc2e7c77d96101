"""The guessing game played repeatedly: depth, replies, learning, and the data of people."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.beauty_contest.guessing import nagel_level
from sabm_mesa.models.beauty_contest.repeated.theory import (
    best_reply,
    direction_share,
    falling_share,
    first_period_shares,
    human_guesses,
    later_period_shares,
    rate_of_decrease,
    session_means,
    step_limits,
    strategic_level,
)
from tests.models.beauty_contest.repeated.support import P


@pytest.mark.parametrize(
    ("choice", "reference", "depth"),
    [
        (33.333, 50, 1.000), (44.444, 50, 0.290), (66.667, 50, -0.710), (44.444, 100, 2.000),
        # The one-shot averages and medians of Lu 2024, table 1.
        (52.029, 50, -0.10), (51.724, 50, -0.08), (59.519, 50, -0.43), (62.685, 50, -0.56),
        (51.158, 50, -0.06), (50.0, 50, 0.00), (41.609, 50, 0.45),
        (47.696, 50, 0.12), (49.313, 50, 0.03), (49.976, 50, 0.00), (38.912, 50, 0.62),
        (41.072, 50, 0.49), (44.442, 50, 0.29),
    ],
)  # fmt: skip
def test_the_depth_of_a_pick(choice: float, reference: float, depth: float) -> None:
    assert strategic_level(choice, reference) == pytest.approx(depth, abs=0.0051)


def test_the_depth_of_zero_is_that_of_a_thousandth_of_the_range() -> None:
    assert strategic_level(0) == strategic_level(0.1) == pytest.approx(15.327, abs=1e-3)
    assert strategic_level(0, 0.02) == strategic_level(0)
    assert math.isnan(strategic_level(0, 0))
    assert math.isnan(strategic_level(math.nan))
    assert math.isnan(strategic_level(10, p=1))


@given(st.floats(-4, 12), st.floats(0.01, 100), st.sampled_from([0.5, P, 0.9, 4 / 3]))
def test_the_depth_is_the_inverse_of_the_level(depth: float, reference: float, p: float) -> None:
    choice = reference * p**depth
    if choice >= reference / 500:
        assert strategic_level(choice, reference, p) == pytest.approx(depth, abs=1e-6)


@given(st.floats(0.2, 200), st.floats(1, 100), st.sampled_from([0.5, P, 0.9, 4 / 3, 2]))
def test_the_class_of_a_pick_is_its_rounded_depth(choice: float, reference: float, p: float):
    depth = strategic_level(choice, reference, p)
    if abs(depth % 1 - 0.5) > 1e-6 and abs(depth) > 1e-6:
        expected = -1 if depth < 0 else min(math.floor(depth + 0.5), 4)
        assert nagel_level(choice, reference, p) == expected


@pytest.mark.parametrize("p", [0.5, P, 4 / 3])
def test_the_limits_of_a_step_are_those_of_its_class(p: float) -> None:
    for step in range(4):
        low, high = step_limits(step, 30, p)
        assert nagel_level((low + high) / 2, 30, p) == step
        outside = [low * 0.999, high * 1.001]
        assert step not in [nagel_level(x, 30, p) for x in outside]
    assert step_limits(0, 30, p)[1 if p < 1 else 0] == 30


def test_the_best_reply_counts_ones_own_weight() -> None:
    assert best_reply(1, 10) == pytest.approx(0.6429, abs=5e-5)
    reply = best_reply(30, 4, 0.5)
    assert reply == pytest.approx(0.5 * (3 * 30 + reply) / 4)


@pytest.mark.parametrize(
    ("session", "w_mean", "w_median"),
    [(0, 0.58, 0.70), (1, 0.92, 0.91), (2, 0.75, 0.71), (3, 0.76, 0.76)],
)
def test_the_rates_of_decrease_of_the_sessions(
    session: int, w_mean: float, w_median: float
) -> None:
    means = session_means(P)
    assert means is not None
    for table, rate in ((means.tolist(), w_mean), (human_guesses()["medians"]["2/3"], w_median)):
        row = table[session]
        assert rate_of_decrease(row[0], row[-1]) == pytest.approx(rate, abs=0.0051)
    assert math.isnan(rate_of_decrease(0, 0))


# Learning direction.
# Three rounds of four players; the last one abstains in the second round.
PICKS = [[20, 30, 60, 10], [10, 20, 20, math.nan], [5, 9, 30, 4]]
MEANS = [30, 50 / 3, 12]


def test_changes_in_the_better_direction_count() -> None:
    """Factors 0.4 0.6 1.2 0.2 (optimum 0.4), 1/3 2/3 2/3 – (optimum 0.37), 0.3 0.54 1.8.

    Player 1 wins twice. Player 2 and 3: 0.6 → 0.67 wrong, 1.2 → 0.67 right; 0.67 → 0.54 right,
    0.67 → 1.8 wrong. Player 4 has no two picks in a row.
    """
    assert direction_share(PICKS, MEANS) == pytest.approx(2 / 4)
    assert direction_share(PICKS, MEANS, players=[True, True, False, True]) == 1 / 2
    assert direction_share(PICKS, MEANS, players=[False, False, True, False]) == 1 / 2
    assert math.isnan(direction_share(PICKS, MEANS, players=[True, False, False, True]))
    assert math.isnan(direction_share([[1, 2]], [1.5]))
    assert math.isnan(direction_share([[0, 0], [0, 0]], [0, 0]))


def test_factors_that_stay_are_no_change() -> None:
    """Level 1 always has the factor 2/3, but for rounding: there is nothing to judge."""
    rounds = np.cumprod([50 / 3] + [1 / 3] * 6)
    choices = np.column_stack([2 * rounds, np.zeros(7)])
    assert math.isnan(direction_share(choices, rounds))


def test_each_round_may_have_a_p_of_its_own() -> None:
    """Only rounds before the last are judged, each with its own p."""
    assert direction_share(PICKS, MEANS, p=[P, P, 9]) == direction_share(PICKS, MEANS)
    # With p = 2 the target is 60 in the first round: player 3 wins, and the others should rise.
    # Player 1 does not; player 2 does, and falls in the second round, as it then should.
    first_two = [True, True, False, False]
    assert direction_share(PICKS, MEANS, players=first_two) == 1 / 2
    assert direction_share(PICKS, MEANS, p=[2, P, P], players=first_two) == pytest.approx(2 / 3)


def test_falling_picks() -> None:
    assert falling_share(PICKS) == pytest.approx(5 / 6)
    assert math.isnan(falling_share([[1, 2]]))


def test_the_means_of_the_sessions() -> None:
    means = session_means(P)
    assert means is not None
    assert means.mean(axis=0).round(1).tolist() == [36.7, 23.9, 15.9, 9.2]
    half = session_means(0.5)
    assert half is not None
    assert half.shape == (3, 4)
    assert half[:, 0].mean() == pytest.approx(27.05, abs=0.05)
    assert session_means(0.667) is None


def test_the_shares_of_the_first_period() -> None:
    intervals, shares = first_period_shares()
    counts = human_guesses()["first_period"]["counts"]
    assert sum(counts) == 67
    published = [7.5, 1.5, 4.5, 23.9, 3.0, 26.9, 6.0, 7.5]
    assert (100 * shares[:8]).round(1).tolist() == published
    assert 100 * shares[8:].sum() == pytest.approx(19.4, abs=0.05)
    # Steps 3 to 0 are 50 · (2/3)^(n ± 1/4), rounded.
    for place, step in ((1, 3), (3, 2), (5, 1), (7, 0)):
        low, high = (round(50 * P ** (step + side)) for side in (0.25, -0.25))
        assert intervals[place].tolist() == [low, min(high, 50)]
    assert intervals[0, 0] == pytest.approx(50 * P**6.5, abs=0.05)
    # Log-uniform in each interval they have nearly the mean that was observed.
    lengths = np.diff(intervals).ravel() / np.diff(np.log(intervals)).ravel()
    assert lengths @ shares == pytest.approx(36.73, abs=1.0)


@pytest.mark.parametrize(
    ("p", "period", "shares"),
    [
        (P, 2, [13.4, 14.9, 20.9, 31.3, 11.9, 7.5]),
        (P, 3, [10.5, 7.5, 16.4, 46.2, 17.9, 1.5]),
        (0.9, 4, [6.0, 3.0, 10.4, 47.8, 25.3, 7.5]),
        (P, 9, [6.0, 3.0, 10.4, 47.8, 25.3, 7.5]),
        (0.5, 2, [10.4, 2.1, 27.0, 31.3, 25.0, 4.2]),
        (0.4, 4, [8.3, 4.2, 14.5, 29.2, 22.9, 20.8]),
    ],
)
def test_the_shares_of_later_periods(p: float, period: int, shares: list[float]) -> None:
    found = later_period_shares(p, period)
    assert found.sum() == pytest.approx(1)
    assert (100 * found).tolist() == pytest.approx(shares, abs=0.11)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: strategic_level(-1), "choice >= 0"),
        (lambda: strategic_level(1, -1), "reference >= 0"),
        (lambda: strategic_level(1, p=0), "p > 0"),
        (lambda: best_reply(1, 1), "n_players >= 2"),
        (lambda: best_reply(1, 2, 2), "p < n_players"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        wrong()
