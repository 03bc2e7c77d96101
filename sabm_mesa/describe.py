"""What a scenario is: its spec sheet, parameters, minds, personas, data columns and prompts."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from textwrap import indent
from typing import TYPE_CHECKING, Any, get_origin

from sabm_mesa.parameters import SERVICES, parameters_of
from sabm_mesa.prompts import PromptBook, load

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

_NAME = re.compile(r"[A-Za-z_]\w*")
_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")


def describe(model: type[SmartModel]) -> dict[str, Any]:
    """The description of a scenario as data.

    Args:
        model: the model class.

    Returns:
        name, title, source, spec_sheet, parameters (name → type and default), conditions and
        variants (name → the prompt entries that it changes, with their texts), personas (name →
        text), minds, model_columns and agent_columns (those of the tables, with the default
        parameters), prompts (entry → hash and text), and prompts_sha256.
    """
    book, own = PromptBook(model.prompt_file), load(model.prompt_file)
    hashes = book.hashes()
    unplayed = model()
    return {
        "name": model.scenario_name,
        "title": model.title,
        "source": model.source,
        "spec_sheet": inspect.cleandoc(sys.modules[model.__module__].__doc__ or ""),
        "parameters": _parameters(model),
        "conditions": {name: own["conditions"].get(name, {}) for name in book.conditions},
        "variants": {name: own["variants"].get(name, {}) for name in book.variants},
        "personas": book.personas,
        "minds": [
            "classical" if m == "default" else f"classical:{m}" for m in model.classical_minds
        ],
        "model_columns": list(unplayed.model_frame().columns),
        "agent_columns": list(unplayed.agent_frame().columns),
        "prompts": {
            entry: {"sha256": hashes[entry], "text": text}
            for entry, text in sorted(book.entries.items())
        },
        "prompts_sha256": book.digest(),
    }


def as_text(description: dict[str, Any]) -> str:
    """The description for people, in plain text."""
    parameters = description["parameters"].items()
    sections = [
        (description["title"] + f" ({description['name']})", description["spec_sheet"]),
        (
            "Parameters: default and type",
            _table((name, repr(each["default"]), each["type"]) for name, each in parameters),
        ),
        ("Conditions, and the prompt entries they change", _changes(description["conditions"])),
        ("Prompt variants, and the entries they change", _changes(description["variants"])),
        ("Classical minds", ", ".join(description["minds"])),
        (
            "Personas",
            _table((name, text or "(no text)") for name, text in description["personas"].items()),
        ),
        ("Columns of model.csv", ", ".join(description["model_columns"])),
        ("Columns of agents.csv", ", ".join(description["agent_columns"])),
        ("Prompts, with the first digits of their SHA-256", _prompts(description["prompts"])),
    ]
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections)


def _parameters(model: type[SmartModel]) -> dict[str, dict[str, Any]]:
    types: dict[str, str] = {}
    for cls in model.__mro__:
        annotations = getattr(vars(cls).get("__init__"), "__annotations__", {})
        for name, annotation in annotations.items():
            types.setdefault(name, _type(annotation, vars(sys.modules[cls.__module__])))
    return {
        name: {"type": types.get(name, "any"), "default": parameter.default}
        for name, parameter in parameters_of(model).items()
        if name not in SERVICES
    }


def _type(annotation: Any, known: Mapping[str, Any]) -> str:
    """An annotation with its aliases spelled out, as far as `known` has them."""

    def spelled_out(name: re.Match[str]) -> str:
        found = known.get(name[0])
        return name[0] if get_origin(found) is None else inspect.formatannotation(found)

    if not isinstance(annotation, str):
        annotation = inspect.formatannotation(annotation)
    return _MODULES.sub("", _NAME.sub(spelled_out, annotation))


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = list(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _changes(settings: Mapping[str, Mapping[str, str]]) -> str:
    return "\n\n".join(
        f"{name}\n{indent(_entries(entries), '  ')}" for name, entries in settings.items()
    )


def _entries(entries: Mapping[str, str]) -> str:
    texts = (
        f"{entry}: {text.strip() or '(no text)'}".replace("\n", "\n  ")
        for entry, text in entries.items()
    )
    return "\n".join(texts) or "(changes nothing: the prompts below)"


def _prompts(prompts: dict[str, dict[str, str]]) -> str:
    return "\n\n".join(
        f"[{entry}] {each['sha256']}\n{indent(each['text'].strip(), '  ')}"
        for entry, each in prompts.items()
    )
