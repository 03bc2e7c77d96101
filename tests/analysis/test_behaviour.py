"""Panels of decisions, and what all behavioural models have in common."""

import math

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row, load_behaviour
from sabm_mesa.analysis.guessing_behaviour import QuantalPicks, guessing_models, level_k
from sabm_mesa.errors import UsageError

A, B = Decider(0, 1, "x"), Decider(0, 2, "y")
FACTS = {"reference": 50.0, "p": 2 / 3, "low": 0.0, "high": 100.0, "whole": 1.0}


def rows(*given: tuple[Decider, int, float | None]) -> Panel:
    return Panel.of(Row(player, time, value, FACTS) for player, time, value in given)


def test_rows_are_sorted_and_invalid_answers_are_counted_and_no_numbers() -> None:
    panel = rows((B, 0, 7), (A, 1, 2), (A, 0, None), (A, 2, 5), (B, 1, 1))

    assert panel.players == (A, B)
    assert panel.invalid == 1
    assert panel.decisions.tolist() == [2, 5, 7, 1]
    assert panel.position.tolist() == [0, 1, 0, 1]
    assert panel.totals(panel.decisions).tolist() == [7, 8]
    assert panel.before(panel.decisions).tolist() == [0, 2, 0, 7]
    assert panel.padded(panel.time.astype(float)).tolist() == [[1, 2], [0, 1]]
    assert panel.of_players(lambda each: each.mind == "y").decisions.tolist() == [7, 1]


def test_facts_of_other_sizes_are_filled_up_and_of_other_axes_refused() -> None:
    panel = Panel.of([Row(A, 0, 0, {"u": [1, 2]}), Row(B, 0, 0, {"u": [3, 4, 5]})])

    assert np.array_equal(panel.known["u"], [[1, 2, math.nan], [3, 4, 5]], equal_nan=True)
    assert panel.distinct("u")[1].tolist() in ([0, 1], [1, 0])
    with pytest.raises(UsageError, match="differ in the axes of u"):
        Panel.of([Row(A, 0, 0, {"u": [1, 2]}), Row(B, 0, 0, {"u": [[3], [4]]})])


@pytest.mark.parametrize("model", guessing_models(), ids=lambda model: model.name)
def test_the_probabilities_of_all_picks_add_up_to_one_and_draws_follow_them(model) -> None:
    vector = np.array([_middle(each) for each in model.parameters])
    every = Panel.of(Row(Decider(0, i, "x"), 0, float(i), FACTS) for i in range(101))
    shares = np.exp(model.log_likelihood(vector, every))
    crowd = Panel.of(Row(Decider(0, i, "x"), 0, 0.0, FACTS) for i in range(4_000))
    drawn = model.draw(vector, crowd, np.random.default_rng(0))

    assert shares.sum() == pytest.approx(1, abs=1e-6)
    assert drawn.mean() == pytest.approx(shares @ np.arange(101), abs=1.5)
    assert np.mean(drawn <= 30) == pytest.approx(shares[:31].sum(), abs=0.03)


@pytest.mark.parametrize("precision", [0.5, 20.0, 5_000.0])
def test_the_target_of_a_logit_equilibrium_is_p_times_the_mean_of_its_picks(precision) -> None:
    facts = {"reference": 10.0, "p": 2 / 3, "low": 0.0, "high": 100.0, "whole": 0.0}
    panel = Panel.of(Row(Decider(0, i, "x"), 0, float(i) / 10, facts) for i in range(1001))
    model, vector = QuantalPicks(), np.array([precision])
    density = np.exp(model.log_likelihood(vector, panel))
    weights = np.where(panel.decisions % 100 == 0, 0.05, 0.1)  # by the rule of trapezoids
    mean = weights @ (density * panel.decisions)

    target, _ = model.target(vector, panel)
    assert weights @ density == pytest.approx(1, abs=1e-3)
    assert target[0] == pytest.approx(2 / 3 * mean, rel=1e-3)
    loss = ((panel.decisions - target) / 100) ** 2
    assert np.log(density[30] / density[0]) == pytest.approx(precision * (loss[0] - loss[30]))


def test_a_type_stays_so_that_earlier_decisions_say_what_follows() -> None:
    model, known = level_k(), rows((A, 0, 33), (A, 1, 33), (B, 0, 22), (B, 1, 33))
    vector = np.array([0.0, 0.5, 0.5, 0.0, 1.0])
    first, again, _, other = model.log_likelihood(vector, known)

    assert again > first
    assert other < first - 10
    assert model.posterior(vector, known.of_players(lambda each: each == A))[0, 1] > 0.99


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sigma": 1.0}, "has the parameters share_level_0"),
        ({**dict.fromkeys(_shares := [f"share_level_{k}" for k in range(4)], 0.25), "sigma": 99},
         "from 0.05 to 50"),
        ({**dict.fromkeys(_shares, 0.25), "sigma": "1"}, "must be a number"),
        ({**dict.fromkeys(_shares, 0.1), "sigma": 1.0}, "add up to 1"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be_used_are_named(given: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        level_k().check(given)


@pytest.mark.parametrize(
    ("module", "says"),
    [("sabm_mesa.nothing_here", "cannot be imported"), ("sabm_mesa.errors", "needs BEHAVIOUR")],
)
def test_a_module_without_a_behaviour_is_refused(module: str, says: str) -> None:
    assert load_behaviour("") is None
    with pytest.raises(UsageError, match=says):
        load_behaviour(module)


def _middle(parameter) -> float:
    if parameter.name.startswith("share_"):
        return 0.25
    return 3.0 if parameter.name == "sigma" else 0.2 if parameter.name == "sigma_log" else 1.5
