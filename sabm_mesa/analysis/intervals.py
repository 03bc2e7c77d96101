"""Intervals of 95 % over runs, and means by round.

The unit is the run: one number per run, since rounds and agents within a run are dependent.
`sign_interval`, `share_interval`, `inverted` and `shift_interval` have the values that the tests in
`sabm_mesa.analysis.tests` do not reject, each side at `LEVEL`. `mean_interval` describes means of
unbounded measures in tables and plots; no verdict uses it.

Sources:
    Clopper and Pearson (1934), Biometrika 26(4): the exact interval of a share.
    Conover (1999), "Practical Nonparametric Statistics", section 3.2: the interval of a median.
    Garthwaite (1996), "Confidence Intervals from Randomization Tests", Biometrics 52: the interval
    of a shift.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Side = Literal["above", "below"]
LEVEL = 0.025
"""The level of each one-sided test; two-sided verdicts and the interval have 5 %."""
CONFIDENCE = 1 - 2 * LEVEL
EXACT = 2**14
"""Maximum number of permutations that are all tried."""
RESAMPLES = 1999
"""Number of random permutations when there are more."""
FEWEST_FOR_INTERVAL = 5
"""Minimum number of runs for an interval of a mean."""
LAST_ROUNDS = 50
"""Number of rounds at the end of a run for the mean that is its final level."""
NONE = (math.nan, math.nan)
"""No interval."""


class MeanEstimate(NamedTuple):
    """The mean of n runs with its interval; NaN without runs, or with too few for an interval."""

    n: int
    mean: float
    low: float
    high: float


def sign_interval(x: Floats) -> tuple[float, float]:
    """Assumes independent runs of any distribution: interval of their median, two sorted runs.

    With fewer than 6 runs, there is no interval (NaN).
    """
    from scipy.stats import binom

    outside = int((binom.cdf(np.arange(x.size), x.size, 0.5) <= LEVEL).sum()) - 1
    ordered = np.sort(x)
    return (float(ordered[outside]), float(ordered[x.size - 1 - outside])) if outside >= 0 else NONE


def share_interval(x: Floats) -> tuple[float, float]:
    """Assumes independent runs that are 0 or 1: exact interval of their share."""
    from scipy.stats import binomtest

    found = binomtest(int(x.sum()), x.size).proportion_ci(CONFIDENCE)
    return float(found.low), float(found.high)


def inverted(
    p: Callable[[float, Side], float], mean: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Assumes a p-value that falls with the distance from the mean: the interval of its test.

    `p` is that of an estimand with these `bounds` being above (or below) a limit.
    """
    from scipy.optimize import brentq

    def end(outside: float, side: Side) -> float:
        if p(outside, side) >= LEVEL:
            return outside
        return float(brentq(lambda limit: p(limit, side) - LEVEL, outside, mean))

    return end(bounds[0], "above"), end(bounds[1], "below")


@lru_cache(maxsize=8)
def splits(total: int, n: int) -> tuple[Floats, bool]:
    """Choices of n of `total` positions as 0/1 rows, and whether these are all choices.

    Of more than `EXACT` choices, `RESAMPLES` are drawn.
    """
    exact = math.comb(total, n) <= EXACT
    if exact:
        chosen = np.array(list(combinations(range(total), n)))
    else:
        rng = np.random.default_rng(0)
        chosen = rng.random((RESAMPLES, total)).argpartition(n - 1, axis=1)[:, :n]
    rows = np.zeros((len(chosen), total))
    np.put_along_axis(rows, chosen, 1.0, axis=1)
    return rows, exact


def shift_interval(a: Floats, b: Floats) -> tuple[float, float]:
    """Assumes groups that differ by a shift alone: interval of the difference of their means.

    The permutation test rejects the shifts that few exchanges of runs between the groups exceed;
    an exchange gives the shift between the means of the exchanged runs.
    """
    first, exact = splits(a.size + b.size, a.size)
    out, into = 1 - first[:, : a.size], first[:, a.size :]
    n = out.sum(axis=1)
    shifts = np.sort(((out @ a) - (into @ b))[n > 0] / n[n > 0])
    # The groups as they are count as an exchange that exceeds each shift.
    as_they_are = int((n == 0).sum()) + (not exact)
    outside = int(LEVEL * (len(first) + (not exact))) - as_they_are
    return (float(shifts[outside]), float(shifts[-1 - outside])) if outside >= 0 else NONE


