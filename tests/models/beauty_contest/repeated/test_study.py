"""The measures of a session, over all players and by type."""

import math

import pandas as pd
import pytest

from sabm_mesa.models.beauty_contest.repeated.study import by_type, session_measures
from tests.models.beauty_contest.repeated.support import P


# Measures by type.
def agents(rows: list[tuple[object, ...]]) -> pd.DataFrame:
    columns = ["run", "round", "agent", "mind", "choice", "payoff", "depth"]
    return pd.DataFrame(rows, columns=columns)


ROWS = agents(
    [
        (0, 0, 1, "a", 40, 0.0, 0.5), (0, 0, 2, "a", 20, 1.0, 2.2), (0, 0, 3, "fixed:0", 0, 0, 15),
        (0, 1, 1, "a", 10, 0.5, 1.7), (0, 1, 2, "a", None, 0.0, None),
        (0, 1, 3, "fixed:0", 0, 0.5, 15),
    ]
)  # fmt: skip


def test_the_table_by_type() -> None:
    table = by_type(ROWS)
    assert table["mind"].tolist() == ["a", "fixed:0"] * 2
    assert table["n"].tolist() == [2, 1, 2, 1]
    assert table["choice"].tolist() == [30, 0, 10, 0]
    assert table["payoff"].tolist() == [0.5, 0, 0.25, 0.5]
    assert table["depth"].tolist() == pytest.approx([1.35, 15, 1.7, 15])
    assert table["ratio"].tolist()[2] == pytest.approx(1 / 3)
    assert table["ratio"].isna().tolist() == [True, True, False, True]
    assert by_type(ROWS.drop(columns="run")).equals(table)


def test_types_of_several_runs_do_not_mix() -> None:
    both = pd.concat([ROWS, ROWS.assign(run=1, choice=ROWS["choice"] * 2)])
    table = by_type(both)
    assert len(table) == 8
    assert table.loc[table["mind"] == "a", "ratio"].dropna().tolist() == pytest.approx([1 / 3] * 2)


def test_the_measures_of_a_session_are_in_per_cent_of_the_range() -> None:
    model = pd.DataFrame(
        {"run": 0, "round": [0, 1], "mean": [20.0, 5], "median": [20.0, 5], "target": [13.3, 3.3],
         "ratio": [math.nan, 0.25], "high": 50.0, "p": P}
    )  # fmt: skip
    found = session_measures(model, ROWS)
    assert (found["first_mean"], found["last_mean"]) == (40, 10)
    assert (found["w_mean"], found["mean_ratio"]) == (0.75, 0.25)
    assert found["abstentions"] == 1
    assert found["falling"] == 1
    assert found["choice_by_type"] == pytest.approx({"a": 140 / 3, "fixed:0": 0})
    assert found["median_by_type"] == {"a": 40, "fixed:0": 0}
    assert found["payoff_by_type"] == {"a": 0.375, "fixed:0": 0.25}
    assert found["depth_by_type"] == {"a": 1.7, "fixed:0": 15}
    assert found["ratio_by_type"]["a"] == pytest.approx(1 / 3)
    assert session_measures(model.iloc[:0], ROWS.iloc[:0]) == {}
