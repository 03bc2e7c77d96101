"""The reader of what messages announce: it may miss, and never reads a wrong value."""

import tomllib
from pathlib import Path

import pytest

from sabm_mesa.analysis.announcements import (
    numbers_in,
    options_in,
    read,
)

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
