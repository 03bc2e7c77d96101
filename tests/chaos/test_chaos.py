"""The crash tests in short, in a process of their own: it forks, and may have one thread only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.bill import DIED, PAID, USED, Account, Bill
from tests.chaos.commands import COMMANDS

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.check_once,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
]

CARELESS = """
import asyncio, sys
import tests.chaos.__main__ as chaos
from sabm_mesa.recording.writing import BatchWriter
def committed(self, *statements):
    self.add(*statements)
    return asyncio.sleep(0)
BatchWriter.committed = committed
sys.exit(chaos.main(["--deaths", "18", "--kills", "0", "--commands", "0", "--stops", "0"]))
"""
IMPATIENT = """
import sys
import tests.chaos.__main__ as chaos
from sabm_mesa.llm import in_flight
in_flight.GRACE_S = 0.0
sys.exit(chaos.main(["--deaths", "0", "--kills", "0", "--commands", "0", "--stops", "3"]))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_nothing_that_was_used_is_paid_for_again() -> None:
    kinds = str(len(COMMANDS))
    done = run(
        "-m", "tests.chaos", "--deaths", "30", "--kills", "1", "--commands", kinds, "--stops", "2",
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("had not been in flight, and nothing diverged.\n")
    for name in (
        "kbc",
        "bertrand",
        "evacuation",
        "half of the commit written",
        "SIGKILLs",
        *COMMANDS,
    ):
        assert name in done.stdout


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("script", [CARELESS, IMPATIENT], ids=["not durable", "not awaited"])
def test_answers_that_are_used_too_early_or_thrown_away_are_found_out(script: str) -> None:
    done = run("-c", script)

    assert done.returncode == 1, done.stdout + done.stderr
    assert " FAULTS:" in done.stdout
    assert (" answers were thrown away" in done.stdout) == (script == IMPATIENT)


def test_what_was_in_flight_may_be_paid_for_again_once(tmp_path) -> None:
    bill = Bill(tmp_path / "bill")
    for line in ("a", "b", "c"):
        bill.note(PAID, line)
    bill.note(USED, "a")
    bill.note(DIED)
    for line in ("a", "b", "b"):
        bill.note(PAID, line)

    assert bill.account() == Account(paid=6, in_flight=2, twice=3, beyond=2)
