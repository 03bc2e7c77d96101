"""Verdicts on claims, from runs whose numbers are made by hand."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.models.beauty_contest.kbc.agents import Player
from sabm_mesa.models.beauty_contest.kbc.model import KeynesianBeautyContest
from sabm_mesa.studies.experiments.report import report_of
from sabm_mesa.studies.experiments.results import judged, measured, results, too_few_runs, verdicts
from sabm_mesa.studies.experiments.running import Outcome, plan, run
from sabm_mesa.studies.experiments.schema import ALPHA
from sabm_mesa.studies.report import as_json
from tests.studies.experiments.support import SMALL, experiment_of

CLAIM = """
[[claims]]
text = "It differs."
source = "nobody"
measure = "last"
condition = "cooperative"
"""

BELOW = 'kind = "below"\nvalue = 9\n'
LESS = 'kind = "less"\nthan = "baseline"\n'


def outcome(*claims: str, **values: list[float]) -> tuple[Outcome, pd.DataFrame]:
    """An experiment with these claims, and these numbers in the runs of its conditions."""
    head = SMALL.partition("[[claims]]")[0]
    experiment = experiment_of("made", head + "".join(CLAIM + claim for claim in claims))
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
        ('kind = "above"\nvalue = 4', "inconclusive"),
        ('kind = "within"\nlow = 0\nhigh = 9', "agrees"),
        ('kind = "within"\nlow = 9\nhigh = 12', "disagrees"),
        ('kind = "within"\nlow = 4\nhigh = 5', "inconclusive"),
        ('kind = "less"\nthan = "baseline"', "agrees"),
        ('kind = "more"\nthan = "baseline"', "disagrees"),
        ('kind = "like"\nthan = "baseline"\nmargin = 20', "agrees"),
        ('kind = "like"\nthan = "baseline"\nmargin = 1', "disagrees"),
        ('kind = "like"\nthan = "baseline"\nmargin = 10', "inconclusive"),
    ],
)
def test_the_three_verdicts(claim: str, expected: str) -> None:
    assert word(claim, baseline=HIGH, cooperative=LOW).word == expected


def test_few_runs_cannot_tell_and_say_how_many_would() -> None:
    found = word('kind = "below"\nvalue = 9', baseline=HIGH, cooperative=LOW[:4])
    # Two-sided, the smallest p of a sign test is 2 / 2**n: 4 runs are too few, 6 are enough.
    assert (found.word, found.p, found.test.fewest) == ("too few runs", 2 / 2**4, 6)
    assert found.why == "6 runs would do"
    found = word('kind = "below"\nvalue = 6', baseline=HIGH, cooperative=LOW)
    assert (found.word, found.test.p_for) == ("inconclusive", (56 + 28 + 8 + 1) / 2**8)
    # Five of eight runs are below 6, the limit: 134 runs for a power of 0.8, by the binomial test.
    assert found.runs_needed == "about 134 runs"


SHARED = CLAIM.replace('measure = "last"', 'measure = "out"')
OUT = """
[[measures]]
name = "out"
label = "Nobody is left inside"
columns = "variance"
take = "share"
low = 0
high = 0
rounds = [-1, -1]
"""


def test_a_share_of_runs_is_tested_by_the_binomial_distribution() -> None:
    head = SMALL.partition("[[claims]]")[0]
    claim = SHARED + 'kind = "above"\nvalue = 0.9\nestimand = "share"\n'
    experiment = experiment_of("made", head + OUT + claim)
    for n, expected in ((9, "too few runs"), (36, "agrees")):
        made, data = outcome(baseline=[0.0] * n, cooperative=[0.0] * n)
        # The runs differ in what is not measured.
        model = made.model_data.assign(other=made.model_data["seed"])
        made = replace(made, plan=plan(experiment, runs=n), model_data=model)
        (found,) = verdicts(made, data.assign(measure="out", value=1.0))
        assert (found.word, found.test.method) == (expected, "binomial test")
        assert found.test.fewest == 36
    with pytest.raises(ParameterError, match="a share of runs needs a 0 or a 1 of each run"):
        verdicts(made, data.assign(measure="out", value=0.5))


def test_a_mean_needs_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    without = replace(KeynesianBeautyContest.study, column_bounds={})
    monkeypatch.setattr(KeynesianBeautyContest, "study", without)
    mean = BELOW + 'estimand = "mean"\n'
    with pytest.raises(ParameterError, match="claims 1: no test of a mean is valid without bounds"):
        outcome(mean, baseline=HIGH, cooperative=LOW)
    head = SMALL.partition("[[claims]]")[0].rstrip() + "\nbounds = [0, 100]\n"
    claim = CLAIM + 'kind = "below"\nvalue = 60\nestimand = "mean"\n'
    made, data = outcome(baseline=HIGH, cooperative=LOW)
    experiment = experiment_of("made", head + claim)
    (found,) = verdicts(replace(made, plan=plan(experiment, runs=8)), data)
    assert (found.word, found.test.method, found.test.estimate) == ("agrees", "bets", 4.5)
    out_of_bounds = data.assign(value=101.0 + data["seed"])
    with pytest.raises(ParameterError, match="outside the bounds 0 to 100"):
        verdicts(replace(made, plan=plan(experiment, runs=8)), out_of_bounds)


EFFECTS = 'kind = "equal_effects"\nthan = "baseline"\nother_effect = ["third", "fourth"]\n'


def test_the_effect_in_one_model_is_compared_with_that_in_another() -> None:
    conditions = "".join(
        f'\n[[conditions]]\nname = "{name}"\nlabel = "{name}"\nset = {{ n_players = {n} }}\n'
        for n, name in ((4, "third"), (5, "fourth"))
    )
    head, _, rest = SMALL.partition("[[claims]]")[0].partition("[[measures]]")
    values = {"baseline": HIGH, "cooperative": LOW, "third": LOW, "fourth": LOW[::-1]}
    made, data = outcome(**values)
    for margin, expected in (("", "effects differ"), ("margin = 30\n", "agrees")):
        text = f"{head}{conditions}\n[[measures]]{rest}{CLAIM}{EFFECTS}{margin}"
        planned = plan(experiment_of("made", text), runs=8)
        (found,) = verdicts(replace(made, plan=planned), data)
        # (LOW − HIGH) − (LOW − LOW reversed): −10 − (−7, −5, …, 7).
        assert (found.word, found.test.estimate) == (expected, -10)


@pytest.mark.slow
def test_the_number_of_claims_is_corrected_for() -> None:
    one = 'kind = "below"\nvalue = 9'
    for n, expected in ((1, 2 / 2**8), (2, 4 / 2**8)):
        found = verdicts(*outcome(*[one] * n, baseline=HIGH, cooperative=LOW))
        assert [each.p for each in found] == [expected] * n
        assert all((each.word == "agrees") == (expected <= ALPHA) for each in found)
    eight = verdicts(*outcome(*[one] * 8, baseline=HIGH, cooperative=LOW))
    assert {each.word for each in eight} == {"inconclusive"}


NOISE = [3.0, 40, 22, 31, 7, 55, 18, 26, 49, 12]
"""The common part of the values of runs of one seed."""


def test_runs_with_the_same_seed_are_compared_pair_by_pair() -> None:
    """The common part hides the difference from tests that ignore the seeds."""
    less = [x - 1 - i / 10 for i, x in enumerate(NOISE)]
    found = word(LESS, baseline=NOISE, cooperative=less)
    assert (found.word, found.p, found.test.estimand.paired) == ("agrees", 2 / 2**10, True)
    assert found.test.n == (10, 10)
    like = word('kind = "like"\nthan = "baseline"\nmargin = 5', baseline=NOISE, cooperative=less)
    assert (like.word, like.test.estimand.paired) == ("agrees", True)


def test_two_measures_of_the_same_runs_are_compared() -> None:
    claim = LESS.replace('than = "baseline"', 'than_measure = "first"')
    more = """
