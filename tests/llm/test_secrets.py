"""The key is in nothing that is left of runs that fail, in whatever way they do."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Connection, KeynesianBeautyContest
from sabm_mesa.cli import main
from sabm_mesa.errors import RunError
from sabm_mesa.llm.client import Client
from sabm_mesa.llm.translation import KEY_VARIABLE
from sabm_mesa.recording import Recording
from tests.llm.support import rows
from tests.llm_server import Fault, LLMServer, Reply

# Put together, so that nothing in this repository looks like a key.
KEY = "-".join(["sk", "proj", "".join(chr(ord("A") + i * 7 % 26) for i in range(26)) + "0123"])


@pytest.fixture(autouse=True)
def key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setattr(Client, "_wait", lambda *_: 0.001)


def assert_no_key(folder: Path, *texts: str) -> None:
    """Look through every byte of every file of a folder, and through texts.

    The key is looked for as it is, as a part long enough to be of use, and as JSON and other
    languages may write it.
    """
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    shapes = (KEY, KEY[len("sk-proj-") :], KEY[::-1], KEY.replace("-", "\\u002d"), KEY[:20])
    written = {str(path): path.read_bytes() for path in files}
    written |= {f"text {i}": text.encode("utf-8", "replace") for i, text in enumerate(texts)}
    for name, content in written.items():
        for shape in shapes:
            assert shape.encode() not in content, name
            assert shape.encode("utf-16-le") not in content, name


def echo(messages: list[dict[str, Any]], _body: dict[str, Any]) -> Reply:
    """Says the key in the text and in the reason to finish."""
    del messages
    return Reply(f"Because of {KEY}.\n42", finish_reason=f"stop {KEY}")


SERVERS: dict[str, Callable[[], dict[str, Any]]] = {
    "401": lambda: {"faults": lambda n, _b: Fault("401") if n > 4 else None},
    "401 with the key": lambda: {
        "faults": lambda n, _b: Fault("401", echo_key=True) if n > 4 else None
    },
    "403": lambda: {"faults": lambda n, _b: Fault("403") if n > 4 else None},
    "404": lambda: {"faults": lambda n, _b: Fault("404") if n > 4 else None},
    "429": lambda: {"faults": lambda n, _b: Fault("429") if n > 4 else None},
    "500": lambda: {"faults": lambda n, _b: Fault("500") if n > 4 else None},
    "reset": lambda: {"faults": lambda n, _b: Fault("reset") if n > 4 else None},
    "timeout": lambda: {"faults": lambda n, _b: Fault("hang") if n > 4 else None},
    "answers with the key": lambda: {
        "brain": echo,
        "models": {"stub": KEY},
        "faults": lambda n, _b: Fault("401", echo_key=True) if n > 4 else None,
    },
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("server", SERVERS)
def test_a_failing_run_leaves_no_key(
    server: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    recording = Recording(tmp_path / "run.sqlite")
    with LLMServer(**SERVERS[server]()) as running:
        model = KeynesianBeautyContest(
            n_players=5, n_rounds=3, rng=1, minds="llm:stub", recording=recording,
            connection=Connection(running.url, timeout_s=2.0, max_retries=1),
        )  # fmt: skip
        with pytest.raises(RunError) as caught:
            model.run_model()
        assert running.stats["requests"] > 5
    # As a crash leaves it: the files beside the database are still there.
    assert (tmp_path / "run.sqlite-wal").exists()
    errors = str(caught.value) + repr(caught.value)
    parameters = json.dumps(model.parameters, default=str)
    assert_no_key(tmp_path, errors, parameters, caplog.text, *capfd.readouterr())
    recording.close()
    assert rows(tmp_path / "run.sqlite", "SELECT status FROM runs") == [("failed",)]
    assert_no_key(tmp_path)


@pytest.mark.parametrize("raised", [RuntimeError, SystemExit, LookupError])
def test_a_mind_of_ones_own_that_tells_the_key_when_it_fails(
    raised: type[BaseException], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Careless:
        async def answer(self, ask: Any) -> str:
            if ask.key.agent == 3:
                raise raised(f"POST with Authorization: Bearer {KEY} failed\n{KEY}")
            return "Because.\n42"

    caplog.set_level(logging.DEBUG)
    model = KeynesianBeautyContest(
        n_players=4, rng=1, minds=Careless(), recording=tmp_path / "run.sqlite"
    )
    with pytest.raises(RunError, match=r"\[key\]") as caught:
        model.run_model()
    assert_no_key(tmp_path, str(caught.value), repr(caught.value), caplog.text)


def test_a_scenario_that_tells_the_key_when_it_fails(tmp_path: Path) -> None:
    class Careless(KeynesianBeautyContest):
        def update(self) -> None:
            raise ValueError(KEY)

    path = tmp_path / "run.sqlite"
    model = Careless(n_players=4, rng=1, recording=path)
    with pytest.raises(RunError, match=r"\[key\]") as caught:
        model.run_model()
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", "[key]")]
    assert_no_key(tmp_path, str(caught.value))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("server", ["answers with the key", "401 with the key", "500"])
def test_the_command_line_leaves_no_key(
    server: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    said = []
    with LLMServer(**SERVERS[server]()) as running:
        for arguments in ([], ["--json"], ["--rounds", "1", "--set", "n_players=2"]):
            with pytest.raises(SystemExit):
                main(
                    ["run", "kbc", "--minds", "llm:stub", "--base-url", running.url,
                     "--out", str(tmp_path), *arguments]
                )  # fmt: skip
            said += capfd.readouterr()
    assert_no_key(tmp_path, *said, caplog.text)


def test_a_run_that_is_finished_leaves_no_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    server = LLMServer(brain=echo, models={"stub": KEY}, api_key=KEY)
    with server as running, pytest.raises(SystemExit) as ended:
        main(
            ["run", "kbc", "--minds", "llm:stub", "--base-url", running.url,
             "--out", str(tmp_path), "--json", "--set", "n_players=3"]
        )  # fmt: skip
    assert ended.value.code == 0
    assert {"summary.json", "model.csv", "agents.csv"} <= {p.name for p in tmp_path.iterdir()}
    assert b"[key]" in (tmp_path / "recording.sqlite").read_bytes()
    assert_no_key(tmp_path, *capfd.readouterr(), caplog.text)


def test_the_search_finds_a_key(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"\0" + KEY.encode() + b"\0")
    with pytest.raises(AssertionError):
        assert_no_key(tmp_path)
    (tmp_path / "deep" / "file").write_bytes(b"nothing")
    assert_no_key(tmp_path)
    with pytest.raises(AssertionError):
        assert_no_key(tmp_path, f"x{KEY}")
