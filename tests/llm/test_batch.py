"""Questions that can wait are sent in batches, and nothing is paid for twice."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sabm_mesa import Budget, Connection, KeynesianBeautyContest, Recording, resume
from sabm_mesa.core.asks import NotedBatch
from sabm_mesa.errors import (
    BadRequest,
    BudgetExceeded,
    LLMError,
    ParameterError,
    RecordingError,
    RunError,
)
from sabm_mesa.llm import Batches, batch, close_all, retry
from sabm_mesa.llm.batch import BatchClient, name_in_batch
from sabm_mesa.llm.batch_interface import BatchInterface
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.openai_client import OpenAIClient
from sabm_mesa.llm.prices import BATCH_SHARE, Price, PriceTable
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.writing import NoRecording
from sabm_mesa.runs.rerun import lost_before
from sabm_mesa.runs.run import Runs, run_all
from tests.llm.support import ask, on_virtual_time, rows
from tests.llm_server import BatchPlan, LLMServer, stub
from tests.llm_server.batches import OPERATIONS
from tests.llm_server.dialects import DIALECTS
from tests.llm_server.thinkers import THINKERS

RUNS, PLAYERS = 2, 3
PRICES = '[models]\n"stub" = { input = 1000.0, output = 2000.0 }\n'


@pytest.fixture(autouse=True)
def hardly_any_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("FIRST_POLL_S", 0.001), ("LONGEST_POLL_S", 0.01), ("SETTLE_S", 0.06)):
        monkeypatch.setattr(batch, name, seconds)
    monkeypatch.setattr(batch, "LOOK_AGAIN_S", 0.001)
    monkeypatch.setattr(batch, "PATIENCE", 8)
    for module in (batch, retry):
        monkeypatch.setattr(module, "pause_s", lambda *_: 0.001)


def play(path: Path, server: LLMServer, *, gather: bool = True, **options: Any) -> Runs:
    """Two rounds of some runs; the players speak one by one in the second."""
    how = {name: options.pop(name) for name in ("budget", "prices") if name in options}
    parameters = {"n_players": PLAYERS, "n_rounds": 2, "minds": f"llm:stub@{server.url}"} | options
    with Recording(path) as recording:
        return run_all(
            KeynesianBeautyContest, parameters, runs=RUNS, seed=1, recording=recording,
            connection=Connection(batches=Batches(gather=gather), **how),
        )  # fmt: skip


def data(done: Runs) -> pd.DataFrame:
    """The data, but for how often something was sent again."""
    return done.model_frame().drop(columns="retries")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The same runs without batches."""
    with LLMServer() as server:
        return play(tmp_path_factory.mktemp("alone") / "r", server, gather=False).model_frame()


def bill(server: LLMServer) -> int:
    """How often the same question was answered in batches, at most."""
    return max(server.batches.bill.values(), default=0)


def left(path: Path) -> int:
    ((n,),) = rows(path, "SELECT count(*) FROM sent")
    return int(n)


def test_a_phase_of_all_runs_is_one_batch(tmp_path: Path, expected: pd.DataFrame) -> None:
    with LLMServer(batches=BatchPlan(polls=2)) as server:
        done = play(tmp_path / "r", server)
        assert [len(each.requests) for each in server.batches.batches] == [RUNS * PLAYERS] * 2
        assert bill(server) == 1
    pd.testing.assert_frame_equal(done.model_frame(), expected)
    assert left(tmp_path / "r") == 0


def test_a_batch_is_named_by_what_is_asked(tmp_path: Path) -> None:
    with LLMServer(batches=BatchPlan()) as server:
        play(tmp_path / "r", server)
        (first, *_) = server.batches.batches
        assert first.requests[0]["custom_id"] == "0-0-act-1-0-0"
        assert first.requests[0]["url"] == "/v1/chat/completions"
        ((token, file, found),) = rows(
            tmp_path / "r", "SELECT token, file, batch FROM batches WHERE batch = 'batch_0'"
        )
        assert (first.metadata, first.file, first.id) == ({"sabm": token}, file, found)


