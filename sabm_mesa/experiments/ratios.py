"""Ratios of conditions, such as how much smaller a drop is among those who have a past in common.

The unit is the run: intervals are percentile intervals of a bootstrap over the runs of both
conditions (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13). Where the
mean below the line may be 0, as far as these runs tell, a ratio says nothing: it is NaN.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from sabm_mesa.analysis.inference import CONFIDENCE, RESAMPLES
from sabm_mesa.experiments.design import Experiment
from sabm_mesa.experiments.measures import Floats, samples

TAIL = (1 - CONFIDENCE) / 2
ENDS = [TAIL, 1 - TAIL]


def ratios(experiment: Experiment, values: pd.DataFrame) -> pd.DataFrame:
    """The ratios that an experiment names, beside the published ones.

    Args:
        experiment: the experiment.
        values: its measures, as `measured` returns them.

    Returns:
        One row a ratio: ``label``, ``measure``, ``condition``, ``than``, ``ratio`` with ``low`` and
        ``high``, ``published`` and ``source``.
    """
    rows = []
    for each in experiment.ratios:
        above, below = (samples(values, each.measure, name) for name in (each.condition, each.than))
        found = ratio_of_means(above[~np.isnan(above)], below[~np.isnan(below)])
        place = each.label, each.measure, each.condition, each.than
        rows.append((*place, *found, each.number, each.source))
    columns = ["label", "measure", "condition", "than", "ratio", "low", "high", "published"]
    return pd.DataFrame(rows, columns=[*columns, "source"])


def ratio_of_means(above: Floats, below: Floats, *, seed: int = 0) -> tuple[float, float, float]:
    """The mean of some values relative to that of others, with its 95 % interval.

    Args:
        above: one number a run of the condition above the line.
        below: one number a run of the one below it.
        seed: of the bootstrap.

    Returns:
        The ratio and the ends of its interval; NaN with fewer than 2 runs in a condition, or when
        the interval of the mean below the line holds 0.
    """
    if min(above.size, below.size) < 2:
        return (math.nan,) * 3
    rng = np.random.default_rng(seed)
    tops, bottoms = (
        each[rng.integers(each.size, size=(RESAMPLES, each.size))].mean(axis=1)
        for each in (above, below)
    )
    low, high = np.quantile(bottoms, ENDS)
    if low <= 0 <= high:
        return (math.nan,) * 3
    low, high = np.quantile(tops[bottoms != 0] / bottoms[bottoms != 0], ENDS)
    return float(above.mean() / below.mean()), float(low), float(high)
