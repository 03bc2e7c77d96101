"""A description as text: plain for the terminal, or Markdown for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill, indent
from typing import Any

from sabm_mesa.describe.docstrings import sheet_sections
from sabm_mesa.describe.texts import references
from sabm_mesa.recording.store import versions

WIDTH = 100


def as_text(
    description: Mapping[str, Any], *, prompts: bool = True, rewordings: bool = False
) -> str:
    """The description as plain text, without the entries on the answer format.

    Args:
        description: as `describe` returns it.
        prompts: whether the texts of prompts and personas are shown.
        rewordings: whether the texts of the variants are shown, too.
    """
    elements = [
        (_heading(element), "\n\n".join(map(plain, element["blocks"])))
        for element in description["odd"]
        if element["blocks"]
    ]
    notes = [(title, plain(block)) for title, block in _notes(description)]
    shown = [
        (title, "\n\n".join(f"{name}\n{indent(text, '  ')}" for name, text in texts.items()))
        for title, texts in _prompts(description, rewordings=rewordings)
    ]
    names = [
        (title.capitalize(), ", ".join(description[title])) for title in ("conditions", "personas")
    ]
    head = [(description["title"] + f" ({description['name']})", plain(_about(description)))]
    if not description["recording"]:
        head.append(("Choices", _choices(description)))
    sections = [*head, *elements, *notes, *(shown if prompts else names)]
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{body}".rstrip() for title, body in sections)


def _choices(description: Mapping[str, Any]) -> str:
    """The options of a user, with their values, in plain text."""
    lists = {
        "--condition": description["conditions"],
        "--set personas=": description["personas"],
        "--set variant=": description["variants"],
        "--minds": [*description["minds"], "llm:MODEL", "local", "gguf:FILE", "py:FILE", "human"],
    }
    lines = [f"{option}: {', '.join(names)}" for option, names in lists.items() if names]
    named = {"condition", "personas", "variant", "minds", "prompts"}
    for name, parameter in description["parameters"].items():
        if name not in named:
            default = "none" if parameter["default"] is None else parameter["default"]
            lines.append(
                f"--set {name}=: {parameter['legal'] or parameter['type']}; {default} by default"
            )
    return "\n".join(fill(line, 100, subsequent_indent="    ") for line in lines)


def as_markdown(
    description: Mapping[str, Any], *, prompts: bool = True, rewordings: bool = False
) -> str:
    """The description in Markdown, to paste into a paper, a supplement or a page of docs.

    Args:
        description: as `describe` returns it.
        prompts: whether the texts of prompts and personas are shown.
        rewordings: whether the texts of the variants are shown, too.
    """
    parts = [f"# {description['title']} (`{description['name']}`)", _about(description)]
    for element in _written(description["odd"]):
        level = "###" if "." in element["number"] else "##"
        parts += [f"{level} {_heading(element)}", *map(markdown, element["blocks"])]
    for title, block in _notes(description):
        parts += [f"## {title}", markdown(block)]
    for title, texts in _prompts(description, rewordings=rewordings) if prompts else []:
        parts.append(f"## {title}")
        for name, text in texts.items():
            parts += [f"`{name}`", code(text)]
    return "\n\n".join(parts) + "\n"


def plain(block: Any) -> str:
    """A block as plain text of `WIDTH` columns.

    Args:
        block: see `sabm_mesa.describe.odd.Block`.
    """
    if isinstance(block, str):
        return "\n\n".join(_filled(part) for part in block.split("\n\n"))
    if isinstance(block, Mapping):
        return "\n".join(_hanging(_line((name, text))) for name, text in block.items())
    if block and isinstance(block[0], str):
        return "\n".join(_hanging(f"{n}. {text}") for n, text in enumerate(block, 1))
    return "\n".join(_hanging(_line(row)) for row in block[1:])


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


def _line(row: Iterable[str]) -> str:
    name, *cells = row
    filled = [_one(cell) for cell in cells if cell]
    return f"{name}: {' · '.join(filled)}" if filled else name


def _hanging(text: str) -> str:
    return _filled(_one(text), "  ", "      ")


def _filled(text: str, first: str = "", later: str = "") -> str:
    """A text wrapped to lines without breaks in paths and names."""
    return fill(
        text, WIDTH, initial_indent=first, subsequent_indent=later,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _one(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _one(text).replace("|", "\\|")


def _about(description: Mapping[str, Any]) -> str:
    """Name the subject, the differences between the runs, and the elements without text."""
    recording = description["recording"]
    subject = f"the runs of {recording}" if recording else "the scenario"
    sentences = [f"Description of {subject} by the ODD protocol (Grimm et al. 2020)."]
    sentences.append(f"Source of the scenario: {description['source']}.")
    if description["varied"]:
        sentences.append(
            f"The runs differ in {', '.join(description['varied'])} (see Parameters); figures in "
            "the texts, personas and prompts are those of the first run."
        )
    now = versions()["sabm-mesa"]
    if recording and description["versions"].get("sabm-mesa") != now:
        sentences.append(f"Described by version {now}; run with another (see Software).")
    if missing := description["odd_missing"]:
        sentences.append(
            f"Not written down: {'; '.join(missing)}. Write them into {description['odd_file']} "
            "beside the prompts, or below their headings into the docstring of the model's "
            "module (see `sabm_mesa.describe.texts`)."
        )
    return " ".join(sentences)


def _notes(description: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Software, and the references: the source of the scenario first."""
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


def _written(elements: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The elements with a text, or with parts that have one."""
    numbers = [element["number"] for element in elements if element["blocks"]]
    return [e for e in elements if any(f"{n}.".startswith(f"{e['number']}.") for n in numbers)]


def _heading(section: Mapping[str, Any]) -> str:
    return f"{section['number']} {section['title']}"


def _prompts(
    description: Mapping[str, Any], *, rewordings: bool = False
) -> list[tuple[str, dict[str, str]]]:
    """Titles of the appendices, each with name → text."""
    forms = description["answer_forms"]
    prompts = {
        f"[{entry}] {text['sha256']}": text["text"].strip() or "(no text)"
        for entry, text in description["prompts"].items()
        if entry not in forms
    }
    personas = {name: text.strip() or "(no text)" for name, text in description["personas"].items()}
    titles = {"conditions": "Conditions, and the prompt entries they change"}
    if rewordings:
        titles["variants"] = "Prompt variants, and the entries they change"
    return [
        *(
            (title, _changes(description[kind]))
            for kind, title in titles.items()
            if any(description[kind].values()) and not description["recording"]
        ),
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
