"""The report says what the results say, harms nobody, and is the same when written again."""

import json
import math
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa.analysis.tests import infer
from sabm_mesa.studies import page as words
from sabm_mesa.studies.experiments import report
from sabm_mesa.studies.experiments.claims import Verdict
from sabm_mesa.studies.experiments.design import (
    experiment_names,
    load_experiment,
    parse_experiment,
)
from sabm_mesa.studies.experiments.plan import plan
from sabm_mesa.studies.experiments.report import ONLY_RULES, commands, lead, template, warnings
from sabm_mesa.studies.experiments.results import Results, is_outside, results
from sabm_mesa.studies.experiments.running import RECORDING, run
from sabm_mesa.studies.page import fence, html_page, markdown
from sabm_mesa.studies.people import human_distributions
from tests.studies.experiments.support import FORK, SMALL

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
condition = "cooperative"
source = "page 3"
measure = "last"
numbers = 12.5

[[published]]
condition = ""
source = "page 5"
measure = "fall"
numbers = -20
label = "students"

[[published]]
condition = "baseline"
source = "page 4"
column = "variance"
rounds = [0, 1]
numbers = [300, 1234.5]

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
TABLES = (
    "measures", "estimates", "comparisons", "published", "verdicts", "prompts", "model", "agents",
)  # fmt: skip


def made(text: str, folder: Path, **options: object) -> Results:
    found = results(run(plan(parse_experiment(folder.name, text), **options), folder))
    report.write(found, folder)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an experiment with its report."""
    path = tmp_path_factory.mktemp("out") / "small"
    made(SEVERAL, path, runs=3)
    return path


@pytest.fixture(scope="module")
def found(folder: Path) -> Results:
    return results(run(plan(parse_experiment("small", SEVERAL), runs=3), folder))


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


def rows(markdown_text: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading."""
    below = markdown_text.partition(f"## {heading}\n")[2]
    table = below[below.index("\n|") + 1 :].partition("\n\n")[0]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in table.splitlines()[2:]
    ]


def test_all_files_are_there(folder: Path) -> None:
    assert {f"{name}.csv" for name in TABLES} == {path.name for path in folder.glob("*.csv")}
    figures = {path.name for path in (folder / "figures").iterdir()}
    stems = {
        "1-variance", "2-choice", "measures", "condition-1-baseline-picks",
        "condition-2-cooperative-picks",
    }  # fmt: skip
    assert figures == {f"{stem}.{ending}" for stem in stems for ending in report.FORMATS}
    assert json.loads((folder / "summary.json").read_text("utf-8"))["experiment"] == "small"


def test_the_tables_are_the_results(folder: Path, found: Results) -> None:
    for name, frame in (
        ("measures", found.measures), ("estimates", found.estimates),
        ("comparisons", found.comparisons), ("published", found.courses),
    ):  # fmt: skip
        written = pd.read_csv(folder / f"{name}.csv", keep_default_na=True)
        expected = frame.replace("", math.nan) if name == "estimates" else frame
        pd.testing.assert_frame_equal(written, expected, check_dtype=False)
    assert len(pd.read_csv(folder / "model.csv")) == len(found.outcome.model_data)


