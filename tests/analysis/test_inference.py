"""Tests of claims on runs, their p-values, and the runs they would need."""

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, mannwhitneyu, permutation_test

from sabm_mesa.analysis import inference
from sabm_mesa.analysis.inference import (
    equivalent,
    equivalent_p,
    holm,
    more_than_p,
    one_sample,
    one_sample_p,
    outside_p,
    paired,
    paired_equivalent,
    runs_needed,
    two_sample,
    two_sample_p,
    within,
    within_p,
)

NAN = math.nan
WHOLE = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=6)
REAL = st.lists(st.floats(-100, 100).map(lambda v: round(v, 3)), min_size=1, max_size=6)


def test_signs_flipped_by_hand() -> None:
    found = one_sample([1, 2, 3], 0, "above")

    assert (found.name, found.n, found.missing) == ("sign flips", (3,), 0)
    assert (found.p_for, found.p_against) == (1 / 8, 1)
    assert (found.statistic, found.estimate, found.effect) == (2, 2, 1)
    # Of ±1 ± 2 ± 1 the sums 4, 2 and 2 are at least 1 + 2 - 1.
    assert one_sample([1, 2, -1], 0, "above").p_for == 3 / 8
    assert one_sample([1, 2, -1], 0, "below").p_against == 3 / 8
    assert one_sample([11, 12, 9], 10, "above").p_for == 3 / 8


def test_a_run_at_the_value_itself_says_nothing() -> None:
    assert one_sample([0, 1, 2, 3], 0, "above").p_for == 1 / 8
    assert one_sample([5, 5, 5], 5, "above").p_for == 1
    # 0.1 + 0.2 is 0.3 but for rounding.
    assert one_sample([0.1 + 0.2] * 10, 0.3, "above").p_for == 1
    assert one_sample([1e-17] * 10, 1, "below").p_for == 2**-10


@given(
    st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=8),
    st.integers(-2, 2),
    st.booleans(),
)
def test_exact_sign_flips_are_scipys(values: list[float], value: int, above: bool) -> None:
    found = permutation_test(
        ([v - value for v in values],), np.sum, permutation_type="samples", vectorized=True,
        n_resamples=np.inf, alternative="greater" if above else "less",
    )  # fmt: skip

    assert float(one_sample_p(values, value, "above" if above else "below")) == found.pvalue


@given(
    st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=6),
    st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=6),
    st.integers(-2, 2),
)
def test_exact_splits_are_scipys(a: list[float], b: list[float], by: int) -> None:
    found = permutation_test(
        ([v - by for v in a], b), lambda x, _, axis: x.sum(axis=axis), vectorized=True,
        n_resamples=np.inf, alternative="greater",
    )  # fmt: skip

    assert float(more_than_p(a, b, by)) == pytest.approx(found.pvalue)


def test_many_runs_are_tested_by_drawn_signs() -> None:
    values = np.random.default_rng(3).normal(0.3, 1, 40)
    found = one_sample(values, 0, "above")

    z = values.sum() / np.sqrt((values**2).sum())
    assert found.p_for == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)), abs=0.01)
    assert one_sample(np.ones(40), 0, "above").p_for == 1 / (inference.DRAWS + 1)
    assert found == one_sample(values, 0, "above")


def test_mann_whitney_by_hand() -> None:
    apart = two_sample([1, 2, 3], [4, 5, 6], "less")
    # Mid-ranks 1, 2.5 | 2.5, 4: of the six pairs two sum to no more than 3.5.
    tied = two_sample([1, 2], [2, 3], "less")

    assert (apart.p_for, apart.p_against, apart.statistic, apart.effect) == (1 / 20, 1, 0, -1)
    assert (apart.estimate, apart.n) == (-3, (3, 3))
    assert (tied.p_for, tied.p_against) == (pytest.approx(1 / 3), 1)
    assert (tied.effect, tied.statistic) == (-3 / 4, 0.5)
    assert two_sample([4, 5, 6], [1, 2, 3], "more").p_for == 1 / 20


@given(WHOLE, WHOLE)
def test_mann_whitney_is_exact_with_ties(a: list[float], b: list[float]) -> None:
    found = permutation_test(
        (a, b),
        lambda x, y, axis: mannwhitneyu(x, y, axis=axis, method="asymptotic").statistic,
        vectorized=True,
        n_resamples=np.inf,
        alternative="less",
    ) if len(a) > 1 and len(b) > 1 else None  # fmt: skip
    assume(found is not None)

    assert float(two_sample_p(a, b, "less")) == pytest.approx(found.pvalue)


