"""Who may import and write what: the house rules, read from the source without importing it."""

import ast
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

SOURCE = Path(__file__).parents[1] / "sabm_mesa"
MAX_LINES = 300
CONNECTIONS = ("openai", "aiohttp", "httpx", "httpx2", "requests", "socket", "urllib", "http")
WRITING_METHODS = {"write_text", "write_bytes", "savefig"}
WRITING_FUNCTIONS = {"os.replace", "os.rename", "shutil.copy", "shutil.copyfile", "shutil.move"}
EXPORTS = {"to_csv", "to_json", "to_parquet"}  # without a path they only return text


def is_within(name: str, places: Iterable[str]) -> bool:
    """Whether a dotted name is one of the places or lies inside one."""
    return any(name == place or name.startswith(f"{place}.") for place in places)


@dataclass(frozen=True)
class Deed:
    """Something a module does at a line, in words that follow `file:line`."""

    module: str
    line: int
    text: str

    def by(self, *places: str) -> bool:
        """Whether one of these parts of the package does it."""
        return is_within(self.module, [f"sabm_mesa.{place}" for place in places])


@dataclass(frozen=True)
class Import(Deed):
    """An import at run time; `from a import b` has the target `a.b`."""

    target: str
    on_load: bool

    def of(self, *names: str) -> bool:
        """Whether it imports one of these modules or something from it."""
        return is_within(self.target, names)


class ImportFinder(ast.NodeVisitor):
    """Collects a module's imports, except those under TYPE_CHECKING."""

    def __init__(self, module: str, package: str):
        self.module = module
        self.package = package.split(".")
        self.on_load = True
        self.found: list[Import] = []

    def add(self, target: str, node: ast.AST) -> None:
        text = f"imports {target}"
        self.found.append(Import(self.module, node.lineno, text, target, self.on_load))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        above = self.package[: len(self.package) + 1 - node.level] if node.level else []
        base = [*above, node.module] if node.module else above
        for alias in node.names:
            self.add(".".join([*base, alias.name]), node)

    def visit_Call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(
                func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(name)), *_],
            ):
                self.add(name, node)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        typing_only = ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        for child in node.orelse if typing_only else [*node.body, *node.orelse]:
            self.visit(child)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        before, self.on_load = self.on_load, False
        self.generic_visit(node)
        self.on_load = before

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)


def opens_for_writing(node: ast.Call) -> bool:
    """Whether it is `open(file, "w")`, `path.open("w")` or another mode that writes."""
    match node.func:
        case ast.Name("open"):
            modes = node.args[1:2]
        case ast.Attribute(attr="open"):
            modes = node.args[:2]
        case _:
            return False
    modes = [*modes, *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant)]
    return any(
        isinstance(text, str) and set(text) <= set("rwaxbt+") and set(text) & set("wax+")
        for text in texts
    )


def writes_a_file(node: ast.AST) -> bool:
    """Whether the node is a call that puts something on the disk."""
    if not isinstance(node, ast.Call):
        return False
    function = ast.unparse(node.func)
    method = function.rpartition(".")[2]
    has_path = node.args or any(k.arg in {"path", "path_or_buf"} for k in node.keywords)
    return (
        method in WRITING_METHODS
        or function in WRITING_FUNCTIONS
        or (method in EXPORTS and bool(has_path))
        or opens_for_writing(node)
    )


class Package:
    """The modules below a `sabm_mesa` directory and what they do, by dotted name."""

    def __init__(self, source: Path):
        self.paths = {self._name(source, path): path for path in sorted(source.rglob("*.py"))}
        self.trees = {name: ast.parse(path.read_bytes()) for name, path in self.paths.items()}
        self.imports = [found for name in self.paths for found in self._imports(name)]

    def _name(self, source: Path, path: Path) -> str:
        parts = path.relative_to(source.parent).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")

    def _imports(self, name: str) -> list[Import]:
        is_package = self.paths[name].name == "__init__.py"
        finder = ImportFinder(name, name if is_package else name.rpartition(".")[0])
        finder.visit(self.trees[name])
        return finder.found

    def deeds(self, does: Callable[[ast.AST], bool]) -> list[Deed]:
        """The places whose syntax node does this."""
        return [
            Deed(name, node.lineno, ast.unparse(node))
            for name, tree in self.trees.items()
            for node in ast.walk(tree)
            if does(node)
        ]

    def home(self, target: str) -> str:
        """The module that an imported name comes from, empty outside the package."""
        while target and target not in self.paths:
            target = target.rpartition(".")[0]
        return target


Rule = Callable[[Package], list[Deed]]
RULES: list[Rule] = []


