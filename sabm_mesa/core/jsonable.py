"""Values as JSON, for recordings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel


def to_json(value: Any) -> str:
    """JSON of a value or of rows of values.

    NaN becomes null, an agent its id, a cell its coordinate, a set a sorted list, another
    collection a list, an object of a dataclass its fields. Anything else becomes text, without an
    address in memory.
    """
    return _dumped(value)


def json_roundtrip(value: Any) -> Any:
    """A value after a round trip through JSON."""
    return value if type(value) in {int, str, bool} else json.loads(_dumped(value))


def _dumped(value: Any) -> str:
    if type(value) is int:
        return repr(value)
    try:
        return _encoded(value)
    except (TypeError, ValueError):  # a key that JSON lacks, or a number
        return _encoded_legal(_legal(value))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if hasattr(value, "tolist"):
        return _legal(value.tolist())
    value = _identity(value)
    if isinstance(value, Set):
        items = [json_roundtrip(item) for item in value]
        try:
            return sorted(items)
        except TypeError:  # of several types
            return sorted(items, key=_dumped)
    if isinstance(value, int | float | str) or value is None:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _legal(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_legal(item) for item in value]
    return _text(value)


def _identity(value: Any) -> Any:
    """The id of an agent, the coordinate of a cell, otherwise the value."""
    return getattr(value, "unique_id", getattr(value, "coordinate", value))


def _text(value: Any) -> str:
    text = str(value)
    return getattr(value, "__qualname__", type(value).__qualname__) if " at 0x" in text else text


def _legal(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {_key(name): _legal(entry) for name, entry in value.items()}
    return [_legal(item) for item in value] if isinstance(value, list | tuple) else value


def _key(name: Any) -> Any:
    name = _identity(name)
    return name if isinstance(name, str | int | float | None) else _text(name)


_encoded, _encoded_legal = (
    json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan, default=_plain
    ).encode
    for allow_nan in (False, True)
)
