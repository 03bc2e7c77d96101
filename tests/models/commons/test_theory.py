"""Growth, threshold and division of a commons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.commons.theory import allocate, regrown, sustainable_harvest, threshold


@pytest.mark.parametrize(
    ("stock", "group", "person"),
    [(100, 50, 10), (57, 28, 5), (10, 5, 1), (9, 4, 0), (1, 0, 0), (0, 0, 0)],
)
def test_the_sustainable_harvest(stock, group, person) -> None:
    assert sustainable_harvest(stock) == group
    assert threshold(stock, 5) == person


@given(st.integers(0, 100))
def test_the_sustainable_harvest_is_the_largest_with_which_the_stock_grows_back(stock) -> None:
    most = sustainable_harvest(stock)
    assert regrown(stock - most, 100) >= stock
    assert most == stock or regrown(stock - most - 1, 1000) < stock


@pytest.mark.parametrize(("left", "next_"), [(0, 0), (30, 60), (50, 100), (60, 100), (100, 100)])
def test_what_is_left_doubles_up_to_the_capacity(left, next_) -> None:
    assert regrown(left, 100) == next_


def rng(seed=1):
    return np.random.default_rng(seed)


def test_when_there_is_enough_all_get_what_they_asked_for_and_nothing_is_drawn() -> None:
    drawn = rng()
    assert allocate([20, 20, 20, 20, 20], 100, drawn) == [20] * 5
    assert allocate([0, 0], 0, drawn) == [0, 0]
    assert drawn.bit_generator.state == rng().bit_generator.state


def test_when_all_ask_for_all_the_sum_is_the_stock() -> None:
    got = allocate([100] * 5, 100, rng())
    assert sum(got) == 100
    assert got != [20] * 5
    assert got == allocate([100] * 5, 100, rng())
    assert got != allocate([100] * 5, 100, rng(2))


def test_units_go_to_those_who_still_want_one_with_equal_chances() -> None:
    """The first of three units goes to each with 1/2; who wants one is out when it has it."""
    generator = rng()
    draws = [allocate([1, 9], 3, generator) for _ in range(4000)]
    assert {tuple(each) for each in draws} == {(1, 2), (0, 3)}
    share = sum(each == [0, 3] for each in draws) / len(draws)
    assert share == pytest.approx(1 / 8, abs=0.02)  # three times in a row not drawn


@given(
    st.lists(st.integers(0, 120), min_size=1, max_size=7),
    st.integers(0, 120),
    st.integers(0, 9),
)
def test_nobody_gets_more_than_asked_for_and_nothing_is_kept_back(requests, stock, seed) -> None:
    got = allocate(requests, stock, rng(seed))
    assert all(0 <= g <= r for g, r in zip(got, requests, strict=True))
    assert sum(got) == min(stock, sum(requests))
