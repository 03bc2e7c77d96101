"""Means with intervals, and agreement of coders, against values computed by hand."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from sabm_mesa.analysis.intervals import (
    estimate_mean,
    final_level,
    mean_by_round,
    mean_interval,
    require_columns,
    settling_round,
)
from sabm_mesa.studies.judging import agreement_by_code

AGREEMENT_COLUMNS = ["code", "n", "first", "second", "agreed", "kappa", "low", "high"]


def frame(values_by_round: list[list[float]]) -> pd.DataFrame:
    """Round k holds the values of runs 0, 1, ..."""
    rows = [(i, k, v) for k, values in enumerate(values_by_round) for i, v in enumerate(values)]
    return pd.DataFrame(rows, columns=["run", "round", "x"])


def test_the_mean_of_runs_without_those_that_have_no_value() -> None:
    assert estimate_mean([0, None, 10, math.nan])[:2] == (2, 5)
    one, none = estimate_mean([3]), estimate_mean([None])
    assert (one.n, one.mean, none.n) == (1, 3, 0)
    assert all(math.isnan(each) for each in (one.low, one.high, *none[1:]))
    with pytest.raises(ValueError, match="finite"):
        estimate_mean([1, math.inf])


def test_an_interval_takes_five_runs_that_are_not_all_alike() -> None:
    found = mean_by_round(frame([[1, 2, 3, 4], [4, 4, 4, 4, 4], [1, 2, 3, 4, 9]]), "x")

    assert found["low"].isna().tolist() == [True, True, False]
    # Student's: 3.8 ± 2.776 · 3.114 / √5 (t of 4 degrees of freedom), cut at the smallest run.
    assert found.loc[2, ["low", "high"]].tolist() == pytest.approx([1, 3.8 + 3.867], abs=1e-3)


def test_an_interval_does_not_leave_the_bounds_of_its_measure() -> None:
    """Of 20 people, 12 to 20 are out; Student's interval alone goes on to 20.8."""
    assert mean_interval(np.array([20.0, 20, 12, 20, 20]))[1] == 20
    assert mean_interval(np.array([0.0, 0, 0, 0, 7]))[0] == 0


def test_a_run_that_ended_keeps_its_last_value_or_ends_the_mean() -> None:
    """One run of three rounds and one of a single round, of people who have escaped."""
    data = pd.DataFrame({"run": [0, 0, 0, 1], "round": [0, 1, 2, 0], "x": [3.0, 4, 5, 13]})

    assert mean_by_round(data, "x", kept=True)["mean"].tolist() == [8, 8.5, 9]
    ended = mean_by_round(data, "x")
    assert ended["mean"].isna().tolist() == [False, True, True]
    assert ended["n"].tolist() == [2, 1, 1]


def test_runs_of_zero_and_one_have_the_interval_of_a_share() -> None:
    both = binomtest(3, 9).proportion_ci(0.95, method="exact")

    assert mean_interval(np.array([1.0] * 3 + [0.0] * 6)) == pytest.approx((both.low, both.high))
    assert all(map(math.isnan, mean_interval(np.zeros(9))))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("family", "mean", "least"), [("normal", 0.0, 0.92), ("lognormal", math.exp(0.5), 0.78)]
)
@pytest.mark.parametrize("n", [5, 15])
def test_intervals_cover(family: str, mean: float, least: float, n: int) -> None:
    rng = np.random.default_rng(n)
    drawn = (mean_interval(getattr(rng, family)(size=n)) for _ in range(1000))
    held = [low <= mean <= high for low, high in drawn]
    # 2.5 standard errors of a share of 1000 allow for chance.
    assert np.mean(held) >= least - 2.5 * math.sqrt(least * (1 - least) / 1000)


def test_rounds_without_a_value_are_left_out_run_by_run() -> None:
    nan = math.nan
    runs = [[2, nan, 4, 1, 2, 6], [*[nan] * 5, 9], [nan] * 6]
    found = mean_by_round(frame(runs), "x")

    assert found["n"].tolist() == [5, 1, 0]
    assert found["mean"].tolist()[:2] == [3, 9]
    assert math.isnan(found.loc[2, "mean"])
    assert found["low"].isna().tolist() == [False, True, True]


def test_missing_values_of_any_kind_are_nan() -> None:
    data = frame([[2, 4, 6]])
    data["x"] = pd.array([2, None, 6], dtype="Int64")

    assert mean_by_round(data, "x")["mean"].tolist() == [4]


def test_the_order_of_rows_does_not_matter() -> None:
    data = frame([list(range(9)), [3, 1, 4, 1, 5, 9, 2, 6, 5]])
    shuffled = data.sample(frac=1, random_state=3)

    pd.testing.assert_frame_equal(mean_by_round(shuffled, "x"), mean_by_round(data, "x"))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12))
def test_an_interval_holds_the_mean_within_the_runs(values: list[float]) -> None:
    found = mean_by_round(frame([values]), "x").iloc[0]

    assert math.isnan(found["low"]) or (
        min(values) <= found["low"] <= found["mean"] <= found["high"] <= max(values)
    )


def test_wrong_data_are_refused() -> None:
    data = frame([[1, 2]])

    with pytest.raises(ValueError, match="no column y"):
        mean_by_round(data, "y")
    with pytest.raises(ValueError, match="more than one row"):
        mean_by_round(pd.concat([data, data]), "x")
    with pytest.raises(ValueError, match="no column a, b"):
        require_columns(data, ["a", "run", "b"])


