"""The pages of the reference that are made from the package itself, never written by hand."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import typer
from sources import ROOT, mentions, resolve, texts, works

import sabm_mesa
from sabm_mesa.cli import command_line
from sabm_mesa.describe import as_markdown, describe
from sabm_mesa.models import registry
from sabm_mesa.studies.experiments.schema import experiment_names, load_experiment

FOLDERS = ("api", "reference")
"""The folders in docs/ that hold such pages and no others."""

PARTS = {
    "Core": (
        "Questions, answers and how they are read, and the phases of a round.",
        "core.*",
    ),
    "Models": (
        "The rules of the scenarios, and the code that they share.",
        "models.* models.**.model models.pairs.party",
    ),
    "Agents": (
        "Agents: their questions, memories and messages.",
        "agents.* models.**.agents models.evacuation.room models.games.rules",
    ),
    "Minds": (
        "Minds decide for agents: language models, classical rules, people, scripts.",
        "minds.* models.**.minds",
    ),
    "Language models": (
        "Requests to an endpoint: clients, budget, prices.",
        "llm llm.[bceqr]* llm.limit llm.prices llm.scripted",
    ),
    "Recordings": ("The files on disk, and how to read them.", "recording.*"),
    "Runs": (
        "Single runs, batches of runs and sweeps; replay, resume and fork; cost estimates; games.",
        "runs.*",
    ),
    "Studies": (
        "Published experiments and your own; audits, preliminary tests, judging, tournaments.",
        "studies.* studies.experiments.*",
    ),
    "Analysis": (
        "Theory, measures, statistics and plots for the data of any run.",
        "analysis.* models.**.theory models.**.study models.**.charts",
    ),
    "Tools": (
        "Descriptions, the conformance check, and the errors.",
        "describe describe.texts errors testing",
    ),
}
"""Part of the API → what it is, and the modules that are in it."""

OUTSIDE = (
    "course",
    "examples/mixed_study",
    "benchmarks/calibration.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
"""Markdown pages outside of docs/, or folders of them, that are part of the site too."""

_LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")
PUBLIC = [name for name in dir(sabm_mesa) if not name.startswith("_")]
"""The public names, those of the scenarios included."""


def generated() -> dict[str, str]:
    """Every page that is made: its path in docs/, and its text as Markdown or reStructuredText."""
    pages = {"reference/commands.md": _commands(), "reference/bibliography.md": _bibliography()}
    pages["reference/scenarios/index.md"] = _scenarios()
    pages["reference/experiments.md"] = _experiments()
    for name in registry.SCENARIOS:
        pages[f"reference/scenarios/{name}.md"] = _scenario(name)
    return {**pages, **dict(_api()), **dict(_copies())}


def write(docs: Path) -> None:
    """Write the pages, those alone that changed, and remove the ones that are no more.

    Args:
        docs: the folder of the documentation.
    """
    pages = {docs / name: text for name, text in generated().items()}
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    for folder in FOLDERS:
        for path in (docs / folder).rglob("*.*"):
            if path.is_file() and path not in pages:
                path.unlink()


def _heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n"


def _contents(names: Iterable[str], **options: str) -> str:
    settings = "".join(f"   :{name}: {value}\n" for name, value in options.items())
    return f".. toctree::\n{settings}\n" + indent("\n".join(names), "   ") + "\n"


def _commands() -> str:
    """The ``--help`` of each command."""
    group = typer.main.get_command(command_line())
    commands = {
        f"sabm {name}": command for name, command in group.commands.items() if not command.hidden
    }
    parts = ["# Commands", "The output of `--help`, for `sabm` and for each of its commands."]
    for name, command in {"sabm": group, **dict(sorted(commands.items()))}.items():
        parts.append(f"## {name}\n\n```none\n{_help(command, name)}\n```")
    return "\n\n".join(parts) + "\n"


def _help(command: Any, name: str) -> str:
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=70)
    return str(command.get_help(context)).strip()


def _bibliography() -> str:
    """The references, each with the modules that name it."""
    bibliography = works()
    places: dict[str, set[str]] = {work.key: set() for work in bibliography}
    for where, text in texts():
        for mention in mentions(text):
            if work := resolve(mention, bibliography):
                places[work.key].add(where.removeprefix("sabm_mesa/"))
    intro = (
        "These are the sources that the package names; they are also available as "
        "{download}`BibTeX <../references.bib>`. Below each source is a list of the files in "
        "`sabm_mesa` that name it."
    )
    lines = ["# Bibliography", intro]
    for work in bibliography:
        named = ", ".join(f"`{source_file}`" for source_file in sorted(places[work.key]))
        below = f"\\\n{named}" if named else ""
        lines.append(f"(source-{work.key})=\n{work.reference()}{below}")
    return "\n\n".join(lines) + "\n"


def _scenarios() -> str:
    rows = []
    for name in registry.SCENARIOS:
        model = registry.scenario(name)
        link = f"{{py:class}}`~sabm_mesa.{model.__name__}`"
        rows.append((f"[{name}]({name}.md)", model.title, link, model.source))
    intro = "Each page is the output of `sabm describe SCENARIO`. It follows the ODD protocol."
    contents = "\n".join(registry.SCENARIOS)
    return (
        f"# Scenarios\n\n{intro}\n\n{_table('Name Title Class Source', rows)}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{contents}\n```\n"
    )


def _experiments() -> str:
    rows = []
    for name in experiment_names():
        experiment = load_experiment(name)
        rows.append((f"`{name}`", experiment.question, experiment.source, experiment.cost))
    intro = "Run an experiment with `sabm reproduce NAME`. The cost is for the scale of the paper."
    head = "Name Question Source Cost"
    return f"# All experiments\n\n{intro}\n\n{_table(head, rows)}\n"


def _table(head: str, rows: Iterable[Iterable[str]]) -> str:
    columns = head.split()
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _scenario(name: str) -> str:
    model = registry.scenario(name)
    title, _, rest = as_markdown(describe(model)).partition("\n")
    in_python = f"{{py:class}}`sabm_mesa.{model.__name__}`"
    ways = f"Run it with `sabm run {name}`, or in Python with {in_python}."
    return f"{title}\n\n{ways}\n{rest}"


def _copied() -> dict[Path, str]:
    """The pages outside of docs/ → their places in docs/."""
    found = [
        path
        for name in OUTSIDE
        for path in ([ROOT / name] if name.endswith(".md") else sorted((ROOT / name).rglob("*.md")))
    ]
    return {path: f"reference/{path.relative_to(ROOT).as_posix()}" for path in found}


def with_links(text: str, path: Path, here: Path) -> str:
    """The text of a page with links that lead to the same places, copied pages at their copies.

    Args:
        text: the text of the page.
        path: the file to which its links are relative.
        here: the file in docs/ that gets the text.
    """
    copies = _copied()

    def moved(link: re.Match[str]) -> str:
        name, sign, anchor = link[1].partition("#")
        target = (path.parent / name).resolve()
        target = ROOT / "docs" / copies[target] if target in copies else target
        return f"]({os.path.relpath(target, here.parent)}{sign}{anchor})"

    return _LINK.sub(moved, text)


def _copies() -> Iterator[tuple[str, str]]:
    """The pages outside of docs/, as pages of the site."""
    copies = _copied()
    for path, copy in copies.items():
        text = with_links(path.read_text("utf-8"), path, ROOT / "docs" / copy)
        if path.name == "README.md":
            below = [other for other in copies if path.parent in other.parents and other != path]
            names = "\n".join(
                other.relative_to(path.parent).with_suffix("").as_posix() for other in below
            )
            text += f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
        yield copy, text


def _api() -> Iterator[tuple[str, str]]:
    """The pages of the API: one for what is public at the top, one for each module below."""
    top = [
        _heading("sabm_mesa"),
        ".. module:: sabm_mesa\n",
        "The public names of the package: ``from sabm_mesa import …``.\n",
    ]
    for name in PUBLIC:
        public = getattr(sabm_mesa, name)
        is_class = isinstance(public, type)
        members = "   :members:\n" if is_class else ""
        kind = "class" if is_class else "function" if callable(public) else "data"
        top.append(f".. auto{kind}:: sabm_mesa.{name}\n{members}")
    yield "api/public.rst", "\n".join(top)
    parts = ["public"]
    for title, (what, patterns) in PARTS.items():
        modules = [module for pattern in patterns.split() for module in _modules(pattern)]
        listed = [f"* :mod:`sabm_mesa.{module}`: {_summary(module)}" for module in modules]
        contents = _contents((f"{module} <modules/{module}>" for module in modules), hidden="")
        parts.append(title.lower().replace(" ", "-"))
        page = [_heading(title), f"{what}\n", *listed, "", contents]
        yield f"api/{parts[-1]}.rst", "\n".join(page)
        for module in modules:
            yield f"api/modules/{module}.rst", _module(f"sabm_mesa.{module}")
    yield "api/index.rst", f"{_heading('Python')}\n{_contents(parts, maxdepth='1')}"


def _module(name: str) -> str:
    """The page of a module; what is public at the top is described there."""
    hidden = [public for public in PUBLIC if hasattr(import_module(name), public)]
    shown = [exported for exported in hidden if getattr(sabm_mesa, exported).__module__ == name]
    excluded = f"   :exclude-members: {', '.join(hidden)}\n" if hidden else ""
    there = ", ".join(f":obj:`sabm_mesa.{exported}`" for exported in shown)
    note = f"\nAlso in this module: {there}.\n" if shown else ""
    return f"{_heading(name)}\n.. automodule:: {name}\n   :members:\n{excluded}{note}"


def _modules(pattern: str) -> Iterator[str]:
    """The modules that a pattern names, without packages that only hold others.

    Raises:
        LookupError: when there are none.
    """
    package, pattern_path = ROOT / "sabm_mesa", pattern.replace(".", "/")
    paths = sorted(
        [*package.glob(f"{pattern_path}.py"), *package.glob(f"{pattern_path}/__init__.py")]
    )
    if not paths:
        raise LookupError(f"sabm_mesa has no module {pattern}.")
    for path in paths:
        parts = path.relative_to(package).with_suffix("").parts
        if path.name != "__init__.py":
            yield ".".join(parts)
        elif "*" not in pattern and "def " in path.read_text("utf-8"):
            yield ".".join(parts[:-1])


def _summary(module: str) -> str:
    path = ROOT / "sabm_mesa" / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    return " ".join(text.partition("\n\n")[0].split())
