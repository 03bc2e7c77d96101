"""`sabm new`: a file that works at once, and a package that is tested and installed for real."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa.errors import OutputError, ParameterError
from sabm_mesa.recording.export import write_folder
from sabm_mesa.scaffold import FILES, LONGEST, check_name
from tests.cli.support import Sabm, one_line

ROOT = Path(__file__).parents[2]
NAMES = ["my_scenario", "a" * LONGEST]


def run(folder: Path, *command: object, path: Path = ROOT) -> str:
    """Run Python in a folder, with warnings as errors; what it printed."""
    places = dict.fromkeys([str(path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_one_file_of_25_lines_runs_at_once(sabm: Sabm, tmp_path: Path) -> None:
    outcome = sabm("new", "my_scenario", "--into", tmp_path / "new" / "folder")
    file = tmp_path / "new" / "folder" / "my_scenario.py"

    assert outcome.status == 0, outcome.err
    assert f"  sabm check {file}\n  sabm run {file}\n" in outcome.out
    assert list(file.parent.iterdir()) == [file]
    assert len(file.read_text("utf-8").splitlines()) == 25
    assert "conforms: form" in run(tmp_path, "-m", "sabm_mesa", "check", file)
    run(tmp_path, "-m", "sabm_mesa", "run", file, "--rounds", 3)
    rows = (tmp_path / "out" / "model.csv").read_text().split("\n")
    stocks = [float(row.split(",")[2]) for row in rows[1:4]]
    assert rows[0].split(",")[2] == "stock"
    assert 60 < stocks[0] < stocks[1] < stocks[2] < 70


@pytest.mark.slow
def test_its_own_tests_pass_at_once_without_installing_it(sabm: Sabm, tmp_path: Path) -> None:
    outcome = sabm("new", "my_scenario", "--package", "--into", tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder" / "my_scenario"

    assert outcome.status == 0, outcome.err
    assert f"  cd {folder}\n  pytest " in outcome.out
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {file.format(name="my_scenario") for file in FILES}
    assert [path.name for path in folder.parent.iterdir()] == ["my_scenario"]
    assert "4 passed" in run(folder, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider")


@pytest.mark.parametrize("name", NAMES)
def test_its_code_keeps_the_rules_of_this_repository(sabm: Sabm, tmp_path: Path, name: str) -> None:
    assert sabm("new", name, "--package", "--into", tmp_path).status == 0
    assert sabm("new", name, "--into", tmp_path / "one").status == 0
    folder = tmp_path / name

    for options in (["check", "."], ["format", "--check", ".", tmp_path / "one"]):
        run(folder, "-m", "ruff", *options, "--no-cache", "--config", ROOT / "pyproject.toml")
    assert len((tmp_path / "one" / f"{name}.py").read_text("utf-8").splitlines()) == 25
    code = "".join(path.read_text("utf-8") for path in folder.rglob("*.py"))
    assert "{{" not in code
    assert f"class {name.replace('_', ' ').title().replace(' ', '')}(SmartModel)" in code


@pytest.mark.slow
def test_installed_it_is_a_scenario_like_all_others(sabm: Sabm, tmp_path: Path) -> None:
    assert sabm("new", "my_scenario", "--package", "--into", tmp_path).status == 0
    site = tmp_path / "site"
    run(
        tmp_path, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index",
        "--no-deps", "--no-build-isolation", "--target", site, tmp_path / "my_scenario",
    )  # fmt: skip

    out = run(tmp_path, "-m", "sabm_mesa", "run", "my_scenario", "--seed", 1, path=site)
    assert "My scenario: 1 run" in out
    rows = (tmp_path / "out" / "model.csv").read_text().split("\n")
    assert rows[0].startswith("run,round,attendance,asks,invalid")
    assert len(rows) == 10 + 2


def test_no_name_gives_a_class_that_the_code_has_already(sabm: Sabm, tmp_path: Path) -> None:
    assert sabm("new", "my_scenario", "--into", tmp_path).status == 0
    assert sabm("new", "my_scenario", "--package", "--into", tmp_path).status == 0
    names = set()
    for path in tmp_path.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names |= {getattr(node, part, None) for part in ("id", "name")}
    classes = {name for name in names if name and name[0].isupper() and not name.isupper()}

    assert classes > {
        "MyScenario",
        "Person",
        "SmartModel",
        "Score",
        "View",
        "Fisher",
        "Forecaster",
    }
    for taken in classes - {"MyScenario"}:
        with pytest.raises(ParameterError, match="is used in the generated code"):
            check_name(re.sub("(?<=[a-z])(?=[A-Z])", "_", taken).lower())


SUCH_AS = "use small letters, digits and _ between them, a letter first and 30 at most, such as"
CODE = "is used in the generated code: choose another name."
MODULE = "already, which would be hidden: choose another name."


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My-Scenario", f"of a scenario and its file: {SUCH_AS} 'my_scenario'."),
        ("2nd", f"{SUCH_AS} 'nd'."),
        ("a__b", f"{SUCH_AS} 'a_b'."),
        ("../x", f"{SUCH_AS} 'x'."),
        ("é", f"{SUCH_AS} 'my_scenario'."),
        ("a" * (LONGEST + 1), f"{SUCH_AS} '{'a' * LONGEST}'."),
        ("kbc", "There is a scenario 'kbc' already: choose another name."),
        ("judge", "There is a scenario 'judge' already: choose another name."),
        ("lambda", f"'lambda' {CODE}"),
        ("none", f"'none' {CODE}"),
        ("person", f"'person' {CODE}"),
        ("tests", f"'tests' {CODE}"),
        ("value_error", f"'value_error' {CODE}"),
        ("random", f"There is a Python module 'random' {MODULE}"),
        ("pandas", f"There is a Python module 'pandas' {MODULE}"),
    ],
)
def test_a_name_that_cannot_be_used(sabm: Sabm, tmp_path: Path, name: str, told: str) -> None:
    outcome = sabm("new", "--into", tmp_path / "into", name)

    assert outcome.status == 2
    assert one_line(outcome).endswith(told)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_stays(sabm: Sabm, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine.py").touch()
    for options, name in ([], "mine.py"), (["--package"], "mine"):
        outcome = sabm("new", "mine", "--into", tmp_path, *options)
        expected = f"{tmp_path / name} already exists: choose another name, or --into DIR."
        assert (outcome.status, one_line(outcome)) == (1, expected)
    assert [*(tmp_path / "mine").iterdir(), (tmp_path / "mine.py").read_text()] == [""]


def test_a_place_that_cannot_be_written(sabm: Sabm, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for options in [], ["--package"]:
        outcome = sabm("new", "mine", "--into", tmp_path / "file", *options)
        assert outcome.status == 1
        assert one_line(outcome).startswith(f"Cannot write {tmp_path / 'file'}")


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    texts = {"a": "the first", "a/b": "for which a would have to be a folder"}
    with pytest.raises(OutputError, match="Cannot write"):
        write_folder(tmp_path / "new", texts)
    assert list(tmp_path.iterdir()) == []

    write_folder(tmp_path / "new", {"a": "first"})
    with pytest.raises(OutputError, match="already exists"):
        write_folder(tmp_path / "new", {"b": "second"})
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "a"]
