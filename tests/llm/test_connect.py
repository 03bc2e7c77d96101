"""The chain for an endpoint: what is shared, what is checked, how it is closed."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Connection
from sabm_mesa import llm as access
from sabm_mesa.core import engine
from sabm_mesa.errors import MissingKey, ParameterError
from sabm_mesa.llm import close_all, connect
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.llm.server import Server
from sabm_mesa.llm.translation import KEY_VARIABLE
from tests.llm.support import ROOT, ask, complete, outcomes
from tests.llm_server import LLMServer


def run_script(code: str, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a script in its own process, in which a resource that is left open is an error."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", script, *args],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_without_a_key_openai_is_not_asked() -> None:
    with pytest.raises(MissingKey, match="Set OPENAI_API_KEY in the environment; or name a server"):
        connect()
    with pytest.raises(MissingKey):
        connect("https://api.openai.com/v1/")


@pytest.mark.parametrize("key", ["sk-…", "sk-a\nb", "sk-“quoted”"])
def test_a_key_that_is_none_is_refused_and_not_shown(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(MissingKey, match="has characters that no key has") as caught:
        connect(None, Connection("http://127.0.0.1:9/v1"))
    assert key not in str(caught.value)


def test_the_key_of_the_moment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with LLMServer(brain=lambda _m, _b: "42", api_key="sk-second") as server:
        monkeypatch.setenv(KEY_VARIABLE, "sk-first")
        client = connect(None, Connection(server.url))
        assert "answered 401" in str(outcomes(client, [ask()])[0])
        monkeypatch.setenv(KEY_VARIABLE, "sk-second")
        assert complete(client, ask())[0].answer == "42"


def test_the_address_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with LLMServer() as first, LLMServer() as second:
        monkeypatch.setenv(URL_VARIABLE, first.url)
        complete(connect(), ask())
        monkeypatch.setenv(URL_VARIABLE, second.url + "/")
        complete(connect(), ask())
        complete(connect(None, Connection(base_url=first.url)), ask())
        complete(connect(second.url, Connection(base_url=first.url)), ask())
        assert (first.stats["requests"], second.stats["requests"]) == (2, 2)


@pytest.mark.parametrize(
    "url",
    ["localhost:8000/v1", "http://", "ftp://x/v1", "http://[::1/v1", "http://x:99999/v1", "x/v1"],
)
def test_what_is_no_address_is_refused_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="must look like http://127"):
        connect(url)
    with pytest.raises(ParameterError):
        Connection(base_url=url)
    monkeypatch.setenv(URL_VARIABLE, url)
    with pytest.raises(ParameterError):
        connect()


@pytest.mark.parametrize(
    "url",
    ["http://me:secret@127.0.0.1/v1", "me:secret@127.0.0.1", "http://127.0.0.1/v1?api_key=secret"],
)
def test_a_password_in_an_address_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ParameterError) as caught:
        connect(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"max_concurrency": 0}, {"max_concurrency": 1.5}, {"max_retries": -1}, {"timeout_s": 0},
        {"timeout_s": float("nan")}, {"timeout_s": float("inf")},
    ],
    ids=str,
)  # fmt: skip
def test_an_illegal_connection_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(options))):
        Connection(**options)


def test_openais_own_limit_of_tokens_has_its_own_name() -> None:
    with LLMServer() as server:
        client = Server(server.url)
        request = ask(temperature=0.5, top_p=0.9, max_tokens=7, schema={"type": "object"})
        engine.run(client.send(request))
        engine.run(client.send(ask()))
        engine.run(client.close())
        sent, bare = (seen.body for seen in server.requests)
    assert sent == {
        "model": "stub",
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}},
        },
    }
    assert set(bare) == {"model", "messages"}
    for url in (None, "https://api.openai.com/v1"):
        asked = Server(url).asked(request)
        assert asked["max_completion_tokens"] == 7
        assert "max_tokens" not in asked


def test_a_later_run_may_have_a_higher_ceiling() -> None:
    with LLMServer(brain=lambda _m, _b: "42", latency=0.05) as server:
        complete(connect(server.url, Connection(max_concurrency=2)), *[ask()] * 9)
        assert server.max_in_flight == 2
        server.hold()
        client = connect(server.url, Connection(max_concurrency=9))
        thread = threading.Thread(target=complete, args=(client, *[ask()] * 9))
        thread.start()
        server.wait_until(lambda s: s.in_flight == 9)
        server.release()
        thread.join()


def test_one_endpoint_is_shared_by_threads_that_connect_at_once() -> None:
    barrier = threading.Barrier(8)
    chains: list[Any] = []

    def work(url: str) -> None:
        barrier.wait()
        chains.append(connect(url))

    with LLMServer(brain=lambda _m, _b: "42", held=True) as server:
        threads = [threading.Thread(target=work, args=(server.url,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(access._servers) == len(access._limiters) == 1  # noqa: SLF001
        both = [threading.Thread(target=complete, args=(c, *[ask()] * 5)) for c in chains[:2]]
        (limiter,) = access._limiters.values()  # noqa: SLF001
        for thread in both:
            thread.start()
        server.wait_until(lambda s: s.in_flight == 10)
        assert limiter.in_flight == 10
        server.release()
        for thread in both:
            thread.join()
        assert limiter.in_flight == 0


def test_connections_that_were_closed_are_made_anew() -> None:
    with LLMServer(brain=lambda _m, _b: "42") as server:
        client = connect(server.url)
        complete(client, ask())
        close_all()
        assert complete(connect(server.url), ask())[0].answer == "42"
        close_all()
        close_all()


@pytest.mark.slow
def test_connections_are_closed_at_exit_without_a_word(tmp_path: Path) -> None:
    code = """
        import sys
        from sabm_mesa.llm import Connection, connect
        from tests.llm.support import ask, complete
        connect("http://127.0.0.1:9/v1")  # never used
        if len(sys.argv) > 1:
            for timeout in (5.0, 6.0):
                complete(connect(sys.argv[1], Connection(timeout_s=timeout)), *[ask()] * 3)
    """
    with LLMServer() as server:
        for args in ((), (server.url,)):
            done = run_script(code, tmp_path, *args)
            assert (done.returncode, done.stderr) == (0, "")
        assert server.stats["status_200"] == 6


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_runs_in_other_processes_have_their_own_connections(method: str, tmp_path: Path) -> None:
    code = """
        import multiprocessing, sys, warnings
        from sabm_mesa import KeynesianBeautyContest

        # Python 3.12 warns of a fork of a process with threads; mesa.batch_run forks all the same.
        warnings.filterwarnings("ignore", category=DeprecationWarning)

        def run(seed):
            m = KeynesianBeautyContest(
                n_players=4, n_rounds=1, minds=f"llm:stub@{sys.argv[1]}", rng=seed, recording=False
            )
            m.run_model()
            return list(m.agent_frame()["choice"])

        if __name__ == "__main__":
            alone = [run(seed) for seed in range(4)]
            with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
                others = pool.map(run, range(4))
                pool.close()
                pool.join()
            assert others == alone, (others, alone)
            assert run(0) == alone[0]
    """
    with LLMServer() as server:
        done = run_script(code, tmp_path, server.url, method)
        assert (done.returncode, done.stderr) == (0, "")
        assert server.stats["status_200"] == 4 * (4 + 4 + 1)
