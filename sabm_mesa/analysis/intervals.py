"""Intervals of 95 % over runs, means by round, and the agreement of two coders.

The unit is the run: one number per run, since rounds and agents within a run are dependent.
`sign_interval`, `share_interval`, `inverted` and `shift_interval` have the values that the tests in
`sabm_mesa.analysis.tests` do not reject, each side at `LEVEL`. `mean_interval` describes means of
unbounded measures in tables and plots; no verdict uses it.

Sources:
    Clopper and Pearson (1934), Biometrika 26(4): the exact interval of a share.
    Conover (1999), "Practical Nonparametric Statistics", section 3.2: the interval of a median.
    Garthwaite (1996), "Confidence Intervals from Randomization Tests", Biometrics 52: the interval
    of a shift.
    Cohen (1960), "A coefficient of agreement for nominal scales", Educational and Psychological
    Measurement 20(1): kappa and its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Side = Literal["above", "below"]
LEVEL = 0.025
"""The level of each one-sided test; two-sided verdicts and the interval have 5 %."""
CONFIDENCE = 1 - 2 * LEVEL
RESAMPLES = 1999
"""Number of random permutations when there are more than this."""
FEWEST_FOR_INTERVAL = 5
"""Minimum number of runs for an interval of a mean."""
LAST_ROUNDS = 50
"""Number of rounds at the end of a run for the mean that is its final level."""
NONE = (math.nan, math.nan)
"""No interval."""


class MeanEstimate(NamedTuple):
    """A mean over runs.

    Attributes:
        n: number of runs with a value.
        mean: their mean, in units of the values; NaN without runs.
        low: lower limit of its interval; NaN with too few runs.
        high: upper limit.
    """

    n: int
    mean: float
    low: float
    high: float


def sign_interval(x: Floats) -> tuple[float, float]:
    """Interval of a median, for independent runs of any distribution: two of the sorted runs.

    Args:
        x: the runs; with fewer than 6, there is no interval (NaN).
    """
    from scipy.stats import binom

    outside = int(binom.ppf(LEVEL, x.size, 0.5)) - 1
    while outside >= 0 and binom.cdf(outside, x.size, 0.5) > LEVEL:
        outside -= 1
    ordered = np.sort(x)
    return (float(ordered[outside]), float(ordered[x.size - 1 - outside])) if outside >= 0 else NONE


def share_interval(x: Floats) -> tuple[float, float]:
    """Exact interval of a share, for independent runs that are 0 or 1.

    Args:
        x: the runs.
    """
    from scipy.stats import binomtest

    found = binomtest(int(x.sum()), x.size).proportion_ci(CONFIDENCE)
    return float(found.low), float(found.high)


def inverted(
    p: Callable[[float, Side], float], mean: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Interval of a test whose p-value falls with the distance of a limit from the mean.

    Args:
        p: the p-value of the estimand being above (or below) a limit.
        mean: the mean of the runs.
        bounds: the bounds of the estimand.
    """
    from scipy.optimize import brentq

    def end(outside: float, side: Side) -> float:
        def beyond(limit: float) -> float:
            return p(limit, side) - LEVEL

        return float(brentq(beyond, outside, mean)) if beyond(outside) < 0 else outside

    return end(bounds[0], "above"), end(bounds[1], "below")


def shift_interval(a: Floats, b: Floats) -> tuple[float, float]:
    """Interval of the difference of two means, for groups that differ by a shift alone.

    The permutation test rejects the shifts that few exchanges of runs between the groups exceed;
    an exchange gives the shift between the means of the exchanged runs.

    Args:
        a: the runs of a group.
        b: those of the other; the runs of both are independent.
    """
    rng = np.random.default_rng(0)
    first = rng.random((RESAMPLES, a.size + b.size)).argsort(axis=1) < a.size
    out, into = ~first[:, : a.size], first[:, a.size :]
    n = out.sum(axis=1)
    shifts = np.sort(((out @ a) - (into @ b))[n > 0] / n[n > 0])
    # The groups as they are count as an exchange that exceeds each shift.
    outside = int(LEVEL * (RESAMPLES + 1)) - 1 - int((n == 0).sum())
    return (float(shifts[outside]), float(shifts[-1 - outside])) if outside >= 0 else NONE


def mean_interval(values: Floats) -> tuple[float, float]:
    """Student's interval of a mean, for runs that are about normal, cut to the range of the runs.

    It never leaves the bounds of the measure, since no run does. `docs/calibration.md` has its
    coverage. If all runs are 0 or 1, it is the exact interval of a share.

    Args:
        values: one number per run, none missing.

    Returns:
        Lower and upper limit; NaN with fewer than `FEWEST_FOR_INTERVAL` runs, or if all runs are
        equal, since equal runs give no information about the spread.
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
    """Mean of a measure over runs, with its interval (see `mean_interval`).

    Args:
        values: one number per run; NaN and None are left out.

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
        kept: whether a run that has ended keeps its last value (see `Declarations.kept_columns`).

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


def complete_rounds(data: pd.DataFrame) -> pd.DataFrame:
    """The rows of the rounds that all runs have: those before the first run ends.

    Args:
        data: with ``run`` and ``round``.
    """
    last = int(data.groupby("run")["round"].max().min())
    return data[data["round"] <= last]


