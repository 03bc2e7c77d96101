"""What a scenario is: its spec sheet, parameters, minds, personas and prompts."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from sabm_mesa.parameters import SERVICES, parameters_of
from sabm_mesa.prompts import PromptBook

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


def describe(model: type[SmartModel]) -> dict[str, Any]:
    """The description of a scenario as data.

    Args:
        model: the model class.

    Returns:
        name, title, source, spec_sheet, parameters (name → default), conditions, variants,
        personas (name → text), minds, model_columns, agent_columns, and prompts (entry → hash and
        text).
    """
    book = PromptBook(model.prompt_file)
    hashes = book.hashes()
    return {
        "name": model.scenario_name,
        "title": model.title,
        "source": model.source,
        "spec_sheet": inspect.cleandoc(sys.modules[model.__module__].__doc__ or ""),
        "parameters": {
            name: parameter.default
            for name, parameter in parameters_of(model).items()
            if name not in SERVICES
        },
        "conditions": list(book.conditions),
        "variants": list(book.variants),
        "personas": book.personas,
        "minds": [
            "classical" if m == "default" else f"classical:{m}" for m in model.classical_minds
        ],
        "model_columns": list(model.model_columns),
        "agent_columns": list(model.agent_columns),
        "prompts": {
            entry: {"sha256": hashes[entry], "text": text}
            for entry, text in sorted(book.entries.items())
        },
        "prompts_sha256": book.digest(),
    }


def as_text(description: dict[str, Any]) -> str:
    """The description for people, in plain text."""
    sections = [
        (description["title"] + f" ({description['name']})", description["spec_sheet"]),
        ("Parameters and their defaults", _table(description["parameters"], repr)),
        ("Conditions", ", ".join(description["conditions"])),
        ("Prompt variants", ", ".join(description["variants"])),
        ("Classical minds", ", ".join(description["minds"])),
        ("Personas", _table(description["personas"], lambda text: text or "(no text)")),
        ("Prompts, with the first digits of their SHA-256", _prompts(description["prompts"])),
    ]
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections)


def _table(rows: dict[str, Any], show: Any) -> str:
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {show(value)}" for name, value in rows.items())


def _prompts(prompts: dict[str, dict[str, str]]) -> str:
    return "\n\n".join(
        f"[{entry}] {each['sha256']}\n"
        + "\n".join(f"  {line}" for line in each["text"].strip().split("\n"))
        for entry, each in prompts.items()
    )
