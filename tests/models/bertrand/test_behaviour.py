"""Behavioural models of prices."""

from dataclasses import replace

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row
from sabm_mesa.models.bertrand.behaviour import (
    BEHAVIOUR,
    STEP,
    LearnsPrices,
    PriceByChance,
    Reaction,
    facts,
    q_path,
)
from sabm_mesa.models.bertrand.minds import POINTS, QLearner
from sabm_mesa.models.bertrand.theory import LinearMarket

MARKET = LinearMarket(2, 2.0, 14.0, 1 / 150, 1 / 300)
"""The default market: Bertrand price 6, cartel price 8."""


def test_a_firm_that_replies_best_has_the_intercept_0_and_the_slope_of_theory() -> None:
    known = [facts(MARKET, 6.0, [rival]) for rival in (2.0, 6.0, 8.0, 10.0)]

    assert [each["rivals"][0] for each in known] == pytest.approx([-2, 0, 1, 2])
    assert [each["reply"] for each in known] == pytest.approx([-0.5, 0, 0.25, 0.5])


@pytest.mark.parametrize("model", BEHAVIOUR.models, ids=lambda model: model.name)
def test_the_probabilities_of_all_prices_add_up_to_one(model) -> None:
    known = facts(MARKET, 7.0, [7.0])
    cells = np.arange(-30, 60)
    cells = cells[(cells * STEP - 0.1 >= known["low"] - STEP / 2)]
    cells = cells[(cells * STEP - 0.1 <= known["high"] + STEP / 2)]
    panel = Panel.of(
        Row(Decider(0, i, "x"), 1, float(cell * STEP - 0.1), known) for i, cell in enumerate(cells)
    )
    vector = np.array([(each.low + each.high) / 4 for each in model.parameters])

    assert np.exp(model.log_likelihood(vector, panel)).sum() == pytest.approx(1, abs=1e-6)


def test_a_reaction_is_a_normal_error_around_a_line() -> None:
    known = facts(MARKET, 6.0, [8.0])
    panel = Panel.of([Row(Decider(0, 1, "x"), 1, 3 * STEP - 0.1, known)])
    vector = np.array([0.1, 0.05714285714, STEP / 2])  # the mean is that grid point

    assert np.exp(Reaction().log_likelihood(vector, panel)) == pytest.approx([0.6826895])


def test_q_learning_follows_the_learner_of_the_mind() -> None:
    rng, learner = np.random.default_rng(0), QLearner(MARKET)
    places, rivals = rng.integers(POINTS, size=(2, 200))
    prices = np.array(learner.grid)
    state, greedy, rows = (learner.index_of(2.0), learner.index_of(2.0)), [], []
    for t, (own, rival) in enumerate(zip(places, rivals, strict=True)):
        values = learner.values(state)
        greedy.append(values.index(max(values)))
        last = prices[rivals[t - 1]] if t else 2.0
        rows.append(Row(Decider(0, 1, "x"), t, float(own * STEP - 0.1), facts(MARKET, 2.0, [last])))
        after = int(own), int(rival)
        profit = MARKET.profits([prices[own], prices[rival]])[0]
        learner.learn(state, int(own), profit, after)
        state = after
    panel = Panel.of(rows)

    hit = places == np.array(greedy)
    assert q_path(panel, 0.15).lowest.tolist() == greedy
    share = np.exp(LearnsPrices().log_likelihood(np.array([0.15, 0.3, 1e-6, 1.0, 1.0]), panel))
    assert share == pytest.approx(0.99 * np.where(hit, 0.7 + 0.3 / 15, 0.3 / 15), rel=1e-3)


def test_a_learner_that_begins_with_nothing_takes_equal_values_equally_often() -> None:
    known = facts(MARKET, 6.0, [6.0])
    rows = [Row(Decider(0, 1, "x"), t, 3 * STEP - 0.1, known) for t in range(2)]
    share = np.exp(
        LearnsPrices().log_likelihood(np.array([0.5, 0.3, 1e-6, 0.0, 0.0]), Panel.of(rows))
    )

    # The state is a new one in both rows: all 15 values are 0. In the third row it is that of the
    # second one, where this price has earned something.
    at_first = 0.99 / 15
    assert share[0] == pytest.approx(at_first, rel=1e-3)
    assert share[1] == pytest.approx(at_first, rel=1e-3)
    again = np.exp(
        LearnsPrices().log_likelihood(
            np.array([0.5, 0.3, 1e-6, 0.0, 0.0]), Panel.of([*rows, replace(rows[1], time=2)])
        )
    )
    assert again[2] == pytest.approx(0.99 * (0.7 + 0.3 / 15), rel=1e-3)


def test_a_price_by_chance_is_one_of_the_grid_between_the_limits() -> None:
    known = facts(MARKET, 6.0, [8.0])
    panel = Panel.of([Row(Decider(0, 1, "x"), t, 0.5, known) for t in range(2_000)])
    chance = PriceByChance()
    drawn = chance.draw(np.zeros(0), panel, np.random.default_rng(0))

    n = float(chance.count(panel)[0])
    assert np.exp(chance.log_likelihood(np.zeros(0), panel))[0] == pytest.approx(1 / n)
    assert len(np.unique(np.round(drawn, 6))) <= n
    assert known["low"] <= drawn.min()
    assert drawn.max() <= known["high"]