[[measures]]
name = "first"
label = "Variance in the first round"
columns = "variance"
rounds = [0, 0]
"""
    head = SMALL.partition("[[claims]]")[0]
    experiment = experiment_of("made", head + more + CLAIM + claim)
    made, data = outcome(baseline=HIGH, cooperative=LOW)
    first = data.assign(measure="first", value=data["value"] + 1 + data["seed"] / 10)
    values = pd.concat([data, first], ignore_index=True)
    (found,) = verdicts(replace(made, plan=plan(experiment, runs=8)), values)
    assert (found.word, found.test.estimand.paired, found.p) == ("agrees", True, 2 / 2**8)


BOTH = """
[[groups]]
name = "both"
label = "Both"
conditions = ["baseline", "cooperative"]
"""
"""A group of both conditions."""


def test_conditions_are_taken_together_by_seed() -> None:
    head, _, rest = SMALL.partition("[[claims]]")[0].partition("[[measures]]")
    claim = CLAIM.replace("cooperative", "both") + BELOW
    experiment = experiment_of("made", f"{head}{BOTH}\n[[measures]]{rest}{claim}")
    made, data = outcome(baseline=HIGH, cooperative=[-x for x in LOW])
    (found,) = verdicts(replace(made, plan=plan(experiment, runs=8)), data)
    # Of each seed the mean is 5: (11 - 1) / 2, (12 - 2) / 2, and so on.
    assert (found.word, found.test.estimate, found.test.n) == ("agrees", 5, (8,))
    assert (found.test.low, found.test.high) == (5, 5)


def test_a_share_of_conditions_taken_together() -> None:
    head, _, rest = SMALL.partition("[[claims]]")[0].partition("[[measures]]")
    claim = CLAIM.replace("cooperative", "both") + 'kind = "below"\nvalue = 0.9\n'
    claim += 'estimand = "share"\n'
    experiment = experiment_of("made", f"{head}{BOTH}\n[[measures]]{rest}{claim}")
    made, data = outcome(baseline=[1, 0] * 4, cooperative=[0, 0, 1, 0] * 2)
    (found,) = verdicts(replace(made, plan=plan(experiment, runs=8)), data)
    # Of each seed the share is 0.5, 0, 1 and 0, twice.
    assert (found.test.estimate, found.test.n) == (0.375, (8,))


def test_a_run_without_a_value_leaves_its_pair_out() -> None:
    less = [math.nan, *(x - 1 for x in NOISE[1:])]
    found = word(LESS, baseline=NOISE, cooperative=less)
    assert (found.test.n, found.test.missing) == ((9, 9), 1)
    assert (found.word, found.p) == ("agrees", 2 / 2**9)


def test_runs_that_are_the_same_number_for_number_tell_nothing() -> None:
    for claim in ('kind = "like"\nmargin = 5', 'kind = "more"'):
        found = word(f'{claim}\nthan = "baseline"', baseline=LOW, cooperative=LOW)
        assert found.word == "inconclusive"
        assert found.why.startswith("the runs of Told to cooperate and Baseline are the same")
        assert found.runs_needed == ""


def test_copies_of_one_run_are_one_observation() -> None:
    found = word('kind = "below"\nvalue = 9', baseline=HIGH, cooperative=[3.0] * 8)
    assert (found.word, found.runs_needed) == ("inconclusive", "")
    assert found.why == (
        "all runs of Told to cooperate are the same, number for number: they count as one, and "
        "more runs would not help"
    )


def test_runs_without_a_value_tell_nothing() -> None:
    found = word(LESS, baseline=LOW, cooperative=[math.nan] * 8)
    assert (found.word, found.why) == ("inconclusive", "no run here has a value for this measure")


def test_a_claim_about_a_language_model_is_not_told_when_others_decide() -> None:
    """It keeps its numbers, and is not among the claims that are corrected for."""
    named = 'name = "cooperative"\nminds = "llm:gpt-4"'
    of_cooperative, of_baseline = CLAIM + BELOW, CLAIM.replace("cooperative", "baseline") + BELOW
    head = SMALL.partition("[[claims]]")[0].replace('name = "cooperative"', named)
    experiment = experiment_of("made", head + of_cooperative + of_baseline)
    made, data = outcome(baseline=LOW, cooperative=LOW[::-1])
    some: Any = {"llm:gpt-4o": 2, "fixed:0": 1}
    for minds, expected in (
        ("classical", ("not judged", "classical minds stand in for gpt-4")),
        (some, ("not judged", "2 × gpt-4o, 1 × fixed:0 minds stand in for gpt-4")),
        (
            "llm:gpt-4o",
            ("agrees, with another model", "planned for gpt-4, here gpt-4o"),
        ),
        ("llm:gpt-4@http://localhost:1/v1", ("agrees", "")),
    ):
        planned = plan(experiment, runs=8, minds={"cooperative": minds})
        first, second = verdicts(replace(made, plan=planned), data)
        assert (first.word, first.why) == expected
        assert first.test.estimate == 4.5
        told = 2 if isinstance(minds, str) and minds.startswith("llm:") else 1
        assert (second.word, second.p) == ("agrees", told * 2 / 2**8)
        assert len(judged(planned)) == told


def test_a_claim_that_the_minds_have_built_in_is_assumed_where_it_would_agree() -> None:
    """The default mind takes over the mean of what it hears when it is told to cooperate."""
    built_in = 'assumption = "joins"\n'
    values = {"baseline": HIGH, "cooperative": LOW}
    agrees = word(BELOW + built_in, **values)
    assert agrees.word == "assumed"
    assert agrees.why.startswith("built in: told to cooperate, a player takes over the mean")
    assert agrees.p == word(BELOW, **values).p
    assert word('kind = "above"\nvalue = 9\n' + built_in, **values).word == "disagrees"

    made, data = outcome(BELOW + built_in, **values)
    for minds, expected in (
        ("fixed:3", "agrees"),
        ({"fixed:3": 2, "classical:level_k": 1}, "assumed"),
    ):
        planned = plan(made.plan.experiment, runs=8, minds={"cooperative": minds})
        (found,) = verdicts(replace(made, plan=planned), data)
        assert found.word == expected


def test_minds_of_a_class_of_agents_have_their_assumptions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same players, whose class has the minds instead of the scenario."""
    monkeypatch.setattr(Player, "classical_minds", KeynesianBeautyContest.classical_minds)
    monkeypatch.setattr(KeynesianBeautyContest, "classical_minds", {})
    made, data = outcome(BELOW + 'assumption = "joins"\n', baseline=HIGH, cooperative=LOW)
    for minds, expected in (("classical", "assumed"), ({"Player": "fixed:3"}, "agrees")):
        by_condition: Any = {**made.plan.minds, "cooperative": minds}
        planned = replace(made.plan, minds=by_condition)
        (found,) = verdicts(replace(made, plan=planned), data)
        assert found.word == expected


