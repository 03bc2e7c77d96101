"""Measures of a cocktail party, by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.pairs.cocktail_party import study as c

PAIRS = st.tuples(st.integers(1, 6), st.integers(1, 6)).filter(lambda pair: pair[0] != pair[1])


def test_the_distinct_ratio_is_the_mean_over_agents() -> None:
    """1 met 2 twice and 3 once: 2 of 3; 2 met 1 twice: 1 of 2; 3 met 1: 1 of 1."""
    met = [(1, 2), (1, 2), (1, 3), (2, 1), (2, 1), (3, 1)]

    assert c.distinct_ratio(met) == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    assert math.isnan(c.distinct_ratio([]))


@given(st.lists(PAIRS, min_size=1))
def test_a_ratio_lies_between_one_partner_and_all_different(met) -> None:
    ratio = c.distinct_ratio(met)

    assert 0 < ratio <= 1
    assert c.distinct_ratio([*met, *met]) == pytest.approx(ratio / 2)


def test_the_ratio_of_random_partners() -> None:
    """The value of the spec: 0.623 for 10 draws among 9."""
    assert c.expected_distinct_ratio(10, 9) == pytest.approx(0.623, abs=5e-4)
    assert c.expected_distinct_ratio(1, 9) == pytest.approx(1)
    assert math.isnan(c.expected_distinct_ratio(0, 9))
    draws = np.random.default_rng(1).integers(9, size=(20_000, 10))
    simulated = np.mean([len(set(row)) / 10 for row in draws.tolist()])
    assert simulated == pytest.approx(c.expected_distinct_ratio(10, 9), abs=0.003)


def test_who_talked_before() -> None:
    talks = [(0, (1, 2)), (0, (3, 4)), (3, (2, 1)), (3, (1, 3)), (5, (4, 3))]

    assert math.isnan(c.repeat_rate(talks, 1))
    assert c.repeat_rate(talks, 0) == 0
    assert c.repeat_rate(talks, 3) == 1 / 2
    assert c.repeat_rate(talks, 5, window=5) == 1
    assert c.repeat_rate(talks, 5, window=4) == 0


def test_tight_pairs_have_more_than_five_talks() -> None:
    counts = c.talk_counts([(1, 2)] * 3 + [(2, 1)] * 3 + [(1, 3)] * 5)

    assert counts == {(1, 2): 6, (1, 3): 5}
    assert c.tight_pairs(counts) == {(1, 2)}
    assert c.tight_pairs(counts, 4) == {(1, 2), (1, 3)}


def test_the_slope_of_a_run_is_that_of_the_line() -> None:
    rounds = list(range(10, 20))

    assert c.slope(rounds, [0.9 - 0.006 * t for t in rounds]) == pytest.approx(-0.006)
    assert c.slope([0, 1, 2], [0.5, 0.5, 0.5]) == pytest.approx(0)
    assert c.slope([0, 1, 2, 3], [1, math.nan, 3, 4]) == pytest.approx(1)
    assert math.isnan(c.slope([0, 1, 2], [0.5, math.nan, 0.4]))


# From the agents' data.
def data(rows):
    frame = pd.DataFrame(rows, columns=["run", "round", "agent", "partners", "distances"])
    return frame.assign(invited=math.nan)


def test_talks_are_read_from_the_agents_data() -> None:
    frame = data([
        (0, 0, 1, "2 3", ""), (0, 0, 2, "1", ""), (0, 0, 3, "1", ""),
        (1, 4, 1, math.nan, ""), (1, 4, 2, "3", ""), (1, 4, 3, 2.0, ""),
    ])  # fmt: skip

    assert [*c.talks_of(frame).itertuples(index=False, name=None)] == [
        (0, 0, 1, 2), (0, 0, 1, 3), (1, 4, 2, 3),
    ]  # fmt: skip
    assert c.talks_of(frame.iloc[:0]).empty


def test_distances_of_tight_and_loose_pairs() -> None:
    """In run 0 the pair 1-2 talks 6 times, and 1-3 once."""
    rows = [
        (0, t, a, p, d)
        for t in range(6)
        for a, p, d in (
            (1, "2", f"2:0.{t} 3:0.9"), (2, "1", f"1:0.{t}"), (3, "1" if t == 0 else "", "1:0.9"),
        )
    ]  # fmt: skip
    rows[0] = (0, 0, 1, "2 3", "2:0.0 3:0.7")
    found = c.distances_by_round(data(rows))

    assert list(found["tight"]) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert list(found["loose"]) == pytest.approx([0.7, 0.9, 0.9, 0.9, 0.9, 0.9])
