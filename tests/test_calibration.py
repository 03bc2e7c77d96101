"""The errors of all verdicts in simulated studies."""

from itertools import product

import pytest
from scipy.stats import binom

from benchmarks.calibration import BEGIN, BOUNDED, END, NUMBERS, PAGE, UNBOUNDED, cases, cell

DRAWS = 500


@pytest.mark.slow
def test_no_verdict_errs_more_often_than_its_level() -> None:
    most, least = binom.isf(1e-6, DRAWS, 0.025), DRAWS - binom.isf(1e-6, DRAWS, 0.05)
    wrong = []
    for case, n in product(cases(), NUMBERS):
        made = cell(case, n, DRAWS)
        # One of a million cells whose size is 2.5 % has more errors than this.
        if made.size * DRAWS > most or made.coverage * DRAWS < least:
            wrong.append((case.claim, case.name, n, made))

    assert wrong == []


def test_every_estimand_is_calibrated_over_a_dozen_distributions() -> None:
    assert min(len(BOUNDED), len(UNBOUNDED)) >= 12
    assert (NUMBERS[0], NUMBERS[-1]) == (5, 60)
    page = PAGE.read_text("utf-8")
    assert page.count(BEGIN) == page.count(END) == 1