def test_the_text_says_what_was_found(folder: Path, found: Results) -> None:
    text = (folder / "report.md").read_text("utf-8")
    assert report.lead(found.verdicts, 3, "planned ") in text
    claims = rows(text, "Planned claims, and what these runs say")
    assert [row[1] for row in claims] == [each.word for each in found.verdicts]
    for row, each in zip(claims, found.verdicts, strict=True):
        test = each.test
        assert row[0].startswith(f"{each.claim.text} ({each.claim.source})")
        assert f" {words.estimate(test.estimate, test.low, test.high)}; " in row[2]
        assert f"; {test.effect_name} {words.effect(test.effect)}; 3 " in row[2]
        assert row[3] == words.p_value(each.p).replace("<", "\\<")
        assert row[4] == "6 runs would do"
    assert claims[0][2].startswith("Variance in the last round: “Baseline” below 50. Median ")
    assert claims[1][2].startswith(
        "Variance in the last round: “Told to cooperate” less than “Baseline”. Median difference "
    )
    assert claims[1][2].endswith("; 3 pairs of runs; sign test of pairs.")
    assert "Our choice: the last round." in claims[1][0]
    estimates = rows(text, "Measures by condition")
    assert [row[0] for row in estimates] == [
        "Variance in the last round", "", "Fall of the variance (picks squared)", "",
    ]  # fmt: skip
    for row, (_, each) in zip(estimates, found.estimates.iterrows(), strict=True):
        assert row[2] == "3"
        assert row[3] == words.estimate(each["mean"], each["low"], each["high"])
    assert [row[4:] for row in estimates][:2] == [["–", "–"], ["12.5", "page 3"]]
    assert "| Fall of the variance (picks squared) | students | −20 | page 5 |" in text
    courses = rows(text, "Published courses")
    assert [row[2:4] for row in courses] == [["0", "300"], ["1", "1,234.5"]]
    for row, (_, each) in zip(courses, found.courses.iterrows(), strict=True):
        assert row[4] == words.estimate(each["mean"], each["low"], each["high"])
    comparisons = rows(text, "Differences between conditions")
    assert [row[1] for row in comparisons] == ["Baseline − Told to cooperate"] * 2
    assert [row[4] for row in comparisons] == ["sign test of pairs"] * 2
    for row, (_, each) in zip(comparisons, found.comparisons.iterrows(), strict=True):
        assert row[2] == words.estimate(each["difference"], each["low"], each["high"])
        assert row[5] == words.p_value(each["p"]).replace("<", "\\<")
    for line in text.splitlines():
        assert line == line.rstrip()


def test_it_says_what_to_know_before_believing_it(folder: Path) -> None:
    notes = [
        line for line in (folder / "report.md").read_text("utf-8").splitlines() if line[:2] == "> "
    ]
    assert notes == [
        f"> Planned for llm:gpt-4-0314; here: classical. {ONLY_RULES}",
        "> Smaller than at paper scale: n\\_rounds = 2.",
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


@pytest.mark.slow
def test_runs_without_chance_are_not_taken_for_many(tmp_path: Path) -> None:
    made(SMALL, tmp_path / "small", minds={"cooperative": "fixed:3"})
    said = (tmp_path / "small/report.md").read_text("utf-8")
    assert "All runs of “Told to cooperate” are the same, number for number" in said


def test_it_says_what_was_run(folder: Path, found: Results) -> None:
    text = (folder / "report.md").read_text("utf-8")
    facts = dict(rows(text, "What was run"))
    assert facts["Scale"] == "quick: 3 runs a condition, 6 in all"
    assert facts["Seeds"] == "1 to 3"
    assert "sabm-mesa" in facts["Versions"]
    assert facts["Questions"].startswith(f"{found.outcome.runs['asks'].sum():,}, 0 of them")
    assert "n\\_players = 3, n\\_rounds = 2, condition = cooperative" in text
    prompts = pd.read_csv(folder / "prompts.csv")
    assert prompts["hash"].str.fullmatch("[0-9a-f]{12}").all()
    assert set(prompts["condition"]) == {"baseline", "cooperative"}
    differing = prompts.groupby("entry")["hash"].nunique()
    shown = {row[0].replace("\\", "") for row in rows(text, "Prompts")}
    assert shown == set(differing.index[differing > 1])
    assert "communicate_line" in shown


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
    cells = [attributes for tag, attributes in html.tags if tag == "td"]
    assert {"Claim (where it is made)", "Verdict", "p"} <= {each["data-label"] for each in cells}


def test_both_texts_say_the_same(folder: Path) -> None:
    text = (folder / "report.md").read_text("utf-8")
    for path in re.findall(r"\]\((\S+)\)", text):
        assert (folder / path).is_file()
    html = Page(folder / "report.html").text
    for row in rows(text, "Measures by condition"):
        assert row[3] in html


@pytest.mark.slow
def test_written_again_it_is_the_same(folder: Path) -> None:
    kept = {
        path: path.read_bytes()
        for path in folder.rglob("*.*")
        if not path.name.startswith(RECORDING)
    }
    again = results(run(plan(parse_experiment("small", SEVERAL), runs=3), folder))
    written = report.write(again, folder)
    assert written[-1].name == "summary.json"
    assert set(written) == set(kept)
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
    path = tmp_path_factory.mktemp("out") / "hostile"
    made(text, path, runs=3)
    return path


@pytest.mark.slow
def test_hostile_texts_stay_texts(hostile: Path, tmp_path: Path) -> None:
    folder = tmp_path / "harmless"  # with a model of which nothing is known, as there
    made(SEVERAL.replace("llm:gpt-4-0314", "llm:nobody"), folder, runs=3)

    def shape(folder: Path) -> list[str]:
        return [tag for tag, _ in Page(folder / "report.html").tags]

    # The same tags in the same order: nothing in the texts made one, but for the two notes.
    tags = shape(hostile)
    place = len(tags) - tags[::-1].index("ul") - 1
    assert tags[place - 1 : place + 3] == ["h2", "ul", "li", "li"]
    assert [*tags[: place - 1], *tags[place + 3 :]] == shape(folder)
    html = Page(hostile / "report.html")
    assert "![x](javascript:alert(1))" in html.text
    assert "<script>alert(3)</script>" in html.text
    words_of_markdown = (hostile / "report.md").read_text("utf-8")
    assert "\n## Owned" not in words_of_markdown
    assert not re.search(r"(?<!\\)<", words_of_markdown)
    assert not re.search(r"https://|(?<!\\)\]\(java|www\.evil", words_of_markdown)
    assert len(rows(words_of_markdown, "Measures by condition")[0]) == 6


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE, "- a", "+ a", "1. a", "12) a", "---", "===", "***", "# a", "> a", "    a", "```",
        "| a | b |", "a\n\nb", "a\u202eb", "[a]: http://b", "<!-- a", "&copy;", "a@b.example",
        "\\", "a\\", "`", "!", "![", "](x)", "*", "_a_",
    ],
)  # fmt: skip
def test_any_text_is_shown_as_it_is(text: str) -> None:
    given = {
        "title": text, "lead": text, "warnings": [text], "scales": text,
        "experiments": [
            {
                "name": text, "address": "a", "title": text, "minds": text, "runs": 1,
                "counts": [1, 2],
            },
        ],
        "words": ["agrees", "disagrees"],
    }  # fmt: skip
    html = html_page(text, markdown(template("index"), given), {})
    body = html.partition("<main>")[2]
    harmless = html_page("a", markdown(template("index"), _with(given, text, "a")), {}).partition(
        "<main>"
    )[2]
    assert re.findall("<[a-z0-9/]+", body) == re.findall("<[a-z0-9/]+", harmless)


