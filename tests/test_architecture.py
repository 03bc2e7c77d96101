"""The house rules on imports, files and names, read from the source without importing it."""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

pytestmark = pytest.mark.check_once

SOURCE = Path(__file__).parents[1] / "sabm_mesa"
CONNECTIONS = ("openai", "aiohttp", "httpx", "httpx2", "requests", "socket", "urllib", "http")
WRITING_METHODS = {"write_text", "write_bytes", "savefig"}
WRITING_FUNCTIONS = {"os.replace", "os.rename", "shutil.copy", "shutil.copyfile", "shutil.move"}
EXPORTS = {"to_csv", "to_json"}  # without a path they only return text


def is_within(name: str, places: Iterable[str]) -> bool:
    """Whether a dotted name is one of the places or lies inside one."""
    return any(name == place or name.startswith(f"{place}.") for place in places)


def is_file_of_a_scenario(module: str, *names: str) -> bool:
    """Whether it is one of these files in the folder of a scenario or of a family."""
    parts = module.split(".")
    return parts[:2] == ["sabm_mesa", "models"] and len(parts) > 3 and parts[-1] in names


def model_of(module: str) -> str:
    """The module with the model of these agents, "" for a module without agents."""
    is_agents = is_file_of_a_scenario(module, "agents")
    return f"{module.removesuffix('.agents')}.model" if is_agents else ""


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
    """An import; `from a import b` has the target `a.b`. It is `typing` under TYPE_CHECKING."""

    target: str
    typing: bool

    def of(self, *names: str) -> bool:
        """Whether it imports one of these modules or something from it."""
        return is_within(self.target, names)


class ImportFinder(ast.NodeVisitor):
    """Collects a module's imports."""

    def __init__(self, module: str, package: str):
        self.module = module
        self.package = package.split(".")
        self.typing = False
        self.found: list[Import] = []

    def add(self, target: str, node: ast.AST) -> None:
        text = f"imports {target}"
        self.found.append(Import(self.module, node.lineno, text, target, self.typing))

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
        before = self.typing
        self.typing |= ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        for child in node.body:
            self.visit(child)
        self.typing = before
        for child in node.orelse:
            self.visit(child)


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
        self.all_imports = [found for name in self.paths for found in self._imports(name)]
        self.imports = [found for found in self.all_imports if not found.typing]

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
    harmless = ("urllib.parse", "http.HTTPStatus", "socket.socketpair")  # a pair leads nowhere
    found = [i for i in package.imports if i.of(*CONNECTIONS) and not i.of(*harmless)]
    return [i for i in found if not i.by("llm")]


@rule
def private_openai(package: Package) -> list[Deed]:
    """Nothing uses a private name of the openai library, which any release may change."""
    names = {"_prepare_options", "_custom_headers", "_transport_for_url", "_build_request"}
    imports = [i for i in package.all_imports if i.of("openai") and "._" in i.target]
    used = [
        Deed(name, line, f"names {text}")
        for name, tree in package.trees.items()
        for line, text in words_of(tree)
        if text in names
    ]
    return [*imports, *used]


@rule
def database(package: Package) -> list[Deed]:
    """Only recording/ uses SQLite."""
    return [i for i in package.imports if i.of("sqlite3") and not i.by("recording")]


@rule
def files(package: Package) -> list[Deed]:
    """Only recording/ writes files, and llm/weights.py those of local models."""
    found = package.deeds(writes_a_file)
    return [deed for deed in found if not deed.by("recording", "llm.weights")]


@rule
def viewer(package: Package) -> list[Deed]:
    """Only visualization/viewer imports Solara, or mesa.visualization."""
    libraries = ("solara", "reacton", "mesa.visualization")
    return [i for i in package.imports if i.of(*libraries) and not i.by("visualization.viewer")]


@rule
def plots(package: Package) -> list[Deed]:
    """Only analysis/, studies/plots.py and a scenario's charts.py import matplotlib."""
    known = ("analysis", "studies.plots")
    found = [i for i in package.imports if i.of("matplotlib") and not i.by(*known)]
    return [i for i in found if not is_file_of_a_scenario(i.module, "charts")]


