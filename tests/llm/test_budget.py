"""Budgets: no cap is passed, whoever spends, and what is set aside comes back."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Budget, Connection
from sabm_mesa.core import answers
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import BudgetExceeded, ParameterError, RunError, ServerUnavailable
from sabm_mesa.llm import ScriptedClient, connect
from sabm_mesa.llm.budget import ANSWER_TOKENS, check_price
from sabm_mesa.llm.client import Client, Sender
from sabm_mesa.llm.prices import PriceTable
from tests.llm.support import ask, complete, completion, contest, on_virtual_time, outcomes, rows
from tests.llm_server import LLMServer, Reply

DONE = completion("42", "gpt-4o", prompt_tokens=10, completion_tokens=2, cost_usd=0.5)


def budgeted(budget: Budget, *script: Any) -> ScriptedClient:
    return ScriptedClient(script, budget=budget, prices=PriceTable())


def test_what_is_reported_is_spent() -> None:
    budget = Budget()
    complete(budgeted(budget, DONE, DONE), ask(), ask())
    assert (budget.spent.asks, budget.spent.tokens, budget.spent.cost_usd) == (2, 24, 1.0)
    assert budget.reserved == Usage()


def test_what_is_not_reported_is_taken_to_be_the_most() -> None:
    budget = Budget(max_total_tokens=10**6)
    complete(budgeted(budget, "42"), ask("x" * 100, model="gpt-4o", max_tokens=50))
    assert budget.spent.tokens == 50 + 50 + 8
    assert budget.spent.cost_usd == pytest.approx((58 * 2.5 + 50 * 10) / 10**6)
    complete(budgeted(budget, "42"), ask("x" * 100))
    assert budget.spent.tokens == 108 + 58 + ANSWER_TOKENS


def test_thoughts_are_set_aside_for_where_answers_have_no_limit() -> None:
    budget = Budget(max_total_tokens=10**6)
    complete(budgeted(budget, "42"), ask("x" * 100, max_thought_tokens=2000))
    assert budget.spent.tokens == 58 + ANSWER_TOKENS + 2000


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            completion("42", "gpt-4o", prompt_tokens=500, completion_tokens=2, cost_usd=0.0),
            "took 500 tokens of the prompt for an answer of 'gpt-4o' where at most 58",
        ),
        (DONE, "took $0.5 for an answer of 'gpt-4o' where at most $0.000345"),
    ],
)
def test_a_warning_names_what_was_more_than_expected(
    answer: Reply, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = budgeted(Budget(max_usd=10), answer)
    complete(client, ask("x" * 100, model="gpt-4o", max_tokens=20))
    assert says in caplog.text


def test_a_request_that_was_refused_costs_nothing() -> None:
    budget = Budget(max_asks=1)
    client = budgeted(budget, ServerUnavailable("no"), DONE)
    error, done = outcomes(client, [ask()])[0], outcomes(client, [ask()])[0]
    assert isinstance(error, ServerUnavailable)
    assert done.answer == DONE.answer
    assert budget.spent.asks == 1
    assert budget.reserved == Usage()


def test_a_request_that_is_stopped_under_way_counts_as_the_most() -> None:
    class Never(Sender):
        async def send(self, request: Any) -> answers.Reply:
            await asyncio.sleep(10**6)
            return completion(request.model)

    async def work() -> Budget:
        budget = Budget(max_asks=1)
        task = asyncio.create_task(Client(Never(), budget=budget).complete(ask()))
        await asyncio.sleep(1)
        assert budget.reserved.asks == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return budget

    budget = on_virtual_time(work())
    assert budget.reserved == Usage()
    assert (budget.spent.asks, budget.spent.tokens) == (1, 11 + ANSWER_TOKENS)


@pytest.mark.parametrize(
    "text", ["plain words, 3 numbers", "漢字かな交じり文", "🙂🙃", "ÄÖÜ", "\ud800"]
)
def test_the_prompt_is_counted_cautiously(text: str) -> None:
    budget = Budget(max_total_tokens=10**6)
    complete(budgeted(budget, "42"), ask(text, max_tokens=1))
    assert budget.spent.tokens >= 1 + len(text) / 2
    assert budget.spent.tokens >= 1 + sum(2.5 for c in text if ord(c) > 0x7FF and c < "\ud800")


@pytest.mark.parametrize(
    ("cap", "says"),
    [
        (
            {"max_asks": 0},
            "The budget of 0 asks is used up: 0 spent, and the next ask could cost 1.",
        ),
        ({"max_total_tokens": 20}, "The budget of 20 tokens is used up"),
        ({"max_usd": 1e-6}, "The budget of 1e-06 dollars is used up"),
    ],
)
def test_a_cap_that_could_be_passed_stops_the_ask(cap: dict[str, Any], says: str) -> None:
    client = budgeted(Budget(**cap), DONE)
    with pytest.raises(BudgetExceeded) as caught:
        complete(client, ask(model="gpt-4o", max_tokens=20))
    assert str(caught.value).startswith(says)
    assert str(caught.value).endswith("use a larger budget.")


def test_a_cap_in_dollars_needs_a_price() -> None:
    with pytest.raises(ParameterError, match="The price of 'stub' is not known"):
        check_price("stub", Budget(max_usd=100), PriceTable())
    check_price("stub", Budget(max_asks=100), PriceTable())
    check_price("gpt-4o", Budget(max_usd=100), PriceTable())


def test_an_ask_waits_for_those_under_way_rather_than_stop_a_run_that_fits() -> None:
    """Each ask may cost 30 tokens and costs 11: five of them fit under 60, two at a time."""
    budget = Budget(max_total_tokens=60)
    most = 0

    def answer(_request: Any) -> answers.Reply:
        nonlocal most
        most = max(most, budget.spent.tokens + budget.reserved.tokens)
        return completion("ok", model="gpt-4o", prompt_tokens=6, completion_tokens=5)

    client = ScriptedClient(answer, budget=budget)
    done = complete(client, *(ask(str(i), model="gpt-4o", max_tokens=20) for i in range(3)))
    assert [each.answer for each in done] == ["ok"] * 3
    assert (budget.spent.asks, budget.spent.tokens) == (3, 33)
    assert budget.reserved.tokens == 0
    assert most <= 60
    with pytest.raises(BudgetExceeded, match="The budget of 60 tokens is used up: 33 spent"):
        complete(client, ask("x" * 100, model="gpt-4o", max_tokens=20))


@pytest.mark.parametrize("name", ["max_usd", "max_asks", "max_total_tokens"])
@pytest.mark.parametrize("cap", [-1, float("nan")])
def test_an_illegal_cap_is_refused(name: str, cap: float) -> None:
    with pytest.raises(ParameterError, match=name):
        Budget(**{name: cap})


def test_many_at_once_never_pass_a_cap(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[models]\nstub = { input = 1000, output = 10000 }\n")
    with LLMServer(brain=lambda _m, _b: Reply("42", completion_tokens=20)) as server:
        for cap in ({"max_asks": 17}, {"max_total_tokens": 700}, {"max_usd": 6.0}):
            budget = Budget(**cap)
            client = connect(server.url, Connection(budget=budget, prices=prices))
            before = server.stats
            ends = outcomes(client, [ask(max_tokens=20)] * 60)
            # In order, so that what was set aside for those at once does not count any more.
            ends += [outcomes(client, [ask(max_tokens=20)])[0] for _ in range(40)]
            done = [end for end in ends if isinstance(end, answers.Reply)]
            after = server.stats
            assert all(isinstance(end, answers.Reply | BudgetExceeded) for end in ends)
            assert budget.spent.asks == len(done) == after["requests"] - before["requests"]
            tokens = ("prompt_tokens", "completion_tokens")
            assert budget.spent.tokens == sum(after[each] - before[each] for each in tokens)
            assert budget.spent.cost_usd == pytest.approx(sum(each.cost_usd for each in done))
            spent = {
                "max_asks": (budget.spent.asks, 1),
                "max_total_tokens": (budget.spent.tokens, 32),
                "max_usd": (budget.spent.cost_usd, 0.212),
            }
            for name, limit in cap.items():
                used, most = spent[name]
                assert limit - 2 * most < used <= limit
            assert budget.reserved.asks == budget.reserved.tokens == 0
            assert budget.reserved.cost_usd == pytest.approx(0)


def test_runs_in_threads_share_a_budget(tmp_path: Path) -> None:
    with LLMServer() as server:
        budget = Budget(max_asks=25)
        how = Connection(budget=budget)
        models = [
            contest(server, connection=how, rng=i, recording=tmp_path / f"{i}.sqlite")
            for i in range(3)
        ]
        problems: list[RunError] = []

        def run(model: Any) -> None:
            try:
                model.run_model()
            except RunError as error:
                problems.append(error)

        threads = [threading.Thread(target=run, args=(model,)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {type(problem) for problem in problems} == {BudgetExceeded}
        assert server.stats["requests"] == budget.spent.asks == 25
        answers = [rows(tmp_path / f"{i}.sqlite", "SELECT count(*) FROM asks") for i in range(3)]
        assert sum(count for ((count,),) in answers) == 25


def flood(tokens: int) -> LLMServer:
    """A server that cares for no limit of tokens."""
    return LLMServer(brain=lambda _m, _b: Reply("many words", completion_tokens=tokens))


def test_a_server_that_ignores_the_limit_of_tokens_passes_no_cap(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each answer costs $5.12 where 64 cents were to be expected, and the cap is $20."""
    prices = tmp_path / "prices.toml"
    prices.write_text("[models]\nstub = { input = 0, output = 10000 }\n")
    budget = Budget(max_usd=20)
    with flood(512) as server:
        client = connect(server.url, Connection(budget=budget, prices=prices))
        ends = outcomes(client, [ask(max_tokens=64)] * 40)
        done = [end for end in ends if isinstance(end, answers.Reply)]
        assert server.stats["requests"] == len(done) == 3
    assert budget.spent.cost_usd == pytest.approx(15.36)
    (error,) = {str(end) for end in ends if not isinstance(end, answers.Reply)}
    assert error.startswith(
        "The budget of 20 dollars is used up: 15.36 spent, and the next ask could cost 5.12. "
    )
    (said,) = caplog.messages
    assert said.startswith(f"{server.url} took 512 tokens for an answer of 'stub' where at most 64")


