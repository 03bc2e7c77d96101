"""Shares of the variance of an outcome."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.analysis.variance_split import INTERACTION, REST, variance_split

FACTORS = ["model", "wording"]


def runs(cells: dict[tuple[str, ...], list[float]], names: list[str] = FACTORS) -> pd.DataFrame:
    """A frame from outcomes by combination of levels."""
    rows = [(*levels, value) for levels, values in cells.items() for value in values]
    return pd.DataFrame(rows, columns=[*names, "y"])


def shares(frame: pd.DataFrame, factors: list[str] = FACTORS) -> dict[str, float]:
    found = variance_split(frame, "y", factors)
    return dict(zip(found["source"], found["share"], strict=True))


def hand() -> pd.DataFrame:
    """Cell means 1, 5, 9, 21 about 9, and ±1 in each cell: squares 288, 128, 32, 8 of 456."""
    return runs({("a", "x"): [0, 2], ("a", "y"): [4, 6], ("b", "x"): [8, 10], ("b", "y"): [20, 22]})


def test_two_by_two_by_two_by_hand() -> None:
    found = variance_split(hand(), "y", FACTORS)

    assert found.columns.tolist() == ["source", "share", "low", "high"]
    assert found["source"].tolist() == ["model", "wording", INTERACTION, REST]
    assert found["share"].to_numpy() == pytest.approx(np.array([288, 128, 32, 8]) / 456)
    assert (found["low"] <= found["share"]).sum() >= 3
    assert (found["low"] <= found["high"]).all()


def test_three_factors_that_add_up() -> None:
    cells = {
        (a, b, c): [1.0 * (a == "1") + 2 * (b == "1") + 3 * (c == "1")] * 2
        for a in "01"
        for b in "01"
        for c in "01"
    }
    found = shares(runs(cells, ["a", "b", "c"]), ["a", "b", "c"])

    assert list(found.values()) == pytest.approx([1 / 14, 4 / 14, 9 / 14, 0, 0], abs=1e-12)


def test_an_unbalanced_design_by_hand() -> None:
    # y is 1 for b only; x and y are each half confounded with it: a: x, x, y; b: x, y, y.
    frame = runs({("a", "x"): [0, 0], ("a", "y"): [0], ("b", "x"): [1], ("b", "y"): [1, 1]})
    found = shares(frame)

    # Total 6/4. Wording alone: means 1/3 and 2/3, squares 6/36. Model alone: everything.
    assert found["wording"] == pytest.approx((1 / 6) / (6 / 4) / 2)
    assert found["model"] == pytest.approx(1 - found["wording"])
    assert found[INTERACTION] == pytest.approx(0, abs=1e-12)


def test_factors_that_change_together_share_equally() -> None:
    found = shares(runs({("a", "x"): [0, 0], ("b", "y"): [2, 2]}))

    assert list(found.values()) == pytest.approx([0.5, 0.5, 0, 0], abs=1e-12)


def test_a_factor_with_one_level_is_left_out() -> None:
    frame = hand()[lambda f: f["wording"] == "x"]

    # Means 1 and 9, ±1: squares 64 and 4.
    assert shares(frame) == pytest.approx({"model": 64 / 68, REST: 4 / 68})
    assert shares(frame.head(2)) == {REST: 1}
    assert shares(hand(), []) == {REST: 1}


def test_without_repetition_interaction_and_chance_are_one() -> None:
    frame = runs({("a", "x"): [1], ("a", "y"): [5], ("b", "x"): [9], ("b", "y"): [21]})
    found = variance_split(frame, "y", FACTORS)

    assert found["source"].tolist() == ["model", "wording", REST]
    assert found["share"].to_numpy() == pytest.approx(np.array([144, 64, 16]) / 224)
    assert found[["low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0], [0.1 + 0.2, 0.3], [math.nan] * 3])
def test_without_variance_there_are_no_shares(values: list[float]) -> None:
    found = variance_split(runs({("a", "x"): values}), "y", FACTORS)

    assert found["source"].tolist() == [REST]
    assert found[["share", "low", "high"]].isna().all(axis=None)


def test_draws_without_variance_do_not_count() -> None:
    found = variance_split(runs({("a", "x"): [0, 1]}), "y", FACTORS)

    assert found.to_numpy().tolist() == [[REST, 1, 1, 1]]


def test_runs_without_a_value_are_left_out() -> None:
    extra = runs({("a", "x"): [math.nan], ("c", "z"): [math.nan]})

    assert shares(pd.concat([hand(), extra])) == pytest.approx(shares(hand()))


def test_a_missing_level_is_a_level() -> None:
    frame = hand().replace({"model": {"b": None}})

    assert shares(frame) == pytest.approx(shares(hand()))


def test_the_seed_decides_the_interval() -> None:
    first = variance_split(hand(), "y", FACTORS, seed=1)

    pd.testing.assert_frame_equal(first, variance_split(hand(), "y", FACTORS, seed=1))


def test_an_interval_holds_the_share_it_estimates() -> None:
    rng = np.random.default_rng(8)
    cells = {(m, w): rng.normal(2 * (m == "b"), 1, 40).tolist() for m in "ab" for w in "xy"}
    found = variance_split(runs(cells), "y", FACTORS).set_index("source")

    # A difference of 2 with a standard deviation of 1 is half of the variance.
    assert found.loc["model", "low"] < 0.5 < found.loc["model", "high"]
    assert found.loc["model", "high"] - found.loc["model", "low"] < 0.2


def test_wrong_data_are_refused() -> None:
    with pytest.raises(ValueError, match="no column z"):
        variance_split(hand(), "z", FACTORS)
    with pytest.raises(ValueError, match="twice"):
        variance_split(hand(), "y", ["model", "model"])
    with pytest.raises(ValueError, match="finite"):
        variance_split(hand().assign(y=math.inf), "y", FACTORS)


LEVELS = st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from("12"))


@given(st.lists(st.tuples(LEVELS, st.integers(-20, 20)), min_size=2, max_size=24))
def test_shares_are_shares(rows: list[tuple[tuple[str, ...], int]]) -> None:
    names = ["model", "wording", "version"]
    frame = pd.DataFrame([(*levels, y) for levels, y in rows], columns=[*names, "y"])
    found = variance_split(frame, "y", names)

    varied = [name for name in names if len(set(frame[name])) > 1]
    assert [s for s in found["source"] if s not in {INTERACTION, REST}] == varied
    if len(set(frame["y"])) == 1:
        assert found["share"].isna().all()
        return
    assert (found["share"] >= 0).all()
    assert found["share"].sum() == pytest.approx(1)
    assert ((found["low"] >= 0) | found["low"].isna()).all()
    assert ((found["high"] <= 1 + 1e-9) | found["high"].isna()).all()
    turned = variance_split(frame.iloc[::-1].assign(y=5 - 3 * frame["y"]), "y", names)
    assert turned["share"].to_numpy() == pytest.approx(found["share"].to_numpy(), abs=1e-9)
