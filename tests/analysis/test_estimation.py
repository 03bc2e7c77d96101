"""Estimates of behavioural models: they find what made the data, and intervals hold it."""

import math

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row
from sabm_mesa.analysis.estimation import (
    absolute_test,
    bootstrap_intervals,
    by_rank,
    confusion,
    fit,
    held_out,
    profile_interval,
    shares_of_types,
    units_of,
)
from sabm_mesa.analysis.guessing_behaviour import (
    HierarchySteps,
    NoisyBestReply,
    Uniform,
    level_k,
)
from sabm_mesa.analysis.social_behaviour import (
    ConditionalCooperator,
    HumpShapedCooperator,
    UnconditionalCooperator,
)

FACTS = {"reference": 50.0, "p": 2 / 3, "low": 0.0, "high": 100.0, "whole": 1.0}
LEVELS = np.array([0.25, 0.35, 0.25, 0.15, 3.0])


def one_pick_each(n: int, runs: int = 1) -> Panel:
    return Panel.of(Row(Decider(i % runs, i, "x"), 0, 0.0, FACTS) for i in range(n))


@pytest.fixture(scope="module")
def picks() -> Panel:
    return level_k().simulate(LEVELS, one_pick_each(1_000, runs=10), np.random.default_rng(4))


def test_levels_are_recovered_and_the_intervals_hold_them(picks: Panel) -> None:
    found = fit(level_k(), picks)

    assert found.parameters == pytest.approx(LEVELS, abs=0.06, rel=0.15)
    for true, parameter in zip(LEVELS, found.model.parameters, strict=True):
        low, high = profile_interval(found, picks, parameter.name)
        assert low < true < high
    drawn = bootstrap_intervals(found, picks, units_of(picks), 20, np.random.default_rng(1))
    assert drawn["sigma"][0] < found.by_name["sigma"] < drawn["sigma"][1]


def test_the_profile_falls_by_half_of_the_quantile_at_both_ends(picks: Panel) -> None:
    found = fit(HierarchySteps(), picks)

    for end in profile_interval(found, picks, "tau"):
        other = fit(found.model, picks, fixed={"tau": end})
        assert found.log_likelihood - other.log_likelihood == pytest.approx(1.92, abs=0.01)


def test_shares_are_those_of_many_em_steps() -> None:
    rng = np.random.default_rng(2)
    logs, weights = rng.normal(size=(40, 4)) * 2, rng.integers(0, 3, 40).astype(float)
    shares, value = shares_of_types(logs, weights)

    slow = np.full(4, 0.25)
    for _ in range(20_000):
        each = np.exp(logs) * slow
        slow = weights @ (each / each.sum(axis=1, keepdims=True)) / weights.sum()
    assert shares == pytest.approx(slow, abs=1e-4)
    assert value == pytest.approx(float(weights @ np.log(np.exp(logs) @ slow)), abs=1e-7)


@pytest.mark.slow
def test_data_that_are_held_out_and_drawn_again_prefer_the_true_model(picks: Panel) -> None:
    models = [level_k(), HierarchySteps(), NoisyBestReply()]
    fits = [fit(model, picks) for model in models]
    scores = [held_out(each, picks, units_of(picks)) for each in fits]

    assert int(np.argmax(scores)) == int(np.argmin([each.bic for each in fits])) == 0
    few = picks.of_players(lambda each: each.agent < 80)
    some = [fit(model, few) for model in models]
    assert np.diag(confusion(some, few, 2, np.random.default_rng(3))).min() > 0.4


def test_of_models_that_the_data_do_not_tell_apart_the_first_is_selected() -> None:
    models = [ConditionalCooperator(), HumpShapedCooperator(), UnconditionalCooperator()]
    rng = np.random.default_rng(6)
    rows = [
        Row(Decider(0, i, "x"), t, 0.0, {"others": others, "steps": 20.0})
        for i in range(20)
        for t, others in enumerate((0.1, 0.3, 0.5))  # the hump only shows beyond half
    ]
    panel = models[0].simulate(np.array([0.1, 0.8, 0.1]), Panel.of(rows), rng)
    fits = [fit(model, panel) for model in models]

    for given in (fits, fits[::-1]):
        first, second, last = by_rank(given)
        assert first is next(each for each in given if each.model is not models[2])
        assert second.bic == pytest.approx(first.bic, abs=1e-3)
        assert last.model is models[2]


def test_a_single_unit_cannot_be_held_out() -> None:
    panel = one_pick_each(1)

    assert math.isnan(held_out(fit(NoisyBestReply(), panel), panel, units_of(panel)))


def test_picks_by_chance_are_selected_as_such_and_gain_nothing() -> None:
    panel = Uniform().simulate(np.zeros(0), one_pick_each(60), np.random.default_rng(1))
    best = by_rank([fit(model, panel) for model in (level_k(), NoisyBestReply(), Uniform())])[0]

    assert best.model.name == "uniform"
    assert best.log_likelihood == pytest.approx(-60 * math.log(101))
    assert best.gained(Uniform(), panel) == 0
    assert not absolute_test(best, panel, np.random.default_rng(1)).refused


def test_the_share_gained_is_that_of_the_log_likelihood_of_chance(picks: Panel) -> None:
    found = fit(level_k(), picks)

    chance = -1_000 * math.log(101)
    assert found.gained(Uniform(), picks) == pytest.approx(1 - found.log_likelihood / chance)
    assert found.aic == pytest.approx(2 * 4 - 2 * found.log_likelihood)
    assert found.bic == pytest.approx(4 * math.log(1_000) - 2 * found.log_likelihood)
    assert found.bic_of(10) == pytest.approx(4 * math.log(10) - 2 * found.log_likelihood)


@pytest.mark.slow
def test_a_model_that_is_true_is_not_refused_and_favourite_numbers_are() -> None:
    rows = [Row(Decider(0, i, "x"), t, 0.0, FACTS) for i in range(20) for t in range(10)]
    panel, rng = Panel.of(rows), np.random.default_rng(5)
    true = level_k().simulate(LEVELS, panel, rng)
    assert not absolute_test(fit(level_k(), true), true, rng).refused

    own = rng.choice([7.0, 42.0, 69.0], size=20)[panel.player]
    often = rng.random(len(panel)) < 0.7
    favourites = panel.with_decisions(np.where(often, own, rng.integers(101, size=len(panel))))
    test = absolute_test(fit(level_k(), favourites), favourites, rng)
    assert test.p == 0.01
    assert {"repeats", "values"} <= set(test.misses)


@pytest.mark.slow
def test_more_difference_between_players_and_a_trend_are_named() -> None:
    rows = [Row(Decider(0, i, "x"), t, 0.0, FACTS) for i in range(12) for t in range(12)]
    panel, rng = Panel.of(rows), np.random.default_rng(9)
    centre = np.where(panel.player % 2, 25.0, 42.0)
    noise = rng.normal(0, 4, len(panel))
    unlike = panel.with_decisions(np.rint(centre + noise))
    assert "players" in absolute_test(fit(NoisyBestReply(), unlike), unlike, rng).misses

    falling = panel.with_decisions(np.rint(45 - 2 * panel.time + noise))
    assert "trend" in absolute_test(fit(NoisyBestReply(), falling), falling, rng).misses
