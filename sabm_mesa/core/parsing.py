"""Values as people write them, on the command line and in the viewer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sabm_mesa.errors import MindSpecError, ParameterError


def parse_value(text: str) -> Any:
    """Read a value: JSON, a Python constant, or else a text."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return json.loads(text)
    except RecursionError:
        raise ParameterError(f"{text[:20]}… has too many brackets in brackets.") from None
    except ValueError as error:
        if text.startswith(("{", "[")):
            raise ParameterError(f"{text!r} is not valid JSON: {error}.") from None
        return text


def parse_list(text: str) -> list[Any]:
    """Read several values: with commas between them, or as a JSON list."""
    if text.startswith("["):
        values: list[Any] = parse_value(text)
        return values
    return [parse_value(part.strip()) for part in text.split(",")]


def check_not_empty(spec: str) -> None:
    """Check that a spec of minds is not empty.

    Raises:
        MindSpecError: when it does not.
    """
    if not spec.strip():
        raise MindSpecError(
            "minds: the spec is empty (perhaps a shell variable is not set): name a mind, such "
            "as classical or llm:MODEL.",
            parameter="minds",
        )


def parse_minds(text: str) -> str | Mapping[str, Any]:
    """Read the minds: one spec, ``spec=count,spec=count``, or a JSON object.

    Minds of several classes of agents are ``CLASS/minds; CLASS/minds``.

    Raises:
        MindSpecError: when there is no mind, one of several specs has no count, or a class is named
            twice.
    """
    check_not_empty(text)
    if text.lstrip().startswith("{"):
        minds: dict[str, Any] = parse_value(text.strip())
        return minds
    parts = [part.strip() for part in text.split(";")]
    by_class: dict[str, Any] = {}
    for part in parts:
        name, slash, population = part.partition("/")
        is_provider = name.islower() and not set(":=") & set(population)  # openai/gpt-4o
        if is_provider or not (slash and name.isidentifier() and population):
            if not by_class and len(parts) == 1:
                return _parse_population(text)
            raise MindSpecError(
                f"minds: {part!r} needs the form CLASS/MINDS, as in 'Buyer/llm:a; "
                "Seller/llm:b=2,classical=4'.",
                parameter="minds",
            )
        if name in by_class:
            raise MindSpecError(f"minds: {name} is named twice.", parameter="minds")
        by_class[name] = _parse_population(population)
    return by_class


_ENDS_WITH_OPTION = re.compile(r"\s*(local|gguf:).*[?&]\w+=\w*\s*\Z")
"""The end of the spec of a local model with options, which is not a count."""
_JSON_VALUE = re.compile(r"\s*fixed:\s*[{\[].*[}\]]\s*\Z", re.DOTALL)
"""A fixed answer of several parts, which contains commas."""
_NAMED = r"\s*(?!classical=|local=|human=)[A-Za-z_]\w*=[^,=]*"
_ANSWERS = re.compile(rf"\s*fixed:{_NAMED}(,{_NAMED})+|\s*fixed:[A-Za-z_]\w*=(?!\d+\s*\Z)[^,=]*")
"""A mind with an answer to each question by its name, which contains commas, and no count."""
_DIGITS = 18
"""The maximum number of digits of a count."""


def _split(population: str) -> list[str]:
    """The specs of a population, each with its count."""
    parts: list[str] = []
    for part in population.split(","):
        if parts and re.match(f"fixed:{_NAMED}", parts[-1]) and re.match(_NAMED, part):
            parts[-1] += f",{part.strip()}"
        else:
            parts.append(part.strip())
    return parts


def _parse_population(text: str) -> str | Mapping[str, int]:
    if "," not in text and ("=" not in text or _ENDS_WITH_OPTION.match(text)):
        return text
    if _JSON_VALUE.match(text) or _ANSWERS.fullmatch(text):
        return text
    minds: dict[str, int] = {}
    for part in _split(text):
        spec, _, count = part.rpartition("=")
        if not spec or not count.isdecimal() or _ENDS_WITH_OPTION.match(part):
            raise MindSpecError(
                f"minds: {part!r} needs the form SPEC=COUNT, as in 'llm:a=5,fixed:0=1'.",
                parameter="minds",
            )
        if len(count) > _DIGITS:
            raise MindSpecError(
                f"minds: the count of {spec} has {len(count)} digits: give a smaller one.",
                parameter="minds",
            )
        minds[spec] = minds.get(spec, 0) + int(count)
    return minds
