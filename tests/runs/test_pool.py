"""Sweeps on processes and on a real Ray: the same tables, caps, killed workers and commands."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sabm_mesa import Budget, Connection, sweep
from sabm_mesa.errors import BudgetExceeded, ParameterError, RecordingError, RunError
from sabm_mesa.llm import close_all
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.recording.statistics import lost_answers
from sabm_mesa.recording.tasks import TASKS
from sabm_mesa.runs.planned import RunSpec
from sabm_mesa.runs.pool import MAX_LOST, Task, WorkerPool, check_sendable, load_ray, play_tasks
from sabm_mesa.runs.rerun import replay
from tests.core.support import Tiny, rows
from tests.llm_server import LLMServer
from tests.llm_server.record import Seen

from .sweeps import FIXED, Failing, Held, Mortal, Waiting, lives, same, until

PLAYERS, RUNS = [20, 25], 2
ASKS = RUNS * sum(PLAYERS)

SCRIPT = """
import sys
from sabm_mesa import sweep
from tests.runs.sweeps import FIXED, Held

if __name__ == "__main__":
    sweep(
        Held, {}, runs=4, folder=sys.argv[1], on="processes", workers=2,
        parameters={**FIXED, "gate": sys.argv[2]},
    )
"""
PAID_SCRIPT = """
import sys
from sabm_mesa import Connection, sweep
from tests.runs.sweeps import Waiting

if __name__ == "__main__":
    sweep(
        Waiting, {}, runs=4, folder=sys.argv[1], connection=Connection(sys.argv[2]),
        parameters={"minds": "llm:stub", "n_rounds": 30, "pids": sys.argv[3]},
        on="processes", workers=2,
    )
