"""The examples: each in Mesa's form, and each runs."""

import ast
import runpy
from pathlib import Path

import pytest

import sabm_mesa
from sabm_mesa.models.registry import load
from sabm_mesa.testing import check_scenario
from sabm_mesa.visualization.viewer.scenario import View

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(app.parent for app in EXAMPLES.glob("*/app.py"))
"""Folders with a scenario in a file."""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_has_the_form_of_mesas(folder: Path) -> None:
    place = f"examples/{folder.name}"
    readme = (folder / "README.md").read_text("utf-8")

    assert readme.startswith("# ")
    assert f"solara run {place}/app.py" in readme
    assert f"python {place}/run.py" in readme
    assert ast.get_docstring(ast.parse((folder / "app.py").read_text("utf-8")))
    assert ast.get_docstring(ast.parse((folder / "run.py").read_text("utf-8")))


SCENARIOS = [
    *(folder / f"{folder.name}.py" for folder in FOLDERS),
    EXAMPLES.parent / "course" / "solutions" / "04_add_a_scenario.py",
]
"""The scenarios in files, of the examples and of the course."""


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_a_scenario_needs_the_public_names_alone(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    from_package = [node for node in imports if str(node.module).startswith("sabm_mesa")]

    assert {node.module for node in from_package} == {"sabm_mesa"}
    names = {alias.name for node in from_package for alias in node.names}
    assert names <= set(sabm_mesa.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_runs(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(folder)  # as Python does for a script

    runpy.run_path(str(folder / "run.py"), run_name="__main__")

    assert capsys.readouterr().out.strip()
    assert not list(tmp_path.iterdir()), "a free run leaves no recording"


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_app_of_an_example_is_the_page_of_its_scenario(folder: Path) -> None:
    page = runpy.run_path(str(folder / "app.py"))["page"]

    assert page.component is View
    assert page.args == (load(str(folder / f"{folder.name}.py")),)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_scenario_in_a_file_conforms_and_is_short(folder: Path) -> None:
    check_scenario(load(str(folder / f"{folder.name}.py")))
    lines = [path.read_text("utf-8").count("\n") for path in folder.iterdir() if path.is_file()]
    assert sum(lines) < 200
