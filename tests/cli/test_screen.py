"""`sabm screen`: three tests of several minds, what is kept of them, and what is said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from sabm_mesa.llm import close_all
from sabm_mesa.models.bertrand.screening import band
from sabm_mesa.models.commons.screening import solved_shares
from sabm_mesa.models.kbc.screening import HIGHEST_PICK
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.rerun import replay
from sabm_mesa.studies.screening import battery
from tests.llm_server import Fault, LLMServer

from .support import Sabm, one_line

NAMES = ["kbc", "bertrand", "path-test"]
QUESTIONS = 24 + 2 + 2 * 19
"""Of one run of all tests."""


@pytest.fixture(autouse=True)
def own_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    yield
    close_all()


def able(messages: list[dict[str, Any]], _body: dict[str, Any]) -> str:
    """Finds the way, picks 22 with a reason, and sets the price of the equilibrium."""
    told, asked = messages[0]["content"], messages[1]["content"]
    if "grid" in told:
        start = re.search(r"now at (\(\d, \d\))", asked)
        assert start is not None
        return {
            "(1, 3)": "(2, 2), (3, 1), (4, 1), (5, 0)",
            "(2, 6)": "(3, 7), (4, 8), (5, 9), (6, 9), (7, 9), (8, 9)",
        }[start[1]]
    return "They will pick 33.\n22" if "average" in told else "6"


def unable(messages: list[dict[str, Any]], _body: dict[str, Any]) -> str:
    """Picks 90, jumps, and does not say a price."""
    told = messages[0]["content"]
    if "grid" in told:
        return "(4, 4), (8, 9)"
    return "90" if "average" in told else "A fair price."


def shown(outcome: str, mind: str) -> list[str]:
    """The row of a mind in the table."""
    row = next(line for line in outcome.splitlines() if line.startswith(mind))
    return row.split()[1:4]


def measure(folder: Path, mind: str, test: str, name: str) -> float:
    table = pd.read_csv(folder / "screening.csv").set_index(["mind", "test", "measure"])["value"]
    return float(table[mind, test, name])


def test_without_a_language_model(sabm: Sabm, tmp_path: Path) -> None:
    outcome = sabm("screen", "--minds", "classical", "--minds", "fixed:30", "--out", tmp_path)

    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0].split() == ["mind", *NAMES, "questions", "invalid", "paid"]
    assert shown(outcome.out, "classical") == ["passes"] * 3
    assert shown(outcome.out, "fixed:30") == ["passes", "fails", "fails"]
    assert "fixed:30 fails: from (1, 3) no list of cells" in outcome.out
    assert outcome.out.splitlines()[-1] == f"Report: {tmp_path / 'screening.html'}"
    assert {path.name for path in tmp_path.iterdir()} == {
        *NAMES, "screening.csv", "routes.csv", "screening.md", "screening.html",
        "routes-1-classical.png", "routes-2-fixed-30.png",
    }  # fmt: skip
    assert measure(tmp_path, "classical", "path-test", "moves from (2, 6)") == 6
    assert measure(tmp_path, "fixed:30", "kbc", "pick_median") == 30
    assert measure(tmp_path, "fixed:30", "bertrand", "invalid") == 0  # a price that sells nothing
    routes = pd.read_csv(tmp_path / "routes.csv")
    assert list(routes["mind"]) == ["classical"] * 2 + ["fixed:30"] * 2
    assert routes["route"].isna().tolist() == [False, False, True, True]
    for name in NAMES:
        assert len(replay(tmp_path / name / "recording.sqlite").models) == 2


@pytest.mark.slow
def test_two_language_models(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer(brain=able) as good, LLMServer(brain=unable) as bad:
        minds = [f"llm:a@{good.url}", f"llm:b@{bad.url}"]
        command = ["screen", "--minds", minds[0], "--minds", minds[1], "--out", tmp_path, "--json"]
        outcome = sabm(*command)
        assert good.stats["requests"] == QUESTIONS
        assert bad.stats["requests"] == 24 + 2 + 3 * 38
        again = sabm(*command)
        assert good.stats["requests"] == QUESTIONS

    assert outcome.status == 0, outcome.err
    said, repeated = json.loads(outcome.out), json.loads(again.out)
    assert (said["minds"], said["seeds"], said["ran"], repeated["ran"]) == (minds, [1], 6, 0)
    assert repeated["tests"] == said["tests"]
    passes = {(each["test"], each["mind"]): each["passes"] for each in said["tests"]}
    assert passes == {
        **{(name, minds[0]): True for name in NAMES},
        **{(name, minds[1]): False for name in NAMES},
    }
    found = {(each["test"], each["mind"]): each["measures"] for each in said["tests"]}
    best, worst = ({n: found[n, mind] for n in NAMES} for mind in minds)
    assert (best["kbc"]["pick_median"], best["kbc"]["level_median"]) == (22, 2)
    assert (best["kbc"]["reasoned"], worst["kbc"]["reasoned"]) == (1, 0)
    assert (worst["kbc"]["usable"], worst["kbc"]["undominated"]) == (1, 0)
    assert best["path-test"]["shortest from (2, 6)"] == 1
    assert worst["path-test"]["answered from (1, 3)"] == 1
    assert worst["path-test"]["legal from (1, 3)"] == 0
    assert (best["bertrand"]["price"], best["bertrand"]["profit"]) == (
        pytest.approx(6), pytest.approx(3200),
    )  # fmt: skip
    # The price that a firm keeps because nothing else was usable is not the mind's.
    assert (worst["bertrand"]["usable"], worst["bertrand"]["price"]) == (0, None)
    assert worst["bertrand"]["in_band"] == 0


@pytest.mark.slow
def test_what_was_paid_for_is_not_asked_again(sabm: Sabm, tmp_path: Path) -> None:
    def answers() -> int:
        return sum(len(Recorded(path).asks()) for path in tmp_path.glob("*/recording.sqlite"))

    with LLMServer(brain=able) as server:
        command = ["screen", "--minds", f"llm:a@{server.url}", "--out", tmp_path]
        first = sabm(*command, "--max-asks", 30, "--max-concurrency", 4)
        assert first.status == 1
        assert one_line(first).endswith(
            f"30 answers are in {tmp_path}; the same command continues from there."
        )
        assert answers() == server.stats["requests"] == 30
        assert not (tmp_path / "screening.md").exists()
        # The budget counts what was spent before, in all three tests.
        assert sabm(*command, "--max-asks", 30).status == 1
        assert server.stats["requests"] == 30
        assert sabm(*command, "--max-asks", QUESTIONS).status == 0
        assert answers() == server.stats["requests"] == QUESTIONS
        # One run more, and another mind: only these are run.
        more = sabm(*command, "--runs", 2, "--minds", "classical")
        assert server.stats["requests"] == 2 * QUESTIONS
        assert "3 of 12 runs are from before." in more.out

    assert sabm(*command, "--runs", 2).status == 0  # without the server
    assert measure(tmp_path, command[2], "kbc", "answers") == 48


def test_a_server_that_fails(sabm: Sabm, tmp_path: Path) -> None:
    with LLMServer(faults=lambda _n, _body: Fault("400")) as server:
        outcome = sabm("screen", "--minds", f"llm:a@{server.url}", "--out", tmp_path)

    assert (outcome.status, outcome.out) == (1, "")
    assert one_line(outcome)
    assert not (tmp_path / "screening.md").exists()


@pytest.mark.slow
def test_nothing_in_a_name_acts_in_the_report(sabm: Sabm, tmp_path: Path) -> None:
    mind = "fixed:<b>|x|[a](http://b)`![c](d)"
    assert sabm("screen", "--minds", mind, "--out", tmp_path).status == 0
    page = (tmp_path / "screening.html").read_text("utf-8")
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    again = parser.render((tmp_path / "screening.md").read_text("utf-8"))

    for text in (page, again):
        assert ">fixed:&lt;b&gt;|x|[a](http://b)`![c](d)</td>" in text
        assert "<b>" not in text
        assert "<a " not in text
    assert page.count("<img") == 1
    assert 'src="data:image/png;base64,' in page


@pytest.mark.slow
def test_what_is_said_of_the_publication(sabm: Sabm, tmp_path: Path) -> None:
    sabm("screen", "--minds", "classical", "--out", tmp_path)
    text = (tmp_path / "screening.md").read_text("utf-8")

    assert [test.name for test in battery().tests] == NAMES
    for each in battery().published:
        assert each.test in NAMES
        assert f"| {each.mind} | {each.found} | {each.source} |" in text
    for test in battery().tests:
        assert test.rule in text
    table = pd.read_csv(tmp_path / "screening.csv")
    picks = table[(table["source"] == "table 4") & (table["measure"] == "pick")]
    assert list(picks["value"]) == [18, 30, 33]
    assert "when a mind passes is our choice" in text


@pytest.mark.slow
def test_the_limits_are_those_that_the_rules_name(sabm: Sabm, tmp_path: Path) -> None:
    sabm("screen", "--minds", "classical", "--out", tmp_path)
    rules = {test.name: test.rule for test in battery().tests}
    low, high = band(Recorded(tmp_path / "bertrand" / "recording.sqlite").runs())

    assert (low, high) == (pytest.approx(5), pytest.approx(8))
    assert "from 5 to 8" in rules["bertrand"]
    assert HIGHEST_PICK == 67
    assert "from 0 to 67" in rules["kbc"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--minds", "nobody"], "Cannot read the mind spec 'nobody'"),
        (["--minds", "human"], "The mind 'human' needs a person at a seat"),
        (["--minds", "classical:level_k"], "Unknown classical mind of bertrand 'level_k'"),
        (["--minds", "fixed:1=3,fixed:2=21"], "A test has one mind, not 'fixed:1=3,fixed:2=21'"),
        (["--minds", "fixed:1", "--minds", "fixed:1"], "A screening needs one mind or more, each"),
        ([], "Missing option '--minds'"),
        (["--minds", "fixed:1", "--tests", "chess"], "Unknown set of tests 'chess'."),
        (["--minds", "fixed:1", "--problems", 9], "The tests 'play' have no problems to count"),
    ],
)
def test_wrong_use(sabm: Sabm, tmp_path: Path, options: list[str], said: str) -> None:
    outcome = sabm("screen", *options, "--out", tmp_path / "out")

    assert outcome.status == 2
    assert one_line(outcome).startswith(said)
    assert not (tmp_path / "out").exists()


def test_without_a_key(sabm: Sabm, tmp_path: Path) -> None:
    outcome = sabm("screen", "--minds", "llm:gpt-4o-mini", "--out", tmp_path / "out")

    assert outcome.status == 1
    assert outcome.err.startswith("sabm: There is no API key.\n")
    assert not (tmp_path / "out").exists()


# The commons.

WORDINGS = ["fishery", "pasture", "pollution"]
SKILLS = ["dynamics", "action", "same", "belief"]


def cautious(messages: list[dict[str, Any]], _body: dict[str, Any]) -> str:
    """Knows how the stock grows, and takes or names 1 otherwise; of rivers it says nothing."""
    told, asked = (message["content"] for message in messages[:2])
    if "river" in told:
        return "A fair share."
    if "wants to" in asked:
        stock, amount = (
            int(re.findall(pattern, asked)[0])
            for pattern in (r"begins with (\d+)", r"wants to \w+ (\d+)")
        )
        return f"It doubles.\n{max(0, min(100, 2 * (stock - 5 * amount)))}"
    return "Little is safe.\n1"


@pytest.mark.slow
def test_the_commons_without_a_language_model(sabm: Sabm, tmp_path: Path) -> None:
    """An amount of 2 is sustainable for stocks of 20 and more, and right for those below 30."""
    command = ["screen", "--tests", "commons", "--minds", "classical", "--minds", "fixed:2"]
    outcome = sabm(*command, "--problems", 30, "--runs", 2, "--out", tmp_path)

    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0].split() == [
        "mind", *WORDINGS, "questions", "invalid", "paid",
    ]  # fmt: skip
    assert shown(outcome.out, "classical") == ["passes"] * 3
    assert shown(outcome.out, "fixed:2") == ["fails"] * 3
    assert "action: a sustainable amount in 30 % of the problems at most" in outcome.out
    assert {path.name for path in tmp_path.iterdir()} == {
        *WORDINGS, "commons-screening.csv", "problems.csv", "commons-screening.md",
        "commons-screening.html", "commons-skills.png",
    }  # fmt: skip
    problems = pd.read_csv(tmp_path / "problems.csv")
    assert len(problems) == 2 * 2 * 3 * 4 * 30
    mine = problems[(problems["mind"] == "fixed:2") & (problems["wording"] == "pasture")]
    found = pd.read_csv(tmp_path / "commons-screening.csv")
    told = found[(found["mind"] == "fixed:2") & (found["test"] == "pasture")]
    told = told.set_index("measure")["value"]
    action = mine[mine["skill"] == "action"]
    assert told["action"] == (action["stock"] >= 20).mean() == action["passed"].mean()
    assert told["same"] == mine.query("skill == 'same'")["stock"].between(20, 29).mean()
    assert told["action low"] < told["action"] < told["action high"]
    assert (told["answers"], told["action usable"], told["asks"]) == (240, 1, 240)
    published = found[found["source"] == "section 3.7"]
    assert list(published["value"]) == [0.69, 0.92, 0.76, 0.82, 0.30]
    text = (tmp_path / "commons-screening.md").read_text("utf-8")
    for each in battery("commons").published:
        assert f"| {each.mind} | {each.found} | {each.source} |" in text
    for name in WORDINGS:
        assert len(replay(tmp_path / name / "recording.sqlite").models) == 2 * 2


def test_the_interval_of_a_share_is_that_of_wilson() -> None:
    """45 of 150: (0.3 + z²/300 ± z √(0.3 · 0.7/150 + z²/90000)) / (1 + z²/150), z = 1.959964."""
    rows = [{"skill": skill, "passed": i < 45} for skill in SKILLS for i in range(150)]
    assert solved_shares(pd.DataFrame(rows))["same"] == pytest.approx(
        (0.3, 0.23241, 0.37758), abs=1e-5
    )


@pytest.mark.slow
def test_the_commons_with_a_language_model_goes_on_where_it_was_stopped(
    sabm: Sabm, tmp_path: Path
) -> None:
    with LLMServer(brain=cautious) as server:
        mind = f"llm:a@{server.url}"
        command = ["screen", "--tests", "commons", "--problems", 5, "--out", tmp_path]
        first = sabm(*command, "--minds", mind, "--max-asks", 25, "--max-concurrency", 4)
        assert first.status == 1
        assert one_line(first).endswith("the same command continues from there.")
        assert sabm(*command, "--minds", mind).status == 0
        # Of the river each of 20 problems is asked three times.
        assert server.stats["requests"] == 2 * 20 + 3 * 20
        again = sabm(*command, "--minds", mind, "--minds", "fixed:1", "--json")
        assert server.stats["requests"] == 100

    said = json.loads(again.out)
    assert (said["set"], said["ran"]) == ("commons", 3)
    measures = {(each["test"], each["mind"]): each["measures"] for each in said["tests"]}
    assert [measures[name, mind]["dynamics"] for name in WORDINGS] == [1, 1, 0]
    assert [measures[name, mind]["invalid"] for name in WORDINGS] == [0, 0, 20]
    assert measures["pollution", mind]["action usable"] == 0
    assert measures["fishery", mind]["action"] == 1
    assert said["published"][0]["value"] == 0.69
    assert not any(each["passes"] for each in said["tests"])


@pytest.mark.slow
def test_both_sets_may_share_a_folder(sabm: Sabm, tmp_path: Path) -> None:
    for more in ([], ["--tests", "commons", "--problems", 1]):
        assert sabm("screen", *more, "--minds", "classical", "--out", tmp_path).status == 0
    assert {"screening.html", "commons-screening.html"} <= {p.name for p in tmp_path.iterdir()}
