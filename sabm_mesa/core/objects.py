"""JSON within words, read leniently, as models write it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any


def find_objects(text: str, opening: str = "{[") -> list[tuple[int, int, Any]]:
    """Find the outermost objects and lists of JSON in a text, leniently.

    Returns:
        The beginning, end and value of each.
    """
    objects, at = [], 0
    start = _next(text, opening, at)
    while start >= 0:
        end = _end_of_object(text, start, opening)
        value = _literal(text[start:end]) if end else None
        if isinstance(value, dict | list):
            objects.append((start, end, value))
        at = end if end and value is not None else start + 1 if opening != "{" else end or start + 1
        start = _next(text, opening, at)
    return objects


def _next(text: str, signs: str, at: int) -> int:
    return min((n for sign in signs if (n := text.find(sign, at)) >= 0), default=-1)


def _end_of_object(text: str, start: int, opening: str = "{") -> int:
    """The position after the matching closing brace; 0 when there is none."""
    depth, quote, escaped = 0, "", False
    signs = "{}" if opening == "{" else "{}[]"
    for at in range(start, len(text)):
        sign = text[at]
        if escaped:
            escaped = False
        elif quote:
            escaped = sign == "\\"
            quote = "" if sign == quote else quote
        elif sign == '"' or (sign == "'" and text[at - 1] in "{[:, \n" and depth):
            quote = sign
        elif sign in signs:
            depth += 1 if sign in "{[" else -1
            if not depth:
                return at + 1
    return 0


class _TwiceError(ValueError):
    """A field is in an object twice, with different values."""


def _literal(text: str) -> Any:
    """The value of JSON or of a model's variant of it; None for anything else."""
    mended = re.sub(r",(\s*[}\]])", r"\1", text.strip())
    mended = re.sub(r"(?m)(?<![:\"'])//[^\n\"]*$", "", mended)
    for attempt in (text, mended, re.sub(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)", r'\1"\2"\3', mended)):
        try:
            return json.loads(attempt, object_pairs_hook=no_field_twice)
        except _TwiceError:
            return None
        except (ValueError, RecursionError):
            continue
    python = re.sub(
        r"\b(true|false|null)\b",
        lambda m: {"true": "True", "false": "False", "null": "None"}[m[1]],
        mended,
    )
    try:
        tree = ast.parse(python.lstrip(" \t"), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                names = [repr(ast.literal_eval(key)) for key in node.keys if key is not None]
                no_field_twice([*zip(names, map(ast.unparse, node.values), strict=True)])
        return ast.literal_eval(tree)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def no_field_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; a repeated field needs equal values.

    Raises:
        ValueError: when a field has two different values.
    """
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields and fields[name] != value:
            raise _TwiceError
        fields[name] = value
    return fields


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The values in an object that are not objects themselves.

    Yields:
        The name of the field in lower case without spaces and punctuation, and the value.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, re.sub(r"[\W_]", "", str(key)).casefold())
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for inner in value:
            yield from leaves(inner, name)
    else:
        yield name, value