"""


def recordings(folder: Path) -> list[Path]:
    return sorted((folder / TASKS).glob("*.sqlite"))


def finished_seeds(folder: Path) -> list[int]:
    return [run.seed[0] for run in load_runs(folder / "recording.sqlite") if run.finished]


# Runs without cost, on processes.


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
    assert not (tmp_path / "a" / TASKS).exists()


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
        until(lambda: len(recordings(folder)) == 2 and len(list(tmp_path.glob("gate.*"))) == 2)
        workers = [int(path.suffix[1:]) for path in tmp_path.glob("gate.*")]
        with pytest.raises(RecordingError, match="Another sweep is running"):
            sweep(Held, {}, runs=4, folder=folder, parameters={**FIXED, "gate": str(gate)})
        if end is signal.SIGINT:
            os.killpg(process.pid, end)  # as Ctrl-C: all processes get it
        else:
            process.kill()
    assert process.returncode == -end
    until(lambda: not any(map(lives, workers)))  # they end by themselves
    if end is signal.SIGINT:
        assert said.read_text().count("KeyboardInterrupt") == 1  # the workers say nothing
    gate.touch()

    given = {**FIXED, "gate": str(gate)}
    done = sweep(Held, {}, runs=4, folder=folder, parameters=given)

    assert done.ran == 2
    same(done, sweep(Held, {}, runs=4, folder=tmp_path / "whole", parameters=given))
    assert not (folder / TASKS).exists()
    assert json.loads(done.runs.to_json())["seed"] == {"0": 1, "1": 2, "2": 3, "3": 4}


# Runs with language models, on processes.


def swept(folder: Path, connection: Connection, **how: Any):
    """A sweep in which all questions of a task can be asked at once."""
    given = {"n_rounds": 1, "minds": "llm:stub"}
    return sweep(
        "kbc", {"n_players": PLAYERS}, runs=RUNS, folder=folder, parameters=given,
        connection=connection, **how,
    )  # fmt: skip


def at_once(requests: Sequence[Seen]) -> int:
    """The most requests that were at the server at the same time, refused ones included."""
    ends = [(seen.arrived, 1) for seen in requests] + [(seen.finished, -1) for seen in requests]
    under_way = most = 0
    for _, change in sorted(ends):
        under_way += change
        most = max(most, under_way)
    return most


@pytest.mark.slow
def test_workers_keep_a_ceiling_and_a_cap_together(tmp_path: Path) -> None:
    with LLMServer() as server:
        whole = swept(tmp_path / "whole", Connection(server.url))
    with LLMServer(latency=0.1) as server:

        def again(most: int, **how: Any):
            budget = Budget(max_asks=most)
            return swept(
                tmp_path / "cut", Connection(server.url, max_concurrency=7, budget=budget), **how
            ), budget

        with pytest.raises(BudgetExceeded, match="budget of 50 asks"):
            again(50, on="processes", workers=2)
        assert server.stats["status_200"] == 50
        assert rows(tmp_path / "cut" / "recording.sqlite", "SELECT count(*) FROM asks") == [(50,)]
        cut, budget = again(ASKS, on="processes", workers=2)
        assert server.stats["status_200"] == ASKS  # nothing is asked twice
        assert budget.spent.asks == ASKS
        assert at_once(server.requests) <= 7
    close_all()
    same(whole, cut)
    recorded = load_runs(cut.path)
    assert {run.connection["max_asks"] for run in recorded} <= {50, ASKS}
    assert {run.connection["max_concurrency"] for run in recorded} == {7}
    assert not (tmp_path / "cut" / TASKS).exists()


@pytest.mark.slow
def test_the_runs_of_a_killed_worker_go_on(tmp_path: Path) -> None:
    killed_and_whole(tmp_path, on="processes", workers=2)


def killed_and_whole(folder: Path, **how: Any) -> None:
    """A worker is killed in a round of its run, while questions of its other run are under way."""
    graves = folder / "graves"
    graves.mkdir()
    given = {"graves": str(graves), "minds": "llm:stub", "n_rounds": 3}
    with LLMServer(latency=0.1) as server:

        def swept(name: str, **how: Any):
            budget = Budget(max_asks=1000)
            return sweep(
                Mortal, {"n": [4, 5]}, runs=2, folder=folder / name, parameters=given,
                connection=Connection(server.url, max_concurrency=6, budget=budget), **how,
            ), budget  # fmt: skip

        whole, _ = swept("a")
        asked = server.stats["requests"]
        given["fatal"] = 2
        killed, budget = swept("b", **how)
        lost = len(lost_answers(killed.path, range(4)))

        assert len(list(graves.iterdir())) == 1  # by a real SIGKILL
        again = server.stats["requests"] - 2 * asked
        # Some of what was noted may not have left yet: it counts all the same. The worker had two
        # runs of five players at most.
        assert 0 <= again <= lost <= budget.spent.asks - asked <= 10
        assert budget.reserved.asks == 0
    close_all()
    assert whole.model_data.equals(killed.model_data)
    assert whole.runs.equals(killed.runs)


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_sweep_goes_on_and_pays_nothing_twice(
    tmp_path: Path, end: signal.Signals
) -> None:
    folder, script, pids = tmp_path / "out", tmp_path / "script.py", tmp_path / "pids"
    script.write_text(PAID_SCRIPT)
    pids.mkdir()
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with LLMServer(held=True) as server:
        command = [sys.executable, str(script), str(folder), server.url, str(pids)]
        with subprocess.Popen(
            command, env=places, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            server.wait_until(lambda server: server.in_flight == 12)
            server.answer_held()  # the first round of all runs
            server.wait_until(lambda s: s.stats["finished"] == s.in_flight == 12)
            workers = [int(each.name) for each in pids.iterdir()]
            if end is signal.SIGINT:
                os.killpg(process.pid, end)  # as Ctrl-C: all processes get it
                until(lambda: "Waiting" in process.stderr.readline())
            else:
                process.kill()
                until(lambda: not any(map(lives, workers)))  # they end by themselves
            server.release()
            process.stderr.read()
            process.wait()
        assert len(workers) == 2
        until(lambda: not any(map(lives, workers)))
        before = server.stats["requests"]
        files = recordings(folder) if end is signal.SIGKILL else [folder / "recording.sqlite"]
        noted = sum(rows(path, "SELECT count(*) FROM asks")[0][0] for path in files)
        lost = sum(len(lost_answers(path, range(4))) for path in files)
        assert noted == before
        assert lost == (0 if end is signal.SIGINT else 12)
        budget = Budget(max_asks=1000)
        done = sweep(
            Waiting, {}, runs=4, folder=folder, connection=Connection(server.url, budget=budget),
            parameters={"minds": "llm:stub", "n_rounds": 30, "pids": str(pids)},
            on="processes", workers=2,
        )  # fmt: skip

        assert done.ran == 4
        assert server.stats["requests"] == done.runs["asks"].sum() + lost
        assert budget.spent.asks == server.stats["requests"]
        assert not (folder / TASKS).exists()
    close_all()


# Tasks, played by workers that are threads of this process.


class Here(Executor):
    """A worker that plays its tasks at once, and is lost in some runs."""

    started: int
    lost: Counter[int]
    tasks: list[Task]

    def submit(self, fn: Any, /, task: Task, **_: Any) -> Future[Any]:
        self.tasks.append(task)
        future: Future[Any] = Future()
        seed = task.specs[0].seed
        if self.lost[seed]:
            self.lost[seed] -= 1
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(fn(task))
        return future


@pytest.fixture
def here() -> type[Here]:
    class Counted(Here):
        started, lost, tasks = 0, Counter(), []

        def __init__(self) -> None:
            type(self).started += 1

    return Counted


def place(n: int, worker: type[Here]) -> WorkerPool:
    return WorkerPool(n, worker, lambda: None, (BrokenExecutor,))


def planned(*seeds: int, scenario: type[Tiny] = Tiny, **given: Any) -> list[RunSpec]:
    return RunSpec(scenario, {**FIXED, "n_rounds": 1, **given}, 1).with_seeds(seeds)


def seeds_in(folder: Path) -> list[int]:
    return sorted(
        run.seed[0] for file in folder.glob("*.sqlite") for run in load_runs(file) if run.finished
    )


@pytest.mark.parametrize(
    ("seeds", "n", "started"), [([4], 3, 1), ([4, 5, 6], 1, 1), ([4, 5, 6], 2, 2)]
)
def test_no_more_workers_are_started_than_there_are_runs(
    seeds: list[int], n: int, started: int, here: type[Here], tmp_path: Path
) -> None:
    counts: list[int] = []
    play_tasks(planned(*seeds), [], tmp_path, place(n, here), Connection(), counts.append)

    assert seeds_in(tmp_path) == seeds
    assert here.started == started
    assert counts[-1] == len(seeds)


def test_runs_of_lost_workers_are_played_again(here: type[Here], tmp_path: Path) -> None:
    here.lost.update({4: MAX_LOST - 1, 6: 1})
    play_tasks(planned(4, 5, 6), [], tmp_path, place(2, here), Connection(), print)

    assert seeds_in(tmp_path) == [4, 5, 6]


def test_a_run_that_loses_three_workers_is_named(here: type[Here], tmp_path: Path) -> None:
    here.lost.update({5: MAX_LOST})
    with pytest.raises(RunError) as ended:
        play_tasks(planned(4, 5), [], tmp_path, place(1, here), Connection(), print)

    for word in ("3 workers", "tiny", "seed 5", "'n_rounds': 1"):
        assert word in str(ended.value)
    assert seeds_in(tmp_path) == [4]


def test_runs_that_come_first_are_kept_when_a_later_one_fails(
    here: type[Here], tmp_path: Path
) -> None:
    failing = planned(1, 2, 3, scenario=Failing)
    with pytest.raises(RunError, match="nothing to share"):
        play_tasks(failing, [], tmp_path, place(1, here), Connection(), print)

    assert seeds_in(tmp_path) == [1]


def paid(server: LLMServer, budget: Budget) -> dict[str, Any]:
    return {
        "paid": planned(1, 2, 3, 4, minds="llm:gpt-4o-mini"),
        "connection": Connection(server.url, budget=budget),
    }


def test_merged_runs_keep_their_texts_and_costs_and_can_be_replayed(
    here: type[Here], tmp_path: Path
) -> None:
    with LLMServer() as server:
        budget = Budget(max_asks=100)
        play_tasks([], folder=tmp_path, place=place(2, here), watch=print, **paid(server, budget))
    close_all()
    runs = [run for task in here.tasks for run in load_runs(task.path)]
    merged = tmp_path / "merged.sqlite"
    with Recording(merged) as opened:
        opened.merge(runs, {"max_asks": 100})
        opened.merge(runs, {"max_asks": 100})  # nothing is added twice

    for run, same_run in zip(runs, load_runs(merged), strict=True):
        assert run.uid == same_run.uid
        assert same_run.connection == {"max_asks": 100}
        for key, row in run.asks.items():
            assert run.chat(row) == same_run.chat(same_run.asks[key]) != ()
            assert run.provenance(row) == same_run.provenance(same_run.asks[key]) != ""
        assert run.model_data == same_run.model_data
    replay(merged, range(4))


def test_tasks_at_the_same_time_have_equal_shares(here: type[Here], tmp_path: Path) -> None:
    with LLMServer() as server:
        budget = Budget(max_asks=11)  # each run asks three times
        play_tasks([], folder=tmp_path, place=place(4, here), watch=print, **paid(server, budget))
        assert server.stats["requests"] == 8
    close_all()

    assert [task.connection.max_concurrency for task in here.tasks] == [250] * 4
    assert [task.connection.budget.max_asks for task in here.tasks] == [2] * 4


def test_a_worker_that_does_not_see_the_folder_sends_its_recording(
    here: type[Here], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_dir = Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda path: path != tmp_path and is_dir(path))
    play_tasks(planned(4), [], tmp_path, place(1, here), Connection(), print)
    monkeypatch.undo()

    assert seeds_in(tmp_path) == [4]


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
    assert not (tmp_path / "a" / TASKS).exists()
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
def test_the_runs_of_a_killed_worker_of_ray_go_on(tmp_path: Path) -> None:
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
    assert not (tmp_path / TASKS).exists()


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
