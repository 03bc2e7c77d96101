"""Shared statistics of scenarios and studies: means with intervals, agreement, convergence.

Means have the intervals of `mean_interval`. Other statistics (ratios, agreement, shares of
variance) have percentile bootstrap intervals (Efron and Tibshirani 1993, "An Introduction to the
Bootstrap", chapter 13), which are somewhat narrow for few runs; verdicts do not use them.
`bootstrap_interval` is the only percentile bootstrap of the package. It draws the same resamples as
`scipy.stats.bootstrap`, which cannot replace it: that function refuses samples of one observation
(a combination of levels with one run), returns NaN when the statistic is undefined in a single
resample (a ratio, kappa), and costs the import of `scipy.stats`, more than half a second, in every
run that draws an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
CONFIDENCE = 0.95
RESAMPLES = 2000
FEWEST_FOR_INTERVAL = 5
"""Minimum number of runs for an interval of a mean; with fewer runs, no interval has valid
coverage.
"""
LAST_ROUNDS = 50
"""Number of rounds at the end of a run for the mean that is its final level."""


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


def bootstrap_interval(
    statistic: Callable[..., Floats],
    *samples: npt.NDArray[np.generic],
    rng: np.random.Generator | int = 0,
    confidence: float = CONFIDENCE,
    n_resamples: int = RESAMPLES,
) -> Floats:
    """Percentile bootstrap interval of a statistic of independent samples.

    Each sample is resampled separately, with replacement. Resamples with an undefined statistic
    (NaN) are left out.

    Args:
        statistic: takes one array per sample, each of shape (resamples, n), and returns the
            statistic of each resample, shape (resamples,), or several, shape (k, resamples).
        samples: the observations, 1-D and at least one in each.
        rng: generator or seed.
        confidence: share of the resampled statistics inside the interval.
        n_resamples: number of bootstrap samples.

    Returns:
        Lower and upper limit, shape (2,) or (2, k); NaN if the statistic is never defined.

    Raises:
        ValueError: if `confidence` or `n_resamples` is out of range.
    """
    _check_resampling(confidence, n_resamples)
    generator = np.random.default_rng(rng)
    drawn = [
        sample[generator.integers(sample.size, size=(n_resamples, sample.size))]
        for sample in samples
    ]
    estimates = statistic(*drawn)
    defined = estimates[..., ~np.isnan(estimates).reshape(-1, n_resamples).any(axis=0)]
    if not defined.size:
        return np.full((2, *estimates.shape[:-1]), math.nan)
    tail = (1 - confidence) / 2
    limits: Floats = np.quantile(defined, [tail, 1 - tail], axis=-1)
    return limits


def mean_interval(values: Floats) -> tuple[float, float]:
    """95 % interval of a mean over runs: Student's t, cut to the range of the runs.

    It assumes runs that are about normal: it describes the runs, and no verdict uses it
    (`docs/calibration.md` has its coverage). It never leaves the bounds of the measure, since no
    run does. If all runs are 0 or 1, it is the exact interval of a share (Clopper and Pearson
    1934).

    Args:
        values: one number per run, none missing.

    Returns:
        Lower and upper limit; NaN with fewer than `FEWEST_FOR_INTERVAL` runs, or if all runs are
        equal, since equal runs give no information about the spread.
    """
    from scipy.special import betaincinv, stdtrit

    n, tail = values.size, (1 - CONFIDENCE) / 2
    if n < 2 or np.ptp(values) <= 1e-12 * float(np.abs(values).max()):
        return math.nan, math.nan
    if np.isin(values, (0.0, 1.0)).all():
        ones = int(values.sum())
        low = float(betaincinv(ones, n - ones + 1, tail))
        return low, float(betaincinv(ones + 1, n - ones, 1 - tail))
    if n < FEWEST_FOR_INTERVAL:
        return math.nan, math.nan
    mean = float(values.mean())
    half = float(stdtrit(n - 1, 1 - tail)) * float(values.std(ddof=1)) / math.sqrt(n)
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
    first: pd.DataFrame,
    second: pd.DataFrame,
    codes: Sequence[str],
    *,
    rng: np.random.Generator | int = 0,
    confidence: float = CONFIDENCE,
    n_resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """The agreement of two coders, by code.

    The bootstrap resamples messages and assumes that they are independent. If messages of a run
    resemble each other, the interval is too narrow.

    Args:
        first: one row per message, with one boolean column per code; missing if the coder gave
            none.
        second: the same messages in the same order, by the other coder.
        codes: the columns.
        rng: generator or seed of the bootstrap.
        confidence: share of the resampled kappas inside the interval.
        n_resamples: number of bootstrap samples.

    Returns:
        One row per code: ``code``, ``n`` (messages coded by both), ``first`` and ``second`` (the
        share with the code, by coder), ``agreed`` (the share coded alike), ``kappa``, ``low`` and
        ``high`` (NaN if kappa is NaN).

    Raises:
        ValueError: when a column is missing, the frames are not of one length, or `confidence` or
            `n_resamples` is out of range.
    """
    _check_resampling(confidence, n_resamples)
    for frame in (first, second):
        require_columns(frame, list(codes))
    generator = np.random.default_rng(rng)
    rows = []
    for code in codes:
        one, other = _known_codes(first[code].tolist(), second[code].tolist())
        n = one.size
        kappa = float(_kappa(one, other))
        low, high = math.nan, math.nan
        if not math.isnan(kappa):
            pairs = 2 * one.astype(np.int64) + other  # both codes of a message are drawn together
            low, high = bootstrap_interval(
                lambda drawn: _kappa(drawn > 1, drawn % 2 == 1), pairs,
                rng=generator, confidence=confidence, n_resamples=n_resamples,
            ).tolist()  # fmt: skip
        shares = [float(values.mean()) if n else math.nan for values in (one, other, one == other)]
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


def _check_resampling(confidence: float, n_resamples: int) -> None:
    if not 0 < confidence < 1 or n_resamples < 1:
        raise ValueError(
            f"need 0 < confidence < 1 and n_resamples >= 1, not {confidence}, {n_resamples}"
        )


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


def _kappa(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> Floats:
    """Cohen's kappa over the last axis: (p_o − p_e) / (1 − p_e).

    p_o is the share of units that both coded alike, p_e the share that they would code alike by
    chance, given how often each of them codes. Source: Cohen 1960, "A coefficient of agreement
    for nominal scales", Educational and Psychological Measurement 20(1), 37-46. scipy has
    no kappa.

    Returns:
        NaN without units, or if both gave the same code to all units (p_e = 1).
    """
    n = first.shape[-1]
    # Compare counts as integers, so that chance agreement of exactly 1 is detected.
    a, b, alike = (counts.sum(axis=-1) for counts in (first, second, first == second))
    by_chance = a * b + (n - a) * (n - b)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa: Floats = np.where(
            by_chance < n * n, (n * alike - by_chance) / (n * n - by_chance), math.nan
        )
    return kappa
