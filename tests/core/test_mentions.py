"""Numbers and options that are named in a text."""

from __future__ import annotations

import pytest

from sabm_mesa.core.mentions import find_numbers, find_options


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("I pick 33.", [33]),
        ("I pick 33.5, not 40", [33.5, 40]),
        ("12,500 or 3,5", [12500, 3.5]),
        ("1'250", [1250]),
        ("12k", [12000]),
        ("-7 degrees", [-7]),
        ("twenty-one or a hundred and five", [21, 105]),
        ("no number here", []),
    ],
)
def test_numbers_in_digits_and_words(text: str, numbers: list[float]) -> None:
    assert [mention.value for mention in find_numbers(text)] == numbers


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


def test_an_option_of_one_letter_is_a_capital() -> None:
    assert names(["A", "b"], "a B is here, and so is A") == ["b", "A"]


def test_the_place_of_an_option() -> None:
    (mention,) = find_options(["defect"])("I defect now")

    assert (mention.start, mention.end) == (2, 8)