def _with(given: dict[str, object], old: str, new: str) -> dict[str, object]:
    return json.loads(json.dumps(given).replace(json.dumps(old), json.dumps(new)))


def test_no_line_ends_a_block_of_code() -> None:
    assert fence(["sabm a"]) == "```"
    assert fence(["sabm a", "x\n````\n# y"]) == "`````"


@pytest.mark.slow
def test_names_of_figures_are_names_of_files(hostile: Path) -> None:
    assert {path.parent.name for path in hostile.parent.rglob("*.png")} == {"figures"}
    assert "(figures/condition-2-x-y-picks.png)" in (hostile / "report.md").read_text("utf-8")


def test_conditions_named_after_minds_say_who_decided(tmp_path: Path) -> None:
    text = SMALL.replace('label = "Baseline"', 'label = "GPT-4"\nminds = "llm:gpt-4"')
    made(text, tmp_path / "small", runs=1)
    said = (tmp_path / "small/report.md").read_text("utf-8")
    assert rows(said, "Measures by condition")[0][1] == "GPT-4 (here: classical)"


@pytest.mark.slow
def test_minds_that_ignore_a_condition_are_told(tmp_path: Path) -> None:
    text = SMALL.replace('set = { condition = "cooperative" }', 'set = { variant = "reworded_1" }')
    text += MORE.partition("[[published]]")[0]
    found = made(text, tmp_path / "small", runs=2)
    said = (tmp_path / "small/report.md").read_text("utf-8")
    second = rows(said, "Planned claims, and what these runs say")[1]
    assert second[1] == "inconclusive"
    assert "the same, number for number" in second[4]
    assert "1 cannot be judged with these minds, whatever the number of runs." in report.lead(
        found.verdicts, 2, "planned "
    )


