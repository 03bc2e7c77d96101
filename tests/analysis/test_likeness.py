"""Distances, tests and parts of the variance between groups whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sabm_mesa.analysis.intervals import Floats
from sabm_mesa.analysis.tests import energy_test


def sessions(rng: np.random.Generator, n: int, spread: float = 8) -> tuple[Floats, list[int]]:
    """`n` sessions of eight, whose players resemble one another."""
    levels = np.repeat(rng.normal(40, spread, n), 8)
    values = np.clip(np.round(levels + rng.normal(0, 12, 8 * n)), 0, 100)
    return values, np.repeat(np.arange(n), 8).tolist()


def test_the_distances_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=40), rng.normal(0.5, 2, size=30)
    found = energy_test(a, b)
    assert found.wasserstein == pytest.approx(stats.wasserstein_distance(a, b))
    assert found.energy == pytest.approx(stats.energy_distance(a, b) ** 2)


def test_many_values_are_rounded_and_the_distance_hardly_changes() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=1500), rng.normal(0.5, 2, size=900)
    units = [np.repeat(np.arange(3), len(values) // 3).tolist() for values in (a, b)]
    found = energy_test(a, b, *units)
    assert found.wasserstein == pytest.approx(stats.wasserstein_distance(a, b), rel=2e-3)
    assert found.wasserstein != pytest.approx(stats.wasserstein_distance(a, b), rel=1e-9)


@pytest.mark.slow
def test_halves_of_people_are_told_apart_as_often_as_stated_and_a_mean_without_spread_always() -> (
    None
):
    """200 seeds: 5 % for sessions, within four standard errors; far more if they are ignored."""
    told, told_without, fixed_told = [], [], []
    for seed in range(200):
        rng = np.random.default_rng([3, seed])
        (a, units), (b, others) = sessions(rng, 6), sessions(rng, 6)
        told.append(energy_test(a, b, units, others).p <= 0.05)
        if seed < 60:
            told_without.append(energy_test(a, b).p <= 0.05)
        average = np.full(48, b.mean())
        fixed_told.append(energy_test(average, b, others, others).p <= 0.05)
    assert np.mean(told) == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 200))
    assert np.mean(told_without) > 0.2
    assert all(fixed_told)


def test_too_few_units_cannot_reach_a_small_p() -> None:
    (a, units), (b, others) = (sessions(np.random.default_rng(seed), 3) for seed in (1, 2))
    few = energy_test(a, b, units, others)
    assert (few.least_p, few.units) == (pytest.approx(2 / 20), (3, 3))
