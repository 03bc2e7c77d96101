"""Recordings: what stands in the file, when it is there, and what is refused."""

import asyncio
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest, Recording, ScriptedMind, action, communication
from sabm_mesa.core.answers import Reply
from sabm_mesa.core.jsonable import to_json
from sabm_mesa.errors import OutputError, RecordingError
from sabm_mesa.recording import checking, load_runs, writing
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.rows import Statement, insert_text
from sabm_mesa.recording.store import FORMAT, versions
from sabm_mesa.visualization.reading.store import listed
from tests.core.support import Priced, Waiting, rows, tiny

ROOT = Path(__file__).parents[2]


def script(code: str, *arguments: object) -> list[str]:
    """The command that runs a script with the tests in reach."""
    return [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]


async def commit(writer: writing.BatchWriter, *statements: Statement) -> None:
    await writer.committed(*statements)


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 0)])
def test_what_is_recorded_is_synchronized_with_the_disk(
    durable: bool, level: int, tmp_path: Path
) -> None:
    with (
        Recording(tmp_path / "r", durable=durable) as recording,
        closing(recording._connect()) as connection,  # noqa: SLF001 - each connection has its own
    ):
        assert connection.execute("PRAGMA synchronous").fetchone() == (level,)


# The content of the file.


@pytest.fixture
def contest(tmp_path):
    """A run with talk, a persona and answers that had to be asked for again."""

    def answer(ask):
        if ask.name == "communicate":
            return f"I say {ask.key.agent}.\nAnd “more” – 😀"
        if ask.key.agent == 2 and len(ask.rejected) < 2:
            return "about 30"
        return f"Because {ask.key.agent}.\n{ask.key.agent * 10 + ask.key.round}"

    path = tmp_path / "deep" / "er" / "r.sqlite"
    model = KeynesianBeautyContest(
        n_players=3,
        n_rounds=2,
        minds=Priced(answer),
        personas={"calm": 3},
        temperature=0.5,
        rng=[4, 2],
        recording=path,
    )
    model.run_model()
    return path, model


def test_the_run(contest) -> None:
    path, model = contest
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        (run,) = connection.execute("SELECT * FROM runs").fetchall()

    parameters = json.loads(run["parameters"])
    assert (run["run"], run["scenario"], run["status"], run["problem"]) == (
        0, "kbc", "finished", None,
    )  # fmt: skip
    assert run["model"] == "sabm_mesa.models.beauty_contest.kbc.model:KeynesianBeautyContest"
    assert len(run["uid"]) == 32
    assert parameters["n_players"] == 3
    assert parameters["reward_rule"] == "independent"
    assert parameters["minds"] == "priced"
    assert parameters["personas"] == {"calm": 3}
    assert not {"rng", "recording", "connection"} & set(parameters)
    assert json.loads(run["seed"]) == [4, 2]
    assert json.loads(run["minds"]) == {"priced": 3}
    hashes = json.loads(run["prompts"])
    assert hashes == {**model.book.hashes(), "persona calm": hashes["persona calm"]}
    texts = dict(rows(path, "SELECT hash, text FROM prompts"))
    assert {entry: texts[digest] for entry, digest in hashes.items()} == {
        **model.book.entries,
        "persona calm": model.book.persona("calm"),
    }
    assert json.loads(run["versions"]) == versions()
    assert run["started"] < run["ended"]
    assert run["started"].endswith("+00:00")


def test_a_message_is_stored_once(contest) -> None:
    path, _ = contest

    ((texts, different),) = rows(path, "SELECT count(*), count(DISTINCT text) FROM texts")
    ((sent, hashes),) = rows(
        path,
        "SELECT count(*), count(DISTINCT json_extract(message.value, '$[1]')) "
        "FROM asks, json_each(messages) AS message",
    )
    assert texts == different == hashes < sent


def test_values_are_written_as_json() -> None:
    assert to_json(float("nan")) == "null"
    assert to_json({"a": [1.5, float("inf"), (True, None)]}) == '{"a":[1.5,null,[true,null]]}'
    assert to_json({"ä": "“"}) == '{"ä":"“"}'
    assert to_json(Path("x")) == '"x"'
    assert to_json([sys.float_info.max, 2**60]) == "[1.7976931348623157e+308,1152921504606846976]"