def test_a_long_name_is_a_hash() -> None:
    recorder = NoRecording()
    name = name_in_batch(recorder, ask(question=(1, "act" * 30, 5, 0, 1)))
    other = name_in_batch(recorder, ask(question=(1, "act" * 30, 5, 1, 1)))
    assert len(name) == 64
    assert name != other


def once(what: str, at: int = 1) -> Callable[[int, int, dict[str, Any]], str | None]:
    return lambda number, line, _body: what if (number, line) == (0, at) else None


@pytest.mark.parametrize("fault", ["missing", "late", "twice", "429", "500", "error"])
def test_a_line_may_go_wrong(fault: str, tmp_path: Path, expected: pd.DataFrame) -> None:
    with LLMServer(batches=BatchPlan(lines=once(fault), shuffle=3)) as server:
        done = play(tmp_path / "r", server)
        assert bill(server) == 1
        again = fault not in {"late", "twice"}
        assert len(server.batches.batches) == 2 + again
    pd.testing.assert_frame_equal(data(done), expected.drop(columns="retries"))
    # A completed batch without a line may have been paid for in full.
    assert left(tmp_path / "r") == (fault == "missing")


@pytest.mark.fast_cases(5)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", ["lost", "429", "500"])
def test_a_call_may_go_wrong(
    operation: str, fault: str, tmp_path: Path, expected: pd.DataFrame
) -> None:
    plan = BatchPlan(calls=lambda op, n: fault if (op, n) == (operation, 0) else None)
    with LLMServer(batches=plan) as server:
        done = play(tmp_path / "r", server)
        assert bill(server) == 1
        assert len(server.batches.batches) == 2
    pd.testing.assert_frame_equal(done.model_frame(), expected)


def test_a_batch_that_cannot_be_read_is_left_to_a_resume(
    tmp_path: Path, expected: pd.DataFrame
) -> None:
    plan = BatchPlan(calls=lambda operation, _n: "500" if operation == "poll" else None)
    with LLMServer(batches=plan) as server:
        with pytest.raises(LLMError, match=r"batch_0 at .* cannot be read: .* answered 500"):
            play(tmp_path / "r", server)
        plan.calls = lambda *_: None
        done = resume(tmp_path / "r")
        assert bill(server) == 1
        assert len(server.batches.batches) == 2
    pd.testing.assert_frame_equal(done.model_frame(), expected)


@pytest.mark.parametrize("fault", ["403", "404"])
@pytest.mark.parametrize("operation", ["poll", "content"])
def test_a_batch_is_looked_at_again_after_a_refusal(
    operation: str, fault: str, tmp_path: Path, expected: pd.DataFrame
) -> None:
    plan = BatchPlan(calls=lambda op, n: fault if (op, n) == (operation, 0) else None)
    with LLMServer(batches=plan) as server:
        done = play(tmp_path / "r", server)
        assert bill(server) == 1
    pd.testing.assert_frame_equal(done.model_frame(), expected)


@pytest.mark.parametrize("fault", ["403", "404"])
def test_a_batch_whose_looks_are_refused_keeps_its_notes(
    fault: str, tmp_path: Path, expected: pd.DataFrame
) -> None:
    plan = BatchPlan(calls=lambda operation, _n: fault if operation == "poll" else None)
    with LLMServer(batches=plan) as server:
        with pytest.raises(LLMError, match=r"batch_0 at .* cannot be read"):
            play(tmp_path / "r", server)
        assert left(tmp_path / "r") == RUNS * PLAYERS
        plan.calls = lambda *_: None
        done = resume(tmp_path / "r")
        assert bill(server) == 1
    pd.testing.assert_frame_equal(done.model_frame(), expected)


@pytest.mark.parametrize("what", ["500", "empty"])
def test_a_batch_whose_creation_was_not_confirmed_is_looked_for_again(
    what: str, tmp_path: Path, expected: pd.DataFrame
) -> None:
    """The list is read once before: it says whether there are batches."""
    fails = range(1, 2 if what == "empty" else 10)

    def call(operation: str, number: int) -> str | None:
        if operation == "list" and number in fails:
            return what
        return "lost" if (operation, number) == ("create", 0) else None

    with LLMServer(batches=BatchPlan(calls=call)) as server:
        done = play(tmp_path / "r", server)
        assert bill(server) == 1
        assert len(server.batches.batches) == 2
    pd.testing.assert_frame_equal(done.model_frame(), expected)


