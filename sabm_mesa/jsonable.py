"""Values as JSON, as they stand in a recording."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def to_json(value: Any) -> str:
    """JSON of a value or of rows of values; NaN becomes null, what JSON lacks becomes text."""
    return _dumped(value)


def as_read_again(value: Any) -> Any:
    """A value as it comes out of its JSON."""
    return json.loads(_dumped(value))


def _dumped(value: Any) -> str:
    try:
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain
        )
    except (TypeError, ValueError):  # a key that JSON lacks, or a number
        return json.dumps(_legal(value), ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    return _legal(value.tolist()) if hasattr(value, "tolist") else str(value)


def _legal(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {_key(name): _legal(each) for name, each in value.items()}
    return [_legal(each) for each in value] if isinstance(value, list | tuple) else value


def _key(name: Any) -> Any:
    return name if isinstance(name, str | int | float | None) else str(name)
