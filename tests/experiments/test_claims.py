"""Verdicts on claims, from runs whose numbers are made by hand."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa.experiments.claims import ALPHA, verdicts
from sabm_mesa.experiments.measures import measured
from sabm_mesa.experiments.plan import plan
from sabm_mesa.experiments.reading import parsed
from sabm_mesa.experiments.results import results
from sabm_mesa.experiments.running import Outcome, run
from tests.experiments.support import SMALL

CLAIM = """
[[claims]]
text = "It differs."
source = "nobody"
measure = "last"
condition = "cooperative"
"""


def outcome(*claims: str, **values: list[float]) -> tuple[Outcome, pd.DataFrame]:
    """An experiment with these claims, and these numbers in the runs of its conditions."""
    head = SMALL.partition("[[claims]]")[0]
    experiment = parsed("made", head + "".join(CLAIM + claim for claim in claims))
    rows = [
        (condition, number, seed, "last", value)
        for number, condition in enumerate(values)
        for seed, value in enumerate(values[condition])
    ]
    data = pd.DataFrame(rows, columns=["condition", "run", "seed", "measure", "value"])
    model = data.assign(round=0, variance=data["value"])
    runs = plan(experiment, runs=len(values["baseline"]))
    return Outcome(runs, Path("none"), data, model, model, model), data


def word(claim: str, **values: list[float]) -> Any:
    (found,) = verdicts(*outcome(claim, **values))
    return found


LOW, HIGH = [1.0, 2, 3, 4, 5, 6, 7, 8], [11.0, 12, 13, 14, 15, 16, 17, 18]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ('kind = "below"\nvalue = 9', "agrees"),
        ('kind = "above"\nvalue = 9', "disagrees"),
        ('kind = "above"\nvalue = 4', "cannot tell"),
        ('kind = "within"\nlow = 0\nhigh = 9', "agrees"),
        ('kind = "within"\nlow = 9\nhigh = 12', "disagrees"),
        ('kind = "within"\nlow = 4\nhigh = 5', "cannot tell"),
        ('kind = "less"\nthan = "baseline"', "agrees"),
        ('kind = "more"\nthan = "baseline"', "disagrees"),
        ('kind = "like"\nthan = "baseline"\nmargin = 20', "agrees"),
        ('kind = "like"\nthan = "baseline"\nmargin = 1', "disagrees"),
        ('kind = "like"\nthan = "baseline"\nmargin = 10', "cannot tell"),
    ],
)
def test_the_three_verdicts(claim: str, expected: str) -> None:
    assert word(claim, baseline=HIGH, cooperative=LOW).word == expected


def test_few_runs_cannot_tell_and_say_how_many_would() -> None:
    found = word('kind = "below"\nvalue = 9', baseline=HIGH, cooperative=LOW[:4])
    # Two-sided, the smallest p of n sign flips is 2 / 2**n: 4 runs are too few, 6 are enough.
    assert (found.word, found.p, found.runs_needed) == ("cannot tell", 2 / 2**4, 6)


def test_the_number_of_claims_is_corrected_for() -> None:
    one = 'kind = "below"\nvalue = 9'
    for n, expected in ((1, 2 / 2**8), (2, 4 / 2**8)):
        found = verdicts(*outcome(*[one] * n, baseline=HIGH, cooperative=LOW))
        assert [each.p for each in found] == [expected] * n
        assert all((each.word == "agrees") == (expected <= ALPHA) for each in found)
    eight = verdicts(*outcome(*[one] * 8, baseline=HIGH, cooperative=LOW))
    assert {each.word for each in eight} == {"cannot tell"}


def test_runs_that_are_the_same_number_for_number_tell_nothing() -> None:
    for claim in ('kind = "like"\nmargin = 5', 'kind = "more"'):
        found = word(f'{claim}\nthan = "baseline"', baseline=LOW, cooperative=LOW)
        assert found.word == "cannot tell"
        assert found.why.startswith("the runs of Told to cooperate and Baseline are the same")
        assert found.runs_needed is None


def test_copies_of_one_run_are_one_observation() -> None:
    found = word('kind = "below"\nvalue = 9', baseline=HIGH, cooperative=[3.0] * 8)
    assert (found.word, found.runs_needed) == ("cannot tell", None)
    assert found.why == (
        "all runs of Told to cooperate are the same, number for number: they are one observation"
    )


def test_runs_without_a_value_tell_nothing() -> None:
    found = word('kind = "below"\nvalue = 9', baseline=LOW, cooperative=[math.nan] * 8)
    assert (found.word, found.why) == ("cannot tell", "no run has a value of this measure")


def test_what_comes_of_a_real_experiment(tmp_path: Path) -> None:
    published = """
    [[published]]
    condition = "baseline"
    measure = "last"
    numbers = 12.5
    source = "nobody"

    [[published]]
    condition = "baseline"
    column = "variance"
    rounds = [0, 1]
    numbers = [30, 20]
    source = "somebody"
    """
    done = run(plan(parsed("small", SMALL + published), runs=8), tmp_path)
    found = results(done)
    mine = measured(done).query("condition == 'baseline'")["value"]
    row = found.estimates.set_index("condition").loc["baseline"]
    assert row["mean"] == pytest.approx(mine.mean())
    assert row["low"] <= row["mean"] <= row["high"]
    assert (row["published"], row["source"], row["n"]) == (12.5, "nobody", 8)
    assert math.isnan(found.estimates.set_index("condition").loc["cooperative", "published"])
    assert found.comparisons[["condition", "than"]].to_numpy().tolist() == [
        ["baseline", "cooperative"]
    ]
    data = done.model_data.query("condition == 'baseline'")
    by_round = data.groupby("round")["variance"].mean()
    assert found.courses["published"].to_list() == [30, 20]
    assert found.courses["mean"].to_list() == pytest.approx(by_round.to_list())
    summary = found.summary()
    assert summary["minds"] == {"baseline": "classical", "cooperative": "classical"}
    assert summary["claims"][0]["verdict"] == found.verdicts[0].word
    assert summary["asks"] == 2 * 8 * (3 + 6)
