"""Findings of `sabm doctor`, against a real server and a real machine."""

import json
import socket
import tomllib
import webbrowser
from importlib.metadata import version
from pathlib import Path

import pytest

from sabm_mesa.cli import doctor_checks as checks
from sabm_mesa.errors import KEY_VARIABLE
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.minds.files.sandbox import bubblewrap_problem
from sabm_mesa.runs.try_model import State
from tests.llm_server import Fault, LLMServer

from .support import Outcome, Sabm

ROOT = Path(__file__).parents[2]

KEY = "sk-" + "doctor-1234567890"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(URL_VARIABLE, raising=False)


def lines(outcome: Outcome) -> dict[str, str]:
    """The state and the words of each check, by its name."""
    found = {}
    for line in outcome.out.splitlines():
        state, _, rest = line.partition(" ")
        if state in list(State):
            name, _, said = rest.strip().partition(" ")
            found[name] = f"{state} {said.strip()}"
    return found


def yes(_messages, _body) -> str:
    return "yes"


def test_all_that_is_looked_at_without_a_key_or_server(sabm: Sabm) -> None:
    outcome = sabm("doctor")

    found = lines(outcome)
    assert outcome.status == 0
    assert list(found) == [
        "python", "packages", "folder", "browser", "minds", "key", "endpoint",
        "local", "parquet", "ray", "docs",
    ]  # fmt: skip
    assert f"mesa {version('mesa')}" in found["packages"]
    assert found["packages"].startswith("ok ")
    assert found["folder"].startswith(f"ok {Path.cwd()} can be written")
    assert found["key"].startswith(f"warning {KEY_VARIABLE} is not set")
    assert found["endpoint"] == "ok not asked: there is no key and no --base-url"
    end = outcome.out.splitlines()[-1]
    assert end.startswith("No problem found; see the warnings on ")
    assert end.endswith("key.")


