"""What the pages of the concepts say of the program."""

import re
from pathlib import Path

import pytest

from sabm_mesa import Choice, KeynesianBeautyContest, Number
from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.models.registry import SCENARIOS

pytestmark = pytest.mark.check_once

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts"
INVALID = (CONCEPTS / "invalid-answers.md").read_text("utf-8")
SPECS = {"Number": Number, "Choice": Choice}
ROWS = re.findall(
    r"^\| `((?:Number|Choice)\([^`]*\))` \| (.*?) \| (.*?) \|$", INVALID, re.MULTILINE
)


def read(spec, text: str) -> bool:
    try:
        spec.read(text)
    except InvalidAnswer:
        return False
    return True


@pytest.mark.parametrize(("written", "good", "bad"), ROWS, ids=[row[0] for row in ROWS])
def test_the_table_of_answers_is_true(written: str, good: str, bad: str) -> None:
    spec = eval(written, SPECS)
    for cell, usable in ((good, True), (bad, False)):
        answers = re.findall(r"`([^`]+)`", cell)
        assert answers
        assert {answer: read(spec, answer) for answer in answers} == dict.fromkeys(answers, usable)


def test_the_table_has_its_rows() -> None:
    assert len(ROWS) == 3


@pytest.mark.parametrize("page", ["invalid-answers", "phases"])
def test_every_scenario_is_in_the_tables(page: str) -> None:
    text = (CONCEPTS / f"{page}.md").read_text("utf-8")
    assert not [name for name in SCENARIOS if f"`{name}`" not in text]


def test_the_critical_path_of_the_example() -> None:
    model = KeynesianBeautyContest(n_players=24, n_rounds=4, rng=1)
    model.run_model()

    text = (CONCEPTS / "phases.md").read_text("utf-8")

    assert f"there are {model.total.asks} asks" in text
    assert f"= {model.critical_path_asks} links" in text