def test_an_unknown_price_is_empty_and_values_of_other_types_are_json(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    answers = [Reply("1", cost_usd=float("nan")), 2, [3], 4]
    tiny(minds=ScriptedMind(answers), rng=1, recording=path).step()

    assert rows(path, "SELECT raw, value, cost_usd FROM asks ORDER BY agent, attempt") == [
        ("1", "1", None),
        ("2", "2", 0.0),
        ("[3]", None, 0.0),
        ("4", "4", 0.0),
    ]


@pytest.mark.parametrize("answer_format", ["paper", "json"])
def test_half_a_character_does_not_stop_the_recording(tmp_path, answer_format) -> None:
    path = tmp_path / "r.sqlite"
    text = "oh \ud83d" if answer_format == "paper" else '{"answer": "oh \\ud83d"}'
    mind = ScriptedMind(lambda _: Reply(text, answer_format=answer_format, request="f00d"))
    tiny(communication(), action(), n=1, minds=mind, rng=1, recording=path).step()

    assert rows(path, "SELECT value FROM asks WHERE valid") == [('"oh ?"',)]


# The runs that are recorded, and their files.


def test_runs_share_a_file_one_after_another_and_at_the_same_time(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with Recording(path) as recording:
        models = [tiny(minds="fixed:1", n_rounds=2, rng=i, recording=recording) for i in range(3)]
        for _ in range(2):
            for model in models:
                model.step()
    again = tiny(minds="fixed:1", rng=9, recording=str(path))
    again.step()

    assert rows(path, "SELECT run, seed, status FROM runs") == [
        (i, f"[{seed}]", "finished") for i, seed in enumerate((0, 1, 2, 9))
    ]
    assert [model.recorder.run for model in models] == [0, 1, 2]
    assert again.recording_path == path
    assert rows(path, "SELECT run, count(*) FROM asks GROUP BY run") == [
        (0, 6), (1, 6), (2, 6), (3, 3),
    ]  # fmt: skip


def test_runs_that_cost_nothing_are_recorded_when_asked_for(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for recording in (None, False):
        model = tiny(minds="fixed:1", rng=1, recording=recording)
        model.step()
        assert model.recording_path is None

    assert list(tmp_path.iterdir()) == []


def test_runs_that_are_paid_for_are_recorded_unless_forbidden(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny(minds=Priced(lambda _: "1"), rng=1, recording=False).step()
    assert list(tmp_path.iterdir()) == []

    models = [tiny(minds=Priced(lambda _: "1"), rng=1) for _ in range(2)]
    for model in models:
        model.step()

    assert len({model.recording_path for model in models}) == 2
    for model in models:
        assert model.recording_path.parent == Path("sabm_recordings")
        assert Path("sabm_recordings").stat().st_mode & 0o777 == 0o700  # games of a class are there
        assert rows(model.recording_path, "SELECT status FROM runs") == [("finished",)]


def test_a_run_that_fails_says_why(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = tiny(n_rounds=3, minds=ScriptedMind(["1"] * 4), rng=1, recording=path)
    with pytest.raises(Exception, match="has run out"):
        model.run_model()

    ((status, problem, ended),) = rows(path, "SELECT status, problem, ended FROM runs")
    assert (status, bool(ended)) == ("failed", True)
    assert problem == "The script of 'scripted' has run out at round 1, act, agent 2 (act)."
    assert rows(path, "SELECT round, count(*) FROM asks GROUP BY round") == [(0, 3), (1, 1)]
    assert rows(path, "SELECT round FROM model_data") == [(0,)]


def test_a_closed_recording_takes_no_more(tmp_path) -> None:
    with Recording(tmp_path / "r.sqlite") as recording:
        model = tiny(n_rounds=2, minds=Priced(lambda _: "1"), rng=1, recording=recording)
        model.step()
    with pytest.raises(RecordingError, match="is closed"):
        model.step()

    path = tmp_path / "r.sqlite"
    assert rows(path, "SELECT status FROM runs") == [("running",)]
    assert rows(path, "SELECT count(*) FROM asks") == [(3,)]


def test_the_rows_of_a_round_are_written_without_anybody_waiting(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with Recording(path) as recording:
        model = tiny(n=700, n_rounds=4, minds="fixed:1", rng=1, recording=recording)
        for _ in range(3):
            model.step()
        connection = sqlite3.connect(path, timeout=20)
        seen = 0
        with closing(connection):
            while seen < 700:  # the writer commits a round in groups
                ((seen,),) = connection.execute("SELECT count(*) FROM asks").fetchall()


# Durability.

KILLED = """
import os, signal, sys
from sabm_mesa import action
from tests.core.support import Priced, Tiny

class Doomed(Tiny):
    phases = (action(order="fixed"),)

    def after_act(self, cell, pick):
        super().after_act(cell, pick)
        if len(self.log) == int(sys.argv[2]):
            print(self.log, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

mind = Priced(lambda ask: str(ask.key.agent))
Doomed(n=5, n_rounds=4, minds=mind, rng=1, recording=sys.argv[1]).run_model()
"""


@pytest.mark.slow
@pytest.mark.parametrize("used", [13, 1, 4])
def test_what_was_used_is_in_the_file_when_the_process_is_killed(tmp_path, used) -> None:
    path = tmp_path / "r.sqlite"
    done = subprocess.run(
        script(KILLED, path, used), cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == -signal.SIGKILL, done.stderr
    log = [(i % 5 + 1, str(i % 5 + 1)) for i in range(used)]
    assert rows(path, "SELECT agent, value FROM asks ORDER BY round, agent") == log
    assert rows(path, "SELECT status, ended FROM runs") == [("running", None)]
    assert rows(path, "SELECT count(*) FROM model_data") == [((used - 1) // 5,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]

    tiny(minds="fixed:1", rng=1, recording=path).step()
    assert rows(path, "SELECT run, status FROM runs") == [(0, "running"), (1, "finished")]


WRITER = """
import sys
from tests.core.support import Priced, tiny

print("ready", flush=True)
sys.stdin.readline()
for i in range(5):
    mind = Priced(lambda ask: str(ask.key.agent), spec=sys.argv[2])
    tiny(n=4, n_rounds=3, minds=mind, rng=i, recording=sys.argv[1]).run_model()
"""


@pytest.mark.slow
def test_processes_write_to_one_file_at_the_same_time(tmp_path) -> None:
    path, names = tmp_path / "r.sqlite", ["a", "b", "c"]
    writers = [
        subprocess.Popen(
            script(WRITER, path, name),
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    errors = [writer.communicate(timeout=300)[1] for writer in writers]

    assert errors == ["", "", ""]
    assert rows(path, "SELECT run, status FROM runs ORDER BY run") == [
        (i, "finished") for i in range(15)
    ]
    assert rows(path, "SELECT minds, count(*) FROM runs GROUP BY minds ORDER BY 1") == [
        (f'{{"{name}":4}}', 5) for name in names
    ]
    assert (
        rows(path, "SELECT count(*), count(DISTINCT mind), sum(value) FROM asks GROUP BY run")
        == [(12, 1, 30)] * 15
    )
    assert rows(path, "SELECT count(*) FROM model_data") == [(45,)]


FULL = """
import resource, sys
from sabm_mesa import action
from sabm_mesa.errors import RecordingError
from tests.core.support import Priced, Tiny

class Full(Tiny):
    phases = (action(order="fixed"),)

    def after_act(self, cell, pick):
        super().after_act(cell, pick)
        print(self.round, cell.unique_id, pick.value, flush=True)

mind = Priced(lambda ask: "x" * 9000 if not ask.rejected else str(ask.key.round))
model = Full(n=3, n_rounds=1000, minds=mind, rng=1, recording=sys.argv[1])
model.step()
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
try:
    model.run_model()
except RecordingError as error:
    print(error, file=sys.stderr)
    assert not model.running
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_when_the_disk_is_full_the_run_stops_and_what_was_used_is_kept(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    done = subprocess.run(
        script(FULL, path), cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"Cannot write the recording {path}: ")
    assert "Is the disk full?" in done.stderr
    assert "What was committed before is kept." in done.stderr
    assert done.stderr.count("\n") == 1
    used = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    kept = rows(path, "SELECT round, agent, value FROM asks WHERE valid ORDER BY round, agent")
    assert 3 < len(used) < 3000
    assert [(round_, agent, int(value)) for round_, agent, value in kept][: len(used)] == used
    assert len(kept) - len(used) in (0, 1)
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.slow
def test_a_recording_that_is_open_twice_stays_locked_against_other_processes(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    other = f"from sabm_mesa.recording import Recording; Recording({str(path)!r}).close()"
    Recording(path).close()
    with Recording(path) as first, Recording(path) as second:  # nothing is in the log yet
        listed(tmp_path)
        subprocess.run([sys.executable, "-c", other], check=True)
        for recording in (first, second):
            asyncio.run(commit(recording.writer, insert_text("a text")))


LOST = """
import resource, sys
from sabm_mesa import Recording, ScriptedMind
from sabm_mesa.errors import RecordingError
from tests.core.support import tiny

recording = Recording(sys.argv[1])
mind = ScriptedMind(lambda ask: "x" * 90_000 if not ask.rejected else "1")
model = tiny(n_rounds=2, minds=mind, rng=1, recording=recording)
model.begin()
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
try:
    model.step()
    recording.close()
except RecordingError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_closing_says_when_the_rest_cannot_be_written(tmp_path) -> None:
    command = script(LOST, tmp_path / "r.sqlite")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.stdout.startswith("Cannot write the recording"), done.stderr


def test_a_row_that_does_not_fit_is_an_error_and_not_a_silence(tmp_path) -> None:
    huge = Reply("1", prompt_tokens=2**70)
    model = tiny(minds=ScriptedMind(lambda _: huge), rng=1, recording=tmp_path / "r.sqlite")

    with pytest.raises(RecordingError, match="too large"):
        model.step()
    assert not model.running


# Refusals.


def recording_refused(path, kind=RecordingError):
    with pytest.raises(kind) as refused:
        tiny(minds="fixed:1", rng=1, recording=path).step()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def make(path, *statements: str) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path.read_bytes()


OTHER_FILES = {
    "not a recording; choose another": ("CREATE TABLE t (x)", "INSERT INTO t VALUES (1)"),
    "is not a usable recording (file is not a database)": b"Dear diary, " * 100,
    "is not a usable recording": b"SQLite format 3\0" + b"\xff" * 5000,
}


@pytest.mark.parametrize("says", OTHER_FILES)
def test_another_or_damaged_file_is_refused_and_left_as_it_is(says, tmp_path) -> None:
    path, content = tmp_path / "other.sqlite", OTHER_FILES[says]
    if isinstance(content, tuple):
        make(path, *content)
    else:
        path.write_bytes(content)
    before = path.read_bytes()

    assert says in recording_refused(path)
    assert path.read_bytes() == before


def test_another_format_is_refused(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    tiny(minds="fixed:1", rng=1, recording=path).step()
    for version in (FORMAT + 1, 99):
        make(path, f"PRAGMA user_version = {version}")
        assert f"has format {version}, and this sabm-mesa reads" in recording_refused(path)
    assert rows(path, "SELECT count(*) FROM runs") == [(1,)]


def test_a_recording_without_its_tables_is_refused(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    tiny(minds="fixed:1", rng=1, recording=path).step()
    make(path, "DROP TABLE runs")

    assert "its table 'runs' is missing" in recording_refused(path)


def test_an_empty_file_becomes_a_recording(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    path.touch()
    tiny(minds="fixed:1", rng=1, recording=path).step()

    assert rows(path, "SELECT count(*) FROM runs") == [(1,)]


def test_a_folder_that_cannot_be_written(tmp_path) -> None:
    (tmp_path / "file").write_text("x")

    below = recording_refused(tmp_path / "file" / "r.sqlite", OutputError)
    folder = recording_refused(tmp_path, OutputError)
    assert below.endswith("choose another folder.")
    assert "Is a directory" in folder


def test_answers_of_minds_that_wait_are_written_in_the_order_of_the_keys(tmp_path) -> None:
    """Two runs with other latencies have the same asks in the same order."""
    found = []
    for seed in (1, 2):
        path = tmp_path / f"{seed}.sqlite"
        mind = Waiting(lambda ask: str(ask.key.agent), seed)
        tiny(n=6, n_rounds=2, minds=mind, rng=1, recording=path).run_model()
        found.append(rows(path, "SELECT round, phase, agent, call, attempt, value FROM asks"))

    assert found[0] == found[1]


def test_what_is_written_needs_no_further_descriptor(tmp_path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    path = tmp_path / "recording.sqlite"
    with Recording(path) as recording, asyncio.Runner() as runner:
        runner.run(commit(recording.writer))
        with ExitStack() as taken:
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (len([*Path("/dev/fd").iterdir()]) + 8, hard)
            )
            taken.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
            with suppress(OSError):
                while True:
                    taken.callback(os.close, os.dup(0))
            row = ("INSERT INTO texts VALUES (?, ?)", ("7", "a text"))
            runner.run(commit(recording.writer, row))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM texts").fetchall() == [("7", "a text")]


def test_versions_are_those_of_the_forks_that_were_applied(tmp_path) -> None:
    path = tmp_path / "run.sqlite"
    tiny(recording=path, minds="fixed:1").run_model()
    (run,) = load_runs(path)
    forks = [{"versions": {"py:a.py": "1"}}, {}, {"versions": {"py:a.py": "2", "py:b.py": "3"}}]
    forked = replace(run, versions={"mesa": "3"}, forks=forks)

    assert forked.versions_at(0) == {"mesa": "3"}
    assert forked.versions_at(2) == {"mesa": "3", "py:a.py": "1"}
    assert forked.versions_at(3) == {"mesa": "3", "py:a.py": "2", "py:b.py": "3"}


def test_values_are_checked_once_while_a_recording_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.sqlite"
    KeynesianBeautyContest(n_players=2, n_rounds=1, rng=1, recording=path).run_model()
    checked = []
    real = checking.check_rows

    def counted(connection: sqlite3.Connection, kinds: tuple[type, ...]) -> None:
        checked.append(path.stat().st_mtime_ns)
        real(connection, kinds)

    monkeypatch.setattr(checking, "check_rows", counted)
    frames = Recorded(path)
    frames.runs()
    frames.runs()
    assert len(checked) == 1
    KeynesianBeautyContest(n_players=2, n_rounds=1, rng=2, recording=path).run_model()
    assert len(frames.runs()) == 2
    assert len(set(checked)) == 2