def agreement_by_code(
    first: pd.DataFrame, second: pd.DataFrame, codes: Sequence[str]
) -> pd.DataFrame:
    """The agreement of two coders, by code, for many independent messages.

    If messages of a run resemble each other, the interval is too narrow.

    Args:
        first: one row per message, with one boolean column per code; missing if the coder gave
            none.
        second: the same messages in the same order, by the other coder.
        codes: the columns.

    Returns:
        One row per code: ``code``, ``n`` (messages coded by both), ``first`` and ``second`` (the
        share with the code, by coder), ``agreed`` (the share coded alike), ``kappa`` (Cohen's),
        ``low`` and ``high`` (of Cohen's standard error; NaN if kappa is NaN).

    Raises:
        ValueError: when a column is missing, or the frames are not of one length.
    """
    for frame in (first, second):
        require_columns(frame, list(codes))
    rows = []
    for code in codes:
        one, other = _known_codes(first[code].tolist(), second[code].tolist())
        n = one.size
        shares = [float(values.mean()) if n else math.nan for values in (one, other, one == other)]
        kappa, error = _kappa(one, other)
        low, high = max(-1.0, kappa - error), min(1.0, kappa + error)
        if math.isnan(kappa):
            low = high = math.nan
        rows.append((code, n, *shares, kappa, low, high))
    names = ["code", "n", "first", "second", "agreed", "kappa", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def final_level(courses: Sequence[Sequence[float]], window: int = LAST_ROUNDS) -> float:
    """Mean of several courses over the last rounds.

    Args:
        courses: for each agent its value by round, such as a price, shape (n_agents, n_rounds).
        window: number of rounds; all rounds if there are fewer.

    Returns:
        The mean; NaN without rounds.
    """
    last = np.asarray(courses, dtype=float)[:, -window:]
    return float(last.mean()) if last.size else math.nan


def settling_round(
    courses: Sequence[Sequence[float]], tolerance: float, window: int = LAST_ROUNDS
) -> float:
    """The round from which on every course stays within `tolerance` of the final level.

    Args:
        courses: for each agent its value by round, shape (n_agents, n_rounds).
        tolerance: the largest distance, in the unit of the values.
        window: minimum number of rounds for which the courses stay there, up to the end of the run.

    Returns:
        The round, from 0; NaN if the courses stay there for fewer than `window` rounds.
    """
    path = np.asarray(courses, dtype=float)
    away = (np.abs(path - final_level(courses, window)) > tolerance).any(axis=0)
    first = int(np.flatnonzero(away)[-1]) + 1 if away.any() else 0
    return float(first) if path.shape[1] - first >= window else math.nan


def known_values(values: Iterable[float | None]) -> tuple[Floats, int]:
    """The known values, and the number of missing values.

    Args:
        values: numbers; NaN, None and `pandas.NA` are missing.

    Raises:
        ValueError: for an infinite number.
    """
    given = pd.Series(list(values), dtype=object).to_numpy(dtype=np.float64, na_value=math.nan)
    known = given[~np.isnan(given)]
    if np.isinf(known).any():
        raise ValueError("every value must be finite")
    return known, given.size - known.size


def require_columns(data: pd.DataFrame, columns: list[str]) -> None:
    """Check that a frame has these columns.

    Raises:
        ValueError: naming the columns that are missing.
    """
    missing = [name for name in columns if name not in data.columns]
    if missing:
        raise ValueError(f"the data frame has no column {', '.join(missing)}")


def require_rows(data: pd.DataFrame, columns: list[str]) -> None:
    """Check that a frame has these columns and at least one row.

    Raises:
        ValueError: naming the columns that are missing, or saying that there are no rows.
    """
    require_columns(data, columns)
    if data.empty:
        raise ValueError("the data frame has no rows: nothing to plot")


def _known_codes(
    first: Sequence[object], second: Sequence[object]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """The codes of the units that both coders have coded."""
    if len(first) != len(second):
        raise ValueError(
            f"the coders have coded {len(first)} and {len(second)} units: need the same ones"
        )
    one, other = (pd.Series(list(codes), dtype=object) for codes in (first, second))
    known = one.notna() & other.notna()
    return one[known].to_numpy(dtype=bool), other[known].to_numpy(dtype=bool)


def _kappa(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Cohen's kappa, (p_o − p_e) / (1 − p_e), and half the width of its interval.

    p_o is the share of units that both coded alike, p_e the share that they would code alike by
    chance, given how often each of them codes. Both numbers are NaN without units, or if both gave
    the same code to all units (p_e = 1).
    """
    from scipy.special import ndtri

    n = first.size
    # Compare counts as integers, so that chance agreement of exactly 1 is detected.
    a, b, alike = (int(counts.sum()) for counts in (first, second, first == second))
    by_chance = a * b + (n - a) * (n - b)
    if by_chance >= n * n:
        return math.nan, math.nan
    observed, expected = alike / n, by_chance / n**2
    error = math.sqrt(observed * (1 - observed) / n) / (1 - expected)
    return (observed - expected) / (1 - expected), float(ndtri(1 - LEVEL)) * error
