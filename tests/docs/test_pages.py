"""The documentation against the package: sources, links, commands and code."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import pytest
import typer

from sabm_mesa.cli import command_line, outside
from sabm_mesa.errors import SabmError
from sabm_mesa.models.registry import GROUP, SCENARIOS, is_file, scenario

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = {"_build", "api", "jupyter_execute", "reference"}  # by the build
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(
        page
        for folder in (DOCS, ROOT / "course", ROOT / "examples")
        for page in folder.rglob("*.md")
        if page.relative_to(folder).parts[0] not in MADE
    ),
]
NOTEBOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))
COMMANDS: Any = typer.main.get_command(command_line())

BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(r"^```\{doctest\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(?:#[^)]*)?\)")
INLINE = re.compile(r"`(sabm [^`]+)`")
DOTTED = re.compile(r"\bsabm_mesa(?:\.\w+)+")
FILE = re.compile(r"`((?:sabm_mesa|tests|docs|course|examples|benchmarks)/[^`\s]*)`")


def load(name: str) -> ModuleType:
    """A module of the documentation."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sources = load("sources")


def identity(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    """The text of a page or, of a notebook, of its Markdown cells."""
    if page.suffix == ".md":
        return page.read_text("utf-8")
    cells = json.loads(page.read_text("utf-8"))["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def blocks(page: Path, *languages: str) -> list[str]:
    found = BLOCK.findall(text_of(page))
    return [
        re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
        for indent, language, text in found
        if language in languages
    ]


@pytest.mark.slow
def test_every_source_that_the_package_names_is_in_the_bibliography() -> None:
    bibliography = sources.works()
    named = [(where, m) for where, text in sources.texts() for m in sources.mentions(text)]

    unknown = {f"{where}: {m[0]}" for where, m in named if not sources.resolve(m, bibliography)}

    assert not unknown, "\n".join(sorted(unknown))
    assert {sources.resolve(m, bibliography).key for _, m in named} >= {"wu2024", "nagel1995"}


def test_every_scenario_names_a_source() -> None:
    bibliography = sources.works()
    for name in SCENARIOS:
        named = [sources.resolve(m, bibliography) for m in sources.mentions(scenario(name).source)]
        assert named, name
        assert all(named), name


def test_an_unknown_source_is_found_and_a_month_is_none(tmp_path: Path) -> None:
    (tmp_path / "sabm_mesa").mkdir()
    code = '"""After Nagel (1995), Mann and Nobody 1947, Wu et al. 2024."""\nWHEN = "May 2024"\n'
    (tmp_path / "sabm_mesa" / "a.py").write_text(code, "utf-8")
    bibliography = sources.works()
    found = [m for _, text in sources.texts(tmp_path) for m in sources.mentions(text)]

    assert [m[0] for m in found] == ["Nagel (1995", "Mann and Nobody 1947", "Wu et al. 2024"]
    resolved = [sources.resolve(m, bibliography) for m in found]
    assert [work and work.key for work in resolved] == ["nagel1995", None, "wu2024"]


def test_the_references_of_the_package_are_those_of_the_bibliography() -> None:
    titles = {work.key: work.fields["title"].casefold() for work in sources.works()}
    listed = tomllib.loads((ROOT / "sabm_mesa/describe/references.toml").read_text("utf-8"))

    for name, reference in listed.items():
        (work,) = (w for w in sources.works() if f"{w.surnames[0]} {w.fields['year']}" == name)
        assert titles[work.key] in reference.casefold(), name


def test_every_entry_of_the_bibliography_is_complete() -> None:
    for work in sources.works():
        assert {"author", "title", "year"} <= set(work.fields), work.key
        assert work.key.endswith(work.fields["year"])
        assert all(surname for surname, _ in work.authors)
        assert re.fullmatch(r"\d{4}\.\d{5}", work.fields.get("eprint", "0000.00000")), work.key


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=identity)
def test_every_link_leads_to_a_file(page: Path) -> None:
    for link in LINK.findall(text_of(page)):
        place = (page.parent / link).resolve()
        if not place.is_relative_to(DOCS) or place.relative_to(DOCS).parts[0] not in MADE:
            assert place.exists(), link
        elif place.parent == DOCS / "reference" / "scenarios":
            assert place.stem in {"index", *SCENARIOS}, link


def in_package(name: str) -> bool:
    """Whether a dotted name is one of the package; so are the groups of its entry points."""
    try:
        return name in {GROUP, outside.GROUP} or resolve_name(name) is not None
    except (AttributeError, ImportError):
        return False
    except SabmError:  # its module is there, and an extra that the module needs is not
        return True


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=identity)
def test_every_name_and_file_of_the_package_exists(page: Path) -> None:
    text = page.read_text("utf-8")

    assert not {name for name in DOTTED.findall(text) if not in_package(name)}
    for file in FILE.findall(text_of(page)):
        named = file.partition("::")[0]  # of a test; tests/test_repository.py looks for the test
        pattern = re.sub(r"\b[A-Z]{2,}\b", "*", named)  # NAME stands for any
        assert any(ROOT.glob(pattern)), file