def mean_interval(values: Floats) -> tuple[float, float]:
    """Assumes runs that are about normal: Student's interval of their mean, cut to their range.

    It never leaves the bounds of the measure, since no run does. If all runs are 0 or 1, it is
    the exact interval of a share. It is NaN with fewer than `FEWEST_FOR_INTERVAL` runs, or if all
    runs are equal, since equal runs give no information about the spread.
    """
    from scipy.special import stdtrit

    n = values.size
    if n < 2 or np.ptp(values) <= 1e-12 * float(np.abs(values).max()):
        return NONE
    if np.isin(values, (0.0, 1.0)).all():
        return share_interval(values)
    if n < FEWEST_FOR_INTERVAL:
        return NONE
    mean = float(values.mean())
    half = float(stdtrit(n - 1, 1 - LEVEL)) * float(values.std(ddof=1)) / math.sqrt(n)
    return max(mean - half, float(values.min())), min(mean + half, float(values.max()))


def estimate_mean(values: Iterable[float | None]) -> MeanEstimate:
    """Mean of a measure over runs with its interval (`mean_interval`); NaN and None are left out.

    Raises:
        ValueError: for an infinite number.
    """
    x, _ = known_values(values)
    mean = float(x.mean()) if x.size else math.nan
    return MeanEstimate(x.size, mean, *mean_interval(x))


def mean_by_round(data: pd.DataFrame, column: str, *, kept: bool = False) -> pd.DataFrame:
    """Mean of a measure over runs by round, with its interval (see `mean_interval`).

    The unit is the run, since rounds within a run are dependent. The interval is valid for each
    round separately, not for the whole curve. After the first run has ended, the other runs are a
    selection: there is no mean then, unless ended runs keep their last value.

    Args:
        data: one row per run and round, with columns ``run``, ``round`` and `column`. Rows whose
            value is NaN (a round without valid picks) are left out.
        column: name of the measure.
        kept: whether a run that has ended keeps its last value (see `Study.kept_columns`).

    Returns:
        One row per round in rising order: ``round``, ``mean``, ``low``, ``high`` (units of
        `column`) and ``n``, the number of runs with a value. With too few runs for an interval,
        or runs that are all equal, the bounds are NaN; without runs, or after a run has ended, the
        mean is NaN too.

    Raises:
        ValueError: if a column is missing, a run has two rows for a round, or a value is infinite.
    """
    require_columns(data, ["run", "round", column])
    if data.duplicated(["run", "round"]).any():
        raise ValueError("a run has more than one row for a round: select one condition first")
    values = data.assign(value=data[column].astype("Float64").astype(float))
    # A pivot table would leave out rounds and runs without a value.
    table = values.set_index(["round", "run"])["value"].unstack().sort_index()  # noqa: PD010
    last = data.groupby("run")["round"].max().reindex(table.columns)
    ended = table.index.to_numpy()[:, None] > last.to_numpy()
    if kept:
        table = table.where(~ended, table.ffill())
    rows = []
    for (number, runs), gone in zip(table.iterrows(), ended, strict=True):
        n, *estimate = estimate_mean(runs)
        rows.append((number, *([math.nan] * 3 if gone.any() and not kept else estimate), n))
    return pd.DataFrame(rows, columns=["round", "mean", "low", "high", "n"])


def final_level(courses: Sequence[Sequence[float]], window: int = LAST_ROUNDS) -> float:
    """Mean over the last rounds of courses, shape (n_agents, n_rounds); NaN without rounds."""
    last = np.asarray(courses, dtype=float)[:, -window:]
    return float(last.mean()) if last.size else math.nan


def settling_round(
    courses: Sequence[Sequence[float]], tolerance: float, window: int = LAST_ROUNDS
) -> float:
    """The round from which on every course stays within `tolerance` of the final level.

    It is NaN if the courses, shape (n_agents, n_rounds), stay there for fewer than `window` rounds.
    """
    path = np.asarray(courses, dtype=float)
    away = (np.abs(path - final_level(courses, window)) > tolerance).any(axis=0)
    first = int(np.flatnonzero(away)[-1]) + 1 if away.any() else 0
    return float(first) if path.shape[1] - first >= window else math.nan


def known_values(values: Iterable[float | None]) -> tuple[Floats, int]:
    """The known values, and the number of missing ones (NaN, None and `pandas.NA`).

    Raises:
        ValueError: for an infinite number.
    """
    given = pd.Series(list(values), dtype=object).to_numpy(dtype=np.float64, na_value=math.nan)
    known = given[~np.isnan(given)]
    if np.isinf(known).any():
        raise ValueError("every value must be finite")
    return known, given.size - known.size


def require_columns(data: pd.DataFrame, columns: list[str]) -> None:
    """Raise a ValueError that names missing columns of a frame."""
    missing = [name for name in columns if name not in data.columns]
    if missing:
        raise ValueError(f"the data frame has no column {', '.join(missing)}")


def require_rows(data: pd.DataFrame, columns: list[str]) -> None:
    """Raise a ValueError for missing columns, or if the frame has no rows."""
    require_columns(data, columns)
    if data.empty:
        raise ValueError("the data frame has no rows: nothing to plot")
