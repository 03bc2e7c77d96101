"""`sabm resume` in the folder of a study: what the study's own command would have given."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sabm_mesa import Connection, sweep
from sabm_mesa.errors import RunError
from sabm_mesa.llm import close_all
from tests.llm_server import LLMServer
from tests.runs.reruns import first_question
from tests.studies.audit.support import EXPERIMENT
from tests.studies.experiments.support import SMALL

from .support import Sabm, one_line

MIND = "llm:stub"
COMMANDS = {
    "sweep": (
        ["sweep", "kbc", "--vary", "n_players=2,3", "--rounds", "2", "--minds", MIND,
         "--runs", "2", "--out", "out"], "out",
    ),
    "reproduce": (["reproduce", "small.toml", "--minds", MIND, "--out", "."], "small"),
    "audit": (
        ["audit", "planted.toml", "--factor", "wording=default,reworded_3", "--factor", "format",
         "--runs", "2", "--minds", MIND, "--out", "out"], "out",
    ),
    "tournament": (
        ["tournament", "kbc", MIND, "fixed:30", "--set", "n_rounds=2", "--set", "n_players=2",
         "--runs", "2", "--out", "out"], "out",
    ),
}  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    """All files but the recordings, by their paths, without the minutes of the runs."""
    minutes = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d")
    return {
        str(path.relative_to(folder)): minutes.sub(b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".sqlite" not in path.name and not path.name.endswith(".lock")
    }


@pytest.fixture
def enter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that makes a folder with the files of experiments, and goes there."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def entered(name: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "small.toml").write_text(SMALL, "utf-8")
        (folder / "planted.toml").write_text(
            EXPERIMENT.replace("n_players = 12", "n_players = 2"), "utf-8"
        )
        monkeypatch.chdir(folder)

    return entered


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_study_that_is_resumed_is_the_study(sabm: Sabm, enter, name: str) -> None:
    command, out = COMMANDS[name]
    with LLMServer(brain=first_question) as server:
        enter("whole")
        assert sabm(*command, "--base-url", server.url).status == 0
        whole = files(Path(out))
        asked = server.stats["requests"]
        enter("stopped")
    with LLMServer(brain=first_question, faults={asked // 2: "404"}, port=server.port) as server:
        assert sabm(*command, "--base-url", server.url).status == 1
        close_all()
        resumed = sabm("resume", Path(out, "recording.sqlite"), "--base-url", server.url)
        assert resumed.status == 0, resumed.err
        assert server.stats["status_200"] == asked
    assert files(Path(out)) == whole
    assert "sabm resume" not in resumed.out
    again = sabm("resume", Path(out, "recording.sqlite"), "--base-url", server.url)
    assert (again.status, files(Path(out))) == (0, whole)


def test_one_run_of_a_sweep_is_resumed_without_tables(sabm: Sabm, enter) -> None:
    command, out = COMMANDS["sweep"]
    enter("here")
    with LLMServer(brain=first_question, faults={5: "404"}) as server:
        assert sabm(*command, "--base-url", server.url).status == 1
        before = files(Path(out))
        path = Path(out, "recording.sqlite")
        done = sabm("resume", path, "--run", "1", "--base-url", server.url)
        assert done.status == 0, done.err
        assert done.out == (
            f"Run 1 of {path} is finished. The tables of sabm sweep are written by: sabm resume "
            f"{path}\n"
        )
        assert files(Path(out)) == before


def test_a_sweep_of_a_script_is_not_pooled(sabm: Sabm, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer(brain=first_question, faults={3: "404"}) as server:
        with pytest.raises(RunError):
            sweep(
                "kbc", {"n_players": [2, 3]}, folder=tmp_path, connection=Connection(server.url),
                parameters={"minds": MIND, "n_rounds": 1},
            )  # fmt: skip
        close_all()
        path = tmp_path / "recording.sqlite"
        done = sabm("resume", path, "--base-url", server.url)
    assert done.status == 0, done.err
    assert (
        "They have 2 settings (n_players 2; n_players 3), so they have no common tables"
    ) in done.out
    assert [each.name for each in tmp_path.iterdir() if each.suffix in {".csv", ".png"}] == []


def test_a_command_of_others_imports_nothing(sabm: Sabm, enter) -> None:
    enter("here")
    Path("evil.py").write_text("raise SystemExit('imported')\n", "utf-8")
    assert (
        sabm("sweep", "kbc", "--vary", "n_players=2,3", "--rounds", "1", "--out", "out").status == 0
    )
    kept = json.loads(Path("out/command.json").read_text("utf-8"))
    kept["options"]["name"] = "evil.py"
    Path("out/command.json").write_text(json.dumps(kept), "utf-8")
    refused = sabm("resume", "out/recording.sqlite")
    assert refused.status == 1
    assert "the file 'evil.py' as its scenario. It is not run without your consent" in one_line(
        refused
    )


@pytest.mark.parametrize("text", ["", "[]", '{"command": "sweep"}', '{"command": 3, "options": 4}'])
def test_a_command_that_cannot_be_read(sabm: Sabm, enter, text: str) -> None:
    enter("here")
    assert (
        sabm("sweep", "kbc", "--vary", "n_players=2,3", "--rounds", "1", "--out", "out").status == 0
    )
    Path("out/command.json").write_text(text, "utf-8")
    refused = sabm("resume", "out/recording.sqlite")
    assert refused.status == 1
    assert "command.json is not a command of sabm" in one_line(refused)


def test_a_run_in_the_folder_of_a_sweep_is_what_is_resumed(sabm: Sabm, enter) -> None:
    enter("here")
    assert (
        sabm("sweep", "kbc", "--vary", "n_players=2,3", "--rounds", "1", "--out", "out").status == 0
    )
    done = sabm("run", "kbc", "--rounds", "1", "--seed", "1", "--out", "out")
    assert done.status == 0
    assert "Older files in out, which this command did not write: runs.csv" in done.out
    assert "All runs were finished" in sabm("resume", "out/recording.sqlite").out
