"""Measures of a run, against numbers computed by hand."""

import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.studies.experiments.results import measured, results, value_of
from sabm_mesa.studies.experiments.running import plan, run
from sabm_mesa.studies.experiments.schema import Measure
from tests.studies.experiments.support import SMALL, experiment_of

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
        (9 / math.sqrt(10 * 9), "price_1", {"take": "trend"}),  # 9 pairs rise, 1 is a tie
        (0.0, "price_1", {"take": "trend", "rounds": (3, 4)}),
        (math.nan, "price_1", {"take": "trend", "rounds": (3, 3)}),
        (0.6, "price_1", {"take": "share", "low": 7.0, "high": 7.5}),
        (3.0, BOTH, {"take": "first", "low": 6.5, "high": 8.0}),
        (math.nan, BOTH, {"take": "first", "low": 9.0}),
        (math.nan, "price_2", {"rounds": (2, 2)}),
        (math.nan, BOTH, {"take": "settles", "high": 0.5}),  # for fewer than 50 rounds
    ],
)
def test_measures_of_a_model(expected: float, columns: Any, more: dict[str, Any]) -> None:
    names = (columns,) if isinstance(columns, str) else columns
    found = value_of(Measure(name="m", label="M", columns=names, **more), FIRMS)
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
    measure = Measure(name="m", label="M", columns=("choice",), data="agents", **more)
    assert value_of(measure, PEOPLE) == pytest.approx(expected)


def test_prices_that_settle() -> None:
    prices = [2.0] * 20 + [7.0, 7.2] * 30
    data = pd.DataFrame({"round": range(80), "price_1": prices, "price_2": prices})
    measure = Measure(name="m", label="M", columns=BOTH, take="settles", high=0.5)
    assert value_of(measure, data) == 20


def test_a_tidy_table_of_all_runs(tmp_path: Any) -> None:
    done = run(plan(experiment_of("small", SMALL)), tmp_path)
    table = measured(done)
    assert list(table.columns) == ["condition", "run", "seed", "measure", "value"]
    assert len(table) == 4
    last = done.model_data[done.model_data["round"] == 1].set_index(["condition", "seed"])
    found = table.set_index(["condition", "seed"])["value"]
    pd.testing.assert_series_equal(found, last["variance"], check_names=False)


MEASURE, CLAIMS = 'columns = "variance"', "[[claims]]"
PLOT = '[[plots]]\nkind = "values"\ntitle = "T"\nlabel = "L"\ncolumns = "picks"\n[[claims]]'
COURSE = """[[published]]
source = "S"
column = "means"
rounds = [0]
numbers = { baseline = 1 }
[[claims]]"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (MEASURE, 'columns = "varianz"',
         "measure last: there is no column 'varianz' in the data of the model; there are .*mean"),
        (MEASURE, 'columns = "mean"\ndata = "agents"',
         "measure last: there is no column 'mean' in the data of the agents; .*choice"),
        (MEASURE, 'columns = "shout"\ndata = "messages"',
         "no column 'shout' in the data of the messages; there are round, speaker, text, number"),
        (CLAIMS, PLOT, "plot 'T': there is no column 'picks' in the data of the agents"),
        (CLAIMS, COURSE, "published course of baseline: there is no column 'means'"),
    ],
)  # fmt: skip
def test_a_column_that_does_not_exist_is_named_before_anything_runs(
    tmp_path: Any, old: str, new: str, words: str
) -> None:
    wrong = experiment_of("small", SMALL.replace(old, new, 1))
    with pytest.raises(ParameterError, match=words) as caught:
        run(plan(wrong), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_column_that_runs_from_before_do_not_have_is_named(tmp_path: Any) -> None:
    run(plan(experiment_of("small", SMALL)), tmp_path)
    wrong = experiment_of("small", SMALL.replace('columns = "variance"', 'columns = "varianz"'))
    with pytest.raises(ParameterError, match="measure last: there is no column 'varianz'"):
        measured(run(plan(wrong), tmp_path))


def test_one_agent_may_count() -> None:
    """Agent 2 gives 7, then 4, and nothing is known of it in round 0."""
    data = pd.DataFrame(
        {"round": [0, 0, 1, 1, 2, 2], "agent": [1, 2] * 3, "given": [9, math.nan, 9, 7, 9, 4]}
    )
    of_two = partial(Measure, name="m", label="M", columns="given", data="agents", agent=2)
    assert value_of(of_two(), data) == 5.5
    assert value_of(of_two(rounds=(1, 1)), data) == 7
    assert value_of(of_two(take="change", rounds=(1, 2)), data) == -3
    assert math.isnan(value_of(of_two(rounds=(0, 0)), data))


def test_the_most_frequent_value_of_all_runs_together(tmp_path: Path) -> None:
    measure = '\n[[measures]]\nname = "mode"\nlabel = "Mode"\ncolumns = "choice"\ntake = "mode"\n'
    experiment = experiment_of("small", f'{SMALL}{measure}data = "agents"\n')
    outcome = run(plan(experiment, runs=4), tmp_path)
    found = results(outcome).estimates.set_index(["measure", "condition"])["together"]
    for name in ("baseline", "cooperative"):
        picks = outcome.agent_data.query("condition == @name")["choice"]
        counts = Counter(picks.tolist())
        most = max(counts.values())
        assert found["mode", name] == min(pick for pick, n in counts.items() if n == most)
        assert math.isnan(found["last", name])
