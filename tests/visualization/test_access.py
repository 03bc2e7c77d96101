"""Rights to the pages of the host, on a server that others can reach."""

import time
from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.visualization import access
from sabm_mesa.visualization.page_state import PageState
from sabm_mesa.visualization.records.store import runs_of
from sabm_mesa.visualization.server import serve


@pytest.fixture(autouse=True)
def _nobody_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_hosts", set())
    for variable in (access.VARIABLE, access.LISTENS, "SERVER_NAME", URL_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


WAIT_S = 120


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "localhost"])
def test_a_page_of_the_viewer_is_called_by_an_address_of_loopback(host: str) -> None:
    assert access.is_own_page({"host": host}, socket=True)
    assert access.is_own_page({"host": host, "origin": f"http://{host}"}, socket=True)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:8765", "origin": "http://evil.example"},
        {"host": "127.0.0.1:8765", "origin": "http://127.0.0.1:9999"},
        {"host": "127.0.0.1:8765", "origin": "null"},
        {"host": "evil.example:8765", "origin": "http://evil.example:8765"},
        {"host": "127.0.0.1.evil.example"},
        {},
    ],
)
def test_the_page_of_another_site_may_not(
    headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not access.is_own_page(headers, socket=True)
    if "origin" in headers and headers["host"] != "evil.example:8765":
        monkeypatch.setenv(access.VARIABLE, "open sesame, now")
        assert not access.is_own_page(headers, socket=True)


def test_only_a_browser_that_showed_the_key_is_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    key = access.host_key()
    assert len(key) >= 20
    assert access.admit("wrong") is None
    assert access.admit("") is None
    secret = access.admit(key)
    assert secret not in {None, key}
    assert access.may_host({"other": "a", "sabm-host-8765": secret})
    for cookies in ({}, {"sabm-host-8765": key}, {"sabm-host-8765": ""}, {"session": secret}):
        assert not access.may_host(cookies)
    monkeypatch.setenv(access.VARIABLE, "open sesame, now")
    assert access.admit(key) is None
    assert access.may_host({"sabm-host-80": access.admit("open sesame, now")})


@pytest.mark.parametrize("key", ["a", "open sesame", "a" * (access.SHORTEST_KEY - 1)])
def test_a_key_that_can_be_guessed_is_refused(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.VARIABLE, key)
    with pytest.raises(ParameterError, match=f"SABM_HOST_KEY has {len(key)} characters"):
        serve("127.0.0.1", 1, open_browser=False)
    with pytest.raises(ParameterError, match="choose a longer key"):
        access.admit(key)


def test_a_ticket_works_once_and_a_second_use_takes_it_back() -> None:
    ticket = access.new_ticket()
    first = {"sabm-host-8765": access.admit(ticket)}
    assert access.may_host(first)
    assert access.admit(ticket) is None
    assert not access.may_host(first)
    assert access.admit(ticket) is None


@pytest.mark.parametrize(
    "minds", ["llm:a", "py:mine.py", "gguf:a.gguf", "human", {"classical": 2, "llm:a@http://b": 1}]
)
def test_without_a_host_minds_use_no_key_and_run_no_file(minds: str | dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="takes the key of this viewer"):
        access.check_kinds(minds)
    access.check_kinds({"classical": 1, "classical:imitate": 1, "fixed:3": 1})
    with pytest.raises(ParameterError, match="takes the key of this viewer"):
        PageState(KeynesianBeautyContest, {"minds": minds}, host=False)


def test_on_loopback_every_address_and_path_will_do() -> None:
    assert not access.open_to_others()
    access.check_address("http://elsewhere.example/v1")
    access.check_minds({"llm:a@http://elsewhere.example/v1": 2, "py:mine.py": 1})
    access.check_path(Path("/etc/none.sqlite"))


@pytest.mark.parametrize("variable", [access.LISTENS, "SERVER_NAME", access.VARIABLE])
def test_where_others_come_the_key_stays_and_files_are_those_of_the_folder(
    variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, "0.0.0.0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.sqlite").symlink_to("/etc/hosts")
    with pytest.raises(ParameterError, match="its key is sent to no address"):
        access.check_address("http://elsewhere.example/v1")
    for minds in ("llm:a@http://b.example/v1", {"fixed:1": 1, "llm:a@c@http://b.example/v1": 1}):
        with pytest.raises(ParameterError, match=r"sabm view --base-url http://b\.example/v1"):
            access.check_minds(minds)
    access.check_minds({"classical": 1, "llm:a": 1, "llm:a@b": 1, "fixed:x@http://b": 1})
    with pytest.raises(ParameterError, match="no file that is named in a browser is run"):
        access.check_minds({"classical": 1, "py:mine.py": 1})
    for model in ("/etc/hosts", "../small.gguf", "link.sqlite", "~/small.gguf"):
        with pytest.raises(ParameterError, match="only models below"):
            access.check_minds({"classical": 1, f"gguf:{model}": 1})
    access.check_minds("gguf:models/small.gguf")
    for path in ("/etc/hosts", "../other.sqlite", "link.sqlite"):
        with pytest.raises(RecordingError, match="only recordings below"):
            access.check_path(tmp_path / path)
        with pytest.raises(RecordingError, match="only recordings below"):
            runs_of(tmp_path / path)
    access.check_path(tmp_path / "below" / "one.sqlite")
    monkeypatch.setenv(URL_VARIABLE, "http://b.example/v1/")
    access.check_address("http://b.example/v1")
    access.check_address(None)


@pytest.mark.parametrize(
    ("name", "value"),
    [("base_url", "http://b.example/v1"), ("minds", "llm:a@http://b.example/v1")],
)
def test_a_page_sends_the_key_nowhere_else(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(access.LISTENS, "0.0.0.0")
    page_state = PageState(KeynesianBeautyContest, {})
    try:
        page_state.set(name, value)
        page_state.reset()
        deadline = time.monotonic() + WAIT_S
        while page_state.busy:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert "its key is sent to no address" in page_state.problem
    finally:
        page_state.close()
        page_state.controller.join(WAIT_S)
