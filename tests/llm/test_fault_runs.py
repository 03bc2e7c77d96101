"""Whole runs against what a server, a file system and other processes do to them."""

import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa import Connection
from sabm_mesa.errors import (
    AccessDenied,
    BadRequest,
    BudgetExceeded,
    LLMError,
)
from sabm_mesa.llm.budget import Budget
from sabm_mesa.llm.client import Client
from tests.llm.support import AGAIN, ROOT, contest, first_question, rows
from tests.llm_server import LLMServer
from tests.llm_server import stub as stub_brain


@pytest.fixture(autouse=True)
def hardly_any_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "_wait", lambda *_: 0.001)


@pytest.fixture(scope="module")
def clean() -> list[pd.DataFrame]:
    with LLMServer(brain=first_question) as server:
        return frames(server)


def frames(server: LLMServer, **parameters: Any) -> list[pd.DataFrame]:
    """The results of a run without the cost of its asks."""
    model = contest(server, **parameters)
    model.run_model()
    assert model.total.invalid == 0
    return [
        model.model_frame()[["round", "mean", "variance", "agreement", "asks", "invalid"]],
        model.agent_frame()[["round", "agent", "choice", "won", "payoff", "invalid"]],
    ]


def assert_same(found: list[pd.DataFrame], expected: list[pd.DataFrame]) -> None:
    for one, other in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("fault", ["reset", "twice", "429"])
def test_what_a_retry_mends_leaves_no_trace_in_the_results(
    fault: str, clean: list[pd.DataFrame]
) -> None:
    with LLMServer(brain=first_question, faults=dict.fromkeys(range(0, 20, 3), fault)) as server:
        assert_same(frames(server), clean)
        assert server.stats["requests"] == 18 + 7


@pytest.mark.parametrize(
    "usage",
    [[1, 2], "many", {"prompt_tokens": "1"}, {"prompt_tokens": 9, "completion_tokens": math.nan}],
    ids=str,
)
def test_usage_that_cannot_be_read_is_unknown(
    usage: Any, clean: list[pd.DataFrame], tmp_path: Path
) -> None:
    path, price = tmp_path / "run.sqlite", tmp_path / "prices.toml"
    price.write_text("[models]\nstub = { input = 1.0, output = 1.0 }\n")
    faults = lambda _n, _b: "no-usage"  # noqa: E731
    with LLMServer(brain=first_question, more={"usage": usage}, faults=faults) as server:
        connection = Connection(prices=price, budget=Budget(max_usd=5.0))
        assert_same(frames(server, recording=path, connection=connection), clean)
        assert connection.budget is not None
        assert connection.budget.spent.cost_usd > 0
    assert rows(path, "SELECT count(*), count(cost_usd) FROM asks") == [(18, 0)]


def test_a_cap_holds_where_the_usage_cannot_be_read() -> None:
    faults = lambda _n, _b: "no-usage"  # noqa: E731
    with LLMServer(brain=first_question, more={"usage": [1]}, faults=faults) as server:
        model = contest(server, connection=Connection(budget=Budget(max_total_tokens=3000)))
        with pytest.raises(BudgetExceeded):
            model.run_model()
        assert server.stats["requests"] < 18


@pytest.mark.parametrize("fault", ["empty", "refusal"])
def test_an_answer_without_text_is_asked_for_again(fault: str, clean: list[pd.DataFrame]) -> None:
    faults = dict.fromkeys(range(0, 18, 5), fault)
    with LLMServer(brain=first_question, faults=faults) as server:
        assert_same(frames(server), clean)
        assert server.stats["requests"] == 18 + 4


@pytest.mark.parametrize(
    "answer",
    ["", "42 or 43", '{"answer": "many"}', '{"reasoning": "Why."}', '{"answer": 42', "\ufeff{}"],
)
def test_json_of_another_schema_is_asked_for_again(answer: str) -> None:
    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> Any:
        is_first = len(messages) == 2 and AGAIN not in messages[1]["content"]
        return answer if is_first else stub_brain(messages, body)

    with LLMServer(brain=brain) as server:
        model = contest(server, n_rounds=1, answer_format="json")
        model.run_model()
        assert (model.total.invalid, model.total.reasks) == (0, 6)
        assert server.stats["requests"] == 12
    assert list(model.agent_frame()["reasks"]) == [1] * 6


@pytest.mark.slow
def test_a_huge_answer_is_recorded_whole_and_cut_where_others_read_it(tmp_path: Path) -> None:
    size = 3_900_000

    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> Any:
        picks = "choose your number" in messages[1]["content"]
        return stub_brain(messages, body) if picks else "many words " * (size // 11)

    path = tmp_path / "run.sqlite"
    with LLMServer(brain=brain) as server:
        model = contest(server, n_players=2, recording=path)
        model.run_model()
        longest = max(len(str(seen.body)) for seen in server.requests)
    assert model.total.invalid == 0
    assert all(message.text.endswith(" […]") for message in model.said)
    assert all(len(message.text.split()) == 61 for message in model.said)
    assert longest < 5000
    ((whole,),) = rows(path, "SELECT max(length(raw)) FROM asks")
    assert whole == size // 11 * 11


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("401", AccessDenied), ("quota", BadRequest)],
)
def test_what_no_retry_mends_ends_the_run_and_keeps_what_was_answered(
    fault: str, kind: type[LLMError], tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer(faults=lambda n, _b: fault if n >= 8 else None) as server:
        model = contest(server, recording=path)
        with pytest.raises(kind) as caught:
            model.run_model()
        assert server.stats["requests"] == 9
    assert rows(path, "SELECT count(*), min(valid) FROM asks") == [(8, 1)]
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", str(caught.value))]


def test_a_server_that_is_started_again_during_a_run(clean: list[pd.DataFrame]) -> None:
    with LLMServer(brain=first_question, latency=0.01) as server:
        found: list[pd.DataFrame] = []
        patient = Connection(max_retries=30)  # however long a busy machine takes to start it
        thread = threading.Thread(target=lambda: found.extend(frames(server, connection=patient)))
        thread.start()
        for answered in (4, 9):
            server.wait_until(lambda s, n=answered: s.stats.get("status_200", 0) >= n)
            server.stop()
            server.start()
        thread.join()
        assert server.stats["status_200"] >= 18
    assert_same(found, clean)


FEW_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
from sabm_mesa.cli import main
main(sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("files", [64, 30])
def test_no_paid_answer_is_lost_where_few_files_can_be_opened(files: int, tmp_path: Path) -> None:
    with LLMServer(latency=0.02) as server:
        done = subprocess.run(
            [sys.executable, "-c", FEW_FILES, str(files), "run", "kbc", "--minds", "llm:stub",
             "--base-url", server.url, "--set", "n_players=100", "--rounds", "1",
             "--max-concurrency", "200", "--out", tmp_path],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        answered = server.stats["status_200"]
        assert server.max_in_flight < files
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "recording.sqlite", "SELECT count(*), count(raw) FROM asks")
    assert found == [(answered, answered)] == [(100, 100)]
