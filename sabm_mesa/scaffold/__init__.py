"""Templates of a small working scenario: one file, or a package."""

from __future__ import annotations

import builtins
import importlib.util
import keyword
import re
import sys
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from sabm_mesa.errors import OutputError, ParameterError
from sabm_mesa.models import registry
from sabm_mesa.recording.export import make_folder, write_file, write_folder

FILES = {
    "README.md": "README.md",
    "app.py": "app.py",
    "pyproject.toml": "pyproject.toml",
    "tests/__init__.py": "tests.py",
    "tests/test_{name}.py": "test.py",
    "{name}/__init__.py": "init.py",
    "{name}/agents.py": "agents.py",
    "{name}/minds.py": "minds.py",
    "{name}/model.py": "model.py",
    "{name}/odd.toml": "odd.toml",
    "{name}/charts.py": "charts.py",
    "{name}/prompts.toml": "prompts.toml",
}
"""File of a package → its template."""
N_PEOPLE, SEATS = 20, 12
LONGEST = 30
"""The maximum length of a name, so that no line of the code becomes too long."""
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_TAKEN_HERE = {"app", "tests"}
_CLASSES = {
    "Annotated", "Any", "Ask", "Callable", "Choice", "ClassVar", "ClassicalMind", "Decision",
    "Fisher", "Forecaster", "Ge", "Mapping", "Number", "Path", "Person", "Phase", "ScenarioPage",
    "Score", "Sequence", "SmartAgent", "SmartModel", "View",
}  # fmt: skip
"""Names that the code uses, in addition to Python's own."""


def new_scenario(name: str, into: Path, *, package: bool = False) -> Path:
    """Write a scenario into a new file, or a package with tests and a page into a new folder.

    The file has fishers at a lake, the package El Farol's bar (Arthur 1994). Installed as a
    package, ``sabm`` knows it by name.

    Args:
        name: the name of the scenario, of its file and of its package.
        into: the parent folder.
        package: whether to write a package.

    Returns:
        The file or the folder.

    Raises:
        ParameterError: for a name that cannot be used; then nothing has been written.
        OutputError: when there is such a file already, or it cannot be written.
    """
    check_name(name)
    path = into / (name if package else f"{name}.py")
    if path.exists() or path.is_symlink():
        raise OutputError(f"{path} already exists: choose another name, or --into DIR.")
    engine = Environment(
        loader=PackageLoader(__name__), undefined=StrictUndefined, keep_trailing_newline=True
    )
    values = {
        "name": name, "cls": _class(name), "distribution": name.replace("_", "-"),
        "title": name.replace("_", " ").capitalize(), "n_people": N_PEOPLE, "seats": SEATS,
    }  # fmt: skip

    def text(template: str) -> str:
        return engine.get_template(f"{template}.jinja").render(values)

    if package:
        return write_folder(path, {f.format(name=name): text(t) for f, t in FILES.items()})
    make_folder(into)
    return write_file(path, text("file.py"))


def check_name(name: str) -> None:
    """Check that a custom scenario can have this name.

    Raises:
        ParameterError: when it cannot.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST:
        better = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789")[:LONGEST].strip("_")
        raise ParameterError(
            f"{name!r} cannot be the name of a scenario and its file: use small letters, digits "
            f"and _ between them, a letter first and {LONGEST} at most, such as "
            f"{better or 'my_scenario'!r}."
        )
    if name in {*registry.names(), *registry.UNLISTED}:
        raise ParameterError(f"There is a scenario {name!r} already: choose another name.")
    words = {name, _class(name)}
    if any(map(keyword.iskeyword, words)) or words & (_TAKEN_HERE | _CLASSES | {*dir(builtins)}):
        raise ParameterError(f"{name!r} is used in the generated code: choose another name.")
    if name in sys.stdlib_module_names or _is_module(name):
        raise ParameterError(
            f"There is a Python module {name!r} already, which would be hidden: choose another "
            "name."
        )


def _class(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _is_module(name: str) -> bool:
    """Whether there is a module of that name; a plain folder does not count."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None
