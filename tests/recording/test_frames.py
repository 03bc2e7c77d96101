"""The data frames of a recording: what their columns mean, and what damage does to them."""

import json
import math
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import pandas as pd
import pytest

from sabm_mesa import Recording, ScriptedMind, action, communication
from sabm_mesa.errors import RecordingError, UnknownName
from sabm_mesa.models.registry import scenario
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.rows import AskRow, columns
from tests.core.support import Priced, rows, tiny
from tests.runs.reruns import change

FRAMES = ["runs", "asks", "decisions", "model_data", "agent_data", "messages"]


def answer(ask):
    """Agent 1 answers at once; agent 2 at the second attempt in round 0, and never in round 1."""
    if ask.key.agent == 2 and (ask.key.round == 1 or not ask.rejected):
        return "about 7"
    return str(10 * ask.key.round + ask.key.agent)


@pytest.fixture
def played(tmp_path):
    """A run of two agents and two rounds, with four asks in seven attempts."""
    path = tmp_path / "r.sqlite"
    model = tiny(n=2, n_rounds=2, minds=Priced(answer), rng=5, recording=path)
    model.run_model()
    return path, model


def one(frame: pd.DataFrame) -> dict:
    (row,) = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return row


def test_reading_leaves_no_log_behind_and_what_stands_in_one_where_it_is(played, tmp_path) -> None:
    path, _ = played
    before = path.read_bytes()
    with closing(sqlite3.connect(path)) as held:  # who dies now leaves a log with a commit in it
        held.execute("UPDATE runs SET problem = 'lost power'")
        held.commit()
        left = tmp_path / "left"
        shutil.copytree(tmp_path, left, ignore=shutil.ignore_patterns("left"))
    log = left / "r.sqlite-wal"
    kept = log.read_bytes()

    for each in (path, left / "r.sqlite"):
        assert one(Recorded(each).runs())["problem"] == "lost power"
    assert {each.name for each in tmp_path.iterdir()} == {"r.sqlite", "left"}
    assert kept
    assert log.read_bytes() == kept
    assert (left / "r.sqlite").read_bytes() == before


# The content of the columns.


def test_a_run(played) -> None:
    path, model = played
    ((uid, command, started, ended, parameters),) = rows(
        path, "SELECT uid, command, started, ended, parameters FROM runs"
    )

    assert one(Recorded(path).runs()) == {
        "run": 0,
        "uid": uid,
        "command": command,
        "parent": None,
        "scenario": "tiny",
        "status": "finished",
        "rounds": 2,
        "asks": 4,
        "invalid": 1,
        "prompt_tokens": 70,
        "completion_tokens": 21,
        "cost_usd": 1.75,
        "paid_usd": 1.75,
        "started": started,
        "ended": ended,
        "problem": None,
        "end_reason": None,
        "seed": "[5]",
        "minds": '{"priced":2}',
        "parameters": parameters,
        "forks": "[]",
        "tags": "{}",
    }
    assert (model.total.asks, model.total.invalid, model.total.cost_usd) == (4, 1, 1.75)


def test_every_attempt(played) -> None:
    path, _ = played
    asks = Recorded(path).asks()

    assert list(asks.columns) == [
        name for name in columns(AskRow) if name not in {"messages", "sent"}
    ]
    assert list(zip(asks["round"], asks["agent"], asks["attempt"], strict=True)) == [
        (0, 1, 0), (0, 2, 0), (0, 2, 1), (1, 1, 0), (1, 2, 0), (1, 2, 1), (1, 2, 2),
    ]  # fmt: skip
    assert one(asks.iloc[[1]].drop(columns="request")) == {
        "run": 0, "round": 0, "phase": "act", "agent": 2, "call": 0, "attempt": 0, "name": "act",
        "mind": "priced", "raw": "about 7", "form": "paper", "value": None,
        "reasoning": None, "valid": False, "reason": '"about 7" is not a number.',
        "thoughts": "", "read_as": None, "response_id": None, "provenance": None,
        "prompt_tokens": 10, "cached_tokens": 2,
        "completion_tokens": 3, "thought_tokens": 0, "cost_usd": 0.25,
        "latency_s": 0.5, "served_model": "served", "finish_reason": "stop", "retries": 1,
        "copied": False, "position": 1, "final": False,
    }  # fmt: skip
    assert list(asks["final"]) == [True, False, True, True, False, False, True]
    assert set(asks["request"].str.len()) <= {4, 64}
    assert (asks["value"][2], asks["valid"][2], asks["reason"][2]) == ("2", True, "")
    types = {kind: set(asks.select_dtypes(kind)) for kind in ("bool", "float")}
    assert types == {"bool": {"valid", "copied", "final"}, "float": {"cost_usd", "latency_s"}}


