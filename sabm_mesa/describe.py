"""What a scenario is, or what recorded runs were: ODD description, prompts, columns, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

from sabm_mesa import registry
from sabm_mesa.odd import rendering
from sabm_mesa.odd.docs_of_code import sheet_of, sheet_sections
from sabm_mesa.odd.elements import as_data, odd_of
from sabm_mesa.odd.subject import Subject, of_recording, of_scenario
from sabm_mesa.odd.tables import typed_parameters
from sabm_mesa.odd.texts import odd_file, references
from sabm_mesa.prompts import load, merge
from sabm_mesa.provenance import versions

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


def describe(
    model: type[SmartModel],
    condition: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The description of a scenario as data, in the setting in which it is to be run.

    Minds that are language models are named and not set up: no key is needed.

    Args:
        model: the model class.
        condition: the condition; that of the parameters, or baseline, when None.
        parameters: the parameters that differ from the defaults.

    Returns:
        name, title, source, spec_sheet, odd (the sections of the ODD description: number, title,
        and blocks, which are paragraphs, lists of steps, mappings name → meaning, or tables whose
        first row is their head), odd_missing (the elements nobody has written down) and odd_file
        (the file in which they can be), parameters
        (name → type, default, value and meaning), conditions and variants (name → the prompt
        entries that it changes, with their texts), personas (name → text), minds (the classical
        ones), model_columns and agent_columns, prompts (entry → hash and text, without those that
        only other scenarios with the same prompt file use), answer_forms (the names of those that
        say how an answer is to be written, in any scenario), prompts_sha256 (of all), versions,
        recording (``""``), and varied (nothing).

    Raises:
        UnknownName: for a condition or parameter that does not exist.
        UsageError: for a parameter that cannot be used.
    """
    chosen = {} if condition is None else {"condition": condition}
    return _described(of_scenario(model, {**(parameters or {}), **chosen}))


def describe_recording(path: str | Path, runs: Sequence[int] | None = None) -> dict[str, Any]:
    """The description of recorded runs: of what was run, with the versions it was run with.

    Args:
        path: the recording.
        runs: the numbers of the runs, of one scenario; those of the latest command when None.

    Returns:
        The same as `describe`; prompts and personas are those that were used, and conditions and
        variants have no entries, since they are in the prompts already. ``prompts_sha256`` is as in
        ``summary.json``. ``varied`` has the parameters that differ between the runs; texts and
        prompts are then those of the first.

    Raises:
        RecordingError: when the recording cannot be read, or has no such run.
        UsageError: when this version cannot use the recorded parameters, or the runs are of
            different scenarios.
    """
    return _described(of_recording(path, runs))


def as_text(description: Mapping[str, Any], *, prompts: bool = True) -> str:
    """The description for people, in plain text; how answers are written has its names only.

    Args:
        description: what `describe` found.
        prompts: whether the texts of prompts and personas are shown.
    """
    elements = [
        (_heading(each), "\n\n".join(map(rendering.plain, each["blocks"])))
        for each in description["odd"]
    ]
    notes = [(title, rendering.plain(block)) for title, block in _notes(description)]
    shown = [
        (title, "\n\n".join(f"{name}\n{indent(text, '  ')}" for name, text in texts.items()))
        for title, texts in _prompts(description)
    ]
    names = [
        (title.capitalize(), ", ".join(description[title])) for title in ("conditions", "personas")
    ]
    head = [
        (description["title"] + f" ({description['name']})", rendering.plain(_about(description)))
    ]
    sections = [*head, *elements, *notes, *(shown if prompts else names), _forms(description)]
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{body}".rstrip() for title, body in sections)


def as_markdown(description: Mapping[str, Any], *, prompts: bool = True) -> str:
    """The description in Markdown, to paste into a paper, a supplement or a page of docs.

    Args:
        description: what `describe` found.
        prompts: whether the texts of prompts and personas are shown.
    """
    parts = [f"# {description['title']} (`{description['name']}`)", _about(description)]
    for each in description["odd"]:
        level = "###" if "." in each["number"] else "##"
        parts += [f"{level} {_heading(each)}", *map(rendering.markdown, each["blocks"])]
    for title, block in _notes(description):
        parts += [f"## {title}", rendering.markdown(block)]
    for title, texts in _prompts(description) if prompts else []:
        parts.append(f"## {title}")
        for name, text in texts.items():
            parts += [f"`{name}`", rendering.code(text)]
    title, body = _forms(description)
    return "\n\n".join([*parts, f"## {title}", body]) + "\n"


