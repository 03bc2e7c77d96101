"""The front of all verdicts: numbers by hand and by SciPy, and its errors in simulated studies."""

import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, permutation_test, quantile_test

from sabm_mesa.analysis.intervals import LEVEL, Side, mean_interval
from sabm_mesa.analysis.tests import (
    BETS,
    NO_BOUNDS,
    Estimand,
    Inference,
    betting_test,
    holm,
    infer,
    runs_for_share,
    runs_needed,
    sign_test,
)

UNIT = (0.0, 1.0)


def test_a_share_of_nine_tenths_takes_36_runs_without_an_exception() -> None:
    few, enough = (infer([1] * n, of="share", above=0.9) for n in (35, 36))

    assert (few.verdict, enough.verdict) == ("too few runs", "agrees")
    assert few.fewest == 36
    assert "36 runs" in few.why
    assert enough.p_for == pytest.approx(0.9**36)
    # One exception in 36 says nothing any more, and one in 54 does: 0.9**54 + 54 · 0.1 · 0.9**53.
    assert infer([1] * 35 + [0], of="share", above=0.9).verdict == "inconclusive"
    assert infer([1] * 53 + [0], of="share", above=0.9).p_for == pytest.approx(
        0.9**54 + 54 * 0.1 * 0.9**53
    )


def test_nine_runs_of_which_all_got_out_cannot_show_that_all_do() -> None:
    found = infer([1] * 9, of="share", above=0.9)

    assert (found.verdict, found.fewest) == ("too few runs", 36)
    assert found.low == pytest.approx(0.025 ** (1 / 9))  # the rule of Clopper and Pearson
    assert found.high == 1
    # The opposite can be shown: four or more of nine happen in 0.8 % when nine tenths get out.
    assert infer([1] * 6 + [0] * 3, of="share", above=0.9).verdict == "too few runs"
    assert infer([1] * 5 + [0] * 4, of="share", above=0.9).verdict == "disagrees"


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40), st.sampled_from([0.1, 0.5]))
def test_shares_are_scipys(runs: list[float], limit: float) -> None:
    found = infer(runs, of="share", above=limit)
    ones, n = int(sum(runs)), len(runs)
    by_scipy = binomtest(ones, n, limit, alternative="greater")
    both = binomtest(ones, n).proportion_ci(0.95, method="exact")

    assert found.p_for == pytest.approx(by_scipy.pvalue)
    assert (found.low, found.high) == pytest.approx((both.low, both.high))


def test_a_median_by_hand() -> None:
    found = infer([3, 1, 4, 1.5, 9, 2.6], above=0)

    assert (found.verdict, found.p_for, found.p_against) == ("agrees", 1 / 64, 1)
    assert (found.estimate, found.low, found.high) == (2.8, 1, 9)
    assert found.method == "sign test"
    # Five runs cannot: 1/32 is more than 2.5 %.
    few = infer([3, 1, 4, 1.5, 9], above=0)
    assert (few.verdict, few.fewest, few.p_for) == ("too few runs", 6, 1 / 32)
    assert math.isnan(few.low)
    assert "6 runs" in few.why
    # A run at the limit is not above it, and rounding makes no difference.
    assert infer([0, 1, 2, 3, 4, 5, 6], above=0).p_for == 8 / 128
    assert infer([0.1 + 0.2] * 6, above=0.3).p_for == 1


@given(st.lists(st.integers(-9, 9).map(float), min_size=6, max_size=30, unique=True))
def test_medians_are_scipys(runs: list[float]) -> None:
    found = infer(runs, above=0.5)
    by_scipy = quantile_test(runs, q=0.5, p=0.5, alternative="greater")

    assert found.p_for == pytest.approx(by_scipy.pvalue)


def test_bets_by_hand() -> None:
    # Of runs at 0 on a scale to 20, a bet of f that the mean is below 5 gains f (1 / 0.75 − 1).
    found = infer([0] * 20, of="mean", below=5, bounds=(0, 20))
    wealth = sum(stake * (1 + fraction / 3) ** 20 for fraction, stake in BETS)

    assert found.p_for == pytest.approx(1 / wealth)
    assert found.method == "bets"
    assert sum(stake for _, stake in BETS) == pytest.approx(1)
    # Three runs at the upper end and one at the lower, m = 1/2: (1 + f)**3 (1 − f) in any order.
    mixed = sum(stake * (1 + bet) ** 3 * (1 - bet) for bet, stake in BETS)
    for runs in ([0.0, 1, 1, 1], [1.0, 1, 1, 0]):
        made = infer(runs, of="mean", above=0.5, bounds=UNIT)
        assert made.p_for == pytest.approx(min(1, 1 / mixed))


