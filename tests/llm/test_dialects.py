"""A parameter that a model refuses is mended as its server says, once, and recorded as sent."""

import asyncio
import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import KeynesianBeautyContest, resume
from sabm_mesa.core import engine
from sabm_mesa.errors import BadRequest
from sabm_mesa.llm import close_all
from sabm_mesa.llm.client import Client
from sabm_mesa.llm.quirks import Quirks
from sabm_mesa.runs.sweep import sweep
from tests.llm.support import Chain, ask, complete, first_question, outcomes, rows
from tests.llm_server import LLMServer, Reply
from tests.llm_server.dialects import DIALECTS, FILTERED

SCHEMA = {"type": "object", "properties": {"answer": {"type": "integer"}}}
ALL = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 50, "seed": 1, "schema": SCHEMA}
SENT: dict[str, dict[str, Any]] = {
    "gpt5": {"max_completion_tokens": 50, "seed": 1, "response_format": "json_schema"},
    "o3_mini": {"max_completion_tokens": 50, "seed": 1, "response_format": "json_schema"},
    "openrouter": {"max_tokens": 50, "seed": 1, "response_format": "json_schema"},
    "gateway": {"seed": 1, "response_format": "json_schema"},
    "claude": {"temperature": 0.7, "max_tokens": 50, "seed": 1, "response_format": "json_schema"},
    "opus": {"max_tokens": 50, "seed": 1, "response_format": "json_schema"},
    "gemini": {"temperature": 0.7, "max_tokens": 50, "response_format": "json_schema"},
    "mistral": {
        "temperature": 0.7, "top_p": 0.9, "max_tokens": 50, "response_format": "json_schema",
    },
    "mistral_proxy": {
        "temperature": 0.7, "max_tokens": 50, "seed": 1, "response_format": "json_schema",
    },
    "deepseek": {
        "temperature": 0.7, "top_p": 0.9, "max_tokens": 50, "seed": 1,
        "response_format": "json_object",
    },
    "llama_cpp_python": {
        "temperature": 0.7, "top_p": 0.9, "max_tokens": 50, "seed": 1,
        "response_format": "json_object with a schema",
    },
    "no_json": {"temperature": 0.7, "top_p": 0.9, "max_tokens": 50, "seed": 1},
    "grok": {"temperature": 0.7, "max_tokens": 50, "response_format": "json_schema"},
}  # fmt: skip
SENT["claude_at_litellm"] = SENT["claude"]
TAKEN = {"azure_2024"}
"""A dialect that takes all of `ALL`, and knows only the older name of the limit."""


@pytest.fixture(autouse=True)
def hardly_any_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "_wait", lambda *_: 0.001)


def test_words_on_the_form_of_an_answer_blame_no_other_parameter() -> None:
    refusal = {"error": {"message": "This model does not support that response format."}}
    plain = {"temperature": 0.5, "max_tokens": 9}

    assert Quirks("here", "m").learn(plain, 400, refusal) == ""
    told = Quirks("here", "m").learn({**plain, "response_format": SCHEMA}, 400, refusal)
    assert told == "response_format"


@pytest.mark.parametrize("name", SENT)
def test_what_is_refused_is_mended_once(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with LLMServer(dialect=DIALECTS[name]) as server, Chain(server.url) as client:
        with caplog.at_level(logging.WARNING):
            first, *others = complete(client, ask(**ALL))
            refused = server.stats["refused"]
            others = complete(client, *(ask(f"Hello {i}", **ALL) for i in range(5)))
        assert server.stats["refused"] == refused <= 5
    told = json.loads(first.parameters)
    assert told["sent"] == SENT[name]
    assert told["asked"]["temperature"] == 0.7
    assert {done.parameters for done in others} == {first.parameters}
    assert len(caplog.records) == refused
    assert all("'stub'" in record.message for record in caplog.records)


def test_a_request_that_waits_for_the_first_answer_is_not_sent_after_a_stop() -> None:
    varied = ask(temperature=0.5, needed=frozenset({"temperature"}))
    with LLMServer() as server, Chain(server.url) as client:
        server.hold()

        async def stopped() -> list[Any]:
            tasks = [asyncio.create_task(client.complete(varied)) for _ in range(10)]
            await asyncio.to_thread(server.wait_until, lambda s: s.stats["in_flight"] == 1)
            for task in tasks:
                task.cancel()
            server.release()
            return await asyncio.gather(*tasks, return_exceptions=True)

        ends = engine.run(stopped())
        assert server.stats["requests"] == 1  # it was paid for, so its answer is awaited
        assert [getattr(end, "stopped", None) for end in ends] == [True] + [None] * 9

        server.hold()
        begun = threading.Thread(target=complete, args=(client, *[varied] * 9))
        begun.start()
        server.wait_until(lambda s: s.stats["in_flight"] == 9)  # all at once after the first
        server.release()
        begun.join()


@pytest.mark.slow
def test_400_requests_that_meet_it_at_once_all_go_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with LLMServer(dialect=DIALECTS["gpt5"]) as server, Chain(server.url) as client:
        found = complete(client, *(ask(f"Hello {i}", **ALL) for i in range(400)))
    assert {json.loads(done.parameters)["sent"]["max_completion_tokens"] for done in found} == {50}
    assert len(caplog.records) == 3


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 100000. This model supports at most 4096 completion tokens.",
        "This model's maximum context length is 4096 tokens (max_tokens included).",
        "temperature must be between 0 and 2.",
        "Something else is wrong.",
    ],
)
def test_a_value_that_is_wrong_is_no_dialect(message: str) -> None:
    def refuses(_body: Any) -> Any:
        return 400, {"error": {"message": message, "param": None}}

    with LLMServer(dialect=refuses) as server, Chain(server.url) as client:
        (error,) = outcomes(client, [ask(**ALL)])
        assert server.stats["refused"] == 1
    assert isinstance(error, BadRequest)
    assert message[:40] in str(error)


