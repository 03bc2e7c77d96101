"""Commands of other packages: found by their entry points, each in nobody's way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa.cli.outside import GROUP
from tests.testing.installed import install

HEATMAP = '''
from pathlib import Path
from typing import Annotated

import typer


def heatmap(recording: Path, size: Annotated[int, typer.Option(help="Cells.")] = 3) -> None:
    """Draw a heat map of a recording."""
    typer.echo(f"{recording} {size}")
'''
TORN = (
    "sabm: The command 'torn' of torn 2.5 cannot be used: ModuleNotFoundError: No module named "
    "'nowhere'; fix that package, or uninstall it.\n"
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    points = {"heatmap": "maps:heatmap", "run": "maps:heatmap"}
    install(folder, "maps", points, {"maps.py": HEATMAP}, GROUP)
    install(folder, "torn", {"torn": "torn:torn"}, {"torn.py": "import nowhere\n"}, GROUP)
    install(folder, "number", {"number": "number:N"}, {"number.py": "N = 3\n"}, GROUP)
    return folder


def sabm(site: Path, *arguments: str) -> tuple[int, str, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "sabm_mesa", *arguments],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_a_command_of_another_package_runs_with_its_options(site: Path) -> None:
    assert sabm(site, "heatmap", "a.sqlite", "--size", "5") == (0, "a.sqlite 5\n", "")


def test_the_help_lists_it_after_the_own_ones_and_names_those_that_are_broken(site: Path) -> None:
    status, out, err = sabm(site, "--help")
    assert status == 0
    assert "Other packages:\n  heatmap     Draw a heat map of a recording." in out
    assert TORN in err
    assert "number:N is not a function" in err
    assert "Traceback" not in err


def test_it_replaces_no_command_of_this_package(site: Path) -> None:
    status, out, _ = sabm(site, "run", "--help")
    assert status == 0
    assert "Run a scenario" in out
