"""The README's examples, run as they stand there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa.models.registry import SCENARIOS, scenario

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PYTHON = [text for language, text in BLOCKS if language == "python"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder in which the README is followed."""
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """Run Python there, with warnings as errors; what it printed."""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 160
    assert len(PYTHON[1].splitlines()) <= 25


@pytest.mark.slow
def test_the_first_example_runs(folder: Path) -> None:
    (folder / "example.py").write_text(PYTHON[0], "utf-8")

    assert "variance" in run(folder, "example.py")


@pytest.mark.slow
def test_the_scenario_of_the_readme_plays_by_its_rules(folder: Path) -> None:
    assert len(PYTHON) == 2
    (folder / "commons.py").write_text(PYTHON[1], "utf-8")
    check = """
from commons import Commons

model = Commons(minds={"fixed:7.5": 3, "fixed:10": 1}, rng=1)
model.run_model()
# 60 t, of which three take 7.5 t and one 10 t; after each catch, what is left grows by 15 %.
stock = 60.0
for catch in (7.5, 7.5, 7.5, 10):
    stock = 1.15 * (stock - catch)
assert list(model.model_frame()["stock"])[0] == stock < 60, model.model_frame()
assert list(model.model_frame()["stock"])[-1] == 0, model.model_frame()
silent = Commons(n_rounds=2, minds="fixed:none")
silent.run_model()
assert list(silent.model_frame()["invalid"]) == [4, 4]
assert list(silent.model_frame()["stock"]) == [100.0, 100.0]
"""
    run(folder, "-c", check)
    out = run(folder, "-m", "sabm_mesa", "run", "commons.py", "--minds", "fixed:7.5")
    assert "At the end: stock 100" in out


@pytest.mark.slow
def test_the_scenario_of_the_readme_conforms_and_is_fitted_as_the_page_says(folder: Path) -> None:
    page = (ROOT / "docs/how-to/fit.md").read_text("utf-8")
    (fishing,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    named = "from fishing import STUDY\n" + PYTHON[1].replace(
        "    prompts", "    study = STUDY\n    prompts"
    )
    (folder / "commons.py").write_text(PYTHON[1], "utf-8")
    (folder / "fishing.py").write_text(fishing, "utf-8")
    sabm = ("-m", "sabm_mesa")

    assert "Commons conforms: form" in run(folder, *sabm, "check", "commons.py")

    (folder / "commons.py").write_text(named, "utf-8")
    run(folder, *sabm, "run", "commons.py", "--minds", "fixed:3", "--rounds", "3", "--out", "a")
    quick = ["--absolute", "0"]
    run(folder, *sabm, "fit", "a/recording.sqlite", "--scenario", "commons.py", *quick)
    found = json.loads((folder / "a/fit/fingerprint.json").read_text("utf-8"))
    # 60 t, then 88 and 100 t for four fishers: 3 t are a share of 0.2, 0.14 and 0.12.
    assert found["model"] == "share"
    assert 0.12 < found["parameters"]["share"] < 0.2
    fitted = "fitted:a/fit/fingerprint.json"
    run(folder, *sabm, "run", "commons.py", "--minds", fitted, "--rounds", "3", "--out", "b")


def test_every_scenario_is_listed() -> None:
    for name in SCENARIOS:
        assert f"| `{name}` | `{scenario(name).__name__}` |" in README