def test_an_assumption_is_one_that_a_mind_of_the_scenario_declares() -> None:
    with pytest.raises(ParameterError, match=r"Unknown assumption 'join'\. Did you mean 'joins'"):
        outcome(BELOW + 'assumption = "join"\n', baseline=HIGH, cooperative=LOW)


@pytest.mark.parametrize(
    ("runs", "claims", "said"),
    [
        # 2 / 2**5 = 0.0625 and 2 / 2**6 = 0.03125
        (
            5,
            [BELOW],
            "With 5 runs a condition 1 of 1 claims cannot .* is 0.062, .* takes 6 runs",
        ),
        (6, [BELOW], "^$"),
        (
            3,
            [LESS],
            "With 3 runs a condition 1 of 1 claims cannot be detected, .* is 0.25, .* takes 6 runs",
        ),
        # Both at their smallest: 2 · 2 / 2**6 = 0.0625, and 2 · 2 / 2**7
        (6, [LESS, BELOW], "2 of 2 claims cannot be detected, .* is 0.062, .* takes 7 runs"),
        (7, [LESS, BELOW], "^$"),
        (1, [], "^$"),
    ],
)
def test_runs_too_few_for_any_verdict_are_told_before(
    runs: int, claims: list[str], said: str
) -> None:
    head = SMALL.partition("[[claims]]")[0]
    experiment = experiment_of("made", head + "".join(CLAIM + claim for claim in claims))
    assert re.search(said, too_few_runs(plan(experiment, runs=runs)))


