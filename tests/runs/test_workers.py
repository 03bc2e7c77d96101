"""Runs with language models on several processes, within one limit, budget and recording."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Budget, Connection, resume, sweep
from sabm_mesa.errors import KEY_VARIABLE, BudgetExceeded
from sabm_mesa.llm import close_all, limiter_of
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.limit import START
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.statistics import lost_answers
from tests.core.support import rows
from tests.llm_server import LLMServer
from tests.llm_server.record import Seen

from .sweeps import Mortal, Waiting, lives, until

PLAYERS, RUNS = [20, 25], 2
ASKS = RUNS * sum(PLAYERS)

SCRIPT = """
import sys
from sabm_mesa import Connection, sweep
from tests.runs.sweeps import Waiting

sweep(
    Waiting, {}, runs=4, folder=sys.argv[1], connection=Connection(sys.argv[2]),
    parameters={"minds": "llm:stub", "n_rounds": 30, "pids": sys.argv[3]},
    on="processes", workers=2,
)
"""


def swept(folder: Path, server: LLMServer, budget: Budget | None = None, **how: Any):
    """A sweep in which all questions of all runs can be asked at once."""
    given = {"n_rounds": 1, "minds": "llm:stub"}
    return sweep(
        "kbc", {"n_players": PLAYERS}, runs=RUNS, folder=folder, parameters=given,
        connection=Connection(server.url, budget=budget), **how,
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
def test_workers_share_the_limit_of_a_server_that_refuses_and_a_cap(tmp_path: Path) -> None:
    with LLMServer() as server:
        whole = swept(tmp_path / "whole", server)
    with LLMServer(latency=0.3, max_concurrency=16) as server:
        limiter = limiter_of(Endpoint(server.url, key_env=KEY_VARIABLE).identity)
        with pytest.raises(BudgetExceeded):
            swept(tmp_path / "cut", server, Budget(max_asks=50), on="processes", workers=2)

        assert server.stats["status_200"] == 50
        assert rows(tmp_path / "cut" / "recording.sqlite", "SELECT count(*) FROM asks") == [(50,)]
        # Each of them would begin with this many requests if it had a limit of its own.
        assert 16 < at_once(server.requests) <= START
        assert server.stats["status_429"] > 0
        assert limiter.limit < START
        assert limiter.in_flight == 0
        cut = swept(tmp_path / "cut", server, Budget(max_asks=ASKS))
        assert server.stats["status_200"] == ASKS  # nothing is asked twice
    close_all()
    frames = [each.model_data.drop(columns="retries") for each in (whole, cut)]
    assert frames[0].equals(frames[1])


@pytest.mark.slow
def test_the_runs_of_a_killed_worker_go_on(tmp_path: Path) -> None:
    killed_and_whole(tmp_path, on="processes", workers=2)


def killed_and_whole(folder: Path, **how: Any) -> None:
    """A worker is killed in a round of its run, while questions of its other run are under way."""
    graves = folder / "graves"
    graves.mkdir()
    given = {"graves": str(graves), "minds": "llm:stub", "n_rounds": 3}
    with LLMServer(latency=0.1) as server:
        connection = Connection(server.url, max_concurrency=5, budget=Budget(max_asks=1000))
        whole = sweep(
            Mortal, {"n": [4, 5]}, runs=2, folder=folder / "a", parameters=given,
            connection=connection,
        )  # fmt: skip
        asked = server.stats["requests"]
        given["fatal"] = 2
        killed = sweep(
            Mortal, {"n": [4, 5]}, runs=2, folder=folder / "b", parameters=given,
            connection=connection, **how,
        )  # fmt: skip
        lost = len(lost_answers(killed.path, range(4)))

        assert len(list(graves.iterdir())) == 1  # by a real SIGKILL
        assert connection.budget is not None
        again = server.stats["requests"] - 2 * asked
        counted = connection.budget.spent.asks - 2 * asked
        # Some of what was granted may not have left yet: it counts all the same. The worker had
        # two runs of five players at most.
        assert 0 <= again <= lost <= counted <= 10
        assert connection.budget.reserved.asks == 0
    close_all()
    assert whole.model_data.equals(killed.model_data)
    assert whole.runs.equals(killed.runs)


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_sweep_is_resumed_and_pays_nothing_twice(
    tmp_path: Path, end: signal.Signals
) -> None:
    folder, script, pids = tmp_path / "out", tmp_path / "script.py", tmp_path / "pids"
    script.write_text(SCRIPT)
    pids.mkdir()
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with LLMServer() as server:
        command = [sys.executable, str(script), str(folder), server.url, str(pids)]
        with subprocess.Popen(
            command, env=places, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            server.wait_until(lambda server: server.stats["finished"] >= 12)
            server.hold()
            server.wait_until(lambda server: server.in_flight == 12)
            workers = [int(each.name) for each in pids.iterdir()]
            if end is signal.SIGINT:
                os.killpg(process.pid, end)  # as Ctrl-C: all processes get it
                until(lambda: "Waiting" in process.stderr.readline())
            else:
                process.kill()
                until(lambda: not any(map(lives, workers)))  # they end by themselves
            server.release()
            process.wait()
        assert len(workers) == 2
        assert not any(map(lives, workers))
        before = server.stats["requests"]
        path = folder / "recording.sqlite"
        numbers = range(len(load_runs(path)))
        kept = rows(path, "SELECT count(*) FROM asks")[0][0]
        lost = len(lost_answers(path, numbers))
        assert kept + lost == before
        assert lost == (0 if end is signal.SIGINT else 12)
        given = {"scenario": Waiting, "connection": Connection(server.url)}
        done = resume(path, numbers, **given)

        assert server.stats["requests"] == done.total().asks + lost
    close_all()