@rule
def terminal(package: Package) -> list[Deed]:
    """Only the command line imports typer and rich; the report of a study aligns its tables."""
    found = [i for i in package.imports if i.of("typer", "rich") and not i.by("cli")]
    return [i for i in found if not (i.of("rich") and i.by("studies.report"))]


@rule
def printing(package: Package) -> list[Deed]:
    """Only cli/app.py prints: nothing in its lines can control the terminal."""
    ways = {"typer.echo", "typer.secho", "print", "sys.stdout.write", "sys.stderr.write"}
    found = package.deeds(lambda n: isinstance(n, ast.Call) and ast.unparse(n.func) in ways)
    return [deed for deed in found if not deed.by("cli.app", "__main__")]


@rule
def foundations(package: Package) -> list[Deed]:
    """Errors and the reader stand on nothing of the package, answers on these alone."""
    floors = ("errors", "core.objects", "core.reader", "core.answers")
    return [
        i
        for height, floor in enumerate(floors)
        for i in package.imports
        if i.by(floor) and i.of("sabm_mesa")
        if not i.of(*(f"sabm_mesa.{below}" for below in floors[: height + 1]))
    ]


@rule
def theory(package: Package) -> list[Deed]:
    """The theory of a scenario is mathematics: packages of mathematics, the standard library."""
    allowed = ("numpy", "scipy", "networkx", "nashpy", *sys.stdlib_module_names)
    found = [i for i in package.imports if is_file_of_a_scenario(i.module, "theory")]
    return [i for i in found if not i.of(*allowed)]


@rule
def agents(package: Package) -> list[Deed]:
    """Agents know their model only as a type (under TYPE_CHECKING)."""
    found = [i for i in package.imports if i.of("sabm_mesa.models")]
    return [
        i
        for i in found
        if i.by("agents")
        or (is_file_of_a_scenario(i.module, "agents") and "model" in i.target.split(".")[3:])
    ]


MAY_NAME_SCENARIOS = {
    "sabm_mesa": "it exports their classes",
    "sabm_mesa.models.registry": "it has one line for each",
}
BUILD_ON = {"public_goods": {"pairs"}}
"""Folder → other folders that it names and imports: its experiments begin with runs of them."""
ORDINARY = {"games", "repeated"}
"""Names of scenarios that are words of the field: only their class and their module count."""
EXAMPLE = re.compile(r"(sabm \w+ |such as |out/)[a-z]+")
"""A scenario as an example of what to type, in help and messages."""


