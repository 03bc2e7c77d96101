"""Cohen's kappa against values computed by hand."""

import math

import pandas as pd
import pytest

from sabm_mesa.analysis.agreement import agreement_by_code, cohen_kappa

NAMES = ["code", "n", "first", "second", "agreed", "kappa", "low", "high"]


def coders(both: int, only_first: int, only_second: int, neither: int):
    """Two coders of whom this many units got the code from both, one, or none."""
    first = [True] * (both + only_first) + [False] * (only_second + neither)
    second = [True] * both + [False] * only_first + [True] * only_second + [False] * neither
    return first, second


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        ((20, 5, 10, 15), 0.4),  # p_o = 35/50, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5
        ((45, 15, 25, 15), 0.06 / 0.46),  # p_o = 0.6, p_e = 0.6 * 0.7 + 0.4 * 0.3 = 0.54
        ((10, 0, 0, 30), 1.0),
        ((0, 10, 10, 0), -1.0),  # p_o = 0, p_e = 0.5
        ((25, 25, 25, 25), 0.0),
        ((3, 1, 2, 4), 0.4),  # p_o = 0.7, p_e = 0.4 * 0.5 + 0.6 * 0.5 = 0.5
    ],
)
def test_kappa_computed_by_hand(counts, kappa: float) -> None:
    first, second = coders(*counts)

    assert cohen_kappa(first, second) == pytest.approx(kappa)
    assert cohen_kappa(second, first) == pytest.approx(kappa)


@pytest.mark.parametrize("counts", [(7, 0, 0, 0), (0, 0, 0, 7), (0, 0, 0, 0)])
def test_kappa_is_not_defined_when_both_always_give_the_same_code(counts) -> None:
    assert math.isnan(cohen_kappa(*coders(*counts)))


@pytest.mark.parametrize("counts", [(5, 2, 0, 0), (0, 3, 0, 4), (0, 6, 0, 0)])
def test_kappa_is_zero_when_a_coder_always_gives_another_code(counts) -> None:
    assert cohen_kappa(*coders(*counts)) == 0


def test_units_that_one_did_not_code_do_not_count() -> None:
    first = [True, True, False, None, math.nan, pd.NA]
    second = [True, False, False, True, False, True]

    assert cohen_kappa(first, second) == cohen_kappa(first[:3], second[:3]) == pytest.approx(0.4)


def test_coders_of_different_units_are_refused() -> None:
    with pytest.raises(ValueError, match="have coded 1 and 2 units"):
        cohen_kappa([True], [True, False])


def frames(**counts: tuple[int, int, int, int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    pairs = {code: coders(*each) for code, each in counts.items()}
    return (
        pd.DataFrame({code: first for code, (first, _) in pairs.items()}),
        pd.DataFrame({code: second for code, (_, second) in pairs.items()}),
    )


def test_agreement_code_by_code() -> None:
    found = agreement_by_code(
        *frames(some=(20, 5, 10, 15), all=(50, 0, 0, 0), none=(0, 0, 0, 50)), ["some", "all"]
    )

    assert list(found.columns) == NAMES
    some, every = found.to_dict("records")
    assert (some["code"], some["n"]) == ("some", 50)
    assert [some[name] for name in ("first", "second", "agreed")] == pytest.approx([0.5, 0.6, 0.7])
    assert some["kappa"] == pytest.approx(0.4)
    assert 0.1 < some["low"] < 0.4 < some["high"] < 0.7
    assert (every["first"], every["second"], every["agreed"]) == (1, 1, 1)
    assert all(math.isnan(every[name]) for name in ("kappa", "low", "high"))


def test_the_interval_is_that_of_kappas_own_formula_for_many_messages() -> None:
    found = agreement_by_code(*frames(a=(800, 200, 400, 600)), ["a"], n_resamples=4000).iloc[0]
    p_o, p_e = 0.7, 0.5
    # The simple standard error of Cohen (1960), which neglects that p_e is estimated too.
    error = math.sqrt(p_o * (1 - p_o) / 2000) / (1 - p_e)

    assert found["low"] == pytest.approx(0.4 - 1.96 * error, abs=0.006)
    assert found["high"] == pytest.approx(0.4 + 1.96 * error, abs=0.006)


def test_perfect_agreement_has_an_interval_of_one_point() -> None:
    found = agreement_by_code(*frames(a=(10, 0, 0, 10)), ["a"]).iloc[0]

    assert (found["kappa"], found["low"], found["high"]) == (1, 1, 1)


def test_a_seed_gives_the_same_interval() -> None:
    both = frames(a=(9, 3, 4, 20))
    first, second, other = (agreement_by_code(*both, ["a"], rng=seed) for seed in (1, 1, 2))

    pd.testing.assert_frame_equal(first, second)
    assert first["low"].iloc[0] != other["low"].iloc[0]


def test_nothing_was_coded() -> None:
    empty = pd.DataFrame({"a": pd.Series([], dtype=bool)})
    found = agreement_by_code(empty, empty, ["a"]).iloc[0]

    assert found["n"] == 0
    assert found[["first", "second", "agreed", "kappa", "low", "high"]].isna().all()


def test_what_cannot_be_compared_is_refused() -> None:
    first, second = frames(a=(1, 1, 1, 1))
    with pytest.raises(ValueError, match="no column b"):
        agreement_by_code(first, second, ["b"])
    with pytest.raises(ValueError, match="4 and 3 units"):
        agreement_by_code(first, second[:3], ["a"])
    with pytest.raises(ValueError, match="0 < confidence < 1"):
        agreement_by_code(first, second, ["a"], confidence=1)
