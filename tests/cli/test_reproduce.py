"""`sabm reproduce`: published experiments from the command line."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from sabm_mesa.llm import close_all
from sabm_mesa.studies.experiments import running
from sabm_mesa.studies.experiments import schema as reading
from sabm_mesa.studies.experiments.results import WORDS
from tests.llm_server import LLMServer
from tests.studies.experiments.support import SMALL

from .support import Sabm, one_line

OTHER = SMALL.replace('name = "cooperative"', 'name = "friendly"')


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with an experiment, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(SMALL, "utf-8")
    return path


@pytest.mark.slow
def test_a_published_experiment(sabm: Sabm, tmp_path: Path) -> None:
    command = ("reproduce", "kbc-figure-4a", "--runs", 3, "--out", tmp_path / "out")
    done = sabm(*command)
    assert (done.status, done.err) == (0, "")
    decided, few, first, second, *rest = done.out.splitlines()
    assert decided == "kbc-figure-4a, decided by: classical (no language model)"
    assert few.startswith("With 3 runs a condition 7 of 7 claims cannot be detected, ")
    assert re.search(r"It takes \d+ runs \(--runs \d+\)\.$", few)
    assert first == f"kbc-figure-4a (quick): {reading.load_experiment('kbc-figure-4a').title}"
    assert f"Next: {shlex.join(['sabm', *map(str, command)])}" in rest  # it continues
    folder = tmp_path / "out/kbc-figure-4a"
    claims = json.loads((folder / "report.json").read_text("utf-8"))["claims"]
    verdicts = Counter(each["verdict"] for each in claims)
    assert second.startswith(f"Verdicts on {len(claims)} claims: ")
    assert all(f"{n} {verdict}" in second for verdict, n in verdicts.items())
    assert rest[-1].startswith(f"Written to {folder}: claims.csv, ")
    assert (folder / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_the_list(sabm: Sabm) -> None:
    done = sabm("reproduce", "--list")
    assert (done.status, done.err) == (0, "")
    *lines, blank, note, suited = done.out.splitlines()
    assert [line.split()[0] for line in lines] == reading.experiment_names()
    assert {line.split()[1] for line in lines} <= {"small", "medium", "large"}
    assert (blank, note.split(",")[0]) == ("", "Cost at paper scale")
    assert suited.endswith("can play: sabm doctor SCENARIO --minds SPEC")
    data = json.loads(sabm("reproduce", "--list", "--json").out)
    assert [each["name"] for each in data] == reading.experiment_names()
    assert {"title", "source", "scenario", "cost", "conditions", "runs"} <= set(data[0])
    assert len(sabm("reproduce", "--list", "kbc-figure-4a").out.splitlines()) == 4


@pytest.mark.slow
def test_the_commands_of_the_report_do_what_they_say(sabm: Sabm, small: Path) -> None:
    assert sabm("reproduce", small.name, "--minds", "baseline=fixed:7=2,fixed:8=1").status == 0
    text = Path("out/reproduce/small/report.md").read_text("utf-8")
    reproduce, replay = text.partition("```\n")[2].partition("\n```")[0].splitlines()
    again = sabm(*shlex.split(reproduce)[1:])
    assert (again.status, again.err) == (0, "")
    assert "4 runs, 4 of them from before." in again.out
    repeated = sabm(*shlex.split(replay)[1:])
    assert (repeated.status, repeated.err) == (0, "")


@pytest.mark.slow
def test_the_cost_of_what_is_missing_is_said_and_nothing_is_sent(
    sabm: Sabm, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    prices = Path("prices.toml")
    prices.write_text('[models]\n"stub" = { input = 1.0, output = 2.0 }\n', "utf-8")
    command = ("reproduce", small.name, "--out", "out", "--cost", "--prices", prices)
    done = sabm(*command, "--minds", "llm:stub", "--json")
    assert (done.status, done.err) == (0, "")
    assert not Path("out").exists()
    (found,) = json.loads(done.out)
    assert [line["question"] for line in found["lines"]] == ["baseline", "cooperative"]
    # 2 runs a condition of 3 + 6 questions each
    certain = [{"low": n, "likely": n, "high": n} for n in (18, 36)]
    assert [line["cost"]["asks"] for line in found["lines"]] == [certain[0]] * 2
    assert found["total"]["asks"] == certain[1]
    usd = found["total"]["usd"]
    assert 0 < usd["low"] < usd["likely"] < usd["high"]
    words = sabm(*command, "--minds", "cooperative=llm:stub")
    assert words.out.splitlines()[0].startswith("small: 4 runs of up to 2 rounds")
    assert "baseline" not in words.out
    assert words.out.splitlines()[-1].startswith("With 2 runs a condition 1 of 1 claims cannot")
    # Finished runs cost nothing any more.
    assert sabm("reproduce", small.name, "--out", "out").status == 0
    assert "nothing to pay" in sabm(*command).out


@pytest.mark.slow
def test_json_holds_the_verdicts_of_all(sabm: Sabm, small: Path) -> None:
    Path("other.toml").write_text(OTHER, "utf-8")
    done = sabm("reproduce", small.name, "other.toml", "--out", "out", "--runs", 2, "--json")
    assert (done.status, done.err) == (0, "")
    data = json.loads(done.out)
    assert [each["experiment"] for each in data] == ["small", "other"]
    said = json.loads(Path("out/small/report.json").read_text("utf-8"))
    assert {key: data[0][key] for key in said} == said
    assert data[0]["claims"][0]["verdict"] in WORDS
    assert data[0]["seeds"] == [1, 2]


def test_minds_by_condition(sabm: Sabm, small: Path) -> None:
    done = sabm(
        "reproduce", small.name, "--out", "out", "--json",
        "--minds", "baseline=fixed:10", "--minds", "cooperative=fixed:20=1,fixed:30=2",
    )  # fmt: skip
    assert json.loads(done.out)[0]["minds"] == {
        "baseline": "fixed:10", "cooperative": "1 × fixed:20, 2 × fixed:30",
    }  # fmt: skip
    mixed = sabm(
        "reproduce", small.name, "--out", "mixed", "--json", "--minds", "fixed:1=1,fixed:2=2"
    )
    assert json.loads(mixed.out)[0]["minds"]["baseline"] == "1 × fixed:1, 2 × fixed:2"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Name an experiment. To list all of them: sabm reproduce --list"),
        (("kbc-figure-4",), "Unknown experiment 'kbc-figure-4'. Did you mean 'kbc-figure-4"),
        (("kbc-figure-4a", "none.toml"), "Cannot read the experiment none.toml"),
        (("small.toml", "--scale", "large"), "large"),
        (("small.toml", "--minds", "fixed:1", "--minds", "fixed:2"), "need a condition each"),
        (("small.toml", "--minds", "baselin=fixed:1"), "Did you mean 'baseline'?"),
        (("small.toml", "--minds", "nobody"), "nobody"),
        (("small.toml", "--minds", "fixed:1=5"), "5 are given for 3 agents"),
        (("small.toml", "folder/small.toml"), "Two experiments are called small"),
        (("small.toml", "--runs", "0"), "--runs"),
    ],
)
def test_wrong_use_is_one_line_and_runs_nothing(
    sabm: Sabm, small: Path, arguments: tuple[str, ...], words: str
) -> None:
    (small.parent / "folder").mkdir()
    (small.parent / "folder/small.toml").write_text(SMALL, "utf-8")
    done = sabm("reproduce", *arguments)
    assert (done.status, done.out) == (2, "")
    assert words in (done.err if done.err.startswith("Usage") else one_line(done))
    assert not Path("out").exists()


PLOT = """
[[plots]]
kind = "values"
title = "Picks"
columns = "choice"
label = "Pick"
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SMALL.replace('"below"', '"bellow"'), "claims 1: Input tag 'bellow' found using 'kind'"),
        (f'{SMALL}{PLOT}theory = "level"', "Unknown theory 'level'. Did you mean 'levels'?"),
        (f'{SMALL}{PLOT}human = "nagel"', "Did you mean 'nagel-1995'?"),
    ],
)
def test_a_wrong_file_names_its_entry(sabm: Sabm, small: Path, text: str, words: str) -> None:
    small.write_text(text, "utf-8")
    assert words in one_line(sabm("reproduce", small.name))
    assert not Path("out").exists()


