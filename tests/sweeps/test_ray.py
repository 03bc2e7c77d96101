"""Sweeps on a real Ray of two workers: the same tables, a killed worker, wrong addresses."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import ray

from sabm_mesa import sweep
from sabm_mesa.errors import ParameterError, RunError
from sabm_mesa.recording.parts import PARTS, kept

from .support import FIXED, Failing, Mortal, same


def test_a_ray_that_is_started_for_the_sweep_and_loses_a_worker(tmp_path: Path) -> None:
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
    assert not (tmp_path / "a" / PARTS).exists()
    assert not ray.is_initialized()
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.fixture(scope="module")
def cluster():
    """The address of a Ray that others have started; this process is connected to it."""
    context = ray.init(
        address="local", num_cpus=2, object_store_memory=80 * 2**20, include_dashboard=False,
        logging_level="ERROR", log_to_driver=False,
    )  # fmt: skip
    yield context.address_info["gcs_address"]
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_a_ray_of_others_is_used_and_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="failing, round 0: ZeroDivisionError: nothing to share"):
        sweep(Failing, {}, runs=2, folder=tmp_path, parameters=FIXED, on="ray")
    assert ray.is_initialized()
    graves = tmp_path / "graves"
    graves.mkdir()
    given = {**FIXED, "graves": str(graves), "fatal": 1, "times": 9}
    with pytest.raises(RunError, match="workers were lost over the run of mortal with"):
        sweep(Mortal, {}, folder=tmp_path / "mortal", parameters=given, on="ray")
    assert len(list(graves.iterdir())) == 3


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


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("127.0.0.1:1", "There is no Ray cluster at '127.0.0.1:1'"),
        ("nowhere", "Cannot reach the Ray cluster 'nowhere'"),
        ("host:port", "There is no Ray cluster at 'host:port'"),
    ],
)
def test_a_wrong_address(address: str, says: str, tmp_path: Path) -> None:
    ray.shutdown()
    with pytest.raises(ParameterError, match=says):
        sweep("kbc", {}, folder=tmp_path / "out", on="ray", address=address)
    assert not (tmp_path / "out").exists()


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ParameterError, match=r"pip install 'sabm-mesa\[ray\]'"):
        sweep("kbc", {}, folder=tmp_path / "out", on="ray")
    assert not (tmp_path / "out").exists()
    assert kept(tmp_path) == set()
