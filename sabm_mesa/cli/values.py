"""Values as they are written on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sabm_mesa.errors import MindSpecError, ParameterError
from sabm_mesa.parameters import SERVICES

OPTIONS = {
    "minds": "--minds",
    "condition": "--condition",
    "n_rounds": "--rounds",
    "prompts": "--prompts",
    "rng": "--seed",
}
"""Parameters that have an option of their own."""


def parameters_from(settings: list[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a run, from ``--set`` and from the options of their own.

    Args:
        settings: what was given with ``--set``.
        options: parameter → value of its option, None when it was not given.

    Raises:
        ParameterError: for a setting that cannot be read, or a parameter that is given twice.
        MindSpecError: for minds that cannot be read.
    """
    parameters = parse_settings(settings)
    if service := sorted(SERVICES & set(parameters)):
        raise ParameterError(f"{service[0]} is no parameter of the run: see sabm run --help.")
    for name, value in options.items():
        if value is None:
            continue
        if name in parameters:
            raise ParameterError(f"{name} is given twice: with {OPTIONS[name]} and with --set.")
        parameters[name] = value
    if isinstance(minds := parameters.get("minds"), str):
        parameters["minds"] = parse_minds(minds)
    return parameters


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` settings; a value is JSON where it can be, else a text.

    Raises:
        ParameterError: for a setting without a name or an equals sign.
    """
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or not name:
            raise ParameterError(f"--set takes NAME=VALUE, not {setting!r}.")
        if name in parsed:
            raise ParameterError(f"--set {name} is given twice.")
        parsed[name] = parse_value(text)
    return parsed


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
                f"--minds: {part.strip()!r} needs the form SPEC=COUNT, as in 'llm:a=5,fixed:0=1'."
            )
        minds[spec] = minds.get(spec, 0) + int(count)
    return minds