def test_what_was_under_way_before_a_server_was_caught_is_in_the_sum() -> None:
    def brain(_messages: Any, body: dict[str, Any]) -> Reply:
        return Reply("1", completion_tokens=4 if body["max_tokens"] == 5 else 400)

    budget = Budget(max_total_tokens=1000)
    with LLMServer(brain=brain) as server:
        client = connect(server.url, Connection(budget=budget, max_concurrency=6))
        complete(client, ask(max_tokens=5))
        server.hold()
        ends: list[Any] = []
        asks = [ask(max_tokens=40)] * 20
        thread = threading.Thread(target=lambda: ends.extend(outcomes(client, asks)))
        thread.start()
        server.wait_until(lambda s: s.in_flight == 6)
        server.release()
        thread.join()
        assert server.stats["requests"] == 7
    assert budget.spent.tokens == 7 + 6 * 403
    (error,) = {str(end) for end in ends if not isinstance(end, answers.Reply)}
    assert "The budget of 1000 tokens is used up: 2425 spent, and the next ask could" in error
    assert budget.reserved == Usage()


def test_requests_that_may_be_billed_count_for_the_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "_wait", lambda *_: 0.001)
    budget = Budget(max_total_tokens=1000)
    with LLMServer(brain=lambda _m, _b: "1", faults=lambda _n, _b: "bad-json") as server:
        how = Connection(budget=budget, max_retries=40)
        (error,) = outcomes(connect(server.url, how), [ask("x" * 26, max_tokens=129)])
        assert server.stats["requests"] == 6
    assert isinstance(error, BudgetExceeded)
    # Six requests at 150 tokens.
    assert "is used up: 900 spent, and the next ask could cost 150." in str(error)


def test_a_text_without_usage_that_is_too_long_counts_by_its_length() -> None:
    budget = Budget(max_total_tokens=10**6)
    complete(budgeted(budget, "x" * 10_000), ask(max_tokens=100))
    assert budget.spent.tokens == 11 + 5008
