"""Gradualness: whether a course changes step by step, or at once.

A course is the value of a measure by round, such as the variance of the picks. It is described by
a line and one step (a change-point): a + b·t + d·[t ≥ k], with the round k of the step unknown. Of
the whole change D = b·(T − 1) + d over T rounds, d comes in the step and the rest outside it. The
statistic of a run is the *excess*, the rest less the step, (b·(T − 1) − d) in the direction of
cooperation. A ramp has an excess of D, a single step one of −D.

Claim and null hypotheses
    The claim is that more than half of the change comes outside its largest step: the mean excess
    over runs is above 0. The limit of one half is our choice. Its null holds when there is no
    change, when all of it comes in one step, and when half of it does. The opposite claim, that
    half or more comes in one step, has the null that less does.

Two choices of the step
    The step of a noisy course is not known. Where k is fitted together with the line
    (`largest_step`), a step that noise hides is taken for a slope; where it is fitted without the
    line (`excess_beyond_step`), k is the split with the largest difference of means, and the
    selection takes slope away. Each bias speaks against one of the claims, and that one is tested
    with it. The excess counts at most as much as the whole change, so that a step back and a slope
    forth are no change.

Type-I error
    The median over runs is tested by signs (`sabm_mesa.analysis.inference`), one-sided at 2.5 %.
    `tests/analysis/test_gradualness.py` simulates studies without a change, with one step, at the
    limit of one half, and with a ramp.

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
"""Rounds below which a line and a step cannot be distinguished."""


def excess_beyond_step(path: npt.ArrayLike, *, falling: bool = False) -> float:
    """The change of a course outside its largest step, less the step; at most the whole change.

    The step is at the split of the rounds with the largest difference of means.

    Args:
        path: the values by round, shape (n_rounds,), none of them NaN.
        falling: whether lower values are the more cooperative ones.

    Returns:
        The excess in the unit of the values, positive for a change step by step; NaN with fewer
        than 4 rounds.
    """
    slope, step = _fitted(path, with_line=False)
    sign = -1 if falling else 1
    return min(sign * (slope - step), sign * (slope + step))


def largest_step(path: npt.ArrayLike, *, falling: bool = False) -> float:
    """The largest step of a course, less the change outside it.

    The step is where a line with a step fits best.

    Args:
        path: the values by round, shape (n_rounds,), none of them NaN.
        falling: whether lower values are the more cooperative ones.

    Returns:
        The difference in the unit of the values, positive for a change at once; NaN with fewer
        than 4 rounds.
    """
    slope, step = _fitted(path, with_line=True)
    return (slope - step) if falling else (step - slope)


def _fitted(path: npt.ArrayLike, *, with_line: bool) -> tuple[float, float]:
    """The change by the line over all rounds, and the step, of the best split.

    Args:
        path: see `largest_step`.
        with_line: whether the split is that at which line and step together fit best.
    """
    y: Floats = np.array(path, dtype=np.float64)
    rounds = y.size
    if rounds < FEWEST_ROUNDS:
        return math.nan, math.nan
    if np.ptp(y) == 0:
        return 0.0, 0.0  # a fit would leave an error of rounding
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
    # Splits that fit equally well but for rounding: the first of them.
    best = int(np.flatnonzero(explained >= explained.max() * (1 - 1e-9))[0])
    return float(slope[best] * (rounds - 1)), float(step[best])


def _sums_from(values: Floats) -> Floats:
    """The sums of values from each split on, of values whose sum is 0."""
    sums: Floats = -np.cumsum(values)[:-1]
    return sums
