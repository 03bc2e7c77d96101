"""Models that think: their thoughts have room of their own, and a run of the paper works."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import BertrandCompetition, KeynesianBeautyContest, Recorded, replay, resume
from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import BadRequest, BudgetExceeded, ParameterError
from sabm_mesa.llm import Budget, Connection, ScriptedClient, close_all, connect
from sabm_mesa.llm.quirks import THOUGHTS, UNSURE, recorded
from tests.llm.support import ask, complete, completion, contest, outcomes, rows
from tests.llm_server import LLMServer
from tests.llm_server.dialects import openai_error
from tests.llm_server.thinkers import MARK, THINKERS, TOKENS
from tests.llm_server.writer import writer


def thinking(name: str, tokens: int = TOKENS, **settings: Any) -> LLMServer:
    thinker = THINKERS[name]
    return LLMServer(brain=thinker.brain(writer, tokens), **{**thinker.settings, **settings})


@pytest.mark.parametrize("name", THINKERS)
def test_a_run_with_the_limit_of_the_paper_works(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "run.sqlite"
    with thinking(name) as server, caplog.at_level(logging.WARNING):
        model = contest(server, recording=path, n_players=3, n_rounds=2)
        model.run_model()
        model.close()
        sent = [seen.body["max_tokens"] for seen in server.requests]
        texts = "".join(str(seen.body["messages"]) for seen in server.requests)
    assert (model.total.asks, model.total.reasks, model.total.retries) == (9, 0, 3)
    assert model.total.invalid == 0
    assert sent[0] == 256
    assert set(sent[6:]) == {256 + THOUGHTS}
    assert MARK not in texts + "".join(message.text for message in model.said)
    assert [record.message.count("allowed 16384 tokens") for record in caplog.records] == [1]


def test_no_thought_is_said_though_its_first_answers_are_cut_off_inside() -> None:
    with thinking("qwen3_5") as server:
        model = BertrandCompetition(
            n_rounds=3, communication=True, rng=1, recording=False, minds=f"llm:stub@{server.url}",
        )  # fmt: skip
        model.run_model()
    assert model.total.invalid == 0
    assert MARK not in "".join(message.text for message in model.said)


def test_both_answers_are_paid_for_and_the_one_that_counts_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with thinking("deepseek", more={"system_fingerprint": "fp_1"}) as server:
        model = contest(server, recording=path, n_players=2, n_rounds=1)
        model.run_model()
        model.close()
        n = len(server.requests)
    asks = Recorded(path).asks()
    assert (len(asks), n, asks["retries"].sum()) == (2, 4, 2)
    assert asks["thought_tokens"].sum() == 2 * (256 + TOKENS)
    assert asks["completion_tokens"].sum() > asks["thought_tokens"].sum()
    assert rows(path, "SELECT count(*) FROM asks WHERE raw IS NULL") == [(0,)]
    (told,) = {json.dumps(json.loads(text), sort_keys=True) for text in asks["provenance"]}
    assert json.loads(told) == {
        "model": "stub", "provider": server.url, "system_fingerprint": "fp_1",
        "asked": {"max_tokens": 256, "temperature": 0.7, "top_p": 1.0},
        "sent": {"max_tokens": 256 + THOUGHTS, "temperature": 0.7, "top_p": 1.0},
    }  # fmt: skip
    assert (replay(path).models[0].agent_frame()["choice"] == model.agent_frame()["choice"]).all()


def test_a_resume_knows_that_the_model_thinks(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with thinking("openai") as server:
        model = contest(server, recording=path, n_players=2, n_rounds=2)
        model.step()
        model.close()
        close_all()
        n = len(server.requests)
        resume(path)
        assert {seen.body["max_tokens"] for seen in server.requests[n:]} == {256 + THOUGHTS}


def test_an_allowance_that_is_set_is_sent_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with thinking("vllm") as server:
        model = contest(
            server, recording=path, n_players=2, n_rounds=1, max_thought_tokens=3000,
            reasoning_effort="low", extra_body={"chat_template_kwargs": {"enable_thinking": True}},
        )  # fmt: skip
        model.run_model()
        model.close()
        first, *others = (seen.body for seen in server.requests)
    assert len(others) == 1
    assert (first["max_tokens"], first["reasoning_effort"]) == (3256, "low")
    assert first["chat_template_kwargs"] == {"enable_thinking": True}
    told = json.loads(Recorded(path).asks()["provenance"][0])
    assert told["asked"]["max_thought_tokens"] == 3000
    assert told["sent"]["max_tokens"] == 3256
    assert told["sent"]["chat_template_kwargs"] == {"enable_thinking": True}


def test_an_answer_that_thoughts_leave_no_room_for_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with thinking("deepseek") as server:
        model = contest(
            server, recording=path, n_players=2, n_rounds=1, max_attempts=1, max_thought_tokens=100
        )
        model.run_model()
        model.close()
    assert model.total.invalid == 2
    assert Recorded(path).asks()["reason"].unique().tolist() == [
        (
            "The limit of 356 tokens was used up by thoughts before there was an answer: "
            "think in fewer words."
        )
    ]


def test_the_room_is_halved_until_the_server_takes_it() -> None:
    def context(body: Any) -> Any:  # github.com/vllm-project/vllm/issues/42474
        if body["max_tokens"] < 5000:
            return None
        return 400, {
            "object": "error", "type": "BadRequestError", "code": 400,
            "message": "This model's maximum context length is 5000 tokens. However, you "
            f"requested {body['max_tokens']} output tokens and your prompt contains at least 40.",
        }  # fmt: skip

    with thinking("vllm", dialect=context) as server:
        client = connect(server.url, model="stub")
        done, again = (complete(client, ask(max_tokens=100))[0] for _ in range(2))
        assert [seen.body["max_tokens"] for seen in server.requests] == [
            100, 16484, 8292, 4196, 16484, 8292, 4196,
        ]  # fmt: skip
    assert (done.finish_reason, again.finish_reason, again.retries) == ("stop", "stop", 0)


def known_to_think(client: ScriptedClient) -> ScriptedClient:
    given = recorded({"max_tokens": 100}, {"max_tokens": 100 + THOUGHTS})
    client.quirks("stub").adopt([given])
    return client


def test_a_prompt_that_fills_the_context_leaves_the_room_of_others() -> None:
    error = BadRequest("context length exceeded")
    client = ScriptedClient([*[error] * 8, completion("42")])
    known_to_think(client)
    (found,) = outcomes(client, [ask(max_tokens=100)])
    assert isinstance(found, BadRequest)
    complete(client, ask(max_tokens=100))
    assert [request.room for request in client.requests] == [
        16384, 8192, 4096, 2048, 1024, 512, 256, 0, 16384,
    ]  # fmt: skip


def test_an_answer_that_is_cut_off_where_the_context_ends_is_not_asked_for_again() -> None:
    error = BadRequest("context length exceeded")
    client = ScriptedClient([error, completion("", finish_reason="length"), error])
    (done,) = complete(known_to_think(client), ask(max_tokens=100))
    assert (done.finish_reason, done.retries) == ("length", 0)
    assert [request.room for request in client.requests] == [16384, 8192, 16384]


def test_the_most_that_a_server_takes_is_learned_once() -> None:
    thoughtful = completion("", finish_reason="length", thoughts="Well,")
    refused = BadRequest("max_tokens is too large: this model supports at most 5000")
    done = completion("42", thoughts="Well, 42.")
    client = ScriptedClient([thoughtful, refused, refused, done, done])
    for _ in range(2):
        complete(client, ask(max_tokens=100))
    assert [request.room for request in client.requests] == [0, 16384, 8192, 4096, 4096]


def test_a_server_that_takes_no_larger_limit_is_sent_no_request_twice() -> None:
    cut_off = completion("A long sto", finish_reason="length", completion_tokens=4)
    refused = BadRequest("max_tokens must be at most 200")
    client = ScriptedClient([cut_off, *[refused] * 5, cut_off])
    first, second = (complete(client, ask(max_tokens=100))[0] for _ in range(2))
    assert (first.answer, first.completion_tokens) == ("A long sto", 4)
    assert second.answer == "A long sto"
    assert [request.room for request in client.requests] == [0, 4096, 2048, 1024, 512, 256, 0]


def test_a_model_that_is_cut_off_and_does_not_think_keeps_its_answer() -> None:
    client = ScriptedClient(
        [
            completion("A long sto", finish_reason="length", completion_tokens=4, cost_usd=1.0),
            completion("A long story.", completion_tokens=6, cost_usd=2.0),
            completion("Another lo", finish_reason="length", cost_usd=1.0),
        ]
    )
    first, second = (complete(client, ask(max_tokens=4))[0] for _ in range(2))
    assert (first.answer, first.cost_usd, first.retries) == ("A long sto", 3.0, 1)
    assert (second.answer, second.retries) == ("Another lo", 0)
    assert [request.room for request in client.requests] == [0, UNSURE, 0]


@pytest.mark.parametrize(
    "limits",
    [{"max_tokens": 100}, {"max_tokens": 100, "max_thought_tokens": 2000}, {}],
    ids=["a limit of answers", "two limits", "no limit"],
)
def test_a_thought_that_is_cut_off_is_none_of_an_answer_whatever_limits_are_set(
    limits: dict[str, int],
) -> None:
    secret = completion("The secret price I plan is", finish_reason="length")
    client = ScriptedClient([completion("let me think</think>yes"), secret, secret])
    _, cut_off = (complete(client, ask(**limits))[0] for _ in range(2))
    assert (cut_off.answer, cut_off.thoughts) == ("", secret.answer)


def test_a_resume_knows_that_thoughts_have_no_first_mark(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    thinker = THINKERS["qwen3_5"]
    tokens = [TOKENS]

    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> Any:
        return thinker.brain(writer, tokens[-1])(messages, body)

    with LLMServer(brain=brain) as server:
        model = BertrandCompetition(
            n_rounds=3, communication=True, rng=1, recording=path, max_tokens=100,
            max_thought_tokens=TOKENS, minds=f"llm:stub@{server.url}",
        )  # fmt: skip
        model.step()  # the initial prices
        model.step()
        model.close()
        close_all()
        tokens.append(10**5)
        resumed = resume(path).models[0]
    assert resumed.total.invalid > 0
    assert MARK not in "".join(message.text for message in resumed.said)


@pytest.mark.parametrize(
    ("done", "text"),
    [
        (completion("A long sto", finish_reason="length", thoughts="Well."), "A long sto"),
        (completion("<think>a</think>A long sto", finish_reason="length"), None),
        (completion("<think>Well", finish_reason="length"), None),
        (completion("Well", finish_reason="length"), ""),
    ],
    ids=["beside", "both marks", "first mark", "no mark"],
)
def test_after_a_resume_an_answer_with_its_thoughts_apart_is_one(
    done: Reply, text: str | None
) -> None:
    client = ScriptedClient([done])
    client.quirks("stub").adopt((), thought=True)
    (found,) = complete(client, ask())
    assert found.answer == (done.answer if text is None else text)


def test_what_came_is_kept_when_a_cap_leaves_no_room_for_more() -> None:
    budget = Budget(max_total_tokens=600)
    with thinking("openai") as server:
        client = connect(server.url, Connection(budget=budget), "stub")
        (done,) = complete(client, ask(max_tokens=300))
        (error,) = outcomes(client, [ask(max_tokens=300)])
    assert (done.answer, done.finish_reason) == ("", "length")
    assert isinstance(error, BudgetExceeded)
    assert budget.spent.completion_tokens == 300


def test_an_effort_that_the_model_does_not_take_is_left_out() -> None:
    def refuses(body: Any) -> Any:  # github.com/formulahendry/wechat-acp/issues/16
        said = "Unrecognized request argument supplied: reasoning_effort"
        return (400, openai_error(said, None, None)) if "reasoning_effort" in body else None

    with LLMServer(dialect=refuses) as server:
        (done,) = complete(connect(server.url, model="stub"), ask(reasoning_effort="low"))
    assert json.loads(done.parameters) == {"asked": {"reasoning_effort": "low"}, "sent": {}}


# The effort, and further fields.


@pytest.mark.parametrize(
    "said",
    [
        # github.com/Kilo-Org/cloud/pull/3807
        (
            "Unsupported value: 'reasoning_effort' does not support 'ultra' with this model. "
            "Supported values are: 'minimal', 'low', 'medium', and 'high'."
        ),
        # github.com/router-for-me/CLIProxyAPI/issues/1307
        (
            "Validation error for `reasoning_effort`: expected one of `'low' | 'medium' | 'high'`, "
            "received `'ultra'`."
        ),
        # github.com/crewAIInc/crewAI/pull/7187
        "reasoning_effort: Input should be 'low', 'medium', or 'high'",
    ],
)
def test_an_effort_that_the_server_does_not_know_is_one_line(said: str) -> None:
    def refuses(body: Any) -> Any:
        param = "reasoning_effort"
        return (400, openai_error(said, param, None)) if param in body else None

    with LLMServer(dialect=refuses) as server:
        (error,) = outcomes(connect(server.url, model="stub"), [ask(reasoning_effort="ultra")])
        assert server.stats["refused"] == 1
    assert isinstance(error, BadRequest)
    assert said[:60] in str(error)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"reasoning_effort": 3}, "reasoning_effort is a word that the server knows"),
        ({"max_thought_tokens": 0}, "max_thought_tokens must be a whole number of 1 or more"),
        ({"extra_body": "x"}, "extra_body is a table of fields, not 'x'"),
        ({"extra_body": {"max_tokens": 3}}, "extra_body cannot have 'max_tokens', which the run"),
        ({"extra_body": {"reasoning_effort": "low"}}, "extra_body cannot have 'reasoning_effort'"),
    ],
)
def test_a_setting_that_cannot_be_sent_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says) as raised:
        KeynesianBeautyContest(n_players=2, **given)
    assert raised.value.parameter == next(iter(given))
