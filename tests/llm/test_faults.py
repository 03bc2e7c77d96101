"""The whole list of what a server can do wrong: the outcome, and how many requests it saw."""

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sabm_mesa.core import engine
from sabm_mesa.errors import AccessDenied, BadRequest, LLMError, RateLimited, ServerUnavailable
from sabm_mesa.llm.client import Client, Sender
from sabm_mesa.llm.limit import START, Limiter
from sabm_mesa.llm.server import Server
from sabm_mesa.llm.translation import KEY_VARIABLE
from tests.llm.support import Chain, ask, complete, outcomes
from tests.llm_server import Fault, LLMServer, Reply

KEY = "sk-" + "proj-A1b2C3d4E5f6G7h8I9"
Outcome = Any


def answered(fault: Fault | str, times: int = 1, **options: Any) -> tuple[Outcome, int]:
    """The outcome of one ask when the first requests meet a fault, and the number of requests."""
    faults = [fault] * times
    with LLMServer(brain=lambda _m, _b: "42", faults=faults) as server:
        with Chain(server.url, **options) as client:
            (outcome,) = outcomes(client, [ask()])
        return outcome, server.stats["requests"]


MENDED_BY_A_RETRY = [
    "408", "409", "429", Fault("429", retry_after=0.01), Fault("429", retry_after_ms=10),
    Fault("429", retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    Fault("429", retry_after="soon"), "500", "502", "503", Fault("503", retry_after=0.01),
    "reset", "drop", "bad-json", "error-200", "error-choice", "bad-utf8", "bad-gzip",
]  # fmt: skip


@pytest.mark.parametrize("fault", MENDED_BY_A_RETRY, ids=str)
def test_a_passing_fault_is_mended_by_retries(fault: Fault | str) -> None:
    done, requests = answered(fault, times=2)
    assert (done.answer, done.retries, requests) == ("42", 2, 3)


@pytest.mark.parametrize("fault", MENDED_BY_A_RETRY, ids=str)
def test_a_lasting_fault_is_an_error_after_the_last_retry(fault: Fault | str) -> None:
    error, requests = answered(fault, times=9)
    kind = RateLimited if "429" in str(fault) else ServerUnavailable
    assert type(error) is kind
    assert requests == 3
    assert_one_line(error)


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("400", BadRequest, "The request is invalid.) for model 'stub': change the request"),
        ("context", BadRequest, "maximum context length is 4096 tokens"),
        ("401", AccessDenied, "no key was sent. Set OPENAI_API_KEY"),
        ("403", AccessDenied, "Access is not allowed.): no key was sent"),
        ("404", BadRequest, "is the model name 'stub' right, and the address?"),
        ("quota", BadRequest, "the budget or credit at the provider is used up"),
        ("html", BadRequest, "sent a page of HTML: is the address that of"),
    ],
)
def test_what_a_retry_cannot_mend_is_sent_once(fault: str, kind: type[LLMError], says: str) -> None:
    error, requests = answered(fault, times=9)
    assert type(error) is kind
    assert requests == 1
    assert says in str(error)
    assert_one_line(error)


@pytest.mark.parametrize(
    ("fault", "text", "reason"),
    [
        ("no-choices", "", ""),
        ("null", "", "stop"),
        ("empty", "", "stop"),
        ("refusal", "", "content_filter"),
        ("content-filter", "", "content_filter"),
        ("length", "4", "length"),
        ("text-plain", "42", "stop"),
        ("no-usage", "42", "stop"),
        (Fault("slow", pace=0.0001), "42", "stop"),
    ],
    ids=str,
)
def test_an_odd_answer_is_an_answer(fault: Fault | str, text: str, reason: str) -> None:
    done, requests = answered(fault)
    assert (done.answer, done.finish_reason, done.retries, requests) == (text, reason, 0, 1)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("fault", ["hang", Fault("slow", pace=0.05)], ids=str)
