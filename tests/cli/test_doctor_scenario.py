"""`sabm doctor SCENARIO --minds SPEC`, against servers of known habits."""

import json
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa.cli.doctor import in_words
from sabm_mesa.llm import close_all
from sabm_mesa.runs.try_model import Trial, Tried
from tests.llm_server import LLMServer, stub

from .support import Sabm, one_line


@pytest.fixture
def sabm(capsys: pytest.CaptureFixture[str]) -> Sabm:
    yield Sabm(capsys)
    close_all()


def only_json(messages: Any, body: Any) -> str:
    """A model that answers under a schema, and chats otherwise."""
    return stub(messages, body) if "response_format" in body else "Let me think about that."


def test_every_form_is_tried_on_the_questions_of_the_scenario(sabm: Sabm) -> None:
    with LLMServer(brain=only_json) as server:
        outcome = sabm(
            "doctor", "kbc", "--minds", f"llm:stub@{server.url}", "--times", 3, "--json"
        )  # fmt: skip
    (told,) = json.loads(outcome.out)["trials"]
    rows = {(row["question"], row["form"]): row for row in told["tried"]}

    assert outcome.status == 0
    assert {question for question, _ in rows} == {"act", "communicate"}
    assert rows["act", "json"]["valid"] == rows["act", "json"]["answers"] == 3
    assert rows["act", "paper"]["valid"] == 0
    assert rows["act", "paper"]["answers"] == 3
    assert rows["act", "paper"]["reason"]
    assert told["best"] == "json"
    assert "Recommended: --set answer_format=json" in told["recommendation"]
    assert told["asks"] == 24 * 4 + 24 * 3
    assert told["exam"]["solved"] == {"picks": [3, 3]}
    assert told["exam"]["passes"]
    assert server.stats["requests"] == sum(row["answers"] for row in rows.values()) + 3


def test_the_table_and_what_to_expect_of_a_run(sabm: Sabm) -> None:
    with LLMServer(brain=stub) as server:
        outcome = sabm("doctor", "bertrand", "--minds", f"llm:stub@{server.url}", "--rounds", 3)

    lines = outcome.out.splitlines()
    assert outcome.status == 0
    heads = next(line.split() for line in lines if line.startswith("question"))
    assert heads[1:] == ["form", "valid", "tokens", "each", "seconds", "each"]
    said = outcome.err.splitlines()
    assert said[1] == "  communicate: 1 valid, 1 of 4 asked"
    assert [line for line in said if not line.startswith("  ")] == [
        "Answer format labelled (1 of 3) …",
        "Answer format paper (2 of 3) …",
        "Answer format json (3 of 3) …",
        "Preliminary test: prices of two firms in 20 rounds without talk …",
    ]
    assert any("nothing must be set" in line for line in lines)
    cost = next(line for line in lines if line.startswith("A run with these settings: about "))
    assert cost.endswith("price unknown")


@pytest.mark.parametrize(("pick", "verdict"), [(18, "passes"), (80, "fails")])
def test_the_preliminary_test_of_the_paper_follows(sabm: Sabm, pick: int, verdict: str) -> None:
    with LLMServer(brain=lambda *_: f"Because.\nAnswer: {pick}") as server:
        outcome = sabm("doctor", "kbc", "--minds", f"llm:stub@{server.url}", "--times", 2)

    assert outcome.status == 0
    assert outcome.err.splitlines()[-1] == "Preliminary test: one-shot contest …"
    *_, said, shares, right, published = outcome.out.splitlines()
    assert said == (
        f"Preliminary test, one-shot contest (Wu et al. 2024, appendix B.1 and table 4): {verdict}."
    )
    assert shares == f"  picks: {2 if verdict == 'passes' else 0} of 2 right"
    assert "90 % of each kind must be right; the limit is ours." in right
    assert published.startswith("  Published: GPT-4 picks 18")


