"""How two runs that have to be the same differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

PLACES = ("run", "round", "agent")
"""Columns that say where a row stands."""


def differences(one: SmartModel, other: SmartModel, what: str) -> Iterator[str]:
    """The first difference between the data of two runs, if there is any.

    Args:
        one: a model that was played.
        other: another.
        what: the name of the two, for the line.
    """
    frames = ((m.model_frame(), m.agent_frame()) for m in (one, other))
    for left, right in zip(*frames, strict=True):
        if (found := _first(left, right)) is not None:
            yield f"{what} differ: {found}"
            return


def _first(one: pd.DataFrame, other: pd.DataFrame) -> str | None:
    if one.shape != other.shape:
        kind = "agent" if "agent" in one else "model"
        return f"the {kind} data has {len(one)} and {len(other)} rows"
    for column in one:
        values = zip(one[column], other[column], strict=True)
        for row, (left, right) in enumerate(values):
            if not same(left, right):
                place = ", ".join(f"{p} {one[p].iloc[row]}" for p in PLACES[1:] if p in one)
                return f"{column!r} in {place} is {left} and {right}"
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two cells are the same, to the last digit."""
    if is_missing(one) or is_missing(other):
        return is_missing(one) and is_missing(other)
    one, other = (each.item() if isinstance(each, np.generic) else each for each in (one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return repr(one) == repr(other)  # of any type, lists of numbers too


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN or no text."""
    return (
        value is None
        or (isinstance(value, str) and not value)
        or (isinstance(value, float) and math.isnan(value))
    )
