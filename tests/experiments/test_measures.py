"""Measures of a run, against numbers computed by hand."""

import math
from typing import Any

import pandas as pd
import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.experiments.design import Measure
from sabm_mesa.experiments.measures import measured, value_of
from sabm_mesa.experiments.plan import plan
from sabm_mesa.experiments.reading import parsed
from sabm_mesa.experiments.running import run
from tests.experiments.support import SMALL

FIRMS = pd.DataFrame(
    {
        "round": [0, 1, 2, 3, 4],
        "price_1": [2.0, 6.0, 7.0, 7.5, 7.5],
        "price_2": [4.0, 6.0, math.nan, 6.5, 7.5],
    }
)
PEOPLE = pd.DataFrame(
    {
        "round": [0, 0, 0, 1, 1],
        "agent": [1, 2, 3, 1, 2],
        "choice": pd.array([33, None, 66, 20, 22], dtype="Int64"),
    }
)
BOTH = ("price_1", "price_2")


@pytest.mark.parametrize(
    ("expected", "columns", "more"),
    [
        ((2 + 4 + 6 + 6 + 7 + 7.5 + 6.5 + 7.5 + 7.5) / 9, BOTH, {}),
        (7.25, BOTH, {"rounds": (-2, -1)}),
        (7.5, "price_1", {"rounds": (3, 3)}),
        (7.5, "price_1", {"rounds": (30, 30)}),  # the run ended earlier
        (7.5, "price_1", {"take": "max"}),
        (2.0, BOTH, {"take": "min"}),
        (30.0, "price_1", {"take": "sum"}),
        (0.25, "price_1", {"take": "sd", "rounds": (2, 3)}),
        (5.5, "price_1", {"take": "change", "rounds": (0, 3)}),
        (1.0, BOTH, {"take": "change", "rounds": (1, 2)}),  # from 6 to 7, the one there is
        (0.5, "price_1", {"take": "slope", "rounds": (2, 3)}),
        (0.6, "price_1", {"take": "share", "low": 7.0, "high": 7.5}),
        (3.0, BOTH, {"take": "first", "low": 6.5, "high": 8.0}),
        (math.nan, BOTH, {"take": "first", "low": 9.0}),
        (math.nan, "price_2", {"rounds": (2, 2)}),
        (math.nan, BOTH, {"take": "settles", "high": 0.5}),  # for fewer than 50 rounds
    ],
)
def test_measures_of_a_model(expected: float, columns: Any, more: dict[str, Any]) -> None:
    names = (columns,) if isinstance(columns, str) else columns
    found = value_of(Measure("m", "M", names, **more), FIRMS)
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("expected", "more"),
    [
        (49.5, {"rounds": (0, 0)}),
        (0.5, {"take": "share", "rounds": (0, 0), "low": 30, "high": 36}),
        (21 - 49.5, {"take": "change"}),
        (1.0, {"take": "first", "low": 20, "high": 22}),
    ],
)
def test_measures_of_agents(expected: float, more: dict[str, Any]) -> None:
    measure = Measure("m", "M", ("choice",), data="agents", **more)
    assert value_of(measure, PEOPLE) == pytest.approx(expected)


def test_prices_that_settle() -> None:
    prices = [2.0] * 20 + [7.0, 7.2] * 30
    data = pd.DataFrame({"round": range(80), "price_1": prices, "price_2": prices})
    assert value_of(Measure("m", "M", BOTH, take="settles", high=0.5), data) == 20


def test_a_tidy_table_of_all_runs(tmp_path: Any) -> None:
    done = run(plan(parsed("small", SMALL)), tmp_path)
    table = measured(done)
    assert list(table.columns) == ["condition", "run", "seed", "measure", "value"]
    assert len(table) == 4
    last = done.model_data[done.model_data["round"] == 1].set_index(["condition", "seed"])
    found = table.set_index(["condition", "seed"])["value"]
    pd.testing.assert_series_equal(found, last["variance"], check_names=False)


def test_a_column_that_does_not_exist_is_named(tmp_path: Any) -> None:
    wrong = parsed("small", SMALL.replace('columns = "variance"', 'columns = "varianz"'))
    with pytest.raises(ParameterError, match=r"measure last: there is no column 'varianz'.*mean"):
        measured(run(plan(wrong), tmp_path))
