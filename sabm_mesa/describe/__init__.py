"""Description of a scenario or of recorded runs: ODD description, prompts, columns, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.core.prompts import load, merge
from sabm_mesa.describe.checklist import (
    checklist,
    checklist_as_markdown,
    checklist_of_recording,
)
from sabm_mesa.describe.docstrings import spec_sheet
from sabm_mesa.describe.odd import Odd, typed_parameters
from sabm_mesa.describe.rendering import as_markdown
from sabm_mesa.describe.subject import Subject, of_recording, of_scenario
from sabm_mesa.describe.texts import odd_file

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

__all__ = [
    "as_markdown",
    "checklist",
    "checklist_as_markdown",
    "checklist_of_recording",
    "describe",
    "describe_recording",
]


def describe(
    model: type[SmartModel],
    condition: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The description of a scenario as data, with the parameters of its runs.

    Language models are named and not set up, so no key is needed.

    Args:
        model: the model class.
        condition: the condition; None: the condition of the parameters, or baseline.
        parameters: the parameters that differ from the defaults.

    Returns:
        name, title, source, spec_sheet, odd (the sections of the ODD description: number, title,
        and blocks, which are paragraphs, lists of steps, mappings name → meaning, or tables whose
        first row is their head), odd_missing (the unwritten elements) and odd_file (the file for
        them), parameters (name → type, default, value, legal values in words, range of numbers,
        choices, and meaning), conditions and variants (name → the prompt entries that it changes,
        with their texts), personas (name → text), minds (the classical ones), model_columns and
        agent_columns, prompts (entry → hash and text, without those that only other scenarios with
        the same prompt file use), answer_forms (the names of the prompts on the answer format in
        any scenario), prompts_sha256 (of all), versions, recording (``""``), and varied (nothing).

    Raises:
        UnknownName: for a condition or parameter that does not exist.
        UsageError: for a parameter that cannot be used.
    """
    chosen = {} if condition is None else {"condition": condition}
    return _described(of_scenario(model, {**(parameters or {}), **chosen}))


def describe_recording(path: str | Path, runs: Sequence[int] | None = None) -> dict[str, Any]:
    """The description of recorded runs, with the versions of their packages.

    Args:
        runs: the numbers of runs of one scenario; None: the runs of the latest command.

    Returns:
        The same as `describe`; prompts and personas are the recorded ones, and conditions and
        variants have no entries, since the prompts include them. ``prompts_sha256`` is as in
        ``summary.json``. ``varied`` has the parameters that differ between the runs; texts and
        prompts are then those of the first run.

    Raises:
        RecordingError: when the recording cannot be read, or has no such run.
        UsageError: when this version cannot use the recorded parameters, or the runs are of
            different scenarios.
    """
    return _described(of_recording(path, runs))


def _described(subject: Subject) -> dict[str, Any]:
    model, book = subject.scenario, subject.model.book
    prompt_file = load(model.prompt_file)
    entries = set(prompt_file["prompts"])
    if not subject.runs and subject.parameters.get("prompts") is not None:
        prompt_file = merge(prompt_file, load(subject.parameters["prompts"]))
    changes = {} if subject.runs else prompt_file
    in_use = {agent.persona for agent in subject.model.population} if subject.runs else None
    hashes, odd = book.hashes(), Odd(subject)
    of_classes = map(subject.model.classical_of, subject.model.agent_classes())
    classical = dict.fromkeys(name for classical_minds in of_classes for name in classical_minds)
    return {
        "name": model.scenario_name,
        "title": model.title,
        "source": model.source,
        "recording": subject.recording,
        "varied": list(subject.varied),
        "versions": dict(subject.versions),
        "spec_sheet": spec_sheet(model),
        "odd": [section._asdict() for section in odd.sections],
        "odd_missing": odd.missing,
        "odd_file": odd_file(model).name,
        "parameters": typed_parameters(subject),
        "conditions": {c: changes.get("conditions", {}).get(c, {}) for c in book.conditions},
        "variants": {v: changes.get("variants", {}).get(v, {}) for v in book.variants},
        "personas": dict(book.personas),
        "minds": ["classical" if m == "default" else f"classical:{m}" for m in classical],
        "model_columns": list(subject.model.model_frame().columns),
        "agent_columns": list(subject.model.agent_frame().columns),
        "prompts": {
            entry: {"sha256": hashes[entry], "text": book.entries[entry]}
            for entry in dict.fromkeys([*prompt_file["prompts"], *sorted(book.entries)])
            if entry in book.entries
        },
        "answer_forms": sorted(set(book.entries) - entries),
        "prompts_sha256": book.digest(in_use),
    }