@given(st.sets(st.integers(0, 99), min_size=8, max_size=16), st.integers(1, 7))
def test_mann_whitney_without_ties_is_scipys(values: set[int], n: int) -> None:
    pool = np.random.default_rng(n).permutation(sorted(values)).astype(float)
    a, b = pool[:n], pool[n:]

    for order, side in (("less", "less"), ("more", "greater")):
        expected = mannwhitneyu(a, b, alternative=side, method="exact").pvalue
        assert float(two_sample_p(a, b, order)) == pytest.approx(expected)


def test_many_pairs_are_tested_by_the_normal_limit() -> None:
    a, b = np.random.default_rng(1).integers(0, 9, (2, 30)).astype(float)

    expected = mannwhitneyu(a, b, alternative="less", method="asymptotic").pvalue
    assert float(two_sample_p(a, b, "less")) == pytest.approx(expected)
    assert float(two_sample_p(b, a, "more")) == pytest.approx(expected)
    assert float(two_sample_p(np.ones(30), np.ones(30), "less")) == 1


def test_a_band_by_hand() -> None:
    inside = within([1, 2, 3], 0, 4)
    below = within([1, 2, 3], 4, 6)

    assert (inside.p_for, inside.p_against, inside.effect) == (1 / 8, 1, 0)
    assert (below.p_for, below.p_against, below.effect) == (1, 2 / 8, -3)
    # The lower limit is out of the question, so that the upper one decides.
    assert within([1, 2, 3], -90, 2).p_for == float(one_sample_p([1, 2, 3], 2, "below"))


def test_equivalence_by_hand() -> None:
    # 3, 4, 5 against 1, 2, 3: two of the 20 choices of three sum to 12 or more.
    same = equivalent([1, 2, 3], [1, 2, 3], 2)
    apart = equivalent([11, 12, 13], [1, 2, 3], 1)

    assert (same.p_for, same.p_against, same.effect, same.estimate) == (2 / 20, 1, 0, 0)
    assert (apart.p_for, apart.p_against, apart.effect) == (1, 2 / 20, 10)


def test_pairs_by_hand() -> None:
    """Differences −1, −2, −4: of 8 sign flips one is as low."""
    found = paired([10, 50, 90], [11, 52, 94], "less")
    assert (found.p_for, found.p_against) == (1 / 8, 1)
    assert (found.n, found.missing, found.paired) == ((3, 3), 0, True)
    assert found.estimate == pytest.approx(-7 / 3)
    assert (found.effect, found.effect_name) == (-1, "Cliff's delta within pairs")
    assert paired([11, 52, 94], [10, 50, 90], "more").p_for == 1 / 8
    holes = paired([10, None, 90, 7], [11, 52, 94, math.nan], "less")
    assert (holes.n, holes.missing) == ((2, 2), 2)
    like = paired_equivalent([10, 50, 90], [11, 52, 94], 5)
    band = within([-1, -2, -4], -5, 5)
    assert (like.p_for, like.p_against, like.effect) == (band.p_for, band.p_against, band.effect)
    assert (like.effect_name, like.paired) == ("difference, in margins", True)


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=8))
def test_pairs_are_tested_as_scipy_tests_them(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(each, dtype=float) for each in zip(*pairs, strict=True))
    expected = permutation_test(
        (a, b), lambda x, y, axis: (x - y).sum(axis=axis), permutation_type="samples",
        alternative="less", n_resamples=np.inf, vectorized=True,
    )  # fmt: skip

    assert paired(a, b, "less").p_for == pytest.approx(expected.pvalue)


STUDIES = 2_000
"""Simulated studies: a share of 5 % is known to ± 1 (two standard errors)."""


