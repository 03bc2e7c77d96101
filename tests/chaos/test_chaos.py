"""The crash tests in short, in a process of their own: it forks, and may have one thread only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.commands import COMMANDS

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.check_once,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
]

IMPATIENT = """
import sys
import tests.chaos.__main__ as chaos
from sabm_mesa.llm import client
client.GRACE_S = 0.0
sys.exit(chaos.main(["--kills", "0", "--stops", "3"]))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def test_nothing_that_was_used_is_paid_for_again() -> None:
    done = run("-m", "tests.chaos", "--kills", str(len(COMMANDS)), "--stops", "3")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("had not been in flight, and nothing diverged.\n")
    for command in COMMANDS:
        assert f"{command}, killed" in done.stdout


@pytest.mark.long
def test_answers_that_are_thrown_away_are_found_out() -> None:
    done = run("-c", IMPATIENT)

    assert done.returncode == 1, done.stdout + done.stderr
    assert " FAULTS:" in done.stdout
    assert " answers were thrown away" in done.stdout
