"""The errors of all verdicts in simulated studies, a few for each cell of docs/calibration.md."""

from pathlib import Path

import pytest
from scipy.stats import binom

from benchmarks.calibration import BOUNDED, NUMBERS, PAGE, PAGES, PARTS, UNBOUNDED, all_rows, put

DRAWS = 500


@pytest.mark.slow
def test_no_verdict_errs_more_often_than_its_level() -> None:
    rows = all_rows(DRAWS)

    assert {len(cells) for _, _, cells in rows} == {len(NUMBERS)}
    # One of a million cells whose size is 2.5 % has more errors than this.
    most = binom.isf(1e-6, DRAWS, 0.025) / DRAWS
    wrong = [(kind, name) for kind, name, cells in rows if max(c.size for c in cells) > most]
    assert wrong == []
    least = 1 - binom.isf(1e-6, DRAWS, 0.05) / DRAWS
    short = [(kind, name) for kind, name, cells in rows if min(c.coverage for c in cells) < least]
    assert short == []


def test_every_estimand_is_calibrated_over_a_dozen_distributions() -> None:
    assert min(len(BOUNDED), len(UNBOUNDED)) >= 12
    assert (NUMBERS[0], NUMBERS[-1]) == (5, 60)
    for part in PARTS:
        page = Path(PAGES.get(part, PAGE)).read_text("utf-8")
        assert put(page, part, "x").count(f"<!-- {part} -->\n\nx\n\n<!-- end of {part} -->") == 1
