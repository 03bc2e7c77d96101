"""Pages of reports: Markdown and HTML from templates, and numbers in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, StrictUndefined

from sabm_mesa.errors import one_line

NONE = "–"
DIGITS = 3
"""Significant digits of the largest number of a group."""
MOST_DECIMALS = 6
LEAST = 10**-MOST_DECIMALS / 2
_SPECIAL = re.compile(
    r"[\\`*_\[\]<>|#~&$@]"
    r"|:(?=//)|(?<=www)\."  # some renderers make a link of these
    r"|^[-+=](?=[-+=\s]|$)"  # a list, rule or heading
)
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def numbers(*values: float) -> list[str]:
    """Numbers of one group with the same number of decimals; a dash for NaN, ∞ for infinity.

    The largest has three significant digits, and integer parts are complete.
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    # A number smaller than the last decimal is a rest of rounding.
    places = DIGITS - 1 - math.floor(math.log10(largest)) if largest > LEAST else DIGITS - 1
    return [_fixed(value, min(max(places, 0), MOST_DECIMALS)) for value in values]


def number(value: float) -> str:
    """A number with three significant digits, or its whole integer part; a dash for NaN."""
    return numbers(value)[0]


def estimate(value: float, low: float, high: float) -> str:
    """An estimate with its interval, as in ``4.58 (2.42 to 7.33)``."""
    text, *ends = numbers(value, low, high)
    return text if math.isnan(low) else f"{text} ({' to '.join(ends)})"


def exact(value: float) -> str:
    """A published number with all its digits; a dash for NaN."""
    return NONE if math.isnan(value) else f"{value:,.10g}".replace("-", "−")


def p_value(p: float) -> str:
    """A p-value in two digits, or that it is below 0.001; a dash for NaN."""
    if math.isnan(p):
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def p_in_words(p: float) -> str:
    """A p-value as in ``p = 0.02`` or ``p < 0.001``."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def percent(share: float) -> str:
    """A share from 0 to 1 in per cent; a dash for NaN."""
    return NONE if math.isnan(share) else f"{100 * share:.0f} %"


def _fixed(value: float, places: int) -> str:
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    text = f"{abs(value):,.{places}f}"
    return text if value > 0 or not text.strip("0.,") else f"−{text}"


class Verbatim(str):
    """A trusted text of this package, or a text within a block of code."""

    __slots__ = ()


def markdown(template: str, values: Mapping[str, Any]) -> str:
    """A text in Markdown; values in the template cannot act as Markdown or HTML."""
    environment = Environment(
        finalize=plain, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
        autoescape=False,
    )  # fmt: skip
    return (
        re.sub(r"\n{3,}", "\n\n", environment.from_string(template).render(**values)).strip() + "\n"
    )


def fence(lines: Sequence[str]) -> Verbatim:
    """The marks around a block of code that marks in its lines cannot end."""
    longest = max((len(match) for line in lines for match in re.findall("`+", line)), default=0)
    return Verbatim("`" * max(3, longest + 1))


def html(template: str, values: Mapping[str, Any]) -> str:
    """A text in HTML; values in the template cannot act as HTML."""
    environment = Environment(
        finalize=lambda value: one_line(value) if type(value) is str else value,
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
    )  # fmt: skip
    return environment.from_string(template).render(**values)


def plain(value: Any) -> Any:
    """A text without effects as Markdown or HTML."""
    if isinstance(value, Verbatim) or not isinstance(value, str):
        return value
    text = _SPECIAL.sub(lambda match: f"\\{match[0]}", one_line(value))
    return Verbatim(_NUMBERED.sub(r"\1\\\2", text))
