"""Measures of a commons: survival, gain, efficiency, equality and over-usage.

Definitions: Piatti et al. 2024, arXiv 2404.16698 v4, section 2.4.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis.intervals import require_columns
from sabm_mesa.models.commons.theory import has_collapsed, sustainable_harvest

CONFIDENCE = 0.95


def efficiency(total: float, horizon: int, stock: int) -> float:
    """The harvest relative to the largest sustainable one.

    u = 1 − max(0, T·f(0) − Σ R) / (T·f(0)), f(0) = floor(h(0) / 2).

    Args:
        total: harvest of all in the whole run (units).
        horizon: months, T.
        stock: units at the beginning, h(0) (2 or more).

    Returns:
        0 (nothing was harvested) to 1.
    """
    most = horizon * sustainable_harvest(stock)
    return 1 - max(0.0, most - total) / most


def equality(gains: Sequence[float]) -> float:
    """One minus the Gini coefficient of the gains.

    ``e = 1 − Σ_i Σ_j |R_i − R_j| / (2·n·Σ_i R_i)``.

    Args:
        gains: units by agent (0 or more).

    Returns:
        1 if all gained the same, 1 / n if one gained everything; NaN without gains.
    """
    values = np.asarray(gains, dtype=float)
    total = values.sum()
    if total <= 0:
        return math.nan
    differences = np.abs(values[:, None] - values[None, :]).sum()
    return float(1 - differences / (2 * values.size * total))


def over_usage(harvests: Sequence[float], thresholds: Sequence[float]) -> float:
    """The share of harvests above the sustainable amount per person of the month.

    o = Σ_i Σ_t 1[r_t^i > f(t)] / (n·m), with one harvest a person and month. The published tables
    do not follow this formula: their denominator seems to include utterances.

    Args:
        harvests: units, one for each person and month.
        thresholds: the sustainable amount of a person in that month, for each of them.

    Returns:
        0 to 1; NaN without a harvest.
    """
    above = np.asarray(harvests, dtype=float) > np.asarray(thresholds, dtype=float)
    return float(above.mean()) if above.size else math.nan


def run_measures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    horizon: int,
    stock: int,
    first_round: int = 0,
) -> dict[str, Any]:
    """The measures of one run.

    Args:
        model_data: one row per month, with columns ``round`` and ``threshold``.
        agent_data: one row per agent and month, with columns ``round``, ``agent`` and ``harvest``
            (units; NaN while an agent does not take part).
        horizon: months of a run at most.
        stock: units at the beginning.
        first_round: the first round that is measured, from 0.

    Returns:
        ``survival_time`` (months played until the commons collapsed, the month of the collapse
        included, or all), ``survived`` (whether that is the horizon; as published, also when the
        last harvest destroyed the commons), ``gain`` (units a person, mean), ``efficiency``,
        ``equality`` and ``over_usage`` (all 0 to 1; NaN without months).
    """
    require_columns(model_data, ["round", "threshold"])
    require_columns(agent_data, ["round", "agent", "harvest"])
    months = model_data[model_data["round"] >= first_round]
    rows = agent_data[agent_data["round"] >= first_round].dropna(subset=["harvest"])
    thresholds = months.set_index("round")["threshold"]
    gains = rows["harvest"].astype(float).groupby(rows["agent"]).sum()
    length = horizon - first_round
    played = not rows.empty
    return {
        "survival_time": len(months),
        "survived": len(months) == length,
        "gain": float(gains.mean()) if played else math.nan,
        "efficiency": efficiency(float(gains.sum()), length, stock) if played else math.nan,
        "equality": equality(gains.tolist()),
        "over_usage": over_usage(rows["harvest"].tolist(), rows["round"].map(thresholds).tolist()),
    }


def survival(model_data: pd.DataFrame, collapse_below: int) -> pd.DataFrame:
    """The length of each run, and whether it ended in a collapse.

    Args:
        model_data: one row per run and month, with columns ``run``, ``round`` and ``left`` (units
            left after the harvest).
        collapse_below: the commons has collapsed when less than this is left (units).

    Returns:
        One row per run: ``run``, ``months`` and ``collapsed``. The length of a run that did not
        collapse is censored.
    """
    require_columns(model_data, ["run", "round", "left"])
    last = model_data.sort_values("round").groupby("run").tail(1).sort_values("run")
    return pd.DataFrame(
        {
            "run": last["run"].to_numpy(),
            "months": last["round"].to_numpy() + 1,
            "collapsed": has_collapsed(last["left"].to_numpy(), collapse_below),
        }
    )


def kaplan_meier(months: Sequence[int], collapsed: Sequence[bool]) -> pd.DataFrame:
    """The share of surviving commons by month: the Kaplan–Meier estimate.

    Source: Kaplan & Meier 1958, JASA 53(282); computed by `scipy.stats.ecdf`.

    Args:
        months: months that each run lasted (at least one run).
        collapsed: whether it ended in a collapse; otherwise it is censored.

    Returns:
        One row for each length, in rising order, after one for month 0: ``month``,
        ``survival`` (the share of longer runs), and ``low`` and ``high``, the ends of the 95 %
        interval (Greenwood's variance on the log-log scale; NaN where it is not defined, as
        before the first collapse).

    Raises:
        ValueError: when there is no run, or the lengths of the arguments differ.
    """
    from scipy import stats

    lengths, ended = np.asarray(months, dtype=float), np.asarray(collapsed, dtype=bool)
    if not lengths.size or lengths.shape != ended.shape:
        raise ValueError("kaplan_meier needs at least one run, and for each whether it collapsed")
    sample = stats.CensoredData(uncensored=lengths[ended], right=lengths[~ended])
    estimate = stats.ecdf(sample).sf
    with warnings.catch_warnings():
        # SciPy warns if the interval is undefined (NaN).
        warnings.simplefilter("ignore", RuntimeWarning)
        ends: Any = estimate.confidence_interval(CONFIDENCE, method="log-log")
    survival = pd.DataFrame(
        {
            "month": estimate.quantiles,
            "survival": estimate.probabilities,
            "low": ends.low.probabilities,
            "high": ends.high.probabilities,
        }
    )
    start = pd.DataFrame({"month": [0.0], "survival": [1.0], "low": [math.nan], "high": [math.nan]})
    return pd.concat([start, survival], ignore_index=True)
