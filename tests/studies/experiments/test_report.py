"""The report says what the results say, harms nobody, and is the same when written again."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from sabm_mesa.analysis.tests import infer
from sabm_mesa.studies import page as words
from sabm_mesa.studies.experiments import report
from sabm_mesa.studies.experiments.report import ONLY_RULES, warnings
from sabm_mesa.studies.experiments.results import Results, Verdict, is_outside, results
from sabm_mesa.studies.experiments.running import RECORDING, plan, run
from sabm_mesa.studies.experiments.schema import (
    experiment_names,
    load_experiment,
)
from sabm_mesa.studies.people import human_distributions
from sabm_mesa.studies.report import (
    Report,
    Table,
    as_html,
    as_json,
    as_markdown,
    in_terminal,
    write,
)
from tests.studies.experiments.support import FORK, SMALL, experiment_of

MORE = """
[[measures]]
name = "fall"
label = "Fall of the variance"
columns = "variance"
take = "change"
unit = "picks squared"

[[claims]]
text = "Told to cooperate, they differ less."
source = "page 2"
measure = "last"
kind = "less"
condition = "cooperative"
than = "baseline"
ours = "the last round"

[[published]]
source = "page 3"
measures = "last"
numbers = { cooperative = 12.5 }

[[published]]
source = "page 5"
measures = "fall"
numbers = { people = -20 }
label = "students"

[[published]]
source = "page 4"
column = "variance"
rounds = [0, 1]
numbers = { baseline = [300, 1234.5] }

[[plots]]
kind = "rounds"
title = "Variance"
columns = "variance"
label = "Variance of the picks"

[[plots]]
kind = "values"
title = "First picks"
columns = "choice"
label = "Pick"
theory = "levels"
human = "nagel-1995"
"""
SEVERAL = SMALL.replace('cost = "small"', 'cost = "small"\nshow = ["picks"]') + MORE


def played(text: str, folder: Path, **options: Any) -> Results:
    return results(run(plan(experiment_of(folder.name, text), **options), folder))


def made(text: str, folder: Path, **options: Any) -> dict[str, Any]:
    """The report of an experiment, as JSON."""
    return as_json(report.report_of(played(text, folder, **options)))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return played(SEVERAL, tmp_path_factory.mktemp("out") / "small", runs=3)


@pytest.fixture(scope="module")
def folder(found: Results) -> Path:
    """The folder of an experiment with its report."""
    write(report.report_of(found), found.outcome.path.parent, "report")
    return found.outcome.path.parent


class Page(HTMLParser):
    """The content of an HTML page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_the_report_has_what_was_found(found: Results) -> None:
    made = report.report_of(found)
    said = as_json(made)
    assert made.lead.startswith("Verdicts on 2 claims: 2 too few runs.")
    assert [row["verdict"] for row in said["claims"]] == [each.word for each in found.verdicts]
    assert [row["what_would_decide"] for row in said["claims"]] == ["6 runs would do"] * 2
    for row, each in zip(said["claims"], found.verdicts, strict=True):
        assert (row["claim"], row["p"], row["estimate"]) == (
            each.claim.text,
            each.p,
            each.test.estimate,
        )
    first, second = said["tests"]
    assert first["tested"] == "Variance in the last round: “Baseline” below 50"
    assert second["tested"] == (
        "Variance in the last round: “Told to cooperate” less than “Baseline”"
    )
    assert (second["runs"], second["test"], second["ours"]) == (
        3,
        "sign test of pairs",
        "the last round",
    )
    assert [(row["measure_label"], row["published"]) for row in said["estimates"][:2]] == [
        ("Variance in the last round", pytest.approx(math.nan, nan_ok=True)),
        ("Variance in the last round", 12.5),
    ]
    assert said["people"][0]["who"] == "students"
    assert [row["published"] for row in said["published"]] == [300, 1234.5]
    assert [row["than_label"] for row in said["comparisons"]] == ["Told to cooperate"] * 2
    assert (said["runs"], said["seeds"], said["asks"]) == (
        6,
        [1, 2, 3],
        found.outcome.runs["asks"].sum(),
    )
    assert "sabm-mesa" in said["versions"]
    assert said["conditions"][1]["parameters"] == (
        "n_players = 3, n_rounds = 2, condition = cooperative"
    )


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_has_the_claims_alone(found: Results, width: int) -> None:
    text = in_terminal(report.report_of(found), width)
    table = text.partition("\nClaims\n")[2].partition("\nNext:")[0]
    assert table.splitlines()[0].split() == [
        "verdict", "claim", "found", "(95", "%)", "p", "what", "would", "decide",
    ]  # fmt: skip
    assert max(map(len, table.splitlines())) <= width
    assert "Measures by condition" not in text


