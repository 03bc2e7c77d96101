"""Measures of a commons, by hand."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.commons.study import (
    efficiency,
    equality,
    kaplan_meier,
    over_usage,
    run_measures,
    survival,
)


# Measures of one run.
def frames(harvests, thresholds):
    """Model and agent data of one run from the harvests by month."""
    months = range(len(harvests))
    agents = [
        {"run": 0, "round": month, "agent": i + 1, "harvest": harvest}
        for month, row in enumerate(harvests)
        for i, harvest in enumerate(row)
    ]
    model = pd.DataFrame({"run": 0, "round": months, "threshold": thresholds})
    return model, pd.DataFrame(agents)


def test_with_a_newcomer_the_months_before_it_do_not_count() -> None:
    """Four take 30 each for 3 months, then five take 10, 10, 10, 10 and 20 for 2 of 12 months."""
    before = [[30, 30, 30, 30, None]] * 3
    after = [[10, 10, 10, 10, 20]] * 2
    found = run_measures(*frames(before + after, [12] * 3 + [10] * 2), 15, 100, first_round=3)
    assert found == {
        "survival_time": 2, "survived": False, "gain": pytest.approx(120 / 5),
        "efficiency": pytest.approx(120 / 600),
        "equality": pytest.approx(1 - (8 * 20) / (2 * 5 * 120)), "over_usage": 0.2,
    }  # fmt: skip


def test_a_collapse_before_the_newcomer_leaves_nothing_to_measure() -> None:
    found = run_measures(*frames([[25, 25, 25, 25, None]], [12]), 15, 100, first_round=3)
    assert (found["survival_time"], found["survived"]) == (0, False)
    assert all(math.isnan(found[name]) for name in ("gain", "efficiency", "equality", "over_usage"))


@pytest.mark.parametrize(
    ("gains", "expected"),
    [([5, 5, 5], 1), ([10, 0], 0.5), ([100, 0, 0, 0, 0], 0.2), ([1, 2, 3], 1 - 4 / 18)],
)
def test_equality_is_one_minus_gini(gains, expected) -> None:
    assert equality(gains) == pytest.approx(expected)


def test_equality_of_nothing_is_not_known() -> None:
    assert math.isnan(equality([0, 0]))
    assert math.isnan(equality([]))


@given(st.lists(st.integers(0, 200), min_size=1, max_size=8), st.integers(1, 9))
def test_equality_is_the_same_in_another_order_and_unit(gains, unit) -> None:
    found = equality(gains)
    if sum(gains):
        assert 1 / len(gains) - 1e-9 <= found <= 1 + 1e-9
        assert equality([unit * each for each in sorted(gains)]) == pytest.approx(found)


def test_efficiency_has_a_ceiling() -> None:
    assert efficiency(600, 12, 100) == efficiency(700, 12, 100) == 1
    assert efficiency(0, 12, 100) == 0


def test_over_usage_compares_each_harvest_with_the_threshold_of_its_month() -> None:
    assert over_usage([11, 10, 6, 5], [10, 10, 5, 5]) == 0.5
    assert math.isnan(over_usage([], []))


def test_how_long_runs_lasted() -> None:
    data = pd.DataFrame(
        {"run": [0, 0, 1, 2, 2], "round": [0, 1, 0, 1, 0], "left": [50, 4, 0, 5, 60]}
    )
    found = survival(data, 5)
    assert list(found["run"]) == [0, 1, 2]
    assert list(found["months"]) == [2, 1, 2]
    assert list(found["collapsed"]) == [True, True, False]


def test_the_estimate_of_kaplan_and_meier_by_hand() -> None:
    """10 commons: 2 of 10 collapse in month 1, 1 is lost sight of in 3, 1 of 7 collapses in 4."""
    months = [1, 1, 3, 4, 12, 12, 12, 12, 12, 12]
    collapsed = [True, True, False, True, *[False] * 6]
    found = kaplan_meier(months, collapsed)
    assert list(found["month"]) == [0, 1, 3, 4, 12]
    assert list(found["survival"]) == pytest.approx([1, 0.8, 0.8, 0.8 * 6 / 7, 0.8 * 6 / 7])
    # Greenwood, log-log: exp(−exp(ln(−ln 0.8) ± 1.96 · √(2 / (10 · 8)) / |ln 0.8|)).
    half = 1.959964 * math.sqrt(2 / 80) / abs(math.log(0.8))
    middle = math.log(-math.log(0.8))
    bounds = sorted(math.exp(-math.exp(middle + sign * half)) for sign in (-1, 1))
    assert found.loc[1, ["low", "high"]].tolist() == pytest.approx(bounds, abs=1e-5)


@pytest.mark.parametrize(("collapsed", "end"), [([True] * 3, 0.0), ([False] * 3, 1.0)])
def test_all_or_none_collapse(collapsed, end) -> None:
    found = kaplan_meier([2, 2, 2], collapsed)
    assert found["survival"].tolist() == [1.0, end]


def test_survival_needs_runs() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        kaplan_meier([], [])
    with pytest.raises(ValueError, match="at least one run"):
        kaplan_meier([1], [True, False])