def coders(both: int, only_first: int, only_second: int, neither: int):
    """Two coders with this many units coded by both, one of them, or none."""
    first = [True] * (both + only_first) + [False] * (only_second + neither)
    second = [True] * both + [False] * only_first + [True] * only_second + [False] * neither
    return first, second


def cohen_kappa(first: list[Any], second: list[Any]) -> float:
    frames = (pd.DataFrame({"code": coded}) for coded in (first, second))
    return float(agreement_by_code(*frames, ["code"])["kappa"].item())


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        ((20, 5, 10, 15), 0.4),  # p_o = 35/50, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5
        ((45, 15, 25, 15), 0.06 / 0.46),  # p_o = 0.6, p_e = 0.6 * 0.7 + 0.4 * 0.3 = 0.54
        ((10, 0, 0, 30), 1.0),
        ((0, 10, 10, 0), -1.0),  # p_o = 0, p_e = 0.5
        ((25, 25, 25, 25), 0.0),
        ((3, 1, 2, 4), 0.4),  # p_o = 0.7, p_e = 0.4 * 0.5 + 0.6 * 0.5 = 0.5
    ],
)
def test_kappa_computed_by_hand(counts, kappa: float) -> None:
    first, second = coders(*counts)

    assert cohen_kappa(first, second) == pytest.approx(kappa)
    assert cohen_kappa(second, first) == pytest.approx(kappa)


@pytest.mark.parametrize("counts", [(7, 0, 0, 0), (0, 0, 0, 7), (0, 0, 0, 0)])
def test_kappa_is_not_defined_when_both_always_give_the_same_code(counts) -> None:
    assert math.isnan(cohen_kappa(*coders(*counts)))


@pytest.mark.parametrize("counts", [(5, 2, 0, 0), (0, 3, 0, 4), (0, 6, 0, 0)])
def test_kappa_is_zero_when_a_coder_always_gives_another_code(counts) -> None:
    assert cohen_kappa(*coders(*counts)) == 0


def test_units_that_one_did_not_code_do_not_count() -> None:
    first = [True, True, False, None, math.nan, pd.NA]
    second = [True, False, False, True, False, True]

    assert cohen_kappa(first, second) == cohen_kappa(first[:3], second[:3]) == pytest.approx(0.4)


def coded(**counts: tuple[int, int, int, int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    pairs = {code: coders(*each) for code, each in counts.items()}
    return (
        pd.DataFrame({code: first for code, (first, _) in pairs.items()}),
        pd.DataFrame({code: second for code, (_, second) in pairs.items()}),
    )


def test_agreement_code_by_code() -> None:
    found = agreement_by_code(
        *coded(some=(20, 5, 10, 15), all=(50, 0, 0, 0), none=(0, 0, 0, 50)), ["some", "all"]
    )

    assert list(found.columns) == AGREEMENT_COLUMNS
    some, every = found.to_dict("records")
    assert (some["code"], some["n"]) == ("some", 50)
    assert [some[name] for name in ("first", "second", "agreed")] == pytest.approx([0.5, 0.6, 0.7])
    assert some["kappa"] == pytest.approx(0.4)
    assert 0.1 < some["low"] < 0.4 < some["high"] < 0.7
    assert (every["first"], every["second"], every["agreed"]) == (1, 1, 1)
    assert all(math.isnan(every[name]) for name in ("kappa", "low", "high"))


def test_the_interval_is_that_of_kappas_own_formula_for_many_messages() -> None:
    found = agreement_by_code(*coded(a=(800, 200, 400, 600)), ["a"]).iloc[0]
    p_o, p_e = 0.7, 0.5
    # The simple standard error of Cohen (1960), which neglects that p_e is estimated too.
    error = math.sqrt(p_o * (1 - p_o) / 2000) / (1 - p_e)

    assert found["low"] == pytest.approx(0.4 - 1.96 * error, abs=0.006)
    assert found["high"] == pytest.approx(0.4 + 1.96 * error, abs=0.006)


def test_perfect_agreement_has_an_interval_of_one_point() -> None:
    found = agreement_by_code(*coded(a=(10, 0, 0, 10)), ["a"]).iloc[0]

    assert (found["kappa"], found["low"], found["high"]) == (1, 1, 1)


def test_nothing_was_coded() -> None:
    empty = pd.DataFrame({"a": pd.Series([], dtype=bool)})
    found = agreement_by_code(empty, empty, ["a"]).iloc[0]

    assert found["n"] == 0
    assert found[["first", "second", "agreed", "kappa", "low", "high"]].isna().all()


def test_what_cannot_be_compared_is_refused() -> None:
    first, second = coded(a=(1, 1, 1, 1))
    with pytest.raises(ValueError, match="no column b"):
        agreement_by_code(first, second, ["b"])
    with pytest.raises(ValueError, match="4 and 3 units"):
        agreement_by_code(first, second[:3], ["a"])


def test_where_and_when_courses_settle() -> None:
    path = [[2.0] * 30 + [7.0] * 70, [3.0] * 20 + [7.2] * 80]

    assert final_level(path) == pytest.approx(7.1)
    assert settling_round(path, 0.5) == 30
    assert math.isnan(settling_round(path, 0.05))
    assert math.isnan(settling_round([row[:60] for row in path], 0.5))
    assert settling_round([[7.0] * 60], 0.5) == 0
    assert math.isnan(final_level([[]]))
