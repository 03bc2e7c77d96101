"""Distances, tests and parts of the variance between groups whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sabm_mesa.analysis.likeness import (
    DecisionSample,
    components,
    effect_ratio,
    energy_test,
)

Rng = np.random.Generator


def sessions(rng: Rng, n: int, spread: float = 8) -> DecisionSample:
    """`n` sessions of eight, whose players resemble one another."""
    levels = np.repeat(rng.normal(40, spread, n), 8)
    values = np.clip(np.round(levels + rng.normal(0, 12, 8 * n)), 0, 100)
    return DecisionSample.of(values, np.repeat(np.arange(n), 8).tolist())


def test_the_distances_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=40), rng.normal(0.5, 2, size=30)
    found = energy_test(DecisionSample.of(a), DecisionSample.of(b))
    assert found.wasserstein == pytest.approx(stats.wasserstein_distance(a, b))
    assert found.energy == pytest.approx(stats.energy_distance(a, b) ** 2)


@pytest.mark.slow
def test_halves_of_people_are_told_apart_as_often_as_stated_and_a_mean_without_spread_always() -> (
    None
):
    """200 seeds: 5 % for sessions, within four standard errors; far more if they are ignored."""
    told, told_without, fixed_told = [], [], []
    for seed in range(200):
        rng = np.random.default_rng([3, seed])
        a, b = sessions(rng, 6), sessions(rng, 6)
        told.append(energy_test(a, b).p <= 0.05)
        told_without.append(
            energy_test(DecisionSample.of(a.decisions), DecisionSample.of(b.decisions)).p <= 0.05
        ) if seed < 60 else None
        average = DecisionSample.of(np.full(48, b.decisions.mean()), b.units.tolist())
        fixed_told.append(energy_test(average, b).p <= 0.05)
    assert np.mean(told) == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 200))
    assert np.mean(told_without) > 0.2
    assert all(fixed_told)


def test_too_few_units_cannot_reach_a_small_p() -> None:
    few = energy_test(sessions(np.random.default_rng(1), 3), sessions(np.random.default_rng(2), 3))
    assert few.least_p == pytest.approx(2 / 20)


def test_the_ratio_of_effects_is_within_its_interval() -> None:
    rng = np.random.default_rng(5)
    effect = effect_ratio(rng.normal(-5, 1, 50), rng.normal(-10, 1, 50))
    assert effect.low < 0.5 < effect.high < 0.6


def test_the_ratio_of_few_sessions_and_runs_holds_the_truth_in_95_per_cent() -> None:
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(1000):
        people, other = rng.normal(14, 1.5, 6), rng.normal(8, 1.5, 6)
        found = effect_ratio(
            rng.normal(8, 1.5, 5), people, runs_other=rng.normal(5, 1.5, 5), people_other=other
        )
        held += found.low <= 0.5 <= found.high
    assert 930 < held < 970


def test_the_ratio_to_an_effect_that_is_not_told_from_0_has_no_limits() -> None:
    found = effect_ratio(np.array([4.0, 5, 6]), np.array([-1.0, 2, 0.5]))
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert math.isnan(effect_ratio(np.array([4.0]), np.array([1.0, 2])).low)


def test_parts_of_the_variance_are_found_beside_sessions_and_rounds() -> None:
    rng = np.random.default_rng(6)
    n_sessions, n_players, n_rounds = 30, 8, 10
    level = rng.normal(0, 20, n_sessions)[:, None, None]  # neither this
    trend = -5.0 * np.arange(n_rounds)[None, None, :]  # nor this counts
    person = rng.normal(0, 3, (n_sessions, n_players))[:, :, None]
    noise = rng.normal(0, 4, (n_sessions, n_players, n_rounds))
    values = (level + trend + person + noise).ravel()
    places = np.indices((n_sessions, n_players, n_rounds)).reshape(3, -1).T.tolist()
    found = components(
        values, [f"{s}/{r}" for s, _, r in places], [f"{s}/{p}" for s, p, _ in places]
    )
    assert found.between == pytest.approx(9, rel=0.2)
    assert found.within == pytest.approx(16, rel=0.1)
    once = components([1.0, 2.0], ["a", "a"], ["x", "y"])
    assert math.isnan(once.between)
