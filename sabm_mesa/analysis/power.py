"""How many runs a test would need, judged by the runs there are.

Source:
    Efron and Tibshirani (1993), "An Introduction to the Bootstrap", section 25.4: the power of
    a test from samples drawn out of the observed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
SIMULATIONS = 400
"""Experiments simulated for each number of runs: a power of 0.8 is known to ± 0.04."""


def runs_needed(
    test_function: Callable[..., Floats],
    samples: Sequence[npt.ArrayLike],
    alpha: float,
    power: float = 0.8,
    most: int = 500,
    rng: np.random.Generator | int = 0,
) -> int | None:
    """The smallest number of runs per condition at which a test would most likely tell.

    Experiments with n runs in each condition are drawn with replacement from the runs there are,
    and the share with p at most `alpha` is their power at n. The number is searched for by
    doubling and then halving the interval. It says what a repetition could show if the world is
    as these runs are: with few of them it is a rough guide, and it is no evidence for a claim.

    Args:
        test_function: takes one array a condition, each of shape (experiments, n), and returns
            the p-values, shape (experiments,): a function of `permutation` with its other
            arguments bound, such as ``partial(two_sample_p, order="less")``.
        samples: the runs of each condition, one number a run; NaN is left out.
        alpha: the level, between 0 and 1: a test tells when p is at most that.
        power: the share of experiments that has to tell, between 0 and 1.
        most: the largest number of runs that is tried, 2 or more.
        rng: generator or seed; a seed gives the same number again.

    Returns:
        The number of runs per condition, never fewer than the test needs to reach `alpha` at
        all; None if it is more than `most`, or a condition has fewer than two runs to draw from.

    Raises:
        ValueError: if `alpha`, `power` or `most` is out of range or there are no samples.
    """
    if not (0 < alpha < 1 and 0 < power < 1 and most >= 2 and samples):
        raise ValueError(
            "need samples, alpha and power between 0 and 1, and most >= 2, "
            f"not {len(samples)} samples, {alpha}, {power}, {most}"
        )
    observed = [np.asarray(sample, dtype=np.float64) for sample in samples]
    observed = [sample[~np.isnan(sample)] for sample in observed]
    if min(sample.size for sample in observed) < 2:
        return None
    seed = int(np.random.default_rng(rng).integers(2**32))

    def tells(n: int) -> bool:
        """Whether n runs are enough; drawn by n alone, whatever was tried before."""
        draw = np.random.default_rng([seed, n])
        drawn = [s[draw.integers(s.size, size=(SIMULATIONS, n))] for s in observed]
        return float(np.mean(test_function(*drawn) <= alpha)) >= power

    too_few, enough = 1, 2
    while not tells(enough):
        if enough == most:
            return None
        too_few, enough = enough, min(2 * enough, most)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if tells(middle) else (middle, enough)
    return enough
