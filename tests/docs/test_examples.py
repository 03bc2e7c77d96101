"""The examples: each in Mesa's form, and each runs."""

import ast
import runpy
from pathlib import Path

import pytest

import sabm_mesa
from sabm_mesa.models.registry import SCENARIOS, load, scenario
from sabm_mesa.testing import check_scenario
from sabm_mesa.visualization.pages.scenario import View

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(app.parent for app in EXAMPLES.glob("*/app.py"))
OWN = [path for folder in FOLDERS if (path := folder / f"{folder.name}.py").exists()]
"""Files with a scenario of their own."""
SCRIPTS = [f for f in FOLDERS if f.name != "mixed_study"]
"""Those whose ``run.py`` shows all at once; the mixed study has tests of its own."""


def imported(path: Path) -> set[str]:
    """The names that a script imports from the package itself."""
    return {
        name.name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "sabm_mesa"
        for name in node.names
    }


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_has_an_example(name: str) -> None:
    model = scenario(name).__name__
    of_it = [folder for folder in SCRIPTS if model in imported(folder / "run.py")]

    assert of_it, f"no examples/*/run.py imports {model}"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_has_the_form_of_mesas(folder: Path) -> None:
    place = f"examples/{folder.name}"
    readme = (folder / "README.md").read_text("utf-8")

    assert readme.startswith("# ")
    assert f"solara run {place}/app.py" in readme
    assert f"python {place}/run.py" in readme
    assert ast.get_docstring(ast.parse((folder / "app.py").read_text("utf-8")))
    assert ast.get_docstring(ast.parse((folder / "run.py").read_text("utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("folder", SCRIPTS, ids=lambda folder: folder.name)
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
    if (file := folder / f"{folder.name}.py").exists():
        assert page.args == (load(str(file)),)
    else:
        (model,) = imported(folder / "app.py")
        assert page.args == (getattr(sabm_mesa, model),)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("file", OWN, ids=lambda file: file.stem)
def test_a_scenario_in_a_file_conforms_and_is_short(file: Path) -> None:
    check_scenario(load(str(file)))
    lines = [
        path.read_text("utf-8").count("\n") for path in file.parent.iterdir() if path.is_file()
    ]
    assert sum(lines) < (300 if file.stem == "negotiation" else 200)  # the guide walks through it
