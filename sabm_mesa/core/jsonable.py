"""Values as JSON, for recordings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def to_json(value: Any) -> str:
    """JSON of a value or of rows of values; NaN becomes null, other types become text."""
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
    return _legal(value.tolist()) if hasattr(value, "tolist") else str(value)


def _legal(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {_key(name): _legal(entry) for name, entry in value.items()}
    return [_legal(item) for item in value] if isinstance(value, list | tuple) else value


def _key(name: Any) -> Any:
    return name if isinstance(name, str | int | float | None) else str(name)


_encoded, _encoded_legal = (
    json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan, default=_plain
    ).encode
    for allow_nan in (False, True)
)
