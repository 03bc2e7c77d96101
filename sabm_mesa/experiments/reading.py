"""Reading experiments from their files, strictly: a wrong entry is an error that names it."""

from __future__ import annotations

import tomllib
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.experiments.design import (
    COMPARED,
    SCALES,
    Claim,
    Condition,
    Experiment,
    Figures,
    Measure,
    Plot,
    Scale,
)
from sabm_mesa.registry import scenario

T = TypeVar("T")
_LISTS: Mapping[str, type] = {
    "conditions": Condition,
    "measures": Measure,
    "claims": Claim,
    "published": Figures,
    "plots": Plot,
}


def names() -> list[str]:
    """The names of the experiments that come with the package, in alphabetical order."""
    folder = files(__package__).joinpath("data")
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def experiment(name: str | Path) -> Experiment:
    """An experiment that comes with the package, or one of your own.

    Args:
        name: its name, or the path of a TOML file.

    Raises:
        UnknownName: when there is none of that name.
        ParameterError: when the file cannot be read, or an entry of it cannot be used.
    """
    if str(name).endswith(".toml"):
        path = Path(name)
        try:
            return parsed(path.stem, path.read_text("utf-8"))
        except OSError as error:
            raise ParameterError(f"Cannot read {path}: {error.strerror or error}.") from None
        except UnicodeDecodeError:
            raise ParameterError(f"{path} is not a text in UTF-8.") from None
    if name not in names():
        raise UnknownName("experiment", str(name), names())
    text = files(__package__).joinpath("data", f"{name}.toml").read_text("utf-8")
    return parsed(str(name), text)


def parsed(name: str, text: str) -> Experiment:
    """An experiment from the text of its file.

    Args:
        name: its name.
        text: the TOML.

    Raises:
        ParameterError: when an entry cannot be used.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"Experiment {name}: {error}.") from None
    for entry, cls in _LISTS.items():
        given = data.get(entry, [])
        if not isinstance(given, list):
            raise ParameterError(f"Experiment {name}: {entry} has to be a list of tables.")
        data[entry] = tuple(
            _made(cls, each, f"Experiment {name}, {entry} {number}")
            for number, each in enumerate(given, 1)
        )
    data["scales"] = {
        scale: _made(Scale, given, f"Experiment {name}, scale {scale}")
        for scale, given in dict(data.get("scales", {})).items()
    }
    found = _made(Experiment, {"name": name, **data}, f"Experiment {name}")
    _check(found)
    return found


def _made(cls: type[T], data: Any, where: str) -> T:
    if not isinstance(data, Mapping):
        raise ParameterError(f"{where}: has to be a table.")
    known: dict[str, Field[Any]] = {each.name: each for each in fields(cls)}  # type: ignore[arg-type]
    hints = get_type_hints(cls)
    for key in data:
        if key not in known:
            raise ParameterError(f"{where}: {UnknownName('entry', key, known)}")
    for key, each in known.items():
        needed = each.default is MISSING and each.default_factory is MISSING
        if needed and key not in data:
            raise ParameterError(f"{where}: the entry {key!r} is missing.")
    return cls(**{key: _value(value, hints[key], f"{where}, {key}") for key, value in data.items()})


def _value(value: Any, hint: Any, where: str) -> Any:
    """A value of the type that its entry has."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value not in inner:
            raise ParameterError(f"{where}: {UnknownName('value', str(value), map(str, inner))}")
        return value
    if origin is tuple:
        values = value if isinstance(value, list | tuple) else [value]
        if inner[-1] is not Ellipsis and len(values) != len(inner):
            raise ParameterError(f"{where}: has to be a list of {len(inner)} (got {value!r}).")
        return tuple(_value(each, inner[0], where) for each in values)
    if origin in {Union, types.UnionType}:
        return value
    wanted = {float: (int, float), int: (int,), str: (str,)}.get(hint)
    if wanted is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
        raise ParameterError(f"{where}: has to be of type {hint.__name__} (got {value!r}).")
    return float(value) if hint is float else value


def _check(found: Experiment) -> None:
    """Check that what is named exists."""
    where = f"Experiment {found.name}"
    scenario(found.scenario)
    for scale in SCALES:
        if scale not in found.scales:
            raise ParameterError(f"{where}: the scale {scale!r} is missing.")
    conditions = [each.name for each in found.conditions]
    measures = [each.name for each in found.measures]
    for kind, given in (("condition", conditions), ("measure", measures)):
        if not given or len(set(given)) < len(given):
            raise ParameterError(f"{where}: it needs one {kind} or more, each with its own name.")
    trunks = [each.name for each in found.conditions if not each.fork_of]
    for kind, name in _named(found):
        known = {"measure": measures, "condition": conditions, "condition to fork": trunks}[kind]
        if name not in known:
            raise ParameterError(f"{where}: {UnknownName(kind, name, known)}")
    for each in found.conditions:
        if each.fork_of and set(each.at) != set(SCALES):
            raise ParameterError(f"{where}, {each.name}: at has to name quick and paper.")


def _named(found: Experiment) -> Iterator[tuple[str, str]]:
    """The measures and conditions that other entries name."""
    for claim in found.claims:
        yield "measure", claim.measure
        yield "condition", claim.condition
        if claim.kind in COMPARED:
            yield "condition", claim.than
    for each in found.published:
        if each.measure:
            yield "measure", each.measure
        if each.condition:
            yield "condition", each.condition
    for condition in found.conditions:
        if condition.fork_of:
            yield "condition to fork", condition.fork_of
