"""What a scenario is: its spec sheet, parameters, minds, personas, data columns and prompts."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any, get_origin

from sabm_mesa import registry
from sabm_mesa.parameters import SERVICES, parameters_of
from sabm_mesa.prompts import PromptBook, load

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

_NAME = re.compile(r"[A-Za-z_]\w*")
_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")


def describe(model: type[SmartModel], condition: str = "baseline") -> dict[str, Any]:
    """The description of a scenario as data.

    Args:
        model: the model class.
        condition: the condition whose prompts are shown.

    Returns:
        name, title, source, spec_sheet, parameters (name → type and default), conditions and
        variants (name → the prompt entries that it changes, with their texts), personas (name →
        text), minds, model_columns and agent_columns (those of the tables, with the default
        parameters), prompts (entry → hash and text, without those that only other scenarios with
        the same prompt file use), answer_forms (the names of those that say how an answer is to be
        written, in any scenario), and prompts_sha256 (of all).

    Raises:
        UnknownName: for a condition that does not exist.
    """
    book, own = PromptBook(model.prompt_file, condition), load(model.prompt_file)
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
            if not _of_another(entry, model)
        },
        "answer_forms": sorted(set(book.entries) - set(own["prompts"])),
        "prompts_sha256": book.digest(),
    }


def as_text(description: dict[str, Any], *, prompts: bool = True) -> str:
    """The description for people, in plain text; how answers are written has its names only.

    Args:
        description: what `describe` found.
        prompts: whether the texts of prompts and personas are shown.
    """
    parameters, forms = description["parameters"].items(), description["answer_forms"]
    shown = {entry: each for entry, each in description["prompts"].items() if entry not in forms}
    rules = [
        (description["title"] + f" ({description['name']})", description["spec_sheet"]),
        (
            "Parameters: default and type",
            _table((name, repr(each["default"]), each["type"]) for name, each in parameters),
        ),
        ("Classical minds", ", ".join(description["minds"])),
        ("Columns of model.csv", ", ".join(description["model_columns"])),
        ("Columns of agents.csv", ", ".join(description["agent_columns"])),
    ]
    texts = [
        ("Conditions, and the prompt entries they change", _changes(description["conditions"])),
        ("Prompt variants, and the entries they change", _changes(description["variants"])),
        (
            "Personas",
            _table((name, text or "(no text)") for name, text in description["personas"].items()),
        ),
        ("Prompts, with the first digits of their SHA-256", _prompts(shown)),
        (
            "How an answer is to be written, and why one could not be used (texts: --json)",
            fill(", ".join(forms), 100),
        ),
    ]
    names = [(title, ", ".join(description[title.lower()])) for title in ("Conditions", "Personas")]
    sections = [*rules, *(texts if prompts else names)]
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections)


def _of_another(entry: str, model: type[SmartModel]) -> bool:
    """Whether an entry has the name of another scenario before its own: they share a file."""
    others = set(registry.SCENARIOS) - {model.scenario_name}
    return any(
        entry.startswith(f"{name}_") and registry.scenario(name).prompt_file == model.prompt_file
        for name in others
    )


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