def rule(check: Rule) -> Rule:
    """Registers a function whose docstring is a rule and which returns what breaks it."""
    RULES.append(check)
    return check


@rule
def connections(package: Package) -> list[Deed]:
    """Only llm/ opens a connection."""
    harmless = ("urllib.parse", "http.HTTPStatus")
    found = [i for i in package.imports if i.of(*CONNECTIONS) and not i.of(*harmless)]
    return [i for i in found if not i.by("llm")]


@rule
def database(package: Package) -> list[Deed]:
    """Only recording/ uses SQLite."""
    return [i for i in package.imports if i.of("sqlite3") and not i.by("recording")]


@rule
def files(package: Package) -> list[Deed]:
    """Only recording/ writes files."""
    return [deed for deed in package.deeds(writes_a_file) if not deed.by("recording")]


@rule
def viewer(package: Package) -> list[Deed]:
    """Only visualization/ imports Solara, also by way of mesa.visualization."""
    libraries = ("solara", "reacton", "mesa.visualization")
    return [i for i in package.imports if i.of(*libraries) and not i.by("visualization")]


@rule
def plots(package: Package) -> list[Deed]:
    """Only analysis/plots imports matplotlib."""
    return [i for i in package.imports if i.of("matplotlib") and not i.by("analysis.plots")]


@rule
def terminal(package: Package) -> list[Deed]:
    """Only the command line imports typer and rich."""
    return [i for i in package.imports if i.of("typer", "rich") and not i.by("cli")]


@rule
def printing(package: Package) -> list[Deed]:
    """Only cli/app.py prints, since what it prints cannot control the terminal."""
    ways = {"typer.echo", "typer.secho", "print", "sys.stdout.write", "sys.stderr.write"}
    found = package.deeds(lambda n: isinstance(n, ast.Call) and ast.unparse(n.func) in ways)
    return [deed for deed in found if not deed.by("cli.app")]


@rule
def foundations(package: Package) -> list[Deed]:
    """The modules of errors, answers and decisions stand on one another in this order alone."""
    floors = ("errors", "answers", "decisions")
    return [
        i
        for height, floor in enumerate(floors)
        for i in package.imports
        if i.by(floor) and i.of("sabm_mesa")
        if not i.of(*(f"sabm_mesa.{below}" for below in floors[: height + 1]))
    ]


@rule
def theory(package: Package) -> list[Deed]:
    """analysis/theory is mathematics: numpy, scipy, networkx, the standard library and itself."""
    allowed = ("numpy", "scipy", "networkx", "sabm_mesa.analysis.theory", *sys.stdlib_module_names)
    return [i for i in package.imports if i.by("analysis.theory") and not i.of(*allowed)]


@rule
def agents(package: Package) -> list[Deed]:
    """agents/ knows models/ only as types (under TYPE_CHECKING)."""
    return [i for i in package.imports if i.by("agents") and i.of("sabm_mesa.models")]


@rule
def command_line(package: Package) -> list[Deed]:
    """Nothing below the command line imports it."""
    found = [i for i in package.imports if i.of("sabm_mesa.cli")]
    return [i for i in found if not i.by("cli", "runner", "__main__")]


@rule
def grid(package: Package) -> list[Deed]:
    """Only models/ and grid.py touch Mesa's spaces."""
    spaces = ("mesa.space", "mesa.discrete_space")
    named = package.deeds(lambda n: isinstance(n, ast.Attribute) and ast.unparse(n) in spaces)
    found = [*(i for i in package.imports if i.of(*spaces)), *named]
    return [deed for deed in found if not deed.by("models", "grid")]


