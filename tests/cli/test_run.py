"""`sabm run`, as a person calls it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa import KeynesianBeautyContest, Recorded
from sabm_mesa.llm import close_all
from tests.core.support import rows
from tests.llm_server import Fault, LLMServer, nonsense

from .support import Sabm, one_line

PNG = b"\x89PNG\r\n\x1a\n"
FILES = {
    "agents.csv", "depth.png", "first_picks.png", "model.csv", "picks.png",
    "recording.sqlite", "summary.json", "variance.png",
}  # fmt: skip


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    close_all()


@pytest.mark.parametrize("mask", [0o077, 0o022, 0o002], ids=oct)
def test_every_file_follows_the_umask(sabm: Sabm, tmp_path: Path, mask: int) -> None:
    """Tables, exports and plots hold what people said as recordings do."""
    before = os.umask(mask)
    try:
        assert sabm("run", "kbc", "--rounds", 1, "--out", tmp_path / "out").status == 0
        assert sabm("export", tmp_path / "out" / "recording.sqlite").status == 0
    finally:
        os.umask(before)
    written = list((tmp_path / "out").rglob("*"))
    assert {path.name for path in written} > FILES | {"export", "asks.csv"}
    for path in written:
        mode = 0o777 if path.is_dir() else 0o666
        assert oct(path.stat().st_mode & 0o777) == oct(mode & ~mask), path


def test_classical_runs_write_what_the_same_seeds_give_in_python(
    sabm: Sabm, tmp_path: Path
) -> None:
    outcome = sabm("run", "kbc", "--seed", 5, "--runs", 2, "--out", tmp_path)
    assert outcome.status == 0
    assert {path.name for path in tmp_path.iterdir()} == FILES
    assert all(
        (tmp_path / f"{name}.png").read_bytes().startswith(PNG) for name in ("picks", "variance")
    )

    models = [KeynesianBeautyContest(rng=seed) for seed in (5, 6)]
    for model in models:
        model.run_model()
    expected = pd.concat([m.model_frame(i) for i, m in enumerate(models)], ignore_index=True)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "model.csv"), expected)
    expected = pd.concat([m.agent_frame(i) for i, m in enumerate(models)], ignore_index=True)
    found = pd.read_csv(tmp_path / "agents.csv")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert list(found.columns[:4]) == ["run", "round", "agent", "mind"]

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["scenario"] == "kbc"
    assert summary["seeds"] == [5, 6]
    assert summary["minds"] == {"classical": 24}
    assert (summary["asks"], summary["invalid"], summary["cost_usd"]) == (2 * 168, 0, 0.0)
    assert summary["critical_path_asks"] == 76
    assert [run["variance"] for run in summary["runs"]] == [m.variance for m in models]
    assert "2 runs, baseline, minds classical, seeds 5–6" in outcome.out
    assert "recording.sqlite" in outcome.out


@pytest.mark.slow
def test_a_drawn_seed_is_reported_and_can_be_repeated(sabm: Sabm, tmp_path: Path) -> None:
    sabm("run", "kbc", "--out", tmp_path / "a")
    (seed,) = json.loads((tmp_path / "a" / "summary.json").read_text())["seeds"]
    sabm("run", "kbc", "--seed", seed, "--out", tmp_path / "b")
    assert (tmp_path / "a/agents.csv").read_bytes() == (tmp_path / "b/agents.csv").read_bytes()


def test_a_second_command_adds_its_runs_to_the_recording(sabm: Sabm, tmp_path: Path) -> None:
    for seed in (1, 2):
        sabm("run", "kbc", "--seed", seed, "--rounds", 1, "--out", tmp_path)
    recorded = rows(tmp_path / "recording.sqlite", "SELECT run, seed, status FROM runs")
    assert recorded == [(0, "[1]", "finished"), (1, "[2]", "finished")]
    assert set(pd.read_csv(tmp_path / "model.csv")["run"]) == {1}


def test_settings_reach_the_model(sabm: Sabm, tmp_path: Path) -> None:
    outcome = sabm(
        "run", "kbc", "--rounds", 2, "--set", "n_players=4", "--set", "reward_rule=exclusive",
        "--set", 'personas={"agreeable": 3, "none": 1}', "--condition", "cooperative",
        "--minds", "classical=3,fixed:7=1", "--seed", 1, "--out", tmp_path, "--json",
    )  # fmt: skip
    summary = json.loads(outcome.out)
    given = summary["parameters"]
    assert (given["n_players"], given["n_rounds"], given["reward_rule"]) == (4, 2, "exclusive")
    assert (given["condition"], given["personas"]) == ("cooperative", {"agreeable": 3, "none": 1})
    assert summary["minds"] == {"classical": 3, "fixed:7": 1}
    agents = pd.read_csv(tmp_path / "agents.csv")
    assert list(agents["mind"]) == ["classical", "classical", "classical", "fixed:7"] * 2
    assert set(agents.loc[agents["mind"] == "fixed:7", "choice"]) == {7}


@pytest.mark.usefixtures("no_key")
def test_a_language_model_over_http(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer() as server:
        outcome = sabm(
            "run", "kbc", "--minds", "llm:stub", "--base-url", server.url, "--seed", 1,
            "--set", "n_players=5", "--runs", 3, "--out", tmp_path, "--json",
        )  # fmt: skip
        assert outcome.status == 0
        summary = json.loads(outcome.out)
        asks = 3 * (4 * 5 + 3 * 5)
        assert summary["asks"] == asks == server.stats["requests"]
        assert summary["prompt_tokens"] == server.stats["prompt_tokens"]
        assert summary["completion_tokens"] == server.stats["completion_tokens"]
        assert summary["cost_usd"] is None  # the price of the model is not known
        close_all()
    recorded = rows(tmp_path / "recording.sqlite", "SELECT run, seed, status FROM runs")
    assert recorded == [(run, f"[{run + 1}]", "finished") for run in range(3)]
    served = rows(tmp_path / "recording.sqlite", "SELECT DISTINCT served_model FROM asks")
    assert served == [("stub-2026",)]


@pytest.mark.usefixtures("no_key")
def test_a_price_file_gives_the_cost(sabm: Sabm, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"stub" = { input = 1.0, output = 2.0 }\n')
    with LLMServer(models={"stub": "stub"}) as server:
        outcome = sabm(
            "run", "kbc", "--minds", f"llm:stub@{server.url}", "--rounds", 1, "--prices", prices,
            "--out", tmp_path / "out", "--json",
        )  # fmt: skip
        close_all()
    summary = json.loads(outcome.out)
    expected = (summary["prompt_tokens"] + 2 * summary["completion_tokens"]) / 1e6
    assert summary["cost_usd"] == pytest.approx(expected)


def test_fixed_answers_by_question_are_used(sabm: Sabm, tmp_path: Path) -> None:
    spec, game = "fixed:act=3,communicate=I take 9", ("--set", "n_players=2", "--rounds", 2)
    assert sabm("run", "kbc", *game, "--minds", spec, "--out", tmp_path).status == 0

    recorded = Recorded(tmp_path / "recording.sqlite")
    assert set(recorded.messages()["text"]) == {"I take 9"}
    assert set(pd.read_csv(tmp_path / "agents.csv")["choice"]) == {3}
    again = sabm("replay", tmp_path / "recording.sqlite")
    assert again.status == 0, again.err


def test_nonsense_is_counted_and_said(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer(brain=nonsense) as server:
        outcome = sabm(
            "run", "kbc", "--minds", f"llm:stub@{server.url}", "--rounds", 1,
            "--set", "n_players=3", "--out", tmp_path,
        )  # fmt: skip
        assert server.stats["requests"] == 9
        close_all()
    assert outcome.status == 0
    assert "Warning: 3 of 3 questions got no usable answer" in outcome.out
    agents = pd.read_csv(tmp_path / "agents.csv")
    assert agents["choice"].isna().all()
    assert not agents["won"].any()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run", "kcb"], r"Unknown scenario 'kcb'\. Did you mean 'kbc'\?"),
        (["describe", "foo"], r"Unknown scenario 'foo'\. Known: "),
        (["run", "kbc", "--condition", "x"], r"Unknown condition 'x'\. Known: baseline"),
        (["run", "kbc", "--set", "n_playrs=3"], r"Unknown parameter .* Did you mean 'n_players'\?"),
        (["run", "kbc", "--set", "recording=x"], r"recording is not a parameter of the run"),
        (["run", "kbc", "--set", "rng=3", "--seed", "4"], r"rng is given twice: with --seed"),
        (["run", "kbc", "--set", "minds=3"], r"a method answer\(ask\), not 3"),
        (["run", "bertrand", "--set", "a=1e308"], r"a must be a number from .* \(got 1e\+308\)"),
        (["run", "kbc", "--set", "personas={"], r"is not valid JSON"),
        (["run", "kbc", "--budget-usd", "1", "--minds", "llm:m@http://127.0.0.1:1/v1"],
         r"The price of 'm' is not known"),
        (["run", "kbc", "--set", "n_players"], r"--set takes NAME=VALUE, not 'n_players'"),
        (["run", "kbc", "--set", "n_players=0"], r"n_players must be .* 2 or more \(got 0\)"),
        (["run", "kbc", "--rounds", "0"], r"n_rounds must be a whole number of 1 or more"),
        (["run", "kbc", "--runs", "0"], r"'--runs'"),
        (["run", "kbc", "--seed", "-1"], r"'--seed'"),
        (["run", "kbc", "--minds", "gpt-4"], r"'gpt-4' \(write llm:gpt-4 for a language"),
        (["run", "kbc", "--minds", "openai/gpt-4o"], r"\(write llm:gpt-4o for a language"),
        (["run", "kbc", "--minds", "LLM:gpt-4o"], r"\(write llm:gpt-4o\)"),
        (["run", "kbc", "--minds", "classical:x"], r"Unknown classical mind of kbc 'x'"),
        (["run", "kbc", "--minds", "fixed:0=3"], r"3 are given for 24 agents"),
        (["run", "kbc", "--prompts", "/no/such.toml"], r"Cannot read the prompt file /no"),
        (["run", "kbc", "--prices", "/no/such.toml", "--minds", "llm:m@http://127.0.0.1:1/v1"],
         r"Cannot read the price file /no/such\.toml"),
        (["run"], r"Missing argument 'SCENARIO'"),
        (["walk"], r"No such command 'walk'"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line_and_leaves_nothing(
    sabm: Sabm, tmp_path: Path, arguments: list[str], line: str
) -> None:
    out = tmp_path / "out"
    where = ["--out", str(out)] if arguments[1:2] in (["kbc"], ["bertrand"]) else []
    outcome = sabm(*arguments, *where)
    assert outcome.status == 2
    assert re.search(line, one_line(outcome)), outcome.err
    assert outcome.out == ""
    assert not out.exists()


@pytest.mark.usefixtures("no_key")
def test_a_refused_key_ends_at_once(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk" + "-secret-0123456789abcdefgh"
    close_all()
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with LLMServer(faults=[Fault("401", echo_key=True)] * 2) as server:
        outcome = sabm(
            "run", "kbc", "--minds", "llm:stub", "--base-url", server.url, "--rounds", 1,
            "--set", "n_players=2", "--out", tmp_path,
        )  # fmt: skip
        assert server.stats["requests"] == 2
        close_all()
    assert outcome.status == 1
    assert "401" in one_line(outcome)
    assert "OPENAI_API_KEY" in one_line(outcome)
    everything = [outcome.out.encode(), outcome.err.encode()]
    everything += [path.read_bytes() for path in tmp_path.iterdir()]
    assert not any(key.encode() in text for text in everything)


@pytest.mark.usefixtures("no_key")
def test_an_unreachable_server_keeps_what_was_answered(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer(faults=[None] * 10 + ["404"] * 9) as server:
        outcome = sabm(
            "run", "kbc", "--minds", "llm:stub", "--base-url", server.url, "--seed", 1,
            "--set", "n_players=8", "--out", tmp_path,
        )  # fmt: skip
        close_all()
    assert outcome.status == 1
    assert f"10 answers are in {tmp_path / 'recording.sqlite'}" in one_line(outcome)
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"recording.sqlite"}
    assert rows(tmp_path / "recording.sqlite", "SELECT count(*) FROM asks WHERE valid") == [(10,)]
    ((status, problem),) = rows(tmp_path / "recording.sqlite", "SELECT status, problem FROM runs")
    assert status == "failed"
    assert "404" in str(problem)


@pytest.mark.usefixtures("no_key")
def test_caps_stop_before_they_are_passed(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer() as server:
        outcome = sabm(
            "run", "kbc", "--minds", "llm:stub", "--base-url", server.url, "--runs", 2,
            "--max-asks", 30, "--out", tmp_path,
        )  # fmt: skip
        assert server.stats["requests"] <= 30
        close_all()
    assert outcome.status == 1
    assert "budget of 30 asks" in one_line(outcome)


@pytest.mark.parametrize("name", ["file", "recording"])
def test_an_output_folder_that_cannot_be_written(sabm: Sabm, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "recording").mkdir()
    (tmp_path / "recording" / "recording.sqlite").write_text("something else " * 100)
    out = tmp_path / "file" / "out" if name == "file" else tmp_path / "recording"
    outcome = sabm("run", "kbc", "--out", out)
    assert outcome.status == 1
    assert "recording.sqlite" in one_line(outcome)
    assert (tmp_path / "recording" / "recording.sqlite").read_text().startswith("something else ")


def test_a_sign_that_the_font_of_plots_has_not_is_drawn_without_a_warning(
    sabm: Sabm, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    small = ("--set", "n_players=2", "--rounds", "1", "--minds", "fixed:\uff13")
    outcome = sabm("run", "kbc", *small, "--out", tmp_path)

    assert (outcome.status, outcome.err) == (0, "")
    assert not recwarn.list


@pytest.mark.parametrize(
    ("n_players", "said"),
    [
        (10**9, "number of agents must be a whole number from 1 to 1000000"),
        (10**10, "n_players must be 1000000000 or less"),
    ],
)
def test_a_run_that_no_memory_holds_ends_in_one_line(
    sabm: Sabm, tmp_path: Path, n_players: int, said: str
) -> None:
    outcome = sabm("run", "kbc", "--set", f"n_players={n_players}", "--out", tmp_path / "out")

    assert outcome.status == 2
    assert said in one_line(outcome)
    assert not (tmp_path / "out").exists()


def test_an_error_is_json_too_when_json_is_asked_for(sabm: Sabm) -> None:
    outcome = sabm("run", "nothing", "--json")
    found = json.loads(outcome.out)
    assert found["exit_status"] == outcome.status == 2
    assert found["error"].startswith("Unknown scenario 'nothing'")


def test_the_version_and_the_help(sabm: Sabm) -> None:
    assert sabm("--version").out.startswith("sabm-mesa ")
    assert sabm().status == 0
    assert "sabm run kbc" in sabm("--help").out
