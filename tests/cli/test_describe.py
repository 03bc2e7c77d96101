"""`sabm describe`: what a person finds out about a scenario before a run, and of runs after."""

from __future__ import annotations

import json

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.cli.describe import _show
from sabm_mesa.describe import as_markdown, describe
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.recording import Recording
from sabm_mesa.runs.rerun import fork
from sabm_mesa.runs.run import run_all
from tests.describe.support import words
from tests.llm_server import LLMServer

from .support import Sabm, one_line


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_text_and_the_json_say_the_same(sabm: Sabm, name: str) -> None:
    text = sabm("describe", name).out
    data = json.loads(sabm("describe", name, "--json").out)
    assert data["name"] == name
    groups = ("parameters", "conditions", "variants", "personas", "prompts")
    shown = {entry for group in groups for entry in data[group]} - {"rng", *data["answer_forms"]}
    assert all(entry in text for entry in shown)
    columns = data["model_columns"] + data["agent_columns"]
    assert all(f"| `{column}` | " in text for column in columns)
    assert all(mind in text for mind in data["minds"])
    assert as_markdown(data) == text


def test_the_checklist_in_each_form(sabm: Sabm) -> None:
    given = ("describe", "kbc", "--minds", "llm:gpt-4o-mini", "--checklist")
    assert "| `G.1` | Funding, support and interests | not known |" in sabm(*given).out
    assert json.loads(sabm(*given, "--json").out)["items"][0]["number"] == "A.1"


def test_the_text_names_the_prompts_of_the_scenario_alone(sabm: Sabm) -> None:
    assert {"role", "act", "number_paper"} <= set(describe(scenario("fishery"))["prompts"])
    text = sabm("describe", "fishery").out
    assert "[act]" in text
    assert "[number_paper]" not in text


def test_the_prompts_of_a_condition_and_none_at_all(sabm: Sabm) -> None:
    line = "You do not like to cooperate with the other"
    assert line in sabm("describe", "kbc", "--condition", "uncooperative").out.split("Prompts,")[1]
    assert line not in sabm("describe", "kbc").out.split("Prompts,")[1]
    rules = sabm("describe", "kbc", "--no-prompts").out
    assert "- `--condition`: baseline, " in rules
    assert "{{ form }}" not in rules
    assert sabm("describe", "kbc", "--condition", "nice").status == 2
    cooperative = describe(KeynesianBeautyContest, "cooperative")
    assert describe(KeynesianBeautyContest, parameters={"condition": "cooperative"}) == cooperative
    assert cooperative["parameters"]["condition"]["value"] == "cooperative"


def test_the_prompts_of_a_file_of_ones_own(sabm: Sabm, tmp_path) -> None:
    """As in ``sabm run``: the file replaces single entries."""
    own = tmp_path / "own.toml"
    own.write_text('[prompts]\nreward_independent = "Each winner gets a box."\n', "utf-8")
    given = ("describe", "kbc", "--prompts", own)
    assert "Each winner gets a box." in sabm(*given).out
    assert "Each winner gets a box." not in sabm(*given, "--no-prompts").out


def test_a_terminal_shows_markdown_formatted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    _show("# Title\n\n- `name`: meaning")
    shown = capsys.readouterr().out
    assert " • " in shown
    assert "`" not in shown


def test_markdown_for_a_paper(sabm: Sabm) -> None:
    options = ("--set", "n_players=6", "--rounds", 2, "--minds", "llm:m=4,classical=2")
    markdown = sabm("describe", "kbc", *options).out
    assert markdown.startswith("# Keynesian beauty contest (`kbc`)\n\nReplication of Wu et al.")
    assert "\n### 4.2 Emergence\n\nAgreement on a number" in markdown
    assert (
        "| `n_players` | 6 (default 24) | a whole number of 2 or more | number of players. |"
        in markdown
    )
    assert "- `minds`: 2 × classical, 4 × llm:m\n" in markdown
    assert "| parameter | value | legal values | meaning |\n| --- | --- | --- | --- |\n" in markdown


def test_the_methods_section_of_runs(sabm: Sabm, tmp_path) -> None:
    path, other = tmp_path / "recording.sqlite", tmp_path / "fork.sqlite"
    settings = {"n_players": 5, "n_rounds": 2, "condition": "cooperative"}
    with Recording(path) as recording:
        done = run_all(KeynesianBeautyContest, settings, runs=3, seed=7, recording=recording)
    fork(path, 1, {"reward_rule": "exclusive"}, other, 0)
    text = sabm("describe", path).out
    assert "- `runs 0 to 2`: seeds 7 to 9; 2 rounds, finished\n" in text
    assert f"These are the runs of {path}." in words(text)
    assert "A run starts with 5 players" in words(text)
    assert "| `n_players` | 5 (default 24) | a whole number of 2 or more | number of" in text
    assert "You must cooperate with the other players." in text.split("Prompts,")[1]
    assert "Conditions, and the prompt entries" not in text
    assert "classical:level_k" not in text.partition("Unreadable answers")[0].partition("7.6")[2]
    assert "`questions`: 45, of which 0 had no usable answer\n" in text
    line = one_line(sabm("describe", path, "--run", 0, "--run", 3))
    assert "There is no run 3" in line
    one = sabm("describe", path, "--run", 2, "--json").out
    data = json.loads(one)
    assert data["recording"] == str(path)
    assert data["prompts_sha256"] == done.summary()["prompts"]
    assert data["parameters"]["n_rounds"]["value"] == 2
    forked = sabm("describe", other, "--no-prompts").out
    assert "`from round 1 on`: `reward_rule` = exclusive" in forked


