"""The reader of what messages announce: it may miss, and never reads a wrong value."""

import tomllib
from pathlib import Path

import pytest

from sabm_mesa.analysis.announcements import (
    NOTHING,
    UNCLEAR,
    Announced,
    numbers_in,
    of_speakers,
    options_in,
    read,
)
from sabm_mesa.core.messages import Message

LABELLED = tomllib.loads(Path(__file__).with_name("announced.toml").read_text("utf-8"))
FIND = {
    "numbers": numbers_in(0, 100),
    "prices": numbers_in(0, 14),
    "exits": options_in(["left", "bottom", "right"], ["exit", "exits", "door"]),
    "harvests": numbers_in(0, 100, ceiling=True),
}


@pytest.mark.parametrize(
    ("part", "values", "read_at_least"),
    [("development", 23, 23), ("held_out", 14, 14), ("against", 22, 16)],
)
def test_no_value_is_read_wrongly(part: str, values: int, read_at_least: int) -> None:
    found = [
        (kind, each["text"], each["says"], read(each["text"], FIND[kind]))
        for kind, messages in LABELLED[part].items()
        for each in messages
    ]
    wrong = [each for each in found if each[3].known and each[3].value != each[2]]
    assert not wrong
    said = [each for each in found if each[2] not in ("nothing", "unclear", "none")]
    assert len(said) == values
    assert sum(each[3].known for each in said) >= read_at_least


def announced(*talk: tuple[int, str]) -> dict[int, Announced]:
    return of_speakers([Message(0, *each) for each in talk], FIND["prices"])


def test_a_word_of_agreement_takes_up_the_value_on_the_table() -> None:
    found = announced((1, "I suggest that all of us set a price of 7."), (2, "I agree."))
    assert found == {1: Announced("proposal", 7), 2: Announced("agreement", 7)}
    asked = announced((1, "How about we both charge $8?"), (2, "Sounds good!"))
    assert asked == {1: Announced("agreement", 8), 2: Announced("agreement", 8)}
    assert announced((2, "I agree.")) == {2: NOTHING}


def test_agreement_with_several_values_is_unclear() -> None:
    found = announced((1, "I will set 7."), (2, "I will set 8."), (3, "I agree."))
    assert found[3] == UNCLEAR


def test_the_last_announcement_counts_and_one_taken_back_is_unclear() -> None:
    assert announced((1, "I will set 7."), (1, "I will set 8.")) == {1: Announced("intention", 8)}
    assert announced((1, "I will set 7."), (1, "Good luck.")) == {1: Announced("intention", 7)}
    assert announced((1, "I will set 7."), (1, "I might set 8.")) == {1: UNCLEAR}
    back = announced((1, "I will set 7."), (2, "I will too."), (1, "No, I disagree with that."))
    assert back[1] == UNCLEAR
