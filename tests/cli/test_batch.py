"""The option --batch: what it says first, and what it spares whoever is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.support import Sabm, one_line
from tests.llm.support import ROOT, rows
from tests.llm_server import BatchPlan, LLMServer

KBC = ("kbc", "--rounds", 2, "--set", "n_players=3", "--runs", 5, "--seed", 1)


def table(folder: Path, name: str = "model.csv") -> pd.DataFrame:
    return pd.read_csv(folder / name)


@pytest.mark.slow
def test_five_runs_in_batches_give_the_data_of_five_runs(
    sabm: Sabm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with LLMServer(batches=BatchPlan()) as server:
        minds = ("--minds", "llm:stub", "--base-url", server.url)
        alone = sabm("run", *KBC, *minds, "--out", tmp_path / "alone")
        done = sabm("run", *KBC, *minds, "--batch", "--out", tmp_path / "batch")
        assert (alone.status, done.status) == (0, 0)
        said = "communicate goes one by one: about 15 of 45 questions cannot be batched."
        assert [each.getMessage() for each in caplog.records].index(said) == 0
        assert f"A batch of 15 questions is submitted to {server.url} (batch_0)" in caplog.text
        assert [len(each.requests) for each in server.batches.batches] == [15, 15]
    first, second = (tmp_path / name / "model.csv" for name in ("alone", "batch"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
def test_a_sweep_gathers_all_its_runs(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer(batches=BatchPlan()) as server:
        sweep = (
            "sweep", "kbc", "--vary", "n_players=2,3", "--rounds", 1, "--runs", 2, "--batch",
            "--minds", "llm:stub", "--base-url", server.url, "--out", tmp_path,
        )  # fmt: skip
        done = sabm(*sweep)
        assert done.status == 0
        assert [len(each.requests) for each in server.batches.batches] == [10]
        again = sabm(*sweep)
        assert again.status == 0
        assert len(server.batches.batches) == 1


def test_an_endpoint_without_batches_is_told_in_one_line(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer() as server:
        done = sabm(
            "run", "public-goods", "--minds", "llm:stub", "--base-url", server.url, "--batch",
            "--out", tmp_path,
        )  # fmt: skip
        assert done.status == 1
        assert "offers no batches" in one_line(done)
        assert server.stats["requests"] == 0


def test_batches_and_shared_requests_exclude_each_other(sabm: Sabm, tmp_path: Path) -> None:
    done = sabm("run", "kbc", "--batch", "--share-requests", "--out", tmp_path)
    assert done.status == 2
    assert "leave out --share-requests or --batch" in one_line(done)


# Deaths.

DIES = """
import os, sys
from sabm_mesa.cli import main
from sabm_mesa.recording import RunRecorder
at, kinds = int(sys.argv.pop(1)), 0
record = RunRecorder.record
async def dying(self, attempt, *, durable):
    global kinds
    kinds += 1
    if kinds == at:
        os._exit(9)
    await record(self, attempt, durable=durable)
RunRecorder.record = dying
main(sys.argv[1:])
"""
BOUNDARIES = [
    ("upload", "before"), ("upload", "after"), ("create", "before"), ("create", "after"),
    ("poll", "before"), ("poll", "after"), ("content", "before"), ("content", "after"),
]  # fmt: skip


def start(*code: str, arguments: tuple[object, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *code, *map(str, arguments)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def check(sabm: Sabm, server: LLMServer, folder: Path, expected: pd.DataFrame) -> None:
    """Go on; nothing is answered twice, and all comes out as if nobody had died."""
    done = sabm("resume", folder / "recording.sqlite")
    assert done.status == 0, done.err
    assert max(server.batches.bill.values()) == 1
    assert server.batches.bill.total() == 2 * 15
    pd.testing.assert_frame_equal(table(folder), expected)
    assert rows(folder / "recording.sqlite", "SELECT count(*) FROM sent WHERE batch NOT NULL") == [
        (0,)
    ]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("expected")
    with LLMServer() as server:
        arguments = ("run", *KBC, "--minds", "llm:stub", "--base-url", server.url, "--out", folder)
        assert start("-m", "sabm_mesa", arguments=arguments).wait(300) == 0
    return table(folder)


def killing(operation: str, when: str, child: list[int]) -> Callable[[str, str], None]:
    """Kill a process as soon as the server meets an operation."""

    def met(op: str, at: str) -> None:
        if (op, at) == (operation, when) and child:
            os.kill(child.pop(), signal.SIGKILL)

    return met


@pytest.mark.slow
@pytest.mark.parametrize("boundary", BOUNDARIES, ids=" ".join)
def test_a_process_that_is_killed_pays_nothing_twice(
    boundary: tuple[str, str], sabm: Sabm, tmp_path: Path, expected: pd.DataFrame
) -> None:
    child: list[int] = []
    plan = BatchPlan(met=lambda *_: None)
    with LLMServer(batches=plan) as server:
        plan.met = killing(*boundary, child)
        arguments = (
            "run", *KBC, "--minds", "llm:stub", "--base-url", server.url, "--batch",
            "--out", tmp_path,
        )  # fmt: skip
        process = start("-m", "sabm_mesa", arguments=arguments)
        child.append(process.pid)
        assert process.wait(300) == -signal.SIGKILL
        plan.met = lambda *_: None
        check(sabm, server, tmp_path, expected)


@pytest.mark.slow
@pytest.mark.parametrize("at", [1, 8, 15])
def test_a_process_that_dies_before_it_has_recorded_its_answers(
    at: int, sabm: Sabm, tmp_path: Path, expected: pd.DataFrame
) -> None:
    with LLMServer(batches=BatchPlan()) as server:
        arguments = (
            at, "run", *KBC, "--minds", "llm:stub", "--base-url", server.url, "--batch",
            "--out", tmp_path,
        )  # fmt: skip
        assert start("-c", DIES, arguments=arguments).wait(300) == 9
        check(sabm, server, tmp_path, expected)
