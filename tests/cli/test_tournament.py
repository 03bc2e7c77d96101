"""``sabm tournament``, and minds from files in the other commands."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa.llm.client import Client
from sabm_mesa.minds.files.sandbox import SENTENCES, bubblewrap_problem
from tests.llm_server import LLMServer

from .support import Sabm, one_line

STUDENTS = Path(__file__).parents[2] / "examples" / "students"
SMALL = ("--set", "n_players=3", "--rounds", "2", "--runs", "2")


@pytest.fixture
def students(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples in a folder that is the current one."""
    shutil.copytree(STUDENTS, tmp_path / "students")
    monkeypatch.chdir(tmp_path / "students")
    return tmp_path / "students"


@pytest.mark.slow
def test_the_examples_and_the_classical_mind(
    sabm: Sabm, students: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SABM_ISOLATE")
    done = sabm("tournament", "kbc", "steps.py", "hasty.py", "--against", "classical", *SMALL)

    assert done.status == 0
    assert done.err == f"{SENTENCES[not bubblewrap_problem()]}\n"
    lines = done.out.splitlines()
    assert lines[:2] == [
        "Keynesian beauty contest: tournament",
        "Minds: 3; agents in one population: 3; runs: 6.",
    ]
    assert "Payoff in a run (credits)" in lines[2]
    decided = {line.split()[1]: line.split()[-2:] for line in lines[4:7]}
    assert decided == {"hasty": ["18", "6"], "steps": ["18", "0"], "classical": ["18", "0"]}
    assert "No answer came: line 9: KeyError: 'text'." in done.out
    assert lines[-1].startswith("Written to out/tournament-kbc: ranking.csv, ")
    runs = pd.read_csv(students / "out" / "tournament-kbc" / "runs.csv")
    assert len(runs) == 6
    assert (students / "out" / "tournament-kbc" / "ranking.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.usefixtures("students")
def test_in_pairs_as_json(sabm: Sabm) -> None:
    done = sabm(
        "tournament", "bertrand", "lucky.py", "fixed:4", "--rounds", "3", "--runs", "1", "--json",
        "--set", "communication=false",
    )  # fmt: skip

    found = json.loads(done.out)
    assert found["format"] == "pairs"
    assert {each["entrant"] for each in found["ranking"]} == {"lucky", "fixed:4"}
    assert {row["entrant"] for row in found["matrix"]} == {"lucky", "fixed:4"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cocktail-party", "steps.py", "lucky.py"), "declares no score by which minds"),
        (("kbc", "steps.py"), "needs two minds or more: name more files, or --against classical"),
        (("kbc", "steps.py", "gone.py"), "Cannot read the mind gone.py: No such file"),
        (("kbc", "steps.py", "classical:levels"), "Unknown classical mind of kbc 'levels'"),
        (("kbc", "steps.py", "lucky.py", "--set", "minds=classical"), "not with --set"),
        (("bertrand", "steps.py", "lucky.py", "--set", "n_firms=3"), "played in pairs"),
        (("kbc", "steps.py", "human"), "Cannot read the mind spec 'human'. Known forms: "),
        (
            ("kbc", "steps.py", "py:"),
            "Cannot read the mind spec 'py:' (nothing follows py:). Known ",
        ),
    ],
)
def test_what_cannot_be_played_is_one_line(
    arguments: tuple[str, ...], message: str, sabm: Sabm, students: Path
) -> None:
    done = sabm("tournament", *arguments)

    assert done.status == 2
    assert message in one_line(done)
    assert not (students / "out").exists()


@pytest.mark.usefixtures("students")
def test_language_models_play_within_a_budget(sabm: Sabm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer() as server:
        command = (
            "tournament", "kbc", "steps.py", "llm:gpt-4o-mini", "--set", "n_players=2",
            "--rounds", "1", "--runs", "1", "--base-url", server.url,
        )  # fmt: skip
        stopped = sabm(*command, "--max-asks", "1")
        assert stopped.status == 1
        assert stopped.err.endswith("with a larger budget continues from there.\n")
        done = sabm(*command, "--max-asks", "2")
        assert done.status == 0
        assert "Spent on these runs in all: $0.0" in done.out
        assert server.stats["requests"] == 2


NOT_ISOLATED_LINE = (
    "Minds from files: not isolated: they can read and write your files, read your keys, use the "
    "network, and leave programs behind (install bubblewrap, or trust them).\n"
)


@pytest.mark.fast_cases(1)
@pytest.mark.usefixtures("students")
@pytest.mark.parametrize(
    "command",
    [
        ("run", "kbc", "--minds", "py:steps.py=2,fixed:3=1"),
        ("sweep", "kbc", "--minds", "py:steps.py", "--minds", "fixed:3"),
        ("tournament", "kbc", "steps.py", "fixed:3", "fixed:4"),
        ("cost", "kbc", "--minds", "py:steps.py"),
        ("describe", "kbc", "--minds", "py:steps.py"),
    ],
    ids=lambda command: command[0],
)
def test_a_line_says_how_minds_from_files_are_isolated(
    command: tuple[str, ...], sabm: Sabm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SABM_ISOLATE", "")
    monkeypatch.setenv("SABM_PASS_ENV", "")
    monkeypatch.setenv("MINE", "5")
    seed = () if command[0] == "describe" else ("--seed", "1")
    size = ("--set", "n_players=3", "--rounds", "1", *seed, "--no-isolate")
    done = sabm(*command, *size, "--pass-env", "MINE", "--json")

    assert done.status == 0
    assert json.loads(done.out)
    assert done.err == NOT_ISOLATED_LINE


@pytest.mark.slow
@pytest.mark.usefixtures("students")
def test_commands_that_go_on_say_how_minds_from_files_are_isolated(
    sabm: Sabm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SABM_ISOLATE", "0")
    monkeypatch.setattr(Client, "_wait", lambda *_: 0.001)  # nobody is at that port
    size = ("--set", "n_players=3", "--rounds", "2", "--seed", "1")
    minds = ("--minds", "py:steps.py=2,llm:m@http://127.0.0.1:9=1")
    assert sabm("run", "kbc", *minds, *size, "--out", "out", "--timeout", "1").status == 1

    resumed = sabm("resume", "out/recording.sqlite", "--no-isolate", "--timeout", "1")
    assert resumed.status == 1
    assert NOT_ISOLATED_LINE in resumed.err
    assert sabm("run", "kbc", "--minds", "fixed:3", *size, "--out", "free").status == 0
    forked = sabm(
        "fork", "free/recording.sqlite", "--at", "1", "--minds", "py:steps.py", "--out", "forked",
        "--no-isolate",
    )  # fmt: skip
    assert (forked.status, forked.err) == (0, NOT_ISOLATED_LINE)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "command",
    [
        ("resume", "recording.sqlite"),
        ("fork", "recording.sqlite", "--at", "0", "--out", "out"),
        ("reproduce", "--all"),
        ("play", "kbc"),
        ("view",),
        ("cost", "kbc"),
        ("describe", "kbc"),
    ],
    ids=lambda command: command[0],
)
def test_each_command_that_can_run_a_file_takes_the_options(
    command: tuple[str, ...], sabm: Sabm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SABM_PASS_ENV", "")
    monkeypatch.delenv("NONE_SUCH", raising=False)
    sabm("run", "kbc", "--set", "n_players=3", "--rounds", "1", "--out", ".")
    done = sabm(*command, "--pass-env", "NONE_SUCH")

    assert done.status == 2
    assert "NONE_SUCH, a variable for minds from files, is not set." in one_line(done)


@pytest.mark.usefixtures("students")
def test_isolation_that_is_demanded_and_not_there_ends_the_command(
    sabm: Sabm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bubblewrap_problem.cache_clear()
    monkeypatch.setenv("SABM_ISOLATE", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    done = sabm("tournament", "kbc", "steps.py", "lucky.py", "--isolate")
    bubblewrap_problem.cache_clear()

    assert done.status == 2
    assert "cannot be isolated here: the program bwrap is not there." in one_line(done)


def test_minds_from_files_in_other_commands(sabm: Sabm, students: Path) -> None:
    minds = "py:steps.py=2,py:lucky.py:answer=1"
    size = ("--set", "n_players=3", "--rounds", "2")
    done = sabm("run", "kbc", "--minds", minds, *size, "--seed", "1", "--out", "a", "--json")
    assert done.status == 0
    assert json.loads(done.out)["minds"] == {"py:steps.py": 2, "py:lucky.py:answer": 1}
    assert len(json.loads(done.out)["versions"]["py:steps.py"]) == 64
    assert pd.read_csv("a/agents.csv")["choice"].tolist()[:2] == [33, 33]

    cost = sabm("cost", "kbc", "--minds", minds, *size, "--json")
    assert json.loads(cost.out)["total"]["asks"]["high"] == 0
    (students / "steps.py").unlink()
    assert sabm("replay", "a/recording.sqlite").status == 0
    refused = sabm("run", "kbc", "--minds", "py:steps.py", "--out", "c")
    assert refused.status == 2
    assert one_line(refused) == "Cannot read the mind steps.py: No such file or directory."
    assert not Path("c").exists()
