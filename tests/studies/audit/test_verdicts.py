"""Robust, fragile, failing: what is said of effects whose truth is known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sabm_mesa.studies.audit.verdicts import judge

CELLS, LAST = 5, 3
"""The experiment as it is, three other wordings, and another format; the last wording."""
ABOVE = [(1, 0.0)]


def effects(rng, planted, n=12, base=15.0, chance=13.0):
    """By cell and seed: `base`, and `planted` less in the last wording."""
    means = base - planted * (np.arange(CELLS) == LAST)
    return means[:, np.newaxis] + rng.normal(0, chance, (CELLS, n)) + rng.normal(0, 5, n)


def test_fragile_is_said_of_the_large_planted_effect_only_and_names_it() -> None:
    rng = np.random.default_rng(1)
    words: dict[int, Counter[str]] = {}
    for planted in (0, 5, 20):
        found = [judge(effects(rng, planted, n=40), ABOVE) for _ in range(12)]
        words[planted] = Counter(each.word for each in found)
        if planted == 20:
            named = [each.fragile_in for each in found if each.word == "fragile"]
            assert named == [[LAST]] * len(named)
    assert words[0]["robust"] >= 10
    assert words[5]["fragile"] == 0
    assert words[20]["fragile"] >= 10


def test_a_claim_that_is_wrong_everywhere_fails_and_is_not_fragile() -> None:
    found = judge(effects(np.random.default_rng(2), 0, n=16, base=-15), ABOVE)

    assert found.word == "fails"
    assert (found.survives, found.detected_for) == (0, 0)
    assert found.detected_against > 4


def test_without_an_effect_nothing_can_be_told() -> None:
    found = judge(effects(np.random.default_rng(3), 0, base=0), ABOVE)

    assert found.word == "inconclusive"
    assert (found.detected_for, found.detected_against) == (0, 0)


def test_a_claim_with_two_limits_is_fragile_where_it_is_told_to_be_outside() -> None:
    within = [(1, 5.0), (-1, 25.0)]
    rng = np.random.default_rng(4)

    assert judge(effects(rng, 0, chance=3), within).word == "robust"
    outside = judge(effects(rng, -40, chance=3), within)
    assert (outside.word, outside.fragile_in) == ("fragile", [LAST])


def test_a_claim_below_a_limit_is_the_mirror_of_one_above_it() -> None:
    y = effects(np.random.default_rng(5), 20)

    above, below = (
        judge(sign * y, [(sign, sign * 1.0)]) for sign in (1, -1)
    )  # fmt: skip
    assert above.word == below.word == "fragile"
    assert above.cells["p_fragile"].equals(below.cells["p_fragile"])
    assert above.effect == -below.effect


@pytest.mark.parametrize(
    ("y", "why"),
    [
        (np.full((CELLS, 6), 2.0), "all seeds give the same numbers"),
        (
            np.where(np.arange(5) < 2, 1.0, np.nan) * np.ones((CELLS, 1)),
            "only 2 seeds have a value",
        ),
    ],
)
def test_it_says_why_nothing_can_be_told(y, why) -> None:
    found = judge(y, ABOVE)

    assert found.word == "inconclusive"
    assert why in found.why


def test_a_seed_without_a_value_in_one_cell_is_left_out_of_all() -> None:
    y = effects(np.random.default_rng(6), 0)
    holed = y.copy()
    holed[3, 7] = np.nan

    found = judge(holed, ABOVE)
    assert found.n_seeds == 11
    assert found.effect == pytest.approx(np.median(np.delete(y, 7, axis=1).mean(axis=0)))


@pytest.mark.slow
def test_a_claim_that_is_nil_in_one_wording_is_called_robust_in_at_most_three_per_cent() -> None:
    rng = np.random.default_rng(7)
    words = [judge(effects(rng, 15.0), ABOVE).word for _ in range(300)]

    assert words.count("robust") / 300 <= 0.03 + 2 * np.sqrt(0.03 * 0.97 / 300)
