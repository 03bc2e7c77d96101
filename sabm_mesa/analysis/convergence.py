"""Where the prices of a run settle, and from when on; the measures of a whole run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

WINDOW = 50
"""Rounds at the end of a run over which the convergence price is the mean."""


def convergence_price(prices: Sequence[Sequence[float]], window: int = WINDOW) -> float:
    """Mean price of all firms over the last rounds.

    Args:
        prices: for each firm its price by round, shape (n_firms, n_rounds).
        window: number of rounds; all there are, if they are fewer.

    Returns:
        The price; NaN without rounds.
    """
    last = np.asarray(prices, dtype=float)[:, -window:]
    return float(last.mean()) if last.size else math.nan


def convergence_round(
    prices: Sequence[Sequence[float]], tolerance: float, window: int = WINDOW
) -> float:
    """The round from which on every price stays within `tolerance` of the convergence price.

    Args:
        prices: for each firm its price by round, shape (n_firms, n_rounds).
        tolerance: the largest distance, in units of a price.
        window: for how many rounds, up to the end of the run, the prices have to stay there.

    Returns:
        The round, from 0; NaN when the prices stay there for fewer than `window` rounds.
    """
    path = np.asarray(prices, dtype=float)
    away = (np.abs(path - convergence_price(prices, window)) > tolerance).any(axis=0)
    first = int(np.flatnonzero(away)[-1]) + 1 if away.any() else 0
    return float(first) if path.shape[1] - first >= window else math.nan


def run_measures(
    data: Mapping[str, Sequence[Any]], n_firms: int, tolerance: float
) -> dict[str, float]:
    """Where prices settled and from when on, Δ in the last rounds, the last spell, and the talk.

    Args:
        data: column → its values by round; the columns ``price_1`` to ``price_n``,
            ``collusion_index``, ``spell``, ``messages`` and ``price_messages``.
        n_firms: number of firms.
        tolerance: see `convergence_round`.
    """
    paths = [data[f"price_{i + 1}"] for i in range(n_firms)]
    index = data["collusion_index"][-WINDOW:]
    return {
        "rounds": len(paths[0]),
        "convergence_price": convergence_price(paths),
        "convergence_round": convergence_round(paths, tolerance),
        "collusion_index": float(np.mean(index)) if index else math.nan,
        "spell": data["spell"][-1] if data["spell"] else 0,
        "messages": sum(data["messages"]),
        "price_messages": sum(data["price_messages"]),
    }
