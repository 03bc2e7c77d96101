"""Data of people: the published ones, and CSV files with a codebook."""

from __future__ import annotations

from pathlib import Path

import pytest

from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.models.registry import scenario
from sabm_mesa.studies.people import load_people, published_people

BOOK = """
who = "four students"
source = "a class"
scenarios = ["kbc"]
decision = "choice"
low = 0
high = 100
columns = { decision = "guess", session = "group", person = "id", round = "period" }
"""
CSV = "group,id,period,guess\na,1,1,50\na,2,1,30\nb,1,1,20\nb,2,1,\na,1,2,40\na,2,2,20\nb,1,2,10\n"


def write(folder: Path, book: str = BOOK, csv: str = CSV) -> str:
    (folder / "class.toml").write_text(book, "utf-8")
    (folder / "class.csv").write_text(csv, "utf-8")
    return str(folder / "class.csv")


def test_published_data_are_of_scenarios_with_their_decision() -> None:
    for name, people in published_people().items():
        for each in people.book.scenarios:
            assert people.book.decision in scenario(each).agent_columns, name
        assert people.book.bins or people.book.sessions or people.book.mean, name
        if people.book.bins:
            decisions, sessions = people.of("", people.book.round)
            assert (len(decisions), sessions) == (people.book.n, None), name


def test_a_file_is_read_as_its_codebook_says(tmp_path: Path) -> None:
    people = load_people(write(tmp_path))
    assert people.decisions is not None
    assert len(people.decisions) == 6  # a guess is missing
    assert people.decisions["person"].nunique() == 3  # ids begin anew in each group
    first, second = (people.session_means("", period) for period in (1, 2))
    assert first is not None
    assert first.tolist() == [40, 20]
    assert second is not None
    assert second.tolist() == [30, 10]


def test_a_spreadsheet_may_write_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    csv = CSV.replace(",", ";").replace("50", "50,5")
    people = load_people(write(tmp_path, csv=csv))
    means = people.session_means("", 1)
    assert means is not None
    assert means.tolist() == [40.25, 20]
    with pytest.raises(ParameterError, match=r"no column .*; it has number, age\. \[columns\] of"):
        load_people(write(tmp_path, csv="number;age\n1;2\n"))


def test_words_are_decisions_by_their_codes(tmp_path: Path) -> None:
    csv = CSV.replace("50", "high").replace("30", "low")
    with pytest.raises(ParameterError, match=r"'high' is not a number; say in codes"):
        load_people(write(tmp_path, csv=csv))
    people = load_people(write(tmp_path, f"codes = {{ high = 90, low = 10 }}\n{BOOK}", csv))
    means = people.session_means("", 1)
    assert means is not None
    assert means.tolist() == [50, 20]


@pytest.mark.parametrize(
    ("change", "into", "says"),
    [
        ('decision = "guess"', 'decision = "number"', r"has no column number; it has group, id"),
        ("high = 100", "high = 45", r"row 2: the decision 50 is outside 0 to 45"),
        ("who =", "whose =", r"who is missing"),
        ("high = 100", "highest = 100", r"highest is no key of a codebook"),
        ("columns =", "[[effects]]\nsays = 'x'\ndirection = 'less'\n[columns]\n#", r"give one of"),
        ("columns =", "#", r"has no table columns"),
        ('scenarios = ["kbc"]', "scenarios = [", r"is not valid TOML"),
    ],
)
def test_a_codebook_that_does_not_fit_is_one_line(
    tmp_path: Path, change: str, into: str, says: str
) -> None:
    if into.endswith("#"):
        into = into.replace("[columns]\n#", "[columns]\ndecision = 'guess'\n#")
    with pytest.raises(ParameterError, match=says) as error:
        load_people(write(tmp_path, BOOK.replace(change, into)))
    assert "\n" not in str(error.value)


def test_unknown_data_are_named() -> None:
    with pytest.raises(UnknownName, match=r"nagel-1995.*a CSV file"):
        load_people("nagle")
    with pytest.raises(ParameterError, match="has its own codebook"):
        load_people("nagel-1995", "book.toml")
