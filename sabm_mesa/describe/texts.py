"""The texts of a description that are not in the code, with the figures of the run filled in.

A scenario's texts are in a TOML file beside its prompt file: ``odd.toml`` beside ``prompts.toml``,
``NAME.odd.toml`` beside any other ``NAME.toml``, or beside ``NAME.py`` with prompts in the class.
It has the entries of `ENTRIES`, ``scenarios`` (the names of its scenarios; by default all with this
prompt file), and three optional tables: ``[submodels]`` (title → text); ``[columns]`` (data column
→ meaning, with ``*`` for any characters), for meanings that are not in the docstrings of the model
and its agents; and ``[values]``: placeholder → the source of its value, either an attribute of the
model (``model.benchmarks.bertrand_price``) or a constant (``package.module:NAME``). Other names in
braces are parameters of the run, so no figure is written twice.
"""

from __future__ import annotations

import math
import re
import sys
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction
from importlib import import_module
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

CONCEPTS = {
    "basic_principles": "Basic principles",
    "emergence": "Emergence",
    "adaptation": "Adaptation",
    "objectives": "Objectives",
    "learning": "Learning",
    "prediction": "Prediction",
    "sensing": "Sensing",
    "interaction": "Interaction",
    "stochasticity": "Stochasticity",
    "collectives": "Collectives",
    "observation": "Observation",
}
"""Entry → title of the design concepts of Grimm et al. 2020."""
ENTRIES = (
    "purpose", "patterns", "entities", "scales", "processes", *CONCEPTS, "initialization", "input",
    "choices",
)  # fmt: skip
"""The entries of a file, in addition to its tables."""
TABLES = ("submodels", "columns", "values")
_LARGEST_DENOMINATOR = 1000


def odd_file(model: type[SmartModel]) -> Path:
    """The file for the texts of a scenario, whether or not it exists.

    It is beside the prompt file or, with prompts in the class, beside the model's file.
    """
    source: Any = model.prompt_file
    if isinstance(source, Mapping):
        module = sys.modules[model.__module__]
        source = getattr(module, "__file__", None) or f"{model.scenario_name}.py"
    path = Path(source)
    return path.with_name("odd.toml" if path.stem == "prompts" else f"{path.stem}.odd.toml")


def read_texts(model: type[SmartModel]) -> Mapping[str, Any]:
    """The templates of a scenario's texts; empty without any.

    Raises:
        ParameterError: for a file that cannot be read, or an unknown entry.
    """
    path = odd_file(model)
    if not path.is_file():
        return {}
    content = read_toml(path, "ODD file", ParameterError)
    about = content.pop("scenarios", [model.scenario_name])
    if not isinstance(about, list):
        raise ParameterError(f"{path}: 'scenarios' must be a list of names.")
    for name, value in content.items():
        if name not in {*ENTRIES, *TABLES}:
            known = ", ".join((*ENTRIES, *(f"[{table}]" for table in TABLES)))
            raise ParameterError(f"{path}: unknown entry {name!r}; known: {known}.")
        if name in TABLES and not isinstance(value, dict):
            raise ParameterError(f"{path}: [{name}] must be a table of texts.")
        texts = list(value.values()) if name in TABLES else [value]
        if not all(isinstance(text, str) for text in texts):
            raise ParameterError(f"{path}: {name!r} must be text.")
    return content if model.scenario_name in about else {}


def filled(
    text: str, values: Mapping[str, str], model: SmartModel, parameters: Mapping[str, Any]
) -> str:
    """A text with the figures of the run.

    Args:
        text: the text, with names in braces.
        values: name → the source of its value (see the module).
        model: the model, before its first round.

    Raises:
        ParameterError: for an unknown name.
    """

    def figure(match: re.Match[str]) -> str:
        name = match[1]
        address = values.get(name)
        try:
            if address is None:
                return in_figures(parameters[name])
            module, is_constant, path = address.partition(":")
            if is_constant:
                return in_figures(attrgetter(path)(import_module(module)))
            return in_figures(attrgetter(address.removeprefix("model."))(model))
        except (KeyError, AttributeError, ImportError, ValueError):
            raise ParameterError(
                f"ODD text of {model.scenario_name}: {{{name}}} is neither a parameter nor found "
                f"at {address!r}; name its place under [values]."
            ) from None

    return re.sub(r"\{(\w+)\}", figure, text)


def in_figures(value: Any) -> str:
    """A value in the form of a description: ``1/150`` rather than 0.006666666666666667."""
    if isinstance(value, timedelta):
        return in_figures(value.days)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, float):
        short = f"{value:.4g}"
        if math.isfinite(value) and float(short) != value:
            simple = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
            if math.isclose(simple, value, rel_tol=1e-12):
                return str(simple)
        return short
    if isinstance(value, tuple | list):
        return ", ".join(map(in_figures, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {in_figures(item)}" for key, item in value.items())
    return str(value)


def references(text: str) -> list[str]:
    """The known references that a text names by author and year."""
    known = tomllib.loads(files(__package__).joinpath("references.toml").read_text("utf-8"))
    named = ((*name.rsplit(" ", 1), reference) for name, reference in known.items())
    return [
        reference
        for author, year, reference in named
        if re.search(rf"\b{author}\b[^;)]{{0,70}}?\b{year}\b", text)
    ]