def studies(
    kind: str, runs: int, shared: float, shift: float = 0.0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Runs of two conditions that differ by `shift`, with what runs of one seed share."""
    rng = np.random.default_rng([runs, int(10 * shared)])
    of_seed = rng.normal(scale=shared, size=(STUDIES, runs))
    draw = {
        "normal": partial(rng.normal, size=(STUDIES, runs)),
        "skewed": partial(rng.exponential, size=(STUDIES, runs)),
        "counts": partial(rng.poisson, 3, size=(STUDIES, runs)),
    }[kind]
    a, b = np.round(of_seed) + draw() + shift, np.round(of_seed) + draw()
    return a, b


def rejected(p_for: npt.NDArray[np.float64], p_against: npt.NDArray[np.float64]) -> float:
    """The share of studies with a verdict: a two-sided p of 5 % at most, as claims have it."""
    return float((2 * np.minimum(p_for, p_against) <= 0.05).mean())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "skewed", "counts"])
@pytest.mark.parametrize("shared", [0.0, 5.0])
def test_five_per_cent_of_studies_without_a_difference_get_a_verdict(
    kind: str, shared: float
) -> None:
    """Pairs keep the level of 5 ± 1 %; tests that ignore what seeds share are far below it."""
    least = 0.02 if kind == "counts" else 0.04  # of equal numbers fewer p-values are possible
    for runs in (10, 21):
        a, b = studies(kind, runs, shared)
        pairs = rejected(one_sample_p(a - b, 0, "below"), one_sample_p(a - b, 0, "above"))
        assert least <= pairs <= 0.06, (runs, pairs)
    apart = rejected(two_sample_p(a, b, "less"), two_sample_p(a, b, "more"))
    assert apart <= (0.01 if shared else 0.06), apart


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "counts"])
def test_at_the_margin_at_most_five_per_cent_of_studies_get_a_verdict(kind: str) -> None:
    a, b = studies(kind, 10, 5.0, shift=2.0)
    verdict = rejected(within_p(a - b, -2, 2), outside_p(a - b, -2, 2))
    claimed = float((within_p(a - b, -2, 2) <= 0.05).mean())
    assert verdict <= 0.06
    assert (0.02 if kind == "counts" else 0.04) <= claimed <= 0.06


@given(REAL, REAL, st.floats(0.1, 50))
def test_splits_tried_one_by_one(a: list[float], b: list[float], by: float) -> None:
    pool = [*(v - by for v in a), *b]
    sums = [math.fsum(chosen) for chosen in combinations(pool, len(a))]
    expected = np.mean([s >= math.fsum(pool[: len(a)]) - 1e-7 for s in sums])

    assert float(more_than_p(a, b, by)) == pytest.approx(expected)


def test_many_splits_are_drawn() -> None:
    a, b = np.random.default_rng(2).normal(0, 1, (2, 30))
    se = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 30)
    z = (a.mean() - b.mean() + 0.5) / se

    assert float(more_than_p(a, b, -0.5)) == pytest.approx(0.5 * math.erfc(z / 2**0.5), abs=0.01)


@given(REAL, REAL, st.floats(0.5, 20))
def test_no_claim_and_its_opposite_both_hold(a: list[float], b: list[float], size: float) -> None:
    for found in (
        one_sample(a, size, "above"),
        two_sample(a, b, "less"),
        within(a, -size, size),
        equivalent(a, b, size),
    ):
        assert min(found.p_for, found.p_against) > 0
        assert max(found.p_for, found.p_against) >= 0.5
        if not math.isnan(found.low):
            assert found.low <= found.high


@given(REAL, REAL)
def test_many_samples_at_once_are_tested_like_each(a: list[float], b: list[float]) -> None:
    n = min(len(a), len(b))
    first, second = np.array([a[:n], b[:n]]), np.array([b[:n], a[:n]])
    functions: list[Callable[..., np.ndarray]] = [
        partial(two_sample_p, order="less"),
        partial(equivalent_p, margin=3.0),
    ]

    for p in functions:
        assert p(first, second).tolist() == [
            float(p(first[0], second[0])),
            float(p(first[1], second[1])),
        ]
    for q in (within_p, outside_p):
        assert q(first, -9.0, 9.0).tolist() == [float(q(row, -9.0, 9.0)) for row in first]


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=8))
def test_order_and_scale_do_not_matter(values: list[int]) -> None:
    one = one_sample(values, 5000, "below").p_for
    scaled = one_sample([v / 7000 for v in reversed(values)], 5000 / 7000, "below").p_for

    assert scaled == pytest.approx(one)


def test_missing_runs_are_left_out_and_counted() -> None:
    found = one_sample([1, NAN, 2, None, 3], 0, "above")

    assert (found.n, found.missing, found.p_for) == ((3,), 2, 1 / 8)
    both = two_sample([1, 2, 3, None], [4, 5, NAN, 6], "less")
    assert (both.n, both.missing, both.p_for) == ((3, 3), 2, 1 / 20)


@pytest.mark.parametrize("values", [[], [NAN], [None, None]])
def test_without_runs_nothing_is_known(values: list[float | None]) -> None:
    for found in (
        one_sample(values, 0, "above"),
        two_sample(values, [1, 2], "less"),
        two_sample([1, 2], values, "more"),
        within(values, 0, 1),
        equivalent([1.0], values, 1),
        paired(values, values, "less"),
        paired_equivalent(values, values, 1),
    ):
        numbers = (found.p_for, found.p_against, found.effect, found.estimate, found.low)
        assert all(math.isnan(number) for number in numbers), found
        assert found.missing == len(values) * (1 + found.paired)


def test_one_run_or_equal_runs() -> None:
    one = one_sample([3], 1, "above")
    equal = two_sample([1, 1, 1], [1, 1], "less")

    assert (one.p_for, one.p_against, one.effect) == (1 / 2, 1, 1)
    assert math.isnan(one.low)
    assert (equal.p_for, equal.p_against, equal.effect, equal.estimate) == (1, 1, 0, 0)
    assert (equal.low, equal.high) == (0, 0)


def test_the_interval_of_two_runs_is_known() -> None:
    found = one_sample([0, 10], 5, "above")
    difference = two_sample([0, 10], [0, 0], "more")

    assert (found.low, found.high) == (0, 10)
    assert (difference.low, difference.high) == (0, 10)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="have to be as many, not 2 and 1"):
        paired([1, 2], [1], "less")
    with pytest.raises(ValueError, match="the margin has to be positive"):
        paired_equivalent([1, 2], [1, 2], 0)
    for wrong in (
        lambda: one_sample([1], 0, "more"),
        lambda: two_sample([1], [2], "above"),
        lambda: one_sample([math.inf], 0, "above"),
        lambda: one_sample([1], math.inf, "above"),
        lambda: within([1], 2, 2),
        lambda: within([1], 0, math.inf),
        lambda: equivalent([1], [1], 0),
        lambda: holm([0.5, 1.5]),
    ):
        with pytest.raises(ValueError, match=r"direction|finite|low < high|positive|between"):
            wrong()


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]).tolist() == [1, 1]
    assert holm([0.02, NAN, 0.03]) == pytest.approx([0.04, NAN, 0.04], nan_ok=True)
    assert holm([]).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(p: list[float]) -> None:
    adjusted = holm(p)

    assert all(adjusted >= np.array(p))
    assert all(adjusted <= np.minimum(1, len(p) * np.array(p)))
    assert [adjusted[i] for i in np.argsort(p)] == sorted(adjusted)


ABOVE = partial(one_sample_p, value=0.0, side="above")
LESS = partial(two_sample_p, order="less")


def test_runs_without_doubt_need_what_the_exact_test_needs() -> None:
    # 2**-5 is the first power of a half below 0.05; 1 of 20 choices is 0.05, 1 of 70 is less.
    assert runs_needed(ABOVE, [[1, 1]], 0.05) == 5
    assert runs_needed(ABOVE, [[1, 1, NAN]], 0.001) == 10
    assert runs_needed(LESS, [[0, 0], [1, 1]], 0.05) == 3
    assert runs_needed(LESS, [[0, 0], [1, 1]], 0.049) == 4
    assert runs_needed(partial(within_p, low=0, high=2), [[1, 1]], 0.05) == 5
    assert runs_needed(partial(equivalent_p, margin=1), [[1, 1], [1, 1]], 0.05) == 3


def test_the_power_of_a_sign_test_is_met() -> None:
    # With values of 1 and -1 the sign-flip test is the sign test, whose power is binomial.
    found = runs_needed(ABOVE, [[-1, 1, 1, 1]], 0.05)

    def power(n: int) -> float:
        return float(binom.sf(binom.isf(0.05, n, 0.5), n, 0.75))

    assert found is not None
    assert power(found) > 0.74
    assert min(n for n in range(2, 60) if power(n) > 0.74) <= found


@pytest.mark.parametrize(
    "samples", [[[0, 0, 0]], [[-1, -2, -3]], [[1]], [[]], [[NAN, 1]], [[-1, 1]]]
)
def test_runs_that_will_never_tell(samples: list[list[float]]) -> None:
    assert runs_needed(ABOVE, samples, 0.05, most=60) is None


def test_the_most_runs_are_tried_too() -> None:
    assert runs_needed(ABOVE, [[1, 1]], 0.001, most=9) is None
    assert runs_needed(ABOVE, [[1, 1]], 0.001, most=10) == 10


def test_a_seed_gives_the_same_number_again() -> None:
    a, b = np.random.default_rng(5).normal([[0.0], [1.0]], 1, (2, 10))

    found = runs_needed(LESS, [a, b], 0.05, rng=4)
    assert found == runs_needed(LESS, [a, b], 0.05, rng=4)
    assert runs_needed(LESS, [a, b], 0.05, rng=np.random.default_rng(4)) == found
    assert runs_needed(LESS, [a, b], 0.05, power=0.95) > found > 4


@pytest.mark.parametrize("wrong", [{"alpha": 0}, {"power": 1}, {"most": 1}, {"samples": []}])
def test_power_outside_its_range_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="alpha"):
        runs_needed(ABOVE, **{"samples": [[1, 2]], "alpha": 0.05, **wrong})
