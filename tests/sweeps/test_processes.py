"""Sweeps on processes: the same tables, and what comes of processes that are killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa import sweep
from sabm_mesa.errors import RecordingError, RunError
from sabm_mesa.recording.parts import PARTS, kept
from sabm_mesa.sweeps.playing import LOSSES

from .support import FIXED, Failing, Held, Mortal, lives, same, until

SCRIPT = """
import sys
from sabm_mesa import sweep
from tests.sweeps.support import FIXED, Held

sweep(
    Held, {}, runs=4, folder=sys.argv[1], on="processes", workers=2,
    parameters={**FIXED, "gate": sys.argv[2]},
)
"""


def test_a_killed_process_is_replaced_and_its_run_played_again(tmp_path: Path) -> None:
    graves = tmp_path / "graves"
    graves.mkdir()
    given = {**FIXED, "graves": str(graves), "n_rounds": 3, "fatal": 2}
    killed = sweep(
        Mortal, {"n": [2, 3]}, runs=2, folder=tmp_path / "a", parameters=given,
        on="processes", workers=2,
    )  # fmt: skip

    assert killed.ran == 4
    assert len(list(graves.iterdir())) == 1  # by a real SIGKILL
    same(killed, sweep(Mortal, {"n": [2, 3]}, runs=2, folder=tmp_path / "b", parameters=given))
    assert not (tmp_path / "a" / PARTS).exists()


def test_a_run_that_no_process_survives_ends_the_sweep(tmp_path: Path) -> None:
    graves = tmp_path / "graves"
    graves.mkdir()
    given = {**FIXED, "graves": str(graves), "fatal": 2, "times": LOSSES}

    def swept():
        return sweep(
            Mortal, {}, runs=2, folder=tmp_path / "a", parameters=given, on="processes", workers=1
        )

    with pytest.raises(RunError, match="workers were lost over the run of mortal with"):
        swept()
    assert len(list(graves.iterdir())) == LOSSES
    assert swept().ran == 1  # the other run is kept


def test_a_run_that_fails_ends_the_sweep(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nothing to share"):
        sweep(Failing, {}, runs=2, folder=tmp_path, parameters=FIXED, on="processes", workers=1)

    assert len(kept(tmp_path)) == 1


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_sweep_goes_on(tmp_path: Path, end: signal.Signals) -> None:
    folder, gate, script = tmp_path / "out", tmp_path / "gate", tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(folder), str(gate)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = tmp_path / "said"
    with (
        said.open("w") as stderr,
        subprocess.Popen(command, env=places, stderr=stderr, start_new_session=True) as process,
    ):
        until(lambda: len(kept(folder)) == 2 and len(list(tmp_path.glob("gate.*"))) == 2)
        workers = [int(path.suffix[1:]) for path in tmp_path.glob("gate.*")]
        with pytest.raises(RecordingError, match="Another sweep is at work"):
            sweep(Held, {}, runs=4, folder=folder, parameters={**FIXED, "gate": str(gate)})
        if end is signal.SIGINT:
            os.killpg(process.pid, end)  # as Ctrl-C: all processes get it
        else:
            process.kill()
    assert process.returncode == -end
    if end is signal.SIGINT:
        assert not any(map(lives, workers))
        assert said.read_text().count("KeyboardInterrupt") == 1  # the workers say nothing
    gate.touch()
    until(lambda: not any(map(lives, workers)))  # without their parent they end by themselves
    if end is signal.SIGKILL:
        assert said.read_text() == ""

    given = {**FIXED, "gate": str(gate)}
    done = sweep(Held, {}, runs=4, folder=folder, parameters=given)

    assert done.ran == 2
    same(done, sweep(Held, {}, runs=4, folder=tmp_path / "whole", parameters=given))
    assert not (folder / PARTS).exists()
    assert json.loads(done.runs.to_json())["seed"] == {"0": 1, "1": 2, "2": 3, "3": 4}
