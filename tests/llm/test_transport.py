"""Bodies are taken up to a limit, and no redirect leads to another server."""

from typing import Any

import pytest

from sabm_mesa.errors import BadRequest, LLMError
from sabm_mesa.llm.server import MAX_BYTES
from sabm_mesa.llm.translation import KEY_VARIABLE
from tests.llm.support import Chain, ask, outcomes
from tests.llm_server import Fault, LLMServer

IN_BUFFERS = 32 * 2**20
"""Bytes that the system holds between a server that sends and a client that reads no more."""


def asked(server: LLMServer, max_bytes: int = MAX_BYTES) -> Any:
    """The outcome of one question to a server, with retries that hardly wait."""
    with Chain(server.url, max_bytes=max_bytes) as client:
        return outcomes(client, [ask()])[0]


@pytest.mark.parametrize("status", [200, 400, 429, 500])
def test_of_an_endless_answer_no_more_than_the_limit_is_read(status: int) -> None:
    with LLMServer(faults=[Fault("endless", status=status)]) as server:
        error = asked(server)
        server.wait_until(lambda s: s.stats["finished"] == 1)
        (seen,) = server.requests  # a retry would be paid for once more
        assert seen.sent < MAX_BYTES + IN_BUFFERS
    assert type(error) is LLMError
    assert str(error) == (
        f"{server.url} sent more than 4 MB in answer to one request, and the connection was "
        "closed: is the address right? A limit of tokens (--set max_tokens=N) keeps answers short."
    )


def test_a_compressed_answer_is_measured_as_it_is_read() -> None:
    with LLMServer(faults=[Fault("bomb", size=2 * 10**7)]) as server:
        assert "sent more than 4 MB" in str(asked(server))
    with LLMServer(faults=[Fault("bomb", size=10**6)]) as server:
        assert len(asked(server).answer) == 10**6


def test_no_redirect_leads_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-of-the-first-server")
    with LLMServer(brain=lambda _m, _b: "42") as other:
        for status in (301, 302, 303, 307, 308):
            fault = Fault("redirect", status=status, to=f"{other.url}/chat/completions")
            with LLMServer(faults=[fault]) as server:
                error = asked(server)
                assert server.stats["requests"] == 1
            assert type(error) is BadRequest
            assert str(error) == (
                f"{server.url} answered {status}: it redirects to {other.url}/chat/completions, "
                "and redirects are not followed: give that address (--base-url) if it is the "
                "right one."
            )
        assert other.stats["requests"] == 0


# The openai library uses names that aiohttp has deprecated.
@pytest.mark.filterwarnings("ignore:.*deprecated and will be removed in:DeprecationWarning")
def test_a_request_goes_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with LLMServer(brain=lambda _m, _b: "42") as proxy:
        address = proxy.url.removesuffix("/v1").replace("//", "//ann:word@")
        monkeypatch.setenv("HTTP_PROXY", address)
        with Chain("http://server.invalid/v1") as client:
            (done,) = outcomes(client, [ask()])
        (seen,) = proxy.requests
    assert done.answer == "42"
    assert seen.headers["Host"] == "server.invalid"
    assert seen.headers["Proxy-Authorization"] == "Basic YW5uOndvcmQ="


def test_a_request_says_nothing_of_this_computer() -> None:
    with LLMServer(brain=lambda _m, _b: "42") as server:
        asked(server)
        (seen,) = server.requests
    assert not any(name.lower().startswith("x-stainless") for name in seen.headers)
