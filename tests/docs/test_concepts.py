"""Statements of the pages of concepts on the program."""

import re
from pathlib import Path

import pytest

from sabm_mesa import Choice, KeynesianBeautyContest, Number
from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.models.registry import SCENARIOS

DOCS = Path(__file__).parents[2] / "docs"
INVALID = (DOCS / "invalid-answers.md").read_text("utf-8")
SPECS = {"Number": Number, "Choice": Choice}
ROWS = re.findall(
    r"^\| `((?:Number|Choice)\([^`]*\))` \| (.*?) \| (.*?) \| (.*?) \|$", INVALID, re.MULTILINE
)


def how(spec, text: str) -> str:
    try:
        return "exact" if spec.read(text).read_as == "exact" else "in words"
    except InvalidAnswer:
        return "asked again"


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_table_of_answers_is_true(row: tuple[str, ...]) -> None:
    written, *cells = row
    spec = eval(written, SPECS)
    for cell, expected in zip(cells, ("exact", "in words", "asked again"), strict=True):
        answers = re.findall(r"`([^`]+)`", cell)
        assert answers
        assert {text: how(spec, text) for text in answers} == dict.fromkeys(answers, expected)


@pytest.mark.parametrize("page", ["invalid-answers", "concepts"])
def test_every_scenario_is_in_the_tables(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text("utf-8")
    assert not [name for name in SCENARIOS if f"`{name}`" not in text]


def test_the_critical_path_of_the_example() -> None:
    model = KeynesianBeautyContest(n_players=24, n_rounds=4, rng=1)
    model.run_model()

    text = (DOCS / "concepts.md").read_text("utf-8")

    assert f"there are {model.total.asks} asks" in text
    assert f"= {model.critical_path_asks} links" in text