@pytest.mark.parametrize("fault", ["429", "length"])
def test_a_dialect_crossed_with_a_fault(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    faults = dict.fromkeys(range(0, 60, 4), fault)
    with LLMServer(brain=first_question, dialect=DIALECTS["gpt5"], faults=faults) as server:
        model = KeynesianBeautyContest(
            n_players=3, n_rounds=2, rng=1, recording=path, minds=f"llm:stub@{server.url}",
            temperature=0.7, top_p=0.9, max_tokens=50,
        )  # fmt: skip
        model.run_model()
        model.close()
    assert (model.total.asks, model.total.invalid) == (9, 0)
    joined = "SELECT DISTINCT text FROM asks JOIN texts ON texts.hash = provenance"
    told = [json.loads(text) for (text,) in rows(path, joined)]
    assert all({"asked", "sent"} <= {*each} for each in told)
    # A question that meets two faults has a schema at its last attempt.
    (_,) = {tuple(sorted({*each["sent"]} - {"response_format"})) for each in told}
    assert rows(path, "SELECT count(*) FROM answers WHERE provenance IS NULL") == [(0,)]


def test_a_resume_meets_no_dialect_again(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer(brain=first_question, dialect=DIALECTS["gpt5"]) as server:
        model = KeynesianBeautyContest(
            n_players=3, n_rounds=2, rng=1, recording=path, minds=f"llm:stub@{server.url}",
            temperature=0.7, top_p=0.5, max_tokens=50,
        )  # fmt: skip
        model.step()
        model.close()
        close_all()
        refused = server.stats["refused"]
        done = resume(path)
        assert server.stats["refused"] == refused > 0
        summary = done.summary()["mended_requests"]
    assert summary == {
        f"llm:stub@{server.url}": {
            "asked": {"max_tokens": 50, "temperature": 0.7, "top_p": 0.5},
            "sent": {"max_completion_tokens": 50},
        }
    }


def test_a_sweep_of_what_is_not_taken_fails_after_one_request(tmp_path: Path) -> None:
    with LLMServer(dialect=DIALECTS["opus"]) as server:
        with pytest.raises(BadRequest, match="does not take temperature, which this study depends"):
            sweep(
                "kbc", {"temperature": [0.2, 0.9]}, folder=tmp_path, runs=2,
                parameters={"n_players": 4, "n_rounds": 1, "minds": f"llm:stub@{server.url}"},
            )  # fmt: skip
        assert server.stats["requests"] == 1


# Filters: a prompt that is refused is a refused answer.


@pytest.mark.parametrize("name", FILTERED)
def test_a_prompt_that_a_filter_refuses_is_data(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    strict = [True]

    def refuses(body: dict[str, Any]) -> Any:
        return FILTERED[name] if strict[0] and "choose your number" in str(body) else None

    with LLMServer(brain=first_question, refuses=refuses) as server:
        minds = f"llm:stub@{server.url}"
        model = KeynesianBeautyContest(n_players=3, n_rounds=2, rng=1, recording=path, minds=minds)
        model.step()
        model.close()
        assert (model.total.invalid, model.total.refused) == (3, 9)
        assert server.stats["requests"] == 9
        strict[0] = False
        resume(path)
        assert server.stats["requests"] == 9 + 6
    refused = (
        "SELECT DISTINCT round, reason, valid FROM asks WHERE finish_reason = 'content_filter'"
    )
    assert rows(path, refused) == [(0, "It was declined.", 0)]


@pytest.mark.parametrize("reason", ["content_filter", "refusal", "SAFETY"])
def test_an_answer_that_ends_by_a_filter_is_a_refusal(reason: str) -> None:
    with (
        LLMServer(brain=lambda *_: Reply(None, finish_reason=reason)) as server,
        Chain(server.url) as client,
    ):
        (done,) = complete(client, ask())
    assert (done.answer, done.finish_reason) == ("", "content_filter")
