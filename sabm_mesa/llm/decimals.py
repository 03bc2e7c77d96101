"""Patterns of decimal numbers between two bounds, for grammars that support no other bounds.

The grammar of llama.cpp supports bounds of integers, lengths of texts and lists, and patterns; it
ignores ``minimum`` and ``maximum`` of a ``number``. For such servers a bounded decimal is a
string with a pattern, and the string is read as a number. Patterns use only groups, alternatives,
classes of digits, ``?`` and ``{m,n}``, which all grammars support.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

PLACES = 4
"""The maximum number of decimal places."""
FARTHEST = 10**9 - 1
"""Stands for an infinite end: nine digits before the point."""


def with_patterns(schema: Any) -> Any:
    """A JSON schema with each bounded ``number`` as a string with a pattern.

    Args:
        schema: the schema, which is not changed.
    """
    if isinstance(schema, list):
        return [with_patterns(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    if schema.get("type") == "number" and {"minimum", "maximum"} & set(schema):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        return {"type": "string", "pattern": f"^{between(low, high)}$"}
    return {name: with_patterns(part) for name, part in schema.items()}


def without_limits(schema: Any) -> Any:
    """A JSON schema without bounds, lengths and patterns, for servers that refuse them.

    Args:
        schema: the schema, which is not changed.
    """
    if isinstance(schema, list):
        return [without_limits(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    limits = LIMITS if isinstance(schema.get("type"), str) else ()
    return {name: without_limits(part) for name, part in schema.items() if name not in limits}


LIMITS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")
"""Keywords of JSON schemas that some servers refuse in their strict mode."""


def between(low: float, high: float) -> str:
    """The pattern of the decimals from `low` to `high`, with `PLACES` decimal places.

    Args:
        low: the smallest number; may be infinite.
        high: the largest number; may be infinite.

    Raises:
        ValueError: when no such decimal lies between them.
    """
    bottom, top = _scaled(low, ROUND_CEILING), _scaled(high, ROUND_FLOOR)
    if bottom > top:
        raise ValueError(f"no number with {PLACES} decimal places lies between {low} and {high}")
    parts = []
    if bottom < 0:
        parts.append("-" + _group(_positive(max(1, -top), -bottom)))
    if top >= 0:
        parts += _positive(max(0, bottom), top)
    return _group(parts)


def _scaled(end: float, rounding: str) -> int:
    bounded = Decimal(repr(min(max(end, -FARTHEST), FARTHEST)))
    return int((bounded * 10**PLACES).to_integral_value(rounding))


def _positive(bottom: int, top: int) -> list[str]:
    """Patterns of the numbers from `bottom` to `top`, both scaled, and neither below 0."""
    (low, after_low), (high, after_high) = divmod(bottom, 10**PLACES), divmod(top, 10**PLACES)
    least, most = f"{after_low:0{PLACES}}", f"{after_high:0{PLACES}}"
    if low == high:
        return [f"{low}{_after(least, most)}"]
    parts = [f"{low}{_after(least, '9' * PLACES)}", f"{high}{_after('0' * PLACES, most)}"]
    if low + 1 < high:
        any_after = _after("0" * PLACES, "9" * PLACES)
        parts.append(_group(_integers(low + 1, high - 1)) + any_after)
    return parts


def _after(least: str, most: str) -> str:
    """The pattern of the decimal point and decimal places; empty where an integer is allowed."""
    digits = _digits(least, most)
    point = f"([.]{_group(digits)})"
    return point if int(least) else f"{point}?"


def _digits(least: str, most: str) -> list[str]:
    """Patterns of the digits between both, with at most as many digits as `least`."""
    if not least:
        return []
    first, last, rest = int(least[0]), int(most[0]), len(least) - 1
    if first == last:
        return [least[0] + _rest(least[1:], most[1:])]
    parts = [least[0] + _rest(least[1:], "9" * rest), most[0] + _rest("0" * rest, most[1:])]
    if first + 1 < last:
        parts.append(_class(first + 1, last - 1) + _rest("0" * rest, "9" * rest))
    return parts


def _rest(least: str, most: str) -> str:
    if not least:
        return ""
    if set(least) == {"0"} and set(most) == {"9"}:
        return f"[0-9]{{0,{len(least)}}}"
    more = "|".join(_digits(least, most))
    return f"({more})" if int(least) else f"({more})?"


def _integers(low: int, high: int) -> list[str]:
    """Patterns of the integers from `low` to `high`, without leading zeros."""
    parts = []
    while low <= high:
        end = min(high, 10 ** len(str(low)) - 1)
        parts += _like_long(str(low), str(end))
        low = end + 1
    return parts


def _like_long(low: str, high: str) -> list[str]:
    """Patterns of the integers between two that have equally many digits."""
    if not low:
        return [""]
    if low[0] == high[0]:
        return [low[0] + _group(_like_long(low[1:], high[1:]))]
    rest = len(low) - 1
    first, last, parts = int(low[0]), int(high[0]), []
    if low[1:] != "0" * rest:
        parts.append(low[0] + _group(_like_long(low[1:], "9" * rest)))
        first += 1
    if high[1:] != "9" * rest:
        parts.append(high[0] + _group(_like_long("0" * rest, high[1:])))
        last -= 1
    if first <= last:
        parts.append(_class(first, last) + (f"[0-9]{{{rest}}}" if rest else ""))
    return parts


def _class(first: int, last: int) -> str:
    return str(first) if first == last else f"[{first}-{last}]"


def _group(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({'|'.join(parts)})"
