"""Values as they are written on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sabm_mesa.errors import ParameterError
from sabm_mesa.parameters import SERVICES
from sabm_mesa.written import parse_minds, parse_value

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