def commands(page: Path) -> list[str]:
    """The `sabm` commands that stand in a page's blocks, one line each."""
    text = "\n".join(blocks(page, "", "bash", "console", "sh", "text"))
    lines = (line.strip().removeprefix("$ ") for line in text.replace("\\\n", " ").split("\n"))
    return [line for line in lines if line.startswith("sabm ")]


def parse(line: str) -> dict[str, Any]:
    """The parsed form of a command, which is not run.

    Raises:
        TyperException: for what the command line would refuse.
    """
    _, *arguments = shlex.split(line, comments=True)
    with COMMANDS.make_context("sabm", arguments, resilient_parsing=not arguments) as context:
        name, command, rest = COMMANDS.resolve_command(context, arguments)
        with command.make_context(name, rest, parent=context) as parsed:
            return dict(parsed.params)


@pytest.mark.parametrize("page", [p for p in [*PAGES, *NOTEBOOKS] if commands(p)], ids=identity)
def test_every_command_in_a_block_can_be_given(page: Path) -> None:
    new = re.findall(r"sabm new (\S+)", text_of(page))
    own = {*new, *(f"{name}.py" for name in new)}
    for line in commands(page):
        params = parse(line)
        name = params.get("scenario") or params.get("name")
        if re.match(r"sabm (run|cost|describe|play|sweep|tournament) ", line):
            recorded = name.endswith(".sqlite") and line.startswith("sabm describe ")
            assert recorded or name in {*SCENARIOS, *own} or is_file(name), line
        for mind in re.findall(r"classical:(\w+)", line):
            assert mind in scenario(str(name)).classical_minds, line


def assert_exists(line: str) -> None:
    """Check the names of a command and its options, whatever stands for their values."""
    _, name, *rest = line.split()
    if not name.startswith("-"):
        assert name in COMMANDS.commands, line
        options = {o for p in COMMANDS.commands[name].params for o in (*p.opts, *p.secondary_opts)}
        given = {word.partition("=")[0] for word in rest if word.startswith("--")}
        assert given <= {*options, "--help"}, line


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=identity)
def test_every_command_in_a_sentence_exists(page: Path) -> None:
    for line in INLINE.findall(re.sub(BLOCK, "", text_of(page))):
        assert_exists(line)


def code(page: Path) -> list[str]:
    """The Python of a page's blocks or of a notebook's cells."""
    if page.suffix == ".md":
        return blocks(page, "python")
    cells = json.loads(page.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("page", [p for p in [*PAGES, *NOTEBOOKS] if code(p)], ids=identity)
def test_what_python_imports_of_the_package_exists(page: Path) -> None:
    for node in (node for text in code(page) for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("sabm_mesa"):
            exec(ast.unparse(node), {})


@pytest.mark.parametrize("page", [p for p in PAGES if ">>> " in text_of(p)], ids=identity)
def test_an_example_gives_what_the_page_says(page: Path) -> None:
    text = "\n\n".join(EXAMPLE.findall(text_of(page)))
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)

    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=identity)
def test_a_notebook_shows_what_its_cells_print(notebook: Path) -> None:
    content = json.loads(notebook.read_text("utf-8"))
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]

    assert content["nbformat"] == 4
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for output in outputs}
    assert "execute_result" in kinds
    assert "error" not in kinds


def test_every_page_is_in_the_contents() -> None:
    text = "\n".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    listed = [
        line.partition("<")[2].rstrip(">") or line
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        for line in block.split("\n")
        if line and not line.startswith(":")
    ]
    for page in [*DOCS.rglob("*.md"), *NOTEBOOKS]:
        name = page.relative_to(DOCS).with_suffix("").as_posix()
        if name != "index" and name.split("/")[0] not in MADE:
            assert any(Path(name).match(entry) for entry in listed), name


def test_a_link_out_of_the_docs_leads_to_the_copy_in_the_site() -> None:
    page = DOCS / "how-to" / "connect.md"
    text = load("pages").with_links("[a](../../SECURITY.md#x) [b](budget.md)", page, page)

    assert text == "[a](../reference/SECURITY.md#x) [b](budget.md)"


def test_every_public_name_is_on_its_page() -> None:
    text = (DOCS / "scenario-reference.md").read_text("utf-8")
    assert not [name for name in load("pages").PUBLIC if f"`{name}`" not in text]


@pytest.mark.slow
def test_the_reference_is_made_from_the_package() -> None:
    made = load("pages").generated()

    assert {path.split("/")[0] for path in made} == {"api", "reference"}
    for name in SCENARIOS:
        page = made[f"reference/scenarios/{name}.md"]
        assert page.startswith(f"# {scenario(name).title}")
        assert all(f"`{parameter}`" in page for parameter in ("condition", "minds", "n_rounds"))
    assert all(f"## sabm {name}\n" in made["reference/commands.md"] for name in COMMANDS.commands)
    assert all(
        f"(source-{work.key})=" in made["reference/bibliography.md"] for work in sources.works()
    )
    for line in INLINE.findall(made["reference/scenarios/index.md"]):
        assert_exists(line)
