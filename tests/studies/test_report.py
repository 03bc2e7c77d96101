"""One report in the terminal, as Markdown, as a page and as JSON."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa.analysis.plot_style import new_figure
from sabm_mesa.studies.report import (
    Report,
    Table,
    as_html,
    as_json,
    as_markdown,
    in_terminal,
    write,
)

FRAME = pd.DataFrame(
    {
        "who": ["a|b", "[bold]c"], "n": [1200, 3], "mean": [4.5678, math.nan],
        "low": [2.0, math.nan], "high": [7.0, math.nan], "p": [0.0001, 0.25], "share": [0.5, 1.0],
        "why": ["", ""], "hidden": [1, 2],
    }
)  # fmt: skip
TABLE = Table(
    "groups", FRAME,
    {"who": "who", "n": "runs", ("mean", "low", "high"): "mean (95 %)", "p": "p",
     "share": "share", "why": "remark"},
    title="Groups", note="A note.", shares=("share",),
)  # fmt: skip


@pytest.fixture
def report() -> Report:
    return Report(
        "A title", "The lead.", ["Few runs."], [TABLE], {"runs": new_figure("runs", "", height=2)},
        {"runs": 1203, "nested": {"a": 1}}, ["How it was made."], ["sabm run kbc"],
    )  # fmt: skip


def test_the_terminal_has_aligned_columns_without_empty_ones(report: Report) -> None:
    assert in_terminal(report, 80).split("\n") == [
        "A title",
        "The lead.",
        "Warning: Few runs.",
        "",
        "Groups",
        "who       runs          mean (95 %)        p  share",
        "───────────────────────────────────────────────────",
        "a|b      1,200  4.57 (2.00 to 7.00)  < 0.001   50 %",
        "[bold]c      3                    –     0.25  100 %",
        "A note.",
        "Next: sabm run kbc",
    ]


def test_a_narrow_terminal_cuts_no_word(report: Report) -> None:
    text = in_terminal(report, 40)

    assert "…" not in text
    assert max(map(len, text.split("\n"))) <= 40


def test_markdown_escapes_cells_and_shows_facts(report: Report) -> None:
    text = as_markdown(report, {"runs": "runs.png"})

    assert "| who | runs | mean (95 %) | p | share |\n|---|--:|--:|--:|--:|\n" in text
    assert "| a\\|b | 1,200 | 4.57 (2.00 to 7.00) | \\< 0.001 | 50 % |" in text
    assert "> Few runs." in text
    assert "![runs](runs.png)" in text
    assert "| runs | 1203 |" in text
    assert "nested" not in text
    assert "```\nsabm run kbc\n```" in text


def test_rows_that_readers_do_not_see_are_counted() -> None:
    table = Table("groups", FRAME, {"who": "who"}, most=1)

    assert "1 of 2 rows; all are in groups.csv." in in_terminal(Report("x", tables=[table]))


def test_json_and_files_have_all_columns(report: Report, tmp_path: Path) -> None:
    files = write(report, tmp_path, "study")

    assert {path.name for path in files} == {
        "groups.csv", "runs.png", "study.md", "study.html", "study.json",
    }  # fmt: skip
    assert pd.read_csv(tmp_path / "groups.csv")["hidden"].tolist() == [1, 2]
    said = json.loads((tmp_path / "study.json").read_text("utf-8"))
    assert said["nested"] == {"a": 1}
    assert said["warnings"] == ["Few runs."]
    assert [row["hidden"] for row in said["groups"]] == [1, 2]
    assert list(as_json(report)) == ["runs", "nested", "warnings", "groups"]
    page = (tmp_path / "study.html").read_text("utf-8")
    assert 'src="data:image/png;base64,' in page
    assert "<td" in page


def test_the_page_names_columns_groups_and_verdicts() -> None:
    frame = pd.DataFrame(
        {"claim": ["Prices <b>", "rise", ""], "n": [3, 4, 5],
         "verdict": ["", "agrees with it", "is open"]}
    )  # fmt: skip
    heads: dict[Any, str] = {"claim": "Claim", "n": "Value", "verdict": "verdict"}
    made = Report("A <title>", tables=[Table("claims", frame, heads, "The claims")])
    page = as_html(made, {})

    assert "<title>A &lt;title&gt;</title>" in page
    assert '<div class="table claims" tabindex="0" role="region" aria-label="The claims">' in page
    assert re.findall('<td data-label="([^"]*)"', page) == ["Claim", "Value", "verdict"] * 3
    assert page.count('<tr class="group">') == 2  # the rows that begin with words
    assert page.count('<span class="verdict') == 1
    assert '<span class="verdict agrees">agrees with it</span>' in page
    assert '<td data-label="Value" style="text-align:right">3</td>' in page
    without = as_html(Report("x", tables=[Table("n", frame, {"n": "Value"})]), {})
    assert '<div class="table" ' in without


def test_a_picture_is_part_of_the_page(report: Report) -> None:
    page = as_html(report, {"runs": b"png"})

    assert 'src="data:image/png;base64,cG5n" alt="runs"' in page
