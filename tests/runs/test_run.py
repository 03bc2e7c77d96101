"""Runs at the same time."""

import asyncio
from pathlib import Path

import pytest

from sabm_mesa import Connection, KeynesianBeautyContest, Mind, Recording
from sabm_mesa.llm import close_all
from sabm_mesa.runs.run import run_all
from tests.core.support import Tiny, rows
from tests.llm_server import LLMServer

TOGETHER_S = 60


class Assembled(Mind):
    """A mind that answers once this many minds have been asked at once."""

    paid = False

    def __init__(self, n: int) -> None:
        self.missing, self.all_asked = n, asyncio.Event()

    async def answer(self, _ask: object) -> int:
        self.missing -= 1
        if not self.missing:
            self.all_asked.set()
        await asyncio.wait_for(self.all_asked.wait(), TOGETHER_S)
        return 1


def test_many_runs_that_wait_go_on_at_once() -> None:
    done = run_all(Tiny, {"n": 1, "n_rounds": 1, "minds": Assembled(40)}, runs=40, seed=1)
    assert [model.sum for model in done.models] == [1] * 40


@pytest.mark.slow
def test_a_server_that_bears_few_requests_answers_each_of_many_runs_once(tmp_path: Path) -> None:
    path, asks = tmp_path / "r.sqlite", 100 * (2 + 2 + 2)
    with LLMServer(max_concurrency=20, latency=0.05, record=False) as server:
        how = {"minds": "llm:stub", "n_players": 2, "n_rounds": 2}
        with Recording(path) as recording:
            done = run_all(
                KeynesianBeautyContest, how, runs=100, seed=1, recording=recording,
                connection=Connection(base_url=server.url),
            )  # fmt: skip
        close_all()
        stats = server.stats
    assert stats["status_200"] == done.total().asks == asks
    assert stats["max_in_flight"] == 20
    assert stats["status_429"] > 0
    assert done.total().retries == stats["status_429"]
    assert rows(path, "SELECT status, count(*) FROM runs GROUP BY status") == [("finished", 100)]
    assert rows(path, "SELECT count(*), count(raw) FROM asks") == [(asks, asks)]
