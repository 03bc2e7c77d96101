"""The errors of all verdicts in simulated studies."""

import pytest
from scipy.stats import binom

from benchmarks.calibration import BEGIN, BOUNDED, END, NUMBERS, PAGE, UNBOUNDED, cases, cell

DRAWS = 500


@pytest.mark.slow
def test_no_verdict_errs_more_often_than_its_level() -> None:
    # One of a million cells whose size is 2.5 % has more errors than this.
    most = binom.isf(1e-6, DRAWS, 0.025) / DRAWS
    least = 1 - binom.isf(1e-6, DRAWS, 0.05) / DRAWS
    cells = [(case.claim, case.name, n, cell(case, n, DRAWS)) for case in cases() for n in NUMBERS]

    assert [row for row in cells if row[-1].size > most or row[-1].coverage < least] == []


def test_every_estimand_is_calibrated_over_a_dozen_distributions() -> None:
    assert min(len(BOUNDED), len(UNBOUNDED)) >= 12
    assert (NUMBERS[0], NUMBERS[-1]) == (5, 60)
    page = PAGE.read_text("utf-8")
    assert page.count(BEGIN) == page.count(END) == 1