def test_a_batch_that_may_have_been_created_keeps_its_notes(
    tmp_path: Path, expected: pd.DataFrame
) -> None:
    def call(operation: str, number: int) -> str | None:
        if operation == "create":
            return "403" if number else "lost"
        return "empty" if operation == "list" and number else None

    plan = BatchPlan(calls=call)
    with LLMServer(batches=plan) as server:
        with pytest.raises(LLMError, match="answered 403"):
            play(tmp_path / "r", server)
        assert left(tmp_path / "r") == RUNS * PLAYERS
        plan.calls = lambda *_: None
        done = resume(tmp_path / "r")
        assert bill(server) == 1
        assert len(server.batches.batches) == 2
    pd.testing.assert_frame_equal(done.model_frame(), expected)


def test_what_has_expired_is_asked_again(tmp_path: Path, expected: pd.DataFrame) -> None:
    plan = BatchPlan(ends=lambda n: "expired" if n == 0 else "completed")
    with LLMServer(batches=plan) as server:
        done = play(tmp_path / "r", server)
        # A run whose answers came continues: its next questions go with those asked again.
        assert [len(each.requests) for each in server.batches.batches] == [6, 6, 3]
        assert bill(server) == 1
    pd.testing.assert_frame_equal(data(done), expected.drop(columns="retries"))
    assert done.total().retries == 3


def test_a_queue_that_is_full_is_waited_for(tmp_path: Path, expected: pd.DataFrame) -> None:
    with LLMServer(batches=BatchPlan(ends=lambda n: "queue" if n < 2 else "completed")) as server:
        done = play(tmp_path / "r", server)
    pd.testing.assert_frame_equal(data(done), expected.drop(columns="retries"))


def test_a_batch_that_is_refused_ends_the_runs_with_its_reason(tmp_path: Path) -> None:
    with LLMServer(batches=BatchPlan(ends=lambda _: "failed")) as server:
        with pytest.raises(BadRequest, match=r"batch_0 at .* was refused \(The model does not e"):
            play(tmp_path / "r", server)
        assert bill(server) == 0
        server.batches.plan = BatchPlan()
        resume(tmp_path / "r")
        assert bill(server) == 1
    assert left(tmp_path / "r") == 0


def test_a_batch_cancelled_from_outside_ends_the_runs_and_loses_nothing(
    tmp_path: Path, expected: pd.DataFrame
) -> None:
    plan = BatchPlan(ends=lambda n: "cancelled" if n == 0 else "completed")
    with LLMServer(batches=plan) as server:
        with pytest.raises(LLMError, match=r"batch_0 at .* was cancelled from outside"):
            play(tmp_path / "r", server)
        done = resume(tmp_path / "r")
        assert bill(server) == 1
        assert sum(len(each.requests) for each in server.batches.batches) == 6 + 3 + 6
    pd.testing.assert_frame_equal(data(done), expected.drop(columns="retries"))
    assert left(tmp_path / "r") == 0


def test_without_batches_there_is_one_line_before_anything_is_paid(tmp_path: Path) -> None:
    with LLMServer() as server, pytest.raises(BadRequest, match="offers no batches"):
        play(tmp_path / "r", server)
    assert server.stats["requests"] == 0


def test_one_endpoint_without_batches_is_enough(tmp_path: Path) -> None:
    with LLMServer(batches=BatchPlan()) as server, LLMServer() as other:
        minds = {f"llm:stub@{server.url}": 2, f"llm:stub@{other.url}": 1}
        with pytest.raises(BadRequest, match="leave out --batch"):
            play(tmp_path / "r", server, minds=minds)
        assert server.stats["requests"] == other.stats["requests"] == bill(server) == 0


def test_each_model_has_its_batch(tmp_path: Path) -> None:
    with LLMServer(batches=BatchPlan()) as server:
        minds = {f"llm:stub@{server.url}": 2, f"llm:other@{server.url}": 1}
        play(tmp_path / "r", server, minds=minds)
        found = [{line["body"]["model"] for line in b.requests} for b in server.batches.batches]
        assert found == [{"stub"}, {"other"}] * 2