def test_the_whole_answer_has_to_come_in_time(
    fault: Fault | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, exchange = [], Server.exchange

    async def counted(server: Server, path: str, body: Any) -> Any:
        sent.append(path)
        return await exchange(server, path, body)

    monkeypatch.setattr(Server, "exchange", counted)
    error, requests = answered(fault, times=9, max_retries=1, timeout_s=0.25)
    assert isinstance(error, ServerUnavailable)
    assert "within 0.25 s. Is the server overloaded? Allow more time (--timeout)" in str(error)
    assert error.billed
    # A busy server may not have seen a request before it is given up.
    assert len(sent) == 2 >= requests


@pytest.mark.parametrize(
    ("fault", "billed"),
    [("400", False), ("html", False), ("429", False), ("500", False), ("408", True),
     ("bad-json", True), ("error-200", True), ("error-choice", True), ("reset", True),
     ("drop", True)],
)  # fmt: skip
def test_what_was_sent_and_not_refused_may_be_billed(fault: str, billed: bool) -> None:
    error, _ = answered(fault, times=9)
    assert error.billed is billed


def test_a_connection_that_is_refused() -> None:
    with LLMServer() as server:
        url = server.url
    with Chain(url) as client:
        (error,) = outcomes(client, [ask()])
    assert isinstance(error, ServerUnavailable)
    assert str(error).startswith(f"Cannot reach {url} (")
    assert str(error).endswith("Is the server running, and is the address right?")
    assert "within" not in str(error)
    assert not error.billed


def test_a_server_that_speaks_another_protocol() -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\r\n")
        writer.close()

    error = engine.run(ask_server(greet))
    assert isinstance(error, ServerUnavailable)
    assert str(error).startswith("Cannot reach http")
    assert_one_line(error)


def test_retries_and_answers_of_many_at_once_are_counted_exactly() -> None:
    faults = dict.fromkeys(range(0, 40, 4), "500")
    with LLMServer(brain=lambda m, _b: Reply(m[0]["content"]), faults=faults) as server:
        with Chain(server.url, max_retries=5) as client:
            done = complete(client, *(ask(str(i)) for i in range(40)))
        assert [each.answer for each in done] == [str(i) for i in range(40)]
        assert sum(each.retries for each in done) == server.stats["status_500"] == 10
        assert server.stats["requests"] == 50
        assert server.stats["status_200"] == 40


@pytest.mark.parametrize(
    ("fault", "status"),
    [(Fault("401", echo_key=True), 401), (Fault("401", echo_key=False), 401)],
    ids=["echoed", "masked"],
)
@pytest.mark.parametrize("key", [KEY, "0123456789abcdef", "sk-other"])
def test_the_key_is_in_no_error_and_no_log(
    fault: Fault,
    status: int,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, f" {key}\n")
    caplog.set_level(logging.DEBUG)
    error, _ = answered(fault)
    assert isinstance(error, AccessDenied)
    assert f"answered {status}" in str(error)
    assert key not in repr(error) + caplog.text
    if fault.echo_key:
        assert "[key]" in str(error)


def test_a_message_without_sense_or_end_is_cut_and_cleaned() -> None:
    text = "line one\n\x1b[31mline two\u202e " + "x" * 9999
    with LLMServer(models={}, strict_models=True) as server, Chain(server.url) as client:
        (error,) = outcomes(client, [ask(model=text)])
    assert_one_line(error)


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        ("405 Method Not Allowed", b"<html>", BadRequest, "answered 405 (Method Not Allowed)"),
        ("200 OK", b"[" * 100_000, ServerUnavailable, "other than a chat completion"),
    ],
    ids=["not allowed", "too deep"],
)
def test_an_error_does_not_show_the_query_of_the_address(
    status: str, body: bytes, kind: type[LLMError], says: str
) -> None:
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        writer.close()

    error = engine.run(ask_server(respond, "?secret=yes"))
    assert isinstance(error, kind)
    assert says in str(error)
    assert "secret" not in str(error)
    assert_one_line(error)


async def ask_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], query: str = ""
) -> Any:
    """The outcome of one ask of a server that is no LLMServer."""
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = Server(f"http://127.0.0.1:{port}/v1{query}", 10.0)
        try:
            return await client.send(ask())
        except LLMError as error:
            return error
        finally:
            await client.close()


def test_usage_that_is_not_reported_is_zero_tokens_at_no_known_cost() -> None:
    done, _ = answered("no-usage")
    assert (done.prompt_tokens, done.completion_tokens) == (0, 0)
    assert math.isnan(done.cost_usd)


def assert_one_line(error: Exception) -> None:
    text = str(error)
    assert text.isprintable()
    assert len(text) < 1000
    assert text.endswith((".", "?"))


def test_a_server_that_knows_only_the_older_form_of_a_schema_is_sent_that_one() -> None:
    """As llama-cpp-python does: an error for ``json_schema``, a schema within ``json_object``."""
    answer = {"type": "integer", "minimum": 3, "maximum": 5}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}

    def form(body: dict[str, Any]) -> str:
        return str(body["response_format"]["type"])

    def newer_form_fails(_number: int, body: dict[str, Any]) -> str | None:
        return "schema" if form(body) == "json_schema" else None

    with LLMServer(faults=newer_form_fails) as server:
        with Chain(server.url) as client:
            first = complete(client, *(ask(f"at once {i}", schema=schema) for i in range(3)))
            later = complete(client, ask("later", schema=schema))
        forms = [form(seen.body) for seen in server.requests]

    assert all(json.loads(done.answer)["answer"] in (3, 4, 5) for done in [*first, *later])
    # Each of the four is answered in the older form; how many of the first three tried the newer
    # one before that was known depends on which of them came first.
    assert forms.count("json_object") == 4
    assert 1 <= forms.count("json_schema") <= 3
    assert (forms[0], forms[-1]) == ("json_schema", "json_object")
    assert [done.retries for done in first] == [0, 0, 0]


def test_a_key_that_a_server_sends_back_is_not_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    server = LLMServer(brain=lambda _m, _b: f"My key is {KEY}.", models={"stub": KEY})
    with server, Chain(server.url) as client:
        (done,) = complete(client, ask())
    assert (done.answer, done.model) == ("My key is [key].", "[key]")


def test_timeouts_are_taken_as_congestion() -> None:
    """A server that serves two at a time, and times out for those who wait: all are served."""
    with LLMServer(brain=lambda _m, _b: "42", latency=0.02) as server:
        limiter = Limiter()
        endpoint = Server(server.url, timeout_s=30)

        class TwoAtATime(Sender):
            async def send(self, request: Any) -> Any:
                if limiter.in_flight > 2:
                    raise ServerUnavailable("No answer in time.", overloaded=True)
                return await endpoint.send(request)

        client = Client(TwoAtATime(), limiter=limiter, max_retries=30, first_wait_s=0.001)
        done = complete(client, *(ask(str(i)) for i in range(40)))
        engine.run(endpoint.close())
    assert [each.answer for each in done] == ["42"] * 40
    assert limiter.limit < START