@pytest.mark.slow
def test_what_comes_of_a_real_experiment(tmp_path: Path) -> None:
    published = """
    [[published]]
    measures = "last"
    numbers = { baseline = 12.5 }
    source = "nobody"

    [[published]]
    column = "variance"
    rounds = [0, 1]
    numbers = { baseline = [30, 20] }
    source = "somebody"
    """
    done = run(plan(experiment_of("small", SMALL + published), runs=8), tmp_path)
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
    summary = as_json(report_of(found))
    assert summary["minds"] == {"baseline": "classical", "cooperative": "classical"}
    assert summary["claims"][0]["verdict"] == found.verdicts[0].word
    assert summary["asks"] == 2 * 8 * (3 + 6)


TREND = """
[[measures]]
name = "trend"
label = "Trend of the variance"
columns = "variance"
take = "trend"
"""


@pytest.mark.parametrize(
    ("course", "falling", "expected", "tau"),
    [
        ([30.0, 20, 10, 0], "true", "agrees", -1),
        ([0.0, 10, 20, 30], "true", "disagrees", 1),
        ([0.0, 10, 20, 30], "false", "agrees", 1),
        ([20.0, 30, 0, 10], "true", "agrees", -1 / 3),
    ],
)
def test_a_trend_is_one_number_a_run_and_has_a_direction(
    course: list[float], falling: str, expected: str, tau: float
) -> None:
    head = SMALL.partition("[[claims]]")[0]
    claim = CLAIM.replace('measure = "last"', 'measure = "trend"')
    claim += f'kind = "trend"\nfalling = {falling}\n'
    experiment = experiment_of("made", head + TREND + claim)
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        [
            (name, seed, seed, round_, value + rng.normal())
            for name in ("baseline", "cooperative")
            for seed in range(8)
            for round_, value in enumerate(course)
        ],
        columns=["condition", "seed", "run", "round", "variance"],
    )
    runs = data[["condition", "run", "seed"]].drop_duplicates()
    made = Outcome(plan(experiment, runs=8), Path("none"), runs, data, data, data)
    (found,) = verdicts(made, measured(made))
    assert (found.word, found.test.n) == (expected, (8,))
    assert found.test.estimate == pytest.approx(tau)


def test_a_claim_of_the_kind_trend_needs_a_trend() -> None:
    head = SMALL.partition("[[claims]]")[0]
    with pytest.raises(ParameterError, match="claims 1: a claim of the kind trend needs a measure"):
        experiment_of("made", head + TREND + CLAIM + 'kind = "trend"')
