"""`sabm judge`: the rules, a language model behind a real connection, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from sabm_mesa import KeynesianBeautyContest, ScriptedMind
from sabm_mesa.analysis.messages import CODES
from sabm_mesa.cli.judge import JUDGE_SETTINGS
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.llm import close_all
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.studies import plots
from sabm_mesa.studies.judging import Judging, message_coder
from sabm_mesa.studies.plots import codes_by_round
from tests.core.support import rows, tiny
from tests.llm_server import Fault, LLMServer

from .support import Sabm, one_line

TEXTS = ["Let's all choose 20.", "I agree.", "No way.", "Stay calm.", "The average was 30.", "Hm."]


@pytest.fixture(autouse=True)
def own_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    yield
    close_all()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A contest of six players who say one of the texts each, in each of two rounds."""
    mind = ScriptedMind(lambda a: TEXTS[a.key.agent - 1] if a.name == "communicate" else "20")
    path = tmp_path / "rec" / "r.sqlite"
    KeynesianBeautyContest(n_players=6, n_rounds=3, minds=mind, rng=1, recording=path).run_model()
    return path


def message_in(messages: list[dict[str, Any]]) -> str:
    """The message that is to be judged."""
    text: str = messages[1]["content"].split("\n")[1]
    return text


def like_the_rules(messages: list[dict[str, Any]], _body: dict[str, Any]) -> str:
    return json.dumps({"codes": sorted(message_coder().codes(message_in(messages)))})


