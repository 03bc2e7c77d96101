"""The key of each endpoint, and the entries of a file of endpoints."""

import json
import logging
import socket
from pathlib import Path

import pytest

from sabm_mesa import Connection, KeynesianBeautyContest
from sabm_mesa.cli import main
from sabm_mesa.errors import MissingKey, ParameterError, UnknownName, without_key
from sabm_mesa.llm import connect, read_endpoints
from sabm_mesa.llm.endpoints import (
    URL_VARIABLE,
    Endpoint,
    check_listener,
    is_loopback,
    is_openai,
)
from sabm_mesa.llm.translation import KEY_VARIABLE
from sabm_mesa.minds.specs import model_and_endpoint
from tests.llm.support import ask, complete, outcomes, rows
from tests.llm_server import LLMServer

KEY = "-".join(["sk", "of", "openai", "0123456789"])
OTHER = "-".join(["lab", "key", "9876543210"])


def file_of(folder: Path, text: str) -> Path:
    path = folder / "endpoints.toml"
    path.write_text(text)
    return path


def sent(server: LLMServer) -> set[str]:
    return {seen.headers.get("Authorization", "") for seen in server.requests}


def test_each_of_two_providers_in_one_run_gets_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setenv("LAB_API_KEY", OTHER)
    with LLMServer(api_key=KEY) as first, LLMServer(api_key=OTHER) as second:
        file = file_of(tmp_path, f"""
            [endpoints.lab]
            base_url = "{second.url}"
            key_env = "LAB_API_KEY"
            extra_body = {{ safe_prompt = false }}
        """)  # fmt: skip
        model = KeynesianBeautyContest(
            n_players=4, n_rounds=1, rng=1, minds={"llm:a": 2, "llm:b@lab": 2},
            connection=Connection(first.url, read_endpoints(file)),
            recording=tmp_path / "run.sqlite",
        )  # fmt: skip
        model.run_model()
        assert sent(first) == {f"Bearer {KEY}"}
        assert sent(second) == {f"Bearer {OTHER}"}
        assert {seen.body["model"] for seen in second.requests} == {"b"}
        assert all(seen.body["safe_prompt"] is False for seen in second.requests)
    assert rows(tmp_path / "run.sqlite", "SELECT DISTINCT mind FROM asks ORDER BY 1") == [
        ("llm:a",), ("llm:b@lab",),
    ]  # fmt: skip
    ((said,),) = rows(tmp_path / "run.sqlite", "SELECT connection FROM runs")
    assert json.loads(said)["endpoints"] == {"lab": second.url}
    file.unlink()
    for written in [*(path.read_bytes() for path in tmp_path.iterdir()), caplog.text.encode()]:
        assert not any(secret.encode() in written for secret in (KEY, OTHER))


def test_the_key_of_openai_goes_to_no_address_that_is_not_this_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor do the other headers that the library takes from the environment."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}\nX-Mine: yes")
    with LLMServer(api_key=KEY) as server:
        (error,) = outcomes(connect(server.url), [ask()])
        assert str(error).endswith(
            "no key was sent, since none is named for this address: give it with --base-url "
            "(OPENAI_API_KEY is then sent), or name a key in a file (--endpoints)."
        )
        complete(connect(None, Connection(server.url)), ask())
        complete(connect(server.url, Connection(server.url)), ask())
        monkeypatch.setenv(URL_VARIABLE, server.url)
        complete(connect(server.url, Connection("http://127.0.0.1:9/v1")), ask())
        first, *others = server.requests
    assert first.headers["Authorization"] == "Bearer none"
    own = {"OpenAI-Organization": "org-mine", "OpenAI-Project": "proj-mine", "X-Mine": "yes"}
    assert not any(name in first.headers for name in own)
    assert len(others) == 3
    for seen in others:
        assert seen.headers["Authorization"] == f"Bearer {KEY}"
        assert own.items() <= {name: seen.headers.get(name) for name in own}.items()


def test_the_key_of_a_listed_address_goes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_API_KEY", OTHER)
    with LLMServer(brain=lambda _m, _b: "42", api_key=OTHER) as server:
        listed = f'[endpoints.lab]\nbase_url = "{server.url}/"\nkey_env = "LAB_API_KEY"\n'
        how = Connection(endpoints=read_endpoints(file_of(tmp_path, listed)))
        assert complete(connect(server.url, how), ask())[0].answer == "42"
        twice = listed + listed.replace("lab", "other")
        how = Connection(endpoints=read_endpoints(file_of(tmp_path, twice)))
        with pytest.raises(ParameterError, match="The endpoints lab, other have the address"):
            connect(server.url, how)
        monkeypatch.setenv("LAB_API_KEY", "wrong-key-of-the-lab")
        (error,) = outcomes(connect("lab", how), [ask()])
        assert "the key in LAB_API_KEY was refused, here or behind the gateway: set" in str(error)


