"""Panels of decisions, and what all behavioural models have in common."""

import math

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row
from sabm_mesa.analysis.cooperation import cooperation_facts, cooperation_models
from sabm_mesa.errors import UsageError
from sabm_mesa.models.beauty_contest.study import guessing_facts, guessing_models
from sabm_mesa.models.bertrand.study import STEP, STUDY

A, B = Decider(0, 1, "x"), Decider(0, 2, "y")
PICKS = guessing_facts(50.0, 2 / 3, 0.0, 100.0, whole=True)
CASES = [
    *((model, PICKS) for model in guessing_models()),
    *((model, cooperation_facts([0.6], 4)) for model in cooperation_models()),
    *(
        (model, {"rivals": [1.0], "own": 0.5, "reply": 0.25, "low": -2.0, "high": -2 + 40 * STEP,
                 "step": STEP})
        for model in STUDY.behaviour.models
    ),
]  # fmt: skip


def rows(*given: tuple[Decider, int, float | None]) -> Panel:
    return Panel.of(Row(player, time, value, PICKS) for player, time, value in given)


def test_rows_are_sorted_and_invalid_answers_are_counted_and_no_numbers() -> None:
    panel = rows((B, 0, 7), (A, 1, 2), (A, 0, None), (A, 2, 5), (B, 1, 1))

    assert panel.players == (A, B)
    assert panel.invalid == 1
    assert panel.decisions.tolist() == [2, 5, 7, 1]
    assert panel.position.tolist() == [0, 1, 0, 1]
    assert panel.totals(panel.decisions).tolist() == [7, 8]
    assert panel.before(panel.decisions).tolist() == [0, 2, 0, 7]
    assert panel.of_players(lambda each: each.mind == "y").decisions.tolist() == [7, 1]


def test_facts_of_other_sizes_are_filled_up_and_of_other_axes_refused() -> None:
    panel = Panel.of([Row(A, 0, 0, {"u": [1, 2]}), Row(B, 0, 0, {"u": [3, 4, 5]})])

    assert np.array_equal(panel.known["u"], [[1, 2, math.nan], [3, 4, 5]], equal_nan=True)
    with pytest.raises(UsageError, match="differ in the axes of u"):
        Panel.of([Row(A, 0, 0, {"u": [1, 2]}), Row(B, 0, 0, {"u": [[3], [4]]})])


@pytest.mark.parametrize(
    ("model", "facts"), CASES, ids=[f"{model.name}-{facts['step']:.2g}" for model, facts in CASES]
)
def test_the_probabilities_of_all_decisions_add_up_to_one_and_draws_follow_them(
    model, facts
) -> None:
    vector = np.array([_middle(each) for each in model.parameters])
    legal = np.arange(facts["low"], facts["high"] + facts["step"] / 2, facts["step"])
    every = Panel.of(Row(Decider(0, i, "x"), 0, float(at), facts) for i, at in enumerate(legal))
    shares = np.exp(model.log_likelihood(vector, every))
    crowd = Panel.of(Row(Decider(0, i, "x"), 0, 0.0, facts) for i in range(4_000))
    drawn = crowd.cells(model.draw(vector, crowd, np.random.default_rng(0)))

    assert shares.sum() == pytest.approx(1, abs=1e-6)
    found = np.bincount(drawn, minlength=len(legal)) / len(crowd)
    assert np.abs(np.cumsum(found) - np.cumsum(shares)).max() < 0.03


def test_a_type_stays_so_that_earlier_decisions_say_what_follows() -> None:
    model, known = guessing_models()[0], rows((A, 0, 33), (A, 1, 33), (B, 0, 22), (B, 1, 33))
    vector = np.array([0.0, 0.5, 0.5, 0.0, 0.02])
    first, again, _, other = model.log_likelihood(vector, known)

    assert again > first
    assert other < first - 10
    assert model.posterior(vector, known.of_players(lambda each: each == A))[0, 1] > 0.99


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sigma": 1.0}, "has the parameters share_level_0"),
        ({**dict.fromkeys(_shares := [f"share_level_{k}" for k in range(4)], 0.25), "sigma": 99},
         "from 0.001 to 1"),
        ({**dict.fromkeys(_shares, 0.25), "sigma": "1"}, "must be a number"),
        ({**dict.fromkeys(_shares, 0.1), "sigma": 1.0}, "add up to 1"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be_used_are_named(given: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        guessing_models()[0].check(given)


def _middle(parameter) -> float:
    if parameter.name.startswith("share_"):
        return 0.25
    return 0.3 if parameter.name == "sigma" else 0.4