def contrary(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """Sees an agreement in a refusal, and cannot make anything of "Hm."."""
    if message_in(messages) == "Hm.":
        return "I would not know."
    said = message_in(messages)
    return '{"codes": ["agreement"]}' if said == "No way." else like_the_rules(messages, body)


def test_by_the_rules(sabm: Sabm, path: Path) -> None:
    outcome = sabm("judge", path)
    folder = path.parent / "judge"

    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[1] == "Messages: 12."
    assert [line.split() for line in lines[6:8]] == [["number", "33", "%"], ["proposal", "17", "%"]]
    assert lines[-1].startswith(f"Written to {folder}: shares.csv, messages.csv")
    found = pd.read_csv(folder / "messages.csv")
    pd.testing.assert_frame_equal(
        found, message_coder().coded(Recorded(path).messages()), check_dtype=False
    )
    assert (folder / "codes.png").read_bytes().startswith(b"\x89PNG")


def test_a_judge_that_codes_like_the_rules(sabm: Sabm, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "judged"
    with LLMServer(brain=like_the_rules) as server:
        outcome = sabm("judge", path, "--minds", f"llm:stub@{server.url}", "--out", out)
        assert server.stats["requests"] == len(TEXTS)

    assert outcome.status == 0, outcome.err
    assert "Messages read by the judge: 6 different texts." in outcome.out
    agreement = pd.read_csv(out / "agreement.csv").set_index("code")
    assert set(agreement["coders"]) == {"rules, judge"}
    assert agreement.loc["number", ["agreed", "kappa", "low", "high"]].tolist() == [1, 1, 1, 1]
    assert pd.isna(agreement.loc["guidance", "kappa"])
    found = pd.read_csv(out / "messages.csv")
    assert list(found.columns)[-16:] == [*CODES, *(f"judge_{code}" for code in CODES)]
    for code in CODES:
        assert found[f"judge_{code}"].tolist() == found[code].tolist()


def test_a_judge_that_differs_and_one_answer_that_cannot_be_read(sabm: Sabm, path: Path) -> None:
    with LLMServer(brain=contrary) as server:
        outcome = sabm("judge", path, "--minds", f"llm:stub@{server.url}", "--json")
        assert server.stats["requests"] == len(TEXTS) + 2  # three times "Hm."

    said = json.loads(outcome.out)
    assert (len(said["messages"]), said["messages_judged"], said["messages_unusable"]) == (12, 6, 1)
    by_code = {row["code"]: row for row in said["agreement"]}
    assert {row["n"] for row in by_code.values()} == {10}
    # 2 of 10 by the rules, 4 by the judge: p_o = 0.8, p_e = 0.2 * 0.4 + 0.8 * 0.6 = 0.56
    assert by_code["agreement"]["kappa"] == pytest.approx(0.24 / 0.44)
    assert by_code["disagreement"]["kappa"] == 0
    assert by_code["guidance"]["kappa"] is None
    found = pd.read_csv(path.parent / "judge" / "messages.csv")
    missing = found["judge_number"].isna()
    assert missing.tolist() == (found["text"] == "Hm.").tolist()
    words = sabm("judge", path, "--minds", f"llm:stub@{server.url}")
    assert "Warning: Messages: no usable answer to 1 of 6 texts; their codes are" in words.out


def test_a_judge_without_any_usable_answer(
    sabm: Sabm, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    legends: list[list[str]] = []

    def drawn(coders: dict[str, pd.DataFrame], subtitle: str) -> Figure:
        figure = codes_by_round(coders, subtitle)
        legends.append([text.get_text() for each in figure.legends for text in each.get_texts()])
        return figure

    monkeypatch.setattr(plots, "codes_by_round", drawn)
    with LLMServer(brain=lambda *_: "I would not know.") as server:
        command = ["judge", path, "--minds", f"llm:stub@{server.url}"]
        words = sabm(*command).out
        said = json.loads(sabm(*command, "--json").out)

    assert "Warning: Messages: no usable answer to 6 of 6 texts" in words
    assert "nan" not in words
    assert "agreement" not in said
    assert (said["messages_unusable"], said["shares"][0]["judge"]) == (6, None)
    assert legends == [[], []]


def test_the_help_lists_what_can_be_set(sabm: Sabm) -> None:
    known = set(parameters_of(Judging))

    assert set(JUDGE_SETTINGS) <= known
    shown = " ".join(sabm("judge", "--help").out.split())
    assert ", ".join(JUDGE_SETTINGS) in shown


def test_codes_of_a_person_are_compared(sabm: Sabm, path: Path, tmp_path: Path) -> None:
    codes = tmp_path / "codes.csv"
    by_hand = message_coder().coded(pd.DataFrame({"text": TEXTS[:4]}))
    by_hand.loc[3, "agreement"] = True  # "Stay calm."
    by_hand.astype(dict.fromkeys(CODES, int)).to_csv(codes, index=False)
    said = json.loads(sabm("judge", path, "--codes", codes, "--json").out)

    by_code = {row["code"]: row for row in said["agreement"]}
    assert {(row["coders"], row["n"]) for row in said["agreement"]} == {("rules, person", 8)}
    # 2 of 8 by the rules, 4 by the person: p_o = 0.75, p_e = 0.25 * 0.5 + 0.75 * 0.5 = 0.5
    assert by_code["agreement"]["kappa"] == pytest.approx(0.5)
    codes.write_text("text\nHm.\n", "utf-8")
    assert one_line(sabm("judge", path, "--codes", codes)).startswith(
        f"{codes} has no column number"
    )


def test_answers_as_json(sabm: Sabm, path: Path) -> None:
    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
        answer = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]
        assert answer["properties"]["codes"]["items"]["enum"] == list(CODES)
        return json.dumps({"answer": json.loads(like_the_rules(messages, body))})

    with LLMServer(brain=brain) as server:
        outcome = sabm(
            "judge", path, "--minds", f"llm:stub@{server.url}", "--set", "answer_format=json",
            "--json",
        )  # fmt: skip

    assert json.loads(outcome.out)["messages_unusable"] == 0


@pytest.mark.slow
def test_what_was_paid_for_is_not_asked_again(sabm: Sabm, path: Path) -> None:
    with LLMServer(brain=like_the_rules) as server:
        command = ["judge", path, "--minds", f"llm:stub@{server.url}"]
        first = sabm(*command, "--max-asks", 4, "--max-concurrency", 1)
        ((kept,),) = rows(path.parent / "judge" / "judge.sqlite", "SELECT count(*) FROM asks")
        assert first.status == 1
        assert one_line(first).endswith("a larger budget continues from there.")
        assert f" {kept} answers are in " in one_line(first)
        assert kept == server.stats["requests"] == 4
        assert sabm(*command).status == 0
        assert server.stats["requests"] == len(TEXTS)
        assert sabm(*command).status == 0
        assert server.stats["requests"] == len(TEXTS)
        # Another setting is another judging, in the same recording.
        assert sabm(*command, "--set", "temperature=0.5").status == 0
        assert server.stats["requests"] == 2 * len(TEXTS)


def test_a_server_that_fails(sabm: Sabm, path: Path) -> None:
    with LLMServer(faults=lambda _n, _body: Fault("400")) as server:
        outcome = sabm("judge", path, "--minds", f"llm:stub@{server.url}")

    assert (outcome.status, outcome.out) == (1, "")
    assert one_line(outcome)
    assert not (path.parent / "judge" / "messages.csv").exists()


def test_without_a_key(sabm: Sabm, path: Path) -> None:
    outcome = sabm("judge", path, "--minds", "llm:gpt-4o-mini")

    assert outcome.status == 1
    assert outcome.err.startswith("sabm: There is no API key.")
    assert not (path.parent / "judge").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--minds", "nobody"], "Cannot read the mind spec 'nobody'"),
        (["--minds", "human"], "The mind 'human' needs a person at a seat"),
        (["--set", "n_rounds=2"], "Unknown parameter of a judge 'n_rounds'"),
        (["--minds", "fixed:none", "--set", "tempo=2"], "Unknown parameter of a judge 'tempo'"),
        (["--set", "temperature=1"], "--set and --prompts need a language model"),
    ],
)
def test_wrong_use(sabm: Sabm, path: Path, options: list[str], said: str) -> None:
    outcome = sabm("judge", path, *options)

    assert outcome.status == 2
    assert one_line(outcome).startswith(said)
    assert not (path.parent / "judge").exists()


