"""Fractions are balanced, and variance components are found without bias."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from sabm_mesa.analysis.factorial import (
    balanced_fraction,
    fewest_cells,
    fraction,
    level_weights,
    share_intervals,
    shares_of,
    variance_components,
)


@pytest.mark.parametrize(("levels", "n"), [((2, 2, 2), 4), ((2, 2, 2, 2, 2), 8), ((3, 3, 3), 9)])
def test_where_an_orthogonal_array_exists_it_is_found(levels, n) -> None:
    design = fraction(levels, n)

    assert design.efficiency == pytest.approx(1)
    assert not design.cells[0].any()
    for i, j in combinations(range(len(levels)), 2):
        pairs = np.unique(design.cells[:, [i, j]], axis=0, return_counts=True)[1]
        assert len(pairs) == levels[i] * levels[j]
        assert len(set(pairs)) == 1


def test_a_design_has_different_cells_and_more_of_them_than_effects() -> None:
    design = balanced_fraction((5, 2, 2), 100)

    assert len(design.cells) == 10 > fewest_cells((5, 2, 2)) == 7
    assert len(np.unique(design.cells, axis=0)) == 10
    assert design.efficiency > 0.99
    assert len(fraction((2, 3), 6).cells) == 6
    assert len(fraction((5, 2, 2), 7).cells) == 7  # saturated


def test_where_no_design_is_balanced_it_is_the_best_of_all() -> None:
    three = [(-np.sqrt(1.5), np.sqrt(0.5)), (0, -np.sqrt(2)), (np.sqrt(1.5), np.sqrt(0.5))]
    full = np.array([(1, *a, *b, c) for a, b, c in product(three, three, (-1, 1))])
    chosen = np.array([full[list(cells)] for cells in combinations(range(18), 15)])
    best = np.linalg.det(chosen.transpose(0, 2, 1) @ chosen).max() ** (1 / 6) / 15

    assert fraction((3, 3, 2), 15).efficiency == pytest.approx(best)


@pytest.mark.parametrize(("levels", "n"), [((2, 2), 2), ((2, 2), 5), ((1, 2), 2), ((), 1)])
def test_a_design_that_cannot_be_is_refused(levels, n) -> None:
    with pytest.raises(ValueError, match=r"there can be|needs 2 levels"):
        fraction(levels, n)


def test_the_mean_of_a_level_is_that_of_its_cells_in_a_balanced_design() -> None:
    design = fraction((2, 2, 2), 4)

    for place, weights in enumerate(level_weights(design)):
        for level, row in enumerate(weights):
            mine = design.cells[:, place] == level
            assert row == pytest.approx(mine / mine.sum())


def test_components_are_those_that_were_planted_without_bias() -> None:
    """10,000 audits at once: wording 5 levels, format 2, an interaction, seeds, chance."""
    design = fraction((5, 2, 2), 20)
    wording, form, order = design.cells.T
    effect = np.array([4.0, 0, 0, 0, -4])[wording] + np.array([1.0, -1])[form]
    both = np.array([1.0, -1])[form] * np.array([1.0, -1])[order]
    rng = np.random.default_rng(1)
    y = (effect + both)[:, np.newaxis] + rng.normal(0, 3, (10_000, 20, 6))
    y += rng.normal(0, 2, (10_000, 1, 6))

    found = variance_components(y, design)
    truth = np.array([32 / 5, 1, 0, 1, 4, 9])
    error = found.std(axis=0) / 100
    assert np.abs(found.mean(axis=0) - truth).max() < 4 * error.max()
    assert np.abs((found.mean(axis=0) - truth) / error).max() < 4
    shares = shares_of(found)
    assert shares.sum(axis=-1) == pytest.approx(1)
    assert shares.min() == 0  # a component below 0 is none


def test_the_interval_of_a_share_holds_it_and_has_no_room_without_chance() -> None:
    design = fraction((2, 2), 4)
    fixed = np.array([1.0, 1, 0, 0])[:, np.newaxis] + np.zeros((4, 5))

    low, high = share_intervals(fixed, design, n_resamples=50)
    assert low[0] == high[0] == pytest.approx(1)
    assert np.isnan(share_intervals(np.zeros((4, 5)), design, n_resamples=50)).all()


@pytest.mark.slow
def test_the_intervals_of_seeds_and_chance_hold_in_95_per_cent_of_normal_data() -> None:
    design, rng, n, audits = fraction((4, 2), 8), np.random.default_rng(4), 12, 400
    true = np.array([100.0, 9.0, 25.0])  # one level of the first factor is 20 less; seeds; chance
    effects = -20.0 * (design.cells[:, 0] == 3)
    true[0] = effects.var()
    held = np.zeros(2)
    for number in range(audits):
        y = effects[:, None] + 3 * rng.standard_normal(n) + 5 * rng.standard_normal((8, n))
        low, high = share_intervals(y, design, seed=number, n_resamples=150)
        share = true[1:] / true.sum()
        held += (low[-2:] <= share) & (share <= high[-2:])

    assert ((held / audits > 0.925) & (held / audits < 0.975)).all()
