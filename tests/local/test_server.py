"""The server of a local model: what it is asked, what is recorded, when it ends."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from sabm_mesa import Budget, Connection, KeynesianBeautyContest, fork, replay, resume
from sabm_mesa.errors import BadRequest, BudgetExceeded, LLMError, ParameterError, RecordingError
from sabm_mesa.llm import close_all, connect_local, release_local
from sabm_mesa.llm.weights import BOX, weights_of
from tests.cli.support import Sabm, one_line
from tests.llm.support import ask, outcomes, rows
from tests.local.conftest import TINY

pytestmark = pytest.mark.slow

SHA256 = BOX.sha256
SCRIPT = "llama_server.py"


def servers(of: int = os.getpid()) -> list[psutil.Process]:
    """The servers that a process has started, and that still run."""
    found = []
    for child in psutil.Process(of).children():
        with suppress(psutil.ZombieProcess):
            found += [child] if any(SCRIPT in part for part in child.cmdline()) else []
    return found


def wait_for(done: Callable[[], object], what: str) -> None:
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end, f"in vain for {what}"
        time.sleep(0.02)


def contest(recording: Path | bool = False, **given: object) -> KeynesianBeautyContest:
    model = KeynesianBeautyContest(**TINY | {"minds": "local"} | given, recording=recording)
    model.run_model()
    return model


def answers(path: Path) -> int:
    """The answers in a recording, which may not be there yet."""
    try:
        return len(rows(path, "SELECT * FROM asks"))
    except sqlite3.OperationalError:
        return 0


def text_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as file:
        return "\n".join(file.iterdump())


def test_answers_are_recorded_with_file_and_runtime_and_neither_port_nor_key(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.sqlite"
    model = contest(path)
    ((line,), *_) = rows(
        path, "SELECT text FROM asks JOIN texts ON texts.hash = provenance LIMIT 1"
    )
    told = json.loads(line)
    found = rows(path, "SELECT DISTINCT served_model, cost_usd, form FROM asks")
    ((versions,),) = rows(path, "SELECT versions FROM runs")

    assert model.total.invalid == 0
    size = weights_of("smollm2").path.stat().st_size
    name = f"SmolLM2-135M-Instruct.Q4_1.gguf, {size} bytes, sha256 {SHA256}"
    assert found == [(name, 0.0, "json")]
    assert re.fullmatch(r"llama\.cpp \(xllamacpp [\d.]+\)", told["provider"])
    assert told["sent"]["max_tokens"] == 320
    assert "seed" in told["sent"]
    assert json.loads(versions)["local"] == SHA256
    assert "xllamacpp" in json.loads(versions)
    assert "127.0.0.1:" not in text_of(path)


def test_a_recording_is_replayed_without_weights_and_goes_on_at_another_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.sqlite"
    with pytest.raises(BudgetExceeded):
        contest(path, n_rounds=2, connection=Connection(budget=Budget(max_asks=3)))
    ((first,),) = rows(path, "SELECT count(*) FROM asks")
    close_all()
    (done,) = resume(path, connection=Connection()).models
    close_all()
    with monkeypatch.context() as empty:
        empty.setenv("XDG_CACHE_HOME", str(tmp_path))
        (again,) = replay(path).models

    assert first == 3
    assert again.agent_frame().equals(done.agent_frame())
    assert servers() == []


def test_a_run_does_not_go_on_with_another_file(tmp_path: Path) -> None:
    path, file = tmp_path / "r.sqlite", tmp_path / "mine.gguf"
    content = weights_of("smollm2").path.read_bytes()
    file.write_bytes(content)
    with pytest.raises(BudgetExceeded):
        contest(path, minds=f"gguf:{file}", connection=Connection(budget=Budget(max_asks=1)))
    close_all()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    with pytest.raises(
        RecordingError, match=r"was answered by another version of gguf:.*put the old file back"
    ):
        resume(path, connection=Connection())


def test_a_fork_goes_on_with_the_model_in_the_box(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    contest(path, minds="classical", n_rounds=2)

    (model,) = fork(path, 1, {"minds": "local"}, tmp_path / "f.sqlite").models

    frame = model.agent_frame()
    assert set(frame.loc[frame["round"] == 1, "mind"]) == {"local"}
    assert rows(tmp_path / "f.sqlite", "SELECT DISTINCT form FROM asks WHERE round = 1") == [
        ("json",)
    ]


def test_a_sweep_on_processes_has_one_server_and_the_form_can_be_set(
    sabm: Sabm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = sabm(
        "sweep", "kbc", "--minds", "local", "--vary", "answer_format=paper,json", "--runs", 1,
        "--set", "n_players=2", "--rounds", 1, "--on", "processes", "--out", tmp_path,
    )  # fmt: skip

    assert outcome.status == 0, outcome.err
    assert caplog.text.count("runs on this machine") == 1
    found = rows(tmp_path / "recording.sqlite", "SELECT DISTINCT form FROM asks ORDER BY form")
    assert found == [("json",), ("paper",)]


def test_a_later_run_that_needs_a_longer_context_restarts_an_idle_server() -> None:
    path = weights_of("smollm2").path
    client, _ = connect_local(path, connection=Connection(context=512))
    fine, never = outcomes(
        client, [ask("Say yes.", max_tokens=5, seed=1), ask("yes " * 600, max_tokens=5, seed=1)]
    )
    assert fine.answer
    assert re.search(r"need a context of 6\d\d tokens, and the limit is 512", str(never))
    (first,) = servers()
    release_local(client)

    client, _ = connect_local(path, connection=Connection(context=1024))
    (longer,) = outcomes(client, [ask("yes " * 600, max_tokens=5, seed=1)])

    assert longer.prompt_tokens > 600
    assert not first.is_running()
    assert len(servers()) == 1


def test_a_context_that_was_set_is_kept() -> None:
    path = weights_of("smollm2").path
    client, _ = connect_local(path, "context=256&slots=1")
    assert connect_local(path, "slots=1&context=256")[0]
    with pytest.raises(ParameterError, match="runs already with other options"):
        connect_local(path, "slots=2")
    assert len(servers()) == 1

    (failed,) = outcomes(client, [ask("yes " * 300, max_tokens=5, seed=1)])

    assert isinstance(failed, BadRequest)
    assert "the limit is 256 (context is set to that)" in str(failed)
    assert f"begin again with a longer one (--minds 'gguf:{path}?slots=1&context=1024')" in str(
        failed
    )


def test_a_run_that_would_fail_again_is_not_said_to_go_on(sabm: Sabm, tmp_path: Path) -> None:
    spec = "local?context=512"

    outcome = sabm("run", "kbc", "--minds", spec, "--set", "n_players=2", "--out", tmp_path)

    assert outcome.status == 1
    assert "begin again with a longer one" in outcome.err
    assert "sabm resume" not in outcome.err


def test_thoughts_get_no_second_request_where_the_template_has_no_place_for_them() -> None:
    client, _ = connect_local(weights_of("smollm2").path)

    (done,) = outcomes(client, [ask("Count to 1000.", max_tokens=5, seed=1)])

    assert (done.finish_reason, done.completion_tokens, done.retries) == ("length", 5, 0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda all_: all_[:50_000_000], "is the file complete"),
        (lambda all_: all_.replace(b"llama", b"lxama", 1), "unknown model architecture: 'lxama'"),
    ],
)
def test_a_file_that_the_runtime_cannot_load_is_one_line(
    sabm: Sabm, tmp_path: Path, change: Callable[[bytes], bytes], says: str
) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(change(weights_of("smollm2").path.read_bytes()))

    outcome = sabm("run", "kbc", "--minds", f"gguf:{path}", "--out", tmp_path / "out")

    assert outcome.status == 2
    assert says in one_line(outcome)
    assert not (tmp_path / "out").exists()
    assert servers() == []


def test_flipped_bits_in_the_weights_of_the_box_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = weights_of("smollm2").path.read_bytes()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = BOX.path
    path.parent.mkdir(parents=True)
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])

    with pytest.raises(ParameterError, match=r"are damaged .*: sabm models get smollm2"):
        contest()


def test_a_server_that_ends_by_itself_is_an_error() -> None:
    client, _ = connect_local(weights_of("smollm2").path)
    servers()[0].kill()
    wait_for(lambda: not servers(), "the end of the server")

    (failed,) = outcomes(client, [ask("Say yes.", max_tokens=5, seed=1)])

    assert type(failed) is LLMError
    assert "ended by itself (signal 9)" in str(failed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_with_its_command_and_the_run_goes_on(
    sabm: Sabm, tmp_path: Path, number: int
) -> None:
    path = tmp_path / "recording.sqlite"
    command = [
        sys.executable, "-m", "sabm_mesa", "run", "kbc", "--minds", "local", "--seed", "1",
        "--rounds", "1", "--set", "n_players=3", "--set", "max_tokens=64",
        "--max-concurrency", "1", "--out", str(tmp_path),
    ]  # fmt: skip
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: answers(path), "an answer")
    (server,) = servers(running.pid)
    running.send_signal(number)
    _, said = running.communicate(timeout=120)

    wait_for(lambda: not server.is_running(), "the end of the server")
    assert "Traceback" not in said
    assert "paid" not in said  # nor is an answer that cost nothing reported as lost
    assert "lost" not in said
    assert rows(path, "SELECT status = 'finished' FROM runs") == [(0,)]
    assert sabm("resume", path).status == 0
    assert sabm("replay", path).status == 0


def test_what_requests_begin_with_is_read_twice_at_most() -> None:
    client, _ = connect_local(weights_of("smollm2").path)
    shared = "You take part in a contest with other people. " * 14
    questions = [ask(f"{shared} You are player {i}.", max_tokens=2, seed=1) for i in range(6)]

    read = sorted(done.cached_tokens for done in outcomes(client, questions))

    assert read[2] > 120
