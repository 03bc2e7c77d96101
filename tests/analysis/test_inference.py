"""The front of all verdicts: numbers by hand and by SciPy, and its errors in simulated studies."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, quantile_test

from sabm_mesa.analysis.inference import (
    BETS,
    LEVEL,
    NO_BOUNDS,
    Estimand,
    Inference,
    RunsNeeded,
    holm,
    infer,
    runs_needed,
)
from sabm_mesa.analysis.statistics import mean_interval

UNIT = (0.0, 1.0)


def test_a_share_of_nine_tenths_takes_36_runs_without_an_exception() -> None:
    few, enough = (infer("share", [1] * n, above=0.9) for n in (35, 36))

    assert (few.verdict, enough.verdict) == ("too few runs", "agrees")
    assert few.fewest == 36
    assert "36 runs" in few.why
    assert enough.p_for == pytest.approx(0.9**36)
    # One exception in 36 says nothing any more, and one in 54 does: 0.9**54 + 54 · 0.1 · 0.9**53.
    assert infer("share", [1] * 35 + [0], above=0.9).verdict == "inconclusive"
    assert infer("share", [1] * 53 + [0], above=0.9).p_for == pytest.approx(
        0.9**54 + 54 * 0.1 * 0.9**53
    )


def test_nine_runs_of_which_all_got_out_cannot_show_that_all_do() -> None:
    found = infer("share", [1] * 9, above=0.9)

    assert (found.verdict, found.fewest) == ("too few runs", 36)
    assert found.low == pytest.approx(0.025 ** (1 / 9))  # the rule of Clopper and Pearson
    assert found.high == 1
    # The opposite can be shown: four or more of nine happen in 0.8 % when nine tenths get out.
    assert infer("share", [1] * 6 + [0] * 3, above=0.9).verdict == "too few runs"
    assert infer("share", [1] * 5 + [0] * 4, above=0.9).verdict == "disagrees"


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40), st.sampled_from([0.1, 0.5]))
def test_shares_are_scipys(runs: list[float], limit: float) -> None:
    found = infer("share", runs, above=limit)
    ones, n = int(sum(runs)), len(runs)
    by_scipy = binomtest(ones, n, limit, alternative="greater")
    both = binomtest(ones, n).proportion_ci(0.95, method="exact")

    assert found.p_for == pytest.approx(by_scipy.pvalue)
    assert (found.low, found.high) == pytest.approx((both.low, both.high))


def test_a_median_by_hand() -> None:
    found = infer("median", [3, 1, 4, 1.5, 9, 2.6], above=0)

    assert (found.verdict, found.p_for, found.p_against) == ("agrees", 1 / 64, 1)
    assert (found.estimate, found.low, found.high) == (2.8, 1, 9)
    assert found.method == "sign test"
    # Five runs cannot: 1/32 is more than 2.5 %.
    few = infer("median", [3, 1, 4, 1.5, 9], above=0)
    assert (few.verdict, few.fewest, few.p_for) == ("too few runs", 6, 1 / 32)
    assert math.isnan(few.low)
    assert "6 runs" in few.why
    # A run at the limit is not above it, and rounding makes no difference.
    assert infer("median", [0, 1, 2, 3, 4, 5, 6], above=0).p_for == 8 / 128
    assert infer("median", [0.1 + 0.2] * 6, above=0.3).p_for == 1


@given(st.lists(st.integers(-9, 9).map(float), min_size=6, max_size=30, unique=True))
def test_medians_are_scipys(runs: list[float]) -> None:
    found = infer("median", runs, above=0.5)
    by_scipy = quantile_test(runs, q=0.5, p=0.5, alternative="greater")

    assert found.p_for == pytest.approx(by_scipy.pvalue)


def test_bets_by_hand() -> None:
    # Of runs at 0 on a scale to 20, a bet of f that the mean is below 5 gains f (1 / 0.75 − 1).
    found = infer("mean", [0] * 20, below=5, bounds=(0, 20))
    wealth = sum(stake * (1 + fraction / 3) ** 20 for fraction, stake in BETS)

    assert found.e == pytest.approx(wealth)
    assert found.p_for == pytest.approx(1 / wealth)
    assert found.method == "bets"
    assert sum(stake for _, stake in BETS) == pytest.approx(1)
    # Three runs at the upper end and one at the lower, m = 1/2: (1 + f)**3 (1 − f) in any order.
    mixed = sum(stake * (1 + bet) ** 3 * (1 - bet) for bet, stake in BETS)
    for runs in ([0.0, 1, 1, 1], [1.0, 1, 1, 0]):
        assert infer("mean", runs, above=0.5, bounds=UNIT).p_for == pytest.approx(min(1, 1 / mixed))


def test_a_mean_below_half_of_a_scale_to_20_takes_146_runs() -> None:
    found = infer("mean", [0] * 145, below=0.5, bounds=(0, 20))

    assert (found.verdict, found.fewest) == ("too few runs", 146)
    # (1 − 0.025)**146 is the first that is below 2.5 %.
    assert 0.975**146 <= LEVEL < 0.975**145
    # These bets keep half of their stake for other cases, and need 40 · 2 instead of 40.
    assert infer("mean", [0] * 174, below=0.5, bounds=(0, 20)).verdict == "agrees"


def test_a_mean_without_bounds_is_refused() -> None:
    found = infer("mean", [5, 6, 7, 8, 9, 10], above=0)

    assert (found.verdict, found.why) == ("inconclusive", NO_BOUNDS)
    assert math.isnan(found.p_for)
    assert (found.low, found.high) == mean_interval(np.array([5.0, 6, 7, 8, 9, 10]))
    assert infer("difference", [1, 2], [3, 4], below=0).why == NO_BOUNDS


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("mean", {"bounds": UNIT}), ("share", {}), ("median", {}),
        ("difference", {"bounds": UNIT}), ("difference", {"bounds": UNIT, "paired": True}),
        ("difference", {"of": "median", "paired": True}), ("difference", {"of": "share"}),
        ("equal_effects", {"bounds": UNIT}), ("equal_effects", {"of": "median", "paired": True}),
        ("equal_effects", {"bounds": UNIT, "paired": "within"}),
    ],
)  # fmt: skip
def test_a_claim_agrees_exactly_when_the_interval_is_beyond_its_limit(
    kind: str, settings: dict[str, object]
) -> None:
    rng = np.random.default_rng(3)
    n_groups = Estimand(kind, **settings).n_groups  # type: ignore[arg-type]
    groups = rng.beta(2, 3, size=(n_groups, 14))
    if "share" in (kind, settings.get("of")):
        groups = (groups > 0.4).astype(float)
    first = infer(kind, *groups, **settings)  # type: ignore[arg-type]
    for end, side in ((first.low, "above"), (first.high, "below")):
        if math.isinf(end):
            continue
        inwards = 1e-4 if side == "above" else -1e-4
        shown, not_shown = (
            infer(kind, *groups, **{side: limit}, **settings)  # type: ignore[arg-type]
            for limit in (end - inwards, end + inwards)
        )
        assert not_shown.verdict != "agrees"
        assert shown.verdict == "agrees" or abs(end) in (0, 1, 2)


def test_pairs_are_compared_by_their_differences() -> None:
    a, b = [1, 2, 3, 4, 5, 6, math.nan], [2, 3, 4, 5, 6, 7.5, 1]

    found = infer("difference", a, b, of="median", below=0, paired=True)

    assert (found.verdict, found.p_for, found.n, found.missing) == ("agrees", 1 / 64, (6, 6), 1)
    assert (found.estimate, found.low, found.high) == (-1, -1.5, -1)
    assert found.effect_name == "Cliff's delta within pairs"
    within = infer("equivalence", a, b, of="median", margin=2, paired=True)
    assert (within.verdict, within.p_for) == ("agrees", 1 / 64)
    assert within.effect == -0.5
    wide = infer("equivalence", a, b, of="median", margin=0.5, paired=True)
    assert (wide.verdict, wide.p_against) == ("inconclusive", 2 / 64)  # two sides may be left
    assert infer(
        "equivalence", [*a[:6], 8], [*b[:6], 9], of="median", margin=0.5, paired=True
    ).verdict == "disagrees"  # fmt: skip


def test_bets_on_two_groups_by_hand() -> None:
    # All at one end and all at the other: at a common mean m the largest bets alone gain
    # 1 / (m (1 − m)) a run, which is least, 4, in the middle.
    found = infer("difference", [1] * 4, [0] * 4, above=0, bounds=UNIT)
    gain = sum(stake * (1 + fraction) ** 4 for fraction, stake in BETS)

    assert found.e == pytest.approx(gain**2, rel=0.05)
    assert found.e <= gain**2
    assert found.fewest == 3  # (1/4)**3 is the first that is below 2.5 %
    assert infer("difference", [1] * 4, [0] * 6, above=0, bounds=UNIT).e > found.e


def test_equal_effects_with_and_without_a_margin() -> None:
    a, b, c, d = [1, 2, 3, 4, 5, 6], [0] * 6, [9, 8, 7, 6, 5, 4], [9, 8, 7, 6, 5, 4]

    found = infer("equal_effects", a, b, c, d, of="median", paired=True)
    assert (found.verdict, found.p_for, found.estimate) == ("effects differ", 2 / 64, 3.5)
    alike = infer("equal_effects", a, b, a, b, of="median", paired=True)
    assert (alike.verdict, alike.p_for) == ("no difference detected", 1)
    with_margin = infer("equal_effects", a, b, a, b, of="median", paired=True, margin=0.5)
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
    runs = draws(name)(np.random.default_rng(5), (2000, n)).clip(0, 1)
    for side in ("above", "below"):
        p = Estimand("mean", bounds=UNIT).p([runs], 0.1, side)  # type: ignore[arg-type]
        assert float(np.mean(p <= LEVEL)) <= 0.03


def test_false_claims_about_medians_agree_in_at_most_three_per_cent() -> None:
    rng = np.random.default_rng(6)
    skewed, symmetric = rng.lognormal(size=(4000, 15)) - 1, rng.normal(size=(4000, 15))
    for runs in (skewed, symmetric):
        for side in ("above", "below"):
            p = Estimand("median").p([runs], 0.0, side)  # type: ignore[arg-type]
            assert 0.01 <= float(np.mean(p <= LEVEL)) <= 0.03


def test_groups_with_equal_means_and_unequal_shapes_agree_in_at_most_three_per_cent() -> None:
    rng = np.random.default_rng(7)
    skewed = rng.beta(0.5, 4.5, (400, 15))
    even = rng.normal(0.1, 0.02, (400, 15)).clip(0, 1)
    for paired in (False, True):
        estimand = Estimand("difference", bounds=UNIT, paired=paired)
        for side in ("above", "below"):
            p = estimand.p([skewed, even], 0.0, side)  # type: ignore[arg-type]
            assert float(np.mean(p <= LEVEL)) <= 0.03


@pytest.mark.slow
def test_runs_needed_is_a_range() -> None:
    sure = runs_needed(Estimand("median", above=0), [[5, 5.1, 5.2, 5.3, 5.4, 5.5]])
    assert (sure.low, sure.likely, sure.high) == (6, 6, 6)
    assert str(sure) == "6 runs"
    unsure = runs_needed(Estimand("median", above=0), [[-1, 2, 3, -2, 1, 2]])
    assert unsure.high is None
    assert str(unsure).endswith("runs or more")
    never = runs_needed(Estimand("mean", above=0), [[1, 2, 3]])
    assert never == RunsNeeded(None, None, None)
    assert runs_needed(Estimand("share", above=0.5), [[1]]) == RunsNeeded(None, None, None)


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        (("mode", [1]), {}, "the estimand is one of"),
        (("difference", [1]), {}, "needs 2 groups of runs"),
        (("mean", [1], [2]), {}, "needs 1 group of runs"),
        (("mean", [2]), {"bounds": UNIT}, "a run has 2, outside the bounds 0 to 1"),
        (("mean", [2]), {"bounds": (1, 0)}, "bounds are two finite numbers"),
        (("share", [0.5]), {}, "a 0 or a 1 of each run"),
        (("median", [math.inf]), {}, "finite"),
        (("median", [1]), {"above": math.inf}, "every limit must be finite"),
        (("median", [1]), {"above": 2, "below": 1}, "above < below"),
        (("equivalence", [1], [2]), {}, "needs a margin"),
        (("equivalence", [1], [2]), {"margin": 0}, "the margin must be positive"),
        (("difference", [1], [2, 3]), {"paired": True}, "groups of equal size, not 1 and 2"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: tuple[object, ...], settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        infer(*arguments, **settings)  # type: ignore[arg-type]


def test_without_runs_nothing_is_known() -> None:
    found = infer("median", [None, math.nan], above=0)

    assert isinstance(found, Inference)
    assert (found.n, found.missing, found.verdict) == ((0,), 2, "inconclusive")
    assert math.isnan(found.p)
    assert found.why == "no run has a value"


def test_holm_by_hand() -> None:
    assert holm([0.01, math.nan, 0.04, 0.03]) == pytest.approx([0.03, math.nan, 0.06, 0.06],
                                                              nan_ok=True)  # fmt: skip
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.5])
