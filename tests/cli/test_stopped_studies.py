"""Stopped studies: their own command continues them, and `sabm resume` only their recording."""

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
from tests.studies.audited import EXPERIMENT
from tests.studies.experiments.support import SMALL

from .support import Sabm

MIND = "llm:stub"
COMMANDS = {
    "sweep": (
        ["sweep", "kbc", "--vary", "n_players=2,3", "--rounds", "2", "--minds", MIND,
         "--runs", "2", "--out", "out"], "out",
    ),
    "reproduce": (["reproduce", "small.toml", "--minds", MIND, "--out", "."], "small"),
    "audit": (
        ["audit", "planted.toml", "--factor", "wording=default,reworded_3",
         "--factor", "answer_format=labelled,json", "--runs", "2", "--minds", MIND,
         "--out", "out"], "out",
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
def test_a_study_whose_command_is_repeated_is_the_study(sabm: Sabm, enter, name: str) -> None:
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
        again = sabm(*command, "--base-url", server.url)
        assert again.status == 0, again.err
        assert server.stats["status_200"] == asked
    assert files(Path(out)) == whole


def test_the_recording_of_a_study_is_resumed_without_tables(sabm: Sabm, enter) -> None:
    command, out = COMMANDS["sweep"]
    path = Path(out, "recording.sqlite")
    enter("here")
    with LLMServer(brain=first_question, faults={5: "404"}) as server:
        assert sabm(*command, "--base-url", server.url).status == 1
        before = files(Path(out))
        one = sabm("resume", path, "--run", "1", "--base-url", server.url)
        rest = sabm("resume", path, "--base-url", server.url, "--json")
        asked = server.stats["requests"]
        again = sabm(*command, "--base-url", server.url)
        assert server.stats["requests"] == asked
    todo = (
        "To play the missing runs of their study and to write its tables, repeat the command of "
        "the study."
    )
    assert (one.status, one.out) == (0, f"Run 1 of {path} is finished. {todo}\n")
    assert json.loads(rest.out) == {"finished": 4, "note": f"4 runs of {path} are finished. {todo}"}
    assert (again.status, set(before) < set(files(Path(out)))) == (0, True)


def test_runs_with_several_settings_have_no_common_tables(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer(brain=first_question, faults={3: "404"}) as server:
        with pytest.raises(RunError):
            sweep(
                "kbc", {"n_players": [2, 3]}, folder=tmp_path, connection=Connection(server.url),
                parameters={"minds": MIND, "n_rounds": 1},
            )  # fmt: skip
        close_all()
        path = tmp_path / "recording.sqlite"
        done = sabm("resume", path, "--base-url", server.url, "--out", tmp_path / "tables")
    assert done.status == 0, done.err
    assert done.out.endswith(
        "They have 2 settings (n_players 2; n_players 3), so they have no common tables: choose "
        "the runs of one with --run and a folder with --out.\n"
    )
    assert not (tmp_path / "tables").exists()