def test_every_decision(played) -> None:
    path, _ = played
    decisions = Recorded(path).decisions()

    assert list(decisions["number"].fillna(-1)) == [1, 2, 11, -1]
    assert one(decisions.iloc[[1]]) == {
        "run": 0, "round": 0, "phase": "act", "agent": 2, "call": 0, "name": "act",
        "mind": "priced", "valid": True, "value": "2", "number": 2.0, "reasoning": "",
        "read_as": "exact", "reason": "", "attempts": 2, "prompt_tokens": 20, "cached_tokens": 4,
        "completion_tokens": 6, "cost_usd": 0.5, "latency_s": 1.0, "copied": False, "position": 1,
        "final": True,
    }  # fmt: skip
    last = one(decisions.iloc[[3]])
    assert (last["valid"], last["value"], last["reason"]) == (
        False, None, '"about 7" is not a number.',
    )  # fmt: skip
    assert (last["attempts"], last["cost_usd"], last["final"]) == (3, 0.75, True)


def test_values_that_are_no_numbers(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    said = ScriptedMind(lambda ask: "42" if ask.name == "communicate" else 7)
    tiny(communication(), action(), n=1, minds=said, rng=1, recording=path).step()
    decisions = Recorded(path).decisions()

    assert list(decisions["phase"]) == ["act", "communicate"]
    assert list(decisions["value"]) == ["7", "42"]  # the second one is a text
    assert decisions["number"][0] == 7
    assert math.isnan(decisions["number"][1])


def test_what_a_fork_took_over_was_paid_for_in_its_parent(played) -> None:
    path, _ = played
    change(path, "UPDATE asks SET copied = 1 WHERE round = 0")
    change(path, "UPDATE runs SET parent = 'abc'")

    run = one(Recorded(path).runs())
    assert (run["parent"], run["cost_usd"], run["paid_usd"]) == ("abc", 1.75, 1.0)
    assert list(Recorded(path).decisions()["copied"]) == [True, True, False, False]


def test_a_cost_that_is_not_known_is_not_zero(played) -> None:
    path, _ = played
    change(path, "UPDATE asks SET cost_usd = NULL WHERE round = 0 AND attempt = 1")

    run = Recorded(path).runs().iloc[0]
    assert math.isnan(run["cost_usd"])
    assert math.isnan(run["paid_usd"])
    assert list(Recorded(path).decisions()["cost_usd"].isna()) == [False, True, False, False]
    change(path, "UPDATE asks SET copied = 1 WHERE round = 0")
    assert Recorded(path).runs()["paid_usd"][0] == 1.0


def died_after_the_second_attempt(path: Path) -> None:
    change(path, "UPDATE runs SET status = 'running', ended = NULL")
    change(path, "DELETE FROM asks WHERE round = 1 AND attempt = 2")
    for table in ("model_data", "agent_data", "message_data"):
        change(path, f"DELETE FROM {table} WHERE round = 1")


def test_a_run_that_died_between_two_attempts(played) -> None:
    path, _ = played
    died_after_the_second_attempt(path)

    run = one(Recorded(path).runs())
    assert (run["status"], run["rounds"], run["asks"], run["invalid"]) == ("interrupted", 1, 3, 0)
    assert (run["prompt_tokens"], run["cost_usd"]) == (60, 1.5)
    assert list(Recorded(path).decisions()["final"]) == [True, True, True, False]


def test_a_run_that_is_being_written(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with Recording(path) as recording:
        model = tiny(n=1, n_rounds=2, minds=Priced(lambda _: "1"), rng=1, recording=recording)
        model.begin()
        started = one(Recorded(path).runs())
        assert (started["status"], started["asks"], started["cost_usd"]) == ("running", 0, 0)
        model.step()
        assert one(Recorded(path).runs())["status"] == load_runs(path)[0].status == "running"
    assert one(Recorded(path).runs())["status"] == load_runs(path)[0].status == "interrupted"


# The collected data.


def test_the_data_are_the_frames_of_the_model(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    models = [scenario("kbc")(n_rounds=4, rng=i, recording=path) for i in range(2)]
    for model in models:
        model.run_model()
    recorded = Recorded(path)

    pd.testing.assert_frame_equal(recorded.model_data(1), models[1].model_frame(1))
    pd.testing.assert_frame_equal(recorded.agent_data(1), models[1].agent_frame(1))
    both = pd.concat([m.model_frame(i) for i, m in enumerate(models)], ignore_index=True)
    pd.testing.assert_frame_equal(recorded.model_data(), both)
    assert recorded.runs()["asks"].tolist() == [m.total.asks for m in models]


def test_runs_of_several_scenarios_have_the_columns_of_all(played) -> None:
    path, _ = played
    scenario("kbc")(n_players=3, n_rounds=1, rng=1, recording=path).run_model()
    data = Recorded(path).model_data()

    assert list(data.columns[:3]) == ["run", "round", "sum"]
    assert list(data["run"]) == [0, 0, 1]
    assert list(data["mean"].isna()) == [True, True, False]
    assert list(data["sum"].isna()) == [False, False, True]
    pd.testing.assert_frame_equal(Recorded(path).model_data(0), played[1].model_frame(0))


def test_a_recording_without_runs_has_empty_frames_with_all_columns(tmp_path, played) -> None:
    Recording(tmp_path / "empty.sqlite").close()
    empty, full = Recorded(tmp_path / "empty.sqlite").frames(), Recorded(played[0]).frames()

    assert list(empty) == list(full) == FRAMES
    assert all(len(frame) == 0 for frame in empty.values())
    for name in FRAMES[:3]:
        assert dict(empty[name].dtypes) == dict(full[name].dtypes)


def test_the_frames_of_one_run(played) -> None:
    path, _ = played
    tiny(n=2, n_rounds=2, minds=Priced(answer), rng=6, recording=path).run_model()
    recorded = Recorded(path)

    for name, frame in recorded.frames().items():
        assert set(frame["run"]) == ({0, 1} if name != "messages" else set())
        if name != "runs":
            second = getattr(recorded, name)(run=1)
            expected = frame[frame["run"] == 1].reset_index(drop=True)
            pd.testing.assert_frame_equal(second, expected)
    for name in FRAMES[1:]:
        with pytest.raises(UnknownName, match=r"Unknown run '2'\. Known: 0, 1\."):
            getattr(recorded, name)(run=2)


def test_what_one_agent_was_asked_in_some_rounds(played) -> None:
    path, _ = played
    tiny(n=3, n_rounds=4, minds=Priced(answer), rng=6, recording=path).run_model()
    recorded = Recorded(path)

    found = recorded.asks(run=1, rounds=range(1, 3), agent=2)

    assert len(found) > 0
    asks = recorded.asks(run=1)
    expected = asks[(asks["agent"] == 2) & asks["round"].isin([1, 2])]
    pd.testing.assert_frame_equal(found, expected.reset_index(drop=True))


# Messages.


def test_the_messages_are_those_that_were_sent(tmp_path) -> None:
    path, sent = tmp_path / "r.sqlite", {}

    def keep(ask):
        chat = [(m["role"], m["content"]) for m in ask.messages()]
        sent[0, *ask.key, len(ask.rejected)] = chat
        if ask.name == "communicate":
            return "Two\nlines, “quoted”\r\t😀 \u2028\n\n"
        return "x\ny" if not ask.rejected else "5"

    tiny(
        communication(), action(), n_rounds=2, minds=Priced(keep), rng=1, recording=path
    ).run_model()
    recorded = Recorded(path)
    asks = recorded.asks(messages=True)

    assert len(sent) == len(asks) == 2 * 3 * 3
    for key, chat in sent.items():
        assert recorded.chat(*key) == chat
    key = ["run", "round", "phase", "agent", "call", "attempt"]
    joined = asks.set_index(key)["messages"]
    for place, chat in sent.items():
        assert [tuple(m.values()) for m in json.loads(joined[place])] == chat
        assert {tuple(m) for m in json.loads(joined[place])} == {("role", "content")}


# Recordings that cannot be read.


def refused(path: Path) -> str:
    with pytest.raises(RecordingError) as problem:
        Recorded(path).frames()
    assert "\n" not in str(problem.value)
    return str(problem.value)


def test_what_is_no_recording(tmp_path, played) -> None:
    assert refused(tmp_path / "none.sqlite") == f"There is no recording {tmp_path}/none.sqlite."
    assert refused(tmp_path) == f"There is no recording {tmp_path}."
    inside = tmp_path / "recording.sqlite"
    inside.touch()
    assert refused(tmp_path) == f"There is no recording {tmp_path}. The folder has {inside}."
    (tmp_path / "empty").touch()
    assert "is not a usable recording" in refused(tmp_path / "empty")
    (tmp_path / "notes").write_text("Dear diary, " * 500)
    assert "is not a usable recording (file is not a database)" in refused(tmp_path / "notes")
    change(tmp_path / "other", "CREATE TABLE t (x)")
    assert "is an SQLite file but not a recording" in refused(tmp_path / "other")
    change(played[0], "PRAGMA user_version = 99")
    assert "has format 99, and" in refused(played[0])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE asks SET prompt_tokens = 'many'",
        "UPDATE asks SET agent = 1.5 WHERE agent = 1",
        "UPDATE asks SET value = '{' WHERE valid",
        "UPDATE asks SET value = '\"\\ud83d\"' WHERE valid",
        "UPDATE asks SET raw = CAST(x'ff' AS TEXT)",
        "UPDATE asks SET messages = '[[\"user\", [123456]]]'",
        "UPDATE asks SET messages = '[1]'",
        "UPDATE runs SET model_columns = '[]'",
        "UPDATE model_data SET data = '[1]'",
        "UPDATE agent_data SET data = '[[[[1]]]]'",
        "UPDATE message_data SET data = '[[1]]'",
        f"UPDATE agent_data SET data = '{'[' * 100_000}'",
        "DROP TABLE asks",
    ],
)
def test_values_that_nobody_wrote_are_damage(played, statement) -> None:
    path, _ = played
    died_after_the_second_attempt(path)
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(RecordingError, match=r"is not a usable recording \(.*not changed"):
        Recorded(path).frames(messages=True)
    assert path.read_bytes() == before


def read_or_refuse(path: Path, content: bytes) -> dict[str, pd.DataFrame] | None:
    """The frames of a file with this content, or None when it is refused; it is left as it is."""
    path.write_bytes(content)
    try:
        return Recorded(path).frames(messages=True)
    except RecordingError:
        return None
    finally:
        assert path.read_bytes() == content
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)


