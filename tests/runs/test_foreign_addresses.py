"""Recordings of others: nothing is sent to their addresses unless somebody here says so."""

import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Budget, Connection, KeynesianBeautyContest
from sabm_mesa.cli import main
from sabm_mesa.errors import BudgetExceeded, ParameterError
from sabm_mesa.llm import Endpoint, close_all
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.llm.translation import KEY_VARIABLE
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.planned import RunSpec, run_missing
from sabm_mesa.runs.rerun import fork, resume
from tests.llm_server import LLMServer

KEY = "-".join(["sk", "mine", "0123456789"])


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    yield
    close_all()


def foreign(server: LLMServer) -> str:
    """An address that leads here, and does not look like it."""
    return server.url.replace("127.0.0.1", "0.0.0.0")


def cut_off(path: Path, base_url: str | None, minds: Any = "llm:m", **more: Any) -> Path:
    """The recording of a run that a cap has ended."""
    model = KeynesianBeautyContest(
        n_players=3, n_rounds=2, rng=1, minds=minds, recording=path,
        connection=Connection(base_url, budget=Budget(max_asks=4)), **more,
    )  # fmt: skip
    with pytest.raises(BudgetExceeded):
        model.run_model()
    model.close()
    return path


def keys(server: LLMServer, since: int) -> set[str]:
    return {seen.headers["Authorization"] for seen in server.requests[since:]}


def test_the_address_of_a_recording_is_not_asked(tmp_path: Path) -> None:
    with LLMServer() as server:
        path = cut_off(tmp_path / "run.sqlite", foreign(server))
        before = server.stats["requests"]
        for go_on in (
            lambda: resume(path),
            lambda: fork(path, 1, {"n_rounds": 3}, tmp_path / "fork.sqlite"),
        ):
            with pytest.raises(ParameterError) as caught:
                go_on()
            assert str(caught.value).endswith(
                f"The recording uses {foreign(server)}, which this command does not name, so "
                f"nothing is sent there: if the address is right, add --base-url {foreign(server)} "
                "(OPENAI_API_KEY is then sent too), or list it in a file (--endpoints)."
            )
        assert server.stats["requests"] == before
        resume(path, connection=Connection(foreign(server)))
        assert keys(server, before) == {f"Bearer {KEY}"}
    assert not (tmp_path / "fork.sqlite").exists()


def test_the_addresses_in_the_minds_of_a_recording_are_not_asked(tmp_path: Path) -> None:
    with LLMServer() as server:
        path = cut_off(tmp_path / "run.sqlite", None, f"llm:m@{foreign(server)}")
        before = server.stats["requests"]
        for connection in (None, Connection(), Connection("http://127.0.0.1:9/v1")):
            with pytest.raises(ParameterError, match="which this command does not name"):
                resume(path, connection=connection)
        assert server.stats["requests"] == before
        listed = Connection(endpoints={"lab": Endpoint(foreign(server), "lab")})
        resume(path, connection=listed)
        assert keys(server, before) == {"Bearer none"}


def test_this_computer_is_asked_without_the_key(tmp_path: Path) -> None:
    with LLMServer() as server:
        path = cut_off(tmp_path / "run.sqlite", server.url)
        before = server.stats["requests"]
        resume(path, connection=Connection.of_recorded({"base_url": server.url}))
        assert keys(server, before) == {"Bearer none"}


def test_the_address_of_this_command_is_asked_with_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LLMServer() as server:
        path = cut_off(tmp_path / "run.sqlite", foreign(server))
        before = server.stats["requests"]
        monkeypatch.setenv(URL_VARIABLE, foreign(server))
        resume(path, connection=Connection())
        assert keys(server, before) == {f"Bearer {KEY}"}


def test_a_fork_to_a_mind_that_is_named_now_asks_it(tmp_path: Path) -> None:
    with LLMServer() as mine, LLMServer() as theirs:
        path = cut_off(tmp_path / "run.sqlite", foreign(theirs))
        before = theirs.stats["requests"]
        new = {"minds": f"llm:mine@{foreign(mine)}"}
        recorded = Connection.of_recorded({"base_url": foreign(theirs)})
        fork(path, 1, new, tmp_path / "fork.sqlite", connection=recorded)
        assert mine.stats["requests"] > 0
        assert keys(mine, 0) == {"Bearer none"}
        assert theirs.stats["requests"] == before


def test_a_planned_run_that_a_recording_claims_to_hold_adds_no_address(tmp_path: Path) -> None:
    with LLMServer() as mine, LLMServer() as theirs:
        spec = RunSpec(KeynesianBeautyContest, {"n_players": 3, "n_rounds": 2, "minds": "llm:m"}, 1)
        path = tmp_path / "run.sqlite"
        model = KeynesianBeautyContest(
            n_players=3, n_rounds=2, rng=1, minds=f"llm:m@{foreign(theirs)}", recording=path,
            connection=Connection(budget=Budget(max_asks=4)),
        )  # fmt: skip
        model.tags = spec.recorded_tags
        with pytest.raises(BudgetExceeded):
            model.run_model()
        model.close()
        before = theirs.stats["requests"]
        with pytest.raises(ParameterError, match="which this command does not name"):
            run_missing({path: [spec]}, Connection(mine.url))
        assert theirs.stats["requests"] == before


def test_without_a_terminal_the_command_ends_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LLMServer() as server:
        path = cut_off(tmp_path / "run.sqlite", foreign(server))
        before = server.stats["requests"]
        for command in (
            ["resume", str(path)],
            ["fork", str(path), "--at", "1", "--rounds", "3", "--out", str(tmp_path / "fork")],
        ):
            with pytest.raises(SystemExit) as ended:
                main(command)
            assert ended.value.code == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert f"--base-url {foreign(server)}" in line
        assert server.stats["requests"] == before


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_at_a_terminal_the_command_asks(
    typed: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    host, guest = pty.openpty()
    with (
        LLMServer() as server,
        os.fdopen(host, "r+b", buffering=0) as terminal,
        os.fdopen(guest) as stdin,
    ):
        path = cut_off(tmp_path / "run.sqlite", foreign(server))
        before = server.stats["requests"]
        monkeypatch.setattr(sys, "stdin", stdin)
        terminal.write(typed.encode())
        with pytest.raises(SystemExit) as ended:
            main(["resume", str(path), "--max-asks", "100"])
        assert ended.value.code == status
        said = capsys.readouterr().out
        assert f"The recording uses {foreign(server)}, which this command does" in said
        assert "Prompts are sent there, and OPENAI_API_KEY if it is set." in said
        assert keys(server, before) == ({f"Bearer {KEY}"} if status == 0 else set())
        (run,) = load_runs(path)
        assert run.finished is (status == 0)