def test_runs_that_differ(sabm: Sabm, tmp_path) -> None:
    vary = ("--vary", "n_players=4,5", "--minds", "classical", "--minds", "fixed:3")
    assert sabm("sweep", "kbc", *vary, "--rounds", 1, "--runs", 2, "--seed", 1,
                "--out", tmp_path).status == 0  # fmt: skip
    text = sabm("describe", tmp_path / "recording.sqlite").out
    assert "They differ in n_players, minds (see Parameters)" in words(text)
    assert "`minds`: 4 × classical, or 4 × fixed:3, or 5 × classical, or 5 × fixed:3" in text
    assert (
        "`runs 0 to 1`: seeds 1 to 2; 1 rounds, finished; n_players = 4; minds = classical" in text
    )
    assert (
        "| `n_players` | varied between runs: 4, 5 | a whole number of 2 or more | number" in text
    )


def test_runs_that_differ_in_their_seeds_alone_are_one_entry(sabm: Sabm, tmp_path) -> None:
    path = tmp_path / "recording.sqlite"
    with Recording(path) as recording:
        for n_players, seed in [(4, 7), (5, 8), (4, 9)]:
            settings = {"n_players": n_players, "n_rounds": 1}
            run_all(KeynesianBeautyContest, settings, seed=seed, recording=recording)
    text = sabm("describe", path, "--run", 0, "--run", 1, "--no-prompts").out
    assert "- `run 0`: seed 7; 1 rounds, finished; n_players = 4\n" in text
    assert "- `run 1`: seed 8; 1 rounds, finished; n_players = 5\n" in text
    text = sabm("describe", path, "--run", 0, "--run", 2, "--no-prompts").out
    assert "- `runs 0, 2`: seeds 7, 9; 1 rounds, finished\n" in text


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["nosuch"], 2, "Unknown scenario 'nosuch'"),
        (["a" * 300], 2, "Unknown scenario 'aaa"),
        (["out/none.sqlite"], 1, "There is no recording out/none.sqlite"),
        (["kbc", "--run", 1], 2, "--run chooses runs of a recording, but kbc is a scenario"),
        (["./x.sqlite", "--rounds", 3], 2, "leave out n_rounds"),
        (["kbc", "--set", "foo=1"], 2, "Unknown parameter"),
        (["kbc", "--minds", "nosuch:x"], 2, "nosuch:x"),
    ],
)
def test_wrong_use(sabm: Sabm, arguments: list, status: int, line: str) -> None:
    done = sabm("describe", *arguments)
    assert done.status == status
    assert line in one_line(done)


def test_a_scenario_that_is_here_but_not_installed(
    sabm: Sabm, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sabm("new", "my_scenario", "--package", "--into", tmp_path).status == 0
    for folder, place in [(tmp_path, "my_scenario"), (tmp_path / "my_scenario", ".")]:
        monkeypatch.chdir(folder)
        line = one_line(sabm("describe", "my_scenario"))
        assert line.startswith("Unknown scenario 'my_scenario'. Known: beauty-contest, ")
        assert line.endswith(f" One that is here is not installed: pip install -e {place}")
    assert one_line(sabm("run", "another")).endswith("sentence-making.")


def test_runs_with_a_language_model_say_what_they_asked_and_of_whom(sabm: Sabm, tmp_path) -> None:
    path = tmp_path / "recording.sqlite"
    with LLMServer(brain=lambda *_: "33") as server, Recording(path) as recording:
        settings = {"n_players": 3, "n_rounds": 1, "minds": f"llm:qwen3@{server.url}"}
        settings |= {"prompts": str(tmp_path / "own.toml")}
        (tmp_path / "own.toml").write_text('[personas]\ngambler = "You like risks."')
        run_all(KeynesianBeautyContest, settings, seed=1, recording=recording)
    (tmp_path / "own.toml").unlink()  # a recording needs no files but itself
    text = sabm("describe", path).out
    assert "`model, as the server named it`: qwen3\n" in text
    assert "`questions`: 3, of which 0 had no usable answer\n" in text
    assert "`cost`: not known\n" in text
    assert f"`minds`: 3 × llm:qwen3@{server.url}\n" in text
    assert "temperature 0.7, top_p 1, at most 256 tokens an answer" in words(text)