def test_what_a_model_does_not_take_is_mended(tmp_path: Path) -> None:
    with LLMServer(batches=BatchPlan(), dialect=DIALECTS["gpt5"]) as server:
        done = play(tmp_path / "r", server, gather=True, max_tokens=50)
        assert bill(server) == 1
    assert done.total().retries == 0
    assert done.mended_requests()[f"llm:stub@{server.url}"]["sent"] == {"max_completion_tokens": 50}
    assert left(tmp_path / "r") == 0


def test_a_refused_prompt_is_data(tmp_path: Path) -> None:
    def refuses(_body: dict[str, Any]) -> tuple[int, Any]:
        return 400, {"error": {"code": "content_filter", "message": "refused"}}

    with LLMServer(batches=BatchPlan(), refuses=refuses) as server:
        done = play(tmp_path / "r", server, n_rounds=1, max_attempts=1)
    assert done.total().refused == done.total().invalid == RUNS * PLAYERS


def test_a_question_that_is_asked_again_is_in_the_next_batch(tmp_path: Path) -> None:
    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> Any:
        return "nothing" if len(messages) == 2 else stub(messages[:2], body)

    with LLMServer(batches=BatchPlan(), brain=brain) as server:
        done = play(tmp_path / "r", server, n_rounds=1)
        assert [len(each.requests) for each in server.batches.batches] == [6, 6]
    assert (done.total().reasks, done.total().invalid) == (RUNS * PLAYERS, 0)


def test_thoughts_are_split_off(tmp_path: Path) -> None:
    with LLMServer(batches=BatchPlan(), brain=lambda *_: "<think>secret</think>42") as server:
        play(tmp_path / "r", server, n_rounds=1)
    assert set(rows(tmp_path / "r", "SELECT raw, thoughts FROM asks")) == {("42", "secret")}


def test_a_batch_costs_half(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    with LLMServer(batches=BatchPlan()) as server:
        alone = play(tmp_path / "a", server, gather=False, n_rounds=1, prices=prices)
        together = play(tmp_path / "b", server, n_rounds=1, prices=prices)
    assert together.total().cost_usd == pytest.approx(BATCH_SHARE * alone.total().cost_usd)


def test_each_part_of_a_price_has_its_share() -> None:
    price = Price(2.0, 8.0, cached=1.0, thoughts=4.0, over=((10, Price(20.0, 40.0)),))
    assert price.times(0.5) == Price(
        1.0, 4.0, cached=0.5, thoughts=2.0, over=((10, Price(10.0, 20.0)),)
    )
    assert PriceTable().in_batches().of("nobody") is None
    whole, half = PriceTable().of("gpt-4o-mini"), PriceTable().in_batches().of("gpt-4o-mini")
    assert whole is not None
    assert half == whole.times(BATCH_SHARE)


def test_a_cap_holds_before_a_batch_is_submitted(tmp_path: Path) -> None:
    with LLMServer(batches=BatchPlan()) as server:
        with pytest.raises(BudgetExceeded, match="The budget of 4 asks is used up"):
            play(tmp_path / "r", server, budget=Budget(max_asks=4))
        assert server.batches.bill.total() <= 4
        done = resume(tmp_path / "r", connection=Connection(batches=Batches()))
        assert bill(server) == 1
    assert done.total().asks == 18


def test_a_cap_under_which_a_batch_fits_in_parts(tmp_path: Path) -> None:
    """The rest uses an amount that was set aside and not spent."""
    with LLMServer(batches=BatchPlan()) as server:
        budget = Budget(max_tokens=12_000)
        done = play(tmp_path / "r", server, budget=budget, n_rounds=1, max_tokens=2000)
        assert len(server.batches.batches) > 1
        assert bill(server) == 1
    assert done.total().asks == RUNS * PLAYERS


def test_batches_and_shared_requests_exclude_each_other() -> None:
    with pytest.raises(ParameterError, match="leave out --share-requests or --batch"):
        Connection(share_requests=True, batches=Batches())


def test_a_run_in_batches_is_recorded() -> None:
    with LLMServer(batches=BatchPlan()) as server:
        model = KeynesianBeautyContest(
            n_players=3, minds=f"llm:stub@{server.url}", recording=False,
            connection=Connection(batches=Batches()),
        )  # fmt: skip
        with pytest.raises(RunError, match="a run with batches needs a recording"):
            model.step()


def test_a_large_file_is_several_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: pd.DataFrame
) -> None:
    monkeypatch.setattr(batch, "MOST_REQUESTS", 4)
    with LLMServer(batches=BatchPlan()) as server:
        done = play(tmp_path / "r", server)
        assert [len(each.requests) for each in server.batches.batches] == [4, 2, 4, 2]
    pd.testing.assert_frame_equal(done.model_frame(), expected)


