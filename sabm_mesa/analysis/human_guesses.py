"""How people played the repeated guessing game (Nagel 1995), as data."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@cache
def human_guesses() -> MappingProxyType[str, Any]:
    """The tables of ``human_guesses.toml``; its comments say what is in them and where from."""
    text = files(__package__).joinpath("human_guesses.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def session_means(p: float) -> Floats | None:
    """Mean pick by session and period, shape (n_sessions, 4); None for a `p` not played there.

    Args:
        p: factor of the target.
    """
    for name, session in human_guesses()["sessions"].items():
        if abs(Fraction(name) - Fraction(p)) < Fraction(1, 10**9):
            return np.array(session["means"], dtype=float)
    return None


def first_period_shares() -> tuple[Floats, Floats]:
    """Period 1 of p = 2/3: intervals of the range 0 to 100, shape (11, 2), and their shares."""
    table = human_guesses()["first_period"]
    counts = np.array(table["counts"], dtype=float)
    return np.array(table["intervals"], dtype=float), counts / counts.sum()


def later_period_shares(p: float, period: int) -> Floats:
    """Shares of the classes in a later period, of the `p` in the data that is nearest.

    Args:
        p: factor of the target.
        period: 2 or more; what comes after the last period that was played is taken to be like it.

    Returns:
        Array of shape (6,): above the previous mean, steps 0 to 3, higher steps.
    """
    tables: dict[str, Any] = human_guesses()["later_periods"]
    nearest = min(tables, key=lambda name: abs(Fraction(name) - Fraction(p)))
    rows = tables[nearest]
    shares = np.array(rows[min(period - 2, len(rows) - 1)], dtype=float)
    return np.asarray(shares / shares.sum(), dtype=np.float64)