def test_the_preliminary_test_is_asked_in_the_best_form_with_the_given_settings(sabm: Sabm) -> None:
    def lost(messages: Any, body: Any) -> str:
        if "by which way do you leave" in messages[-1]["content"]:
            return '{"answer": "(2, 2), (3, 1), (4, 0), (5, 0)"}'
        return only_json(messages, body)

    with LLMServer(brain=lost) as server:
        spec = f"llm:stub@{server.url}"
        given = ("--set", "temperature=0.3", "--set", "n_people=3", "--json")
        outcome = sabm("doctor", "evacuation", "--minds", spec, *given, "--times", 1)
    exam = json.loads(outcome.out)["trials"][0]["exam"]
    last = server.requests[-1].body

    assert (exam["passes"], exam["threshold"]) == (False, 0.9)
    assert exam["solved"] == {"from (1, 3)": [1, 1], "from (2, 6)": [0, 1]}
    assert (last["temperature"], last["max_tokens"]) == (0.3, 512)
    assert "response_format" in last


def test_a_recording_gives_scenario_and_parameters(sabm: Sabm, tmp_path: Path) -> None:
    sabm("run", "kbc", "--set", "n_players=2", "--rounds", 1, "--out", tmp_path)
    with LLMServer(brain=stub) as server:
        outcome = sabm(
            "doctor", tmp_path / "recording.sqlite", "--minds", f"llm:stub@{server.url}", "--json"
        )  # fmt: skip

    (told,) = json.loads(outcome.out)["trials"]
    assert told["scenario"] == "kbc"
    assert told["asks"] == 2


def test_where_no_form_works_the_command_says_so_without_a_preliminary_test(sabm: Sabm) -> None:
    with LLMServer(brain=lambda *_: "No.") as server:
        spec = f"llm:stub@{server.url}"
        outcome = sabm("doctor", "kbc", "--minds", spec, "--set", "n_players=2", "--rounds", 1)

    assert outcome.status == 1
    assert "No form works: choose a larger model." in outcome.out
    assert "Preliminary test" not in outcome.out + outcome.err


@pytest.mark.slow
def test_a_run_with_many_refused_answers_recommends_the_trial_in_its_last_line(
    sabm: Sabm, tmp_path: Path
) -> None:
    given = ("--set", "n_players=3", "--rounds", 1, "--set", "answer_format=paper")
    with LLMServer(brain=only_json) as server:
        spec = f"llm:stub@{server.url}"
        bad = sabm("run", "kbc", "--minds", spec, *given, "--out", tmp_path / "bad")
    with LLMServer(brain=stub) as server:
        spec_of_good = f"llm:stub@{server.url}"
        good = sabm("run", "kbc", "--minds", spec_of_good, *given, "--out", tmp_path / "good")

    last = bad.out.splitlines()[-1]
    assert last.startswith("6 of 9 answers could not be used.")  # the third attempt asks for JSON
    assert last.endswith(f"sabm doctor {tmp_path}/bad/recording.sqlite --minds {spec}")
    assert "doctor" not in good.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("kbc",), "sabm doctor kbc needs --minds"),
        (("kbc", "--minds", "classical"), "'classical' is not a language model"),
        (("nowhere", "--minds", "llm:a"), "Unknown scenario 'nowhere'"),
        (("--set", "n_players=3"), "Parameters belong to a scenario"),
        (("kbc", "--minds", "local:no", "--set", "n_players=2"), "Unknown local model 'no'"),
    ],
)
def test_wrong_use_is_one_line(sabm: Sabm, arguments: Any, says: str) -> None:
    outcome = sabm("doctor", *arguments)

    assert outcome.status == 2
    assert says in one_line(outcome)


def test_the_outcome_of_a_trial_states_the_cost_in_cents() -> None:
    tried = [Tried("act", "json", answers=4, valid=4, tokens=40, seconds=2.0)]
    trial = Trial("llm:a", "kbc", tried, {"json": 2.0}, "json", asks=1200, usd=1.234)

    said = in_words(trial).splitlines()

    assert "A run with these settings: about 1,200 questions, 10 minutes, $1.23" in said