def test_a_mean_below_half_of_a_scale_to_20_takes_168_runs() -> None:
    found = infer([0] * 167, of="mean", below=0.5, bounds=(0, 20))

    def wealth(n: int) -> float:
        return sum(stake * (1 + bet / 39) ** n for bet, stake in BETS)

    assert wealth(167) < 40 <= wealth(168)
    assert (found.verdict, found.fewest, found.why) == ("too few runs", 168, "168 runs would do")
    assert infer([0] * 168, of="mean", below=0.5, bounds=(0, 20)).verdict == "agrees"


def test_a_mean_without_bounds_is_refused() -> None:
    found = infer([5, 6, 7, 8, 9, 10], of="mean", above=0)

    assert (found.verdict, found.why) == ("inconclusive", NO_BOUNDS)
    assert math.isnan(found.p_for)
    assert (found.low, found.high) == mean_interval(np.array([5.0, 6, 7, 8, 9, 10]))
    assert infer([1, 2], [3, 4], of="mean", below=0, paired=True).why == NO_BOUNDS


@pytest.mark.parametrize(
    ("n_groups", "settings"),
    [
        (1, {"of": "mean", "bounds": UNIT}), (1, {"of": "share"}), (1, {}),
        (2, {"of": "mean", "bounds": UNIT, "paired": True}), (2, {"paired": True}),
        (2, {"of": "share", "paired": True}), (4, {"paired": True}),
        (4, {"of": "mean", "bounds": UNIT, "paired": True}), (2, {}),
    ],
)  # fmt: skip
def test_a_claim_agrees_exactly_when_the_interval_is_beyond_its_limit(
    n_groups: int, settings: dict[str, Any]
) -> None:
    rng = np.random.default_rng(3)
    groups = rng.beta(2, 3, size=(n_groups, 14))
    if settings.get("of") == "share":
        groups = (groups > 0.4).astype(float)
    first = infer(*groups, **settings)
    # Both ends of independent groups come from random permutations.
    by = 1e-4 if settings else 0.02
    for end, side, inwards in ((first.low, "above", by), (first.high, "below", -by)):
        shown, not_shown = (
            infer(*groups, **{side: limit}, **settings) for limit in (end - inwards, end + inwards)
        )
        assert not_shown.verdict != "agrees"
        assert shown.verdict == "agrees" or abs(end) in (0, 1, 2)


def test_pairs_are_compared_by_their_differences() -> None:
    a, b = [1, 2, 3, 4, 5, 6, math.nan], [2, 3, 4, 5, 6, 7.5, 1]

    found = infer(a, b, below=0, paired=True)

    assert (found.verdict, found.p_for, found.n, found.missing) == ("agrees", 1 / 64, (6, 6), 1)
    assert (found.estimate, found.low, found.high) == (-1, -1.5, -1)
    assert found.effect_name == "Cliff's delta within pairs"
    within = infer(a, b, above=-2, below=2, paired=True)
    assert (within.verdict, within.p_for) == ("agrees", 1 / 64)
    assert within.effect == -0.5
    wide = infer(a, b, above=-0.5, below=0.5, paired=True)
    assert (wide.verdict, wide.p_against) == ("inconclusive", 2 / 64)  # two sides may be left
    far = infer([*a[:6], 8], [*b[:6], 9], above=-0.5, below=0.5, paired=True)
    assert far.verdict == "disagrees"


def test_independent_groups_by_hand() -> None:
    # Of the 20 ways to choose 3 of 6 runs, and of the 70 to choose 4 of 8, one is as extreme.
    few = infer([4, 5, 6], [1, 2, 3], above=0)
    found = infer([5, 6, 7, 8], [1, 2, 3, 4], above=0)

    assert (few.verdict, few.fewest, few.p_for) == ("too few runs", 4, 1 / 20)
    assert (found.verdict, found.p_for, found.estimate) == ("agrees", pytest.approx(1 / 70), 4)
    assert found.method == "permutation test of the means"
    assert (found.effect, found.effect_name) == (1, "Cliff's delta")
    assert found.low > 0
    assert math.isnan(few.low)
    # Shifted by 4, the groups are the same.
    assert infer([5, 6, 7, 8], [1, 2, 3, 4], above=4).p_for > 0.5


@given(st.integers(0, 999))
def test_permutations_are_scipys(seed: int) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, 5))
    by_scipy = permutation_test(
        (a, b), lambda one, other: one.mean() - other.mean(), alternative="greater"
    )
    assert infer(a, b, above=0).p_for == pytest.approx(by_scipy.pvalue)


def test_equal_effects_with_and_without_a_margin() -> None:
    a, b, c, d = [1, 2, 3, 4, 5, 6], [0] * 6, [9, 8, 7, 6, 5, 4], [9, 8, 7, 6, 5, 4]

    found = infer(a, b, c, d, paired=True)
    assert (found.verdict, found.p_for, found.estimate) == ("effects differ", 2 / 64, 3.5)
    alike = infer(a, b, a, b, paired=True)
    assert (alike.verdict, alike.p_for) == ("no difference detected", 1)
    with_margin = infer(a, b, a, b, paired=True, above=-0.5, below=0.5)
    assert with_margin.verdict == "agrees"


