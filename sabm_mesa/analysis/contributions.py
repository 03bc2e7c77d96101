"""Behaviour of people in a public goods game (Fischbacher & Gächter 2010): data and rules.

The published tables and coefficients are in ``contributions.toml``, for an endowment of 20 units.
The functions take numbers or arrays, in these units.
"""

from __future__ import annotations

import math
import tomllib
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Amount = float | Floats
Kind = int | npt.NDArray[np.int64]
STEEPEST = 2.0
"""Bound of the exponential tilt of a distribution over 21 amounts; it covers every possible mean.
"""


@cache
def published() -> MappingProxyType[str, Any]:
    """The figures of ``contributions.toml``, by name."""
    text = files(__package__).joinpath("contributions.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


@cache
def type_names() -> tuple[str, ...]:
    """The types of players, in the order of the arrays below."""
    return tuple(published()["types"])


@cache
def type_shares() -> Floats:
    """Share of each type among the subjects; array of shape (types,)."""
    n = np.array([kind["subjects"] for kind in published()["types"].values()], dtype=np.float64)
    shares: Floats = n / n.sum()
    return shares


@cache
def schedules() -> Floats:
    """Mean schedule of each type: own contribution by the others' mean; shape (types, 21)."""
    return np.array([kind["schedule"] for kind in published()["types"].values()])


@cache
def first_distributions() -> Floats:
    """Probabilities of the contributions 0, 1, …, 20 in period 1 by type; shape (types, 21).

    Start with the published distribution of all subjects, with its remainder spread evenly over the
    other amounts. Tilt it exponentially (each probability times exp(t · amount)) to the published
    mean of the type. This is our choice, since the distributions by type are not published.
    """
    from scipy.optimize import brentq

    amounts = np.arange(schedules().shape[1])
    shares = {int(amount): share for amount, share in published()["first_shares"].items()}
    rest = (1 - sum(shares.values())) / (amounts.size - len(shares))
    pooled = np.array([shares.get(int(amount), rest) for amount in amounts])

    def tilted(by: float) -> Floats:
        weights: Floats = pooled * np.exp(by * amounts)
        weights /= weights.sum()
        return weights

    means = [kind["first_contribution"] for kind in published()["types"].values()]
    tilts = [
        brentq(lambda t, m=mean: tilted(t) @ amounts - m, -STEEPEST, STEEPEST) for mean in means
    ]
    return np.array([tilted(tilt) for tilt in tilts])


def whole_amount(value: Amount) -> Amount:
    """An amount rounded to a whole unit (halves up), between 0 and the endowment."""
    most = published()["endowment"]
    if isinstance(value, float) and math.isfinite(value):  # a single number needs no array
        return float(min(max(math.floor(value + 0.5), 0), most))
    return np.clip(np.floor(np.asarray(value) + 0.5), 0, most)


def first_belief() -> float:
    """The belief before the first game, rounded."""
    return float(whole_amount(published()["first_belief"]))


def next_belief(belief: Amount, others_mean: Amount) -> Amount:
    """The belief after a game, a weighted mean of the old belief and the others' mean; rounded."""
    by = published()["belief"]
    seen = whole_amount(others_mean)
    return whole_amount(by["constant"] + by["others"] * seen + by["belief"] * belief)


def scheduled(kind: Kind, belief: Amount) -> Amount:
    """The contribution in the schedule of a type at a belief, a whole number from 0 to 20."""
    contributions: Floats = schedules()[kind, np.asarray(belief, dtype=np.int64)]
    return contributions


def estimated(kind: Kind, belief: Amount) -> Amount:
    """The contribution of a type at a belief by the published regression, rounded."""
    return regressed(belief, scheduled(kind, belief))


def regressed(belief: Amount, schedule: Amount) -> Amount:
    """Return the contribution by the published regression, rounded."""
    by = published()["contribution"]
    return whole_amount(by["constant"] + by["belief"] * belief + by["schedule"] * schedule)