@pytest.fixture
def content(played) -> bytes:
    path, _ = played
    for seed in range(12):
        tiny(communication(), action(), n=9, minds=Priced(answer), rng=seed, recording=path).step()
    return path.read_bytes()


@pytest.mark.parametrize("seeds", [0, 12])
def test_a_file_that_was_cut_off_is_refused_as_such(played, seeds) -> None:
    """In a short recording, the last page is one of the schema's."""
    path, _ = played
    for seed in range(seeds):
        tiny(n=9, minds=Priced(answer), rng=seed, recording=path).step()
    content = path.read_bytes()
    for size in (len(content) - 1, len(content) - 4096, len(content) // 2 + 1, 4096, 99, 30):
        path.write_bytes(content[:size])
        assert "is not a usable recording (its last page is cut off)" in refused(path), size
        with pytest.raises(RecordingError, match="its last page is cut off"):
            Recording(path)


def test_a_file_cut_off_anywhere_is_read_in_full_or_refused(tmp_path, content) -> None:
    path = tmp_path / "cut.sqlite"
    whole = read_or_refuse(path, content)
    assert whole is not None
    sizes = {*range(0, len(content), 499), *range(0, len(content), 4096), len(content) - 1}
    for size in sorted(sizes):
        frames = read_or_refuse(path, content[:size])
        for name in FRAMES if frames is not None else ():
            pd.testing.assert_frame_equal(frames[name], whole[name])


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("seed", range(8))
def test_bytes_that_were_changed_give_frames_or_the_one_error(tmp_path, content, seed) -> None:
    random, results = Random(seed), []
    for _ in range(40):
        broken = bytearray(content)
        at = random.randrange(len(content))
        match random.randrange(3):
            case 0:
                broken[at] ^= 1 << random.randrange(8)
            case 1:
                broken[at : at + 64] = random.randbytes(min(64, len(content) - at))
            case 2:
                page = at // 4096 * 4096
                broken[page : page + 4096] = random.randbytes(4096)
        results.append(read_or_refuse(tmp_path / "broken.sqlite", bytes(broken)))
    assert None in results


@contextmanager
def without_privileges():
    """As a user who is not allowed everything, also where the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_recording_where_nothing_can_be_written(played) -> None:
    # Not below pytest's own folder, which none but its owner may enter.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.sqlite")
        shutil.copy(played[0], path)
        assert len(Recorded(path).asks()) == 7
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        with without_privileges():
            assert not os.access(folder, os.W_OK, effective_ids=True)
            assert len(Recorded(path).asks()) == 7
