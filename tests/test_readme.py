"""The README's examples, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.registry import SCENARIOS, scenario

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PYTHON = [text for language, text in BLOCKS if language == "python"]
TOML = {
    text.split(":")[0].split("\n")[0].removeprefix("# "): text
    for language, text in BLOCKS
    if language == "toml"
}
SABM = [
    line.partition("#")[0].strip()
    for language, text in BLOCKS
    if not language
    for line in text.split("\n")
    if line.startswith("sabm ")
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the README's files."""
    for name, text in TOML.items():
        (tmp_path / name).write_text(text, "utf-8")
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


def test_the_readme_has_the_examples() -> None:
    assert len(PYTHON) == 6
    assert set(TOML) == {"own.toml", "prices.toml", "commons.toml"}
    assert len(SABM) == 29


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_a_python_example_runs(folder: Path, number: int) -> None:
    (folder / "example.py").write_text(PYTHON[number], "utf-8")
    run(folder, "example.py")


def test_the_scenario_of_the_readme_plays_by_its_rules(folder: Path) -> None:
    (block,) = (text for text in PYTHON if text.startswith("# commons.py"))
    (folder / "commons.py").write_text(block, "utf-8")
    check = """
from commons import Commons

assert Commons().book.conditions == ("baseline",)
done = Commons(n_rounds=2)
done.run_model()
# 60 t, of which each of 4 takes an eighth; what is left doubles.
assert list(done.model_frame()["stock"]) == [60.0, 60.0], done.model_frame()
assert set(done.agent_frame()["catch"]) == {7.5}
silent = Commons(n_rounds=2, minds="fixed:none")
silent.run_model()
assert list(silent.model_frame()["invalid"]) == [4, 4]
assert list(silent.model_frame()["stock"]) == [100.0, 100.0]
"""
    run(folder, "-c", check)


def test_the_price_file_of_the_readme(folder: Path) -> None:
    price = PriceTable(folder / "prices.toml").of("qwen3")
    assert price is not None
    assert (price.input, price.cached, price.output) == (0.10, 0.05, 0.30)


def test_the_prompt_file_of_the_readme(folder: Path) -> None:
    model = KeynesianBeautyContest(
        prompts=folder / "own.toml", condition="friendly", personas="gambler"
    )
    assert model.book.entries["reward_independent"].endswith("a box of chocolates.")
    assert model.book.entries["communicate_line"].startswith("You like the other players")
    assert model.book.persona("gambler") == "You like to take risks."


def test_every_scenario_is_listed() -> None:
    for name in SCENARIOS:
        assert f"| `{name}` | `{scenario(name).__name__}` |" in README


def test_the_commands_of_the_readme_use_different_folders() -> None:
    folders = re.findall(r"--out (\S+)", "\n".join(SABM))
    assert (
        len(folders)
        == len(set(folders))
        == sum(command.split()[1] in {"run", "fork", "sweep"} for command in SABM)
    )
