"""Scenarios of other packages: found by their entry points, each in nobody's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa.errors import KEY_VARIABLE
from sabm_mesa.models.registry import SCENARIOS
from tests.cli.support import Outcome, Sabm
from tests.llm_server import LLMServer, writer
from tests.testing.installed import install_all

ROOT = Path(__file__).parents[2]
RECORDING = "out/recording.sqlite"
MEND = "fix that package, or uninstall it."
TAKEN = "which is used: rename or uninstall one of them."
MISTAKEN = {
    "gone": f"(mistaken:Gone) cannot be used: AttributeError: module 'mistaken' has no "
    f"attribute 'Gone'; {MEND}",
    "named": f"(mistaken:Named) cannot be used: its scenario_name must be 'named'; {MEND}",
    "number": f"(mistaken:NUMBER) cannot be used: it is no subclass of SmartModel; {MEND}",
    "with space": "(mistaken:Named) cannot be used: its name must be letters, digits, - and _; "
    f"{MEND}",
}
TORN = (
    "The scenario 'torn' of torn 2.5 (torn:Torn) cannot be used: ModuleNotFoundError: No module "
    f"named 'nowhere_to_be_found'; {MEND}"
)
RIVAL = (
    "The scenario 'kbc' of rival 2.5 is left out, since this package has one of that name, " + TAKEN
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install_all(folder)
    return folder


@pytest.fixture
def sabm(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Sabm:
    """The command line where these packages are installed."""
    monkeypatch.syspath_prepend(site)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    return Sabm(capsys)


def in_a_process(site: Path, folder: Path, *arguments: object) -> tuple[str, str]:
    """Output and errors of the command line, in its own process."""
    places = {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "sabm_mesa", *map(str, arguments)],
        cwd=folder, env={**os.environ, **places}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
def test_they_are_listed_and_so_is_what_is_wrong_with_them(site: Path, tmp_path: Path) -> None:
    found = json.loads(in_a_process(site, tmp_path, "scenarios", "--json")[0])

    assert [row["name"] for row in found["scenarios"]] == [*SCENARIOS, "lake"]
    assert found["scenarios"][-1]["title"] == "The scenario lake"
    assert [row["package"] for row in found["scenarios"] if row["package"]] == ["lakes 2.5"]
    assert found["problems"] == [
        "The scenario 'judge' of rival 2.5 is left out, since this package has one of that name, "
        + TAKEN,
        RIVAL,
        "The scenario 'lake' of other-lakes 2.5 is left out, since lakes 2.5 has one of that name, "
        + TAKEN,
        *(f"The scenario {n!r} of mistaken 2.5 {MISTAKEN[n]}" for n in ("gone", "named", "number")),
        TORN,
        f"The scenario 'with space' of mistaken 2.5 {MISTAKEN['with space']}",
    ]


def test_one_is_run_replayed_gone_on_with_and_described_by_its_name(
    sabm: Sabm, tmp_path: Path
) -> None:
    (tmp_path / "lake").mkdir()  # which is no recording, whatever its name
    assert sabm("describe", "lake").out.startswith("# The scenario lake (`lake`)\n")
    model = ["lake", "--rounds", 2, "--seed", 1]
    with LLMServer(brain=writer) as server:
        minds = ["--minds", "llm:stub", "--base-url", server.url]
        assert "sabm resume" in sabm("run", *model, *minds, "--max-asks", 4, "--out", "out").err
        assert "The scenario lake: 1 run" in sabm("resume", RECORDING, "--max-asks", 50).out
    assert "2 rounds" in sabm("replay", RECORDING).out
    assert (tmp_path / "out" / "model.csv").read_text().count("\n") == 3


def test_one_that_cannot_be_used_is_named_in_a_line(sabm: Sabm, tmp_path: Path) -> None:
    assert sabm("run", "torn") == Outcome(2, "", f"sabm: {TORN}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_name_that_is_taken_stays_with_its_owner(site: Path, tmp_path: Path) -> None:
    out, err = in_a_process(site, tmp_path, "run", "kbc", "--rounds", 1, "--set", "n_players=3")

    assert "Keynesian beauty contest: 1 run" in out
    assert err == RIVAL + "\n"
