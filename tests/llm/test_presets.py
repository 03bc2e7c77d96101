"""The endpoints of Anthropic and Google, which need no file."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Connection, KeynesianBeautyContest, resume
from sabm_mesa.errors import without_key
from sabm_mesa.llm import read_endpoints
from sabm_mesa.llm.endpoints import KEY_VARIABLE, OPENAI_URL, PRESETS
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.cost import estimate
from sabm_mesa.runs.rerun import _address, spent_before
from tests.llm.support import first_question
from tests.llm_server import LLMServer
from tests.llm_server.dialects import DIALECTS

KEY, OTHER = "sk-" + "preset-A1b2C3d4E5f6", "sk-" + "of-openai-0123456789"
THOUGHTS = "Half of 84, the number before."
SOLD = {"anthropic": "claude-3-haiku-20240307", "google": "gemini-2.5-flash"}
each = pytest.mark.parametrize("name", PRESETS)


def contest(name: str, **given: Any) -> KeynesianBeautyContest:
    settings = {"n_players": 3, "n_rounds": 2, "rng": 1, "minds": f"llm:m@{name}"} | given
    return KeynesianBeautyContest(**settings)


def fenced(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """An answer of a model that is told about JSON by the prompt alone."""
    return f"```json\n{first_question(messages, body)}\n```"


def thoughtful(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """An answer after a summary of the thoughts, as Gemini writes one on demand."""
    wanted = body.get("extra_body", {}).get("google", {}).get("thinking_config", {})
    thoughts = f"<thought>{THOUGHTS}</thought>\n" if wanted.get("include_thoughts") else ""
    return thoughts + first_question(messages, body)


def serve(monkeypatch: pytest.MonkeyPatch, name: str, server: LLMServer) -> None:
    """Let a preset lead to a server of the test, with its key in the environment."""
    monkeypatch.setitem(PRESETS, name, replace(PRESETS[name], url=server.url))
    monkeypatch.setenv(PRESETS[name].key_env, KEY)
    monkeypatch.setenv(KEY_VARIABLE, OTHER)


@each
def test_a_preset_gets_its_own_key_alone(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    with LLMServer(brain=first_question, api_key=KEY) as server:
        serve(monkeypatch, name, server)
        model = contest(name, recording=path)
        model.step()
        model.close()
        resume(path)  # its address is not that of a stranger
        assert server.stats["requests"] == server.stats["status_200"] == 9
        assert {seen.headers["Authorization"] for seen in server.requests} == {f"Bearer {KEY}"}
    assert KEY.encode() not in path.read_bytes()
    assert KEY not in without_key(f"The server said {KEY}.")


@each
def test_an_entry_of_a_file_replaces_a_preset(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "endpoints.toml"
    with LLMServer(brain=first_question) as server:
        file.write_text(f'[endpoints.{name}]\nbase_url = "{server.url}"\n')
        monkeypatch.setenv(PRESETS[name].key_env, KEY)
        model = contest(name, connection=Connection(endpoints=read_endpoints(file)))
        model.run_model()
        model.close()
        assert {seen.headers["Authorization"] for seen in server.requests} == {"Bearer none"}


@each
def test_prices_are_those_of_the_preset(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url, model_name = PRESETS[name].base_url, SOLD[name]
    assert PriceTable(url=url).of(model_name)
    assert url != OPENAI_URL
    path, minds = tmp_path / "run.sqlite", f"llm:{model_name}@{name}"
    given = {"n_players": 3, "n_rounds": 2, "minds": minds}
    assert estimate(KeynesianBeautyContest, given).total.usd.likely > 0
    with LLMServer(brain=first_question, faults=["no-usage"] * 9) as server:
        serve(monkeypatch, name, server)
        contest(name, recording=path, minds=minds).run_model()
        (run,) = load_runs(path)
        assert _address(run, minds) == server.url
        assert spent_before([run], None).cost_usd > 0


@pytest.mark.parametrize(
    ("name", "dialect"), [("anthropic", "claude"), ("anthropic", "opus"), ("google", "gemini")]
)
def test_a_run_with_json_answers_at_a_preset(
    name: str, dialect: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Anthropic ignores the schema, so the prompt alone asks for JSON; Gemini refuses fields."""
    brain = fenced if name == "anthropic" else first_question
    with LLMServer(brain=brain, dialect=DIALECTS[dialect], api_key=KEY) as server:
        serve(monkeypatch, name, server)
        model = contest(
            name, answer_format="json", temperature=0.7, top_p=0.9, max_tokens=50,
            recording=tmp_path / "run.sqlite",
        )  # fmt: skip
        model.run_model()
        assert server.stats["refused"] > 0
    assert (model.total.asks, model.total.invalid) == (9, 0)


def test_thoughts_of_gemini_are_sent_on_demand_and_kept_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, file = tmp_path / "run.sqlite", tmp_path / "endpoints.toml"
    with LLMServer(brain=thoughtful) as server:
        serve(monkeypatch, "google", server)
        file.write_text(
            f'[endpoints.google]\nbase_url = "{server.url}"\nkey_env = "GEMINI_API_KEY"\n'
            "extra_body = { extra_body = { google = { thinking_config = "
            "{ include_thoughts = true } } } }\n"
        )
        how = Connection(endpoints=read_endpoints(file))
        model = contest("google", connection=how, recording=path)
        model.run_model()
        assert THOUGHTS not in json.dumps([seen.body for seen in server.requests])
    assert model.total.invalid == 0
    assert set(Recorded(path).asks()["thoughts"]) == {THOUGHTS}
