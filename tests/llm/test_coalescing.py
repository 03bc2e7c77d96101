"""One request with several answers: who shares, who gets what, what it costs, what may fail."""

import asyncio
import logging
import math
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa import Budget, Connection, PublicGoods, ScriptedClient, replay, resume
from sabm_mesa.core.usage import Failures
from sabm_mesa.errors import AccessDenied, BudgetExceeded, RunError, ServerUnavailable
from sabm_mesa.llm import Client, Completion, Request
from sabm_mesa.llm.coalescing import MOST, CoalescingClient, SupportsN
from sabm_mesa.llm.reading import read_completion
from sabm_mesa.llm.retry import RetryClient
from sabm_mesa.recording.statistics import asked
from tests.cli.support import Sabm
from tests.llm.support import ROOT, ask, on_virtual_time, rows, turn
from tests.llm_server import LLMServer, Reply, stub

N = 6
MANY = 24
EXPERIMENT = """
title = "Three and a pot"
question = "What do three give?"
source = "ours"
scenario = "public-goods"
minds = "llm:stub"
cost = "small"
set = { n_players = 3, n_rounds = 1 }
[scales.quick]
runs = 1
[scales.paper]
runs = 1
[[conditions]]
name = "baseline"
label = "Three"
[[measures]]
name = "given"
label = "What they give"
columns = "contribution"
rounds = [-1, -1]
[[claims]]
text = "They give more than nothing."
source = "ours"
measure = "given"
kind = "above"
value = 0
condition = "baseline"
"""
SCRIPT = """
import sys
from sabm_mesa import Connection, PublicGoods

PublicGoods(
    n_players=int(sys.argv[2]), n_rounds=2, rng=1, minds=f"llm:stub@{sys.argv[1]}",
    recording=sys.argv[3], connection=Connection(share_requests=True),
).run_model()
"""
COSTS = [*Failures._fields, "prompt_tokens", "completion_tokens", "cost_usd"]


@pytest.fixture(autouse=True)
def hardly_any_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryClient, "_wait", lambda *_: 0.001)