def test_azures_dated_interface_is_asked_by_its_version_and_its_own_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_API_KEY", OTHER)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with LLMServer(
        brain=lambda _m, _b: "42", api_key=OTHER, models={"mine": "gpt-4o-2024-08-06"},
        strict_models=True,
    ) as server:  # fmt: skip
        place = f"{server.url.removesuffix('/v1')}/openai/deployments"
        entry = 'key_env = "LAB_API_KEY"\nkey_header = "api-key"'
        file = file_of(tmp_path, "\n".join(
            f'[endpoints.{name}]\nbase_url = "{place}/{path}"\n{entry}'
            for name, path in (
                ("azure", "mine/?api-version=2024-10-21"), ("undated", "mine"),
                ("other", "yours?api-version=2024-10-21"),
            )
        ))  # fmt: skip
        how = Connection(endpoints=read_endpoints(file))
        (done,) = complete(connect("azure", how), ask(model="mine"))
        assert (done.answer, done.model) == ("42", "gpt-4o-2024-08-06")
        assert done.provider == f"{place}/mine"
        for seen in server.requests:
            assert seen.headers["api-key"] == OTHER
            assert "Authorization" not in seen.headers
        (undated,) = outcomes(connect("undated", how), [ask(model="mine")])
        assert "answered 404 (Resource not found)" in str(undated)
        (missing,) = outcomes(connect("other", how), [ask(model="yours")])
        assert "The API deployment for this resource does not exist" in str(missing)
        monkeypatch.setenv("LAB_API_KEY", "wrong-key-of-the-lab")
        (refused,) = outcomes(connect("azure", how), [ask(model="mine")])
        assert "answered 401 (Access denied due to invalid subscription key" in str(refused)
        assert "set LAB_API_KEY in the environment to the right one" in str(refused)


def test_the_key_that_an_entry_names_is_hidden_from_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = '[endpoints.lab]\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = "A_KEY_OF_A_LAB"\n'
    (tmp_path / "endpoints.toml").write_text(entry, "utf-8")
    monkeypatch.setenv("A_KEY_OF_A_LAB", "a-secret-of-the-lab")

    read_endpoints(tmp_path / "endpoints.toml")["lab"].hide_key()

    assert "secret-of-the-lab" not in without_key("The server said a-secret-of-the-lab.")


def test_an_endpoint_has_its_own_limit_of_requests(tmp_path: Path) -> None:
    with LLMServer(brain=lambda _m, _b: "42", latency=0.05) as server:
        text = f'[endpoints.lab]\nbase_url = "{server.url}"\nmax_concurrency = 3'
        how = Connection(endpoints=read_endpoints(file_of(tmp_path, text)), max_concurrency=20)
        complete(connect("lab", how), *[ask()] * 20)
        assert server.max_in_flight == 3


def test_an_endpoint_without_its_key_and_an_unknown_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAB_API_KEY", raising=False)
    text = '[endpoints.lab]\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = "LAB_API_KEY"'
    how = Connection(endpoints=read_endpoints(file_of(tmp_path, text)))
    with pytest.raises(MissingKey, match=r"'lab' needs the key LAB_API_KEY\. Set LAB_API_KEY"):
        connect("lab", how)
    with pytest.raises(UnknownName, match=r"Unknown endpoint 'lap'\. Did you mean 'lab'"):
        connect("lap", how)


