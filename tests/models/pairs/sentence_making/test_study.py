"""Validity of sentences, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.pairs.sentence_making.model import WORD_SETS
from sabm_mesa.models.pairs.sentence_making.study import (
    is_valid,
    is_well_formed,
    missing_words,
    n_words,
    stem,
    valid_sentences,
)

WORDS = WORD_SETS[0]
GOOD = "By moonlight the timeless ocean murmured of an enigma concealed on its journey."


@pytest.mark.parametrize(
    "forms",
    [
        ("murmured", "murmur", "murmurs", "murmuring"),
        ("hummed", "hum", "hums", "humming"),
        ("buried", "bury", "buries"),
        ("valley", "valleys", "valley's"),
        ("breathed", "breathe", "breathing", "breathes"),
        ("echoed", "echo", "echoes"),
        ("concealed", "conceal", "conceals"),
        ("eternal", "eternally"),
        ("secret", "secrets", "secretly"),
        ("route", "routes", "route\u2019s"),
        ("puzzle", "puzzles", "puzzled", "puzzling"),
    ],
)
def test_regular_forms_are_the_same_word(forms) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_the_given_words_are_different_words() -> None:
    stems = [stem(word) for words in WORD_SETS for word in words]

    assert len(set(stems)) == len(stems) == 35


@pytest.mark.parametrize(
    ("one", "other"), [("old", "gold"), ("way", "sway"), ("old", "older"), ("trail", "train")]
)
def test_other_words_are_not(one, other) -> None:
    assert stem(one) != stem(other)


def test_words_are_missed_in_their_order() -> None:
    assert missing_words(GOOD, WORDS) == []
    assert missing_words("Oceans, moonlight-timeless.", WORDS) == [
        "murmured", "enigma", "concealed", "journey",
    ]  # fmt: skip
    assert missing_words("The goldway.", ("old", "way")) == ["old", "way"]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (GOOD, True),
        (GOOD[:-1] + "!", True),
        (f"\u201c{GOOD}\u201d", True),
        (GOOD[:-1], False),  # no end
        (GOOD.lower(), False),  # no beginning
        (f"{GOOD} It was late.", False),  # two sentences
        ("Moonlight, murmured, timeless, ocean, enigma, concealed, journey.", False),  # a list
        ("Moonlight murmured in a timeless ocean; enigma concealed journey.", False),
        ("", False),
    ],
)
def test_what_stands_for_coherence(text, right) -> None:
    assert is_well_formed(text, WORDS) is right


def test_the_four_criteria() -> None:
    long = GOOD[:-1] + " on" * 28 + "."

    assert n_words(long) == 41
    assert is_valid(GOOD, WORDS)
    assert not is_valid(long, WORDS)
    assert is_valid(long.replace(" on on", " on", 1), WORDS)
    assert not is_valid(GOOD.replace("ocean", "sea"), WORDS)
    assert not is_valid(GOOD, WORDS, ["x", GOOD.upper()])
    assert not is_valid(GOOD.lower(), WORDS)


@given(st.lists(st.sampled_from([GOOD, GOOD + "!", "A sea.", GOOD.replace("its", "their")])))
def test_of_duplicates_the_first_one_counts(texts) -> None:
    kept = valid_sentences(texts, WORDS)

    assert len(kept) == len(set(kept)) <= 2
    assert all(is_valid(text, WORDS) for text in kept)
    assert kept == sorted(kept, key=texts.index)
