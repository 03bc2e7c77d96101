"""Statistics over runs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd


def bootstrap_mean_by_round(
    data: pd.DataFrame,
    column: str,
    *,
    rng: np.random.Generator | int = 0,
    confidence: float = 0.95,
    n_resamples: int = 2000,
) -> pd.DataFrame:
    """Mean of a measure over runs by round, with a bootstrap confidence interval.

    Whole runs are the unit that is resampled, since rounds within a run depend on one another;
    the interval holds round by round, not for the curve as a whole. It is the percentile
    interval (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13), which
    is somewhat narrow for few runs.

    Args:
        data: one row a run and round, with columns ``run``, ``round`` and `column`. Rows whose
            value is NaN (a round without valid picks) are left out.
        column: name of the measure.
        rng: generator or seed; a seed gives the same interval whatever the order of the rows.
        confidence: share of the resampled means inside the interval.
        n_resamples: number of bootstrap samples.

    Returns:
        One row a round in rising order: ``round``, ``mean``, ``low``, ``high`` (units of
        `column`) and ``n``, the number of runs with a value. With one run the bounds are NaN;
        with none the mean is NaN too.

    Raises:
        ValueError: if a column is missing, a run has two rows for a round, or `confidence` or
            `n_resamples` is out of range.
    """
    require_columns(data, ["run", "round", column])
    if not 0 < confidence < 1 or n_resamples < 1:
        raise ValueError(
            f"need 0 < confidence < 1 and n_resamples >= 1, not {confidence}, {n_resamples}"
        )
    if data.duplicated(["run", "round"]).any():
        raise ValueError("a run has more than one row for a round: select one condition first")
    generator = np.random.default_rng(rng)
    rows = []
    for number, group in data.sort_values(["round", "run"]).groupby("round"):
        values = group[column].to_numpy(dtype=np.float64, na_value=math.nan)
        values = values[~np.isnan(values)]
        low, high = _percentile_interval(values, generator, confidence, n_resamples)
        mean = float(values.mean()) if values.size else math.nan
        rows.append((number, mean, low, high, values.size))
    return pd.DataFrame(rows, columns=["round", "mean", "low", "high", "n"])


def require_columns(data: pd.DataFrame, columns: list[str]) -> None:
    """Check that a frame has these columns.

    Raises:
        ValueError: naming the columns that are missing.
    """
    missing = [name for name in columns if name not in data.columns]
    if missing:
        raise ValueError(f"the data frame has no column {', '.join(missing)}")


def require_rows(data: pd.DataFrame, columns: list[str]) -> None:
    """Check that a frame has these columns and any rows.

    Raises:
        ValueError: naming the columns that are missing, or saying that there are no rows.
    """
    require_columns(data, columns)
    if data.empty:
        raise ValueError("the data frame has no rows: nothing to plot")


def _percentile_interval(
    values: npt.NDArray[np.float64],
    rng: np.random.Generator,
    confidence: float,
    n_resamples: int,
) -> tuple[float, float]:
    """Percentile interval of the mean; NaN with fewer than two values."""
    if values.size < 2:
        return math.nan, math.nan
    means = values[rng.integers(values.size, size=(n_resamples, values.size))].mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)