@pytest.mark.slow
def test_conditions_that_differ_in_their_minds_alone(tmp_path: Path) -> None:
    text = SMALL.replace('set = { condition = "cooperative" }', 'minds = "llm:gpt-4"')
    same = made(text, tmp_path / "small", runs=2)
    assert same.minds() == {"baseline": "classical", "cooperative": "classical"}
    made(text, tmp_path / "other/small", runs=2, minds={"cooperative": "fixed:3"})
    said = (tmp_path / "other/small/report.md").read_text("utf-8")
    assert rows(said, "Measures by condition")[1][1] == "Told to cooperate (here: fixed:3)"


@pytest.mark.slow
def test_without_claims_and_talk_there_are_no_empty_parts(tmp_path: Path) -> None:
    text = SMALL.partition("[[claims]]")[0].replace(
        "set = { n_rounds = 2 }", "set = { n_rounds = 1 }"
    )
    made(text, tmp_path / "small", runs=1)
    said = (tmp_path / "small/report.md").read_text("utf-8")
    headings = re.findall("^## (.*)", said, re.MULTILINE)
    assert headings == [
        "Figures", "Measures by condition", "Differences between conditions", "What was run",
        "To repeat it",
    ]  # fmt: skip
    assert "ublished" not in said  # nothing of a user's own experiment was


@pytest.mark.slow
def test_a_fork_says_where_it_comes_from(tmp_path: Path) -> None:
    found = made(SMALL + FORK, tmp_path / "small", minds={"cooperative": "fixed:3"})
    said = (tmp_path / "small/report.md").read_text("utf-8")
    assert "the runs of “Baseline” up to round 1, then condition = cooperative" in said
    first, _ = commands(found)
    assert "turned=" not in first  # its minds are those of the runs it continues with
    assert shlex.split(first)[-6:] == [
        "--minds", "baseline=classical", "--minds", "cooperative=fixed:3", "--out", str(tmp_path),
    ]  # fmt: skip


@pytest.mark.slow
def test_long_courses_and_many_pairs_are_cut_in_the_text_alone(tmp_path: Path) -> None:
    conditions = "".join(
        f'\n[[conditions]]\nname = "c{i}"\nlabel = "C{i}"\nset = {{ n_players = {i + 4} }}\n'
        for i in range(7)
    )
    course = (
        '\n[[published]]\ncondition = "baseline"\nsource = "here"\ncolumn = "variance"\n'
        f"rounds = {list(range(400))}\nnumbers = {[float(i) for i in range(400)]}\n"
    )
    made(SMALL + conditions + course, tmp_path / "small", runs=1)
    said = (tmp_path / "small/report.md").read_text("utf-8")
    courses = rows(said, "Published courses")
    assert [row[2] for row in courses][::9] == ["0", "399"]
    assert "10 of 400 rounds; all are in published.csv." in said
    assert len(pd.read_csv(tmp_path / "small/published.csv")) == 400
    assert len(rows(said, "Differences between conditions")) == 30
    assert "30 of 36 pairs" in said
    assert len(pd.read_csv(tmp_path / "small/comparisons.csv")) == 36


def test_an_index_links_the_reports(folder: Path, found: Results) -> None:
    path = report.write_index([found, found], folder.parent)
    html = Page(path)
    links = [attributes["href"] for tag, attributes in html.tags if tag == "a"]
    assert links == ["small/report.html"] * 2
    assert all((path.parent / str(link)).is_file() for link in links)
    assert lead([*found.verdicts] * 2, whose="planned ") in html.text
    assert "runs count claims" in html.text
    assert "replicate nothing" in html.text
    assert path.with_suffix(".md").is_file()


def test_a_link_cannot_leave_its_folder(tmp_path: Path) -> None:
    name = "javascript:alert(1)) [x](y"
    found = results(run(plan(parse_experiment(name, SMALL), runs=1), tmp_path / name))
    html = Page(report.write_index([found], tmp_path))
    assert [attributes["href"] for tag, attributes in html.tags if tag == "a"] == [
        "javascript%3Aalert%281%29%29%20%5Bx%5D%28y/report.html"
    ]


