"""Sweeps on processes and on a real Ray: the same tables, killed workers, wrong addresses."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from sabm_mesa import sweep
from sabm_mesa.errors import ParameterError, RecordingError, RunError
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.shards import SHARDS, list_shards
from sabm_mesa.runs import executors
from sabm_mesa.runs.executors import (
    MAX_LOST_WORKERS,
    _RunProcess,
    check_sendable,
    load_ray,
    on_processes,
    play,
    play_here,
)
from sabm_mesa.runs.planned import RunSpec
from tests.core.support import Tiny

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


# Processes and their messages.


class Echo(_RunProcess):
    """A process that sends everything back, or says something else."""

    def __init__(self, *command: str) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command or ["cat"], stdin=pipe, stdout=pipe)


def test_messages_go_to_a_process_and_back_until_it_is_lost() -> None:
    process = Echo()
    message = [("play", 0, (1, {"n": 2})), ("stop", 0, ())]
    process.write(message)
    assert process.read() == message
    process.kill()
    process.kill()
    assert process.read() is None
    process.write([("stop", 0, ())] * 10_000)  # nobody reads it
    process.end()
    process.end()


def test_a_process_that_says_something_else_is_lost() -> None:
    process = Echo("echo", "Hello")
    assert process.read() is None
    process.end()


def test_what_a_process_sends_is_a_recording_or_the_error_of_its_run() -> None:
    process = Echo()
    recording: Any = b"SQLite"
    assert process.play(recording) == recording
    failed: Any = RunError("nothing to share")
    with pytest.raises(RunError, match="nothing to share"):
        process.play(failed)
    process.kill()
    assert process.play(recording) is None
    process.end()


class PlaysHere:
    """In place of a process: it plays in a thread of this one, and is lost in some runs."""

    lost: ClassVar[Counter[int]] = Counter()
    alive: ClassVar[list["PlaysHere"]] = []
    most = 0

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.alive.append(self)
        PlaysHere.most = max(PlaysHere.most, len(self.alive))

    def play(self, spec: RunSpec) -> bytes | None:
        if self.lost[spec.seed]:
            self.lost[spec.seed] -= 1
            return None
        return play(spec, self.scratch)

    def kill(self) -> None:
        """It has nothing to end."""

    def end(self) -> None:
        self.alive.remove(self)


@pytest.fixture
def plays_here(monkeypatch: pytest.MonkeyPatch) -> type[PlaysHere]:
    monkeypatch.setattr(executors, "_RunProcess", PlaysHere)
    monkeypatch.setattr(PlaysHere, "lost", Counter())
    monkeypatch.setattr(PlaysHere, "alive", [])
    monkeypatch.setattr(PlaysHere, "most", 0)
    return PlaysHere


def planned(*seeds: int, scenario: type[Tiny] = Tiny) -> list[RunSpec]:
    return RunSpec(scenario, {**FIXED, "n_rounds": 1}, 1).with_seeds(seeds)


def seeds_of(played: list[tuple[int, bytes]], folder: Path) -> dict[int, list[int]]:
    """The index of each run, and the seeds in the recording that came for it."""
    found = {}
    for index, recording in played:
        path = folder / f"{index}.sqlite"
        path.write_bytes(recording)
        found[index] = [run.seed[0] for run in load_runs(path)]
    return found


@pytest.mark.parametrize(
    ("seeds", "workers", "started"), [([4], 3, 1), ([4, 5, 6], 1, 1), ([4, 5, 6], 2, 2)]
)
def test_every_run_comes_back_from_no_more_processes_than_there_are_runs(
    seeds: list[int], workers: int, started: int, plays_here: type[PlaysHere], tmp_path: Path
) -> None:
    played = list(on_processes(planned(*seeds), tmp_path, workers))

    assert seeds_of(played, tmp_path) == {index: [seed] for index, seed in enumerate(seeds)}
    assert (plays_here.most, plays_here.alive) == (started, [])
    assert not list(tmp_path.glob("run-*"))


def test_runs_of_lost_processes_are_played_again(
    plays_here: type[PlaysHere], tmp_path: Path
) -> None:
    plays_here.lost.update({4: MAX_LOST_WORKERS - 1, 6: 1})
    played = list(on_processes(planned(4, 5, 6), tmp_path, 2))

    assert seeds_of(played, tmp_path) == {0: [4], 1: [5], 2: [6]}
    assert plays_here.alive == []


def test_a_run_that_loses_three_processes_is_named(
    plays_here: type[PlaysHere], tmp_path: Path
) -> None:
    plays_here.lost.update({5: MAX_LOST_WORKERS})
    with pytest.raises(RunError) as ended:
        list(on_processes(planned(4, 5), tmp_path, 1))

    for word in ("3 workers", "tiny", "seed 5", "'n_rounds': 1"):
        assert word in str(ended.value)
    assert plays_here.alive == []


@pytest.mark.usefixtures("plays_here")
@pytest.mark.parametrize(
    "place", [partial(on_processes, workers=1), play_here], ids=["there", "here"]
)
def test_runs_that_come_first_are_kept_when_a_later_one_fails(place: Any, tmp_path: Path) -> None:
    came: list[tuple[int, bytes]] = []
    with pytest.raises(RunError, match="nothing to share"):
        came.extend(place(planned(1, 2, 3, scenario=Failing), tmp_path))

    assert seeds_of(came, tmp_path) == {0: [1]}
    assert PlaysHere.alive == []


def test_runs_are_played_here_in_their_order(tmp_path: Path) -> None:
    played = list(play_here(planned(4, 5, 6), tmp_path))

    assert [index for index, _ in played] == [0, 1, 2]
    assert seeds_of(played, tmp_path) == {0: [4], 1: [5], 2: [6]}
    assert not list(tmp_path.glob("run-*"))


def test_what_cannot_be_sent_to_other_processes_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Local(Tiny):
        pass

    check_sendable(planned(1))
    with pytest.raises(ParameterError, match="Local"):
        check_sendable(planned(1, scenario=Local))
    with pytest.raises(ParameterError, match="lambda"):
        check_sendable([RunSpec(Tiny, {"edges": lambda: None}, 1)])
    with pytest.raises(ParameterError, match="lock"):
        check_sendable([RunSpec(Tiny, {"edges": threading.Lock()}, 1)])
    monkeypatch.setattr(Failing, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Failing", Failing, raising=False)
    with pytest.raises(ParameterError, match=r"Failing .* part of the script"):
        check_sendable(planned(1, scenario=Failing))


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


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ParameterError, match=r"pip install 'sabm-mesa\[ray\]'"):
        sweep("kbc", {}, folder=tmp_path / "out", on="ray")
    assert not (tmp_path / "out").exists()
    assert list_shards(tmp_path) == set()


def test_ray_gives_up_soon_where_an_address_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    library, name = ModuleType("ray"), "RAY_NUM_REDIS_GET_RETRIES"
    monkeypatch.setitem(sys.modules, "ray", library)
    monkeypatch.setenv(name, "before")
    monkeypatch.delenv(name)
    assert load_ray() is library
    assert name not in os.environ
    assert load_ray("127.0.0.1:9") is library
    assert os.environ[name] == "1"
    monkeypatch.setenv(name, "7")
    load_ray("127.0.0.1:9")
    assert os.environ[name] == "7"
