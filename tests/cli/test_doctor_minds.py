"""Findings of `sabm doctor --minds`, against servers that behave as providers do."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa.errors import KEY_VARIABLE
from sabm_mesa.llm import close_all, read_endpoints
from sabm_mesa.llm.client import Client
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.runs.try_model import MOST_ASKS, entry_name
from tests.llm_server import LLMServer, stub
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


def found(sabm: Sabm, server: LLMServer, *more: Any) -> dict[str, Any]:
    outcome = sabm("doctor", "--minds", f"llm:stub@{server.url}", "--json", *more)
    close_all()
    report: dict[str, Any] = json.loads(outcome.out)
    assert outcome.status == (0 if report["fine"] else 1)
    assert server.stats["requests"] - server.stats.get("refused", 0) <= MOST_ASKS
    return report["minds"][0]


DIALECT = {
    "gpt5": {"max_tokens": "max_completion_tokens", "temperature": None, "top_p": None},
    "claude": {"top_p": None},
    "opus": {"temperature": None, "top_p": None},
    "gemini": {"top_p": None, "seed": None},
    "mistral": {"seed": None},
    "gateway": {"max_tokens": None, "temperature": None, "top_p": None},
    "deepseek": {"response_format": "json_object"},
    "no_json": {"response_format": None},
    "azure_2024": {},
}


@pytest.mark.parametrize("name", DIALECT)
def test_the_dialect_is_told(name: str, sabm: Sabm) -> None:
    with LLMServer(brain=stub, dialect=DIALECTS[name]) as server:
        report = found(sabm, server)
    assert report["dialect"] == DIALECT[name]
    assert report["schema"] == {"deepseek": "ignored", "no_json": "not taken"}.get(name, "enforced")
    assert report["served_model"] == "stub-2026"


@pytest.mark.parametrize("name", ["openai", "deepseek", "qwen3", "qwen3_5"])
def test_a_model_that_thinks_is_told(name: str, sabm: Sabm) -> None:
    thinker = THINKERS[name]
    with LLMServer(brain=thinker.brain(stub), **thinker.settings) as server:
        report = found(sabm, server)
    assert report["thinks"]
    assert report["schema"] == "enforced"


def test_the_entry_that_is_written_can_be_used(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    file = tmp_path / "endpoints.toml"
    with LLMServer(brain=chatty, dialect=DIALECTS["gpt5"], api_key=KEY) as server:
        given = ["--minds", "llm:stub", "--base-url", server.url, "--write", file]
        first, again = (sabm("doctor", *given) for _ in range(2))
        assert first.status == again.status == 0
        assert f"Added to {file}: local." in first.out
        assert "nothing, all entries exist" in again.out
        assert KEY not in first.out + file.read_text()
        (endpoint,) = read_endpoints(file).values()
        assert (endpoint.name, endpoint.url, endpoint.key_env) == (
            "local", server.url, KEY_VARIABLE,
        )  # fmt: skip
        assert "# dialect: max_tokens is sent as max_completion_tokens" in file.read_text()
        used = sabm(
            "doctor", "--minds", "llm:stub@local", "--endpoints", file,
        )  # fmt: skip
        assert used.status == 0
    close_all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--minds", "classical"], "'classical' is not a language model"),
        (["--minds", "llm:m@nowhere"], "nowhere"),
        (["--write", "x.toml"], "--write and --endpoints need --minds"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], says: str, sabm: Sabm) -> None:
    outcome = sabm("doctor", *arguments)
    assert outcome.status == 2
    assert says in one_line(outcome)


def test_a_model_that_cannot_be_asked_is_one_line_and_the_others_are_told(sabm: Sabm) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with LLMServer(brain=stub) as server:
        minds = f"llm:gone@http://127.0.0.1:{port}/v1=1,llm:stub@{server.url}=1,llm:gpt-5=1"
        outcome = sabm("doctor", "--minds", minds)
    close_all()
    problems = [line for line in outcome.out.splitlines() if line.startswith("problem")]
    assert outcome.status == 1
    assert [" ".join(line.split()[:2]) for line in problems] == ["problem answers"] * 2
    assert str(port) in problems[0]
    assert "There is no API key" in problems[1]
    assert "ok       schema     enforced, sent as json_schema" in outcome.out


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (None, "openai"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://my-lab.openai.azure.com/openai/v1", "azure"),
        ("http://127.0.0.1:8000/v1", "local"),
        ("http://localhost:11434/v1", "local"),
        ("http://gpu7:8000/v1", "gpu7"),
        ("http://[::1]:8000/v1", "local"),
    ],
)
def test_the_name_of_an_entry(url: str | None, name: str) -> None:
    assert entry_name(url) == name