def draws(name: str) -> Callable[[np.random.Generator, tuple[int, int]], np.ndarray]:
    """Runs between 0 and 1 whose mean and share above 1/2 are known below."""
    return {
        "beta": lambda rng, shape: rng.beta(0.5, 4.5, shape),
        "rare": lambda rng, shape: (rng.random(shape) < 0.1).astype(float),
        "steady": lambda rng, shape: rng.normal(0.1, 0.01, shape),
    }[name]


@pytest.mark.parametrize("name", ["beta", "rare", "steady"])
@pytest.mark.parametrize("n", [8, 30])
def test_false_claims_about_means_agree_in_at_most_three_per_cent(name: str, n: int) -> None:
    studies = draws(name)(np.random.default_rng(5), (2000, n)).clip(0, 1)
    for side in get_args(Side):
        p = [betting_test(runs, 0.1, side, UNIT) for runs in studies]
        assert float(np.mean(np.array(p) <= LEVEL)) <= 0.03


def test_false_claims_about_medians_agree_in_at_most_three_per_cent() -> None:
    rng = np.random.default_rng(6)
    for studies in (rng.lognormal(size=(4000, 15)) - 1, rng.normal(size=(4000, 15))):
        for side in get_args(Side):
            p = [sign_test(runs, 0.0, side) for runs in studies]
            assert 0.01 <= float(np.mean(np.array(p) <= LEVEL)) <= 0.03


def test_pairs_with_equal_means_and_unequal_shapes_agree_in_at_most_three_per_cent() -> None:
    rng = np.random.default_rng(7)
    skewed = rng.beta(0.5, 4.5, (400, 15))
    even = rng.normal(0.1, 0.02, (400, 15)).clip(0, 1)
    for side in get_args(Side):
        p = [betting_test(runs, 0.0, side, (-1.0, 1.0)) for runs in skewed - even]
        assert float(np.mean(np.array(p) <= LEVEL)) <= 0.03


def test_the_runs_that_a_verdict_needs() -> None:
    sure = [np.array([5, 5.1, 5.2, 5.3, 5.4, 5.5])]
    assert runs_needed(Estimand(above=0), sure) == 6
    # Four of six runs are above 0: a sign test of a share of 2/3 (by the binomial distribution).
    assert runs_needed(Estimand(above=0), [np.array([-1.0, 2, 3, -2, 1, 2])]) == runs_for_share(
        2 / 3
    )
    assert runs_needed(Estimand(above=0), [np.array([-1.0, 1])]) is None
    assert runs_needed(Estimand("mean", above=0), [np.array([1.0, 2, 3])]) is None
    assert runs_needed(Estimand("share", above=0.5), [np.array([1.0])]) is None
    # Wealth of bets on runs at 1 grows 40-fold, and twice for the rest of the stake: 1.5**n = 80.
    bounded = Estimand("mean", above=2 / 3, bounds=UNIT)
    assert 9 <= (runs_needed(bounded, [np.ones(30)]) or 0) <= 12


def test_the_runs_for_a_share_by_the_binomial_distribution() -> None:
    n = runs_for_share(0.75)
    assert n is not None
    rejected = next(k for k in range(n + 1) if binom.sf(k - 1, n, 0.5) <= LEVEL)
    assert binom.sf(rejected - 1, n, 0.75) >= 0.8
    assert runs_for_share(0.5) is None
    assert runs_for_share(1.0) == 6


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        (([1],), {"of": "mode"}, "of is one of"),
        (([1], [2], [3]), {}, "1, 2 or 4 groups of runs"),
        (([2],), {"of": "mean", "bounds": UNIT}, "a run has 2, outside the bounds 0 to 1"),
        (([2],), {"of": "mean", "bounds": (1, 0)}, "bounds are two finite numbers"),
        (([0.5],), {"of": "share"}, "a 0 or a 1 of each run"),
        (([math.inf],), {}, "finite"),
        (([1],), {"above": math.inf}, "every limit must be finite"),
        (([1],), {"above": 2, "below": 1}, "above < below"),
        (([1], [2, 3]), {"paired": True}, "groups of equal size, not 1 and 2"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: tuple[object, ...], settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        infer(*arguments, **settings)  # type: ignore[arg-type]


def test_without_runs_nothing_is_known() -> None:
    found = infer([None, math.nan], above=0)

    assert isinstance(found, Inference)
    assert (found.n, found.missing, found.verdict) == ((0,), 2, "inconclusive")
    assert math.isnan(found.p)
    assert found.why == "no run has a value"


def test_holm_by_hand() -> None:
    assert holm([0.01, math.nan, 0.04, 0.03]) == pytest.approx([0.03, math.nan, 0.06, 0.06],
                                                              nan_ok=True)  # fmt: skip
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.5])