def folder_of_a_scenario(module: str) -> str:
    """The folder below models/ that a module is in (that of a family of scenarios), or empty."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["sabm_mesa", "models"] and len(parts) > 3 else ""


@cache
def names_of_scenarios(package: Package) -> dict[str, set[str]]:
    """Folder → the names, folders and classes of the scenarios in it."""
    registry = package.trees.get("sabm_mesa.models.registry", ast.Module([], []))
    found: dict[str, set[str]] = {}
    for table in (node for node in ast.walk(registry) if isinstance(node, ast.Dict)):
        for key, value in zip(table.keys, table.values, strict=True):
            match key, value:
                case ast.Constant(str(name)), ast.Constant(str(place)):
                    module, _, cls = place.partition(":")
                    if folder := folder_of_a_scenario(module):
                        own = module.split(".")[-2]
                        found.setdefault(folder, set()).update({name, own, cls})
    return {
        folder: (names - ORDINARY) | {f"models.{name}" for name in names & ORDINARY}
        for folder, names in found.items()
    }


def words_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The identifiers and strings of a module with their lines, without its docstrings."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(str(text)) if id(node) not in prose:
                yield node.lineno, text
            case (
                ast.Name(id=text)
                | ast.Attribute(attr=text)
                | ast.alias(name=text)
                | ast.FunctionDef(name=text)
                | ast.AsyncFunctionDef(name=text)
                | ast.ClassDef(name=text)
                | ast.arg(arg=text)
                | ast.ImportFrom(module=str(text))
            ):
                yield node.lineno, text


@cache
def any_of(names: frozenset[str]) -> re.Pattern[str]:
    """A pattern that finds each of the names; - and _ are the same."""
    each = "|".join("[-_]".join(map(re.escape, re.split("[-_]", name))) for name in sorted(names))
    return re.compile(rf"(?<![A-Za-z0-9])({each})(?![A-Za-z0-9])")


def names_one(text: str, names: Iterable[str]) -> bool:
    """Whether a text holds one of the names; examples do not count."""
    found = any_of(frozenset(names)).search
    return bool(found(text) and found(EXAMPLE.sub("", text)))


def names_of_others(package: Package, folder: str) -> set[str]:
    """The names that a file in a folder of a scenario, or elsewhere (""), may not hold."""
    allowed = {folder, *BUILD_ON.get(folder, ())}
    known = names_of_scenarios(package)
    return {name for home, names in known.items() if home not in allowed for name in names}


@rule
def scenarios(package: Package) -> list[Deed]:
    """A scenario is named in its folder, in one line of the registry, and nowhere else."""
    return [
        Deed(module, line, f"names a scenario: {text[:60]!r}")
        for module, tree in package.trees.items()
        if module not in MAY_NAME_SCENARIOS
        if (names := names_of_others(package, folder_of_a_scenario(module)))
        for line, text in words_of(tree)
        if names_one(text, names)
    ]


ROWS = (
    ("errors",),
    ("core", "analysis"),
    ("llm", "recording"),
    ("minds",),
    ("agents",),
    ("models",),
    ("runs",),
    ("studies",),
    ("describe",),
    ("scaffold", "testing", "visualization"),
    ("cli",),
)
"""The rooms of the house, the lowest first, as CONTRIBUTING.md draws them."""


def row_of(module: str) -> int:
    """The number of the row in which a module is; −1 outside all rooms."""
    room = module.split(".")[1] if "." in module else ""
    return next((height for height, row in enumerate(ROWS) if room in row), -1)


@rule
def rooms(package: Package) -> list[Deed]:
    """A room uses those of its own row and of the rows below."""
    found = [i for i in package.imports if row_of(i.module) >= 0]
    return [i for i in found if row_of(package.home(i.target)) > row_of(i.module)]


@rule
def islands(package: Package) -> list[Deed]:
    """A family of scenarios imports from its own folder and from no other family's."""
    found = [
        (i, folder_of_a_scenario(i.module), folder_of_a_scenario(package.home(i.target)))
        for i in package.all_imports
    ]
    return [
        i
        for i, own, other in found
        if own and other and own != other and other not in BUILD_ON.get(own, ())
    ]


@rule
def grid(package: Package) -> list[Deed]:
    """Only models/ touches Mesa's spaces."""
    spaces = ("mesa.space", "mesa.discrete_space")
    named = package.deeds(lambda n: isinstance(n, ast.Attribute) and ast.unparse(n) in spaces)
    found = [*(i for i in package.imports if i.of(*spaces)), *named]
    return [deed for deed in found if not deed.by("models")]


