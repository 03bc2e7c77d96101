"""Values as people write them, on the command line and in the viewer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sabm_mesa.errors import MindSpecError, ParameterError


def parse_value(text: str) -> Any:
    """Read a value: JSON or one of Python's names where it can be, else a text."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return json.loads(text)
    except ValueError as error:
        if text.startswith(("{", "[")):
            raise ParameterError(f"{text!r} is not valid JSON: {error}.") from None
        return text


def parse_minds(text: str) -> str | Mapping[str, int]:
    """Read the minds: one spec, ``spec=count,spec=count``, or a JSON object.

    Raises:
        MindSpecError: when one of several specs has no count.
    """
    if text.lstrip().startswith("{"):
        found: dict[str, int] = parse_value(text.strip())
        return found
    if "=" not in text and "," not in text:
        return text
    minds: dict[str, int] = {}
    for part in text.split(","):
        spec, _, count = part.strip().rpartition("=")
        if not spec or not count.isdecimal():
            raise MindSpecError(
                f"minds: {part.strip()!r} needs the form SPEC=COUNT, as in 'llm:a=5,fixed:0=1'.",
                parameter="minds",
            )
        minds[spec] = minds.get(spec, 0) + int(count)
    return minds
