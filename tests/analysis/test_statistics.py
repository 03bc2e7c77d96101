"""Bootstrap intervals over runs."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sabm_mesa.analysis.statistics import bootstrap_mean_by_round, require_columns


def frame(values_by_round: list[list[float]]) -> pd.DataFrame:
    """Round k holds the values of runs 0, 1, ..."""
    rows = [(i, k, v) for k, values in enumerate(values_by_round) for i, v in enumerate(values)]
    return pd.DataFrame(rows, columns=["run", "round", "x"])


def test_means_and_numbers_of_runs() -> None:
    found = bootstrap_mean_by_round(frame([[1, 2, 6], [4, 4, 4]]), "x")

    assert list(found.columns) == ["round", "mean", "low", "high", "n"]
    assert found["round"].tolist() == [0, 1]
    assert found["mean"].tolist() == [3, 4]
    assert found["n"].tolist() == [3, 3]
    assert found.loc[1, ["low", "high"]].tolist() == [4, 4]


def test_the_interval_of_two_runs_is_known() -> None:
    # Resampled means of {0, 10} are 0, 5, 10 with chances 1/4, 1/2, 1/4.
    wide = bootstrap_mean_by_round(frame([[0, 10]]), "x", confidence=0.95)
    narrow = bootstrap_mean_by_round(frame([[0, 10]]), "x", confidence=0.3)

    assert wide.loc[0, ["low", "high"]].tolist() == [0, 10]
    assert narrow.loc[0, ["low", "high"]].tolist() == [5, 5]


def test_the_interval_has_the_width_of_the_standard_error() -> None:
    values = np.random.default_rng(1).normal(50, 8, 400)
    found = bootstrap_mean_by_round(frame([values.tolist()]), "x", n_resamples=8000)

    half = 1.96 * values.std() / math.sqrt(400)
    assert found.loc[0, "low"] == pytest.approx(values.mean() - half, abs=0.06)
    assert found.loc[0, "high"] == pytest.approx(values.mean() + half, abs=0.06)


def test_one_run_has_no_interval() -> None:
    found = bootstrap_mean_by_round(frame([[7], [5]]), "x")

    assert found["mean"].tolist() == [7, 5]
    assert found[["low", "high"]].isna().all(axis=None)
    assert found["n"].tolist() == [1, 1]


def test_rounds_without_a_value_are_left_out_run_by_run() -> None:
    nan = math.nan
    found = bootstrap_mean_by_round(frame([[2, nan, 4], [nan, nan, 9], [nan, nan, nan]]), "x")

    assert found["n"].tolist() == [2, 1, 0]
    assert found["mean"].tolist()[:2] == [3, 9]
    assert math.isnan(found.loc[2, "mean"])
    assert found["low"].isna().tolist() == [False, True, True]


def test_missing_values_of_any_kind_are_nan() -> None:
    data = frame([[2, 4, 6]])
    data["x"] = pd.array([2, None, 6], dtype="Int64")

    assert bootstrap_mean_by_round(data, "x")["mean"].tolist() == [4]


def test_a_seed_gives_the_same_interval_whatever_the_order_of_rows() -> None:
    data = frame([list(range(9)), [3, 1, 4, 1, 5, 9, 2, 6, 5]])
    shuffled = data.sample(frac=1, random_state=3)
    first = bootstrap_mean_by_round(data, "x", rng=5)

    pd.testing.assert_frame_equal(bootstrap_mean_by_round(shuffled, "x", rng=5), first)
    generator = np.random.default_rng(5)
    pd.testing.assert_frame_equal(bootstrap_mean_by_round(data, "x", rng=generator), first)
    assert not bootstrap_mean_by_round(data, "x", rng=6).equals(first)


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12), st.integers(0, 99))
def test_bounds_lie_within_the_data(values: list[float], seed: int) -> None:
    found = bootstrap_mean_by_round(frame([values]), "x", rng=seed, n_resamples=200).iloc[0]
    slack = 1e-6

    assert min(values) - slack <= found["low"] <= found["high"] <= max(values) + slack


def test_wrong_data_are_refused() -> None:
    data = frame([[1, 2]])

    with pytest.raises(ValueError, match="no column y"):
        bootstrap_mean_by_round(data, "y")
    with pytest.raises(ValueError, match="more than one row"):
        bootstrap_mean_by_round(pd.concat([data, data]), "x")
    with pytest.raises(ValueError, match="confidence"):
        bootstrap_mean_by_round(data, "x", confidence=1)
    with pytest.raises(ValueError, match="n_resamples"):
        bootstrap_mean_by_round(data, "x", n_resamples=0)
    with pytest.raises(ValueError, match="no column a, b"):
        require_columns(data, ["a", "run", "b"])


def test_no_rows_give_no_rounds() -> None:
    assert bootstrap_mean_by_round(frame([]), "x").empty
