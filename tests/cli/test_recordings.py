"""`sabm replay`, `sabm resume` and `sabm fork`, as a person calls them."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
from contextlib import ExitStack, suppress
from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.cli.progress import answers_are
from sabm_mesa.llm import close_all
from tests.llm.support import rows
from tests.llm_server import LLMServer
from tests.runs.reruns import change, count, first_question, no_key, process
from tests.studies.experiments import support as experiments

from .support import Sabm, one_line

SMALL = ["--rounds", "3", "--set", "n_players=3"]
TABLES = ("model.csv", "agents.csv")


@pytest.fixture(autouse=True)
def without_key(monkeypatch):
    with no_key(monkeypatch):
        yield


def beside(folder: Path) -> set[str]:
    """The files in a folder, without those that SQLite keeps beside a file that is read."""
    return {
        path.name for path in folder.iterdir() if path.suffix not in {".sqlite-wal", ".sqlite-shm"}
    }


def tables(folder: Path) -> list[str]:
    return [(folder / name).read_text() for name in TABLES]


def run(sabm: Sabm, server: LLMServer, out: Path, *more: object, status: int = 0):
    outcome = sabm(
        "run", "kbc", "--minds", "llm:stub", "--base-url", server.url, "--seed", 1, *SMALL,
        "--out", out, *more,
    )  # fmt: skip
    assert outcome.status == status, outcome.err
    return outcome


@pytest.mark.slow
def test_run_fail_resume_replay_and_fork(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer(brain=first_question) as server:
        run(sabm, server, tmp_path / "whole")
        total = server.stats["requests"]
    out, forked = tmp_path / "out", tmp_path / "forked"
    recording = out / "recording.sqlite"
    with LLMServer(brain=first_question, faults={7: "404"}, port=server.port) as server:
        failed = run(sabm, server, out, status=1)
        assert one_line(failed).endswith(f"in {recording}; continue with: sabm resume {recording}")
        resumed = sabm("resume", recording)
        close_all()
        assert server.stats["status_200"] == total == count(recording)
        assert resumed.status == 0, resumed.err
        assert re.search(r"answers? came from the recording, of unknown price\n", resumed.out)
        assert "Written to" in resumed.out
        assert tables(out) == tables(tmp_path / "whole")

        done = sabm("fork", recording, "--at", 2, "--set", "reward_rule=exclusive", "--out", forked)
        close_all()
        assert done.status == 0, done.err
        live = count(forked / "recording.sqlite", "NOT copied AND request IS NOT NULL")
        assert server.stats["status_200"] == total + live

    again = sabm("replay", recording)
    assert again.status == 0
    rounds = len(pd.read_csv(out / "model.csv"))
    assert again.out == (f"Run 0: identical, {rounds} rounds, {total} answers, nothing sent.\n")
    summary = json.loads((forked / "summary.json").read_text())
    assert summary["runs"][0]["parent"]
    assert summary["runs"][0]["forks"][0]["at"] == 2
    assert sabm("replay", forked / "recording.sqlite", "--out", tmp_path / "r").status == 0
    assert tables(tmp_path / "r") == tables(forked)
    parent, child = (pd.read_csv(folder / "model.csv") for folder in (out, forked))
    pd.testing.assert_frame_equal(parent[parent["round"] < 2], child[child["round"] < 2])


@pytest.mark.slow
def test_replay_in_json_and_into_a_folder(sabm: Sabm, tmp_path: Path) -> None:
    recording = tmp_path / "out" / "recording.sqlite"
    for seed in (1, 3):
        sabm("run", "kbc", "--seed", seed, "--runs", 2, *SMALL, "--out", tmp_path / "out")
    verified = json.loads(sabm("replay", recording, "--json").out)["verified"]
    assert verified == {"replayed": 4, "answers": 4 * 15, "rounds": 12}

    outcome = sabm("replay", recording, "--out", tmp_path / "x")
    assert outcome.status == 2
    assert "has runs of 2 commands, but --out takes the runs of one: choose them with" in one_line(
        outcome
    )
    done = sabm(
        "replay", recording, "--run", 2, "--run", 3, "--out", tmp_path / "a" / "b", "--json"
    )
    summary = json.loads(done.out)
    assert summary["verified"]["replayed"] == 2
    assert summary["seeds"] == [3, 4]
    assert tables(tmp_path / "a" / "b") == tables(tmp_path / "out")
    assert all(Path(path).exists() for path in summary["files"])


@pytest.mark.slow
def test_resume_of_several_runs_with_a_larger_cap_elsewhere(sabm: Sabm, tmp_path: Path) -> None:
    recording = tmp_path / "out" / "recording.sqlite"
    with LLMServer(brain=first_question) as server:
        run(sabm, server, tmp_path / "whole", "--runs", 2)
        total = server.stats["requests"]
        stopped = run(sabm, server, tmp_path / "out", "--runs", 2, "--max-asks", 9, status=1)
        assert "The budget of 9 asks is used up" in one_line(stopped)
        assert "sabm resume" in one_line(stopped)
        again = sabm("resume", recording, "--json")
        assert again.status == 1
        assert "The budget of 9 asks is used up: 9 spent" in json.loads(again.out)["error"]
        close_all()
    partly = sabm("replay", recording)
    assert partly.status == 0
    assert partly.out.count("identical (cut off: ") == 2
    with LLMServer(brain=first_question) as other:
        done = sabm(
            "resume", recording, "--base-url", other.url, "--max-asks", total, "--json",
            "--out", tmp_path / "tables",
        )  # fmt: skip
        close_all()
        assert done.status == 0, done.err
        assert other.stats["requests"] == total - 9
    summary = json.loads(done.out)
    assert [each["run"] for each in summary["runs"]] == [0, 1]
    assert sum(each["answers_from_recording"] for each in summary["runs"]) == 9
    assert str(tmp_path / "tables" / "model.csv") in summary["files"]
    assert pd.read_csv(tmp_path / "tables" / "model.csv").equals(
        pd.read_csv(tmp_path / "whole" / "model.csv")
    )
    assert not (tmp_path / "out" / "model.csv").exists()


@pytest.mark.slow
def test_a_command_that_is_interrupted_can_be_resumed(sabm: Sabm, tmp_path: Path) -> None:
    recording = tmp_path / "my out" / "recording.sqlite"
    with LLMServer(
        brain=first_question, faults=lambda number, _: "hang" if number > 4 else None
    ) as server:
        command = [
            "-m", "sabm_mesa", "run", "kbc", *SMALL, "--seed", 1, "--minds", "llm:stub",
            "--base-url", server.url, "--timeout", 1, "--out", recording.parent,
        ]  # fmt: skip
        with process(command) as stopped:
            server.wait_until(lambda server: server.stats["requests"] > 5)
            in_use = sabm("resume", recording)
            stopped.send_signal(signal.SIGINT)
            _, said = stopped.communicate(timeout=300)
        assert in_use.status == 1
        assert one_line(in_use).startswith(f"Run 0 of {recording} is in use: it is still being ")
        assert one_line(in_use).endswith("Wait until that has ended, or stop it.")
        assert stopped.returncode == 1
        assert said.strip().endswith(
            f"Stopped. 5 answers are in {recording}; continue with: sabm resume '{recording}'"
        )
    with LLMServer(brain=first_question, port=server.port) as server:
        assert sabm("resume", recording).status == 0
        close_all()
        whole = KeynesianBeautyContest(
            n_players=3, n_rounds=3, minds=f"llm:stub@{server.url}", rng=1, recording=False
        )
        whole.run_model()
        close_all()
    columns = ["round", "mean", "variance", "asks"]
    found = pd.read_csv(recording.with_name("model.csv"))[columns]
    pd.testing.assert_frame_equal(found, whole.model_frame()[columns])


@pytest.mark.slow
def test_what_a_kill_may_have_cost_is_told(sabm: Sabm, tmp_path: Path) -> None:
    path = tmp_path / "recording.sqlite"
    lost = r"Requests whose answers were lost: 3, at most \$0\.00\d\d; caps count them"
    with LLMServer(brain=first_question) as server:
        server.hold()
        minds = ["--minds", f"llm:gpt-4o-mini@{server.url}", "--rounds", "1"]
        contest = ["run", "kbc", *minds, "--set", "n_players=3", "--out", tmp_path]
        with process(["-m", "sabm_mesa", *contest]) as killed:
            server.wait_until(lambda s: s.in_flight == 3)
            killed.kill()
            killed.wait()
        server.release()
        short = sabm("resume", path, "--max-asks", 5)
        assert short.status == 1
        assert re.match(lost, short.err)
        assert "The budget of 5 asks is used up: 5 spent" in short.err
        assert "2 answers are in" in short.err
        done = sabm("resume", path, "--max-asks", 6)
        assert done.status == 0
        assert re.match(lost, done.err)
    assert tables(tmp_path)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "command",
    ["sweep", "tournament", "reproduce", "audit", "probe", "judge"],
)
def test_commands_that_go_on_report_what_was_lost(command: str, sabm: Sabm, tmp_path: Path) -> None:
    said = tmp_path / "said.sqlite"
    given = ["--set", "n_players=3", "--rounds", 1]
    what = {
        "sweep": ["sweep", "kbc", *given],
        "tournament": ["tournament", "kbc", "classical", "--set", "n_players=4", "--rounds", 1],
        "reproduce": ["reproduce", tmp_path / "small.toml", "--runs", 1],
        "audit": ["audit", tmp_path / "small.toml", "--runs", 1],
        "probe": ["probe", "--games", 20],
        "judge": ["judge", said],
    }
    (tmp_path / "small.toml").write_text(experiments.SMALL, "utf-8")
    with LLMServer(brain=first_question) as server:
        spec = f"llm:gpt-4o-mini@{server.url}"
        KeynesianBeautyContest(
            n_players=3, n_rounds=2, minds=spec, rng=1, recording=said
        ).run_model()
        close_all()
        server.hold()
        minds = ["--against" if command == "tournament" else "--minds", spec]
        arguments = [*what[command], *minds, "--out", tmp_path / "out"]
        with process(["-m", "sabm_mesa", *arguments]) as killed:
            server.wait_until(lambda s: s.in_flight >= 2)
            killed.kill()
            killed.wait()
        server.release()
        n = sum(
            len(rows(path, "SELECT 1 FROM asks WHERE raw IS NULL"))
            for path in {said, *(tmp_path / "out").rglob("*.sqlite")}
        )
        assert n >= 2
        lost = rf"^Requests whose answers were lost: {n}, at most \$0\.\d+; caps count them\.$"
        short = sabm(*arguments, "--max-asks", n + 1)
        assert short.status == 1
        assert re.search(lost, short.err, re.MULTILINE), short.err
        done = sabm(*arguments)
        assert done.status == 0, done.err
        assert re.search(lost, done.err, re.MULTILINE), done.err
    if command == "sweep":
        path = tmp_path / "out" / "recording.sqlite"
        compared = sabm("compare", path, "--people", "nagel-1995", "--out", tmp_path / "people")
        assert re.search(r"^Requests whose answers were lost", compared.err, re.MULTILINE), (
            compared.err
        )


@pytest.mark.slow
def test_tables_that_a_kill_after_the_last_round_left_out_are_written(
    sabm: Sabm, tmp_path: Path
) -> None:
    with LLMServer(brain=first_question) as server:
        run(sabm, server, tmp_path / "whole")
        requests = server.stats["requests"]
        (tmp_path / "killed").mkdir()
        path = shutil.copy(tmp_path / "whole" / "recording.sqlite", tmp_path / "killed")
        done = sabm("resume", path)
        assert server.stats["requests"] == requests
    assert done.status == 0
    assert done.out.startswith("All runs were finished: nothing was asked.\n")
    assert beside(tmp_path / "killed") == beside(tmp_path / "whole")
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")


@pytest.mark.parametrize("connected", [True, False])
def test_answers_are_counted_though_all_descriptors_are_taken(
    tmp_path: Path, connected: bool
) -> None:
    """Idle connections hold some; without them no number is made up."""
    path = tmp_path / "recording.sqlite"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as serving, ExitStack() as taken:
        server = serving.enter_context(LLMServer(brain=first_question))
        minds = f"llm:stub@{server.url}"
        KeynesianBeautyContest(
            n_players=12, n_rounds=1, minds=minds, rng=1, recording=path
        ).run_model()
        if not connected:
            close_all()
            serving.close()  # else the server's ends of the connections are given back any moment
        taken.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (500, hard))
        with suppress(OSError):
            while True:
                taken.callback(os.close, os.dup(0))
        said = answers_are([path])
    assert said == ("12 answers are" if connected else "All answers so far are")


def test_a_run_without_a_whole_round_is_replayed_as_far_as_it_goes(
    sabm: Sabm, tmp_path: Path
) -> None:
    recording = tmp_path / "out" / "recording.sqlite"
    with LLMServer(faults=["404"] * 9) as server:
        run(sabm, server, tmp_path / "out", status=1)
        close_all()
    said = sabm("replay", recording)
    assert said.status == 0
    assert re.search(r"^Run 0: identical \(cut off: .*404.*\), 0 rounds, 0 answers", said.out)
    outcome = sabm("replay", recording, "--out", tmp_path / "x")
    assert outcome.status == 2
    assert "has no complete round, so it has no tables" in one_line(outcome)
    assert not (tmp_path / "x").exists()


# Failures.


@pytest.fixture(scope="module")
def classical(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("classical") / "r.sqlite"
    KeynesianBeautyContest(n_players=3, n_rounds=3, rng=1, recording=path).run_model()
    return path.read_bytes()


@pytest.mark.parametrize("half", [True, False])
def test_what_is_no_usable_recording(
    sabm: Sabm, tmp_path: Path, classical: bytes, half: bool
) -> None:
    path = tmp_path / "r.sqlite"
    if half:
        path.write_bytes(classical[: len(classical) // 2])
    outcome = sabm("replay", path, "--out", tmp_path / "out")
    assert outcome.status == 1
    assert ("is not a usable recording" if half else "There is no recording") in one_line(outcome)
    assert "sabm resume" not in outcome.err
    assert path.exists() == half
    if half:
        assert path.read_bytes() == classical[: len(classical) // 2]
    assert not (tmp_path / "out").exists()


def test_a_fork_that_changes_nothing_says_so(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classical: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.sqlite").write_bytes(classical)
    same, other = (
        sabm("fork", "r.sqlite", "--at", 1, "--minds", mind, "--out", mind)
        for mind in ("classical", "fixed:3")
    )
    assert same.err == "The runs have these settings already, so only new answers can differ.\n"
    assert other.err == ""
    assert same.status == other.status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["replay", "--run", "3"], 1, r"There is no run 3 in .*; it has 0 to 0\."),
        (["fork", "--at", "1"], 2, r"Missing option '--out'"),
        (["fork", "--out", "f"], 2, r"Missing option '--at'"),
        (["fork", "--at", "-1", "--out", "f"], 2, r"'--at'"),
        (["fork", "--at", "4", "--rounds", "9", "--out", "f"], 1, r"has 3 recorded rounds: fork"),
        (["fork", "--at", "1", "--set", "n_players=4", "--out", "f"], 2,
         r"n_players of kbc cannot change during a run\. These can: "),
        (["fork", "--at", "1", "--set", "recording=x", "--out", "f"], 2, r"recording is not a pa"),
        (["fork", "--at", "1", "--minds", "llm:gpt-4o-mini", "--out", "f"], 1, "There is no API k"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line_and_leaves_nothing(
    sabm: Sabm,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    classical: bytes,
    arguments: list[str],
    status: int,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.sqlite").write_bytes(classical)
    outcome = sabm(arguments[0], "r.sqlite", *arguments[1:])
    assert outcome.status == status
    assert re.search(line, one_line(outcome)), outcome.err
    assert "sabm resume" not in outcome.err
    assert beside(tmp_path) == {"r.sqlite"}
    assert Path("r.sqlite").read_bytes() == classical


def test_a_difference_is_one_line(sabm: Sabm, tmp_path: Path, classical: bytes) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(classical)
    change(path, "UPDATE asks SET value = '3.5' WHERE round = 1 AND phase = 'act' AND agent = 2")
    for command in (["replay"], ["fork", "--at", "2", "--rounds", "9", "--out", tmp_path / "f"]):
        outcome = sabm(command[0], path, *command[1:])
        assert outcome.status == 1
        assert re.match(
            r'Run 0 of \S+ differs at round 1, act, agent 2: the answer was read as "3.5", and now',
            one_line(outcome),
        )
        assert "sabm resume" not in outcome.err
    assert not (tmp_path / "f").exists()


def test_a_folder_that_cannot_be_made(sabm: Sabm, tmp_path: Path, classical: bytes) -> None:
    path, taken = tmp_path / "r.sqlite", tmp_path / "taken"
    path.write_bytes(classical)
    taken.write_text("a file")
    for command in (["replay"], ["resume", "--run", 0], ["fork", "--at", 1, "--rounds", 4]):
        outcome = sabm(command[0], path, *command[1:], "--out", taken)
        assert outcome.status == 1
        assert "choose another folder" in one_line(outcome)