def test_which_isolation_holds_for_minds_from_files(
    sabm: Sabm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SABM_ISOLATE", "")
    said = lines(sabm("doctor"))["minds"]
    isolated = "ok Minds from files: isolated by bubblewrap: no network"
    assert said.startswith(isolated) == (not bubblewrap_problem())

    bubblewrap_problem.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    without = lines(sabm("doctor"))["minds"]
    monkeypatch.setenv("SABM_ISOLATE", "1")
    demanded = lines(sabm("doctor"))["minds"]
    bubblewrap_problem.cache_clear()
    assert without.startswith("warning Minds from files: ")
    assert without.endswith(
        "(install bubblewrap, or trust them). Reason: the program bwrap is not there."
    )
    assert demanded.startswith(
        "warning Minds from files cannot be isolated here: the program bwrap"
    )


def test_an_endpoint_that_answers_is_asked_once_and_little(sabm: Sabm) -> None:
    with LLMServer(brain=yes) as server:
        outcome = sabm("doctor", "--base-url", server.url)
        (seen,) = server.requests

    assert outcome.status == 0
    assert lines(outcome)["endpoint"].startswith("ok stub-2026 answered in 0.")
    assert lines(outcome)["endpoint"].endswith(f"price unknown) at {server.url}")
    assert seen.body["model"] == "stub"
    assert seen.body["max_tokens"] == 16
    assert outcome.out.startswith("One tiny question is sent to the endpoint")


def test_a_price_that_is_known_is_said(sabm: Sabm) -> None:
    with LLMServer(brain=yes, models={"gpt-4o-mini": "gpt-4o-mini-2024-07-18"}) as server:
        said = lines(sabm("doctor", "--base-url", server.url))["endpoint"]

    assert said.startswith("ok gpt-4o-mini-2024-07-18 answered")
    assert "$0.00000" in said


def test_the_address_of_the_environment_is_asked(
    sabm: Sabm, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LLMServer(brain=yes) as server:
        monkeypatch.setenv(URL_VARIABLE, server.url)
        assert lines(sabm("doctor", "--model", "stub"))["endpoint"].startswith("ok stub-2026")


def test_a_key_is_used_and_never_shown(sabm: Sabm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with LLMServer(brain=yes, api_key=KEY) as server:
        fine = sabm("doctor", "--base-url", server.url)
    with LLMServer(api_key="another", faults={0: Fault("401", echo_key=True)}) as server:
        refused = sabm("doctor", "--base-url", server.url, "--model", "stub")

    assert fine.status == 0
    assert lines(fine)["key"] == f"ok {KEY_VARIABLE} is set (it is not shown)"
    assert refused.status == 1
    assert "answered 401" in lines(refused)["endpoint"]
    assert "the key in OPENAI_API_KEY was refused" in lines(refused)["endpoint"]
    assert refused.out.endswith("Fix each problem in the list above.\n")
    assert KEY not in fine.out + fine.err + refused.out + refused.err


def test_a_key_that_is_none_is_a_problem_and_not_shown(
    sabm: Sabm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-…")
    outcome = sabm("doctor")

    assert outcome.status == 1
    assert lines(outcome)["key"].startswith("problem OPENAI_API_KEY has characters")
    assert lines(outcome)["endpoint"].startswith("problem The API key has characters")
    assert "sk-…" not in outcome.out


def test_a_model_that_is_unknown_is_a_problem_with_the_known_ones(sabm: Sabm) -> None:
    with LLMServer(models={"a": "a", "b": "b"}, strict_models=True) as server:
        outcome = sabm("doctor", "--base-url", server.url, "--model", "c")

    assert outcome.status == 1
    assert "is the model name 'c' right" in lines(outcome)["endpoint"]
    assert lines(outcome)["endpoint"].endswith("Available models: a, b.")


def test_a_model_that_is_named_is_asked_also_without_a_key(sabm: Sabm) -> None:
    outcome = sabm("doctor", "--model", "gpt-4o-mini")

    assert outcome.status == 1
    assert lines(outcome)["endpoint"].startswith("problem There is no API key. Set OPENAI_API_KEY")


def test_where_the_model_that_was_chosen_cannot_chat_another_may_be_named(sabm: Sabm) -> None:
    with LLMServer(faults={0: Fault("400")}) as server:
        outcome = sabm("doctor", "--base-url", server.url)

    assert outcome.status == 1
    assert lines(outcome)["endpoint"].endswith("Name another model with --model.")


def test_a_server_without_a_model(sabm: Sabm) -> None:
    with LLMServer(models={}) as server:
        outcome = sabm("doctor", "--base-url", server.url)

    assert outcome.status == 1
    assert lines(outcome)["endpoint"].startswith("problem The server has no model")


def test_nobody_listens(sabm: Sabm) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        outcome = sabm("doctor", "--base-url", url, "--model", "stub")

    assert outcome.status == 1
    assert lines(outcome)["endpoint"].startswith(f"problem Cannot reach {url} (")


def test_something_else_listens(sabm: Sabm) -> None:
    with LLMServer() as server:
        outcome = sabm("doctor", "--base-url", server.stats_url)

    assert outcome.status == 1
    assert "answered 404" in lines(outcome)["endpoint"]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("options", [[], ["--model", "stub"]], ids=["models", "chat"])
def test_a_server_that_hangs_is_given_up(sabm: Sabm, options: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        outcome = sabm("doctor", "--base-url", url, "--timeout", "0.2", *options)

    assert outcome.status == 1
    assert lines(outcome)["endpoint"].startswith(f"problem No answer from {url} within 0.2 s.")


def test_what_is_no_address(sabm: Sabm) -> None:
    outcome = sabm("doctor", "--base-url", "localhost")

    assert outcome.status == 1
    assert "must look like http://127.0.0.1:8000/v1" in lines(outcome)["endpoint"]


def test_as_json(sabm: Sabm) -> None:
    with LLMServer(brain=yes) as server:
        found = json.loads(sabm("doctor", "--base-url", server.url, "--json").out)

    assert found["fine"] is True
    assert {check["state"] for check in found["checks"]} <= {"ok", "warning"}
    assert [check["name"] for check in found["checks"]].count("endpoint") == 1
    wrong = sabm("doctor", "--base-url", "localhost", "--json")
    assert wrong.status == 1
    assert json.loads(wrong.out)["fine"] is False


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    found = checks.writable(tmp_path / "nowhere")

    assert found.state is State.PROBLEM
    assert found.said.endswith("choose another folder.")
    assert not list(tmp_path.iterdir())
    assert checks.writable(tmp_path).state is State.OK
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_gone_is_a_problem_like_others(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    outcome = sabm("doctor")

    assert outcome.status == 1
    assert lines(outcome)["folder"].startswith("problem Cannot write in . (No such file")
    assert "docs" in lines(outcome)


def test_without_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def found() -> checks.Check:
        monkeypatch.setattr(webbrowser, "_tryorder", None)  # Python looks once in a process
        monkeypatch.setattr(webbrowser, "_browsers", {})
        return checks.browser()

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER", raising=False)
    assert found().state is State.WARNING
    mine = tmp_path / "mine"
    mine.write_text("")
    mine.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(mine))
    assert found() == checks.Check("browser", State.OK, str(mine))


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        ("mesa<3", f"mesa is {version('mesa')}, but must be <3: pip install 'mesa<3'"),
        (
            "no-such-package>=1",
            "no-such-package is not installed: pip install 'no-such-package>=1'",
        ),
        ("mesa>=3", None),
    ],
)
def test_a_package_that_does_not_fit(needed: str, said: str | None) -> None:
    found = checks.misfit(checks.Requirement(needed))

    assert (found and found.said) == said
    assert found is None or found.state is State.PROBLEM


def test_the_optional_parts_are_those_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    parts = {
        part: {checks.Requirement(each).name for each in needed}
        for part, needed in project["optional-dependencies"].items()
    }
    found = {check.name: check.said for check in checks.extras()}

    assert set(found) == set(parts) - {"dev", "check"}
    assert all(checks.EXTRAS[part][0] in parts[part] for part in found)
    monkeypatch.setattr(checks, "EXTRAS", {"a": ("pytest", "tests"), "b": ("no-such", "nothing")})
    there, absent = (check.said for check in checks.extras())
    assert there == f"pytest {version('pytest')}, for tests"
    assert absent == "not installed, only for nothing: pip install 'sabm-mesa[b]'"
