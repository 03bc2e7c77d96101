"""Who may use the pages of the host of a server that others can reach."""

import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm.address import URL_VARIABLE
from sabm_mesa.visualization import access
from sabm_mesa.visualization.records.store import runs_of
from sabm_mesa.visualization.stage import Stage
from tests.visualization.conftest import WAIT_MS, Server


@pytest.fixture(autouse=True)
def _nobody_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_known", set())
    for variable in (access.VARIABLE, access.LISTENS, "SERVER_NAME", URL_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


WAIT_S = WAIT_MS / 1000
FROM_AFAR = {"host": ["10.0.0.7:8765"]}


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "localhost"])
def test_on_loopback_all_may(host: str) -> None:
    assert access.may_host("anybody", None, {"host": [host]})


@pytest.mark.parametrize(
    "headers",
    [
        {"host": ["127.0.0.1:8765"], "origin": ["http://evil.example"]},
        {"host": ["127.0.0.1:8765"], "origin": ["http://127.0.0.1:9999"]},
        {"host": ["127.0.0.1:8765"], "origin": ["null"]},
        {"host": ["evil.example:8765"], "origin": ["http://evil.example:8765"]},
        {"host": ["127.0.0.1.evil.example"]},
        {},
    ],
)
def test_the_page_of_another_site_may_not(
    headers: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not access.may_host("anybody", None, headers)
    if "origin" in headers and headers["host"] != ["evil.example:8765"]:
        monkeypatch.setenv(access.VARIABLE, "open sesame")
        assert not access.may_host("anybody", "key=open+sesame", headers)


def test_with_a_key_only_who_showed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.VARIABLE, "")
    key = access.new_key()

    assert len(key) >= 20
    assert not access.may_host("a", None, FROM_AFAR)
    assert not access.may_host("a", "key=wrong", FROM_AFAR)
    assert access.may_host("a", f"key={key}", FROM_AFAR)
    assert access.may_host("a", None, FROM_AFAR)  # on the next page too
    assert not access.may_host("b", "", FROM_AFAR)


def test_on_loopback_every_address_and_path_will_do() -> None:
    assert not access.open_to_others()
    assert access.hosts_share()
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


def test_only_with_a_key_all_hosts_of_an_open_server_are_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(access.LISTENS, "0.0.0.0")
    assert not access.hosts_share()
    monkeypatch.setenv(access.VARIABLE, "sesame")
    assert access.hosts_share()


@pytest.mark.parametrize(
    ("name", "value"),
    [("base_url", "http://b.example/v1"), ("minds", "llm:a@http://b.example/v1")],
)
def test_a_page_sends_the_key_nowhere_else(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(access.LISTENS, "0.0.0.0")
    stage = Stage(KeynesianBeautyContest, {})
    try:
        stage.set(name, value)
        stage.reset()
        deadline = time.monotonic() + WAIT_S
        while stage.busy:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert "its key is sent to no address" in stage.problem
    finally:
        stage.close()
        stage.show.join(WAIT_S)


def test_a_page_of_the_host_opens_with_the_key(
    tmp_path: Path, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(access.VARIABLE, "open sesame")
    server = Server(tmp_path)
    try:
        with chromium.new_context() as context:
            context.set_default_timeout(WAIT_MS)
            page = context.new_page()
            page.goto(f"{server.url}/scenario/kbc")
            page.get_by_text("This page is for the host").wait_for()
            assert page.get_by_role("button", name="Play").count() == 0
            page.goto(f"{server.url}/scenario/kbc?key=open+sesame")
            page.get_by_role("button", name="Play").wait_for()
            page.goto(f"{server.url}/scenario/bertrand")
            page.get_by_role("button", name="Play").wait_for()
            page.get_by_text("Language models", exact=True).click()
            page.get_by_text("its key is sent to no address that is given here").wait_for()
            page.goto(f"{server.url}/recording?file=/etc/hosts")
            page.get_by_text("only recordings below").wait_for()
        with chromium.new_context() as other:
            other.set_default_timeout(WAIT_MS)
            page = other.new_page()
            page.goto(f"{server.url}/host")
            page.get_by_text("This page is for the host").wait_for()
            page.goto(f"{server.url}/play/nobody")
            page.get_by_text("This link leads to no game").wait_for()
            assert "This page is for the host" not in page.content()
    finally:
        server.close()