class FullDisk(NoRecording):
    """A recorder that cannot note a batch."""

    async def note_batch(self, batch: NotedBatch) -> None:
        raise RecordingError(f"The disk is full: {batch.model} is not noted.")


def test_a_question_that_is_cancelled_while_it_is_submitted_holds_up_no_other() -> None:
    url, recorder = "http://127.0.0.1:9/v1", FullDisk()
    interface = BatchInterface(Endpoint(url), 1.0)
    client = BatchClient(Batches(), OpenAIClient(url), interface, PriceTable())
    requests = [ask(question=(0, "act", agent, 0, 0), sent_notes=recorder) for agent in (1, 2)]

    async def work() -> list[Any]:
        first, second = (asyncio.ensure_future(client.complete(each)) for each in requests)
        asyncio.get_running_loop().call_at(batch.SETTLE_S + 1e-10, first.cancel)
        return await asyncio.gather(first, second, return_exceptions=True)

    cancelled, submitted = on_virtual_time(work())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert isinstance(submitted, RecordingError)


# Stops, and going on.


def stopped_while(
    path: Path,
    server: LLMServer,
    operation: str,
    *,
    when: str = "after",
    number: int = 0,
    **options: Any,
) -> None:
    """Play and stop as soon as the server meets an operation for the time `number` (from 0)."""
    reached = threading.Event()
    plan, met = server.batches.plan, count()
    plan.met = lambda op, at: (
        reached.set() if (op, at) == (operation, when) and next(met) == number else None
    )
    names = {"n_rounds", "minds", "max_tokens"} & set(options)
    own = {name: options.pop(name) for name in names}
    parameters = {"n_players": PLAYERS, "n_rounds": 2, "minds": f"llm:stub@{server.url}"} | own
    connection = Connection(**{"batches": Batches()} | options)
    with Recording(path) as recording:
        stop_when(
            reached,
            lambda watch: run_all(
                KeynesianBeautyContest, parameters, runs=RUNS, seed=1, recording=recording,
                connection=connection, watch=watch,
            ),
        )  # fmt: skip
    plan.met = lambda *_: None


def stop_when(reached: threading.Event, play_on: Callable[[Callable[[Any], None]], Any]) -> None:
    """Play, and stop like Ctrl-C."""

    def watch(_models: Any) -> None:
        if reached.is_set():
            raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, RunError)):
        play_on(watch)


@pytest.fixture
def slow() -> Iterator[LLMServer]:
    """A server whose batches take their time."""
    with LLMServer(batches=BatchPlan(polls=10**9)) as server:
        yield server


@pytest.mark.parametrize("gather", [True, False], ids=["with batches", "without"])
@pytest.mark.parametrize("operation", ["upload", "create", "poll"])
def test_what_a_stop_left_at_the_provider_is_picked_up(
    operation: str, gather: bool, slow: LLMServer, tmp_path: Path, expected: pd.DataFrame
) -> None:
    stopped_while(tmp_path / "r", slow, operation)
    slow.batches.plan.polls = 1
    begun = len(slow.batches.batches)
    done = resume(tmp_path / "r", connection=Connection(batches=Batches(gather=gather)))
    assert bill(slow) <= 1
    assert len(slow.batches.batches) == (max(begun, 1) + 1 if gather else begun)
    pd.testing.assert_frame_equal(done.model_frame(), expected)
    assert left(tmp_path / "r") == 0