def _described(subject: Subject) -> dict[str, Any]:
    model, book = subject.scenario, subject.model.book
    own = load(model.prompt_file)
    entries = set(own["prompts"])
    if not subject.runs and subject.parameters.get("prompts") is not None:
        own = merge(own, load(subject.parameters["prompts"]))
    changes = {} if subject.runs else own
    in_use = {agent.persona for agent in subject.model.population} if subject.runs else None
    hashes, odd = book.hashes(), odd_of(subject)
    return {
        "name": model.scenario_name,
        "title": model.title,
        "source": model.source,
        "recording": subject.recording,
        "varied": list(subject.varied),
        "versions": dict(subject.versions),
        "spec_sheet": sheet_of(model),
        "odd": as_data(odd.sections),
        "odd_missing": odd.missing,
        "odd_file": odd_file(model.prompt_file).name,
        "parameters": typed_parameters(subject),
        "conditions": {c: changes.get("conditions", {}).get(c, {}) for c in book.conditions},
        "variants": {v: changes.get("variants", {}).get(v, {}) for v in book.variants},
        "personas": book.personas,
        "minds": [
            "classical" if m == "default" else f"classical:{m}" for m in model.classical_minds
        ],
        "model_columns": list(subject.model.model_frame().columns),
        "agent_columns": list(subject.model.agent_frame().columns),
        "prompts": {
            entry: {"sha256": hashes[entry], "text": text}
            for entry, text in sorted(book.entries.items())
            if not _of_another(entry, model)
        },
        "answer_forms": sorted(set(book.entries) - entries),
        "prompts_sha256": book.digest(in_use),
    }


def _about(description: Mapping[str, Any]) -> str:
    kind, varied = description["recording"] and f"the runs of {description['recording']}", ""
    if description["varied"]:
        varied = (
            f" The runs differ in {', '.join(description['varied'])} (see Parameters); figures in "
            "the texts, personas and prompts are those of the first of them."
        )
    if kind and description["versions"].get("sabm-mesa") != versions()["sabm-mesa"]:
        varied += (
            f" Described by version {versions()['sabm-mesa']}; run with another (see Software)."
        )
    missing = description["odd_missing"]
    lacks = (
        f" Not written down: {'; '.join(missing)}. Write them into {description['odd_file']} "
        "beside the prompt file, or below their headings into the docstring of the model's module "
        "(see `sabm_mesa.odd.texts`)."
    )
    return (
        f"Description of {kind or 'the scenario'} by the ODD protocol (Grimm et al. 2020). Source "
        f"of the scenario: {description['source']}.{varied}{lacks if missing else ''}"
    )


def _notes(description: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Software, and what is cited: the source of the scenario first."""
    sections = sheet_sections(description["spec_sheet"])
    sources = [text for name, text in sections.items() if name.startswith("Source")]
    sources = sources or [description["source"]]
    named = references(f"{_about(description)} {description['odd']} {' '.join(sources)}")
    return [
        (
            "Software",
            {**description["versions"], "prompts (SHA-256)": description["prompts_sha256"]},
        ),
        ("References", "\n\n".join([*sources, *named])),
    ]


def _heading(section: Mapping[str, Any]) -> str:
    return f"{section['number']} {section['title']}"


def _prompts(description: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """Titles of the appendices, each with name → text."""
    forms = description["answer_forms"]
    prompts = {
        f"[{entry}] {each['sha256']}": each["text"].strip() or "(no text)"
        for entry, each in description["prompts"].items()
        if entry not in forms
    }
    personas = {name: text.strip() or "(no text)" for name, text in description["personas"].items()}
    changes = [
        ("Conditions, and the prompt entries they change", _changes(description["conditions"])),
        ("Prompt variants, and the entries they change", _changes(description["variants"])),
    ]
    return [
        *([] if description["recording"] else changes),
        ("Personas", personas),
        ("Prompts, with the first digits of their SHA-256", prompts),
    ]


def _changes(settings: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {
        name: "\n".join(
            f"{entry}: {text.strip() or '(no text)'}" for entry, text in entries.items()
        )
        or "(changes nothing: the prompts below)"
        for name, entries in settings.items()
    }


def _forms(description: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "How an answer is to be written, and why one could not be used (texts: --json)",
        fill(", ".join(description["answer_forms"]), rendering.WIDTH),
    )


def _of_another(entry: str, model: type[SmartModel]) -> bool:
    """Whether an entry has the name of another scenario before its own: they share a file."""
    others = set(registry.SCENARIOS) - {model.scenario_name}
    return any(
        entry.startswith(f"{name}_") and registry.scenario(name).prompt_file == model.prompt_file
        for name in others
    )