def by_content(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """A brain whose answers to one question are all the same, however it is sent."""
    return stub(messages[:2], {**body, "n": 1})[0]


def game(server: LLMServer, share: bool = True, **given: Any) -> PublicGoods:
    """One pot for all: as long as nobody knows anything, all are asked the very same."""
    connection = given.pop("connection", None) or Connection()
    settings = {"n_players": N, "n_rounds": 1, "rng": 1, "recording": False} | given
    settings = {"minds": f"llm:stub@{server.url}"} | settings
    return PublicGoods(connection=replace(connection, share_requests=share), **settings)


def played(server: LLMServer, share: bool = True, **given: Any) -> PublicGoods:
    model = game(server, share, **given)
    model.run_model()
    return model


def found(model: PublicGoods) -> list[pd.DataFrame]:
    """The results of a run without the cost of its answers."""
    agents = model.agent_frame().drop(columns=["mind", *Failures._fields])
    return [model.model_frame().drop(columns=COSTS), agents]


def assert_same(one: list[pd.DataFrame], other: list[pd.DataFrame]) -> None:
    for a, b in zip(one, other, strict=True):
        pd.testing.assert_frame_equal(a, b)


def sizes(server: LLMServer) -> list[int]:
    """How many answers each request asked for."""
    return [seen.body.get("n", 1) for seen in server.requests]


def amount(text: str) -> float:
    return float(text.splitlines()[-1])


# Requests, and the answer for each agent


def test_the_prompt_of_identical_questions_is_sent_once(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"stub-2026" = { input = 2, output = 8, cached = 0.5 }\n')
    connection = Connection(prices=prices)
    with LLMServer() as server:
        alone = played(server, share=False, connection=connection, n_players=MANY)
        apart = server.stats["prompt_tokens"]
    path = tmp_path / "run.sqlite"
    with LLMServer(cache=True) as server:
        together = played(server, connection=connection, n_players=MANY, recording=path)
        stats = server.stats
        assert sizes(server) == [MANY]
    assert alone.total.prompt_tokens == apart == MANY * stats["prompt_tokens"]
    assert alone.total.asks == together.total.asks == MANY
    # The recorded tokens are those that the server counted.
    total = together.total
    assert total.prompt_tokens == stats["prompt_tokens"]
    assert total.completion_tokens == stats["completion_tokens"]
    dollars = (stats["prompt_tokens"] * 2 + stats["completion_tokens"] * 8) / 1e6
    assert total.cost_usd == pytest.approx(dollars, rel=1e-12)
    each = rows(path, "SELECT prompt_tokens, completion_tokens, cost_usd FROM asks")
    assert [sum(column) for column in zip(*each, strict=True)][:2] == [
        stats["prompt_tokens"], stats["completion_tokens"],
    ]  # fmt: skip
    assert all(usd == pytest.approx((sent * 2 + got * 8) / 1e6) for sent, got, usd in each)
    assert max(sent for sent, _, _ in each) - min(sent for sent, _, _ in each) <= 1


def test_each_agent_has_the_answer_of_its_place(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer() as server:
        model = played(server, recording=path)
        (request,) = server.requests
    answers = stub(request.messages, request.body)
    assert len(set(answers)) > N / 2
    assert list(model.agent_frame()["contribution"]) == [amount(text) for text in answers]
    recorded = rows(path, "SELECT agent, attempt, raw FROM asks ORDER BY agent")
    assert recorded == [(i, 0, text) for i, text in enumerate(answers, 1)]


@pytest.mark.parametrize("latency", [0.0, 0.002])
def test_the_results_are_those_of_questions_on_their_own(latency: float, tmp_path: Path) -> None:
    """Two models that answer differently, three rounds; every round goes by what was answered."""
    runs = []
    for share in (False, True):
        with LLMServer(brain=by_content, latency=latency, jitter=latency) as server:
            minds = {f"llm:a@{server.url}": 2, f"llm:b@{server.url}": N - 2}
            path = tmp_path / f"{share}.sqlite"
            runs.append(played(server, share, minds=minds, n_rounds=3, recording=path))
            assert sorted(sizes(server)) == ([2] * 3 + [4] * 3 if share else [1] * N * 3)
    alone, together = runs
    assert_same(found(alone), found(together))
    assert alone.critical_path_asks == together.critical_path_asks == 3
    query = "SELECT round, agent, call, attempt, request, raw FROM asks ORDER BY round, agent"
    one, other = (rows(tmp_path / f"{share}.sqlite", query) for share in (False, True))
    assert one == other
    assert len(one) == N * 3
    # An estimate learns the same from both: what a question would have sent on its own.
    learned = [asked(tmp_path / f"{share}.sqlite", "public-goods") for share in (False, True)]
    without_names = [[replace(each, mind="") for each in questions] for questions in learned]
    assert without_names[0] == without_names[1]
    assert {each.first_tokens for each in learned[1]} == {each.prompt_tokens for each in learned[1]}


def test_what_shares_a_request_does_not_depend_on_latencies() -> None:
    """A server whose answers differ by place gives the same run, however long each takes."""
    runs = []
    for seed in (1, 2):
        with LLMServer(latency=0.001, jitter=0.01, seed=seed) as server:
            runs.append(played(server, n_rounds=4, group_size=2))
            assert sizes(server)[0] == N
    assert_same(found(runs[0]), found(runs[1]))


def test_runs_at_once_share_nothing() -> None:
    with LLMServer(held=True) as server:
        models = [game(server, rng=seed, n_players=5) for seed in range(3)]
        threads = [threading.Thread(target=model.run_model) for model in models]
        for thread in threads:
            thread.start()
        server.wait_until(lambda s: s.in_flight == 3)
        server.release()
        for thread in threads:
            thread.join()
        assert sizes(server) == [5, 5, 5]


def test_without_the_option_nothing_is_shared() -> None:
    with LLMServer() as server:
        played(server, share=False)
        assert len(server.requests) == N
        assert all("n" not in seen.body for seen in server.requests)


def test_an_unusable_answer_is_asked_for_again_on_its_own(tmp_path: Path) -> None:
    def brain(_messages: list[dict[str, Any]], body: dict[str, Any]) -> Any:
        if body.get("n", 1) == 1:
            return "Once more.\n7"
        replies: list[Any] = [f"Because.\n{i}" for i in range(N)]
        replies[1] = replies[3] = "About half of it."
        replies[4] = Reply("", "length")
        return replies

    path = tmp_path / "run.sqlite"
    with LLMServer(brain=brain) as server:
        model = played(server, recording=path)
        assert sizes(server) == [N, 1, 1, 1]
        chats = [[each["content"] for each in seen.messages] for seen in server.requests[1:]]
        assert sorted(chat[2] for chat in chats if chat[2:]) == ["About half of it."] * 2
        (alone,) = (chat for chat in chats if not chat[2:])
        assert "It could not be used. It was cut off" in alone[1]
        assert model.total.prompt_tokens == server.stats["prompt_tokens"]
    assert (model.total.reasks, model.total.truncated, model.total.invalid) == (3, 1, 0)
    expected = [float(i) for i in range(N)]
    expected[1] = expected[3] = expected[4] = 7.0
    assert list(model.agent_frame()["contribution"]) == expected
    query = "SELECT agent, finish_reason FROM asks WHERE NOT valid ORDER BY agent"
    assert rows(path, query) == [(2, "stop"), (4, "stop"), (5, "length")]
    assert model.critical_path_asks == 2


# Servers that do not do it, and faults


@pytest.mark.parametrize("most", [1, 4])
def test_answers_that_do_not_come_are_asked_for_one_by_one(
    most: int, caplog: pytest.LogCaptureFixture
) -> None:
    with LLMServer(brain=by_content, most_choices=most) as server:
        with caplog.at_level(logging.WARNING):
            runs = [played(server, n_rounds=2) for _ in range(2)]
        assert sizes(server) == [N] + [1] * (N - most) + [1] * N * 3
        sent = server.stats["prompt_tokens"]
    assert sum(run.total.prompt_tokens for run in runs) == sent
    assert [run.total.retries for run in runs] == [N - most, 0]
    assert [record.getMessage() for record in caplog.records] == [
        "'stub' does not give several answers to one request: requests are not shared any more."
    ]
    assert_same(*(found(run) for run in runs))


@pytest.mark.parametrize("status", ["400", "404"])
def test_a_server_that_refuses_several_answers_is_asked_for_each(
    status: str, caplog: pytest.LogCaptureFixture
) -> None:
    def plan(_number: int, body: dict[str, Any]) -> str | None:
        return status if "n" in body else None

    with LLMServer(brain=by_content, faults=plan) as server:
        with caplog.at_level(logging.WARNING):
            model = played(server, n_rounds=2)
        assert sizes(server) == [N] + [1] * N * 2
    assert (model.total.retries, model.total.invalid) == (N, 0)
    assert len(caplog.records) == 1


def test_a_request_that_is_refused_for_another_reason_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        LLMServer(strict_models=True) as server,
        caplog.at_level(logging.WARNING),
        pytest.raises(RunError, match="is the model name 'none' right"),
    ):
        played(server, minds=f"llm:none@{server.url}")
    assert not caplog.records


@pytest.mark.parametrize(
    "fault", ["reset", "drop", "bad-json", "html", "error-200", "408", "429", "500", "503"]
)
def test_what_a_retry_mends_is_sent_again_as_one(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer(brain=by_content, faults=[fault]) as server:
        model = played(server, recording=path)
        assert sizes(server) == [N, N]
    assert (model.total.retries, model.total.invalid) == (1, 0)
    assert rows(path, "SELECT agent FROM asks WHERE retries") == [(1,)]


@pytest.mark.slow
def test_an_answer_that_does_not_come_in_time_is_asked_for_again_as_one() -> None:
    with LLMServer(faults=["hang"]) as server:
        model = played(server, connection=Connection(timeout_s=2.0))
        assert sizes(server) == [N, N]
    assert (model.total.retries, model.total.invalid) == (1, 0)


@pytest.mark.parametrize("fault", ["null", "empty", "refusal", "content-filter", "garbage"])
def test_answers_without_use_are_each_asked_for_again(fault: str) -> None:
    with LLMServer(brain=by_content, faults=[fault]) as server:
        model = played(server)
        assert sizes(server) == [N] + [1] * N
    assert (model.total.reasks, model.total.invalid, model.total.retries) == (N, 0, 0)


def test_an_answer_without_choices_is_paid_for_by_the_first() -> None:
    with LLMServer(brain=by_content, faults=["no-choices"]) as server:
        model = played(server)
        assert sizes(server) == [N] + [1] * N
        assert model.total.prompt_tokens == server.stats["prompt_tokens"]
    assert (model.total.reasks, model.total.retries, model.total.invalid) == (1, N - 1, 0)


def test_without_usage_the_price_is_not_known() -> None:
    with LLMServer(faults=["no-usage"]) as server:
        budget = Budget(max_tokens=10**6)
        model = played(server, connection=Connection(budget=budget), max_tokens=50)
    assert math.isnan(model.total.cost_usd)
    assert budget.spent.asks == N
    assert budget.spent.tokens > N * 50


@pytest.mark.parametrize(("fault", "kind"), [("401", AccessDenied), ("503", ServerUnavailable)])
def test_what_no_retry_mends_ends_the_run(fault: str, kind: type, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer(faults=lambda _n, _b: fault) as server:
        with pytest.raises(kind) as caught:
            played(server, recording=path, connection=Connection(max_retries=1))
        assert sizes(server) == [N] * (1 if fault == "401" else 2)
    assert rows(path, "SELECT count(*) FROM asks") == [(0,)]
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", str(caught.value))]


# Caps, limits, stopping, going on


def test_caps_hold_and_are_used_up_as_without_it(tmp_path: Path) -> None:
    for share in (False, True):
        budget = Budget(max_asks=4)
        path = tmp_path / f"{share}.sqlite"
        with LLMServer() as server:
            with pytest.raises(BudgetExceeded, match="The budget of 4 asks is used up"):
                played(server, share, connection=Connection(budget=budget), recording=path)
            assert sizes(server) == [1] * 4
        assert (budget.spent.asks, budget.reserved.asks) == (4, 0)
        assert rows(path, "SELECT count(*) FROM asks") == [(4,)]


def test_a_cap_that_the_whole_request_may_pass_is_kept_one_by_one() -> None:
    """The answers may have 9 times 400 tokens, and have 2 each."""
    budget = Budget(max_tokens=3000)
    with LLMServer(brain=lambda _m, _b: Reply("42", completion_tokens=2)) as server:
        model = played(server, connection=Connection(budget=budget), max_tokens=400, n_players=9)
        stats = server.stats
        assert sizes(server) == [1] * 9
    assert budget.spent.tokens == stats["prompt_tokens"] + stats["completion_tokens"] <= 3000
    assert (model.total.retries, budget.reserved.tokens) == (0, 0)


def test_the_whole_request_is_set_aside_and_settled() -> None:
    budget = Budget(max_asks=N, max_tokens=10**6)
    with LLMServer(held=True) as server:
        model = game(server, connection=Connection(budget=budget), max_tokens=50)
        thread = threading.Thread(target=model.run_model)
        thread.start()
        server.wait_until(lambda s: s.in_flight == 1)
        assert budget.reserved.asks == N
        assert N * 50 < budget.reserved.tokens < N * 50 + 1000
        server.release()
        thread.join()
        stats = server.stats
    assert (budget.spent.asks, budget.reserved.asks, budget.reserved.tokens) == (N, 0, 0)
    assert budget.spent.tokens == stats["prompt_tokens"] + stats["completion_tokens"]


def test_it_takes_one_place_of_the_limit() -> None:
    with LLMServer() as server:
        played(server, connection=Connection(max_concurrency=1), n_rounds=2)
        assert sizes(server)[0] == N
        assert server.max_in_flight == 1


def stopped(model: PublicGoods, server: LLMServer) -> None:
    """Stop a run whose request is under way, and let it be answered."""
    problems: list[RunError] = []

    def run() -> None:
        try:
            model.run_model()
        except RunError as error:
            problems.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    server.wait_until(lambda s: s.in_flight == 1)
    model.stop()
    server.release()
    thread.join()
    assert [str(problem) for problem in problems] == ["The run was stopped."]


def test_a_stop_awaits_and_records_all_answers_under_way(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer(held=True) as server:
        model = game(server, recording=path, n_rounds=2)
        stopped(model, server)
        assert sizes(server) == [N]
        model.close("stopped")
        assert rows(path, "SELECT count(*), sum(valid) FROM asks") == [(N, N)]
        done = resume(path)
        assert sizes(server)[:1] == [N]
        assert all(seen.messages != server.requests[0].messages for seen in server.requests[1:])
    assert done.models[0].total.asks == 2 * N


@pytest.mark.slow
def test_a_run_whose_process_was_killed_asks_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer(brain=by_content, latency=lambda n, _body: 3600.0 * (n == 1)) as server:
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT, server.url, str(N), str(path)],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as process:  # fmt: skip
            server.wait_until(lambda s: s.stats["requests"] == 2)
            process.kill()
        assert rows(path, "SELECT round, count(*) FROM asks GROUP BY round") == [(0, N)]
        (run,) = resume(path).models
        assert sizes(server) == [N, N, N]
        first, lost, again = server.requests
        assert first.messages != lost.messages == again.messages
    assert (run.total.asks, run.total.invalid) == (2 * N, 0)


def test_a_run_that_goes_on_asks_for_what_is_missing_and_replays(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer() as server:
        connection = Connection(budget=Budget(max_asks=2))
        with pytest.raises(BudgetExceeded):
            played(server, recording=path, connection=connection)
        before = rows(path, "SELECT agent, raw FROM asks ORDER BY agent")
        assert [agent for agent, _ in before] == [1, 2]
        resume(path, connection=Connection(share_requests=True))
        assert sizes(server)[2:] == [N - 2]
        rest = stub(server.requests[2].messages, server.requests[2].body)
        sent = len(server.requests)
        after = rows(path, "SELECT agent, raw FROM asks ORDER BY agent")
        assert after[:2] == before
        assert after[2:] == list(enumerate(rest, 3))
        replay(path)
        assert len(server.requests) == sent


def test_a_recording_says_it_and_a_run_that_goes_on_keeps_it() -> None:
    assert not Connection.of_recorded({}).share_requests
    said = Connection(share_requests=True).as_recorded()
    assert Connection.of_recorded(said).share_requests


@pytest.mark.parametrize(("option", "expected"), [((), [N]), (("--no-share-requests",), [1] * N)])
def test_run_and_resume(
    option: tuple[str, ...], expected: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All answer the same in the first round, so that all are asked the same in the second."""
    sabm = Sabm(capsys)
    with LLMServer(brain=by_content) as server:
        minds = f"llm:stub@{server.url}"
        done = sabm(
            "run", "public-goods", "--minds", minds, "--set", f"n_players={N}", "--rounds", 2,
            "--seed", 1, "--share-requests", "--max-asks", N, "--out", tmp_path,
        )  # fmt: skip
        assert (done.status, sizes(server)) == (1, [N])
        done = sabm("resume", tmp_path / "recording.sqlite", "--max-asks", 2 * N, *option)
        assert (done.status, sizes(server)[1:]) == (0, expected)


def test_sweep_and_reproduce(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sabm = Sabm(capsys)
    with LLMServer(brain=by_content) as server:
        minds = ("--minds", f"llm:stub@{server.url}", "--share-requests", "--runs", 1)
        sweep = ("sweep", "public-goods", "--vary", f"n_players={N},{N + 1}", "--rounds", 1)
        assert sabm(*sweep, *minds, "--out", tmp_path).status == 0
        assert sorted(sizes(server)) == [N, N + 1]
        own = tmp_path / "own.toml"
        own.write_text(EXPERIMENT, "utf-8")
        assert sabm("reproduce", own, *minds, "--out", tmp_path).status == 0
        assert sizes(server)[2:] == [3]


# The wrapper by itself


class Several:
    """A client that gives as many answers as are asked for, after some seconds."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.seconds = seconds
        self.sizes: list[int] = []
        self.cut_off = False

    async def complete(self, request: Request) -> Completion:
        self.sizes.append(request.n)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cut_off = True
            raise
        if request.n == 1:
            return Completion("alone")
        return Completion("0", parts=tuple(Completion(str(i)) for i in range(request.n)))


def sharing(client: Client) -> CoalescingClient:
    return CoalescingClient(client, SupportsN())


def at(position: int, phase: str = "act", round_: int = 0) -> Request:
    return ask(place=(round_, phase, position))


async def ends(shared: CoalescingClient, *requests: Request) -> list[Any]:
    parts = (shared.complete(request) for request in requests)
    return [end.text for end in await asyncio.gather(*parts)]


def test_the_order_is_that_of_the_phase_and_not_of_arrival() -> None:
    client = Several()
    order = [3, 0, 2, 1]
    assert on_virtual_time(ends(sharing(client), *map(at, order))) == [str(i) for i in order]
    assert client.sizes == [4]


def test_phases_rounds_and_requests_are_kept_apart() -> None:
    client = Several()
    put = [at(0), at(1), at(0, "plan"), at(1, "plan"), at(0, round_=1), ask(), ask()]
    texts = on_virtual_time(ends(sharing(client), *put, replace(at(2), temperature=0.5)))
    assert sorted(client.sizes) == [1, 1, 1, 1, 2, 2]
    assert texts == ["0", "1", "0", "1"] + ["alone"] * 4


def test_no_request_asks_for_more_than_servers_give() -> None:
    client = Several()
    texts = on_virtual_time(ends(sharing(client), *map(at, range(2 * MOST + 1))))
    assert sorted(client.sizes) == [1, MOST, MOST]
    assert texts == [str(i % MOST) for i in range(2 * MOST)] + ["alone"]


def test_a_client_that_knows_nothing_of_it_gives_one_answer() -> None:
    client = ScriptedClient(["first", "second", "third"])
    assert on_virtual_time(ends(sharing(client), at(0), at(1), at(2))) == [
        "first", "second", "third",
    ]  # fmt: skip
    assert [request.n for request in client.requests] == [3, 1, 1]


async def cancelled(client: Several, *whom: int, after: int = 5) -> list[Any]:
    """How three that share a request end when some of them are cancelled after some turns."""
    shared = sharing(client)
    tasks = [asyncio.create_task(shared.complete(at(i))) for i in range(3)]
    for i in whom:
        await turn(after)
        tasks[i].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    await turn()
    return [(end.text, end.stopped) if isinstance(end, Completion) else type(end) for end in done]


def test_who_is_cancelled_alone_still_gets_its_answer() -> None:
    """It is paid for, so that it must be recorded; the others go on."""
    assert on_virtual_time(cancelled(Several(), 1)) == [("0", False), ("1", True), ("2", False)]


def test_when_all_are_cancelled_so_is_the_request() -> None:
    client = Several()
    assert on_virtual_time(cancelled(client, 0, 1, 2)) == [asyncio.CancelledError] * 3
    assert client.cut_off


def test_who_is_cancelled_before_it_is_sent_takes_no_part() -> None:
    client = Several()
    assert on_virtual_time(cancelled(client, 0, after=1)) == [
        asyncio.CancelledError, ("0", False), ("1", False),
    ]  # fmt: skip
    assert client.sizes == [2]


def test_who_is_cancelled_twice_still_gets_its_answer() -> None:
    client = Several()
    assert on_virtual_time(cancelled(client, 1, 1)) == [("0", False), ("1", True), ("2", False)]
    assert not client.cut_off


# How tokens are shared


@pytest.mark.parametrize("sent", [0, 1, 7, 23, 24, 100, 1001])
@pytest.mark.parametrize("n", [2, 3, 24])
def test_the_shares_are_all_that_was_counted(sent: int, n: int) -> None:
    for cached, received in ((0, 0), (sent // 2, 1), (sent, 997)):
        usage = {
            "prompt_tokens": sent,
            "completion_tokens": received,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        choices = [
            {"index": i, "message": {"content": "word " * (i % 5)}, "finish_reason": "stop"}
            for i in reversed(range(n))
        ]
        done = read_completion({"choices": choices, "usage": usage}, ask(n=n), 1.5)
        assert [part.text for part in done.parts] == ["word " * (i % 5) for i in range(n)]
        assert sum(part.prompt_tokens for part in done.parts) == sent
        assert sum(part.cached_tokens for part in done.parts) == cached
        assert sum(part.completion_tokens for part in done.parts) == received
        assert all(0 <= part.cached_tokens <= part.prompt_tokens for part in done.parts)


def test_the_shares_by_hand() -> None:
    """10 tokens sent are 4, 3 and 3; 20 received go by 1 + 1, 3 + 1 and 13 + 1 letters."""
    texts = ["7", "abc", "Because.\n4444"]
    choices = [{"message": {"content": text}} for text in texts]
    usage = {"prompt_tokens": 10, "completion_tokens": 20}
    done = read_completion({"choices": choices, "usage": usage}, ask(n=3), 0.0)
    assert [part.prompt_tokens for part in done.parts] == [4, 3, 3]
    assert [part.completion_tokens for part in done.parts] == [2, 4, 14]


def test_the_hash_of_a_request_does_not_say_how_it_is_sent() -> None:
    assert ask().digest() == ask(n=24, place=(3, "act", 7)).digest()
    assert re.fullmatch("[0-9a-f]{64}", ask().digest())