@pytest.mark.slow
def test_a_budget_stops_and_the_same_command_goes_on(
    sabm: Sabm, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("other.toml").write_text(OTHER, "utf-8")
    with LLMServer() as server:
        command = (
            "reproduce", small.name, "other.toml", "--out", "out", "--minds", "llm:gpt-4o-mini",
            "--base-url", server.url, "--max-asks",
        )  # fmt: skip
        # An experiment asks 2 conditions × 2 seeds × (3 + 6) questions, and both share the budget.
        done = sabm(*command, 50)
        assert done.status == 1
        line = one_line(done)
        assert line.startswith("The budget of 50 asks is used up")
        assert line.endswith(
            "14 answers are in out/other/recording.sqlite; the same command with a larger budget "
            "continues from there."
        )
        assert "small (quick)" in done.out  # what was done before has its report
        assert server.stats["requests"] == 50
        on = sabm(*command, 72)
        assert (on.status, on.err) == (0, "")
        assert "4 runs, 4 of them from before." in on.out
        assert server.stats["requests"] == 72
        assert "here: llm:gpt-4o-mini" in Path("out/other/report.md").read_text("utf-8")
    close_all()


def test_a_run_that_fails_says_so(sabm: Sabm, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = sabm("reproduce", small.name, "--minds", "llm:gpt-4o-mini", "--json")
    assert done.status == 1
    assert "OPENAI_API_KEY" in done.err
    assert json.loads(done.out)["exit_status"] == 1


def test_ctrl_c_says_what_is_kept(sabm: Sabm, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = running.run_missing

    def interrupted(*arguments: object, **options: object) -> None:
        whole(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_missing", interrupted)
    done = sabm("reproduce", small.name, "--out", "out")
    assert done.status == 1
    assert one_line(done) == (
        "Stopped. 36 answers are in out/small/recording.sqlite; the same command continues from "
        "there."
    )
    monkeypatch.undo()
    monkeypatch.chdir(small.parent)
    assert "4 runs, 4 of them from before." in sabm("reproduce", small.name, "--out", "out").out


@pytest.mark.slow
def test_another_experiment_in_the_folder_is_left_alone(sabm: Sabm, small: Path) -> None:
    assert sabm("reproduce", small.name, "--out", "out", "--runs", 1).status == 0
    done = sabm("reproduce", small.name, "--out", "out", "--seed", 50)
    assert done.status == 1
    assert "Choose another folder (--out)" in one_line(done)


def test_a_folder_that_cannot_be_written(sabm: Sabm, small: Path) -> None:
    Path("out").write_text("a file", "utf-8")
    done = sabm("reproduce", small.name, "--out", "out")
    assert done.status == 1
    assert "out" in one_line(done)