@rule
def cycles(package: Package) -> list[Deed]:
    """No modules import one another in a circle while they load."""
    graph = nx.DiGraph()
    for i in package.imports:
        if i.on_load and package.home(i.target):
            graph.add_edge(i.module, package.home(i.target), deed=i)
    circles = [set(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    return [deed for circle in circles for _, _, deed in graph.subgraph(circle).edges(data="deed")]


@rule
def length(package: Package) -> list[Deed]:
    """A module can be read in one sitting: at most 300 lines."""
    lengths = {name: len(path.read_text().splitlines()) for name, path in package.paths.items()}
    return [Deed(name, n, f"has {n} lines") for name, n in lengths.items() if n > MAX_LINES]


parsed = cache(Package)


def breaches(check: Rule, source: Path) -> list[str]:
    """What breaks the rule, one `file:line` each."""
    package = parsed(source)
    return [
        f"{package.paths[deed.module].relative_to(source.parent)}:{deed.line} {deed.text}"
        for deed in check(package)
    ]


@pytest.mark.parametrize("check", RULES, ids=lambda check: check.__name__)
def test_the_package_keeps_the_rule(check: Rule) -> None:
    found = breaches(check, SOURCE)

    assert not found, "\n".join([check.__doc__ or "", *found])


def test_the_rules_see_the_package() -> None:
    assert {"sabm_mesa.errors", "sabm_mesa.decisions"} <= set(parsed(SOURCE).paths)


Files = dict[str, str]
BROKEN: list[tuple[Rule, Files]] = [
    (connections, {"minds/a.py": "import openai"}),
    (connections, {"minds/a.py": "def f():\n    from urllib.request import urlopen"}),
    (connections, {"minds/a.py": "import importlib\nimportlib.import_module('httpx')"}),
    (database, {"cli.py": "import sqlite3"}),
    (files, {"cli.py": "open('a', 'w')"}),
    (files, {"cli.py": "open('a', mode='r+b')"}),
    (files, {"cli.py": "path.open('a')"}),
    (files, {"cli.py": "path.write_text('a')"}),
    (files, {"cli.py": "frame.to_csv(path)"}),
    (files, {"analysis/plots/a.py": "figure.savefig(path)"}),
    (files, {"cli.py": "import os\nos.replace(a, b)"}),
    (viewer, {"models/a.py": "import solara"}),
    (viewer, {"models/a.py": "from mesa.visualization import SolaraViz"}),
    (plots, {"models/a.py": "from matplotlib.figure import Figure"}),
    (terminal, {"engine.py": "from rich.progress import Progress"}),
    (printing, {"cli/a.py": "typer.echo(text)"}),
    (printing, {"models/a.py": "print(text)"}),
    (foundations, {"decisions.py": "from sabm_mesa import asks", "asks.py": ""}),
    (foundations, {"errors.py": "from .decisions import Decision"}),
    (foundations, {"answers.py": "from .decisions import Decision"}),
    (theory, {"analysis/theory/a.py": "import pandas as pd"}),
    (theory, {"analysis/theory/a.py": "from ..statistics import mean"}),
    (agents, {"agents/a.py": "from sabm_mesa.models.kbc import KBC"}),
    (agents, {"agents/a.py": "def f():\n    from ..models import kbc"}),
    (command_line, {"engine.py": "from . import cli"}),
    (grid, {"agents/a.py": "from mesa import space"}),
    (grid, {"agents/a.py": "import mesa\nmesa.space.MultiGrid(1, 1, False)"}),
    (cycles, {"a.py": "from .b import f", "b.py": "from .c import f", "c.py": "from . import a"}),
    (cycles, {"llm/__init__.py": "from .a import A", "llm/a.py": "from sabm_mesa.llm import A"}),
    (length, {"a.py": "\n" * (MAX_LINES + 1)}),
]
KEPT: list[tuple[Rule, Files]] = [
    (connections, {"llm/openai.py": "import openai", "a.py": "from .llm.openai import Client"}),
    (connections, {"minds/a.py": "from urllib.parse import urlsplit"}),
    (files, {"cli.py": "open('a')\nopen('w', 'rb')\npath.open()\nframe.to_csv(index=False)"}),
    (files, {"recording/a.py": "path.write_text('a')"}),
    (foundations, {"decisions.py": "from .errors import SabmError\nfrom .answers import Unusable"}),
    (theory, {"analysis/theory/a.py": "import math\nimport numpy as np\nfrom .b import f"}),
    (agents, {"agents/a.py": "if TYPE_CHECKING:\n    from sabm_mesa.models.kbc import KBC"}),
    (grid, {"grid.py": "from mesa.space import MultiGrid"}),
    (cycles, {"a.py": "import sabm_mesa.b", "b.py": "def f():\n    from . import a"}),
    (length, {"a.py": "\n" * MAX_LINES}),
]


def write_package(directory: Path, modules: Files) -> Path:
    for name, code in modules.items():
        path = directory / "sabm_mesa" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return directory / "sabm_mesa"


@pytest.mark.parametrize(("check", "modules"), BROKEN)
def test_a_breach_is_found(check: Rule, modules: Files, tmp_path: Path) -> None:
    found = breaches(check, write_package(tmp_path, modules))

    assert found
    assert all(line.startswith("sabm_mesa/") and ".py:" in line for line in found)


@pytest.mark.parametrize(("check", "modules"), KEPT)
def test_what_is_allowed_passes(check: Rule, modules: Files, tmp_path: Path) -> None:
    assert not breaches(check, write_package(tmp_path, modules))


def test_every_rule_is_shown_to_fail() -> None:
    assert set(RULES) == {check for check, _ in BROKEN}
