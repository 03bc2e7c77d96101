"""A description in Markdown, for the terminal, a paper, or a page of docs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sabm_mesa.describe.docstrings import paragraphs, sheet_sections
from sabm_mesa.describe.texts import in_figures, references
from sabm_mesa.recording.store import versions


def as_markdown(description: Mapping[str, Any], *, prompts: bool = True) -> str:
    """The description in Markdown, without the entries on the answer format.

    Args:
        description: as `describe` returns it.
        prompts: whether the texts of prompts and personas are shown.
    """
    lead = paragraphs(description["spec_sheet"]) or "".join(description["odd"][0]["blocks"][:1])
    parts = [f"# {description['title']} (`{description['name']}`)"]
    parts += filter(None, [lead.partition("\n\n")[0]])
    if description["recording"]:
        parts.append(_about_runs(description))
    else:
        parts += ["## Choices", markdown(_choices(description))]
    for element in _written(description["odd"]):
        level = "###" if "." in element["number"] else "##"
        parts.append(f"{level} {element['number']} {element['title']}")
        parts += map(markdown, element["blocks"])
    for title, block in _notes(description):
        parts += [f"## {title}", markdown(block)]
    for title, texts in _prompts(description) if prompts else []:
        parts.append(f"## {title}")
        for name, text in texts.items():
            parts += [f"`{name}`", code(text)]
    return "\n\n".join(parts) + "\n"


def _choices(description: Mapping[str, Any]) -> dict[str, str]:
    """The options of a user, with their values."""
    options = {
        "--condition": description["conditions"],
        "--set personas=": description["personas"],
        "--set variant=": description["variants"],
        "--minds": [*description["minds"], "llm:MODEL", "local", "gguf:FILE", "py:FILE", "human"],
    }
    choices = {option: ", ".join(names) for option, names in options.items() if names}
    for name, parameter in description["parameters"].items():
        if name not in {"condition", "personas", "variant", "minds", "prompts"}:
            usual = in_figures(parameter["default"])
            choices[f"--set {name}="] = f"{parameter['legal']}; {usual} by default"
    return choices


def markdown(block: Any) -> str:
    """A block as Markdown.

    Args:
        block: see `sabm_mesa.describe.odd.Block`.
    """
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping):
        return "\n".join(
            f"- `{name}`" + (f": {_one(text)}" if text else "") for name, text in block.items()
        )
    if block and isinstance(block[0], str):
        return "\n".join(f"{n}. {_one(text)}" for n, text in enumerate(block, 1))
    return table(block)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first cell of each row is code.

    Args:
        rows: the head, and the rows below it.
    """
    head, *body = rows
    lines = [head, ["---"] * len(head), *([f"`{name}`", *cells] for name, *cells in body)]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """A text as a block of code; marks in it cannot end the block."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text.strip()}\n{fence}"


def _one(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _one(text).replace("|", "\\|")


def _about_runs(description: Mapping[str, Any]) -> str:
    """Name the recording, the differences between its runs, and the version."""
    sentences = [f"These are the runs of {description['recording']}."]
    if description["varied"]:
        sentences.append(
            f"They differ in {', '.join(description['varied'])} (see Parameters); figures in "
            "the texts, personas and prompts are those of the first run."
        )
    now = versions()["sabm-mesa"]
    if description["versions"].get("sabm-mesa") != now:
        sentences.append(f"Described by version {now}; run with another (see Software).")
    return " ".join(sentences)


def _notes(description: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The protocol and the elements without text, software, and references."""
    sections = sheet_sections(description["spec_sheet"])
    sources = [text for name, text in sections.items() if name.startswith("Source")]
    sources = sources or [description["source"]]
    protocol = "It follows the ODD protocol (Grimm et al. 2020)."
    if missing := [title.partition(" ")[0] for title in description["odd_missing"]]:
        protocol += (
            f" No text of yours in: {', '.join(missing)}. Write them into "
            f"{description['odd_file']} beside the prompts (see `sabm_mesa.describe.texts`)."
        )
    named = references(f"{protocol} {description['source']} {description['odd']} {sources}")
    return [
        ("This description", protocol),
        (
            "Software",
            {**description["versions"], "prompts (SHA-256)": description["prompts_sha256"]},
        ),
        ("References", "\n\n".join([*sources, *named])),
    ]


def _written(elements: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The elements with a text, or with parts that have one."""
    numbers = [element["number"] for element in elements if element["blocks"]]
    return [e for e in elements if any(f"{n}.".startswith(f"{e['number']}.") for n in numbers)]


def _prompts(description: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """Titles of the appendices, each with name → text."""
    forms = description["answer_forms"]
    prompts = {
        f"[{entry}] {text['sha256']}": text["text"].strip() or "(no text)"
        for entry, text in description["prompts"].items()
        if entry not in forms
    }
    personas = {name: text.strip() or "(no text)" for name, text in description["personas"].items()}
    changed = any(description["conditions"].values()) and not description["recording"]
    title = "Conditions, and the prompt entries they change"
    return [
        *([(title, _changes(description["conditions"]))] if changed else []),
        ("Prompts, with the first digits of their SHA-256", prompts),
        ("Personas", personas),
    ]


def _changes(settings: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {
        name: "\n".join(
            f"{entry}: {text.strip() or '(no text)'}" for entry, text in entries.items()
        )
        or "(changes nothing: the prompts below)"
        for name, entries in settings.items()
    }