@rule
def cycles(package: Package) -> list[Deed]:
    """No modules import one another in a circle, also not inside functions or for types.

    Agents of a scenario may name the type of their model.
    """
    graph = nx.DiGraph()
    for i in package.all_imports:
        home = package.home(i.target)
        if home and home != i.module and not (i.typing and home == model_of(i.module)):
            graph.add_edge(i.module, home, deed=i)
    circles = [set(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    return [deed for circle in circles for _, _, deed in graph.subgraph(circle).edges(data="deed")]


@rule
def names_of_classes(package: Package) -> list[Deed]:
    """No two public classes share a name, but for those in the same file of two scenarios."""
    found: dict[str, list[Deed]] = {}
    for module, tree in package.trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                text = f"names a class {node.name}"
                found.setdefault(node.name, []).append(Deed(module, node.lineno, text))
    return [
        deed
        for deeds in found.values()
        for deed in deeds
        if any(not are_counterparts(deed.module, other.module) for other in deeds if other != deed)
    ]


def are_counterparts(one: str, other: str) -> bool:
    """Whether they are the same file in the folders of two scenarios."""
    in_scenarios = folder_of_a_scenario(one) and folder_of_a_scenario(other)
    return bool(in_scenarios and one != other) and (
        one.rpartition(".")[2] == other.rpartition(".")[2]
    )


parsed = cache(Package)


def breaches(check: Rule, source: Path) -> list[str]:
    """The breaches of the rule, one `file:line` each."""
    package = parsed(source)
    return [
        f"{package.paths[deed.module].relative_to(source.parent)}:{deed.line} {deed.text}"
        for deed in check(package)
    ]


@pytest.mark.parametrize("check", RULES, ids=lambda check: check.__name__)
def test_the_package_keeps_the_rule(check: Rule) -> None:
    found = breaches(check, SOURCE)

    assert not found, "\n".join([check.__doc__ or "", *found])


def test_the_data_of_the_package_name_no_scenario_outside_its_folder() -> None:
    titles_of_publications = SOURCE / "describe" / "references.toml"
    found = []
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in {".toml", ".jinja", ".css", ".js", ".html", ".md"}:
            continue
        if path == titles_of_publications:
            continue
        parts = path.relative_to(SOURCE).parts
        names = names_of_others(parsed(SOURCE), parts[1] if parts[0] == "models" else "")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.lstrip().startswith("#") and names_one(line, names):
                found.append(f"{path.relative_to(SOURCE)}:{number} {line[:60]}")

    assert not found, "\n".join(found)


def test_the_rules_see_the_package() -> None:
    assert names_of_scenarios(parsed(SOURCE))["bertrand"] == {"bertrand", "BertrandCompetition"}
    assert {"sabm_mesa.errors", "sabm_mesa.core.answers"} <= set(parsed(SOURCE).paths)


Files = dict[str, str]
REGISTRY = "KNOWN = {'contest': 'sabm_mesa.models.contest.model:Contest'}"
BREACHES: dict[Rule, Files] = {
    connections: {"minds/a.py": "def f():\n    from urllib.request import urlopen"},
    private_openai: {"llm/a.py": "from openai._models import FinalRequestOptions"},
    database: {"cli.py": "import sqlite3"},
    files: {"cli.py": "path.open('a')"},
    viewer: {"models/a.py": "from mesa.visualization import SolaraViz"},
    plots: {"models/a.py": "from matplotlib.figure import Figure"},
    terminal: {"engine.py": "from rich.progress import Progress"},
    printing: {"cli/a.py": "typer.echo(text)"},
    foundations: {"core/answers.py": "from . import asks", "core/asks.py": ""},
    theory: {"models/kbc/theory.py": "from sabm_mesa.analysis.intervals import mean"},
    agents: {"models/kbc/agents.py": "from sabm_mesa.models.beauty_contest.kbc.model import KBC"},
    scenarios: {"models/registry.py": REGISTRY, "cli.py": "if name == 'contest': pass"},
    rooms: {"minds/a.py": "from sabm_mesa.agents.b import B", "agents/b.py": ""},
    islands: {"models/pot/a.py": "from ..kbc.b import B", "models/kbc/b.py": ""},
    grid: {"agents/a.py": "import mesa\nmesa.space.MultiGrid(1, 1, False)"},
    cycles: {"a.py": "from .b import f", "b.py": "def f():\n    from . import a"},
    names_of_classes: {"core/a.py": "class A: ...", "models/kbc/agents.py": "class A: ..."},
}
"""Rule → a package that breaks it."""


@pytest.mark.parametrize("check", RULES, ids=lambda check: check.__name__)
def test_a_breach_is_found(check: Rule, tmp_path: Path) -> None:
    for name, code in BREACHES[check].items():
        path = tmp_path / "sabm_mesa" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    found = breaches(check, tmp_path / "sabm_mesa")

    assert found
    assert all(line.startswith("sabm_mesa/") and ".py:" in line for line in found)
