"""Agreement between two coders: Cohen's kappa."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.statistics import require_columns

Floats = npt.NDArray[np.float64]


def cohen_kappa(first: Sequence[object], second: Sequence[object]) -> float:
    """Cohen's kappa of two coders: (p_o − p_e) / (1 − p_e).

    p_o is the share of units that both coded alike, p_e the share that they would code alike by
    chance, given how often each of them codes. Source: Cohen 1960, "A coefficient of agreement
    for nominal scales", Educational and Psychological Measurement 20(1), 37-46.

    Args:
        first: for each unit whether the first coder gave it the code; None or NaN where it is
            not known.
        second: what the second coder said of the same units.

    Returns:
        1 for perfect agreement, 0 for that of chance, negative below it. NaN when it is not
        defined: without a unit that both have coded, and when both gave one and the same code to
        all units (p_e = 1), however well they agree. When only one of them always gives the same
        code, or each a different one, kappa is 0.

    Raises:
        ValueError: when they have not coded the same number of units.
    """
    return float(_kappa(_counts(first, second)[np.newaxis])[0])


def agreement_by_code(
    first: pd.DataFrame,
    second: pd.DataFrame,
    codes: Sequence[str],
    *,
    rng: np.random.Generator | int = 0,
    confidence: float = 0.95,
    n_resamples: int = 2000,
) -> pd.DataFrame:
    """How far two coders agree, code by code.

    The interval is the percentile bootstrap over messages (Efron and Tibshirani 1993, chapter 13).
    It takes messages for independent of one another; where those of one run resemble each other it
    is too narrow. Samples in which kappa is not defined are left out.

    Args:
        first: one row a message, with a boolean column a code; missing where the coder gave none.
        second: the same messages in the same order, by the other coder.
        codes: the columns.
        rng: generator or seed of the bootstrap.
        confidence: share of the resampled kappas inside the interval.
        n_resamples: number of bootstrap samples.

    Returns:
        One row a code: ``code``, ``n`` (messages that both have coded), ``first`` and ``second``
        (the share of them that each gave the code), ``agreed`` (the share coded alike), ``kappa``,
        ``low`` and ``high`` (NaN where kappa is).

    Raises:
        ValueError: when a column is missing, the frames are not of one length, or `confidence` or
            `n_resamples` is out of range.
    """
    if not 0 < confidence < 1 or n_resamples < 1:
        raise ValueError(
            f"need 0 < confidence < 1 and n_resamples >= 1, not {confidence}, {n_resamples}"
        )
    for frame in (first, second):
        require_columns(frame, list(codes))
    generator = np.random.default_rng(rng)
    rows = []
    for code in codes:
        counts = _counts(first[code].tolist(), second[code].tolist())
        n = int(counts.sum())
        both, only_first, only_second, neither = counts / n if n else np.full(4, math.nan)
        kappa = float(_kappa(counts[np.newaxis])[0])
        low, high = math.nan, math.nan
        if not math.isnan(kappa):
            # Drawing messages with replacement is drawing how many fall into each of four kinds.
            samples = _kappa(generator.multinomial(n, counts / n, n_resamples).astype(float))
            tail = (1 - confidence) / 2
            low, high = np.nanquantile(samples, [tail, 1 - tail]).tolist()
        rows.append(
            (code, n, both + only_first, both + only_second, both + neither, kappa, low, high)
        )
    names = ["code", "n", "first", "second", "agreed", "kappa", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def _counts(first: Sequence[object], second: Sequence[object]) -> Floats:
    """How many units both, only the first, only the second and none of them gave the code."""
    if len(first) != len(second):
        raise ValueError(
            f"the coders have coded {len(first)} and {len(second)} units: need the same ones"
        )
    pairs = zip(first, second, strict=True)
    known = [(bool(a), bool(b)) for a, b in pairs if not (_is_missing(a) or _is_missing(b))]
    kinds = ((True, True), (True, False), (False, True), (False, False))
    return np.array([known.count(kind) for kind in kinds], dtype=float)


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or value != value


def _kappa(counts: Floats) -> Floats:
    """The kappa of each row of counts."""
    n = counts.sum(axis=1)
    both, only_first, only_second, neither = counts.T
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (both + neither) / n
        first, second = (both + only_first) / n, (both + only_second) / n
        chance = first * second + (1 - first) * (1 - second)
        kappa: Floats = np.where(chance < 1, (observed - chance) / (1 - chance), math.nan)
    return kappa
