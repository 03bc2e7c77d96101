"""Reading experiments from their files, strictly: a wrong entry is an error that names it."""

from __future__ import annotations

import collections.abc
import tomllib
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.experiments.checking import mistakes
from sabm_mesa.experiments.design import (
    Claim,
    Condition,
    Experiment,
    Figures,
    Measure,
    Plot,
    Ratio,
    Scale,
)

T = TypeVar("T")
_LISTS: Mapping[str, type] = {
    "conditions": Condition,
    "measures": Measure,
    "claims": Claim,
    "published": Figures,
    "ratios": Ratio,
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
        ParameterError: when entries cannot be used; it names all of them that can be told at once.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"Experiment {name}: {error}.") from None
    wrong: list[str] = []
    for entry, cls in _LISTS.items():
        given = data.get(entry, [])
        if not isinstance(given, list):
            raise ParameterError(f"Experiment {name}: {entry} has to be a list of tables.")
        data[entry] = tuple(
            _made(cls, each, f"{entry} {number}", wrong) for number, each in enumerate(given, 1)
        )
    scales = data.get("scales", {})
    if not isinstance(scales, Mapping):
        raise ParameterError(f"Experiment {name}: scales has to be a table.")
    data["scales"] = {
        scale: _made(Scale, given, f"scale {scale}", wrong) for scale, given in scales.items()
    }
    found = _made(Experiment, {**data, "name": name}, "", wrong)
    made = [*data["scales"].values(), *(each for entry in _LISTS for each in data[entry])]
    if found is not None and None not in made:
        wrong += mistakes(found, experiment)
    if wrong or found is None:
        raise ParameterError(_said(name, wrong))
    return found


def _said(name: str, wrong: Sequence[str]) -> str:
    if len(wrong) == 1:
        return f"Experiment {name}, {wrong[0]}"
    listed = " ".join(f"({number}) {each}" for number, each in enumerate(wrong, 1))
    return f"Experiment {name} has {len(wrong)} mistakes: {listed}"


def _made(cls: type[T], data: Any, where: str, wrong: list[str]) -> T | None:
    """What a table says, for further checks also with mistakes in it; None when it cannot be made.

    Args:
        cls: what it is.
        data: the table.
        where: where it stands.
        wrong: what is wrong with it is added here.
    """
    before = f"{where}: " if where else ""
    if not isinstance(data, Mapping):
        wrong.append(f"{before}it has to be a table.")
        return None
    known: dict[str, Field[Any]] = {each.name: each for each in fields(cls)}  # type: ignore[arg-type]  # of dataclasses
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            wrong.append(f"{before}{UnknownName('entry', key, known)}")
            continue
        try:
            values[key] = _value(value, hints[key], f"{where}, {key}" if where else key)
        except ParameterError as error:
            wrong.append(str(error))
            if get_origin(hints[key]) is not Literal:
                return None
            values[key] = value
    for key, each in known.items():
        needed = each.default is MISSING and each.default_factory is MISSING
        if needed and key not in data:
            wrong.append(f"{before}the entry {key!r} is missing.")
            values[key] = ""
    return cls(**values)


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
    if origin is collections.abc.Mapping and not isinstance(value, Mapping):
        raise ParameterError(f"{where}: has to be a table (got {value!r}).")
    wanted = {float: (int, float), int: (int,), str: (str,)}.get(hint)
    if wanted is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
        raise ParameterError(f"{where}: has to be of type {hint.__name__} (got {value!r}).")
    return float(value) if hint is float else value