def test_a_stop_says_what_goes_on(
    slow: LLMServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        stopped_while(tmp_path / "r", slow, "poll")
    said = [each.message for each in caplog.records if "continues without" in each.message]
    assert len(said) == 1
    assert "batch_0" in said[0]


def test_what_is_in_a_batch_is_not_lost_and_counts_once(slow: LLMServer, tmp_path: Path) -> None:
    stopped_while(tmp_path / "r", slow, "poll")
    assert left(tmp_path / "r") == RUNS * PLAYERS
    runs = load_runs(tmp_path / "r")
    assert lost_before(runs, None).asks == 0
    assert lost_before(runs[:1], None).asks == PLAYERS
    slow.batches.plan.polls = 1
    budget = Budget(max_asks=18)
    done = resume(tmp_path / "r", connection=Connection(budget=budget, batches=Batches()))
    assert done.total().asks == 18


def test_a_batch_that_the_provider_has_forgotten_is_asked_again(
    slow: LLMServer, tmp_path: Path, expected: pd.DataFrame
) -> None:
    stopped_while(tmp_path / "r", slow, "poll")
    slow.batches.batches[0].id = "another"
    slow.batches.plan.polls = 1
    done = resume(tmp_path / "r")
    pd.testing.assert_frame_equal(done.model_frame(), expected)
    # It was paid for, perhaps: its questions count as the most that they can have cost.
    assert lost_before(load_runs(tmp_path / "r"), None).asks == RUNS * PLAYERS


@pytest.mark.parametrize("fault", ["429", "500"])
def test_a_batch_is_found_though_the_list_fails_at_first(
    fault: str, slow: LLMServer, tmp_path: Path, expected: pd.DataFrame
) -> None:
    stopped_while(tmp_path / "r", slow, "poll")
    with closing(sqlite3.connect(tmp_path / "r")) as connection, connection:
        connection.execute("UPDATE batches SET batch = ''")
    lists = count()
    slow.batches.plan.calls = lambda operation, _n: (
        fault if operation == "list" and next(lists) < 10 else None
    )
    slow.batches.plan.polls = 1
    done = resume(tmp_path / "r", connection=Connection(batches=Batches()))
    assert bill(slow) == 1
    assert len(slow.batches.batches) == 2
    pd.testing.assert_frame_equal(data(done), expected.drop(columns="retries"))


def test_a_batch_is_looked_for_where_it_was_submitted(slow: LLMServer, tmp_path: Path) -> None:
    path = tmp_path / "r"
    stopped_while(path, slow, "poll", minds="llm:stub", base_url=slow.url)
    with LLMServer(batches=BatchPlan(polls=10**9)) as other:
        elsewhere = Connection(base_url=other.url, batches=Batches())
        reached = threading.Event()
        other.batches.plan.met = lambda op, _at: reached.set() if op == "poll" else None
        stop_when(reached, lambda watch: resume(path, connection=elsewhere, watch=watch))
        assert len(other.batches.batches) == 1
    assert left(path) == 2 * RUNS * PLAYERS
    slow.batches.plan.polls = 1
    resume(path, connection=Connection(base_url=slow.url, batches=Batches()))
    assert bill(slow) == 1
    assert len(slow.batches.batches) == 2


def test_a_run_goes_on_with_the_batches_that_it_was_stopped_with(
    slow: LLMServer, tmp_path: Path, expected: pd.DataFrame
) -> None:
    batches = Batches()
    stopped_while(tmp_path / "r", slow, "poll", batches=batches)
    slow.batches.plan.polls = 1
    done = resume(tmp_path / "r", connection=Connection(batches=batches))
    assert bill(slow) == 1
    assert len(slow.batches.batches) == 2
    pd.testing.assert_frame_equal(done.model_frame(), expected)


def test_a_batch_is_left_when_the_last_question_that_waits_for_it_is_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    interface = BatchInterface(Endpoint("http://127.0.0.1:9/v1"), 1.0)

    async def work() -> list[bool]:
        noted = NotedBatch("token", interface.endpoint.url, "stub", 0.0, batch="batch_0")
        awaited = batch._Batch(noted, interface, 2)  # noqa: SLF001 - no server is asked
        waiters = [asyncio.ensure_future(awaited.line(name)) for name in ("a", "b")]
        left = []
        for waiter in waiters:
            await asyncio.sleep(0)
            waiter.cancel()
            await asyncio.wait([waiter])
            left.append(awaited.over.cancelled())
        return left

    assert asyncio.run(work()) == [False, True]
    assert caplog.text.count("batch_0 at") == 1
    assert "continues without this command" in caplog.text


def test_the_files_of_a_batch_that_is_over_are_read_again_for_lines_that_are_late() -> None:
    class OneLineLate(BatchInterface):
        polls = 0

        async def batch(self, name: str) -> dict[str, Any]:
            OneLineLate.polls += 1
            return {
                "status": "completed", "request_counts": {"completed": 2, "failed": 0},
                "output_file_id": name,
            }  # fmt: skip

        async def content(self, file: str) -> bytes:
            assert file == "batch_0"
            return b'{"custom_id": "a", "response": {"status_code": 200, "body": {}}}\n'

    async def work() -> set[str]:
        interface = OneLineLate(Endpoint("http://127.0.0.1:9/v1"), 1.0)
        noted = NotedBatch("token", interface.endpoint.url, "stub", 0.0, batch="batch_0")
        awaited = batch._Batch(noted, interface, 2)  # noqa: SLF001 - no server is asked
        await awaited.follow()
        return set(awaited.lines)

    assert asyncio.run(work()) == {"a"}
    assert OneLineLate.polls == batch.LATE + 1


def test_a_batch_far_down_the_list_is_found(slow: LLMServer, tmp_path: Path) -> None:
    from sabm_mesa.core import engine

    stopped_while(tmp_path / "r", slow, "poll")
    slow.batches.batches += [
        type(slow.batches.batches[0])(f"other_{i}", i, "elsewhere", {}, [], "completed")
        for i in range(250)
    ]
    ((token, submitted),) = rows(tmp_path / "r", "SELECT token, submitted FROM batches")
    noted = NotedBatch(token, slow.url, "stub", submitted, file="unknown")
    interface = BatchInterface(Endpoint(slow.url), 30.0)

    async def find(noted: NotedBatch) -> str:
        return await interface.find(noted)

    assert engine.run(find(noted)) == "batch_0"
    assert engine.run(find(NotedBatch("none", slow.url, "stub", submitted, "none"))) == ""
    engine.run(interface.close())


def test_the_progress_of_batches_is_a_line(slow: LLMServer, tmp_path: Path) -> None:
    batches = Batches()
    said: list[str] = []

    def watch(_models: Any) -> None:
        if (status := batches.status()) and "batch_0" in status:
            said.append(status)
            slow.batches.plan.polls = 1

    parameters = {"n_players": PLAYERS, "minds": f"llm:stub@{slow.url}", "n_rounds": 1}
    with Recording(tmp_path / "r") as recording:
        run_all(
            KeynesianBeautyContest, parameters, runs=RUNS, seed=1, recording=recording,
            connection=Connection(batches=batches), watch=watch,
        )  # fmt: skip
    assert said[0] == "batch of 6 questions (batch_0), 0 done, waiting since 0:00:00"
    assert batches.status() == ""


# Thoughts: a question that was cut off is asked again with room for them, under the same name.


def hold(server: LLMServer, after: int) -> None:
    """Let no batch end from the one on that comes after this many."""

    def met(operation: str, _number: int) -> None:
        if operation == "create" and len(server.batches.batches) == after:
            server.batches.plan.polls = 10**9

    server.batches.plan.calls = met


def thinking(**plan: Any) -> LLMServer:
    return LLMServer(batches=BatchPlan(**plan), brain=THINKERS["openai"].brain(stub))


@pytest.fixture(scope="module")
def thoughtful(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """One round of a model that thinks, without batches."""
    path = tmp_path_factory.mktemp("thoughtful") / "r"
    with thinking() as server:
        done = play(path, server, gather=False, n_rounds=1, max_tokens=50)
    return data(done)


@pytest.mark.parametrize("reason", ["stop", "cannot be read", "budget"])
def test_a_run_that_ends_before_the_answer_with_room_records_neither(
    reason: str, tmp_path: Path, thoughtful: pd.DataFrame
) -> None:
    path, options = tmp_path / "r", {"n_rounds": 1, "max_tokens": 50}
    with thinking() as server:
        plan = server.batches.plan
        if reason == "stop":
            hold(server, after=1)
            stopped_while(path, server, "create", number=1, **options)
        elif reason == "budget":
            with pytest.raises(BudgetExceeded):
                play(path, server, budget=Budget(max_asks=RUNS * PLAYERS), **options)
        else:
            plan.calls = lambda op, _n: (
                "500" if op == "poll" and len(server.batches.batches) == 2 else None
            )
            with pytest.raises(LLMError, match="cannot be read"):
                play(path, server, **options)
        close_all()  # a new process does not know yet that the model thinks
        plan.calls, plan.polls = lambda *_: None, 1
        done = resume(path, connection=Connection(batches=Batches()))
        assert done.total().reasks == 0
        assert bill(server) == 2
    pd.testing.assert_frame_equal(data(done), thoughtful)
    assert left(path) == 0


def test_no_answer_that_was_cut_off_stands_when_the_batch_with_room_is_cancelled(
    tmp_path: Path,
) -> None:
    with thinking(ends=lambda n: "cancelled" if n == 1 else "completed") as server:
        with pytest.raises(LLMError, match="cancelled from outside"):
            play(tmp_path / "r", server, n_rounds=1, max_tokens=50)
        done = resume(tmp_path / "r", connection=Connection(batches=Batches()))
        assert len(server.batches.batches) == 3
    assert done.total().reasks == done.total().invalid == 0


def test_an_answer_that_was_cut_off_is_none_to_a_request_with_room(tmp_path: Path) -> None:
    """Half of the second batch expires, and the run is stopped while the third is under way."""
    path = tmp_path / "r"
    with thinking(ends=lambda n: "expired" if n == 1 else "completed") as server:
        plan = server.batches.plan
        hold(server, after=2)
        stopped_while(path, server, "create", number=2, n_rounds=1, max_tokens=50)
        plan.calls, plan.polls = lambda *_: None, 1
        done = resume(path, connection=Connection(batches=Batches()))
        assert len(server.batches.batches) == 3
    assert done.total().reasks == done.total().invalid == 0
    # The answers that were cut off and not recorded count as the most that they can have cost.
    assert lost_before(load_runs(path), None).asks == PLAYERS


# Any schedule.

LINES = st.sampled_from([None, None, None, "late", "twice", "429", "500", "error"])
CALLS = st.sampled_from([None, None, None, None, "429", "500", "lost"])
SCHEDULES = st.fixed_dictionaries(
    {
        "polls": st.integers(0, 3),
        "shuffle": st.none() | st.integers(0, 9),
        "lines": st.lists(LINES, min_size=1, max_size=12),
        "calls": st.lists(CALLS, min_size=1, max_size=12),
        "ends": st.lists(st.sampled_from(["completed", "expired", "cancelled"]), max_size=3),
    }
)


def go_on(path: Path, begin: Callable[[], Runs]) -> Runs:
    """Play, and resume as often as somebody cancels a batch."""
    play_on = begin
    while True:
        try:
            return play_on()
        except LLMError as error:
            if "cancelled from outside" not in str(error):
                raise
        play_on = lambda: resume(path)  # noqa: E731


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(schedule=SCHEDULES)
def test_whatever_the_server_does_nothing_is_paid_twice(
    schedule: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, expected: pd.DataFrame
) -> None:
    path = tmp_path_factory.mktemp("any") / "r"
    lines, calls, ends = schedule["lines"], schedule["calls"], schedule["ends"]
    asked = {"calls": 0}

    def call(_operation: str, _number: int) -> str | None:
        asked["calls"] += 1
        return calls[asked["calls"]] if asked["calls"] < len(calls) else None

    plan = BatchPlan(
        polls=schedule["polls"],
        shuffle=schedule["shuffle"],
        lines=lambda n, line, _body: lines[line % len(lines)] if n < 2 else None,
        calls=call,
        ends=lambda n: ends[n] if n < len(ends) else "completed",
    )
    with LLMServer(batches=plan) as server:
        done = go_on(path, lambda: play(path, server))
        assert bill(server) == 1
        assert server.batches.bill.total() == RUNS * PLAYERS * 2
    pd.testing.assert_frame_equal(data(done), expected.drop(columns="retries"))
    assert left(path) == 0
