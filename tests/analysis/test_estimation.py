"""Estimates of behavioural models: they find what made the data, and intervals hold it."""

import math

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Decider, Panel, Row, Uniform
from sabm_mesa.analysis.estimation import absolute_test, best_shares, fit, profile_interval
from sabm_mesa.models.beauty_contest.study import (
    LevelOfReasoning,
    guessing_facts,
    guessing_models,
)

FACTS = guessing_facts(50.0, 2 / 3, 0.0, 100.0, whole=True)
LEVEL_K = guessing_models()[0]
LEVELS = np.array([0.25, 0.35, 0.25, 0.15, 0.06])


def one_pick_each(n: int, runs: int = 1) -> Panel:
    return Panel.of(Row(Decider(i % runs, i, "x"), 0, 0.0, FACTS) for i in range(n))


@pytest.fixture(scope="module")
def picks() -> Panel:
    return LEVEL_K.simulate(LEVELS, one_pick_each(1_000, runs=10), np.random.default_rng(4))


def test_levels_are_recovered_and_the_intervals_hold_them(picks: Panel) -> None:
    found = fit(LEVEL_K, picks)

    assert found.parameters == pytest.approx(LEVELS, abs=0.06, rel=0.15)
    for true, parameter in zip(LEVELS, found.model.parameters, strict=True):
        low, high = profile_interval(found, picks, parameter.name)
        assert low < true < high


def test_the_profile_falls_by_half_of_the_quantile_at_both_ends(picks: Panel) -> None:
    found = fit(LEVEL_K, picks)

    for end in profile_interval(found, picks, "sigma"):
        other = fit(found.model, picks, fixed={"sigma": end})
        assert found.log_likelihood - other.log_likelihood == pytest.approx(1.92, abs=0.01)


def test_shares_maximise_the_likelihood_with_and_without_fixed_ones() -> None:
    logs = np.random.default_rng(2).normal(size=(4, 40)) * 2
    likelihood = np.exp(logs)
    for fixed in ([math.nan] * 4, [0.3, math.nan, math.nan, math.nan]):
        shares = best_shares(logs, np.array(fixed))
        free = np.isnan(fixed)
        slopes = (likelihood / (shares @ likelihood)).sum(axis=1)

        assert shares.sum() == pytest.approx(1)
        assert shares[~free].tolist() == [0.3] * (4 - free.sum())
        inner = free & (shares > 1e-3)
        assert np.ptp(slopes[inner]) < 0.5  # of about 40
        assert (slopes[free] < slopes[inner].max() + 0.5).all()


def test_picks_by_chance_are_selected_as_such_and_gain_nothing() -> None:
    panel = Uniform().simulate(np.zeros(0), one_pick_each(60), np.random.default_rng(1))
    best = min((fit(model, panel) for model in guessing_models()), key=lambda found: found.bic)

    assert best.model.name == "uniform"
    assert best.log_likelihood == pytest.approx(-60 * math.log(101))
    assert best.gained(panel) == 0
    assert not absolute_test(best, panel, np.random.default_rng(1)).refused


@pytest.mark.slow
def test_a_model_that_is_true_is_not_refused_and_favourite_numbers_are() -> None:
    rows = [Row(Decider(0, i, "x"), t, 0.0, FACTS) for i in range(20) for t in range(10)]
    panel, rng = Panel.of(rows), np.random.default_rng(5)
    true = LEVEL_K.simulate(LEVELS, panel, rng)
    assert not absolute_test(fit(LEVEL_K, true), true, rng).refused

    own = rng.choice([7.0, 42.0, 69.0], size=20)[panel.player]
    often = rng.random(len(panel)) < 0.7
    favourites = panel.with_decisions(np.where(often, own, rng.integers(101, size=len(panel))))
    test = absolute_test(fit(LEVEL_K, favourites), favourites, rng)
    assert test.p == 0.01
    assert "values" in test.misses


@pytest.mark.slow
def test_more_difference_between_players_and_a_trend_are_named() -> None:
    rows = [Row(Decider(0, i, "x"), t, 0.0, FACTS) for i in range(12) for t in range(12)]
    panel, rng = Panel.of(rows), np.random.default_rng(9)
    centre = np.where(panel.player % 2, 25.0, 42.0)
    noise = rng.normal(0, 4, len(panel))
    unlike = panel.with_decisions(np.rint(centre + noise))
    assert "players" in absolute_test(fit(LevelOfReasoning(1), unlike), unlike, rng).misses

    falling = panel.with_decisions(np.rint(45 - 2 * panel.time + noise))
    assert "trend" in absolute_test(fit(LevelOfReasoning(1), falling), falling, rng).misses
