"""Recordings of strangers: each is read or refused in one line, and none is without end."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sabm_mesa.errors import RecordingError
from sabm_mesa.recording import checking, load_runs
from sabm_mesa.recording.store import open_for_reading
from tests.cli.support import Sabm, one_line
from tests.recording.hostile import OF_BYTES, WAYS, make_good, spoil

pytestmark = pytest.mark.check_once
ALLOWED = {
    "prompts that are nowhere", "a scenario that is none", "a model that is a module",
    "a scenario with codes", "minds are billions", "the seed is huge", "started is a text",
    "parameters with lists", "parameters that are negative", "parameters that are too large",
    "minds in parameters are a number", "the connection leads to a file", "parameters are huge",
    "all tables without rows", "messages lead nowhere",
    "the provenance leads nowhere",
    "model data are texts", "values are huge numbers", "more columns than data", "a log of noise",
    "its header says many pages",
}  # fmt: skip
"""These can stand in a recording, or are found where they are used; commands refuse them there."""
HUGE = "answers are 300 MB"
"""Takes as long as all others together: only where a recording is opened, in the slow tier."""
COMMANDS = {
    "replay": "",
    "export": "--out exported",
    "describe": "",
    "fork": "--at 1 --set reward_rule=amplified --out forked",
    "resume": "",
    "bundle": "--out pages",
    "fit": "--model level_1 --absolute 0 --out fitted",
    "judge": "--out judged",
    "compare": "--measure depth --out compared",
}
"""Command → its options."""
OF_EACH_KIND = (
    "runs is an endless view", "parameters are a list", "answers are bytes", "half of it",
)  # fmt: skip
"""One of what stands in the schema, in a header, in rows and in the bytes."""
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "recording.sqlite"
    make_good(path)
    return path


@pytest.mark.parametrize(
    "how",
    [
        *sorted({*WAYS, *OF_BYTES} - ALLOWED - {HUGE}),
        pytest.param(HUGE, marks=pytest.mark.slow),
    ],
)
def test_what_no_recording_has_is_refused_before_it_is_read(
    good: Path, tmp_path: Path, how: str
) -> None:
    path = tmp_path / "r.sqlite"
    spoil(good, path, how)

    with pytest.raises(RecordingError):
        load_runs(path)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("how", [*sorted(ALLOWED), *OF_EACH_KIND])
def test_each_command_reads_it_or_says_in_one_line_why_not(
    sabm: Sabm,
    good: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    spoil(good, Path("r.sqlite"), how)

    outcome = sabm(*command.split(), "r.sqlite", *COMMANDS[command].split())

    assert outcome.status in {0, 1, 2}
    assert "Traceback" not in outcome.err
    if outcome.status:
        assert one_line(outcome)


@pytest.mark.slow
@pytest.mark.parametrize("how", OF_EACH_KIND)
def test_it_is_refused_by_the_command_in_a_process_of_its_own(
    good: Path, tmp_path: Path, how: str
) -> None:
    spoil(good, tmp_path / "r.sqlite", how)

    done = subprocess.run(
        [sys.executable, "-m", "sabm_mesa", "export", "r.sqlite", "--out", "exported"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith("sabm: r.sqlite is not a usable recording (")
    assert done.stderr.count("\n") == 1


def test_reading_ends_at_its_limit_and_when_it_is_interrupted(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n "
        "WHERE i > 1"
    )
    monkeypatch.setattr(checking, "STEPS", 1_000_000)
    monkeypatch.setattr(checking, "STEPS_A_BYTE", 1)
    with (
        pytest.raises(RecordingError, match="reading it takes longer than it can"),
        open_for_reading(good) as connection,
    ):
        connection.execute(endless).fetchone()

    monkeypatch.undo()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt), open_for_reading(good) as connection:
            connection.execute(endless).fetchone()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_trigger_of_a_stranger_does_not_run_when_a_run_is_resumed(
    good: Path, tmp_path: Path
) -> None:
    from sabm_mesa import Recording

    path = tmp_path / "r.sqlite"
    spoil(good, path, "a trigger")
    with pytest.raises(RecordingError, match="it has a trigger 'more'"):
        Recording(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)
