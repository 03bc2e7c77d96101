"""Sweeps on processes and on a real Ray: the same tables, killed workers, wrong addresses."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa import sweep
from sabm_mesa.errors import ParameterError, RecordingError, RunError
from sabm_mesa.recording.shards import SHARDS, list_shards
from sabm_mesa.runs.executors import MAX_LOST_WORKERS

from .sweeps import FIXED, Failing, Held, Mortal, lives, same, until
from .test_workers import killed_and_whole

SCRIPT = """
import sys
from sabm_mesa import sweep
from tests.runs.sweeps import FIXED, Held

sweep(
    Held, {}, runs=4, folder=sys.argv[1], on="processes", workers=2,
    parameters={**FIXED, "gate": sys.argv[2]},
)
"""


@pytest.mark.slow
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
    assert not (tmp_path / "a" / SHARDS).exists()


@pytest.mark.slow
def test_a_run_that_no_process_survives_ends_the_sweep(tmp_path: Path) -> None:
    graves = tmp_path / "graves"
    graves.mkdir()
    given = {**FIXED, "graves": str(graves), "fatal": 2, "times": MAX_LOST_WORKERS}

    def swept():
        return sweep(
            Mortal, {}, runs=2, folder=tmp_path / "a", parameters=given, on="processes", workers=1
        )

    with pytest.raises(RunError, match="workers were lost in the run of mortal with"):
        swept()
    assert len(list(graves.iterdir())) == MAX_LOST_WORKERS
    assert swept().ran == 1  # the other run is kept


def test_a_run_that_fails_ends_the_sweep(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nothing to share"):
        sweep(Failing, {}, runs=2, folder=tmp_path, parameters=FIXED, on="processes", workers=1)

    assert len(list_shards(tmp_path)) == 1


@pytest.mark.slow
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
        until(lambda: len(list_shards(folder)) == 2 and len(list(tmp_path.glob("gate.*"))) == 2)
        workers = [int(path.suffix[1:]) for path in tmp_path.glob("gate.*")]
        with pytest.raises(RecordingError, match="Another sweep is running"):
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
    assert not (folder / SHARDS).exists()
    assert json.loads(done.runs.to_json())["seed"] == {"0": 1, "1": 2, "2": 3, "3": 4}


# Ray.


@pytest.mark.slow
def test_a_ray_that_is_started_for_the_sweep_and_loses_a_worker(tmp_path: Path) -> None:
    import ray

    graves = tmp_path / "graves"
    graves.mkdir()
    given = {**FIXED, "graves": str(graves), "n_rounds": 3, "fatal": 2}
    before = signal.getsignal(signal.SIGTERM)
    killed = sweep(
        Mortal, {"n": [2, 3]}, runs=2, folder=tmp_path / "a", parameters=given, on="ray", workers=2
    )

    assert killed.ran == 4
    assert len(list(graves.iterdir())) == 1  # by a real SIGKILL
    same(killed, sweep(Mortal, {"n": [2, 3]}, runs=2, folder=tmp_path / "b", parameters=given))
    assert not (tmp_path / "a" / SHARDS).exists()
    assert not ray.is_initialized()
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.fixture(scope="module")
def cluster():
    import ray

    """The address of a Ray that others have started; this process is connected to it."""
    context = ray.init(
        address="local", num_cpus=2, object_store_memory=80 * 2**20, include_dashboard=False,
        logging_level="ERROR", log_to_driver=False,
    )  # fmt: skip
    yield context.address_info["gcs_address"]
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_ray_of_others_is_used_and_left_as_it_is(tmp_path: Path) -> None:
    import ray

    with pytest.raises(RunError, match="failing, round 0: ZeroDivisionError: nothing to share"):
        sweep(Failing, {}, runs=2, folder=tmp_path, parameters=FIXED, on="ray")
    assert ray.is_initialized()
    graves = tmp_path / "graves"
    graves.mkdir()
    given = {**FIXED, "graves": str(graves), "fatal": 1, "times": 9}
    with pytest.raises(RunError, match="workers were lost in the run of mortal with"):
        sweep(Mortal, {}, folder=tmp_path / "mortal", parameters=given, on="ray")
    assert len(list(graves.iterdir())) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_actors_share_limit_budget_and_recording_and_one_is_killed(tmp_path: Path) -> None:
    killed_and_whole(tmp_path, on="ray")


@pytest.mark.slow
def test_a_cluster_by_its_address(cluster, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "sabm_mesa", "sweep", "evacuation", "--vary", "n_people=6,12",
        "--rounds", "4", "--runs", "2", "--on", "ray", "--address", cluster, "--out", "a",
    ]  # fmt: skip
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=places, check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert "4 runs; varied: n_people (2); seeds 1–2" in done.stdout
    given = {"n_rounds": 4}
    here = sweep(
        "evacuation", {"n_people": [6, 12]}, runs=2, folder=tmp_path / "b", parameters=given
    )
    for table in here.files:
        assert (tmp_path / "a" / table.name).read_bytes() == table.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("127.0.0.1:1", "There is no Ray cluster at '127.0.0.1:1'"),
        ("nowhere", "Cannot reach the Ray cluster 'nowhere'"),
        ("host:port", "There is no Ray cluster at 'host:port'"),
    ],
)
def test_a_wrong_address(address: str, says: str, tmp_path: Path) -> None:
    import ray

    ray.shutdown()
    with pytest.raises(ParameterError, match=says):
        sweep("kbc", {}, folder=tmp_path / "out", on="ray", address=address)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ParameterError, match=r"pip install 'sabm-mesa\[ray\]'"):
        sweep("kbc", {}, folder=tmp_path / "out", on="ray")
    assert not (tmp_path / "out").exists()
    assert list_shards(tmp_path) == set()