def test_a_recording_without_talk(sabm: Sabm, tmp_path: Path) -> None:
    tiny(minds="fixed:1", rng=1, recording=tmp_path / "r.sqlite").run_model()
    outcome = sabm("judge", tmp_path / "r.sqlite")

    assert outcome.status == 2
    nothing = f"The runs of {tmp_path / 'r.sqlite'} have no messages and no recorded reasoning."
    assert one_line(outcome) == nothing
    assert sabm("judge", tmp_path / "none.sqlite").status == 1


def test_a_judge_codes_private_reasoning(sabm: Sabm, tmp_path: Path) -> None:
    says = {
        1: "The average is 50, two thirds of it is 33.\n33",
        2: "17 is my lucky number.\n17",
        3: "I follow the suggestion of Player #1.\n33",
        4: "33",
    }
    codes = {"average": ["step_1", "reference"], "lucky": ["step_0"], "follow": ["imitation"]}
    mind = ScriptedMind(lambda ask: says[ask.key.agent])
    recording = tmp_path / "r.sqlite"
    contest = KeynesianBeautyContest(n_players=4, n_rounds=1, minds=mind, rng=1,
                                     recording=recording)  # fmt: skip
    contest.run_model()

    def brain(messages: list[dict[str, Any]], _body: dict[str, Any]) -> str:
        named = next(names for word, names in codes.items() if word in message_in(messages))
        return json.dumps({"codes": named})

    with LLMServer(brain=brain) as server:
        command = ("judge", recording, "--minds", f"llm:stub@{server.url}")
        outcome = sabm(*command, "--json")
        assert server.stats["requests"] == 3

    found = json.loads(outcome.out)
    shares = {row["code"]: row["judge"] for row in found["reasoning_shares"]}
    assert (len(found["reasoning"]), found["reasoning_unusable"]) == (3, 0)
    assert shares["step_0"] == shares["imitation"] == pytest.approx(1 / 3)
    without = sabm("judge", recording, "--out", tmp_path / "without")
    assert "Decisions with private reasoning: 3. A language model can code it" in without.out
