"""Findings of `sabm doctor --minds`, against servers that behave as providers do."""

import json
import socket
from typing import Any

import pytest

from sabm_mesa.errors import KEY_VARIABLE
from sabm_mesa.llm import close_all
from sabm_mesa.llm.client import Client
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.runs.try_model import MOST_ASKS
from tests.llm_server import Fault, LLMServer, stub
from tests.llm_server.dialects import DIALECTS
from tests.llm_server.thinkers import THINKERS

from .support import Sabm, one_line

KEY = "sk-" + "doctor-1234567890"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    monkeypatch.setattr(Client, "_wait", lambda *_: 0.001)


def chatty(_messages: Any, _body: Any) -> str:
    return "Four, of course."


def found(sabm: Sabm, server: LLMServer) -> dict[str, str]:
    """The words of each check, by its name."""
    spec = f"llm:stub@{server.url}"
    outcome = sabm("doctor", "--minds", spec, "--json")
    close_all()
    report: dict[str, Any] = json.loads(outcome.out)
    assert outcome.status == (0 if report["fine"] else 1)
    assert server.stats["requests"] - server.stats.get("refused", 0) <= MOST_ASKS
    return {check["name"]: check["said"] for check in report["minds"][spec]}


NONE = "no parameter was refused"
DIALECT = {
    "gpt5": (
        "max_tokens is sent as max_completion_tokens; temperature is left out; top_p is left out"
    ),
    "claude": "top_p is left out",
    "opus": "temperature is left out; top_p is left out",
    "gemini": "seed is left out; top_p is left out",
    "mistral": "seed is left out",
    "gateway": "max_tokens is left out; temperature is left out; top_p is left out",
    "deepseek": "response_format is sent as json_object",
    "no_json": "response_format is left out",
    "azure_2024": NONE,
}
SCHEMA = {"deepseek": "taken and not enforced", "no_json": "not taken"}


@pytest.mark.parametrize("name", DIALECT)
def test_the_dialect_is_told(name: str, sabm: Sabm) -> None:
    with LLMServer(brain=stub, dialect=DIALECTS[name]) as server:
        report = found(sabm, server)
    assert report["dialect"] == DIALECT[name]
    assert report["schema"].startswith(SCHEMA.get(name, "enforced, sent as "))
    assert report["answers"].startswith("stub-2026 answered in ")


@pytest.mark.parametrize("name", ["openai", "deepseek", "qwen3", "qwen3_5"])
def test_a_model_that_thinks_is_told(name: str, sabm: Sabm) -> None:
    thinker = THINKERS[name]
    with LLMServer(brain=thinker.brain(stub), **thinker.settings) as server:
        report = found(sabm, server)
    assert report["thoughts"].startswith("it thinks")
    assert report["schema"].startswith("enforced")


@pytest.mark.parametrize(
    "arguments", [["--minds", "classical"], ["--minds", "llm:stub=1,fixed:3=1"]]
)
def test_a_mind_that_is_no_language_model_is_wrong_use(arguments: list[str], sabm: Sabm) -> None:
    outcome = sabm("doctor", *arguments)
    assert outcome.status == 2
    assert "is not a language model" in one_line(outcome)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_key_is_used_and_never_shown(
    form: list[str], sabm: Sabm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    given = ["--minds", "llm:stub", *form]
    with LLMServer(brain=stub, api_key=KEY) as server:
        fine = sabm("doctor", *given, "--base-url", server.url)
    with LLMServer(api_key="another", faults={0: Fault("401", echo_key=True)}) as server:
        refused = sabm("doctor", *given, "--base-url", server.url)
    close_all()

    assert (fine.status, refused.status) == (0, 1)
    assert "the key in OPENAI_API_KEY was refused" in refused.out
    assert KEY not in fine.out + fine.err + refused.out + refused.err


def test_a_model_that_cannot_be_asked_is_one_line_and_the_others_are_told(sabm: Sabm) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with LLMServer(brain=stub) as server:
        minds = f"llm:gone@http://127.0.0.1:{port}/v1=1,llm:stub@{server.url}=1,llm:gpt-5=1,llm:m@nowhere=1"
        outcome = sabm("doctor", "--minds", minds)
    close_all()
    problems = [line for line in outcome.out.splitlines() if line.startswith("problem")]
    assert outcome.status == 1
    assert [" ".join(line.split()[:2]) for line in problems] == ["problem answers"] * 3
    assert str(port) in problems[0]
    assert "There is no API key" in problems[1]
    assert "Unknown endpoint 'nowhere'" in problems[2]
    assert "ok       schema     enforced, sent as json_schema" in outcome.out
