"""Numbers in all notations, and options that are named in a text.

A number is read as a whole, or not at all: no notation gives another number.
"""

from __future__ import annotations

import pytest

from sabm_mesa import Choice, Number
from sabm_mesa.core.answers import Format, InvalidAnswer
from sabm_mesa.core.reader import find_numbers, find_options


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("I pick 33.", [33]),
        ("I pick 33.5, not 40", [33.5, 40]),
        ("12,500 here, 3,5 there", [12500, 3.5]),
        ("1'250", [1250]),
        ("12k", [12000]),
        ("-7 degrees", [-7]),
        ("no number here", []),
    ],
)
def test_numbers_in_digits_and_words(text: str, numbers: list[float]) -> None:
    assert [mention.value for mention in find_numbers(text)] == numbers


WIDE = Number(-1000, 10**7)
NOTATIONS: list[tuple[str, float | None]] = [
    # groups of digits
    ("12 500", 12_500), ("12\u202f500", 12_500), ("12\u00a0500", 12_500), ("250 000", 250_000),
    ("12'500", 12_500), ("12\u2019500", 12_500), ("12,500", 12_500), ("1,000,000", 1_000_000),
    ("12.500,50", 12_500.5), ("12,500.50", 12_500.5), ("12 050", 12_050), ("12.500", None),
    ("12 50", None), ("1 2345", None), ("5 5", None), ("3,5", 3.5), ("0.125", 0.125),
    # signs
    ("-5", -5), ("\u22125", -5), ("\u20135", -5), ("minus 5", -5), ("negative 5", -5), ("+5", 5),
    ("- 5", None), ("\u00b15", None), ("--5", None),
    # factors
    ("2 thousand", 2000), ("1.5 million", 1_500_000), ("2 k", 2000), ("2k", 2000), ("2.5K", 2500),
    ("3 hundred", 300), ("2 dozen", None), ("2 grand", None), ("5m", None), ("2 lakh", None),
    # powers
    ("3e2", 300), ("1E3", 1000), ("10\u00b3", 1000), ("10^3", 1000), ("10**3", 1000),
    ("3 x 10^3", 3000), ("3 \u00d7 10\u00b3", 3000), ("5\u00b2", None), ("2^3", None),
    ("1e999", None), ("4e010", None), ("5e103", None), ("3e1002", None), ("2e-1", 0.2),
    # fractions
    ("1/2", 0.5), ("\u00bd", 0.5), ("2 1/2", 2.5), ("2\u00bd", 2.5), ("2 and a half", 2.5),
    ("7/10", None), ("2 and a third", None), ("half", None), ("50/50", None),
    # words
    ("five", 5), ("minus two", -2), ("twenty-five", 25), ("two hundred and five", 205),
    ("three thousand", 3000), ("two and a half", 2.5), ("a hundred", 100), ("one two", None),
    ("zero twelve", None), ("twelve and a", None), ("a thousand and one", 1001),
    ("two thousand million", None), ("nine hundred thousand", 900_000), ("four k", 4000),
    ("twice 5", None), ("double 5", None), ("half of 40", None), ("two thirds of 50", None),
    # percentages, money, units
    ("40%", None), ("40 percent", None), ("$40", 40), ("US$ 40", 40), ("40 \u20ac", 40),
    ("40 credits", 40),
    # more than one number, ranges, operators, vague numbers
    ("20-30", None), ("20\u201330", None), ("20 to 30", None), ("between 20 and 30", None),
    ("20 or 30", None), ("3 x 12", None), ("3*4", None), ("40 + 2", None), ("40+", None),
    (">40", None), ("\u2264 40", None), ("about 40", None), ("40ish", None), ("~40", None),
    ("at least 40", None), ("40 or more", None), ("40 or so", None), ("12:30", None), ("1st", None),
    ("1_000", None), ("0x21", None), ("nan", None), ("Infinity", None),
]  # fmt: skip


@pytest.mark.parametrize(
    "form", ["{}", "Answer: {}", "I think so.\nAnswer: **{}**.", "I choose {}."]
)
@pytest.mark.parametrize(("written", "value"), NOTATIONS)
def test_no_notation_gives_another_number(written: str, value: float | None, form: str) -> None:
    text = form.format(written)
    try:
        found = WIDE.read(text, "labelled" if "Answer" in text else "paper").value
    except InvalidAnswer:
        found = None

    assert found in {None, value}
    if value is not None and "choose" not in form:
        assert found == value


def test_a_number_with_two_meanings_has_the_legal_one() -> None:
    assert Number(0, 100).read("12.500").value == 12.5
    assert Number(1000, 20_000).read("12.500").value == 12_500
    assert Number(0, 20_000, integer=True).read("12.500").value == 12_500


def test_a_percentage_is_a_number_where_the_unit_is_percent() -> None:
    assert Number(0, 100, unit="percent").read("40 %").value == 40
    assert Number(0, 100, unit="%").read("I choose 40% of it.").value == 40
    amounts = find_numbers("I keep 60% of it and give 8 of the 20.")
    assert [mention.value for mention in amounts] == [8], "a percentage of something is no amount"


@pytest.mark.parametrize(
    "text", ["My number is minus 20.", "Answer: 12 050", "My number is 12 050."]
)
def test_a_number_out_of_range_is_not_read_as_a_part_of_it(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        Number(0, 100, integer=True, label="number").read(text, "labelled")


def names(options: list[str], text: str) -> list[str]:
    return [mention.value for mention in find_options(options)(text)]


def test_the_longest_of_overlapping_options_counts() -> None:
    options = ["share", "share all", "share all of it"]

    assert names(options, "I share all of it, or I share.") == ["share all of it", "share"]
    assert names(options[::-1], "I share all of it, or I share.") == ["share all of it", "share"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("I COOPERATE.", ["cooperate"]),
        ("No-cooperate, cooperate-ish, cooperates", []),
        ("defect, then cooperate", ["defect", "cooperate"]),
        ("(cooperate)", ["cooperate"]),
    ],
)
def test_options_are_whole_words_in_any_case(text: str, named: list[str]) -> None:
    assert names(["cooperate", "defect"], text) == named


LETTERS = Choice(("A", "B"))
DIGITS = Choice(("1", "2"))


@pytest.mark.parametrize(
    ("spec", "text", "answer_format", "value"),
    [
        (LETTERS, "b", "paper", "B"),
        (LETTERS, "(b)", "paper", "B"),
        (LETTERS, "Option b", "paper", "B"),
        (LETTERS, "I choose option b.", "paper", "B"),
        (LETTERS, "Answer: b)", "labelled", "B"),
        (LETTERS, "I choose A in this round.", "paper", "A"),
        (LETTERS, "A bad idea.", "paper", None),
        (LETTERS, "I choose a B or an A.", "paper", None),
        (DIGITS, '{"answer": 2}', "json", "2"),
        (DIGITS, '{"answer": 3}', "json", None),
        (DIGITS, '{"answer": true}', "json", None),
    ],
)
def test_options_of_one_letter_or_digit(
    spec: Choice, text: str, answer_format: Format, value: str | None
) -> None:
    try:
        found = spec.read(text, answer_format).value
    except InvalidAnswer:
        found = None
    assert found == value