URL = 'base_url = "http://127.0.0.1:9/v1"'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has tables [endpoints.NAME], each with a base_url"),
        ("[endpoints]\nlab = 1", "[endpoints.lab] needs a base_url"),
        ("[endpoint.lab]\n" + URL, "has tables [endpoints.NAME]"),
        ("[endpoints.lab]\nkey_env = 'A'", "[endpoints.lab] needs a base_url"),
        ("[endpoints.lab]\nbase_url = 'lab'", "[endpoints.lab]: The address of a server must look"),
        ("[endpoints.lab]\nbase_url = 'http://a:b@c/v1'", "must not hold a password"),
        (
            f"[endpoints.lab]\n{URL}\nurl = 'x'",
            "may have key_env, key_header, extra_body",
        ),
        (f"[endpoints.'2 b']\n{URL}", "the name of an endpoint must consist of letters, digits"),
        (f"[endpoints.lab]\n{URL}\nkey_env = '{KEY}'", "key_env is the name of a variable"),
        (f"[endpoints.lab]\n{URL}\nkey_env = 3", "key_env is the name of a variable"),
        (f"[endpoints.lab]\n{URL}\nkey_header = 'a b'", "key_header is the name of a header"),
        (f"[endpoints.lab]\n{URL}\nkey_header = 3", "key_header is the name of a header"),
        (f"[endpoints.lab]\n{URL}\nkey_header = 'Host'", "the header 'Host' is set already"),
        ("[endpoints.lab]\nbase_url = 'http://h/v1?api-key=x'", "must not hold a password"),
        ("[endpoints.lab]\nbase_url = 'http://h/v1?sig=x'", "must not hold a password"),
        (
            "[endpoints.lab]\nbase_url = 'http://h/v1/chat/completions'",
            "leave out /chat/completions, which is added to it",
        ),
        (f"[endpoints.lab]\n{URL}\nkey_env = []", "key_env is the name of a variable"),
        (f"[endpoints.lab]\n{URL}\nkey_env = false", "key_env is the name of a variable"),
        (f"[endpoints.lab]\n{URL}\nkey_env = 0", "key_env is the name of a variable"),
        (f"[endpoints.lab]\n{URL}\nextra_body = 3", "extra_body is a table"),
        (f"[endpoints.lab]\n{URL}\nextra_body = {{model = 'x'}}", "extra_body cannot have 'model'"),
        (f"[endpoints.lab]\n{URL}\nextra_body = {{a = 2020-01-01}}", "that JSON cannot hold"),
        (f"[endpoints.lab]\n{URL}\nextra_body = {{a = nan}}", "that JSON cannot hold"),
        (f"[endpoints.lab]\n{URL}\nmax_concurrency = 0", "[endpoints.lab]: max_concurrency"),
        ("[endpoints.lab", "is not valid TOML"),
    ],
)
def test_a_wrong_file_of_endpoints_is_one_line(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as caught:
        read_endpoints(file_of(tmp_path, text))
    assert says in str(caught.value)
    assert str(tmp_path / "endpoints.toml") in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("messages = []", "messages"),
        ("max_tokens = 65536", "max_tokens"),
        ("max_completion_tokens = 9", "max_completion_tokens"),
        ("n = 8", "n"),
        ("temperature = 0.1", "temperature"),
        ("response_format = {}", "response_format"),
    ],
)
def test_no_further_field_passes_a_cap_or_replaces_the_prompt(
    field: str, named: str, tmp_path: Path
) -> None:
    text = f"[endpoints.lab]\n{URL}\nextra_body = {{{field}}}"
    with pytest.raises(ParameterError, match=f"extra_body cannot have '{named}'"):
        read_endpoints(file_of(tmp_path, text))


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("m", ("m", "")),
        ("org/m@lab", ("org/m", "lab")),
        ("claude@20240620", ("claude@20240620", "")),
        ("claude@20240620@lab", ("claude@20240620", "lab")),
        ("m@http://a/v1", ("m", "http://a/v1")),
        ("@cf/meta/llama", ("@cf/meta/llama", "")),
        ("@lab", ("@lab", "")),
    ],
)
def test_models_and_their_endpoints(rest: str, expected: tuple[str, str]) -> None:
    assert model_and_endpoint(rest) == expected


def test_openais_own_address_and_this_computer() -> None:
    assert is_openai(None)
    assert is_openai("https://API.openai.com/v1")
    for url in ("http://api.openai.com/v1", "https://api.openai.com:444/v1",
                "https://api.openai.com.evil/v1", "https://evil/api.openai.com"):  # fmt: skip
        assert not is_openai(url)
    assert all(map(is_loopback, ("http://127.0.0.1:8/v1", "http://localhost/v1", "http://[::1]/")))
    assert not any(map(is_loopback, ("http://127.0.0.1.evil/v1", "http://10.0.0.1/v1")))
    assert Endpoint("http://a/v1?k=1").where == "http://a/v1"


def test_the_command_line_takes_a_file_of_endpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with LLMServer(api_key=OTHER) as server:
        text = f'[endpoints.lab]\nbase_url = "{server.url}"\nkey_env = "LAB_API_KEY"\n'
        file = str(file_of(tmp_path, text))
        run = ["run", "kbc", "--rounds", "1", "--set", "n_players=2", "--out", str(tmp_path / "o")]
        ends = {
            ("llm:m@lab", OTHER): (0, ""),
            ("llm:m@lab", ""): (1, "The endpoint 'lab' needs the key LAB_API_KEY."),
            ("llm:m@lap", OTHER): (2, "Unknown endpoint 'lap'. Did you mean 'lab'?"),
        }
        for (minds, key), (status, said) in ends.items():
            monkeypatch.setenv("LAB_API_KEY", key)
            with pytest.raises(SystemExit) as ended:
                main([*run, "--minds", minds, "--endpoints", file])
            assert ended.value.code == status
            assert said in capsys.readouterr().err
        assert server.stats["requests"] == server.stats["status_200"] > 0


def test_whether_something_listens_at_an_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        check_listener(address, "cluster")
    for wrong in (address, "127.0.0.1", "host:port", "127.0.0.1:99999", ""):
        with pytest.raises(ParameterError) as refused:
            check_listener(wrong, "cluster")
        assert f"There is no cluster at {wrong!r} (" in str(refused.value)
        assert "(None)" not in str(refused.value)
