"""The key of the server, and the rights of hosts on a server that others can reach."""

from pathlib import Path

import pytest

from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.visualization import access
from sabm_mesa.visualization.reading.store import runs_of
from sabm_mesa.visualization.server import serve


@pytest.fixture(autouse=True)
def _nobody_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_hosts", set())
    monkeypatch.setattr(access, "NETWORK", access.Network())
    for variable in (access.VARIABLE, URL_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


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


def test_on_loopback_every_address_and_path_will_do() -> None:
    assert not access.open_to_others()
    access.check_minds({"llm:a@http://elsewhere.example/v1": 2, "py:mine.py": 1})
    access.check_path(Path("/etc/none.sqlite"))


def test_where_others_come_the_key_stays_and_files_are_those_of_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    access.NETWORK.address = "http://192.0.2.7:8765"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.sqlite").symlink_to("/etc/hosts")
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
    access.check_minds("llm:a@http://b.example/v1")
