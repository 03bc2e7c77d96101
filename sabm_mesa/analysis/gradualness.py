"""Gradualness: whether a course changes gradually or in one step.

A course is the value of a measure by round, such as the variance of the picks. It is described by
a line and one step (a change-point): a + b·t + d·[t ≥ k], with the round k of the step unknown. The
whole change over T rounds is D = b·(T − 1) + d, of which d is the step. The statistic of a run is
the *excess* of the gradual part over the step, b·(T − 1) − d, in the direction of cooperation. A
ramp has an excess of D, a single step one of −D.

Claim and null hypotheses
    The claim is that more than half of the change is outside the largest step: the mean excess over
    runs is above 0. The limit of one half is our choice. The null hypothesis includes no change, a
    change in one step, and a change with half of it in one step. The opposite claim is that at
    least half of the change is in one step; its null hypothesis is that less than half is.

Two choices of the step
    In a noisy course the round of the step is unknown. If k is fitted together with the line
    (`largest_step`), a step hidden by noise looks like a slope. If k is fitted without the line
    (`excess_beyond_step`), k is the split with the largest difference of means, and this selection
    reduces the slope. Each bias works against one of the two claims; that claim is tested with the
    biased statistic. The excess is capped at the whole change, so that a backward step and a
    forward slope cancel.

Type-I error
    The median over runs is tested with a sign test (`sabm_mesa.analysis.inference`), one-sided at
    2.5 %. `tests/analysis/test_gradualness.py` simulates studies without a change, with one step,
    at the limit of one half, and with a ramp.

Source
    The model with a line and a step is that of Perron 1989, "The Great Crash, the Oil Price Shock,
    and the Unit Root Hypothesis", Econometrica 57(6), model A; the step at the split with the
    largest difference of means is the usual estimate of one change-point. Using both is ours.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sabm_mesa.analysis.statistics import Floats

FEWEST_ROUNDS = 4
"""Minimum number of rounds for distinguishing a line from a step."""


def excess_beyond_step(path: npt.ArrayLike, *, falling: bool = False) -> float:
    """The change of a course outside its largest step, minus the step; at most the whole change.

    The step is at the split of the rounds with the largest difference of means.

    Args:
        path: the values by round, shape (n_rounds,), none of them NaN.
        falling: whether lower values are more cooperative.

    Returns:
        The excess in the unit of the values, positive for a gradual change; NaN with fewer than 4
        rounds.
    """
    slope, step = _fitted(path, with_line=False)
    sign = -1 if falling else 1
    return min(sign * (slope - step), sign * (slope + step))


def largest_step(path: npt.ArrayLike, *, falling: bool = False) -> float:
    """The largest step of a course, minus the change outside it.

    The step is at the split at which a line with a step fits best.

    Args:
        path: the values by round, shape (n_rounds,), none of them NaN.
        falling: whether lower values are more cooperative.

    Returns:
        The difference in the unit of the values, positive for a change in one step; NaN with fewer
        than 4 rounds.
    """
    slope, step = _fitted(path, with_line=True)
    return (slope - step) if falling else (step - slope)


def _fitted(path: npt.ArrayLike, *, with_line: bool) -> tuple[float, float]:
    """The change along the line over all rounds, and the step, for the best split.

    Args:
        path: see `largest_step`.
        with_line: whether to select the split by the fit of line and step together.
    """
    y: Floats = np.array(path, dtype=np.float64)
    rounds = y.size
    if rounds < FEWEST_ROUNDS:
        return math.nan, math.nan
    if np.ptp(y) == 0:
        return 0.0, 0.0  # a fit would leave a rounding error
    time: Floats = np.arange(rounds, dtype=np.float64) - (rounds - 1) / 2
    y -= float(y.mean())
    after = rounds - np.arange(1, rounds)  # rounds from the step on, by split
    step_of_y = _sums_from(y)
    step_of_time = _sums_from(time)
    of_step = after * (1 - after / rounds)
    of_time, line = time @ time, time @ y
    determinant = of_time * of_step - step_of_time**2
    step = (of_time * step_of_y - step_of_time * line) / determinant
    slope = (of_step * line - step_of_time * step_of_y) / determinant
    explained: Floats = slope * line + step * step_of_y if with_line else step_of_y**2 / of_step
    # Of splits that fit equally well up to rounding, take the first.
    best = int(np.flatnonzero(explained >= explained.max() * (1 - 1e-9))[0])
    return float(slope[best] * (rounds - 1)), float(step[best])


def _sums_from(values: Floats) -> Floats:
    """The sums of values after each split; all values sum to 0."""
    sums: Floats = -np.cumsum(values)[:-1]
    return sums
