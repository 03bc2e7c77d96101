"""The server of a local model: its requests, context and end, with another program in its place."""

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sabm_mesa.core import engine
from sabm_mesa.errors import BadRequest, LLMError, ParameterError, ServerUnavailable
from sabm_mesa.llm.client import Client
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.local import ANSWER_TOKENS, LocalModel, LocalOptions, LocalServer
from sabm_mesa.llm.request import Request
from tests.gguf import KEYS, gguf
from tests.llm.support import ask, outcomes

# The context of a slot.


class Starts(LocalServer):
    """A server whose start is noted and takes no process."""

    def _start(self, context: int) -> None:
        self.slots, self.context = 1, context

    def stop(self) -> None:
        """There is nothing to stop."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sabm_mesa.llm.local.runtime", lambda: "1")
    path = tmp_path / "small.gguf"
    path.write_bytes(gguf({**KEYS, "llama.context_length": 9000}))
    return path


ONE = LocalOptions(threads=1)


@pytest.mark.parametrize(
    ("given", "wanted", "context"),
    [(None, 500, 500), (None, 99_999, 9000), (1024, 99_999, 1024), (4096, 500, 4096)],
)
def test_the_first_context(given: int | None, wanted: int, context: int, file: Path) -> None:
    server = Starts(file, LocalOptions(threads=1, context=given), context=wanted)

    assert server.context == context
    assert server.is_short_of(99_999) == (given is None and context < 9000)


def test_a_model_that_may_think_has_more_context(file: Path) -> None:
    file.write_bytes(gguf({**KEYS, "tokenizer.chat_template": "<think>"}))
    assert Starts(file, ONE, context=1000).context == KEYS["llama.context_length"]
    file.write_bytes(gguf(KEYS))
    assert Starts(file, ONE, context=1000).context == 1000


@pytest.mark.parametrize(
    ("given", "needed", "advice"),
    [
        (1024, 1025, "context=2560"),
        (None, 9001, "another model"),
        (None, 4097, "context=8704"),
    ],
)
def test_the_advice_for_a_question_that_cannot_fit(
    given: int | None, needed: int, advice: str, file: Path
) -> None:
    said = Starts(file, LocalOptions(threads=1, context=given)).too_small(needed)

    assert advice in said
    assert f"{needed:,}" in said


@pytest.mark.parametrize(
    ("free", "slots"), [(10**9, 8), (8 * 512 * 192, 8), (8 * 512 * 192 - 99, 4), (512 * 192, 1)]
)
def test_there_are_as_many_slots_as_there_is_memory_for(
    free: int, slots: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = [10**9]
    monkeypatch.setattr("sabm_mesa.llm.local.available_memory", lambda: memory[0])
    server = Planned(file, ONE, context=512)
    size = file.stat().st_size
    memory[0] = round((free + size) / 0.8) + 1
    server.start(512)

    assert server.slots == slots
    memory[0] = round((512 * 192 + size) / 0.8) - 2
    with pytest.raises(ParameterError, match="too little memory"):
        server.start(512)
    memory[0] = round((4 * 512 * 192 + size) / 0.8) - 2
    with pytest.raises(ParameterError, match="too little memory"):
        Planned(file, LocalOptions(threads=1, slots=4), context=512)


class Planned(LocalServer):
    """A server that only plans its start."""

    def _start(self, context: int) -> None:
        self.slots, self.context = self._plan(context), context

    start = _start


# The process.


class Program(Planned):
    """A server whose process is another program."""

    command: ClassVar[list[str]] = ["cat"]
    prints = ""

    def _start(self, context: int) -> None:
        super()._start(context)
        pipe = subprocess.PIPE
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - stop closes it
        self._errors.write(self.prints)
        self._errors.flush()
        self._process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, text=True)

    @property
    def process(self) -> Any:
        return self._process

    def address(self) -> str:
        """The address that it tells."""
        return self._address({"n": 1})


@pytest.fixture
def program(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    started = []

    def start(script: str, prints: str = "") -> Program:
        monkeypatch.setattr(Program, "command", ["sh", "-c", script])
        monkeypatch.setattr(Program, "prints", prints)
        started.append(Program(file, ONE))
        return started[-1]

    yield start
    for each in started:
        each.stop()


def test_a_server_says_its_address_when_it_was_told_what_to_do(program: Any) -> None:
    server = program(
        'read given; test "$given" = \'{"n": 1}\' && echo \'"http://127.0.0.1:9"\'; cat'
    )

    assert server.address() == "http://127.0.0.1:9"
    assert server.failure == ""
    process = server.process
    server.stop()
    assert process.returncode == -9
    assert process.stdout.closed
    assert server.failure == ""
    server.stop()


@pytest.mark.parametrize(
    ("script", "prints", "says"),
    [
        ("exit 3", "", "exit status 3"),
        ("exit 3", "one\nerror loading model: bad magic \ntwo", "bad magic"),
        ("exit 3", "failed to allocate the cache\nValueError: later", "the cache"),
        ("exit 3", "Traceback\nImportError: no xllamacpp", "ImportError: no xllamacpp"),
        ("kill -9 $$", "ValueError: earlier", "signal 9"),
    ],
)
def test_a_server_that_ends_says_why(script: str, prints: str, says: str, program: Any) -> None:
    server = program(script, prints)
    with pytest.raises(ParameterError) as refused:
        server.address()

    assert server.failure == says
    assert f"({says})" in str(refused.value)
    assert "small.gguf" in str(refused.value)


# Requests.


class Words(BaseHTTPRequestHandler):
    """A server in whose language each word is a token, and the template adds one."""

    asked: ClassVar[list[tuple[str, Any]]] = []
    order: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.rpartition("/v1")[2]
        self.asked.append((path, given))
        self.order.append("comes")
        if path == "/apply-template":
            told: Any = {"prompt": " ".join(["begin", *(m["content"] for m in given["messages"])])}
        elif path == "/tokenize":
            told = {"tokens": given["content"].split()}
        else:
            told = {"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}]}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.order.append("goes")
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def asked(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[LocalModel, list[Any]]]:
    """A local model, and what its server was asked."""
    monkeypatch.setattr(Words, "asked", [])
    monkeypatch.setattr(Words, "order", [])
    http = ThreadingHTTPServer(("127.0.0.1", 0), Words)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server = Starts(file, ONE, context=2048)
    server.endpoint = Endpoint(f"http://127.0.0.1:{http.server_port}/v1")
    model = LocalModel(server)
    yield model, Words.asked
    engine.run(model.close())
    http.shutdown()
    thread.join()
    http.server_close()


def answered(model: LocalModel, *requests: Request) -> list[Any]:
    return outcomes(Client(model, max_retries=0), requests)


CHAT, COUNT = "/chat/completions", ["/apply-template", "/tokenize", "/chat/completions"]


@pytest.mark.parametrize(
    ("text", "more", "paths"),
    [
        ("x" * (2048 - 256 - 16 - 100), {"max_tokens": 100}, [CHAT]),
        ("x" * (2048 - 256 - 16 - 99), {"max_tokens": 100}, COUNT),
        ("x" * (2048 - 256 - 16 - ANSWER_TOKENS), {}, [CHAT]),
        ("x" * (2049 - 256 - 16 - ANSWER_TOKENS), {}, COUNT),
        ("é" * (2048 - 256 - 16 - 100), {"max_tokens": 100}, COUNT),
        ("a " * 1947, {"max_tokens": 100}, COUNT),
    ],
)
def test_tokens_are_counted_only_where_a_question_may_not_fit(
    text: str, more: dict[str, Any], paths: list[str], asked: Any
) -> None:
    model, seen = asked
    (done,) = answered(model, ask(text, **more))

    assert done.answer == "42"
    assert [path for path, _ in seen] == paths
    assert seen[-1][1]["messages"] == [{"role": "user", "content": text}]


def test_a_question_that_the_context_does_not_take_is_refused_and_others_are_answered(
    asked: Any,
) -> None:
    model, seen = asked
    large, small = answered(model, ask("a " * 1948, max_tokens=100), ask("Hello"))

    assert isinstance(large, BadRequest)
    for word in ("2,049", "2,048", "small.gguf", "not sent", "?threads=1&context="):
        assert word in str(large)
    assert small.answer == "42"
    assert [path for path, _ in seen].count(CHAT) == 1
    assert not model.in_use


def test_of_questions_that_begin_alike_the_first_is_answered_alone(asked: Any) -> None:
    model, _ = asked
    alike = [ask(f"{'x' * 200}{i}") for i in range(5)]
    answered(model, *alike)

    assert Words.order[:2] == ["comes", "goes"]
    assert len(Words.order) == 10


@pytest.mark.parametrize(("failure", "kind"), [("signal 9", LLMError), ("", ServerUnavailable)])
def test_a_server_that_has_ended_is_told_from_one_that_does_not_answer(
    failure: str, kind: type[LLMError], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Starts, "failure", failure)
    server = Starts(file, ONE)
    server.endpoint = Endpoint("http://127.0.0.1:9")
    model = LocalModel(server)
    (error,) = answered(model, ask())
    engine.run(model.close())

    assert type(error) is kind
    assert failure in str(error)
    assert ("small.gguf" in str(error)) == bool(failure)