def test_it_says_what_to_know_before_believing_it(found: Results) -> None:
    assert warnings(found) == [
        f"Planned for llm:gpt-4-0314; here: classical. {ONLY_RULES}",
        "Smaller than at paper scale: n_rounds = 2.",
    ]


def test_answers_that_could_not_be_used_are_counted(found: Results) -> None:
    who = dict.fromkeys(found.outcome.plan.minds, "llm:gpt-4-0314@http://a")
    runs = found.outcome.runs.assign(invalid=[0, 0, 0, 2, 0, 1])
    plan = replace(found.outcome.plan, minds=who)
    several = replace(found, outcome=replace(found.outcome, runs=runs, plan=plan))
    *others, last = warnings(several)
    asks = runs["asks"].iloc[3:].sum()
    assert last == f"Told to cooperate: 3 of {asks} questions got no usable answer."
    # The address of the endpoint makes no difference to who decided.
    assert others == ["Smaller than at paper scale: n_rounds = 2."]
    few = replace(several.outcome.plan, runs=2)
    fewer = replace(several, outcome=replace(several.outcome, plan=few))
    assert "2 runs a condition; at paper scale there are 3." in warnings(fewer)


def test_the_page_needs_nothing_else(folder: Path) -> None:
    html = Page(folder / "report.html")
    kinds = {tag for tag, _ in html.tags}
    assert not kinds & {"script", "link", "iframe", "object", "a"}
    images = [attributes for tag, attributes in html.tags if tag == "img"]
    assert len(images) == 5
    assert all((each["src"] or "").startswith("data:image/png;base64,") for each in images)
    assert all(each["alt"] for each in images)
    assert not [name for _, attributes in html.tags for name in attributes if name[:2] == "on"]
    style = (folder / "report.html").read_text("utf-8").partition("<style>")[2].partition("</")[0]
    assert "url(" not in style
    assert "@import" not in style
    levels = [int(tag[1]) for tag, _ in html.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_the_files_are_those_of_the_tables_and_figures(folder: Path) -> None:
    assert {path.stem for path in folder.glob("*.png")} == {
        "1-variance", "2-choice", "measures", "condition-1-baseline-picks",
        "condition-2-cooperative-picks",
    }  # fmt: skip
    assert {path.stem for path in folder.glob("*.csv")} == {
        "claims", "tests", "estimates", "people", "published", "comparisons", "messages",
        "conditions", "measures",
    }  # fmt: skip
    text = (folder / "report.md").read_text("utf-8")
    for path in re.findall(r"\]\((\S+)\)", text):
        assert (folder / path).is_file()


@pytest.mark.slow
def test_written_again_it_is_the_same(folder: Path) -> None:
    kept = {
        path: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(RECORDING)
    }
    again = write(report.report_of(played(SEVERAL, folder, runs=3)), folder, "report")
    assert set(again) == set(kept)
    assert [path.name for path, data in kept.items() if path.read_bytes() != data] == []


HOSTILE = (
    "![x](javascript:alert(1)) [y](javascript:alert(2)) <script>alert(3)</script> <img src=x "
    "onerror=alert(4)> | a | `b` ```c``` **d** _e_ ~~f~~ # g $\\\\frac{$ &lt; https://evil.example "
    "www.evil.example \\\\\\n## Owned\\n\\n- h\\n> i\\n```\\nj"
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the same experiment with texts and names that try to act."""
    text = SEVERAL
    for harmless in (
        'title = "Small"', 'question = "Does it fall?"', 'label = "Baseline"', 'source = "page 3"',
        'label = "Variance in the last round"', 'text = "The variance is below 50."',
        'label = "Pick"', 'title = "Variance"', 'unit = "picks squared"',
        'minds = "llm:gpt-4-0314"', 'ours = "the last round"',
    ):  # fmt: skip
        assert harmless in text
        text = text.replace(harmless, f'{harmless.partition(" = ")[0]} = "{HOSTILE}"', 1)
    text = text.replace(
        "\n[scales.quick]", f'notes = ["- {HOSTILE}", "1. {HOSTILE}"]\n\n[scales.quick]'
    )
    text = text.replace('name = "cooperative"', 'name = "../../x y"').replace(
        'condition = "cooperative"\n', 'condition = "../../x y"\n'
    )
    text = text.replace("{ cooperative = ", '{ "../../x y" = ')
    path = tmp_path_factory.mktemp("out") / "hostile"
    write(report.report_of(played(text, path, runs=3)), path, "report")
    return path


@pytest.mark.slow
def test_hostile_texts_stay_texts(hostile: Path, folder: Path) -> None:
    tags = [tag for tag, _ in Page(hostile / "report.html").tags]
    harmless = [tag for tag, _ in Page(folder / "report.html").tags]
    # The same tags: nothing in the texts made one, but for the two notes, which are paragraphs.
    assert sorted(tags) == sorted([*harmless, "p", "p"])
    html = Page(hostile / "report.html")
    assert "![x](javascript:alert(1))" in html.text
    assert "<script>alert(3)</script>" in html.text
    words_of_markdown = (hostile / "report.md").read_text("utf-8")
    assert "\n## Owned" not in words_of_markdown
    assert not re.search(r"(?<!\\)<", words_of_markdown)
    assert not re.search(r"https://|(?<!\\)\]\(java|www\.evil", words_of_markdown)
    assert "(condition-2-x-y-picks.png)" in words_of_markdown


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE, "- a", "+ a", "1. a", "12) a", "---", "===", "***", "# a", "> a", "    a", "```",
        "| a | b |", "a\n\nb", "a\u202eb", "[a]: http://b", "<!-- a", "&copy;", "a@b.example",
        "\\", "a\\", "`", "!", "![", "](x)", "*", "_a_",
    ],
)  # fmt: skip
def test_any_text_is_shown_as_it_is(text: str) -> None:
    def tags(text: str) -> list[str]:
        table = Table("a", pd.DataFrame({"a": [text]}), {"a": text}, text, text)
        made = Report("a", text, [text], [table], {}, {"a": text}, [text])
        rendered = MarkdownIt("commonmark").enable("table").render(as_markdown(made))
        return re.findall("<[a-z0-9/]+", rendered + as_html(made, {}))

    assert tags(text) == tags("a")


@pytest.mark.parametrize(
    ("minds", "label"),
    [("classical", "GPT-4"), ({"cooperative": "fixed:3"}, "GPT-4 (here: classical)")],
)
def test_conditions_named_after_minds_say_who_decided(
    minds: Any, label: str, tmp_path: Path
) -> None:
    text = SMALL.replace('label = "Baseline"', 'label = "GPT-4"\nminds = "llm:gpt-4"')
    said = made(text, tmp_path / "small", runs=1, minds=minds)
    assert said["estimates"][0]["condition_label"] == label


@pytest.mark.slow
def test_runs_without_chance_are_not_taken_for_many(tmp_path: Path) -> None:
    said = made(SMALL, tmp_path / "small", minds={"cooperative": "fixed:3"})
    assert any(
        "All runs of “Told to cooperate” are the same, number for number" in line
        for line in said["warnings"]
    )


@pytest.mark.slow
def test_without_claims_and_talk_there_are_no_empty_parts(tmp_path: Path) -> None:
    text = SMALL.partition("[[claims]]")[0].replace(
        "set = { n_rounds = 2 }", "set = { n_rounds = 1 }"
    )
    text = as_markdown(report.report_of(played(text, tmp_path / "small", runs=1)), None)
    assert re.findall("^## (.*)", text, re.MULTILINE) == [
        "Measures by condition", "Differences between conditions", "Conditions", "Next",
    ]  # fmt: skip
    assert "ublished" not in text  # nothing of a user's own experiment was


@pytest.mark.slow
def test_a_fork_says_where_it_comes_from(tmp_path: Path) -> None:
    came = played(SMALL + FORK, tmp_path / "small", minds={"cooperative": "fixed:3"})
    said = as_json(report.report_of(came))
    assert said["conditions"][2]["parameters"] == (
        "the runs of “Baseline” up to round 1, then condition = cooperative"
    )


def verdict(word: str, why: str = "") -> Verdict:
    claim = experiment_of("small", SMALL).claims[0]
    return Verdict(claim, word, infer([1.0], above=0), 0.5, "", why)  # type: ignore[arg-type]


def test_published_numbers_outside_the_intervals_are_marked(tmp_path: Path) -> None:
    published = """
[[published]]
source = "nobody"
measures = "last"
numbers = { baseline = -9_000, cooperative = 10_000 }
"""
    came = played(SMALL + published, tmp_path / "small", runs=6)
    assert came.outside() == (2, 2)
    assert came.estimates["outside"].tolist() == [True, True]
    assert "these runs are 2 of 2 published numbers." in report.headline(came)
    assert [is_outside(1.0, *ends) for ends in ((0, 1), (1, 2), (2, 3), (math.nan, math.nan))] == [
        False, False, True, None,
    ]  # fmt: skip


@pytest.mark.slow
def test_conditions_that_were_one_request_are_named(tmp_path: Path) -> None:
    same = SMALL.replace('set = { condition = "cooperative" }', "")
    said = made(same, tmp_path / "small", runs=2)
    assert any(
        "“Baseline” and “Told to cooperate” were one and the same request, with the same "
        "parameters and minds." in line
        for line in said["warnings"]
    )


def test_numbers_in_words() -> None:
    assert words.estimate(-196.37, -320.3, -96.89) == "−196 (−320 to −97)"
    assert words.estimate(0.08131, 0.03906, 0.1262) == "0.081 (0.039 to 0.126)"
    assert words.estimate(12345.6, 11000, 13000.4) == "12,346 (11,000 to 13,000)"
    assert words.estimate(2.0, math.nan, math.nan) == "2.00"
    assert [words.number(value) for value in (0, math.nan, -1e-9, 7, 0.5, 99.95)] == [
        "0", "–", "0.00", "7.00", "0.500", "100.0",
    ]  # fmt: skip
    assert [words.p_value(p) for p in (0.01562, 0.0009, 0.001, 1, math.nan)] == [
        "0.016", "< 0.001", "0.001", "1", "–",
    ]  # fmt: skip
    assert [words.exact(value) for value in (0.45, 8, -3.5, 28000, math.nan)] == [
        "0.45", "8", "−3.5", "28,000", "–",
    ]  # fmt: skip
    assert words.percent(math.nan) == "–"


def test_what_the_plots_of_an_experiment_name_exists() -> None:
    for found in map(load_experiment, experiment_names()):
        for plot in found.plots:
            if plot.human:
                _, bins = human_distributions()[plot.human]
                assert sum(share for _, _, share in bins) == pytest.approx(100, abs=1)
            if plot.theory == "levels":
                assert len(plan(found).model.study.theory_marks["levels"]) == 5
