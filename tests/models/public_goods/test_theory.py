"""Payoffs of the public goods game."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.public_goods.theory import (
    dominant_contribution,
    marginal_return,
    optimal_contribution,
    payoffs,
)


# Theory: the game of Lai et al. 2024, and that of Fischbacher & Gächter 2010.
@pytest.mark.parametrize(
    ("contributions", "paid"),
    [
        ([0, 0], [100, 100]),
        ([100, 100], [130, 130]),
        ([100, 0], [65, 165]),
        ([0, 100], [165, 65]),
        ([72.5, 34], [96.725, 135.225]),
        ([100], [130]),
        ([], []),
    ],
)
def test_the_published_payoffs(contributions, paid) -> None:
    assert payoffs(contributions, 100, 1.3) == pytest.approx(paid)


def test_the_laboratory_pays_20_less_c_plus_two_fifths_of_all() -> None:
    given_ = [18, 5, 2, 4]

    assert payoffs(given_, 20, 1.6) == pytest.approx([20 - c + 0.4 * 29 for c in given_])


def test_giving_nothing_is_dominant_and_giving_all_is_best() -> None:
    assert marginal_return(1.3, 2) == 0.65
    assert dominant_contribution(100, 1.3, 2) == 0
    assert optimal_contribution(100, 1.3) == 100


def test_beyond_the_dilemma() -> None:
    assert dominant_contribution(100, 3, 2) == 100
    assert dominant_contribution(100, 2, 2) is None
    assert optimal_contribution(100, 0.5) == 0
    assert optimal_contribution(100, 1) is None


@pytest.mark.parametrize(("multiplier", "n"), [(0, 2), (-1, 2), (1.3, 0), (math.nan, 2)])
def test_the_marginal_return_needs_a_game(multiplier, n) -> None:
    with pytest.raises(ValueError, match="need multiplier > 0"):
        marginal_return(multiplier, n)


@pytest.mark.parametrize("wrong", [-1, 101, math.nan])
def test_a_payoff_needs_legal_contributions(wrong) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        payoffs([wrong, 50], 100, 1.3)


@given(
    shares=st.lists(st.floats(0, 1), min_size=2, max_size=8),
    multiplier=st.floats(0.1, 10),
    endowment=st.floats(1, 1000),
)
def test_one_alone_gains_by_the_dominant_contribution(shares, multiplier, endowment) -> None:
    amounts = [share * endowment for share in shares]
    best = dominant_contribution(endowment, multiplier, len(amounts))
    before = payoffs(amounts, endowment, multiplier)
    assert before.sum() == pytest.approx(
        len(amounts) * endowment + (multiplier - 1) * math.fsum(amounts)
    )
    if best is not None:
        after = payoffs([best, *amounts[1:]], endowment, multiplier)
        assert after[0] >= before[0] - 1e-9 * endowment
