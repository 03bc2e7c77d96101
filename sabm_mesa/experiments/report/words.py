"""Numbers as a report writes them."""

from __future__ import annotations

import math

NONE = "–"
DIGITS = 3
"""Significant digits of the largest number of a group."""
MOST_DECIMALS = 6
LEAST = 10**-MOST_DECIMALS / 2


def numbers(*values: float) -> list[str]:
    """Numbers of one group with the same decimals; a dash for NaN.

    Args:
        values: the numbers: the largest has three significant digits, and none loses whole ones.
    """
    largest = max((abs(value) for value in values if not math.isnan(value)), default=0.0)
    # What is smaller than the last decimal is what rounding leaves of 0.
    places = DIGITS - 1 - math.floor(math.log10(largest)) if largest > LEAST else DIGITS - 1
    return [_fixed(value, min(max(places, 0), MOST_DECIMALS)) for value in values]


def number(value: float) -> str:
    """A number in three significant digits, or all its whole ones; a dash for NaN."""
    return numbers(value)[0]


def estimate(value: float, low: float, high: float) -> str:
    """An estimate with its interval, as in ``4.58 (2.42 to 7.33)``."""
    found, *ends = numbers(value, low, high)
    return found if math.isnan(low) else f"{found} ({' to '.join(ends)})"


def exact(value: float) -> str:
    """A published number with all its digits; a dash for NaN."""
    return NONE if math.isnan(value) else f"{value:,.10g}".replace("-", "−")


def effect(value: float) -> str:
    """The size of an effect in two decimals; a dash for NaN."""
    return _fixed(value, 2)


def p_value(p: float) -> str:
    """A p-value in two digits, or that it is below 0.001; a dash for NaN."""
    if math.isnan(p):
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def percent(share: float) -> str:
    """A share from 0 to 1 in per cent; a dash for NaN."""
    return NONE if math.isnan(share) else f"{100 * share:.0f} %"


def _fixed(value: float, places: int) -> str:
    if math.isnan(value):
        return NONE
    if value == 0:
        return "0"
    text = f"{abs(value):,.{places}f}"
    return text if value > 0 or not text.strip("0.,") else f"−{text}"
