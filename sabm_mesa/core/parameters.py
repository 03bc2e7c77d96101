"""The parameters of a scenario: read from its constructor, checked, and kept with the run."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sabm_mesa.errors import ParameterError, UnknownName

S = TypeVar("S", bound=str)

SERVICES = frozenset({"connection", "recording"})
"""Constructor arguments that are no parameters of the run: they change nothing of its outcome."""


def parameters_of(model: type) -> dict[str, inspect.Parameter]:
    """The parameters of a model class with their defaults, the scenario's own first.

    A constructor that passes ``**settings`` on has the parameters of its base class too.

    Args:
        model: the model class.
    """
    found: dict[str, inspect.Parameter] = {}
    for cls in model.__mro__:
        if "__init__" not in vars(cls):
            continue
        own = inspect.signature(vars(cls)["__init__"]).parameters
        for name, parameter in own.items():
            if name != "self" and parameter.kind not in {
                parameter.VAR_KEYWORD,
                parameter.VAR_POSITIONAL,
            }:
                found.setdefault(name, parameter)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in own.values()):
            break
    return found


def bind(model: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a model with their values; the services are left out.

    Args:
        model: the model class.
        given: the values that differ from the defaults.

    Raises:
        UnknownName: for a parameter that does not exist.
    """
    known = parameters_of(model)
    for name in given:
        if name not in known:
            raise UnknownName(
                f"parameter of {model.__name__}", name, set(known) - SERVICES, parameter=name
            )
    return {name: given.get(name, known[name].default) for name in known if name not in SERVICES}


def check_int(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number within its limits.

    Args:
        name: the parameter, or what the value is in words, for the error.
        value: the given value.
        low: the smallest legal value.
        high: the largest legal value, or None.

    Raises:
        ParameterError: when it is something else.
    """
    limits = (
        f"a whole number from {low} to {high}"
        if high is not None
        else f"a whole number of {low} or more"
    )
    if isinstance(value, bool) or (not isinstance(value, int) and not _is_whole(value)):
        raise _illegal(name, f"{limits}, not {value!r}.")
    if value < low or (high is not None and value > high):
        raise _illegal(name, f"{limits} (got {value}).")
    return int(value)


def check_float(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """Return a number within its limits.

    Args:
        name: the parameter, or what the value is in words, for the error.
        value: the given value.
        low: the smallest legal value.
        high: the largest legal value.

    Raises:
        ParameterError: when it is something else.
    """
    limits = (
        f"a number from {low:g} to {high:g}" if high < math.inf else f"a number of {low:g} or more"
    )
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _illegal(name, f"{limits}, not {repr(value)[:60]}.")
    if not low <= number <= high:
        raise _illegal(name, f"{limits} (got {value}).")
    return number


def check_bool(name: str, value: Any) -> bool:
    """Return true or false.

    Args:
        name: the parameter, or what the value is in words, for the error.
        value: the given value.

    Raises:
        ParameterError: when it is something else, also 0 or 1.
    """
    if not isinstance(value, bool):
        raise _illegal(name, f"true or false, not {value!r}.")
    return value


def check_choice(name: str, value: Any, known: Iterable[S]) -> S:
    """Return a value that is one of several names.

    Args:
        name: the parameter, or what the value is in words, for the error.
        value: the given value.
        known: the legal names.

    Raises:
        UnknownName: when it is none of them.
    """
    names = list(known)
    if value not in names:
        raise UnknownName(name.replace("_", " "), value, names, parameter=_parameter(name))
    return names[names.index(value)]


def parse_list(name: str, given: Any) -> list[str]:
    """Return several texts, from a sequence or from one text with commas.

    Args:
        name: the parameter, or what the value is in words, for the error.
        given: the given value.

    Raises:
        ParameterError: when it is something else.
    """
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, Sequence):
        raise _illegal(name, f"a list, or a text with commas, not {given!r}.")
    return [str(each).strip() for each in given]


def _illegal(name: str, legal: str) -> ParameterError:
    return ParameterError(f"{name} has to be {legal}", parameter=_parameter(name))


def _parameter(name: str) -> str:
    """The parameter of that name; a name in several words is none."""
    return name if name.isidentifier() else ""


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") or (isinstance(value, float) and value.is_integer())