def verdict(word: str, why: str = "") -> Verdict:
    claim = parse_experiment("small", SMALL).claims[0]
    return Verdict(claim, word, infer([1.0], above=0), 0.5, "", why)  # type: ignore[arg-type]


def test_the_sentence_on_top_counts_the_verdicts() -> None:
    yes, no, few = verdict("agrees"), verdict("disagrees"), verdict("inconclusive")
    moot = verdict("inconclusive", "the minds do not notice")
    assert lead([yes, yes, yes, few], 8) == (
        "3 of 4 published claims agree with these runs, 0 disagree, 1 cannot be decided with 8 "
        "runs a condition."
    )
    assert lead([yes, no, moot], 8) == (
        "1 of 3 published claims agrees with these runs, 1 disagrees, 1 cannot be judged with "
        "these minds, whatever the number of runs."
    )
    assert lead([no, verdict("not judged", "rules stand in for a model")]) == (
        "0 of 2 published claims agree with these runs, 1 disagrees, 1 is not judged, since other "
        "minds stand in for the language models."
    )
    assert lead([yes, verdict("assumed", "built in")]) == (
        "1 of 2 published claims agrees with these runs, 0 disagree, 1 is assumed by these minds."
    )
    another = verdict("agrees, with another model", "published of gpt-4, here gpt-4o")
    assert lead([yes, another, another, verdict("too few runs")]) == (
        "1 of 4 published claims agrees with these runs, 0 disagree, 2 agree with another model "
        "than the named one, 1 needs more runs, whatever these show."
    )
    assert lead([yes], whose="planned ") == "The planned claim agrees with these runs."
    assert lead([yes]) == "The published claim agrees with these runs."
    assert lead([few], 2) == "The published claim cannot be decided with 2 runs a condition."
    assert lead([]) == ""


def test_published_numbers_outside_the_intervals_are_marked(tmp_path: Path) -> None:
    published = "".join(
        f"""
[[published]]
condition = "{condition}"
source = "nobody"
measure = "last"
numbers = {number}
"""
        for condition, number in {"baseline": -9_000, "cooperative": 10_000}.items()
    )
    claimed, _, claim = SMALL.partition("[[claims]]")
    more = {
        "claimed": f"{claimed}[[claims]]{claim}{published}",
        "silent": f"{claimed}{published}",
    }
    for name, text in more.items():
        found = made(text, tmp_path / name, runs=6)
        assert found.outside() == (2, 2)
        said = (tmp_path / name / "report.md").read_text("utf-8")
        shown = [row[4] for row in rows(said, "Measures by condition")]
        assert shown == ["−9,000 †", "10,000 †"]
        assert "† Outside the 95 % interval of these runs." in said
        assert "2 of 2 published numbers lie outside the 95 % intervals of these runs." in said
        assert ("not about sizes: 2 of 2" in said) == (name == "claimed")
    assert [is_outside(1.0, *ends) for ends in ((0, 1), (1, 2), (2, 3), (math.nan, math.nan))] == [
        False, False, True, False,
    ]  # fmt: skip


@pytest.mark.slow
def test_conditions_that_were_one_request_are_named(tmp_path: Path) -> None:
    same = SMALL.replace('set = { condition = "cooperative" }', "")
    made(same, tmp_path / "small", runs=2)
    said = (tmp_path / "small/report.md").read_text("utf-8")
    assert (
        "“Baseline” and “Told to cooperate” were one and the same request, with the same "
        "parameters and minds. Both got separate samples" in said
    )
    assert "Decided by: classical (no language model)." in said
    assert "the same seed (common random numbers)" in said


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
    assert words.effect(-1) == "−1.00"
    assert words.percent(math.nan) == "–"


@pytest.mark.parametrize("name", experiment_names())
def test_what_the_plots_of_an_experiment_name_exists(name: str) -> None:
    found = load_experiment(name)
    planned = plan(found, "paper")
    assert len(planned.cells) == planned.runs * len(found.conditions)
    for plot in found.plots:
        if plot.human:
            _, bins = human_distributions()[plot.human]
            assert sum(share for _, _, share in bins) == pytest.approx(100, abs=1)
        if plot.theory == "levels":
            assert len(planned.model.theory_marks["levels"]) == 5
